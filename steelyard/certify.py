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
    proof = Certificate(
        max(float(np.max(np.abs(residual))) / parts, free),
        float((abs(complementary) + 0.5 * float(residual @ residual)) / scale),
        least if np.isfinite(least) else 0.0,
    )
    if proof.holds or problem.cones or problem.entropies or not problem.lower:
        return proof
    return _by_tangent(problem, theta, multipliers, scale, proof)


def _by_tangent(problem: Problem, theta: Array, multipliers: Array, scale: float, proof: Certificate) -> Certificate:
    """The same for bounds alone, however near R is to singular: f lies above its tangent, and no inverse is needed.

    With g = ∇f and any y for which c = Rᵀy ≥ (−g)⁺, no feasible x is better than θ by more than

        Σ g⁺(θ − lower) + Σ c(x − lower),    where Σ c(x − θ) ≤ 2‖y‖‖Rθ − z‖ for every x as good as θ.

    What has no bound is projected out first: it can always take its best value.
    """
    R, z, index = problem.information.R, problem.information.z, np.array(list(problem.lower))
    rest = np.setdiff1d(np.arange(len(theta)), index)
    Q = np.linalg.qr(R[:, rest])[0] if len(rest) else np.zeros((len(R), 0))
    A, b = R[:, index] - Q @ (Q.T @ R[:, index]), z - Q @ (Q.T @ z)
    above, D = theta[index] - np.array(list(problem.lower.values())), problem.scale[index]
    r = A @ theta[index] - b
    g = A.T @ r
    needed = np.maximum(-g, 0) + 1e-15 * np.linalg.norm(A, axis=0) * np.linalg.norm(b)
    for cutoff in (1e-2, 1e-4, 1e-8, 1e-12):  # a short y proves more
        y = np.linalg.lstsq((A / needed).T, np.ones(len(D)), rcond=cutoff)[0]
        c = A.T @ y
        if np.all(c > 0.1 * needed):
            break
    else:
        return proof  # some x could grow without end at no cost
    c, y = 10 * c, 10 * y
    unfit = 0.5 * float(np.sum((R @ theta - z) ** 2) - r @ r)  # what better values of the unbounded would gain
    gap = unfit + float((np.maximum(g, 0) + c) @ np.abs(above)) + 2 * float(np.linalg.norm(y) * np.linalg.norm(r))
    slope = float(np.max(np.abs(g - multipliers[index]) * D) / (np.max(np.abs(A.T @ b) * D) + scale))
    return Certificate(slope, gap / scale, proof.least_eigenvalue)
