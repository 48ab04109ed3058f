"""Where bodies are in the world: the scene that was kept, and what the estimate says about each of its bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.output.report.section import Report
from steelyard.output.report.solids import CORNERS, Mesh, matrix, meshes, uniform_solid
from steelyard.output.report.words import HALF_WIDTH, as_list, literal, mapping, measure, millimetres, number, verdict
from steelyard.spatial import Array

MANY = 250  # shapes: more than these are drawn with fewer corners, and without edges
LOAD = "(load)"  # how a scene calls the frame that the load's parameters are in


@dataclass(frozen=True, eq=False)
class Placed:
    """One body or load of the estimate, where the scene has a place for it."""

    key: str  # in the scene
    name: str  # to be shown
    body: Mapping[str, Any]  # what the estimate says
    shapes: Sequence[Any]  # as described, in the body's frame
    pose: Array  # (4, 4) in the world

    @cached_property
    def meshes(self) -> list[Mesh]:
        """What it looks like, in the world."""
        return [mesh.placed(self.pose) for shape in self.shapes for mesh in meshes(shape)]

    @property
    def mass(self) -> float | None:
        """kg."""
        return number(self.body.get("mass"))

    @property
    def judged(self) -> str:
        """Its verdict; what nobody judged rests on the prior."""
        return verdict(self.body.get("verdict")) or "prior"

    @property
    def text(self) -> str:
        """What is said where the mouse points."""
        std = matrix(self.body.get("std"), (10,))
        return (
            f"<b>{literal(self.name)}</b><br>{measure(self.mass, None if std is None else float(std[0]))} kg"
            f"<br>centre of mass {millimetres(self.body.get('com'))} mm<br>{self.judged}"
        )

    def world(self, point: Any) -> list[float] | None:
        """A point of the body in the world."""
        local = matrix(point, (3,))
        return None if local is None else (self.pose[:3, :3] @ local + self.pose[:3, 3]).round(4).tolist()

    def centre(self, parameters: Any) -> list[float] | None:
        """The centre of mass of ten parameters, in the world."""
        p = matrix(parameters, (10,))
        return None if p is None or p[0] <= 0 else self.world(p[1:4] / p[0])

    @property
    def equal(self) -> list[Mesh]:
        """The ellipsoid of uniform density with the same ten parameters, in the world."""
        return [m.placed(self.pose) for m in uniform_solid(self.body.get("parameters"), "ellipsoid")]


def placed(report: Report) -> list[Placed]:
    """All bodies and loads that the scene places."""
    entries = mapping(mapping(report.scene).get("bodies"))
    known = [(name, name, body) for name, body in report.bodies.items()]
    known += [(LOAD, f"load on {load.get('link')}", load) for load in report.entries("loads")]
    found = []
    for key, name, body in known:
        entry = mapping(entries.get(key))
        if (pose := matrix(entry.get("pose"), (4, 4))) is not None:
            found.append(Placed(key, name, body, as_list(entry.get("shapes")), pose))
    return found


def found_shapes(report: Report, bodies: list[Placed]) -> list[tuple[Placed, Mesh, float]]:
    """The shapes that bodies were found to be made of, with their masses, in the world."""
    given = report.part("shapes")
    every = {b: as_list(b.body.get("shapes") if b.key == LOAD else given.get(b.key)) for b in bodies}
    corners = CORNERS if sum(map(len, every.values())) <= MANY else CORNERS // 2
    found = []
    for b, shapes in every.items():
        for shape in shapes:
            mass = number(mapping(shape).get("mass"))
            found += [(b, m.placed(b.pose), mass) for m in meshes(shape, corners) if mass is not None]
    return found


def com_interval(load: Placed) -> list[list[float] | None]:
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
