"""How do I get data?

``simulate/``: robots with a known truth → logs. ``excite/``: motions that excite every parameter, within limits, in
balance and free of self-collision. ``calibrate/``: centre of mass by bisection, inertia by sinusoids (Lee).
``search/``: parameters by prediction error (Go). Results are data: ``output`` writes them.
"""
