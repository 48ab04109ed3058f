"""What is known so far, in two parts: the last few windows, and all before them; and whether one robot explains both.

Kept as triangles, which lose no digits however many parameters are free. The test for a change is that of the compiled
step (``kernels/change_test.py``): its statistic is a sum of squares, for which Gram matrices are good enough.
"""

from __future__ import annotations

import numpy as np

from steelyard.information import Information
from steelyard.kernels.change_test import CHANGED, LEARNED, NOT_HANDLED, judge, row_width, settle, statistic, tick
from steelyard.online.change import ChangeTest
from steelyard.spatial import Array


class Running:
    """Information with forgetting; ``prior`` is never forgotten."""

    def __init__(self, prior: Information, rule: ChangeTest):
        self._prior, self._rule = prior, rule
        self.test = np.array([1.0, 0.0, 0.0])  # mean χ² per degree of freedom; the last χ² and its limit
        self.clock = np.zeros(2, np.int64)  # windows in the recent part, and since the last change
        n = prior.n
        self._before, self._optimum = np.zeros((n + 1) ** 2), np.zeros(n)
        self._equations = np.zeros((2, n + 1, row_width(n)))
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.old = Information.none(self._prior.n)
        self.recent = Information.none(self._prior.n)
        self.clock[:] = 0
        self._settle()

    @property
    def data(self) -> Information:
        """All that was seen and not forgotten."""
        return self.old + self.recent

    @property
    def state(self) -> dict[str, Array]:
        """All that a saved state needs."""
        parts = {
            "old": self.old.triangle,
            "recent": self.recent.triangle,
            "before": self._before,
            "optimum": self._optimum,
        }
        rows = np.array([self.old.rows, self.recent.rows])
        return parts | {"rows": rows, "test": self.test, "clock": self.clock}

    @state.setter
    def state(self, saved: dict[str, Array]) -> None:
        for name, rows in zip(("old", "recent"), saved["rows"], strict=True):
            setattr(self, name, Information(np.array(saved[name]), int(rows)))
        self.test[:], self.clock[:] = saved["test"], saved["clock"]
        self._before[:], self._optimum[:] = saved["before"], saved["optimum"]

    def learn(self, Y: Array, z: Array) -> int:
        """Forget, take in one window of whitened rows (m, n), test; what that came to (``kernels/change_test.py``)."""
        rule = self._rule
        if rule.forgetting < 1.0:
            self.old, self.recent = self.old.forget(rule.forgetting), self.recent.forget(rule.forgetting)
        if not len(z):
            return NOT_HANDLED
        self.recent = self.recent.extend(Y, z)
        if tick(self.clock, rule.span):
            value, freedom = statistic(self._before, self._optimum, _gram(self.recent), *self._equations)
            if judge(value, freedom, rule.thresholds, rule.caution, rule.outlying, self.test):
                return CHANGED
        if self.clock[0] == rule.span:
            self.old, self.recent = self.data, Information.none(self._prior.n)
            self.clock[0] = 0
            self._settle()
        return LEARNED

    def _settle(self) -> None:
        """What the next windows are tested against."""
        settle(_gram(self._prior), _gram(self.old), self._before, self._optimum, self._equations[0])


def _gram(information: Information) -> Array:
    """Gram matrix of [Y z], flat."""
    return np.ravel(information.triangle.T @ information.triangle)
