"""Sections of a report: each a template with its values, and its plots.

Sections read the content of ``estimate.json`` and the series: to show a further value, add it in
``identify/estimate_json.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.identify.series import Series
from steelyard.output.report.plot import Plot
from steelyard.output.report.words import as_list, mapping


@dataclass(frozen=True)
class Report:
    """Input of the sections: an estimate of schema 2 and, if kept, its time series and scene."""

    estimate: Mapping[str, Any]
    series: tuple[Series, ...]
    scene: Mapping[str, Any] | None = None  # shapes and poses of the bodies

    def part(self, key: str) -> Mapping[str, Any]:
        """A mapping of the estimate; empty where absent or null."""
        return mapping(self.estimate.get(key))

    def entries(self, key: str) -> list[Mapping[str, Any]]:
        """A list of mappings of the estimate; empty where absent or null."""
        return [mapping(entry) for entry in as_list(self.estimate.get(key))]

    @property
    def bodies(self) -> dict[str, Mapping[str, Any]]:
        """Moving bodies by name."""
        return {name: mapping(body) for name, body in self.part("links").items()}


@dataclass(frozen=True)
class Section:
    """One section of the page; its template reads ``values`` as ``s``."""

    key: str  # anchor, and name of its files
    title: str
    values: Mapping[str, Any]
    plots: Mapping[str, Plot] = field(default_factory=dict)  # by the id of their elements
