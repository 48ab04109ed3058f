"""A second, independent backend: Newton's method on the logarithmic barrier.

    minimise  f(θ) − μ Σ log det Mᵦ(θ) − μ Σ log(θᵢ − lowerᵢ),    μ → 0,

in coordinates x where f is ½‖x‖² (``Problem.inverse``; and ``Problem.null``, where f is flat), so that the Hessian is
never worse than the barrier's. At each centre μ Mᵦ⁻¹ are dual feasible multipliers, and the duality gap is known:
μ × (order of all cones).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from steelyard.solve.problem import Problem, Solution

Array = np.ndarray


def solve(problem: Problem, tolerance: float = 1e-9) -> Solution:
    """Follow the central path until the gap is below ``tolerance`` × objective."""
    order = sum(c.F.shape[1] for c in problem.cones) + len(problem.lower)
    path = _Path(problem)
    x = path.coordinates(_interior(problem))
    first = problem.objective(path.theta(x))
    mu, status = max(first, 1e-12) / max(order, 1), "solved"
    for _ in range(80):
        for _ in range(60):
            step, decrement = path.newton_step(x, mu)
            if decrement < 1e-16 * mu * max(order, 1):
                break
            x, moved = path.line_search(x, step, decrement, mu)
            if not moved:
                break
        if mu * order <= tolerance * max(problem.objective(path.theta(x)), 1e-6 * first, 1e-12):
            break
        mu /= 8
    else:
        status = "iteration limit"
    theta = path.theta(x)
    duals = tuple(mu * _inverse(c.value(theta)) for c in problem.cones)
    bound_duals = {i: float(mu / (theta[i] - low)) for i, low in problem.lower.items()}
    return Solution(theta, duals, bound_duals, "newton", status)


class _Path:
    """The barrier problem in the coordinates x."""

    def __init__(self, problem: Problem):
        self.problem, self.W = problem, np.hstack([problem.inverse, problem.null])
        self.felt = np.arange(self.W.shape[1]) < len(problem.root)  # coordinates that the quadratic part sees
        self.index = np.array(list(problem.lower), int)
        self.bounds = np.array(list(problem.lower.values()), float)

    def coordinates(self, theta: Array) -> Array:
        moved = theta - self.problem.centre
        along = np.linalg.lstsq(self.problem.null, moved - self.problem.inverse @ (self.problem.root @ moved))[0]
        return np.concatenate([self.problem.root @ moved, along])

    def theta(self, x: Array) -> Array:
        return np.asarray(self.problem.centre + self.W @ x)

    def value(self, x: Array, mu: float) -> float:
        theta = self.theta(x)
        slack = theta[self.index] - self.bounds
        if np.any(slack <= 0):
            return float("inf")
        value = 0.5 * float(x[self.felt] @ x[self.felt]) - mu * float(np.sum(np.log(slack)))
        for cone in self.problem.cones:
            try:
                L = np.linalg.cholesky(cone.value(theta))
            except np.linalg.LinAlgError:
                return float("inf")
            value -= 2 * mu * float(np.sum(np.log(np.diag(L))))
        return value + sum(e.value(theta) for e in self.problem.entropies)

    def newton_step(self, x: Array, mu: float) -> tuple[Array, float]:
        theta = self.theta(x)
        g, H = np.where(self.felt, x, 0.0), np.diag(self.felt.astype(float))
        for e in self.problem.entropies:
            rows = self.W[e.at : e.at + 10]
            g += e.gradient(theta) @ rows
            H += rows.T @ e.hessian(theta) @ rows
        for cone in self.problem.cones:
            rows = self.W[cone.at : cone.at + len(cone.F)]
            X = _inverse(cone.value(theta)) @ cone.F
            g -= mu * np.trace(X, axis1=1, axis2=2) @ rows
            H += mu * rows.T @ np.einsum("aij,bji->ab", X, X) @ rows
        rows, slack = self.W[self.index], theta[self.index] - self.bounds
        g -= mu / slack @ rows
        H += rows.T @ (mu / slack**2 * rows.T).T
        step = -cho_solve(cho_factor(H), g)
        return step, float(-g @ step)

    def line_search(self, x: Array, step: Array, decrement: float, mu: float) -> tuple[Array, bool]:
        value, length = self.value(x, mu), 1.0
        while length > 1e-12:
            candidate = x + length * step
            if self.value(candidate, mu) <= value - 0.1 * length * decrement:
                return candidate, True
            length *= 0.5
        return x, False


def _inverse(M: Array) -> Array:
    """Of a positive definite matrix, and itself one even where that is nearly singular."""
    w, V = np.linalg.eigh(M)
    return np.asarray((V / w) @ V.T)


def _interior(problem: Problem) -> Array:
    """The start, moved off its bounds."""
    theta = np.array(problem.start, float)
    for i, low in problem.lower.items():
        theta[i] = max(theta[i], low + 1e-3 * problem.scale[i])
    return theta
