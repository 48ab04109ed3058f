"""Prediction-error search: parameters with which a simulation from measured states reproduces the measured motion."""
