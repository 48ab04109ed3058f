"""Last digits of a solution: a point that satisfies every constraint, and multipliers without a residual.

If prior and data are both weak an interior-point method may stop minimally infeasible, or with multipliers whose last
digits are rounding. The violated constraints are then a few linear ones (bounds, rows, vᵀM(θ)w for the eigenvectors v,
w of a cone's negative or nearly zero eigenvalues), and the nearest point in natural units at which they hold is the
solution of a small least-squares problem. Likewise Z becomes Z + B Y Bᵀ with BBᵀ ≈ Z and the smallest Y for which M*(Z)
equals the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard.solve.problem import Problem, Solution, positive
from steelyard.spatial import Array

ROUNDS = 20
SPARE = 1e-13  # of a constraint's natural size: slack that allows for rounding
NEAR = 1e-9  # eigenvalues below this are constrained together with the negative ones of their cone


def polish_solution(problem: Problem, solution: Solution) -> Iterator[Solution]:
    """Yield refined solutions, whose certificates may hold where that of the given one does not."""
    if not np.isfinite(solution.theta).all():
        return
    feasible = replace(solution, theta=_make_feasible(problem, solution.theta))
    yield feasible
    yield _with_gradient_duals(problem, feasible)


def _make_feasible(problem: Problem, theta: Array) -> Array:
    """The nearest point at which the violated constraints hold."""
    for _ in range(ROUNDS):
        A, missing = _violated(problem, theta)
        if not len(missing):
            break
        theta = theta + problem.scale * np.linalg.lstsq(A * problem.scale, missing, rcond=None)[0]
    return theta


def _violated(problem: Problem, theta: Array) -> tuple[Array, Array]:
    """Violated constraints A (v, n) in natural units, and the amounts by which A θ is short of them."""
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


def _with_gradient_duals(problem: Problem, solution: Solution) -> Solution:
    """The same point, with cone multipliers that balance the gradient less those of bounds and linear constraints."""
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
        B = V * np.sqrt(np.maximum(w / max(float(w[-1]), 1e-300), 1e-8))  # its scale cancels
        missing = slope[cone.at : cone.at + k] - cone.adjoint(Z)
        Y = (np.linalg.pinv((B.T @ cone.F @ B).reshape(k, -1)) @ missing).reshape(p, p)
        duals.append(positive(Z + B @ (0.5 * (Y + Y.T)) @ B.T))
    return replace(solution, duals=tuple(duals))
