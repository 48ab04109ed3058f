"""Where a load may be: a cuboid in the axes of the link that carries it, six numbers x0 x1 y0 y1 z0 z1 in m."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.compose.division_rule import Rule
from steelyard.compose.primitives import Solid, cuboid
from steelyard.errors import Finding, UsageError
from steelyard.robot import geometry
from steelyard.robot.model import Robot
from steelyard.spatial import translation

Area = tuple[float, float, float, float, float, float]

RULE = Rule(parts=3)  # a load is small in its area: thirds find it in fewer steps than halves


def area_findings(area: Sequence[float]) -> list[Finding]:
    """What is wrong with six numbers."""
    edges = np.asarray(area, float)
    if edges.shape == (6,) and np.isfinite(edges).all() and np.all(edges[1::2] > edges[::2]):
        return []
    shown = " ".join(f"{x:g}" for x in area)
    return [Finding("todo", f"area {shown}", "is no cuboid", "Give x0 x1 y0 y1 z0 z1 in m, each rising")]


def as_cuboid(area: Sequence[float]) -> Solid:
    """The area as a shape."""
    if found := area_findings(area):
        raise UsageError(found)
    low, high = np.asarray(area, float)[::2], np.asarray(area, float)[1::2]
    return cuboid(high - low, translation((low + high) / 2))


def on_top(robot: Robot, link: str, height: float) -> Area:
    """All that is up to so many metres above a link's shapes, along its z axis."""
    box = geometry.link_box(robot.description.links[link], np.eye(4)) if link in robot.description.links else None
    if box is None:
        what = "has no shapes, so nothing says where its top is"
        raise UsageError(Finding("todo", f"link {link!r}", what, "Give the area as six numbers"))
    (x0, y0, _), (x1, y1, top) = box
    return float(x0), float(x1), float(y0), float(y1), float(top), float(top) + height
