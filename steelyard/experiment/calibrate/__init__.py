"""Procedures that a robot carries out to be weighed: centre of mass by bisection, inertia by sinusoids."""
