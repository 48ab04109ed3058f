"""What residuals still contain: how much of them speed, load, posture, time or a delay predict, beyond chance.

Residuals of a right model cannot be predicted. Features of the motion are fitted to those of nine blocks and predict
the tenth, each block in turn: what that explains is structure, what chance explains is not, since a feature that fits
by chance predicts the next block worse than nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from steelyard.spatial import Array

RIDGE = 0.01  # of the features' power: a feature needs that much of a block to count


class Structure(NamedTuple):
    """Predictable part of one equation's residual."""

    share: float  # of the residual's power, 0 … 1
    cause: str  # group of features that predicts most alone; empty where none does


def residual_structure(features: Mapping[str, Array], residual: Array, block: Array) -> Structure:
    """Predict a residual (T,) from groups of features (T, k), leaving out each block (T,) in turn."""
    total = float(residual @ residual)
    if total == 0:
        return Structure(0.0, "")
    together = np.column_stack(list(features.values()))
    shares = {name: _predicted(F, residual, block) / total for name, F in features.items()}
    cause = max(shares, key=lambda name: shares[name])
    best = max(_predicted(together, residual, block) / total, shares[cause])
    return Structure(max(best, 0.0), cause if shares[cause] > 0 else "")


def _predicted(F: Array, residual: Array, block: Array) -> float:
    """Decrease of the sum of squares by predictions from other blocks; negative where they are wrong."""
    size = np.sqrt(np.mean(F**2, axis=0))
    F = F[:, size > 0] / size[size > 0]
    numbers = np.unique(block)
    if not F.size or len(numbers) < 2:
        return 0.0
    grams = {b: (F[block == b].T @ F[block == b], F[block == b].T @ residual[block == b]) for b in numbers}
    A, c = sum(g[0] for g in grams.values()), sum(g[1] for g in grams.values())
    gain = 0.0
    for b, (a, d) in grams.items():
        at = block == b
        rest = A - a
        beta = np.linalg.solve(rest + RIDGE * np.trace(rest) / len(rest) * np.eye(len(rest)), c - d)
        e = residual[at]
        gain += float(e @ e - np.sum((e - F[at] @ beta) ** 2))
    return gain
