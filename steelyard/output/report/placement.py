"""Poses of bodies in the world, from the scene, with the estimate of each body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.output.report.section import Report
from steelyard.output.report.solids import CORNERS, Mesh, matrix, meshes, uniform_solid
from steelyard.output.report.words import (
    HALF_WIDTH,
    as_list,
    literal,
    mapping,
    millimetres,
    number,
    source,
    with_interval,
)
from steelyard.spatial import Array

MANY = 250  # shapes, above which they are drawn with fewer corners and without edges
LOAD = "(load)"  # name in a scene of the frame of the load's parameters


@dataclass(frozen=True, eq=False)
class PlacedBody:
    """A body or load of the estimate with its pose in the scene."""

    key: str  # in the scene
    name: str  # as displayed
    body: Mapping[str, Any]  # entry of the estimate
    shapes: Sequence[Any]  # as described, in the body's frame
    pose: Array  # (4, 4) in the world

    @cached_property
    def meshes(self) -> list[Mesh]:
        """Its described shapes, in the world."""
        return [mesh.placed(self.pose) for shape in self.shapes for mesh in meshes(shape)]

    @property
    def mass(self) -> float | None:
        """Estimated mass, kg."""
        return number(self.body.get("mass"))

    @property
    def source(self) -> str:
        """Source of its least certain quantity; prior where the estimate has none."""
        return source(self.body.get("source")) or "prior"

    @property
    def text(self) -> str:
        """Text on hovering."""
        std = matrix(self.body.get("std"), (10,))
        return (
            f"<b>{literal(self.name)}</b><br>{with_interval(self.mass, None if std is None else float(std[0]))} kg"
            f"<br>centre of mass {millimetres(self.body.get('com'))} mm<br>source: {self.source}"
        )

    def world(self, point: Any) -> list[float] | None:
        """A point of the body, in world coordinates."""
        local = matrix(point, (3,))
        return None if local is None else (self.pose[:3, :3] @ local + self.pose[:3, 3]).round(4).tolist()

    def centre(self, parameters: Any) -> list[float] | None:
        """Centre of mass of ten parameters, in world coordinates."""
        p = matrix(parameters, (10,))
        return None if p is None or p[0] <= 0 else self.world(p[1:4] / p[0])

    @property
    def equal(self) -> list[Mesh]:
        """The uniform ellipsoid with the same ten parameters, in the world."""
        return [m.placed(self.pose) for m in uniform_solid(self.body.get("parameters"), "ellipsoid")]


def place_bodies(report: Report) -> list[PlacedBody]:
    """All bodies and loads that have a pose in the scene."""
    entries = mapping(mapping(report.scene).get("bodies"))
    known = [(name, name, body) for name, body in report.bodies.items()]
    known += [(LOAD, f"load on {load.get('link')}", load) for load in report.entries("loads")]
    bodies = []
    for key, name, body in known:
        entry = mapping(entries.get(key))
        if (pose := matrix(entry.get("pose"), (4, 4))) is not None:
            bodies.append(PlacedBody(key, name, body, as_list(entry.get("shapes")), pose))
    return bodies


def estimated_shapes(report: Report, bodies: list[PlacedBody]) -> list[tuple[PlacedBody, Mesh, float]]:
    """Shapes of the estimate with their masses, in the world."""
    given = report.part("shapes")
    every = {b: as_list(b.body.get("shapes") if b.key == LOAD else given.get(b.key)) for b in bodies}
    corners = CORNERS if sum(map(len, every.values())) <= MANY else CORNERS // 2
    solids = []
    for b, shapes in every.items():
        for shape in shapes:
            mass = number(mapping(shape).get("mass"))
            solids += [(b, m.placed(b.pose), mass) for m in meshes(shape, corners) if mass is not None]
    return solids


def com_interval(load: PlacedBody) -> list[list[float] | None]:
    """Ends of 95 % intervals of a load's centre of mass, along the axes of the link that carries it."""
    com, std = matrix(load.body.get("com"), (3,)), matrix(load.body.get("com_std"), (3,))
    profile = matrix(mapping(load.body.get("interval")).get("com"), (3, 2))
    if profile is None and com is not None and std is not None:
        profile = com[:, None] + HALF_WIDTH * np.outer(std, [-1, 1])
    if profile is None or com is None:
        return []
    ends: list[list[float] | None] = []
    for axis in range(3):
        low, high = (np.where(np.arange(3) == axis, end, com) for end in profile[axis])
        ends += [load.world(low), load.world(high), None]
    return ends
