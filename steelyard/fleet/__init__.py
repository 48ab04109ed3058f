"""Thousands of logs, each read once and where it lies: a log → triangles, triangles → a sum, the sum → an estimate."""

from steelyard.fleet.gather import FleetOptions, Gathered, gather_logs
from steelyard.fleet.identify import identify_many

__all__ = ["FleetOptions", "Gathered", "gather_logs", "identify_many"]
