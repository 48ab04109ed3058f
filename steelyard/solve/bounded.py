"""Problems with bounds and nothing else: Lawson and Hanson's non-negative least squares, by SciPy, on R itself.

Unknowns without a bound are projected out first. SciPy's word is not taken for it: ``certify`` judges the answer.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from steelyard.solve.problem import Problem, Solution

Array = np.ndarray


def solve(problem: Problem) -> Solution:
    """Solve a problem without cones and entropies."""
    if problem.cones or problem.entropies:
        raise ValueError("has cones or entropies")
    R, n = problem.information.R, problem.information.n
    lower = np.full(n, -np.inf)
    lower[list(problem.lower)] = list(problem.lower.values())
    theta = least(R, problem.information.z, lower)
    slope = R.T @ (R @ theta - problem.information.z)
    duals = {i: max(float(slope[i]), 0.0) if theta[i] == low else 0.0 for i, low in problem.lower.items()}
    return Solution(theta, (), duals, "bounded", "solved")


def least(A: Array, b: Array, lower: Array) -> Array:
    """(n,) x that minimises ‖Ax − b‖ with x ≥ lower; −inf means no bound."""
    free = ~np.isfinite(lower)
    length = np.linalg.norm(A, axis=0)
    length[length <= 1e-14 * length.max(initial=0.0)] = 1.0
    A, origin = A / length, np.where(free, 0.0, lower)
    b = b - A @ (length * origin)
    Q = np.linalg.qr(A[:, free])[0]
    away, rest = A[:, ~free], b
    if free.any():
        away, rest = away - Q @ (Q.T @ away), rest - Q @ (Q.T @ rest)
    x = np.zeros(A.shape[1])
    try:
        x[~free] = nnls(away, rest, maxiter=30 * max(A.shape[1], 10))[0]
    except RuntimeError as error:
        raise ArithmeticError(str(error)) from error
    if free.any():
        x[free] = np.linalg.lstsq(A[:, free], b - A @ x, rcond=1e-14)[0]
    return np.asarray(origin + x / length)
