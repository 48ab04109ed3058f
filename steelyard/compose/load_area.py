"""The region of a load: a cuboid x0 x1 y0 y1 z0 z1 in m, in the frame of the link that carries it."""

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

RULE = Rule(parts=3)  # a load is small in its area: thirds locate it in fewer steps than halves


def area_findings(area: Sequence[float]) -> list[Finding]:
    """Return the findings about an area: six finite numbers, each pair increasing."""
    edges = np.asarray(area, float)
    if edges.shape == (6,) and np.isfinite(edges).all() and np.all(edges[1::2] > edges[::2]):
        return []
    shown = " ".join(f"{x:g}" for x in area)
    fix = "Give x0 x1 y0 y1 z0 z1 in m, each pair increasing"
    return [Finding("option-value", f"area={shown}", "is not a cuboid", fix, {"area": None})]


def as_cuboid(area: Sequence[float]) -> Solid:
    """Return the area as a primitive; UsageError if it is not a cuboid."""
    if findings := area_findings(area):
        raise UsageError(findings)
    low, high = np.asarray(area, float)[::2], np.asarray(area, float)[1::2]
    return cuboid(high - low, translation((low + high) / 2))


def area_above(robot: Robot, link: str, height: float) -> Area:
    """Return the area from the top of a link's shapes to ``height`` m above it, along the link's z axis."""
    box = geometry.link_box(robot.description.links[link], np.eye(4)) if link in robot.description.links else None
    if box is None:
        what = "has no shapes, so the height of its top is unknown"
        raise UsageError(Finding("link-without-shapes", link, what, "Give area= as six numbers", {"area": None}))
    (x0, y0, _), (x1, y1, top) = box
    return float(x0), float(x1), float(y0), float(y1), float(top), float(top) + height
