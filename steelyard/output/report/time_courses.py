"""Estimates over time, with intervals and, if known, the truth.

A recursive or online identification adds them to the page:

    content = estimate_json(estimate) | {"courses": [c.as_json() for c in courses_of(times, parameters, std)]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steelyard.errors import Finding, SteelyardError
from steelyard.output.report.decimate import keep
from steelyard.output.report.plot import rounded
from steelyard.output.report.words import HALF_WIDTH
from steelyard.spatial import Array

POINTS = 600  # most points of a course


@dataclass(frozen=True)
class TimeCourse:
    """One value over time."""

    name: str
    unit: str
    time: Array  # (T,) s
    value: Array  # (T,) NaN before the first estimate
    half: Array | None = None  # (T,) half-width of the 95 % interval
    truth: float | None = None

    def __post_init__(self) -> None:
        for part in ("value", "half"):
            given = getattr(self, part)
            if given is not None and np.shape(given) != np.shape(self.time):
                what = f"has {len(self.time)} times and {part} of shape {np.shape(given)}"
                raise SteelyardError(
                    Finding("shape-mismatch", f"course of {self.name}", what, "Give one value for each time")
                )

    def as_json(self) -> dict[str, Any]:
        """An entry of ``courses``, decimated so that extremes stay."""
        channels = [self.value, *([] if self.half is None else [self.half])]
        kept = keep(np.column_stack(channels).astype(float), POINTS)
        return {
            "name": self.name,
            "unit": self.unit,
            "time": rounded(self.time[kept]),
            "value": rounded(self.value[kept]),
            "half": None if self.half is None else rounded(self.half[kept]),
            "truth": self.truth,
        }


def courses_of(
    times: ArrayLike,
    parameters: ArrayLike,
    std: ArrayLike | None = None,
    com_std: ArrayLike | None = None,
    *,
    name: str = "",
    truth: Array | None = None,
) -> list[TimeCourse]:
    """Mass and centre of mass of one body: ``parameters`` (T, 10) at ``times``, and their standard deviations.

    ``com_std`` (T, 3) are those of the centre of mass; without them its courses have no interval.
    """
    time, p = np.asarray(times, float), np.asarray(parameters, float)
    values = np.column_stack([p[:, 0], 1e3 * p[:, 1:4] / p[:, :1]])
    halves: list[Array | None] = [None] * 4
    if std is not None:
        halves[0] = HALF_WIDTH * np.asarray(std, float)[:, 0]
    if com_std is not None:
        halves[1:] = list(1e3 * HALF_WIDTH * np.asarray(com_std, float).T)
    true = [None] * 4 if truth is None else [float(truth[0]), *(1e3 * truth[1:4] / truth[0]).tolist()]
    before = f"{name}: " if name else ""
    names = ["mass", *(f"centre of mass, {axis}" for axis in "xyz")]
    return [
        TimeCourse(before + names[k], "mm" if k else "kg", time, values[:, k], halves[k], true[k]) for k in range(4)
    ]


def course_of(entry: Mapping[str, Any]) -> TimeCourse | None:
    """A course from JSON; None where the entry is invalid."""
    try:
        half, truth = entry.get("half"), entry.get("truth")
        return TimeCourse(
            str(entry["name"]),
            str(entry["unit"]),
            np.array([*entry["time"]], float),
            np.array([*entry["value"]], float),
            None if half is None else np.array([*half], float),
            None if truth is None else float(truth),
        )
    except (LookupError, TypeError, ValueError, SteelyardError):
        return None
