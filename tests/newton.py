"""An independent check of all solvers: Newton's method on the logarithmic barrier.

    minimise  f(θ) − μ Σ log det Mᵦ(θ) − μ Σ log(θᵢ − lowerᵢ) − μ Σ log(Aθ − b)ⱼ,    μ → 0,

in coordinates x where f is ½‖x‖² (``Problem.inverse``; and ``Problem.null``, where f is flat), so that the Hessian is
never worse than the barrier's. At each centre μ Mᵦ⁻¹ are dual feasible multipliers, and the duality gap is known:
μ × (order of all cones). Where Aθ = b is asked for, x is confined to the solutions: x = x₀ + N u with x₀ the shortest
and N orthonormal.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, null_space

from steelyard import inertia
from steelyard.solve.problem import Entropy, Problem, Solution
from steelyard.spatial import Array

CLOSE = 0.05  # of μ: a barrier's full step converges from here on, where differences of its value are mere rounding


def solve(problem: Problem, tolerance: float = 1e-7) -> Solution:
    """Follow the central path until the gap is below ``tolerance`` × objective."""
    path = _Path(problem)
    order = sum(c.F.shape[1] for c in problem.cones) + len(path.b)
    x = path.coordinates(_interior(problem))
    if not np.isfinite(path.value(x, 1.0)):
        raise ArithmeticError("the start is not strictly inside")
    first = problem.objective(path.theta(x))
    mu, status = max(first, 1e-12) / max(order, 1), "solved"
    for _ in range(80):
        before = np.inf
        for _ in range(60):
            step, decrement = path.newton_step(x, mu)
            if decrement < 1e-16 * mu * max(order, 1) or (decrement < CLOSE * mu and decrement > 0.5 * before):
                break
            before = decrement
            if decrement < CLOSE * mu:
                x = x + step
                continue
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
    return Solution(theta, duals, bound_duals, "newton", status, _linear_duals(problem, theta, duals, bound_duals, mu))


def _linear_duals(
    problem: Problem, theta: Array, duals: tuple[Array, ...], bound_duals: dict[int, float], mu: float
) -> Array:
    """Of inequalities μ over their slack; of equalities what then still pulls."""
    rows, equal = problem.linear, problem.linear.equal
    if not len(rows):
        return np.zeros(0)
    nu = np.where(equal, 0.0, mu / np.where(equal, 1.0, rows.slack(theta)))
    pull = -nu @ rows.A
    for cone, Z in zip(problem.cones, duals, strict=True):
        pull[cone.at : cone.at + len(cone.F)] -= cone.adjoint(Z)
    for i, m in bound_duals.items():
        pull[i] -= m
    for e in problem.entropies:
        pull[e.at : e.at + 10] += e.gradient(theta)
    x = problem.root @ (theta - problem.centre)
    E = rows.A[equal] @ problem.inverse
    nu[equal] = np.linalg.lstsq(E.T, x + problem.inverse.T @ pull, rcond=None)[0]
    return nu


class _Path:
    """The barrier problem in the coordinates x."""

    def __init__(self, problem: Problem):
        self.problem, rows, n = problem, problem.linear, len(problem.centre)
        self.whole = np.hstack([problem.inverse, problem.null])
        self.origin, self.N, self.felt = np.zeros(self.whole.shape[1]), np.eye(self.whole.shape[1]), len(problem.root)
        if np.any(rows.equal):
            E = rows.A[rows.equal] @ self.whole
            self.origin = np.linalg.lstsq(E, -rows.slack(problem.centre)[rows.equal], rcond=None)[0]
            self.N = null_space(E)
        self.centre, self.W = problem.centre + self.whole @ self.origin, self.whole @ self.N
        self.feel = self.N[: self.felt]  # the quadratic part is ½‖origin + feel u‖²
        self.bend = self.feel.T @ self.feel
        one = np.eye(n)[list(problem.lower)]
        self.A = np.vstack([one, rows.A[~rows.equal]]) if len(rows) else one
        self.b = np.append(np.array(list(problem.lower.values()), float), rows.b[~rows.equal])
        self.rows = self.A @ self.W

    def coordinates(self, theta: Array) -> Array:
        moved = theta - self.problem.centre
        along = np.linalg.lstsq(self.problem.null, moved - self.problem.inverse @ (self.problem.root @ moved))[0]
        return np.asarray(self.N.T @ (np.concatenate([self.problem.root @ moved, along]) - self.origin))

    def theta(self, x: Array) -> Array:
        return np.asarray(self.centre + self.W @ x)

    def value(self, x: Array, mu: float) -> float:
        theta = self.theta(x)
        slack = self.A @ theta - self.b
        if np.any(slack <= 0):
            return float("inf")
        at = self.origin[: self.felt] + self.feel @ x
        value = 0.5 * float(at @ at) - mu * float(np.sum(np.log(slack)))
        for cone in self.problem.cones:
            try:
                L = np.linalg.cholesky(cone.value(theta))
            except np.linalg.LinAlgError:
                return float("inf")
            value -= 2 * mu * float(np.sum(np.log(np.diag(L))))
        return value + sum(e.value(theta) for e in self.problem.entropies)

    def newton_step(self, x: Array, mu: float) -> tuple[Array, float]:
        theta = self.theta(x)
        g, H = self.feel.T @ (self.origin[: self.felt] + self.feel @ x), self.bend.copy()
        for e in self.problem.entropies:
            rows = self.W[e.at : e.at + 10]
            g += e.gradient(theta) @ rows
            H += rows.T @ entropy_hessian(e, theta) @ rows
        for cone in self.problem.cones:
            rows = self.W[cone.at : cone.at + len(cone.F)]
            X = _inverse(cone.value(theta)) @ cone.F
            g -= mu * np.trace(X, axis1=1, axis2=2) @ rows
            H += mu * rows.T @ np.einsum("aij,bji->ab", X, X) @ rows
        rows, slack = self.rows, self.A @ theta - self.b
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


def entropy_hessian(entropy: Entropy, theta: Array) -> Array:
    """(10, 10) second derivative of an entropic prior by its body's parameters."""
    X = np.linalg.inv(inertia.pseudo(theta[entropy.at : entropy.at + 10])) @ inertia.PSEUDO_BASIS
    return np.asarray(entropy.weight * np.einsum("aij,bji->ab", X, X))


def _inverse(M: Array) -> Array:
    """Of a positive definite matrix, and itself one even where that is nearly singular."""
    w, V = np.linalg.eigh(M)
    return np.asarray((V / w) @ V.T)


def _interior(problem: Problem) -> Array:
    """The start, moved off its bounds and onto its equalities, by as little as can be in natural units."""
    theta = np.array(problem.start, float)
    for i, low in problem.lower.items():
        theta[i] = max(theta[i], low + 1e-3 * problem.scale[i])
    equal = problem.linear.equal
    if not np.any(equal):
        return theta
    E = problem.linear.A[equal] * problem.scale
    return np.asarray(theta - problem.scale * np.linalg.lstsq(E, problem.linear.slack(theta)[equal], rcond=None)[0])
