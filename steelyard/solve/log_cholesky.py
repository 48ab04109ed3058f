"""Log-Cholesky coordinates: the interior of the cone of ``pseudo_inertia``, without constraints (Rucker and Wensing).

With margin ε, size s, description's mass m₀ and mass floor m₁,

    m = m₁ + m₀e²ᵅ,    c = s A t,    Σ = s² A(V Vᵀ + ε 1)Aᵀ,    V = [eᵈ¹ s₁₂ s₁₃; 0 eᵈ² s₂₃; 0 0 eᵈ³],

J = m [Σ + ccᵀ, c; cᵀ, 1] covers the interior of that cone, each point once: ξ = [α, d (3), s₁₂, s₂₃, s₁₃, t (3)] is a
chart of it. For m₁ = ε = 0 and s = m₀ = 1, A = 1 it is ``inertia.log_cholesky``. For a body as thin as a rod the chart
is well conditioned only in axes A along the body's principal axes (``align``). The logarithms in a barrier are linear
in ξ except that of m: log det M = 4 log m + 2(d₁ + d₂ + d₃) + a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from steelyard import inertia
from steelyard.inertia import SOLVER_MARGIN
from steelyard.spatial import Array

_ROW, _COLUMN = np.array([0, 1, 2, 0, 1, 0]), np.array([0, 1, 2, 1, 2, 2])  # d₁ d₂ d₃ s₁₂ s₂₃ s₁₃ in V


@dataclass(frozen=True)
class Chart:
    """Conversion between ξ (…, 10) and the ten parameters of one body, or of several at once."""

    mass: Array | float  # (…) kg, m₀
    floor: Array | float  # (…) kg, m₁
    size: Array | float  # (…) m
    margin: float = SOLVER_MARGIN
    axes: Array = field(default_factory=lambda: np.eye(3))  # (…, 3, 3) A, orthogonal

    @classmethod
    def stack(cls, charts: Sequence[Chart]) -> Chart:
        """Return one chart for all bodies, of ξ (bodies, 10)."""
        mass, floor, size = (np.array([getattr(c, name) for c in charts]) for name in ("mass", "floor", "size"))
        margin = charts[0].margin if charts else SOLVER_MARGIN
        return cls(mass, floor, size, margin, np.stack([c.axes for c in charts]) if charts else np.zeros((0, 3, 3)))

    def coordinates(self, parameters: Array) -> Array:
        """Return ξ (10,) of one body's ten parameters; points outside or on the boundary are moved slightly inside."""
        mass, com, _ = inertia.unpack(parameters)
        if not mass > self.floor * (1 + 1e-6):
            mass, com, covariance = 2 * float(self.floor), np.zeros(3), np.zeros((3, 3))
        else:
            covariance = inertia.density_covariance(parameters) / self.size**2 - self.margin * np.eye(3)
        w, Q = np.linalg.eigh(self.axes.T @ covariance @ self.axes)
        covariance = (Q * np.maximum(w, self.margin)) @ Q.T
        unit = inertia.pack(1.0, np.zeros(3), np.trace(covariance) * np.eye(3) - covariance)
        alpha = 0.5 * np.log((mass - float(self.floor)) / float(self.mass))
        return np.concatenate([[alpha], inertia.log_cholesky(unit)[1:7], self.axes.T @ com / self.size])

    def factor(self, parameters: Array) -> tuple[Array, float]:
        """Return U (4, 4), upper triangular in the body frame, U Uᵀ = M of ``pseudo_inertia.lmi``; and (m − m₁)/m₀."""
        body_axes = replace(self, axes=np.eye(3))
        xi = body_axes.coordinates(parameters)
        unit = np.array([float(self.size)] * 3 + [1.0]) * np.sqrt(float(self.mass))
        return body_axes._root(xi) / unit[:, None], float(np.exp(2 * xi[0]))

    def align(self, xi: Array) -> tuple[Chart, Array]:
        """Return the chart along the principal axes of the body at ξ, the thinnest first, and ξ in it (V diagonal)."""
        _, V, t, _ = self._parts(xi)
        U, s, _ = np.linalg.svd(V)
        U, s = U[..., ::-1], s[..., ::-1]
        along = (_transposed(U) @ t[..., None])[..., 0]
        return replace(self, axes=self.axes @ U), np.concatenate([xi[..., :1], np.log(s), 0 * s, along], axis=-1)

    def parameters(self, xi: Array) -> Array:
        """Return the ten parameters (…, 10) of ξ."""
        m, V, t, _ = self._parts(xi)
        return inertia.from_pseudo(self._turn @ (_wide(m) * self._shape(V, t)) @ _transposed(self._turn))

    def jacobian(self, xi: Array) -> Array:
        """Return ∂parameters/∂ξ (…, 10, 10)."""
        turn = self._turn[..., None, :, :]
        return _transposed(inertia.from_pseudo(turn @ self._derivatives(xi) @ _transposed(turn)))

    def barrier(self, xi: Array) -> float:
        """Return Φ = log det M + log(m − m₁) up to a constant, summed over all bodies."""
        return float(np.sum(4 * np.log(self._parts(xi)[0])) + 2 * np.sum(xi[..., :4]))

    def barrier_model(self, xi: Array) -> tuple[Array, Array]:
        """Return B (…, 10, 10), e (…, 10) of the model e·Bδ − ½‖Bδ‖² of Φ, parameters linearised along δ.

        With U Uᵀ = J less its margin, log det M changes by tr Y − ½‖Y‖², Y = U⁻¹ dJ U⁻ᵀ.
        """
        inverse = np.linalg.inv(self._root(xi))[..., None, :, :]
        Y = inverse @ self._less(self._derivatives(xi)) @ _transposed(inverse)
        share = np.broadcast_to(np.append(2.0, np.zeros(9))[:, None], (*Y.shape[:-2], 1))  # derivative of log(m − m₁)
        Q, R = np.linalg.qr(_transposed(np.concatenate([Y.reshape(*Y.shape[:-2], 16), share], axis=-1)))
        return R, np.asarray(_transposed(Q) @ np.append(np.eye(4).ravel(), 1.0))

    def inverse(self, xi: Array) -> tuple[Array, Array]:
        """Return M⁻¹ (…, 4, 4) of ``pseudo_inertia.lmi``, and m − m₁ (…)."""
        size = np.asarray(self.size)[..., None]
        D = np.sqrt(np.asarray(self.mass))[..., None] * np.concatenate([size, size, size, np.ones_like(size)], axis=-1)
        C = D[..., None] * (self._turn @ _transposed(np.linalg.inv(self._root(xi))))
        return np.asarray(C @ _transposed(C)), self._above(xi)

    def longest_step(self, xi: Array, change: Array) -> tuple[float, Array]:
        """Return the step length along ``change`` (…, 10) of the parameters at which a body leaves its cone; and Y.

        With U Uᵀ = J less its margin, Y = U⁻¹ dJ U⁻ᵀ (…, 4, 4): only U is ill-conditioned for a thin body, so no digit
        is lost.
        """
        inverse = np.linalg.inv(self._root(xi)) @ _transposed(self._turn)
        dJ = np.tensordot(change, inertia.PSEUDO_BASIS, axes=1)
        Y = inverse @ self._less(dJ) @ _transposed(inverse)
        down = np.maximum(-np.linalg.eigvalsh(Y)[..., 0], -change[..., 0] / self._above(xi))
        return 1 / max(float(np.max(down, initial=0.0)), 1e-300), Y

    def advance(self, xi: Array, change: Array, Y: Array, length: float) -> Array:
        """Return ξ after ``length`` times a change, Y from ``longest_step``: U becomes U C, C Cᵀ = 1 + length·Y."""
        upper = np.linalg.cholesky((np.eye(4) + length * Y)[..., ::-1, ::-1])[..., ::-1, ::-1]
        U = self._root(xi) @ upper
        unit = U[..., 3, 3] * self.size
        W, t = U[..., :3, :3] / _wide(unit), U[..., :3, 3] / unit[..., None]
        alpha = 0.5 * np.log((self._above(xi) + length * change[..., 0]) / self.mass)
        entries = W[..., _ROW, _COLUMN]
        return np.concatenate([alpha[..., None], np.log(entries[..., :3]), entries[..., 3:], t], axis=-1)

    def _derivatives(self, xi: Array) -> Array:
        """(…, 10, 4, 4) ∂J/∂ξ in the axes A."""
        m, V, t, E = self._parts(xi)
        dJ = np.zeros((*np.shape(m), 10, 4, 4))
        dJ[..., 0, :, :] = _wide(2 * self._above(xi)) * self._shape(V, t)
        scale = m * np.asarray(self.size) ** 2
        for k, (i, j) in enumerate(zip(_ROW, _COLUMN, strict=True), 1):
            part = (scale * E[..., k - 1])[..., None] * V[..., :, j]
            dJ[..., k, i, :3] += part
            dJ[..., k, :3, i] += part
        for k in range(3):
            dJ[..., 7 + k, k, :3] += scale[..., None] * t
            dJ[..., 7 + k, :3, k] += scale[..., None] * t
            dJ[..., 7 + k, k, 3] = dJ[..., 7 + k, 3, k] = m * self.size
        return dJ

    def _root(self, xi: Array) -> Array:
        """(…, 4, 4) upper triangular U with U Uᵀ = J less its margin, in the axes A."""
        m, V, t, _ = self._parts(xi)
        size = np.asarray(self.size)
        U = np.zeros((*np.shape(m), 4, 4))
        U[..., :3, :3], U[..., :3, 3], U[..., 3, 3] = _wide(size) * V, size[..., None] * t, 1.0
        return np.asarray(_wide(np.sqrt(m)) * U)

    def _less(self, J: Array) -> Array:
        """(…, 4, 4) J less its margin: J − ε m s² diag(1, 1, 1, 0)."""
        cut = self.margin * np.asarray(self.size) ** 2
        cut = np.reshape(cut, (*np.shape(cut), *[1] * (J.ndim - np.ndim(cut))))
        return np.asarray(J - cut * J[..., 3:, 3:] * np.diag([1.0, 1.0, 1.0, 0.0]))

    def _parts(self, xi: Array) -> tuple[Array, Array, Array, Array]:
        """m, V, t, and the derivative of each entry of V by its coordinate."""
        E = np.concatenate([np.exp(xi[..., 1:4]), np.ones_like(xi[..., 4:7])], axis=-1)
        V = np.zeros((*xi.shape[:-1], 3, 3))
        V[..., _ROW, _COLUMN] = np.concatenate([E[..., :3], xi[..., 4:7]], axis=-1)
        return self.floor + self._above(xi), V, xi[..., 7:], E

    def _above(self, xi: Array) -> Array:
        """m − m₁, kg."""
        return np.asarray(self.mass * np.exp(2 * xi[..., 0]))

    @cached_property
    def _turn(self) -> Array:
        """(…, 4, 4) rotation from the axes A to the body frame."""
        T = np.zeros((*self.axes.shape[:-2], 4, 4))
        T[..., :3, :3], T[..., 3, 3] = self.axes, 1.0
        return T

    def _shape(self, V: Array, t: Array) -> Array:
        """J / m, in the axes A."""
        size = np.asarray(self.size)
        c = size[..., None] * t
        J = np.empty((*V.shape[:-2], 4, 4))
        spread = _wide(size**2) * (V @ _transposed(V) + self.margin * np.eye(3))
        J[..., :3, :3] = spread + c[..., :, None] * c[..., None, :]
        J[..., :3, 3] = J[..., 3, :3] = c
        J[..., 3, 3] = 1.0
        return J


def _transposed(M: Array) -> Array:
    return np.swapaxes(M, -1, -2)


def _wide(x: Array) -> Array:
    """(…) as (…, 1, 1)."""
    return np.asarray(x)[..., None, None]
