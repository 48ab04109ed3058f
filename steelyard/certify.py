"""Proof that an answer is right, worked out anew from the problem and independent of whichever backend ran.

For ``min f(θ) s.t. M(θ) ⪰ 0, θ ≥ lower`` any positive semidefinite Z and μ ≥ 0 bound the optimum from below. With
the stationarity residual r = ∇f − M*(Z) − μ and the Hessian H of f, what an answer can still be off by is at most

    gap = ⟨Z, M(θ)⟩ + ⟨μ, θ − lower⟩ + ½ rᵀH⁻¹r,

exactly so where f is quadratic. Both figures are given relative to the objective's scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.solve.problem import Problem, Solution

Array = np.ndarray

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Certificate:
    """What was proved about an answer."""

    kkt: float  # largest stationarity residual, relative to the gradient's parts
    gap: float  # bound on how far the objective is from the optimum, relative to the objective
    least_eigenvalue: float  # of all scaled cones: ≥ 0 is feasible

    @property
    def holds(self) -> bool:
        """Whether optimality and feasibility are proved to ``TOLERANCE``."""
        return self.kkt <= TOLERANCE and self.gap <= TOLERANCE and self.least_eigenvalue >= -1e-9


def certify(problem: Problem, solution: Solution) -> Certificate:
    """Check a solution against its problem."""
    theta, D = solution.theta, problem.scale
    if not np.isfinite(theta).all():
        return Certificate(np.inf, np.inf, -np.inf)
    multipliers, complementary, least = np.zeros_like(theta), 0.0, np.inf
    for cone, Z in zip(problem.cones, solution.duals, strict=True):
        M = cone.value(theta)
        multipliers[cone.at : cone.at + len(cone.F)] += cone.adjoint(Z)
        complementary += float(np.sum(Z * M))
        least = min(least, float(np.linalg.eigvalsh(M)[0]), float(np.linalg.eigvalsh(Z)[0]))
    for i, low in problem.lower.items():
        mu = solution.bound_duals[i]
        multipliers[i] += mu
        complementary += mu * (theta[i] - low)
        least = min(least, (theta[i] - low) / D[i], mu)
    R, z = problem.information.R * D, problem.information.z
    parts = np.abs(R.T) @ (np.abs(R @ (theta / D)) + np.abs(z)) + np.abs(multipliers * D)
    residual = (problem.gradient(theta) - multipliers) * D
    H = R.T @ R
    for e in problem.entropies:
        here = slice(e.at, e.at + 10)
        H[here, here] += e.hessian(theta) * np.outer(D[here], D[here])
    w, V = np.linalg.eigh(H)
    along = V.T @ residual
    seen = w > 1e-14 * w[-1]
    off = 0.5 * float(np.sum(along[seen] ** 2 / w[seen]))
    objective = problem.objective(theta)
    scale = objective + 1e-6 * 0.5 * float(z @ z) + 1e-300
    return Certificate(
        float(np.max(np.abs(residual)) / max(float(np.max(parts)), 1e-300)),
        float((abs(complementary) + off) / scale),
        least if np.isfinite(least) else 0.0,
    )
