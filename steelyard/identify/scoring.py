"""Prediction errors of parameters on a log, against the unfiltered measurement, which no filter can flatter.

``relative`` = ‖predicted − measured‖ / ‖measured‖ over all rows in physical units, the prediction smoothed like the
rows of the fit and the measurement not at all; ``relative_filtered`` the same with both sides smoothed.
The base-parameter error needs a ground truth: see :func:`base_error`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.equations.rows import BASE_ROWS, Rows
from steelyard.equations.spline import Spline
from steelyard.equations.subspace import Subspace
from steelyard.identify.series import Role, Series
from steelyard.log.log import Log
from steelyard.spatial import Array

SMALL = 0.1  # of the largest equation of its unit: an error of a smaller one is compared with that


@dataclass(frozen=True)
class Score:
    """Errors of a prediction."""

    rows: int  # scalar comparisons
    rmse: dict[str, float]  # row → N or N·m
    correlation: dict[str, float | None]  # row → −1 … 1; None where the measurement is constant
    relative: float | None
    relative_filtered: float | None
    squares: tuple[float, float] = (0.0, 0.0)  # Σ error², Σ measured², to pool scores with
    squares_filtered: tuple[float, float] = (0.0, 0.0)
    unexplained: Mapping[str, float] = field(default_factory=dict)  # row → filtered error over filtered measurement

    def as_json(self) -> dict[str, Any]:
        """The entry of ``estimate.json``."""
        return {
            "rmse": self.rmse,
            "correlation": self.correlation,
            "relative": self.relative,
            "relative_filtered": self.relative_filtered,
        }


@dataclass(frozen=True)
class Prediction:
    """All rows of a log, predicted and measured: the measurement unfiltered, and with both sides smoothed."""

    log: str
    rows: tuple[str, ...]  # C names
    units: tuple[str, ...]
    time: Array  # (T,) s
    predicted: Array  # (T, C), smoothed
    measured: Array  # (T, C), not filtered
    grid: Array  # (S,) s, of the smoothed samples
    smoothed: tuple[Array, Array]  # (S, C) predicted and measured

    def part(self, name: str, inside: Callable[[Array], Array]) -> Prediction:
        """The rows at times that are ``inside``, under another name."""
        at, on = inside(self.time), inside(self.grid)
        return replace(
            self,
            log=name,
            time=self.time[at],
            predicted=self.predicted[at],
            measured=self.measured[at],
            grid=self.grid[on],
            smoothed=(self.smoothed[0][on], self.smoothed[1][on]),
        )

    def score(self, role: Role) -> tuple[Score, Series]:
        """Errors, and the series that the report draws."""
        predicted, tau = self.predicted, self.measured
        e = predicted - tau
        both = self.smoothed
        result = Score(
            e.size,
            {name: float(np.sqrt(np.mean(e[:, k] ** 2))) for k, name in enumerate(self.rows)},
            {name: _correlation(predicted[:, k], tau[:, k]) for k, name in enumerate(self.rows)},
            _ratio(e, tau),
            _ratio(both[0] - both[1], both[1]),
            (float(np.sum(e**2)), float(np.sum(tau**2))),
            (float(np.sum((both[0] - both[1]) ** 2)), float(np.sum(both[1] ** 2))),
            dict(zip(self.rows, (_rms(both[0] - both[1]) / row_sizes(self.rows, _rms(both[1]))).tolist(), strict=True)),
        )
        return result, Series(self.log, role, self.rows, self.units, self.time, tau, predicted)


def score(rows: Rows, theta: Array, log: Log, role: Role) -> tuple[Score, Series]:
    """Predict a whole log with θ and compare."""
    return predict(rows, theta, log).score(role)


def predict(rows: Rows, theta: Array, log: Log) -> Prediction:
    """Predict a log with θ; ``rows`` are its filtered rows.

    Filtering is linear: raw rows are computed once, multiplied by θ, and smoothed like the rows of the fit.
    """
    times, predictions, measurements, grids, smoothed = [], [], [], [], []
    for segment in rows.segments:
        time, predicted, measured = _predict(rows.unfiltered(segment), theta)
        taps, wide = rows.taps(segment), rows.wide_taps(segment)
        smoothed.append((_smooth(predicted, taps), _smooth(measured, taps)))
        grids.append(_inner(time, taps))
        time, predicted, measured = _inner(time, wide), _smooth(predicted, wide), _inner(measured, wide)
        if _torques_alone(rows):
            time, predicted, measured = _at_true_stamps(rows, log, time, predicted)
        times.append(time)
        predictions.append(predicted)
        measurements.append(measured)
    both_sides = (np.concatenate(side) for side in zip(*smoothed, strict=True))
    smooth_prediction, smooth_measurement = both_sides
    return Prediction(
        log.source,
        rows.names,
        tuple(row_unit(rows, name) for name in rows.names),
        np.concatenate(times),
        np.concatenate(predictions),
        np.concatenate(measurements),
        np.concatenate(grids),
        (smooth_prediction, smooth_measurement),
    )


def pooled(scores: Sequence[Score]) -> Score:
    """The scores of several logs as one."""
    names = scores[0].rmse
    rows = sum(s.rows for s in scores)

    def over(part: Callable[[Score], tuple[float, float]]) -> float | None:
        error, size = (sum(part(s)[k] for s in scores) for k in (0, 1))
        return float(np.sqrt(error / size)) if size > 0 else None

    def correlation(name: str) -> float | None:
        known = [(s.rows, c) for s in scores if (c := s.correlation[name]) is not None]
        return sum(n * c for n, c in known) / sum(n for n, _ in known) if known else None

    return Score(
        rows,
        {n: float(np.sqrt(sum(s.rows * s.rmse[n] ** 2 for s in scores) / rows)) for n in names},
        {n: correlation(n) for n in names},
        over(lambda s: s.squares),
        over(lambda s: s.squares_filtered),
        (sum(s.squares[0] for s in scores), sum(s.squares[1] for s in scores)),
        (sum(s.squares_filtered[0] for s in scores), sum(s.squares_filtered[1] for s in scores)),
        {n: max(s.unexplained[n] for s in scores) for n in scores[0].unexplained},
    )


def row_sizes(names: Sequence[str], rms: Array) -> Array:
    """(C,) what errors are compared with: each equation's own rms, or a tenth of the largest of its unit."""
    force = np.array([name.rsplit(".", 1)[-1] in ("fx", "fy", "fz") for name in names])
    largest = np.where(force, rms[force].max(initial=0.0), rms[~force].max(initial=0.0))
    return np.asarray(np.maximum(np.maximum(rms, SMALL * largest), 1e-300))


