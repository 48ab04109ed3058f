"""Proof that an answer is right, worked out anew from the problem and independent of whichever backend ran.

For ``min f(θ) s.t. M(θ) ⪰ 0, θ ≥ lower`` any positive semidefinite Z and μ ≥ 0 bound the optimum from below. In
coordinates x = R(θ − centre) the quadratic part of f is ½‖x‖², so with the stationarity residual r = ∇f − M*(Z) − μ
written there, what an answer can still be off by is at most

    gap = ⟨Z, M(θ)⟩ + ⟨μ, θ − lower⟩ + ½‖r‖².

Both figures are given relative to the objective's scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.solve.problem import Problem, Solution

Array = np.ndarray

TOLERANCE = 1e-6  # of the objective
SLOPE = 1e-5  # of the gradient's parts; it enters the gap squared


@dataclass(frozen=True)
class Certificate:
    """What was proved about an answer."""

    kkt: float  # largest stationarity residual, relative to the gradient's parts
    gap: float  # bound on how far the objective is from the optimum, relative to the objective
    least_eigenvalue: float  # of all scaled cones: ≥ 0 is feasible

    @property
    def holds(self) -> bool:
        """Whether optimality and feasibility are proved."""
        return self.kkt <= SLOPE and self.gap <= TOLERANCE and self.least_eigenvalue >= -1e-9


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
        w = np.linalg.eigvalsh(Z)
        least = min(least, float(np.linalg.eigvalsh(M)[0]), float(w[0] / max(w[-1], 1.0)))  # Z may be of any size
    for i, low in problem.lower.items():
        mu = solution.bound_duals[i]
        multipliers[i] += mu
        complementary += mu * (theta[i] - low)
        least = min(least, float((theta[i] - low) / D[i]), mu)
    pull = -multipliers
    for e in problem.entropies:
        pull[e.at : e.at + 10] += e.gradient(theta)
    R, W = problem.information.R, problem.inverse
    x = R @ (theta - problem.centre)
    forces = W.T @ pull
    residual = x + forces
    unopposed = pull - R.T @ forces  # what no data or prior can balance; zero unless R is singular
    start = max(0.5 * float(problem.information.z @ problem.information.z), problem.objective(problem.start))
    scale = problem.objective(theta) + 1e-6 * start + 1e-300
    parts = float(np.max(np.abs(x)) + np.max(np.abs(forces)) + np.sqrt(2 * scale))
    worth = max(float(np.max(np.abs(pull * D))), scale)  # a pull that is worth nothing need not be opposed
    free = float(np.max(np.abs(unopposed * D))) / worth
    return Certificate(
        max(float(np.max(np.abs(residual))) / parts, free),
        float((abs(complementary) + 0.5 * float(residual @ residual)) / scale),
        least if np.isfinite(least) else 0.0,
    )
