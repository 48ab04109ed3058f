"""How values came about: one number against time or steps, with its interval and, where known, the truth.

What a recursive or online identification found along the way, in the form that a page shows:

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
from steelyard.output.report.words import HALF_WIDTH

Array = np.ndarray

POINTS = 600  # a course is kept with at most so many


@dataclass(frozen=True)
class Course:
    """One value over time."""

    name: str
    unit: str
    time: Array  # (T,) s
    value: Array  # (T,) NaN where nothing is known yet
    half: Array | None = None  # (T,) half of the 95 % interval
    truth: float | None = None

    def __post_init__(self) -> None:
        for part in ("value", "half"):
            given = getattr(self, part)
            if given is not None and np.shape(given) != np.shape(self.time):
                what = f"has {len(self.time)} times and {part} of shape {np.shape(given)}"
                raise SteelyardError(Finding(f"course of {self.name}", what, "Give one value a time"))

    def as_json(self) -> dict[str, Any]:
        """An entry of ``courses``, thinned so that extremes stay."""
        channels = [self.value, *([] if self.half is None else [self.half])]
        kept = keep(np.column_stack(channels).astype(float), POINTS)
        return {
            "name": self.name,
            "unit": self.unit,
            "time": _list(self.time, kept),
            "value": _list(self.value, kept),
            "half": None if self.half is None else _list(self.half, kept),
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
) -> list[Course]:
    """Mass and centre of mass of one body: ``parameters`` (T, 10) at ``times``, and their standard deviations.

    ``com_std`` (T, 3) are those of the centre of mass; without them its courses have no interval.
    """
    time, p = np.asarray(times, float), np.asarray(parameters, float)
    half = None if std is None else HALF_WIDTH * np.asarray(std, float)
    wide = None if com_std is None else 1e3 * HALF_WIDTH * np.asarray(com_std, float)
    before = f"{name}: " if name else ""
    true_com = None if truth is None else truth[1:4] / truth[0]
    found = [
        Course(
            f"{before}mass", "kg", time, p[:, 0], None if half is None else half[:, 0],
            None if truth is None else float(truth[0]),
        )
    ]  # fmt: skip
    for k, axis in enumerate("xyz"):
        found.append(
            Course(
                f"{before}centre of mass, {axis}", "mm", time, 1e3 * p[:, 1 + k] / p[:, 0],
                None if wide is None else wide[:, k],
                None if true_com is None else 1e3 * float(true_com[k]),
            )
        )  # fmt: skip
    return found


def course_of(entry: Mapping[str, Any]) -> Course | None:
    """A course from JSON; None where it is none."""
    try:
        time, value = (np.array([np.nan if x is None else x for x in entry[k]], float) for k in ("time", "value"))
        half = entry.get("half")
        width = None if half is None else np.array([np.nan if x is None else x for x in half], float)
        truth = entry.get("truth")
        return Course(
            str(entry["name"]), str(entry["unit"]), time, value, width, None if truth is None else float(truth)
        )
    except (LookupError, TypeError, ValueError, SteelyardError):
        return None


def _list(values: Array, kept: Array) -> list[float | None]:
    return [float(f"{x:.6g}") if np.isfinite(x) else None for x in np.asarray(values, float)[kept]]
