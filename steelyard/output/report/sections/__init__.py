"""The sections of the page: the function ``NAME`` of ``NAME.py`` makes the values for the template ``NAME.html``."""

from __future__ import annotations

from importlib import import_module

from steelyard.output.report.section import Report, Section

ORDER = (
    "summary",
    "questions",
    "contradictions",
    "bodies",
    "scene",
    "division",
    "convergence",
    "ranges",
    "parameters",
    "prediction",
    "validation",
    "provenance",
)  # on the page; to add a section, write its two files and add its name


def make_sections(report: Report) -> list[Section]:
    """All sections for which the report has content."""
    sections = [getattr(import_module(f"{__name__}.{name}"), name)(report) for name in ORDER]
    return [section for section in sections if section is not None]
