"""A second, independent backend: Newton's method on the logarithmic barrier.

    minimise  f(θ) − μ Σ log det Mᵦ(θ) − μ Σ log(θᵢ − lowerᵢ),    μ → 0.

At each centre μ Mᵦ⁻¹ are dual feasible multipliers, so the duality gap is known: μ × (order of all cones).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from steelyard.solve.problem import Problem, Solution

Array = np.ndarray


def solve(problem: Problem, tolerance: float = 1e-9) -> Solution:
    """Follow the central path until the gap is below ``tolerance`` × objective."""
    D, index = problem.scale, np.array(list(problem.lower), int)
    bounds = np.array(list(problem.lower.values()), float)
    H0 = (problem.information.R * D).T @ (problem.information.R * D)
    order = sum(c.F.shape[1] for c in problem.cones) + len(index)
    theta = _interior(problem, problem.start)
    mu = max(problem.objective(theta), 1e-12) / max(order, 1)
    least = tolerance * max(problem.objective(theta) * 1e-6, 1e-12)
    status = "solved"
    for _ in range(80):
        for _ in range(60):
            step, decrement = _newton_step(problem, theta, mu, H0, index, bounds)
            if decrement < 1e-10 * mu * max(order, 1):
                break
            theta, moved = _line_search(problem, theta, step, decrement, mu, index, bounds)
            if not moved:
                break
        gap = mu * order
        if gap <= max(tolerance * problem.objective(theta), least):
            break
        mu /= 8
    else:
        status = "iteration limit"
    duals = tuple(mu * np.linalg.inv(c.value(theta)) for c in problem.cones)
    bound_duals = dict(zip(index.tolist(), (mu / (theta[index] - bounds)).tolist(), strict=True))
    return Solution(theta, duals, bound_duals, "newton", status)


def _interior(problem: Problem, theta: Array) -> Array:
    theta = np.array(theta, float)
    for i, low in problem.lower.items():
        theta[i] = max(theta[i], low + 1e-3 * problem.scale[i])
    return theta


def _barrier(problem: Problem, theta: Array, mu: float, index: Array, bounds: Array) -> float:
    value = problem.objective(theta)
    slack = theta[index] - bounds
    if np.any(slack <= 0):
        return float("inf")
    value -= mu * float(np.sum(np.log(slack)))
    for cone in problem.cones:
        try:
            L = np.linalg.cholesky(cone.value(theta))
        except np.linalg.LinAlgError:
            return float("inf")
        value -= 2 * mu * float(np.sum(np.log(np.diag(L))))
    return value


def _newton_step(
    problem: Problem, theta: Array, mu: float, H0: Array, index: Array, bounds: Array
) -> tuple[Array, float]:
    D = problem.scale
    g, H = problem.gradient(theta) * D, H0.copy()
    for e in problem.entropies:
        here = slice(e.at, e.at + 10)
        H[here, here] += e.hessian(theta) * np.outer(D[here], D[here])
    for cone in problem.cones:
        here = slice(cone.at, cone.at + len(cone.F))
        X = np.linalg.inv(cone.value(theta)) @ cone.F
        g[here] -= mu * np.trace(X, axis1=1, axis2=2) * D[here]
        H[here, here] += mu * np.einsum("aij,bji->ab", X, X) * np.outer(D[here], D[here])
    slack = theta[index] - bounds
    g[index] -= mu / slack * D[index]
    H[index, index] += mu / slack**2 * D[index] ** 2
    H[np.diag_indices_from(H)] += 1e-15 * np.trace(H) / len(H)
    x = -cho_solve(cho_factor(H), g)
    return D * x, float(-g @ x)


def _line_search(
    problem: Problem, theta: Array, step: Array, decrement: float, mu: float, index: Array, bounds: Array
) -> tuple[Array, bool]:
    value = _barrier(problem, theta, mu, index, bounds)
    length = 1.0
    while length > 1e-12:
        candidate = theta + length * step
        if _barrier(problem, candidate, mu, index, bounds) <= value - 0.1 * length * decrement:
            return candidate, True
        length *= 0.5
    return theta, False
