"""Coordinates in which a search by values alone sees a round valley: z turned and stretched by its sensitivity.

With G = U s Vᵀ the Jacobian of the predicted states by z, z = z₀ + T y, T = V diag(s₀ε / max(s, s₀ε)): a unit of each y
changes the prediction alike, but for directions that it hardly shows, which are no longer than a unit of z. It costs
n + 1 evaluations, and they are counted.
"""

from __future__ import annotations

import numpy as np

from steelyard.search.problem import REACH, Problem, Space

Array = np.ndarray

FLOOR = 0.03  # ε: directions shown less than this share of the best are taken as if they were shown so
STEP = 1e-4  # of a difference, in z


def jacobian(problem: Problem, z: Array) -> Array:
    """(rows, n) of the residuals by z, forward differences."""
    space, n = problem.space, problem.space.n
    side = np.where(z > 0, -STEP, STEP)  # towards the middle, so that bounds hold
    r = problem.residuals(space.parameters(np.vstack([z[None], z + side * np.eye(n)])))
    return np.asarray(((r[1:] - r[0]) / side[:, None]).T)


def scaled(problem: Problem, z: Array, *, weighed: bool) -> Array:
    """T (n, k); with ``weighed``, k = n − 1 where the total mass is known: no y changes it."""
    keep = _keeping_mass(problem.space) if weighed else np.eye(problem.space.n)
    G = jacobian(problem, z) @ keep
    _, s, Vt = np.linalg.svd(G, full_matrices=False)
    least = FLOOR * max(float(s[0]), 1e-300)
    return np.asarray(keep @ Vt.T * (least / np.maximum(s, least)))


def _keeping_mass(space: Space) -> Array:
    if space.total is None or not space.masses.any():
        return np.eye(space.n)
    direction = space.scale * space.masses
    return np.asarray(np.linalg.svd(direction[None])[2][1:].T)


def inside(z: Array) -> Array:
    """Within the bounds."""
    return np.asarray(np.clip(z, -REACH, REACH))
