"""The problem that every backend solves, and its solution.

    minimise    ½‖Rθ − z‖² + ½ρ² + entropy      over θ
    subject to  Mᵦ(θ) = Σₖ θ[at+k] Fᵦ[k] ⪰ 0    for each body,    θᵢ ≥ lowerᵢ,    A θ ≥ b or = b

R and z hold both the data and the quadratic prior. The entropic prior adds, for each body with reference
pseudo-inertia J₀ and weight γ, γ·(tr(J₀⁻¹J) − log det(J₀⁻¹J) − 4) (Lee, Wensing and Park).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.linalg import solve_triangular

from steelyard import inertia
from steelyard.information import Information
from steelyard.spatial import Array

SINGULAR = 1e-12  # relative to the largest pivot: a factor with a smaller one is singular


@dataclass(frozen=True)
class Cone:
    """The matrix inequality Σₖ θ[at + k] F[k] ⪰ 0."""

    at: int  # index of the first parameter
    F: Array  # (k, p, p) symmetric

    def value(self, theta: Array) -> Array:
        """Return the matrix (p, p) at θ."""
        return np.asarray(np.tensordot(theta[self.at : self.at + len(self.F)], self.F, axes=1))

    def adjoint(self, dual: Array) -> Array:
        """Return ⟨F[k], dual⟩ (k,), the adjoint of ``value``."""
        return np.asarray(np.einsum("kij,ij->k", self.F, dual))


@dataclass(frozen=True)
class LinearConstraints:
    """A θ ≥ b, or A θ = b in the rows that are ``equal``."""

    A: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (r, n)
    b: Array = field(default_factory=lambda: np.zeros(0))  # (r,)
    equal: Array = field(default_factory=lambda: np.zeros(0, bool))  # (r,)

    @classmethod
    def of(cls, A: Array, b: Array | float = 0.0, equal: bool = False) -> LinearConstraints:
        """Return inequalities, or equalities if ``equal``."""
        return cls(A, np.broadcast_to(np.asarray(b, float), len(A)).copy(), np.full(len(A), equal))

    def __len__(self) -> int:
        return len(self.b)

    def __add__(self, other: LinearConstraints) -> LinearConstraints:
        if not len(self) or not len(other):
            return self if len(self) else other
        A, b = np.vstack([self.A, other.A]), np.append(self.b, other.b)
        return LinearConstraints(A, b, np.append(self.equal, other.equal))

    def slack(self, theta: Array) -> Array:
        """Return A θ − b (r,)."""
        return np.asarray(self.A @ theta - self.b) if len(self) else np.zeros(0)

    def unit(self, scale: Array) -> LinearConstraints:
        """Return the same constraints, each divided by its natural size, that of parameters of size ``scale``."""
        if not len(self):
            return self
        size = np.abs(self.A) @ scale
        size[size == 0] = 1.0
        return LinearConstraints(self.A / size[:, None], self.b / size, self.equal)


@dataclass(frozen=True)
class Entropy:
    """Entropic prior γ·(tr(J₀⁻¹J) − log det(J₀⁻¹J) − 4) on one body."""

    at: int  # index of the body's first parameter
    reference: Array  # (4, 4) J₀
    weight: float  # γ

    def value(self, theta: Array) -> float:
        """Return the weighted divergence; infinite outside the cone."""
        X = np.linalg.solve(self.reference, inertia.pseudo(theta[self.at : self.at + 10]))
        sign, logdet = np.linalg.slogdet(X)
        return float(self.weight * (np.trace(X) - logdet - 4)) if sign > 0 else float("inf")

    def gradient(self, theta: Array) -> Array:
        """Return the gradient (10,) by the body's parameters."""
        J = inertia.pseudo(theta[self.at : self.at + 10])
        G = np.linalg.inv(self.reference) - np.linalg.inv(J)
        return np.asarray(self.weight * np.einsum("kij,ij->k", inertia.PSEUDO_BASIS, G))

    def supported(self, theta: Array, slope: Array) -> tuple[Array, float]:
        """Return the gradient (10,) of an affine lower bound of this function, and the bound's distance at θ.

        The gradient is ``slope`` if there is such a bound, else that of the function itself.
        """
        J = inertia.pseudo(theta[self.at : self.at + 10])
        Y = np.linalg.inv(self.reference) - inertia.pseudo_gradient(slope / self.weight)
        C, (sign, logdet) = np.linalg.cholesky(self.reference), np.linalg.slogdet(Y @ J)
        cost = self.weight * float(np.sum(Y * J) - logdet - 4)
        if sign <= 0 or np.linalg.eigvalsh(C.T @ Y @ C)[0] <= 0 or not np.isfinite(cost):
            return self.gradient(theta), 0.0
        return slope, max(cost, 0.0)


