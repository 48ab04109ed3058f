"""Prediction errors per log and row, held-out logs first."""

from __future__ import annotations

from steelyard.output.report.scores import log_scores, row_unit
from steelyard.output.report.section import Report, Section


def validation(report: Report) -> Section | None:
    """Table of RMSE, relative errors and correlation."""
    logs = log_scores(report)
    if not logs:
        return None
    units = {row: row_unit(row, report.series) for log in logs for row in log.rows}
    held_out = any(log.role == "validation" for log in logs)
    return Section("validation", "Validation", {"logs": logs, "units": units, "held_out": held_out})
