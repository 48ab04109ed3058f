"""Gathering of lines of panels: selected columns and equations as operands of matrix products.

A line is one parameter in one equation over all samples of a batch; in the panels of ``panels.fill`` it is stored in
tiles of 16 samples, the first at ``places[i, 0]``, the others at a stride of ``places[i, 1]``.
"""

from __future__ import annotations

from steelyard.kernels.compiled import compiled
from steelyard.kernels.tree import LANES
from steelyard.spatial import Array

L = LANES


@compiled
def take(goals: Array, places: Array, factors: Array, panels: Array, batch: int, out: Array, at: int) -> None:
    """Set out[goals[i], at : at + batch] to factors[i]·(line i)."""
    for i in range(len(goals)):
        first, step, w, to = places[i, 0], places[i, 1], factors[i], at
        for _ in range(batch // L):
            x, y = panels[first : first + L], out[goals[i], to : to + L]
            for l in range(L):
                y[l] = w * x[l]
            first += step
            to += L


@compiled
def add(goals: Array, places: Array, factors: Array, panels: Array, batch: int, out: Array, at: int) -> None:
    """Add factors[i]·(line i) to out[goals[i], at : at + batch]."""
    for i in range(len(goals)):
        first, step, w, to = places[i, 0], places[i, 1], factors[i], at
        for _ in range(batch // L):
            x, y = panels[first : first + L], out[goals[i], to : to + L]
            for l in range(L):
                y[l] += w * x[l]
            first += step
            to += L
