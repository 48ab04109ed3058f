"""How large the errors are: per log and row, held-out logs first."""

from __future__ import annotations

from steelyard.output.report.scores import RowScore, log_scores, row_unit
from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import figure, percent


def validation(report: Report) -> Section | None:
    """The table of RMSE, relative errors and correlation."""
    logs = [
        {
            "name": score.log,
            "role": score.role,
            "overall": _words(score.overall),
            "rows": [{"name": row, "unit": row_unit(row, report.series), **_words(s)} for row, s in score.rows.items()],
        }
        for score in log_scores(report)
    ]
    held_out = any(log["role"] == "validation" for log in logs)
    return (
        Section("validation", "Validation", "validation.html", {"logs": logs, "held_out": held_out}) if logs else None
    )


def _words(score: RowScore) -> dict[str, str]:
    return {
        "rmse": figure(score.rmse, 3),
        "relative": percent(score.relative),
        "relative_filtered": percent(score.relative_filtered),
        "correlation": figure(score.correlation, 4),
    }
