"""Coordinates in which a search by values alone sees a round valley: z turned and stretched by its sensitivity.

With G = U s Vᵀ the Jacobian of the predicted states by z, z = z₀ + T y, T = V diag(s₀ε / max(s, s₀ε)): a unit of each y
changes the prediction alike, but for directions that it hardly shows, which are no longer than a unit of z. It costs
n + 1 evaluations, and they are counted.

Directions that are not shown have no order of their own: rounding would turn them, and with them every random step. So
they are made from the axes of z one after the other, signs are fixed, and all is kept to four digits. A search then
goes the same way on machines that round differently.
"""

from __future__ import annotations

import numpy as np

from steelyard.experiment.search.search_problem import REACH, SearchProblem, Space
from steelyard.spatial import Array

FLOOR = 0.03  # ε: directions shown less than this share of the best are taken as if they were shown so
STEP = 1e-4  # of a difference, in z
DIGITS = 4  # of T that are kept
ALONG = 0.05  # of an axis of z that is not yet in the basis, from which on it makes a direction of its own


def jacobian(problem: SearchProblem, z: Array) -> Array:
    """(rows, n) of the residuals by z, forward differences."""
    space, n = problem.space, problem.space.n
    side = np.where(z > 0, -STEP, STEP)  # towards the middle, so that bounds hold
    r = problem.residuals(space.parameters(np.vstack([z[None], z + side * np.eye(n)])))
    return np.asarray(((r[1:] - r[0]) / side[:, None]).T)


def scaled(problem: SearchProblem, z: Array, *, weighed: bool) -> Array:
    """T (n, k); with ``weighed``, k = n − 1 where the total mass is known: no y changes it."""
    keep = _keeping_mass(problem.space) if weighed else np.eye(problem.space.n)
    G = jacobian(problem, z) @ keep
    _, s, Vt = np.linalg.svd(G, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(Vt) - len(s))])
    least = FLOOR * max(float(s[0]), 1e-300)
    shown = int(np.sum(s > least))
    V = np.hstack([Vt[:shown].T, _from_axes(Vt[shown:].T)])
    V = V * np.where(np.pi ** -np.arange(len(V)) @ V < 0, -1.0, 1.0)
    return np.asarray(keep @ np.round(V, DIGITS) * np.round(least / np.maximum(s, least), DIGITS + 2))


def _from_axes(V: Array) -> Array:
    """(n, k) another orthonormal basis of the span of V (n, k), which only depends on that span."""
    basis, rest = np.zeros((len(V), 0)), V @ V.T
    for least in (ALONG, 0.0):
        for k in range(len(V)):
            v = rest[:, k] - basis @ (basis.T @ rest[:, k])
            size = np.linalg.norm(v)
            if basis.shape[1] < V.shape[1] and size > max(least, 1e-9):
                basis = np.column_stack([basis, v / size])
    return basis


def _keeping_mass(space: Space) -> Array:
    if space.total is None or not space.masses.any():
        return np.eye(space.n)
    direction = space.scale * space.masses
    return np.asarray(np.linalg.svd(direction[None])[2][1:].T)


def inside(z: Array) -> Array:
    """Within the bounds."""
    return np.asarray(np.clip(z, -REACH, REACH))