def row_unit(rows: Rows, name: str) -> str:
    """N or N·m."""
    if name in BASE_ROWS or name in rows.robot.readings:
        return "N" if name.rsplit(".", 1)[1].startswith("f") else "N·m"
    return "N" if rows.robot.description.joints[name].kind == "prismatic" else "N·m"


def base_error(reference: Subspace, estimate: Array, truth: Array) -> float:
    """‖R_ref(θ̂ − θ)‖ / ‖R_ref θ‖ with R_ref the information of a fixed reference motion."""
    R = reference.R
    return float(np.linalg.norm(R @ (estimate - truth)) / np.linalg.norm(R @ truth))


def _predict(rows: Rows, theta: Array) -> tuple[Array, Array, Array]:
    """Time, prediction and measurement of all rows."""
    parts = [rows.forces(segment, theta) for segment in rows.segments]
    time, predicted, measured = (np.concatenate(x) for x in zip(*parts, strict=True))
    return time, predicted, measured


def _smooth(values: Array, taps: Array) -> Array:
    return np.asarray(np.apply_along_axis(np.convolve, 0, values, taps, "valid"))


def _inner(values: Array, taps: Array) -> Array:
    """The samples around which the low-pass lies within the values."""
    return values[len(taps) // 2 : len(values) - len(taps) // 2]


def _torques_alone(rows: Rows) -> bool:
    """Whether a row's measurement is one column of the log."""
    own = rows.free is None and (rows.equations == "joint" or not rows.robot.floating)
    return own and not any(s.wrench for s in rows.segments)


def _at_true_stamps(rows: Rows, log: Log, time: Array, predicted: Array) -> tuple[Array, Array, Array]:
    """Rows of joints and sensors at the log's own stamps, with measurements that are not resampled."""
    gains = log.metadata.get("gains", {})
    inside = (log.time >= time[0]) & (log.time <= time[-1])
    columns = [
        (f"sensor.{row}", 1.0)
        if row in rows.robot.readings
        else (f"tau.{row}", 1.0)
        if log.has(f"tau.{row}")
        else (f"current.{row}", gains[row])
        for row in rows.names
    ]
    tau = np.column_stack([factor * log.columns[name][inside] for name, factor in columns])
    stamps = log.time[inside]
    return stamps, Spline.through(time, predicted)(stamps), tau


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _ratio(error: Array, measured: Array) -> float | None:
    size = float(np.linalg.norm(measured))
    return float(np.linalg.norm(error) / size) if size > 0 else None


def _correlation(a: Array, b: Array) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / size) if size > 0 else None
