"""When something was picked up or put down: the rule by which the last windows are held against all before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from steelyard.spatial import Array


@dataclass(frozen=True)
class Change:
    """Something was picked up or put down."""

    time: float  # s, of the sample at which it was noticed
    statistic: float  # χ² of the last windows against all before
    threshold: float  # what it would exceed by chance once in the time asked for
    before: Mapping[str, Array]  # body → (10,) parameters until then


@dataclass(frozen=True)
class ChangeTest:
    """How fast windows are forgotten, and when the last ones do not fit to those before."""

    forgetting: float  # factor of all squared residuals from one window to the next
    thresholds: Array  # (n + 1,) of χ², by its degrees of freedom
    span: int = 10  # windows that are tested against all before, at most
    caution: float = 0.004  # a window's share in the running mean of χ² per degree of freedom
    outlying: float = 4.0  # χ² per degree of freedom that counts for no more in that mean

    @classmethod
    def of(cls, n: int, period: float, memory: float, alarm_every: float) -> ChangeTest:
        """Of n parameters and a window each ``period``; all in s, from one false alarm to the next at least."""
        thresholds = np.append(np.inf, chi2.isf(period / alarm_every, np.arange(1, n + 1)))
        return cls(float(np.exp(-period / memory)), thresholds)
