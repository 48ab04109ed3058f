"""The last digits of an answer: a point on the right side of every constraint, and multipliers that leave no residual.

Where prior and data are both weak an interior-point method stops a hair's breadth outside, or with multipliers whose
last digits are rounding. What is violated is then a handful of linear rows (bounds, rows, vᵀM(θ)w for the eigenvectors
v, w of a cone's eigenvalues that are negative or next to zero): the nearest point in natural units where they hold is
one small least-squares problem away. And Z may become Z + B Y Bᵀ with BBᵀ ≈ Z and the smallest Y for which
M*(Z) is the slope.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.solve.problem import Problem, Solution, positive
from steelyard.spatial import Array

ROUNDS = 20
SPARE = 1e-13  # of a row's natural size: what a constraint gets beyond its edge, for rounding
NEAR = 1e-9  # an eigenvalue below this moves along when another of its cone is lifted


def polished(problem: Problem, solution: Solution) -> Iterator[Solution]:
    """Answers that may be easier to prove than this one; none is taken on trust."""
    if not np.isfinite(solution.theta).all():
        return
    inside = replace(solution, theta=_inside(problem, solution.theta))
    yield inside
    yield _with_slope_duals(problem, inside)


def _inside(problem: Problem, theta: Array) -> Array:
    """The nearest point where what was violated holds."""
    for _ in range(ROUNDS):
        A, missing = _violated(problem, theta)
        if not len(missing):
            break
        theta = theta + problem.scale * np.linalg.lstsq(A * problem.scale, missing, rcond=None)[0]
    return theta


def _violated(problem: Problem, theta: Array) -> tuple[Array, Array]:
    """Rows A (v, n) in natural size, and what A θ lacks to hold with something to spare."""
    n, rows, missing = len(theta), list[Array](), list[float]()
    for i, low in problem.lower.items():
        if theta[i] < low:
            rows.append(np.eye(n)[i] / problem.scale[i])
            missing.append((low - theta[i]) / problem.scale[i] + SPARE)
    linear = problem.linear.unit(problem.scale)
    for row, room, equal in zip(linear.A, linear.slack(theta), linear.equal, strict=True):
        if room < 0 or (equal and room != 0):
            rows.append(row)
            missing.append(-float(room) + (0.0 if equal else SPARE))
    for cone in problem.cones:
        w, V = np.linalg.eigh(cone.value(theta))
        if w[0] >= 0:
            continue
        count = int(np.sum(w < NEAR))
        for i in range(count):
            for j in range(i + 1):
                row = np.zeros(n)
                row[cone.at : cone.at + len(cone.F)] = V[:, i] @ cone.F @ V[:, j]
                rows.append(row)
                missing.append(max(SPARE - float(w[i]), 0.0) if i == j else 0.0)
    if max(np.abs(missing), default=0.0) <= 2 * SPARE:
        return np.zeros((0, n)), np.zeros(0)
    return np.stack(rows), np.array(missing)


def _with_slope_duals(problem: Problem, solution: Solution) -> Solution:
    """The same point; multipliers of cones that make up the slope there, less what bounds and rows take of it."""
    theta = solution.theta
    slope = problem.information.R.T @ (problem.information.R @ (theta - problem.centre))
    for e in problem.entropies:
        slope[e.at : e.at + 10] += e.gradient(theta)
    for i, m in solution.bound_duals.items():
        slope[i] -= m
    if solution.linear_duals.size:
        slope -= solution.linear_duals @ problem.linear.A
    duals = []
    for cone, Z in zip(problem.cones, solution.duals, strict=True):
        k, p = cone.F.shape[:2]
        w, V = np.linalg.eigh(Z)
        B = V * np.sqrt(np.maximum(w, 1e-8 * max(float(w[-1]), 1e-300)))
        missing = slope[cone.at : cone.at + k] - cone.adjoint(Z)
        Y = (np.linalg.pinv((B.T @ cone.F @ B).reshape(k, -1)) @ missing).reshape(p, p)
        duals.append(positive(Z + B @ (0.5 * (Y + Y.T)) @ B.T))
    return replace(solution, duals=tuple(duals))
