"""How a residual counts: squared while it is small, linearly beyond (``--robust``).

A loss ρ is fitted by weighting rows anew, each by √(ψ(e)/e) with ψ = ρ′ its influence; noise is estimated from ψ(e)
instead of e, and the covariance of the estimate counts ψ′(e) in place of one a row. Another loss is another class with
these three functions; ``noise.py`` and ``uncertainty.py`` ask for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.spatial import Array


@dataclass(frozen=True)
class Huber:
    """ρ = e²/2 up to ``beyond`` standard deviations, then the straight line that goes on from there."""

    beyond: float = 1.345  # 95 % as efficient as least squares on normal noise

    def root_weight(self, residual: Array) -> Array:
        """√(ψ(e)/e) of residuals in standard deviations: what their rows are multiplied with."""
        return np.asarray(np.sqrt(np.minimum(1.0, self.beyond / np.maximum(np.abs(residual), 1e-12))))

    def influence(self, residual: Array, sigma: Array) -> Array:
        """σ ψ(e/σ): residuals as the loss counts them, in their own units."""
        return np.clip(residual, -self.beyond * sigma, self.beyond * sigma)

    def curvature(self, residual: Array) -> Array:
        """ψ′(e) of residuals in standard deviations."""
        return (np.abs(residual) <= self.beyond).astype(float)


ROBUST = Huber()
