"""How do I get data?

``simulate/``: MuJoCo robots with a known truth → logs. ``excite/``: motions that excite every parameter, within
limits, balance and free of self-collision. ``calibrate/``: centre of mass by bisection, inertia by sinusoids (Lee).
``search/``: parameters by prediction error (Go). What they find is data; ``output`` writes it, ``cli`` asks for it.
"""
