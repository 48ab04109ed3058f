"""Coordinates for derivative-free search: z rotated and scaled by the sensitivity of the prediction.

With G = U s Vᵀ the Jacobian of the predicted states by z, z = z₀ + T y, T = V diag(s₀ε / max(s, s₀ε)): a unit of each y
changes the prediction equally, except along poorly observable directions, where it is at most a unit of z. It costs
n + 1 evaluations, which are counted.

Unobservable directions have no unique basis: rounding would rotate it, and with it every random step. So their basis is
built from the axes of z in order, signs are fixed, and all is rounded to four digits. A search then takes the same path
on machines that round differently.
"""

from __future__ import annotations

import numpy as np

from steelyard.experiment.search.search_problem import REACH, SearchProblem, SearchSpace
from steelyard.spatial import Array

FLOOR = 0.03  # ε: smaller singular values, over the largest, count as this
STEP = 1e-4  # of finite differences, in z
DIGITS = 4  # to which T is rounded
ALONG = 0.05  # least part of an axis of z outside the basis that adds a direction


def jacobian(problem: SearchProblem, z: Array) -> Array:
    """Jacobian (rows, n) of the residuals by z, by forward differences."""
    space, n = problem.space, problem.space.n
    side = np.where(z > 0, -STEP, STEP)  # towards the centre, so that bounds hold
    r = problem.residuals(space.parameters(np.vstack([z[None], z + side * np.eye(n)])))
    return np.asarray(((r[1:] - r[0]) / side[:, None]).T)


def scale_by_sensitivity(problem: SearchProblem, z: Array, *, keep_mass: bool) -> Array:
    """T (n, k); with ``keep_mass``, where the total mass is known, k = n − 1 and no y changes it."""
    keep = _mass_preserving_basis(problem.space) if keep_mass else np.eye(problem.space.n)
    G = jacobian(problem, z) @ keep
    _, s, Vt = np.linalg.svd(G, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(Vt) - len(s))])
    least = FLOOR * max(float(s[0]), 1e-300)
    shown = int(np.sum(s > least))
    V = np.hstack([Vt[:shown].T, _basis_from_axes(Vt[shown:].T)])
    V = V * np.where(np.pi ** -np.arange(len(V)) @ V < 0, -1.0, 1.0)
    return np.asarray(keep @ np.round(V, DIGITS) * np.round(least / np.maximum(s, least), DIGITS + 2))


def _basis_from_axes(V: Array) -> Array:
    """Orthonormal basis (n, k) of the span of V (n, k) that depends on that span alone."""
    basis, rest = np.zeros((len(V), 0)), V @ V.T
    for least in (ALONG, 0.0):
        for k in range(len(V)):
            v = rest[:, k] - basis @ (basis.T @ rest[:, k])
            size = np.linalg.norm(v)
            if basis.shape[1] < V.shape[1] and size > max(least, 1e-9):
                basis = np.column_stack([basis, v / size])
    return basis


def _mass_preserving_basis(space: SearchSpace) -> Array:
    if space.total is None or not space.masses.any():
        return np.eye(space.n)
    direction = space.scale * space.masses
    return np.asarray(np.linalg.svd(direction[None])[2][1:].T)


def clip_to_bounds(z: Array) -> Array:
    """z clipped to ±``REACH``."""
    return np.asarray(np.clip(z, -REACH, REACH))
