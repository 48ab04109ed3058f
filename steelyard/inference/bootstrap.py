"""What a bootstrap says: how far quantities spread over the replicates, beside what rows say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.spatial import Array


@dataclass(frozen=True)
class Resampled:
    """One quantity over all replicates."""

    std: float
    low: float  # 95 % of the replicates are between
    high: float
    analytic: float  # standard deviation by the rows, as elsewhere in the estimate

    @classmethod
    def of(cls, values: Array, analytic: float, ends: tuple[float, float]) -> Resampled:
        """From its value in every replicate."""
        low, high = np.percentile(values, ends)
        return cls(float(np.std(values, ddof=1)), float(low), float(high), float(analytic))


@dataclass(frozen=True)
class Bootstrap:
    """The entry ``bootstrap``."""

    replicates: int
    seed: int
    logs: int
    units: int  # that were drawn: logs, or so many bundles of neighbours
    masses: Mapping[str, Resampled]  # kg, of every free body
    base: Mapping[str, Resampled]  # base parameter, by the parameter that leads it
    total: Resampled | None  # kg

    def as_json(self) -> dict[str, Any]:
        """For ``estimate.json``."""
        return {
            "replicates": self.replicates,
            "seed": self.seed,
            "logs": self.logs,
            "units": self.units,
            "links": {name: {"mass": vars(x)} for name, x in self.masses.items()},
            "base_parameters": {name: vars(x) for name, x in self.base.items()},
            "total": {"mass": vars(self.total)} if self.total else None,
        }

    def __str__(self) -> str:
        ratios = [x.std / x.analytic for x in self.base.values() if x.analytic > 0]
        drawn = f"{self.logs} logs" if self.units == self.logs else f"{self.units} bundles of {self.logs} logs"
        told = f"bootstrap: {self.replicates} drawings of {drawn}"
        if ratios:
            told += (
                f"; base parameters deviate {np.median(ratios):.2f} times as much as rows say in the median, "
                f"{max(ratios):.2f} times at most"
            )
        if self.total is not None:
            told += f"; the whole robot weighs {self.total.low:.2f} to {self.total.high:.2f} kg"
        return told
