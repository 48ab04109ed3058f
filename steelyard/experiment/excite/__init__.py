"""Motions that tell much: candidates, balance, limits, selection. The command is ``steelyard excite``."""
