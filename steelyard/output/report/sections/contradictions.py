"""Where the data contradict the description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import NOTHING, as_list, figure, number


def contradictions(report: Report) -> Section | None:
    """List of contradictions; None where there are none."""
    rows = [_row(c) for c in report.entries("contradictions")]
    return Section("contradictions", "Your description looks wrong here", {"rows": rows}) if rows else None


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    bodies = [str(b) for b in as_list(entry.get("bodies"))]
    changes = [number(x) for x in as_list(entry.get("change"))]
    sigmas = [x for x in map(number, as_list(entry.get("sigma"))) if x is not None]
    text = str(entry.get("text") or NOTHING)
    return {
        "text": text[:1].upper() + text[1:],
        "bodies": bodies,
        "changes": [NOTHING if x is None else _signed_percent(x) for x in changes],
        "sigma": f"{figure(min(sigmas), 2)} σ" if sigmas else NOTHING,
    }


def _signed_percent(share: float) -> str:
    return f"{'+' if share > 0 else '−'}{abs(100 * share):.0f} %"
