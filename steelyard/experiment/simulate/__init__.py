"""Robots with a known truth, and the logs they would write."""
