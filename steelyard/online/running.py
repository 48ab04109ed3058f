"""What is known so far, in two parts: the last few windows, and all before them; and whether one robot explains both.

With R the triangle of the last windows, z its right side, θ the optimum of what was known before and P its covariance,

    e = z − R θ,    χ² = eᵀ (1 + R P Rᵀ)⁻¹ e

has the mean of as many squares as R has rows, if nothing changed and the rows' noise is as thought. A load that
is picked up makes it large.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from steelyard.information import Information

Array = np.ndarray


class Running:
    """Information with forgetting; ``prior`` is never forgotten."""

    def __init__(self, prior: Information):
        self._prior = prior
        self.reset()

    def reset(self) -> None:
        """Nothing was ever seen."""
        self.old = Information.none(self._prior.n)
        self.recent = Information.none(self._prior.n)
        self.before = self._prior

    @property
    def data(self) -> Information:
        """All that was seen and not forgotten."""
        return self.old + self.recent

    @property
    def state(self) -> dict[str, Array]:
        """All that is remembered."""
        rows = np.array([self.old.rows, self.recent.rows])
        return {
            "old": self.old.triangle, "recent": self.recent.triangle, "before": self.before.triangle, "rows": rows
        }  # fmt: skip

    @state.setter
    def state(self, saved: dict[str, Array]) -> None:
        self.old = Information(np.array(saved["old"]), int(saved["rows"][0]))
        self.recent = Information(np.array(saved["recent"]), int(saved["rows"][1]))
        self.before = Information(np.array(saved["before"]), 0)

    def absorb(self, Y: Array, z: Array, factor: float) -> None:
        """One more window of whitened rows (m, n), after the older ones have been forgotten by a factor."""
        if factor < 1.0:
            self.old, self.recent = self.old.forget(factor), self.recent.forget(factor)
        if len(z):
            self.recent = self.recent.extend(Y, z)

    def settle(self) -> None:
        """The last windows become part of what was known before."""
        self.old, self.recent = self.data, Information.none(self._prior.n)
        self.before = self.old + self._prior

    def change(self) -> tuple[float, int]:
        """χ² of the last windows against all before, and its degrees of freedom."""
        before = self.before
        said = np.any(self.recent.R != 0, axis=1)
        R, z = self.recent.R[said], self.recent.z[said]
        theta = solve_triangular(before.R, before.z)
        e = z - R @ theta
        W = solve_triangular(before.R, R.T, trans="T")
        return float(e @ np.linalg.solve(np.eye(len(R)) + W.T @ W, e)), int(np.sum(said))
