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
from steelyard.kernels.change_test import CHANGED, LEARNED, NOT_HERE, judge
from steelyard.online.change import ChangeTest

Array = np.ndarray


class Running:
    """Information with forgetting; ``prior`` is never forgotten."""

    def __init__(self, prior: Information, rule: ChangeTest):
        self._prior, self._rule = prior, rule
        self.test = np.array([1.0, 0.0, 0.0])  # mean χ² per degree of freedom; the last χ² and its limit
        self.clock = np.zeros(2, np.int64)  # windows in the recent part, and since the last change
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.old = Information.none(self._prior.n)
        self.recent = Information.none(self._prior.n)
        self.before = self._prior
        self.clock[:] = 0

    @property
    def data(self) -> Information:
        """All that was seen and not forgotten."""
        return self.old + self.recent

    @property
    def state(self) -> dict[str, Array]:
        """All that is remembered."""
        parts = {name: getattr(self, name).triangle for name in ("old", "recent", "before")}
        rows = np.array([self.old.rows, self.recent.rows])
        return parts | {"rows": rows, "test": self.test, "clock": self.clock}

    @state.setter
    def state(self, saved: dict[str, Array]) -> None:
        for name, rows in zip(("old", "recent", "before"), (*saved["rows"], 0), strict=True):
            setattr(self, name, Information(np.array(saved[name]), int(rows)))
        self.test[:], self.clock[:] = saved["test"], saved["clock"]

    def learn(self, Y: Array, z: Array) -> int:
        """Forget, take in one window of whitened rows (m, n), test; what that came to (``kernels/change_test.py``)."""
        rule = self._rule
        if rule.forgetting < 1.0:
            self.old, self.recent = self.old.forget(rule.forgetting), self.recent.forget(rule.forgetting)
        if not len(z):
            return NOT_HERE
        self.recent = self.recent.extend(Y, z)
        self.clock += 1
        if self.clock[1] > rule.span:
            value, freedom = self._statistic()
            if judge(value, freedom, rule.thresholds, rule.caution, rule.outlying, self.test):
                return CHANGED
        if self.clock[0] == rule.span:
            self.old, self.recent = self.data, Information.none(self._prior.n)
            self.before = self.old + self._prior
            self.clock[0] = 0
        return LEARNED

    def _statistic(self) -> tuple[float, int]:
        """χ² of the last windows against all before, and its degrees of freedom."""
        before = self.before
        filled = np.any(self.recent.R != 0, axis=1)
        R, z = self.recent.R[filled], self.recent.z[filled]
        e = z - R @ solve_triangular(before.R, before.z)
        W = solve_triangular(before.R, R.T, trans="T")
        return float(e @ np.linalg.solve(np.eye(len(R)) + W.T @ W, e)), int(np.sum(filled))
