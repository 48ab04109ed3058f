"""The problem that every backend solves, and what it gives back.

    minimise    ½‖Rθ − z‖² + ½ρ² + entropy      over θ
    subject to  Mᵦ(θ) = Σₖ θ[at+k] Fᵦ[k] ⪰ 0    for each body,    θᵢ ≥ lowerᵢ

R and z hold the data and the quadratic prior alike. The entropic prior adds, for each body with reference
pseudo-inertia J₀ and weight γ, γ·(tr(J₀⁻¹J) − log det(J₀⁻¹J) − 4) (Lee, Wensing and Park).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from steelyard import inertia
from steelyard.information import Information

Array = np.ndarray


@dataclass(frozen=True)
class Cone:
    """Σₖ θ[at + k] F[k] ⪰ 0."""

    at: int
    F: Array  # (k, p, p) symmetric

    def value(self, theta: Array) -> Array:
        """(p, p) matrix at θ."""
        return np.asarray(np.tensordot(theta[self.at : self.at + len(self.F)], self.F, axes=1))

    def adjoint(self, dual: Array) -> Array:
        """(k,) ⟨F[k], dual⟩."""
        return np.asarray(np.einsum("kij,ij->k", self.F, dual))


@dataclass(frozen=True)
class Entropy:
    """γ·(tr(J₀⁻¹J) − log det(J₀⁻¹J) − 4) of the body at ``at``."""

    at: int
    reference: Array  # (4, 4) J₀
    weight: float

    def value(self, theta: Array) -> float:
        """The divergence, times its weight; infinite outside the cone."""
        X = np.linalg.solve(self.reference, inertia.pseudo(theta[self.at : self.at + 10]))
        sign, logdet = np.linalg.slogdet(X)
        return float(self.weight * (np.trace(X) - logdet - 4)) if sign > 0 else float("inf")

    def gradient(self, theta: Array) -> Array:
        """(10,)."""
        J = inertia.pseudo(theta[self.at : self.at + 10])
        G = np.linalg.inv(self.reference) - np.linalg.inv(J)
        return np.asarray(self.weight * np.einsum("kij,ij->k", inertia.PSEUDO_BASIS, G))

    def hessian(self, theta: Array) -> Array:
        """(10, 10)."""
        L = np.linalg.inv(inertia.pseudo(theta[self.at : self.at + 10]))
        X = L @ inertia.PSEUDO_BASIS
        return np.asarray(self.weight * np.einsum("aij,bji->ab", X, X))


@dataclass(frozen=True)
class Problem:
    """A convex problem on information alone."""

    information: Information  # data and quadratic prior together
    scale: Array  # (n,) natural size of each parameter, for conditioning only
    start: Array  # (n,) strictly feasible point
    cones: tuple[Cone, ...] = ()
    lower: dict[int, float] = field(default_factory=dict)  # index → bound
    entropies: tuple[Entropy, ...] = ()

    def objective(self, theta: Array) -> float:
        """What is minimised."""
        return 0.5 * self.information.cost(theta) + sum(e.value(theta) for e in self.entropies)

    def gradient(self, theta: Array) -> Array:
        """(n,) of the objective."""
        R, z = self.information.R, self.information.z
        g = R.T @ (R @ theta - z)
        for e in self.entropies:
            g[e.at : e.at + 10] += e.gradient(theta)
        return np.asarray(g)

    def save(self, path: Path) -> None:
        """Write the whole problem, for a report on a solver that failed."""
        with open(path, "wb") as file:
            np.savez(
                file,
                triangle=self.information.triangle,
                scale=self.scale,
                start=self.start,
                cone_at=np.array([c.at for c in self.cones], int),
                cone_F=np.array([c.F for c in self.cones]),
                lower_index=np.array(list(self.lower), int),
                lower_value=np.array(list(self.lower.values()), float),
                entropy_at=np.array([e.at for e in self.entropies], int),
                entropy_reference=np.array([e.reference for e in self.entropies]),
                entropy_weight=np.array([e.weight for e in self.entropies]),
            )


@dataclass(frozen=True)
class Solution:
    """A backend's answer: the point, and the multipliers that prove it."""

    theta: Array  # (n,)
    duals: tuple[Array, ...]  # one (p, p) positive semidefinite matrix a cone
    bound_duals: dict[int, float]  # index → multiplier ≥ 0
    backend: str
    status: str