@dataclass(frozen=True)
class Problem:
    """A convex problem: least squares, given as information, under constraints."""

    information: Information  # data and quadratic prior together
    scale: Array  # (n,) natural size of each parameter, for conditioning
    start: Array  # (n,) strictly feasible point
    cones: tuple[Cone, ...] = ()
    lower: dict[int, float] = field(default_factory=dict)  # index → lower bound
    entropies: tuple[Entropy, ...] = ()
    linear: LinearConstraints = field(default_factory=LinearConstraints)

    @cached_property
    def centre(self) -> Array:
        """(n,) the unconstrained least-squares minimum."""
        if _regular(self.information.R):
            return np.asarray(solve_triangular(self.information.R, self.information.z))
        return self.information.solve()

    @cached_property
    def root(self) -> Array:
        """(m, n) R without its zero rows; m < n if there are more unknowns than independent equations."""
        R = self.information.R
        return R[np.any(R != 0, axis=1)]

    @property
    def inverse(self) -> Array:
        """(n, m) W = R⁻¹, a generalised inverse where R is singular.

        In coordinates x = R(θ − centre), θ = centre + W x, the quadratic part is ½‖x‖² and a constant, however uneven
        the information: all backends and the certificate use them. If R is singular backends also move along ``null``.
        """
        return self._split[0]

    @property
    def null(self) -> Array:
        """(n, d) N with R N = 0, a basis of the null space; no columns if R is regular."""
        return self._split[1]

    @property
    def seen(self) -> Array:
        """(n − d, n) E with E N = 0: independent combinations of the unknowns that R determines."""
        return self._split[2]

    @cached_property
    def _split(self) -> tuple[Array, Array, Array]:
        R, (m, n) = self.root, self.root.shape
        D = np.linalg.norm(R, axis=0)
        D = 1 / np.where(D > 0, D, 1.0)
        if m == n and _regular(R * D):
            E, W, N = np.eye(n), solve_triangular(R * D, np.eye(n)), np.zeros((n, 0))
        elif _regular((factor := np.linalg.qr((R * D).T, mode="complete"))[1][:m]):
            Q, T = factor
            E, W, N = Q[:, :m].T, Q[:, :m] @ solve_triangular(T[:m], np.eye(m), trans="T"), Q[:, m:]
        else:
            U, s, Vt = np.linalg.svd(R * D)
            rank = int(np.sum(s > 1e-13 * s[0])) if s.size else 0
            E, W, N = Vt[:rank], (Vt[:rank].T / s[:rank]) @ U[:, :rank].T, Vt[rank:].T
        return np.asarray(D[:, None] * W), np.asarray(D[:, None] * N), np.asarray(E / D)

    def objective(self, theta: Array) -> float:
        """Return the objective at θ."""
        return 0.5 * self.information.cost(theta) + sum(e.value(theta) for e in self.entropies)

    def save(self, path: Path) -> None:
        """Write the whole problem, so that a failure of the solvers can be reproduced."""
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
                linear_A=self.linear.A,
                linear_b=self.linear.b,
                linear_equal=self.linear.equal,
            )

    @classmethod
    def load(cls, path: Path) -> Problem:
        """Read a file written by ``save``."""
        with np.load(path, allow_pickle=False) as data:
            entropies = zip(data["entropy_at"], data["entropy_reference"], data["entropy_weight"], strict=True)
            return cls(
                Information(data["triangle"], 0),
                data["scale"],
                data["start"],
                tuple(Cone(int(at), F) for at, F in zip(data["cone_at"], data["cone_F"], strict=True)),
                {int(i): float(v) for i, v in zip(data["lower_index"], data["lower_value"], strict=True)},
                tuple(Entropy(int(at), J, float(weight)) for at, J, weight in entropies),
                LinearConstraints(data["linear_A"], data["linear_b"], data["linear_equal"]),
            )


@dataclass(frozen=True)
class Solution:
    """A backend's solution, with the multipliers from which its certificate is computed."""

    theta: Array  # (n,)
    duals: tuple[Array, ...]  # one positive semidefinite matrix (p, p) a cone
    bound_duals: dict[int, float]  # index → multiplier ≥ 0
    backend: str
    status: str
    linear_duals: Array = field(default_factory=lambda: np.zeros(0))  # (r,), ≥ 0 for inequalities


def _regular(triangle: Array) -> bool:
    """Whether no pivot is negligible."""
    pivots = np.abs(np.diag(triangle))
    return bool(pivots.min(initial=np.inf) > SINGULAR * pivots.max(initial=0.0))


def positive(M: Array) -> Array:
    """Return the nearest positive semidefinite matrices to (…, p, p), which removes rounding errors."""
    w, V = np.linalg.eigh(M)
    return np.asarray((V * np.maximum(w, 0)[..., None, :]) @ np.swapaxes(V, -1, -2))


def pack_symmetric(M: Array) -> Array:
    """Return upper triangles (…, p(p + 1)/2) by columns, off-diagonal entries times √2: preserves inner products."""
    j, i = np.tril_indices(M.shape[-1])
    return np.asarray(M[..., i, j] * np.where(i == j, 1.0, np.sqrt(2)))


def unpack_symmetric(v: Array) -> Array:
    """Return symmetric matrices (…, p, p) from packed ones; the inverse of ``pack_symmetric``."""
    p = int(np.sqrt(2 * v.shape[-1]))
    j, i = np.tril_indices(p)
    M = np.zeros((*v.shape[:-1], p, p))
    M[..., i, j] = M[..., j, i] = v / np.where(i == j, 1.0, np.sqrt(2))
    return M
