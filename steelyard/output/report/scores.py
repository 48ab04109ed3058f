"""Prediction errors of each log, from the estimate; those that it lacks, from the samples.

``relative`` is ‖τ̂ − τ‖ / ‖τ‖ against the unfiltered measurement, so that filtering cannot lower it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.identify.series import Role, Series
from steelyard.output.report.section import Report
from steelyard.output.report.words import mapping, number
from steelyard.spatial import WRENCH, Array


@dataclass(frozen=True)
class RowScore:
    """Errors of one row, or of all rows."""

    rmse: float | None  # in the row's unit
    relative: float | None  # ratio
    relative_filtered: float | None  # ratio
    correlation: float | None
    described: float | None = None  # ``relative`` of the description, with joint terms fitted alike


@dataclass(frozen=True)
class LogScore:
    """Errors of one log, or of all training logs."""

    log: str
    role: Role
    overall: RowScore
    rows: Mapping[str, RowScore]


def log_scores(report: Report) -> list[LogScore]:
    """Scores of every held-out log, then of the fit."""
    scores = [
        _merge(log, mapping(entry), [s for s in report.series if s.log == log and s.role == "validation"], "validation")
        for log, entry in report.part("validation").items()
    ]
    fitted = [s for s in report.series if s.role == "fit"]
    label = fitted[0].log if len(fitted) == 1 else "all training logs"
    if fit := report.part("fit"):
        scores.append(_merge(label, fit, fitted, "fit"))
    return scores


def row_unit(row: str, series: Sequence[Series]) -> str:
    """Unit of a row, from the samples or else from its name."""
    for s in series:
        if row in s.rows:
            return s.units[s.rows.index(row)]
    component = row.rpartition(".")[2]
    if component in WRENCH:  # of the base or a sensor
        return "N" if component.startswith("f") else "N·m"
    return "N·m or N"


def compare(measured: Array, predicted: Array) -> RowScore:
    """Scores of one row's samples, where both are finite."""
    finite = np.isfinite(measured) & np.isfinite(predicted)
    tau, hat = measured[finite], predicted[finite]
    if not tau.size:
        return RowScore(None, None, None, None)
    error, norm = float(np.linalg.norm(hat - tau)), float(np.linalg.norm(tau))
    moves = tau.size > 1 and bool(np.ptp(tau) > 0) and bool(np.ptp(hat) > 0)
    return RowScore(
        rmse=error / tau.size**0.5,
        relative=error / norm if norm > 0 else None,
        relative_filtered=None,
        correlation=float(np.corrcoef(tau, hat)[0, 1]) if moves else None,
    )


def _merge(log: str, entry: Mapping[str, Any], series: Sequence[Series], role: Role) -> LogScore:
    fields = ("rmse", "relative", "relative_filtered", "correlation")
    given, described = {f: mapping(entry.get(f)) for f in fields}, mapping(entry.get("description"))
    names = dict.fromkeys([*(row for s in series for row in s.rows), *(r for f in fields for r in given[f])])
    rows = {}
    for name in names:
        parts = [(s.measured[:, k], s.predicted[:, k]) for s in series if name in s.rows for k in [s.rows.index(name)]]
        seen = compare(*map(np.concatenate, zip(*parts, strict=True))) if parts else RowScore(*[None] * 4)
        stated = {f: number(given[f].get(name)) for f in fields}
        score = RowScore(**{f: getattr(seen, f) if stated[f] is None else stated[f] for f in fields})
        rows[name] = replace(score, described=_described(score, number(mapping(described.get("rmse")).get(name))))
    overall = RowScore(**{f: number(entry.get(f)) for f in fields}, described=number(described.get("relative")))
    return LogScore(log, role, overall, rows)


def _described(score: RowScore, rmse: float | None) -> float | None:
    """Relative error of the description, from its rmse: both are relative to the same measurement."""
    return (
        rmse / score.rmse * score.relative if rmse is not None and score.rmse and score.relative is not None else None
    )
