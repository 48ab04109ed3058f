"""Analytic centre of a region: the minimum of Φ = −Σ log det Mᵦ − Σ log slack − log(radius² − ‖Rθ − z‖²).

At the centre the multipliers Z = M⁻¹ and μ = 1/slack balance except for the gradient of the ball's term, and the
Hessian of Φ gives the extent of the region in every direction, to a factor of its order. Computed by Newton's method in
coordinates θ = start + W v in which the ball is round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from steelyard.solve.problem import pack_symmetric
from steelyard.solve.region import Region
from steelyard.spatial import Array

STEPS = 300  # of Newton's method


@dataclass(frozen=True)
class AnalyticCentre:
    """Slacks and Hessian of a region at its analytic centre."""

    roots: Array  # (B, 4, 4) L⁻¹ with M = LLᵀ
    slack: Array  # (m,) of the region's rows
    triangle: Array  # (n−r, n−r) T with TᵀT the Hessian of Φ in the null space of R


def find_analytic_centre(region: Region) -> AnalyticCentre:
    """Compute the analytic centre by Newton's method with a line search, from the region's start."""
    barrier = _Barrier(region)
    v = np.zeros(len(region.start))
    for _ in range(STEPS):
        g, C = barrier.derivatives(v)
        d = 1 / np.linalg.norm(C, axis=0)
        T = np.asarray(np.linalg.qr(C * d, mode="r"))  # of the root: the Hessian has its condition number squared
        step = -d * back(T, d * g)
        decrement = float(-g @ step)
        value, length = barrier.value(v), 1.0
        while barrier.value(v + length * step) > value - 0.1 * length * decrement and length > 1e-6:
            length *= 0.5
        v = v + length * step if length > 1e-6 else v
        if decrement < 1e-12 or length <= 1e-6:
            break
    M, slack, _, _ = barrier.state(v)
    C, r = barrier.derivatives(v)[1], len(region.R)
    null_triangle = np.asarray(np.linalg.qr(C[: len(C) - r, r:], mode="r"))
    return AnalyticCentre(np.linalg.inv(np.linalg.cholesky(M)), slack, null_triangle)


def back(T: Array, b: Array) -> Array:
    """Return (TᵀT)⁻¹b for an upper triangular T."""
    return np.asarray(solve_triangular(T, solve_triangular(T, b, trans="T")))


class _Barrier:
    """Φ in the coordinates v."""

    def __init__(self, region: Region):
        self.region, W = region, region.coordinates
        self.blocks = np.stack([W[c.at : c.at + 10] for c in region.cones])  # (B, 10, n)
        self.F = np.stack([c.F for c in region.cones])  # (B, 10, 4, 4)
        self.M = np.stack([c.value(region.start) for c in region.cones])
        self.rows = region.rows @ W
        self.slack = region.rows @ region.start - region.levels
        self.residual = region.R @ region.start - region.z

    def state(self, v: Array) -> tuple[Array, Array, Array, float]:
        """M (B, 4, 4), slack of the rows, residual of the data, and radius² − ‖residual‖²."""
        residual = self.residual + v[: len(self.residual)]
        length, radius = float(np.linalg.norm(residual)), self.region.radius
        M = self.M + np.einsum("bkij,bk->bij", self.F, self.blocks @ v)
        return M, self.slack + self.rows @ v, residual, (radius - length) * (radius + length)

    def value(self, v: Array) -> float:
        """Φ, infinite outside the region."""
        M, slack, _, ball = self.state(v)
        if ball <= 0 or np.any(slack <= 0):
            return np.inf
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            return np.inf
        logs = 2 * np.sum(np.log(np.diagonal(L, axis1=1, axis2=2))) + np.sum(np.log(slack)) + np.log(ball)
        return -float(logs)

    def derivatives(self, v: Array) -> tuple[Array, Array]:
        """Gradient, and rows C with CᵀC the Hessian; the last r are the ball's."""
        M, slack, residual, room = self.state(v)
        inverse = np.linalg.inv(np.linalg.cholesky(M))
        X = inverse[:, None] @ self.F @ np.swapaxes(inverse, 1, 2)[:, None]  # (B, 10, 4, 4)
        bodies = np.swapaxes(pack_symmetric(X), 1, 2) @ self.blocks
        rows = self.rows / slack[:, None]
        r, inner = len(residual), float(residual @ residual)
        g = -np.einsum("bkii,bkn->n", X, self.blocks) - rows.sum(axis=0)
        g[:r] += 2 * residual / room
        bend = (np.sqrt(1 + 2 * inner / room) - 1) / inner if inner > 0 else 0.0
        ball = np.zeros((r, len(v)))
        ball[:, :r] = np.sqrt(2 / room) * (np.eye(r) + bend * np.outer(residual, residual))
        return g, np.vstack([bodies.reshape(-1, len(v)), rows, ball])
