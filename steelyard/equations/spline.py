"""Interpolating splines of odd degree with not-a-knot ends, and their derivatives.

The same as ``scipy.interpolate.make_interp_spline``; importing that package takes as long as a fit. With B-splines B_j
of degree k, on knots that are the samples except for some next to the ends, the coefficients solve
Σ_j c_j B_j(x_i) = y_i, a banded system of 2k + 1 diagonals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_banded

from steelyard.spatial import Array


@dataclass(frozen=True)
class Spline:
    """A piecewise polynomial with a continuous derivative of order ``degree`` − 1."""

    knots: Array  # (n + degree + 1,)
    coefficients: Array  # (n, …)
    degree: int

    @classmethod
    def through(cls, x: Array, y: Array, degree: int = 3) -> Spline:
        """The spline through values y (n, …) at increasing x (n,)."""
        half = (degree + 1) // 2
        ends = np.full(degree + 1, x[0]), np.full(degree + 1, x[-1])
        knots = np.concatenate([ends[0], x[half:-half], ends[1]])
        at, values = _basis(knots, degree, x)
        bands = np.zeros((2 * degree + 1, len(x)))
        for r in range(degree + 1):
            column = at - degree + r
            bands[degree + np.arange(len(x)) - column, column] = values[:, r]
        c = solve_banded((degree, degree), bands, np.reshape(y, (len(x), -1)), overwrite_ab=True, check_finite=False)
        return cls(knots, c.reshape(np.shape(y)), degree)

    def derivative(self) -> Spline:
        """Its first derivative."""
        t, k, c = self.knots, self.degree, self.coefficients
        width = (t[k + 1 : -1] - t[1 : -k - 1]).reshape(-1, *[1] * (c.ndim - 1))
        return Spline(t[1:-1], k * np.diff(c, axis=0) / width, k - 1)

    def __call__(self, x: Array, order: int = 0) -> Array:
        """(m, …) values, or derivatives of an order, at x (m,); beyond the ends the outermost polynomials continue."""
        if order:
            return self.derivative()(x, order - 1)
        at, values = _basis(self.knots, self.degree, x)
        total = np.zeros((len(x), *self.coefficients.shape[1:]))
        for r in range(self.degree + 1):
            total += values[:, r].reshape(-1, *[1] * (total.ndim - 1)) * self.coefficients[at - self.degree + r]
        return total


def _basis(knots: Array, degree: int, x: Array) -> tuple[Array, Array]:
    """Interval (m,) of each x, and (m, degree + 1) its non-zero B-splines (Cox and de Boor)."""
    at = np.clip(np.searchsorted(knots, x, side="right") - 1, degree, len(knots) - degree - 2)
    values = np.ones((len(x), 1))
    for k in range(1, degree + 1):
        grown = np.zeros((len(x), k + 1))
        for r in range(k):
            right, left = knots[at + r + 1], knots[at + r + 1 - k]
            share = values[:, r] / (right - left)
            grown[:, r] += share * (right - x)
            grown[:, r + 1] += share * (x - left)
        values = grown
    return at, values
