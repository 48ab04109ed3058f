"""Projections of solids as SVG, from above and from the side, in millimetres; for printing, and without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.output.report.solids import Mesh
from steelyard.spatial import Array

VIEWS = {"from above": (0, 1), "from the side": (0, 2)}  # name → axes to the right and up
MARGIN = 0.04  # of the larger side


@dataclass(frozen=True)
class DrawnMesh:
    """One solid of a picture."""

    mesh: Mesh
    look: str  # class of the style sheet
    title: str = ""  # shown on hovering
    share: float | None = None  # opacity, 0 to 1


@dataclass(frozen=True)
class Window:
    """The visible part of a plane, in m."""

    low: Array  # (2,)
    high: Array  # (2,)

    @classmethod
    def around(cls, meshes: Sequence[Mesh], axes: tuple[int, int]) -> Window:
        """The bounding box of meshes, with a margin."""
        points = np.vstack([m.vertices[:, list(axes)] for m in meshes])
        low, high = points.min(axis=0), points.max(axis=0)
        rim = MARGIN * max(float(np.max(high - low)), 1e-3)
        return cls(low - rim, high + rim)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, mm."""
        width, height = 1e3 * (self.high - self.low)
        return float(width), float(height)

    def path(self, outline: Array) -> str:
        """Points of a polygon in page coordinates, mm."""
        shown = 1e3 * np.column_stack([outline[:, 0] - self.low[0], self.high[1] - outline[:, 1]])
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)

    def at(self, point: Sequence[float]) -> tuple[float, float]:
        """One point in page coordinates, mm."""
        return round(1e3 * float(point[0] - self.low[0]), 1), round(1e3 * float(self.high[1] - point[1]), 1)


def stills(drawn: Sequence[DrawnMesh]) -> list[dict[str, Any]]:
    """Views from above and from the side; the front is drawn last."""
    if not drawn:
        return []
    return [
        {"view": view, **picture(drawn, Window.around([d.mesh for d in drawn], axes), axes)}
        for view, axes in VIEWS.items()
    ]


def picture(drawn: Sequence[DrawnMesh], window: Window, axes: tuple[int, int]) -> dict[str, Any]:
    """One view: its view box and polygons."""
    depth = 3 - sum(axes)
    front = 1.0 if depth == 2 else -1.0  # seen from the side, y points away
    ordered = sorted(drawn, key=lambda d: (d.share or 0.0, front * float(d.mesh.vertices[:, depth].mean())))
    polygons = [
        {"points": window.path(outline), "look": d.look, "title": d.title, "share": d.share}
        for d in ordered
        if len(outline := d.mesh.outline(*axes))
    ]
    return {"box": "0 0 {:.1f} {:.1f}".format(*window.size), "polygons": polygons}
