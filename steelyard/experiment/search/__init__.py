"""Prediction-error search: parameters with which a simulation from measured states ends where the robot did."""
