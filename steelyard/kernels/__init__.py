"""Compiled loops. numba is imported with the first kernel, never with ``steelyard`` itself."""
