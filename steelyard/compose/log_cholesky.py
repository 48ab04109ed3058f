"""All bodies that ``pseudo_inertia`` allows, as ten numbers without any bound (Rucker and Wensing).

With margin ε, size s, description's mass m₀ and mass floor m₁,

    m = m₁ + m₀e²ᵅ,    c = s A t,    Σ = s² A(V Vᵀ + ε 1)Aᵀ,    V = [eᵈ¹ s₁₂ s₁₃; 0 eᵈ² s₂₃; 0 0 eᵈ³],

J = m [Σ + ccᵀ, c; cᵀ, 1] is the interior of that cone, each point once: ξ = [α, d (3), s₁₂, s₂₃, s₁₃, t (3)] is a chart
of it. For m₁ = ε = 0 and s = m₀ = 1, A = 1 it is ``inertia.log_cholesky``. Where a body is as thin as a rod, the chart
is only well shaped in axes A along the body's own (``turned``). The logarithms that a barrier needs are linear in ξ,
but for that of m: log det M = 4 log m + 2(d₁ + d₂ + d₃) + a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from steelyard import inertia
from steelyard.compose.pseudo_inertia import SOLVER_MARGIN, mass_floor
from steelyard.robot import Body

Array = np.ndarray

_ROW, _COLUMN = np.array([0, 1, 2, 0, 1, 0]), np.array([0, 1, 2, 1, 2, 2])  # d₁ d₂ d₃ s₁₂ s₂₃ s₁₃ in V


@dataclass(frozen=True)
class Chart:
    """ξ (10,) ↔ ten parameters of one body."""

    mass: float  # kg, m₀
    floor: float  # kg, m₁
    size: float  # m
    margin: float = SOLVER_MARGIN
    axes: Array = field(default_factory=lambda: np.eye(3))  # (3, 3) A, orthogonal

    @classmethod
    def of(cls, body: Body) -> Chart:
        """The chart of the cone that ``pseudo_inertia`` gives a body."""
        return cls(float(body.parameters[0]), mass_floor(body), body.size)

    def coordinates(self, parameters: Array) -> Array:
        """ξ of ten parameters; what is outside, or on the edge, is moved a little way in."""
        mass, com, _ = inertia.unpack(parameters)
        if not mass > self.floor * (1 + 1e-6):
            mass, com, covariance = 2 * self.floor, np.zeros(3), np.zeros((3, 3))
        else:
            covariance = inertia.density_covariance(parameters) / self.size**2 - self.margin * np.eye(3)
        w, Q = np.linalg.eigh(self.axes.T @ covariance @ self.axes)
        covariance = (Q * np.maximum(w, self.margin)) @ Q.T
        unit = inertia.pack(1.0, np.zeros(3), np.trace(covariance) * np.eye(3) - covariance)
        alpha = 0.5 * np.log((mass - self.floor) / self.mass)
        return np.concatenate([[alpha], inertia.log_cholesky(unit)[1:7], self.axes.T @ com / self.size])

    def turned(self, xi: Array) -> tuple[Chart, Array]:
        """The chart along the principal axes of the body at ξ, the thinnest first, and ξ there: V is diagonal."""
        _, V, t, _ = self._parts(xi)
        U, s, _ = np.linalg.svd(V)
        U, s = U[:, ::-1], s[::-1]
        return replace(self, axes=self.axes @ U), np.concatenate([xi[:1], np.log(s), np.zeros(3), U.T @ t])

    def parameters(self, xi: Array) -> Array:
        """(10,) ten parameters of ξ."""
        m, V, t, _ = self._parts(xi)
        return inertia.from_pseudo(self._turn @ (m * self._shape(V, t)) @ self._turn.T)

    def jacobian(self, xi: Array) -> Array:
        """(10, 10) ∂parameters/∂ξ."""
        return inertia.from_pseudo(self._turn @ self._derivatives(xi) @ self._turn.T).T

    def barrier(self, xi: Array) -> float:
        """Φ = log det M + log(m − m₁), but for a constant."""
        return float(4 * np.log(self._parts(xi)[0]) + 2 * np.sum(xi[:4]))

    def barrier_model(self, xi: Array) -> tuple[Array, Array]:
        """B (10, 10), e (10,): Φ changes by e·Bδ − ½‖Bδ‖² where the parameters change by their derivative along δ.

        With U Uᵀ = J less its margin, log det M changes by tr Y − ½‖Y‖², Y = U⁻¹ dJ U⁻ᵀ.
        """
        inverse = np.linalg.inv(self._root(xi))
        Y = inverse @ self._less(self._derivatives(xi)) @ inverse.T
        share = np.append(2.0, np.zeros(9))  # of log(m − m₁)
        Q, R = np.linalg.qr(np.column_stack([Y.reshape(10, 16), share]).T)
        return R, Q.T @ np.append(np.eye(4).ravel(), 1.0)

    def inverse(self, xi: Array) -> tuple[Array, float]:
        """(4, 4) M⁻¹ of ``pseudo_inertia.lmi``, and m − m₁."""
        D = np.sqrt(self.mass) * np.append(np.full(3, self.size), 1.0)
        C = D[:, None] * (self._turn @ np.linalg.inv(self._root(xi)).T)
        return np.asarray(C @ C.T), self._above(xi)

    def straight(self, xi: Array, change: Array) -> tuple[float, Array]:
        """How far the parameters can go along a change (10,) before they leave the cone, and that in these axes (4, 4).

        With U Uᵀ = J less its margin it is U⁻¹ dJ U⁻ᵀ: a body is thin in U alone, so no digit is lost.
        """
        inverse = np.linalg.inv(self._root(xi)) @ self._turn.T
        Y = inverse @ self._less(inertia.pseudo(change)) @ inverse.T
        down = max(-float(np.linalg.eigvalsh(Y)[0]), -float(change[0]) / self._above(xi), 0.0)
        return 1 / max(down, 1e-300), Y

    def moved(self, xi: Array, change: Array, Y: Array, length: float) -> Array:
        """ξ after ``length`` of a change, with Y from ``straight``: U becomes U C where C Cᵀ = 1 + length·Y."""
        upper = np.linalg.cholesky((np.eye(4) + length * Y)[::-1, ::-1])[::-1, ::-1]
        U = self._root(xi) @ upper
        W = U[:3, :3] / (U[3, 3] * self.size)
        alpha = 0.5 * np.log((self._above(xi) + length * change[0]) / self.mass)
        off = [W[0, 1], W[1, 2], W[0, 2]]
        return np.concatenate([[alpha], np.log(np.diag(W)), off, U[:3, 3] / (U[3, 3] * self.size)])

    def _derivatives(self, xi: Array) -> Array:
        """(10, 4, 4) ∂J/∂ξ in the axes."""
        m, V, t, E = self._parts(xi)
        dJ = np.zeros((10, 4, 4))
        dJ[0] = 2 * self._above(xi) * self._shape(V, t)
        for k, (i, j, e) in enumerate(zip(_ROW, _COLUMN, E, strict=True), 1):
            dJ[k, i, :3] += m * self.size**2 * e * V[:, j]
            dJ[k, :3, i] += m * self.size**2 * e * V[:, j]
        for k in range(3):
            dJ[7 + k, k, :3] += m * self.size**2 * t
            dJ[7 + k, :3, k] += m * self.size**2 * t
            dJ[7 + k, k, 3] = dJ[7 + k, 3, k] = m * self.size
        return dJ

    def _root(self, xi: Array) -> Array:
        """(4, 4) upper triangular U with U Uᵀ = J less its margin, in the axes."""
        m, V, t, _ = self._parts(xi)
        U = np.zeros((4, 4))
        U[:3, :3], U[:3, 3], U[3, 3] = self.size * V, self.size * t, 1.0
        return np.asarray(np.sqrt(m) * U)

    def _less(self, J: Array) -> Array:
        """(…, 4, 4) J less its margin: J − ε m s² diag(1, 1, 1, 0)."""
        return J - self.margin * self.size**2 * J[..., 3:, 3:] * np.diag([1.0, 1.0, 1.0, 0.0])

    def _parts(self, xi: Array) -> tuple[float, Array, Array, Array]:
        """m, V, t, and the derivative of each entry of V by its coordinate."""
        V, E = np.zeros((3, 3)), np.append(np.exp(xi[1:4]), np.ones(3))
        V[_ROW, _COLUMN] = np.append(E[:3], xi[4:7])
        return self.floor + self._above(xi), V, xi[7:], E

    def _above(self, xi: Array) -> float:
        """kg, m − m₁."""
        return self.mass * float(np.exp(2 * xi[0]))

    @property
    def _turn(self) -> Array:
        """(4, 4) from the axes to the body frame."""
        T = np.eye(4)
        T[:3, :3] = self.axes
        return T

    def _shape(self, V: Array, t: Array) -> Array:
        """J / m, in the axes."""
        c = self.size * t
        J = np.empty((4, 4))
        J[:3, :3] = self.size**2 * (V @ V.T + self.margin * np.eye(3)) + np.outer(c, c)
        J[:3, 3] = J[3, :3] = c
        J[3, 3] = 1.0
        return J
