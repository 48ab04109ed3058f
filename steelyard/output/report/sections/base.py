"""Base parameters: the combinations of parameters that motion determines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import figure, half_width, mapping, number

_SHOWN = 6  # terms of a combination; further ones are counted


def base(report: Report) -> Section | None:
    """Table of base parameters; None where the estimate does not list them."""
    given = report.part("base_parameters").get("parameters")
    if not isinstance(given, list) or not given:
        return None
    rows = [_row(mapping(p)) for p in given]
    identified = sum(row["identified"] for row in rows)
    return Section("base", "Base parameters", {"rows": rows, "identified": identified})


def _row(parameter: Mapping[str, Any]) -> dict[str, Any]:
    name = str(parameter.get("name"))
    terms = {str(k): number(v) for k, v in mapping(parameter.get("terms")).items() if k != name}
    parts = [f"{'−' if (v or 0) < 0 else '+'} {_factor(abs(v or 0))}{k}" for k, v in terms.items()]
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return {
        "name": name,
        "with": " ".join(parts[:_SHOWN]) + more,
        "value": figure(parameter.get("value"), 4),
        "half": half_width(parameter.get("std")),
        "identified": bool(parameter.get("identified")),
    }


def _factor(value: float) -> str:
    return "" if abs(value - 1) < 1e-9 else f"{figure(value, 3)} "
