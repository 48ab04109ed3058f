"""Base parameters: the combinations of parameters that motion determines; those of bodies, joints and sensors apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.output.report.section import Report
from steelyard.output.report.words import as_list, figure, half_width, mapping, number, source

KINDS = {"body": "bodies", "joint": "joints", "sensor": "sensors"}
_SHOWN = 6  # terms of a combination; further ones are counted


def base_tables(report: Report) -> list[dict[str, Any]]:
    """One table a kind that has base parameters, with how many of them come from the data."""
    given = [mapping(p) for p in as_list(report.part("base_parameters").get("parameters"))]
    tables = []
    for kind, name in KINDS.items():
        rows = [_row(p) for p in given if p.get("kind") == kind]
        if rows:
            tables.append({"kind": name, "rows": rows, "data": sum(row["source"] == "data" for row in rows)})
    return tables


def _row(parameter: Mapping[str, Any]) -> dict[str, Any]:
    name = str(parameter.get("name"))
    terms = {str(k): number(v) for k, v in mapping(parameter.get("terms")).items() if k != name}
    parts = [f"{'−' if (v or 0) < 0 else '+'} {_factor(abs(v or 0))}{k}" for k, v in terms.items()]
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return {
        "name": name,
        "with": " ".join(parts[:_SHOWN]) + more,
        "described": figure(parameter.get("described"), 4),
        "value": figure(parameter.get("value"), 4),
        "half": half_width(parameter.get("std")),
        "source": source(parameter.get("source")),
    }


def _factor(value: float) -> str:
    return "" if abs(value - 1) < 1e-9 else f"{figure(value, 3)} "
