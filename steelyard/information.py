"""Square-root information: all that a batch of samples determines about the parameters.

Samples give noisy linear equations ``Y θ ≈ τ``, scaled to unit variance. The thin QR factorisation of
``[Y τ]`` condenses them, without loss, into a small triangle,

    ‖Y θ − τ‖² = ‖R θ − z‖² + ρ²    for every θ,    triangle = [R z; 0 ρ].

Stacking two triangles and factorising again is associative and commutative, so a log may be split, streamed,
or distributed over machines in any order. R is stored, never YᵀY: forming YᵀY squares the condition number,
which costs three of nine digits on NIST's Wampler1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from steelyard.spatial import Array


@dataclass(frozen=True)
class Information:
    """Information about n parameters, as an upper triangle of size n + 1.

    Attributes:
        triangle: (n+1, n+1), [R z; 0 ρ], diagonal ≥ 0.
        rows: Number of scalar equations, for the noise estimate.
        names: Of the n parameters, or empty.

    Examples:
        Names as in ``help(steelyard)``.

        >>> result.information.n == len(result.theta)
        True
        >>> twice = result.information + result.information  # of two logs, in any order
        >>> twice.rows == 2 * result.information.rows
        True
    """

    triangle: Array
    rows: int
    names: tuple[str, ...] = field(default=())

    @classmethod
    def none(cls, n: int, names: Sequence[str] = ()) -> Information:
        """Return the neutral element: no information about n parameters."""
        return cls(np.zeros((n + 1, n + 1)), 0, tuple(names))

    @classmethod
    def of(cls, Y: Array, tau: Array, names: Sequence[str] = ()) -> Information:
        """Return the information in the equations ``Y θ ≈ τ``.

        Args:
            Y: (m, n), scaled so that residuals have unit variance.
            tau: (m,), scaled likewise.
            names: Of the n parameters, or empty.

        Examples:
            >>> import numpy as np
            >>> from steelyard import Information
            >>> Y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
            >>> info = Information.of(Y, Y @ [2.0, 0.5], ("m", "hx"))
            >>> info.solve().round(6)
            array([2. , 0.5])
        """
        return cls.none(Y.shape[1], names).extend(Y, tau)

    def extend(self, Y: Array, tau: Array) -> Information:
        """Return this information together with that of more equations; memory does not grow with their number."""
        stacked = np.vstack([self.triangle, np.column_stack([Y, tau])])
        return Information(_triangle(stacked, len(self.triangle)), self.rows + len(tau), self.names)

    def __add__(self, other: Information) -> Information:
        if self.names and other.names and self.names != other.names:
            raise ValueError("information about different parameters cannot be added")
        stacked = np.vstack([self.triangle, other.triangle])
        return Information(_triangle(stacked, len(self.triangle)), self.rows + other.rows, self.names or other.names)

    @property
    def n(self) -> int:
        """Number of parameters."""
        return len(self.triangle) - 1

    @property
    def R(self) -> Array:
        """(n, n) square root of the information matrix."""
        return self.triangle[:-1, :-1]

    @property
    def z(self) -> Array:
        """(n,) right-hand side that goes with R."""
        return self.triangle[:-1, -1]

    def cost(self, theta: Array) -> float:
        """Return ‖Y θ − τ‖², computed without Y."""
        residual = self.triangle @ np.append(theta, -1.0)
        return float(residual @ residual)

    def forget(self, factor: float) -> Information:
        """Discount the samples so far: every squared residual is multiplied by ``factor`` in (0, 1]."""
        if not 0 < factor <= 1:
            raise ValueError(f"the forgetting factor must lie in (0, 1] (got {factor})")
        return Information(np.sqrt(factor) * self.triangle, self.rows, self.names)

    def given(self, known: Array, values: Array) -> Information:
        """Return the information about the other parameters, given the values of those at the indices ``known``."""
        free = np.setdiff1d(np.arange(self.n), known)
        z = self.triangle[:, -1] - self.triangle[:, known] @ values
        names = tuple(self.names[i] for i in free) if self.names else ()
        return Information(_triangle(np.column_stack([self.triangle[:, free], z]), len(free) + 1), self.rows, names)

    def through(self, P: Array) -> Information:
        """Return the information about x where θ = P x, P (n, k); with k > n the additional rows of R are zero."""
        triangle = np.column_stack([self.triangle[:, :-1] @ P, self.triangle[:, -1]])
        k = P.shape[1]
        if k <= self.n:
            return Information(_triangle(triangle, k + 1), self.rows)
        empty = np.zeros((k - self.n, k + 1))
        return Information(np.vstack([_triangle(triangle[:-1], self.n), empty, triangle[-1:]]), self.rows)

    def marginal(self, keep: Array) -> Information:
        """Return the information about the parameters ``keep`` alone, the others marginalised.

        ``marginal.cost(θ_keep)`` is the least cost over all values of the others.
        """
        keep = np.asarray(keep)
        rest = np.setdiff1d(np.arange(self.n), keep)
        R = self.triangle[:, np.concatenate([rest, keep, [self.n]]).astype(int)]
        others = R[:, : len(rest)]
        s = np.linalg.norm(others, axis=0)
        U, sv, _ = np.linalg.svd(others / np.where(s > 0, s, 1.0), full_matrices=False)
        U = U[:, sv > 1e-13 * max(sv[0], 1.0)] if len(rest) else U  # numerical range of the others' columns
        remainder = R[:, len(rest) :]
        remainder = remainder - U @ (U.T @ remainder)
        names = tuple(self.names[i] for i in keep) if self.names else ()
        return Information(_triangle(remainder, len(keep) + 1), self.rows, names)

    def rank(self, rtol: float = 1e-10) -> int:
        """Return the number of independent directions of θ that the samples excite, columns scaled to unit norm."""
        s = np.linalg.svd(_equilibrated(self.R)[0], compute_uv=False)
        return int(np.sum(s > rtol * s[0])) if s.size and s[0] > 0 else 0

    def solve(self, rtol: float = 1e-13) -> Array:
        """Return the least-squares θ; of all minimisers the one of least norm with columns scaled to unit norm."""
        R, scale = _equilibrated(self.R)
        nonzero = np.any(R != 0, axis=1)
        return np.asarray(np.linalg.lstsq(R[nonzero], self.z[nonzero], rcond=rtol)[0] / scale)

    def save(self, path: Path) -> None:
        """Write an ``.npz`` file without pickled objects."""
        with open(path, "wb") as file:
            np.savez(file, triangle=self.triangle, rows=self.rows, names=np.array(self.names, dtype=str))

    @classmethod
    def load(cls, path: Path) -> Information:
        """Read a file written by ``save``."""
        with np.load(path, allow_pickle=False) as data:
            return cls(data["triangle"], int(data["rows"]), tuple(str(name) for name in data["names"]))


def _equilibrated(R: Array) -> tuple[Array, Array]:
    """R with columns of unit norm, and the norms; columns that are rounding errors become zero."""
    scale = np.linalg.norm(R, axis=0)
    negligible = scale <= 1e-14 * scale.max(initial=0.0)
    scale = np.where(negligible, 1.0, scale)
    return np.where(negligible, 0.0, R / scale), scale


def _triangle(A: Array, size: int) -> Array:
    R = np.asarray(np.linalg.qr(A, mode="r"))
    R *= np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]  # canonical signs
    return np.vstack([R, np.zeros((max(size - len(R), 0), R.shape[1]))])
