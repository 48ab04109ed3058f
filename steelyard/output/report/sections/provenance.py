"""Where the numbers come from, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import NOTHING, figure, mapping, number


def provenance(report: Report) -> Section:
    """Command, versions, inputs with their SHA-256, filter, seed; then the definitions."""
    estimate, source = report.estimate, report.part("provenance")
    facts = [
        ("Robot", said(estimate.get("robot"))),
        ("Method", said(estimate.get("method"))),
        ("Equations", said(estimate.get("equations"))),
        ("Scalar rows fitted", said(report.part("fit").get("rows"))),
        ("Objective at the optimum", figure(report.part("fit").get("objective"), 6)),
        ("Filter", said(source.get("filter"))),
        ("Seed", said(source.get("seed"))),
        ("Versions", said(source.get("versions"))),
        ("Information", said(estimate.get("information"))),
        ("Schema", said(estimate.get("schema"))),
    ]
    values = {
        "command": said(source.get("command"), " "),
        "facts": facts,
        "inputs": [(path, said(digest)) for path, digest in mapping(source.get("inputs")).items()],
    }
    return Section("provenance", "Provenance and how to read this", values)


def said(value: Any, between: str = ", ") -> str:
    """Any JSON value on one line; nothing is a dash."""
    if value is None or value == "" or (isinstance(value, float) and number(value) is None):
        return NOTHING
    if isinstance(value, Mapping):
        return " · ".join(f"{k} {said(v)}" for k, v in value.items()) or NOTHING
    if isinstance(value, Sequence) and not isinstance(value, str):
        return between.join(said(v) for v in value) or NOTHING
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
