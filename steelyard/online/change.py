"""Change detection: the last windows are tested against all before, so that a change of payload is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from steelyard.spatial import Array


@dataclass(frozen=True)
class Change:
    """A change of payload that was detected."""

    time: float  # s, of the sample at which it was detected
    statistic: float  # χ² of the last windows against all before
    threshold: float  # exceeded by chance at most once in ``OnlineOptions.alarm_every``
    before: Mapping[str, Array]  # body → (10,) parameters before the change


@dataclass(frozen=True)
class ChangeTest:
    """Forgetting factor, and thresholds of the χ² test of the last windows against all before."""

    forgetting: float  # factor of all squared residuals from one window to the next
    thresholds: Array  # (n + 1,) of χ², by its degrees of freedom
    span: int = 10  # windows that are tested against all before, at most
    caution: float = 0.004  # weight of a window in the running mean of χ² per degree of freedom
    outlying: float = 4.0  # χ² per degree of freedom at which a window is clipped in that mean

    @classmethod
    def of(cls, n: int, period: float, memory: float, alarm_every: float) -> ChangeTest:
        """For n parameters and a window each ``period`` s; ``alarm_every``: least mean time between false alarms, s."""
        thresholds = np.append(np.inf, chi2.isf(period / alarm_every, np.arange(1, n + 1)))
        return cls(float(np.exp(-period / memory)), thresholds)
