"""Shape files (TOML): the initial shapes of links, and the settings of their division.

    [division]                 # optional; the keys of ``Rule``
    choose = "look-ahead"

    [bodies]                   # link = shapes in that link's frame, lengths in m
    base = [
        { cuboid = [0.4, 0.2, 0.04], at = [0, 0, 0.09], rpy = [0, 0, 0] },   # edges
        { cylinder = [0.05, 0.2] },                                          # radius, length along z
    ]

Also ``ellipsoid`` (half axes), ``sphere`` (radius), ``capsule`` (radius, length of its cylinder) and ``polyhedron``
(corners). A load goes by the name ``(load)``, in the axes of the link that carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.compose import primitives
from steelyard.compose.division_rule import Rule
from steelyard.compose.primitives import Primitive
from steelyard.errors import DescriptionError, Finding, UsageError
from steelyard.log.toml import Checker, is_number, read_toml, shown
from steelyard.robot.model import Robot
from steelyard.spatial import Array, placement, rotation_from_rpy

MEASURES = {
    "cuboid": "three edges",
    "cylinder": "radius and length",
    "ellipsoid": "three half axes",
    "sphere": "a radius",
    "capsule": "radius and length",
    "polyhedron": "four corners or more, not all in one plane",
}
_COUNT = {"cuboid": 3, "cylinder": 2, "ellipsoid": 3, "sphere": 1, "capsule": 2}


@dataclass(frozen=True)
class ShapeFile:
    """Initial shapes by link, each in its link's frame, and the settings of their division."""

    source: str = "shapes"  # name in messages and provenance
    links: Mapping[str, tuple[Primitive, ...]] = field(default_factory=dict)
    rule: Rule = field(default_factory=Rule)

    def bodies(self, robot: Robot) -> dict[str, tuple[Primitive, ...]]:
        """Return shapes by moving body, in its frame; UsageError for links that do not exist or do not move."""
        by_body: dict[str, tuple[Primitive, ...]] = {}
        findings = list[Finding]()
        for link, shapes in self.links.items():
            try:
                body = robot.body(link)
            except UsageError as error:
                findings += [f.at(f"{self.source}, {f.where}") for f in error.findings]
                continue
            T = np.eye(4) if body.carrier is not None else robot.frames[link].placement
            by_body[body.name] = by_body.get(body.name, ()) + tuple(shape.placed(T) for shape in shapes)
        if findings:
            raise UsageError(findings)
        return by_body


def read_shapes(path: str | Path) -> ShapeFile:
    """Read and check a shape file; the DescriptionError has a finding for every fault."""
    path = Path(path)
    if not path.is_file():
        what, fix = "does not exist or is not a file", "Give a TOML file with the shapes of links"
        raise DescriptionError(Finding("file-missing", str(path), what, fix))
    return _Shapes(str(path)).check(read_toml(path))


class _Shapes(Checker):
    def check(self, document: Mapping[str, Any]) -> ShapeFile:
        self.unknown("", document, ("division", "bodies"), "section")
        rule = self.rule(self.section(document, "division"))
        links = {link: self.shapes(link, value) for link, value in self.section(document, "bodies").items()}
        if self.findings:
            raise DescriptionError(self.findings)
        return ShapeFile(self.source, links, rule)

    def section(self, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        table = document.get(name, {})
        if isinstance(table, dict):
            return table
        self.wrong(name, f"is {shown(table)}, not a section", f"Write [{name}] once, and its keys below")
        return {}

    def rule(self, table: Mapping[str, Any]) -> Rule:
        known = {f.name: f.default for f in fields(Rule)}
        self.unknown("division", table, known, "key")
        given = {}
        for key, default in known.items():
            kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(default)]
            value = self.take("division", table, key, default, lambda _: True, kind, f"Give {kind}")
            if value is not None:
                given[key] = value
        try:
            return Rule(**given)
        except UsageError as error:
            self.findings += [f.at(f"{self.source}, {f.where}") for f in error.findings]
            return Rule()

    def shapes(self, link: str, value: Any) -> tuple[Primitive, ...]:
        if not isinstance(value, list) or not value:
            self.wrong(f"bodies, {link}", f"is {shown(value)}, not a list of shapes", "Write [{ cuboid = […] }, …]")
            return ()
        parsed = [self.shape(f"bodies, {link}, shape {k}", table) for k, table in enumerate(value, 1)]
        return tuple(shape for shape in parsed if shape is not None)

    def shape(self, where: str, table: Any) -> Primitive | None:
        kinds = [key for key in MEASURES if key in table] if isinstance(table, dict) else []
        if len(kinds) != 1:
            what = f"is {shown(table)}, not one shape"
            self.wrong(where, what, f"Write {{ KIND = measures }} with one of {', '.join(MEASURES)}")
            return None
        kind = kinds[0]
        self.unknown(where, table, (kind, "at", "rpy"), "key")
        at, rpy = (self.triple(f"{where}, {key}", table.get(key, [0, 0, 0])) for key in ("at", "rpy"))
        T = placement(rotation_from_rpy(rpy), at)
        if kind == "polyhedron":
            return self.polyhedron(f"{where}, {kind}", table[kind], T)
        numbers = table[kind] if isinstance(table[kind], list) else [table[kind]]
        if len(numbers) != _COUNT[kind] or not all(is_number(x) and x > 0 for x in numbers):
            self.wrong(f"{where}, {kind}", f"is {shown(table[kind])}", f"Give {MEASURES[kind]} in m, all above 0")
            return None
        make: Callable[..., Primitive] = getattr(primitives, kind)
        return make(numbers, T) if _COUNT[kind] == 3 else make(*map(float, numbers), T)

    def polyhedron(self, where: str, corners: Any, T: Array) -> Primitive | None:
        is_list = isinstance(corners, list) and len(corners) >= 4
        if is_list and all(isinstance(p, list) and len(p) == 3 and all(map(is_number, p)) for p in corners):
            try:
                return primitives.polyhedron(corners, T)
            except ValueError:
                pass
        self.wrong(where, f"is {shown(corners)}", f"Give {MEASURES['polyhedron']}: [[x, y, z], …] in m")
        return None

    def triple(self, where: str, value: Any) -> Array:
        if isinstance(value, list) and len(value) == 3 and all(map(is_number, value)):
            return np.array(value, float)
        unit = "rad" if where.endswith("rpy") else "m"
        self.wrong(where, f"is {shown(value)}", f"Give three numbers in {unit}")
        return np.zeros(3)
