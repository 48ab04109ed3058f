"""Robust loss of residuals: quadratic for small ones, linear beyond (option ``robust``).

A loss ρ is fitted by iteratively reweighted least squares: each row is multiplied by √(ψ(e)/e), with ψ = ρ′ the
influence function; noise is estimated from ψ(e) instead of e, and the covariance of the estimate uses ψ′(e) in place of
one per row. Another loss is another class with these three methods; ``noise.py`` and ``uncertainty.py`` need nothing
else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.spatial import Array


@dataclass(frozen=True)
class Huber:
    """ρ = e²/2 up to ``beyond`` standard deviations, then its tangent."""

    beyond: float = 1.345  # 95 % as efficient as least squares on normal noise

    def root_weight(self, residual: Array) -> Array:
        """Return √(ψ(e)/e) of standardised residuals: the factors of their rows."""
        return np.asarray(np.sqrt(np.minimum(1.0, self.beyond / np.maximum(np.abs(residual), 1e-12))))

    def influence(self, residual: Array, sigma: Array) -> Array:
        """Return σ ψ(e/σ): residuals limited by the influence function, in their own units."""
        return np.clip(residual, -self.beyond * sigma, self.beyond * sigma)

    def curvature(self, residual: Array) -> Array:
        """Return ψ′(e) of standardised residuals."""
        return (np.abs(residual) <= self.beyond).astype(float)


ROBUST = Huber()
