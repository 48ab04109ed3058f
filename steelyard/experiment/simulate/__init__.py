"""Simulated robots with a known truth, and their logs."""
