"""Measured and predicted torques of each row, with residuals; one tab a log."""

from __future__ import annotations

import base64

import numpy as np

from steelyard.identify.series import Series
from steelyard.output.report.decimate import break_at_gaps, keep
from steelyard.output.report.plot import Plot, Trace, line, margins
from steelyard.output.report.scores import compare, log_scores
from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import literal
from steelyard.spatial import Array

POINTS = 3000  # most points of a trace
FEWEST = 300  # least points of a trace; if there are more rows, logs are omitted
BUDGET = 650_000  # bytes of all traces together
BYTES = 4 * 4 * 4 / 3  # of one point: time, measured, predicted, residual; float32 in base64


def prediction(report: Report) -> Section | None:
    """Plots of every log within the budget, held-out logs first."""
    ordered = sorted(report.series, key=lambda s: s.role != "validation")
    shown: list[Series] = []
    for s in ordered:
        if shown and sum(len(t.rows) for t in [*shown, s]) * FEWEST * BYTES > BUDGET:
            break
        shown.append(s)
    rows = sum(len(s.rows) for s in shown)
    if not rows:
        return None
    limit = min(POINTS, max(FEWEST, int(BUDGET / (rows * BYTES))))
    stated = {score.log: score.rows for score in log_scores(report) if score.role == "validation"}
    logs, plots = [], {}
    for k, s in enumerate(shown):
        known = stated.get(s.log, {}) if s.role == "validation" else {}
        cells = []
        for c, row in enumerate(s.rows):
            plots[f"row-{k}-{c}"] = _plot(s, c, limit, f"log-{k}")
            score = known.get(row) or compare(s.measured[:, c], s.predicted[:, c])
            cells.append({"name": row, "plot": f"row-{k}-{c}", "unit": s.units[c], "score": score})
        logs.append({"name": s.log, "role": s.role, "key": k, "cells": cells, "samples": len(s.time)})
    values = {
        "logs": logs,
        "omitted": len(ordered) - len(shown),
        "limit": limit,
        "decimated": any(len(s.time) > limit for s in shown),
    }
    return Section("prediction", "Measured and predicted", values, plots)


def _plot(s: Series, c: int, limit: int, group: str) -> Plot:
    start = s.time[0] if len(s.time) else 0.0
    both = np.column_stack([s.measured[:, c], s.predicted[:, c], s.measured[:, c] - s.predicted[:, c]])
    time, channels = break_at_gaps(s.time - start, both)
    kept = keep(channels, limit)
    arrays = dict(zip(("measured", "predicted", "residual"), channels[kept].T, strict=True))
    unit = literal(s.units[c])
    return {
        "group": group,
        "arrays": {"time": _base64(time[kept])} | {name: _base64(a) for name, a in arrays.items()},
        "data": [
            _line("measured", "@measured", 3.2, unit),
            _line("predicted", "@estimate", 1.3, unit),
            _line("residual", "@residual", 0.9, unit) | {"yaxis": "y2"},
        ],
        "layout": {
            "margin": margins(68, 36),
            "hovermode": "x",
            "xaxis": {"anchor": "y2", "title": {"text": "time from start (s)", "standoff": 4}},
            "yaxis": {"domain": [0.4, 1], "title": {"text": unit, "standoff": 8}, "nticks": 5},
            "yaxis2": {"domain": [0, 0.31], "title": {"text": f"residual<br>{unit}", "standoff": 8}, "nticks": 5},
        },
    }


def _line(name: str, color: str, width: float, unit: str) -> Trace:
    hover = f"%{{y:.4~g}} {unit.replace('%', '&#37;')}"
    return line("time", name, color, width, name=name, hovertemplate=hover)


def _base64(values: Array) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")
