"""The set of parameters that data and physics admit, and proved bounds on quantities over it.

    Region = { θ : ‖Rθ − z‖ ≤ radius,  Mᵦ(θ) ⪰ 0,  Lθ ≥ l,  and θ within its ``Reach`` }

For any Zᵦ ⪰ 0, μ ≥ 0 and y, with the residual e = ℓ + M*(Z) + Lᵀμ + Rᵀy, every θ of the region has

    ℓᵀθ ≤ eᵀθ + radius·‖y‖ − yᵀz − μᵀl

(weak duality). ``Region.prove_bound`` returns that bound, with y chosen to minimise e, and eᵀθ bounded by the reach. It
depends on Z and μ alone, so it holds whatever solver they are from; poor ones only make it wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard import inertia
from steelyard.solve.problem import Cone, pack_symmetric, positive, unpack_symmetric
from steelyard.spatial import Array

_DUAL_BASIS = np.linalg.inv(pack_symmetric(inertia.PSEUDO_BASIS))  # e → packed E with ⟨E, J(θ)⟩ = eᵀθ


@dataclass(frozen=True)
class Reach:
    """Limits far beyond any plausible value, which make the region bounded."""

    bodies: tuple[int, ...]  # index of each body's first parameter
    mass: float  # kg
    length: float  # m; m/mass + tr S/(mass·length²) ≤ 1 for each body
    others: dict[int, float]  # index → largest |θ|

    @property
    def unit(self) -> Array:
        """(4,) scaling of rows and columns by which the trace of a pseudo-inertia is at most one."""
        return np.asarray(np.array([1 / self.length] * 3 + [1.0]) / np.sqrt(self.mass))

    def rows(self, n: int) -> Array:
        """Return W (k, n) of the limits Wθ ≤ 1."""
        W = np.zeros((len(self.bodies) + 2 * len(self.others), n))
        for k, at in enumerate(self.bodies):
            W[k, at : at + 10] = np.einsum("kii,i->k", inertia.PSEUDO_BASIS, self.unit**2)
        for k, (i, most) in enumerate(self.others.items()):
            W[len(self.bodies) + 2 * k : len(self.bodies) + 2 * k + 2, i] = 1 / most, -1 / most
        return W

    def maximum(self, e: Array) -> float:
        """Return the maximum of eᵀθ over consistent bodies within reach."""
        total = sum(abs(float(e[i])) * most for i, most in self.others.items())
        for at in self.bodies:
            E = unpack_symmetric(_DUAL_BASIS @ e[at : at + 10])
            total += max(float(np.linalg.eigvalsh(E / np.outer(self.unit, self.unit))[-1]), 0.0)
        return total


@dataclass(frozen=True)
class Region:
    """All θ with ‖Rθ − z‖ ≤ radius in the cones, each of order four, and within reach."""

    R: Array  # (r, n) of full row rank
    z: Array  # (r,)
    radius: float
    scale: Array  # (n,) natural size of each parameter
    start: Array  # (n,) strictly feasible
    cones: tuple[Cone, ...]
    linear: Array  # (m, n) L
    level: Array  # (m,) l
    reach: Reach | None = None  # None if R bounds every direction

    @cached_property
    def rows(self) -> Array:
        """(m', n) matrix of all linear inequalities rows·θ ≥ levels, including the reach."""
        return self.linear if self.reach is None else np.vstack([self.linear, -self.reach.rows(self.R.shape[1])])

    @cached_property
    def levels(self) -> Array:
        """(m',) right-hand sides of all linear inequalities."""
        return np.append(self.level, -np.ones(len(self.rows) - len(self.level)))

    @cached_property
    def coordinates(self) -> Array:
        """(n, n) W with R W = [1 0]: in v, θ = start + W v, the ball is round, however uneven the information."""
        U, s, Vt = np.linalg.svd(self.R * self.scale)
        r = len(s)
        return np.asarray(self.scale[:, None] * np.hstack([(Vt[:r].T / s) @ U.T, Vt[r:].T]))

    def contains(self, theta: Array, tolerance: float = 1e-9) -> bool:
        """Whether θ is in the region, to a tolerance in natural units."""
        inside = np.linalg.norm(self.R @ theta - self.z) <= self.radius * (1 + tolerance)
        below = np.all(self.rows @ theta >= self.levels - tolerance * (np.abs(self.rows) @ self.scale))
        return bool(inside and below and all(np.linalg.eigvalsh(c.value(theta))[0] >= -tolerance for c in self.cones))

    def prove_bound(self, goal: Array, duals: Sequence[Array], multipliers: Array) -> float:
        """Return an upper bound on goalᵀθ over the region from any Z (4, 4) and μ (m'); negative parts are dropped.

        Evaluated relative to ``start``, where all terms are small.
        """
        mu = np.maximum(multipliers, 0.0)
        gradient = goal + mu @ self.rows
        level = float(goal @ self.start + mu @ (self.rows @ self.start - self.levels))
        for cone, Z in zip(self.cones, duals, strict=True):
            Z = positive(0.5 * (Z + Z.T))
            gradient[cone.at : cone.at + len(cone.F)] += cone.adjoint(Z)
            level += float(np.sum(Z * cone.value(self.start)))
        y = -self.coordinates[:, : len(self.R)].T @ gradient  # balances the gradient in the row space of R
        e = gradient + self.R.T @ y
        level += self.radius * float(np.linalg.norm(y)) + float(y @ (self.R @ self.start - self.z))
        if self.reach is None:
            return level
        return level + self.reach.maximum(e) - float(e @ self.start)
