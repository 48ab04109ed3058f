"""The sections of the page: ``NAME.py`` has a function of its name that makes it, ``NAME.html`` shows it."""

from __future__ import annotations

from importlib import import_module

from steelyard.output.report.section import Report, Section

ORDER = (
    "summary",
    "verdicts",
    "scene",
    "division",
    "convergence",
    "base",
    "ranges",
    "parameters",
    "prediction",
    "validation",
    "provenance",
)  # on the page: to add a section, write its two files and name it here


def make_sections(report: Report) -> list[Section]:
    """All sections that the report has something for."""
    made = [getattr(import_module(f"{__name__}.{name}"), name)(report) for name in ORDER]
    return [section for section in made if section is not None]
