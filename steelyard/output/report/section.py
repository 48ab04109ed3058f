"""What a report is made of: sections, each a template with its values, and the plots it refers to.

Sections see the content of ``estimate.json`` and the series: a value that it lacks begins in
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
    """What the sections read: an estimate of schema 1 and, where kept, the samples behind it and the robot's looks."""

    estimate: Mapping[str, Any]
    series: tuple[Series, ...]
    scene: Mapping[str, Any] | None = None  # shapes of the bodies and where they are

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
    """One section of the page; its template sees ``values`` as ``s``."""

    key: str  # anchor, and name of its files
    title: str
    values: Mapping[str, Any]
    plots: Mapping[str, Plot] = field(default_factory=dict)  # by the id of the element that shows it
