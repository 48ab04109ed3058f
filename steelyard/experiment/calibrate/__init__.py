"""Calibration routines that a robot carries out: centre of mass by bisection, inertia by sinusoids (Lee)."""
