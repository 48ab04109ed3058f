"""The verdict of the run: nine questions, each with its answer, figure, limit and what shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.output.question_text import question_figure, question_limit
from steelyard.output.report.base_table import base_tables
from steelyard.output.report.panels import PANELS
from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import as_list, mapping

ANSWERS = ("pass", "fail", "unknown")


def questions(report: Report) -> Section | None:
    """List of questions; None where the estimate has none."""
    given = [mapping(q) for q in as_list(report.part("verdict").get("checks"))]
    rows = [_row(report, q) for q in given]
    counts = {a: sum(row["result"] == a for row in rows) for a in ANSWERS}
    return Section("questions", "Can it be trusted?", {"rows": rows, "counts": counts}) if rows else None


def _row(report: Report, question: Mapping[str, Any]) -> dict[str, Any]:
    code, result = str(question.get("code")), str(question.get("result"))
    return {
        "code": code,
        "question": str(question.get("question")),
        "result": result if result in ANSWERS else "unknown",
        "figure": question_figure(code, question.get("figure")),
        "limit": question_limit(code, question.get("limit")),
        "where": [str(place) for place in as_list(question.get("where"))],
        "panel": PANELS[code](report) if code in PANELS else None,
        "base": base_tables(report) if code == "informative" else None,
    }
