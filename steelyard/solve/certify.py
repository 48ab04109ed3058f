"""Certificate of optimality, computed from the problem and the multipliers, independent of the backend.

For ``min f(θ) s.t. M(θ) ⪰ 0, θ ≥ lower, Aθ ≥ b`` any positive semidefinite Z, μ ≥ 0 and ν ≥ 0 (of any sign for
equalities Aθ = b) bound the optimum from below. In coordinates x = R(θ − centre) the quadratic part of f is ½‖x‖², so
with the stationarity residual r = ∇f − M*(Z) − μ − Aᵀν in these coordinates, f(θ) exceeds the optimum by at most

    gap = ⟨Z, M(θ)⟩ + ⟨μ, θ − lower⟩ + ⟨ν, Aθ − b⟩ + ½‖r‖².

The gradient of an entropic prior suffers from rounding where a body is thin. But γ(−log det J) is at least γ(log det Y
+ 4 − ⟨Y, J⟩) for every Y ≻ 0, with equality at J⁻¹. So J⁻¹ is replaced by the Y that leaves no residual, if there is
one, and the cost of that, γ(⟨Y, J⟩ − log det YJ − 4) ≥ 0, is added to the gap.

Residual and gap are given relative to the objective's scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.solve.problem import Problem, Solution
from steelyard.spatial import Array

TOLERANCE = 1e-6  # of the gap, relative to the objective
SLOPE = 1e-5  # of the stationarity residual, relative to the gradient's terms; it enters the gap squared


@dataclass(frozen=True)
class Certificate:
    """Proved properties of a solution."""

    kkt: float  # largest stationarity residual, relative to the gradient's terms
    gap: float  # bound on objective − optimum, relative to the objective
    least_eigenvalue: float  # of all scaled cones, bounds and linear constraints: feasible if ≥ 0
    solver: str = ""  # name of the backend
    unknowns: int = 0
    seconds: float = 0.0  # duration of the whole method

    @property
    def excess(self) -> float:
        """Largest of residual and gap over its tolerance; at most 1 where the certificate holds."""
        return max(self.kkt / SLOPE, self.gap / TOLERANCE)

    @property
    def holds(self) -> bool:
        """Whether optimality and feasibility are proved."""
        return self.kkt <= SLOPE and self.gap <= TOLERANCE and self.least_eigenvalue >= -1e-9


def certify(problem: Problem, solution: Solution) -> Certificate:
    """Return the certificate of a solution; ``holds`` is false if nothing is proved."""
    theta, D = solution.theta, problem.scale
    if not (np.isfinite(theta).all() and np.isfinite(problem.objective(theta))):
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
    if len(problem.linear):
        rows, size = problem.linear, np.abs(problem.linear.A) @ D
        nu = solution.linear_duals if solution.linear_duals.size else np.zeros(len(rows))
        slack = rows.slack(theta)
        multipliers += nu @ rows.A
        complementary += float(np.sum(np.abs(nu * slack)))
        room = np.where(rows.equal, -np.abs(slack), slack) / np.maximum(size, 1e-300)
        least = min(least, float(room.min()), float(np.min(nu * size, where=~rows.equal, initial=np.inf)))
    pull = -multipliers
    R, W = problem.root, problem.inverse
    x = R @ (theta - problem.centre)
    for e in problem.entropies:
        body = slice(e.at, e.at + 10)
        slope, cost = e.supported(theta, -(R.T @ x)[body] - pull[body])
        pull[body] += slope
        complementary += cost
    forces = W.T @ pull
    residual = x + forces
    unopposed = pull - R.T @ forces  # outside the row space of R; zero unless R is singular
    start = max(0.5 * float(problem.information.z @ problem.information.z), problem.objective(problem.start))
    scale = problem.objective(theta) + 1e-6 * start + 1e-300
    parts = float(np.max(np.abs(x), initial=0.0) + np.max(np.abs(forces), initial=0.0) + np.sqrt(2 * scale))
    worth = max(float(np.max(np.abs(pull * D))), TOLERANCE / SLOPE * scale)  # smaller slopes are within the gap
    free = float(np.max(np.abs(unopposed * D))) / worth
    proof = Certificate(
        max(float(np.max(np.abs(residual), initial=0.0)) / parts, free),
        float((abs(complementary) + 0.5 * float(residual @ residual)) / scale),
        least if np.isfinite(least) else 0.0,
    )
    if proof.holds or problem.cones or problem.entropies or len(problem.linear) or not problem.lower:
        return proof
    return _by_tangent(problem, theta, multipliers, scale, proof)


def _by_tangent(problem: Problem, theta: Array, multipliers: Array, scale: float, proof: Certificate) -> Certificate:
    """The same for bounds alone, also for a nearly singular R: f lies above its tangent, and no inverse is needed.

    With g = ∇f and any y for which c = Rᵀy ≥ (−g)⁺, no feasible x has an objective lower than that of θ by more than

        Σ g⁺(θ − lower) + Σ c(x − lower),    where Σ c(x − θ) ≤ 2‖y‖‖Rθ − z‖ for every x as good as θ.

    Unknowns without a bound are eliminated first.
    """
    R, z, index = problem.information.R, problem.information.z, np.array(list(problem.lower))
    rest = np.setdiff1d(np.arange(len(theta)), index)
    Q = np.linalg.qr(R[:, rest])[0] if len(rest) else np.zeros((len(R), 0))
    A, b = R[:, index] - Q @ (Q.T @ R[:, index]), z - Q @ (Q.T @ z)
    above, D = theta[index] - np.array(list(problem.lower.values())), problem.scale[index]
    r = A @ theta[index] - b
    g = A.T @ r
    needed = np.maximum(-g, 0) + 1e-15 * np.linalg.norm(A, axis=0) * np.linalg.norm(b)
    if not np.all(needed > 0):
        return proof  # no information about some x
    for cutoff in (1e-2, 1e-4, 1e-8, 1e-12):  # a short y gives a tighter bound
        y = np.linalg.lstsq((A / needed).T, np.ones(len(D)), rcond=cutoff)[0]
        c = A.T @ y
        if np.all(c > 0.1 * needed):
            break
    else:
        return proof  # some x is unbounded at no cost
    c, y = 10 * c, 10 * y
    unfit = 0.5 * float(np.sum((R @ theta - z) ** 2) - r @ r)  # gain by optimal unbounded unknowns
    gap = unfit + float((np.maximum(g, 0) + c) @ np.abs(above)) + 2 * float(np.linalg.norm(y) * np.linalg.norm(r))
    slope = float(np.max(np.abs(g - multipliers[index]) * D) / (np.max(np.abs(A.T @ b) * D) + scale))
    return Certificate(slope, gap / scale, proof.least_eigenvalue)
