"""How well parameters predict a log: against the unfiltered measurement, so that no filter can flatter it.

``relative`` = ‖predicted − measured‖ / ‖measured‖ over all rows in physical units, the prediction smoothed like the
rows of the fit and the measurement not at all; ``relative_filtered`` the same with both sides smoothed.
Base-parameter error needs a truth: see :func:`base_error`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from steelyard.identifiable import Subspace
from steelyard.log import Log
from steelyard.regressor import BASE_ROWS, Rows
from steelyard.report.series import Role, Series

Array = np.ndarray


@dataclass(frozen=True)
class Score:
    """Errors of a prediction."""

    rows: int  # scalar comparisons
    rmse: dict[str, float]  # row → N or N·m
    correlation: dict[str, float | None]  # row → −1 … 1; None where the measurement is constant
    relative: float | None
    relative_filtered: float | None

    def as_json(self) -> dict[str, Any]:
        """The entry of ``estimate.json``."""
        return {
            "rmse": self.rmse,
            "correlation": self.correlation,
            "relative": self.relative,
            "relative_filtered": self.relative_filtered,
        }


def score(rows: Rows, theta: Array, log: Log, role: Role) -> tuple[Score, Series]:
    """Predict a log with θ; ``rows`` are its filtered rows."""
    same = (rows.robot, rows.segments, rows.columns, rows.equations, rows.feet)
    time, predicted, _ = _predict(Rows(*same, rows.filter, rows.free, decimate=False), theta)
    if _torques_alone(rows):
        time, predicted, measured = _at_true_stamps(rows, log, time, predicted)
    else:
        everywhere, _, raw = _predict(Rows(*same, None, rows.free), theta)
        measured = raw[np.searchsorted(everywhere, time - 1e-9)]
    e, tau = predicted - measured, measured
    _, smooth_predicted, smooth_measured = _predict(rows, theta)
    result = Score(
        e.size,
        {name: float(np.sqrt(np.mean(e[:, k] ** 2))) for k, name in enumerate(rows.names)},
        {name: _correlation(e[:, k] + tau[:, k], tau[:, k]) for k, name in enumerate(rows.names)},
        _ratio(e, tau),
        _ratio(smooth_predicted - smooth_measured, smooth_measured),
    )
    units = tuple(row_unit(rows, name) for name in rows.names)
    return result, Series(log.source, role, rows.names, units, time, measured, predicted)


def row_unit(rows: Rows, name: str) -> str:
    """N or N·m."""
    if name in BASE_ROWS:
        return "N" if name.startswith("base.f") else "N·m"
    return "N" if rows.robot.description.joints[name].kind == "prismatic" else "N·m"


def base_error(reference: Subspace, estimate: Array, truth: Array) -> float:
    """‖R_ref(θ̂ − θ)‖ / ‖R_ref θ‖ with R_ref the information of a fixed reference motion."""
    R = reference.R
    return float(np.linalg.norm(R @ (estimate - truth)) / np.linalg.norm(R @ truth))


def _predict(rows: Rows, theta: Array) -> tuple[Array, Array, Array]:
    """Time, prediction and measurement of all rows; a drive gain belongs to the measurement."""
    gain = np.array([name.endswith(".gain") for name in rows.columns.names])
    time, predicted, measured = [], [], []
    for block in rows:
        time.append(block.time)
        predicted.append(block.Y[:, :, ~gain] @ theta[~gain])
        measured.append(block.target - block.Y[:, :, gain] @ theta[gain])
    return np.concatenate(time), np.concatenate(predicted), np.concatenate(measured)


def _torques_alone(rows: Rows) -> bool:
    """Whether a row's measurement is one column of the log."""
    return rows.equations == "joint" and not any(s.wrench or s.current for s in rows.segments)


def _at_true_stamps(rows: Rows, log: Log, time: Array, predicted: Array) -> tuple[Array, Array, Array]:
    """Joint rows at the log's own stamps, where resampling has not touched the measurement."""
    gains = log.metadata.get("gains", {})
    parts = []
    for segment in rows.segments:
        mine = (time >= segment.time[0]) & (time <= segment.time[-1])
        inside = (log.time >= time[mine][0]) & (log.time <= time[mine][-1])
        stamps = log.time[inside]
        tau = np.column_stack(
            [log.columns[f"tau.{j}"][inside] if log.has(f"tau.{j}") else gains[j] * log.columns[f"current.{j}"][inside]
             for j in rows.names]
        )  # fmt: skip
        parts.append((stamps, make_interp_spline(time[mine], predicted[mine], k=3)(stamps), tau))
    times, predictions, measurements = zip(*parts, strict=True)
    return np.concatenate(times), np.concatenate(predictions), np.concatenate(measurements)


def _ratio(error: Array, measured: Array) -> float | None:
    size = float(np.linalg.norm(measured))
    return float(np.linalg.norm(error) / size) if size > 0 else None


def _correlation(a: Array, b: Array) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / size) if size > 0 else None
