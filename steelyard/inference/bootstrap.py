"""Results of a bootstrap over logs: spread of quantities over the replicates, beside their analytic deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.spatial import Array


@dataclass(frozen=True)
class Resampled:
    """Distribution of one quantity over all replicates."""

    std: float
    low: float  # 95 % of the replicates lie between low
    high: float  # and high
    analytic: float  # standard deviation from the residuals, as elsewhere in the estimate

    @classmethod
    def of(cls, values: Array, analytic: float, ends: tuple[float, float]) -> Resampled:
        """Return the distribution of its values in the replicates; ``ends`` are the percentiles."""
        low, high = np.percentile(values, ends)
        return cls(float(np.std(values, ddof=1)), float(low), float(high), float(analytic))


@dataclass(frozen=True)
class Bootstrap:
    """Bootstrap of an estimate: masses, base parameters and total mass."""

    replicates: int
    seed: int
    logs: int
    units: int  # number of resampling units: logs, or bundles of neighbouring logs
    masses: Mapping[str, Resampled]  # kg, of every free body
    base: Mapping[str, Resampled]  # base parameter, by its leading parameter
    total: Resampled | None  # kg

    def as_json(self) -> dict[str, Any]:
        """Return the entry ``bootstrap`` of ``estimate.json``."""
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
        text = f"bootstrap: {self.replicates} replicates of {drawn}"
        if ratios:
            text += (
                f"; standard deviations of base parameters are {np.median(ratios):.2f} times the analytic ones in the "
                f"median, {max(ratios):.2f} times at most"
            )
        if self.total is not None:
            text += f"; the whole robot weighs {self.total.low:.2f} to {self.total.high:.2f} kg"
        return text
