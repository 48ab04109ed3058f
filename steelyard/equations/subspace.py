"""Base parameters: the combinations of θ that rows excite.

Directions of θ that no row excites are the null space of R; the complement is spanned by *base parameters*. In
coordinates x = θ/scale (scale: the natural size of each parameter) the singular values of R·scale are the reciprocal
relative standard deviations of their directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.spatial import Array

RANK_TOLERANCE = 1e-10  # of the largest singular value
ROW_SPACE = 1e-6  # scaled residual below which a direction lies in the row space
TIE = 1e-6  # columns whose norms differ relatively by less count as equal


@dataclass(frozen=True)
class Subspace:
    """Row space of R, in scaled coordinates."""

    scale: Array  # (n,)
    values: Array  # (r,) singular values of R·diag(scale), descending
    V: Array  # (n, r) orthonormal basis of the row space of R·diag(scale)
    R: Array  # (n, n)

    @classmethod
    def of(cls, R: Array, scale: Array, rtol: float = RANK_TOLERANCE) -> Subspace:
        """Row space of R, rank-revealing."""
        _, s, Vt = np.linalg.svd(R * scale)
        rank = int(np.sum(s > rtol * s[0])) if s.size and s[0] > 0 else 0
        return cls(scale, s[:rank], Vt[:rank].T, R)

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.values)

    @property
    def condition(self) -> float:
        """Condition number of the base parameters' regressor, in scaled coordinates."""
        return float(self.values[0] / self.values[-1]) if self.rank else float("inf")

    @cached_property
    def null(self) -> Array:
        """(n, n−r) orthonormal basis, unscaled, of the null space."""
        N = np.linalg.svd(self.V, full_matrices=True)[0][:, self.rank :]
        return np.linalg.qr(self.scale[:, None] * N)[0]

    @cached_property
    def seen(self) -> Array:
        """(n, r) orthonormal basis, unscaled, of the complement of the null space."""
        return np.linalg.svd(self.null, full_matrices=True)[0][:, self.null.shape[1] :]

    @cached_property
    def composition(self) -> tuple[Array, Array]:
        """Independent columns (r,) and Z (r, n): base parameters Zθ, each led by one column (Ayusawa 5)."""
        leads = _independent(self.V.T)
        others = np.setdiff1d(np.arange(len(self.scale)), leads)
        Z = np.zeros((self.rank, len(self.scale)))
        Z[:, leads] = np.eye(self.rank)
        X = np.linalg.solve(self.V[leads].T, self.V[others].T)
        Z[:, others] = X * self.scale[leads, None] / self.scale[None, others]
        weight = np.abs(Z) * self.scale
        Z[weight < 1e-9 * np.linalg.norm(weight, axis=1, keepdims=True)] = 0.0  # rounding
        return leads, Z

    def size(self, gradient: Array) -> float:
        """Natural size of a combination of parameters: root of the sum of its terms' squares."""
        return float(np.linalg.norm(gradient * self.scale))

    def outside(self, gradient: Array) -> float:
        """Fraction of a direction that lies outside the row space, 0 to 1, in scaled coordinates."""
        g = gradient * self.scale
        length = self.size(gradient)
        return float(np.linalg.norm(g - self.V @ (self.V.T @ g)) / length) if length > 0 else 1.0


def _independent(A: Array) -> Array:
    """(r,) independent columns of A (r, n) of rank r, by QR with column pivoting; of equal norms the first.

    LAPACK's pivoting lets rounding decide between equal norms, so that base parameters would have other names on other
    machines.
    """
    A, chosen = A.copy(), np.zeros(len(A), int)
    for k in range(len(A)):
        length = np.linalg.norm(A, axis=0)
        chosen[k] = np.flatnonzero(length >= (1 - TIE) * length.max())[0]
        q = A[:, chosen[k]] / length[chosen[k]]
        A -= np.outer(q, q @ A)
    return chosen
