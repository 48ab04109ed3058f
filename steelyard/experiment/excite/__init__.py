"""Exciting motions: candidates, balance, limits, collisions, selection. The command is ``steelyard excite``."""
