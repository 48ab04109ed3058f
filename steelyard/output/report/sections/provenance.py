"""Provenance of the numbers, and definitions of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import NOTHING, figure, mapping, number


def provenance(report: Report) -> Section:
    """Command, versions, inputs with their SHA-256, filter, seed; then the definitions."""
    estimate, source = report.estimate, report.part("provenance")
    facts = [
        ("Robot", as_text(estimate.get("robot"))),
        ("Method", as_text(estimate.get("method"))),
        ("Equations", as_text(estimate.get("equations"))),
        ("Scalar equations", as_text(report.part("fit").get("rows"))),
        ("Objective at the optimum", figure(report.part("fit").get("objective"), 6)),
        ("Filter", as_text(source.get("filter"))),
        ("Seed", as_text(source.get("seed"))),
        ("Versions", as_text(source.get("versions"))),
        ("Information", as_text(estimate.get("information"))),
        ("Schema", as_text(estimate.get("schema"))),
    ]
    values = {
        "command": as_text(source.get("command"), " "),
        "facts": facts,
        "inputs": [(path, as_text(digest)) for path, digest in mapping(source.get("inputs")).items()],
    }
    return Section("provenance", "Provenance and definitions", values)


def as_text(value: Any, between: str = ", ") -> str:
    """Any JSON value on one line; missing values are a dash."""
    if value is None or value == "" or (isinstance(value, float) and number(value) is None):
        return NOTHING
    if isinstance(value, Mapping):
        return " · ".join(f"{k} {as_text(v)}" for k, v in value.items()) or NOTHING
    if isinstance(value, Sequence) and not isinstance(value, str):
        return between.join(as_text(v) for v in value) or NOTHING
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
