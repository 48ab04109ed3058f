"""An unknown load: the link that carries it, and the region in which it lies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from steelyard.compose.division_rule import Rule
from steelyard.compose.load_area import RULE, Area, area_above, area_findings, as_cuboid
from steelyard.compose.primitives import Primitive
from steelyard.compose.shape_file import ShapeFile
from steelyard.errors import Finding, UsageError
from steelyard.robot.model import LOAD, Robot


@dataclass(frozen=True)
class UnknownLoad:
    """An unknown load on a link, in logs that are ``loaded``; with a region it is composed of shapes, divided (Xu).

    Attributes:
        link: The link that carries it.
        area: x0 x1 y0 y1 z0 z1 in m, in the link's axes: the load lies in it.
        top: m: the load lies up to this far above the link's shapes, along its z axis.
        shapes: Initial shapes of the load, in the link's axes.
        divisions: Steps of division of the shapes at most.

    Examples:
        Names as in ``help(steelyard)``.

        >>> load = sy.UnknownLoad("wrist_3_link", area=(-0.1, 0.1, -0.1, 0.1, 0.0, 0.2), divisions=3)  # m
        >>> held = sy.weigh_load("demo_arm", log, on=load, empty=log)  # it carried none
        >>> held.estimate.loads[0].mass < 0.1  # kg
        True
    """

    link: str
    area: Area | None = None
    top: float | None = None
    shapes: ShapeFile | None = None
    divisions: int | None = None

    def __post_init__(self) -> None:
        if findings := list(self._findings()):
            raise UsageError(findings)

    @property
    def has_region(self) -> bool:
        """Whether the region of the load is given."""
        given = self.shapes is not None and LOAD in self.shapes.links
        return self.area is not None or self.top is not None or given

    @property
    def rule(self) -> Rule:
        """How its shapes are divided."""
        rule = RULE if self.shapes is None else self.shapes.rule
        return rule if self.divisions is None else replace(rule, most=self.divisions)

    def start(self, robot: Robot) -> tuple[Primitive, ...]:
        """Its initial shapes, in the axes of its link."""
        area = self.area if self.top is None else area_above(robot, self.link, self.top)
        if area is not None:
            return (as_cuboid(area),)
        assert self.shapes is not None
        return self.shapes.bodies(robot)[LOAD]

    def _findings(self) -> Iterator[Finding]:
        for name in ("shapes", "divisions"):
            if getattr(self, name) is not None and not self.has_region:
                what = "refines shapes of the load, and it is not given where the load may be"
                fix = "Give an area, a height (top), or shapes of the load itself"
                yield Finding("load-area-missing", f"{name}=", what, fix)
        if self.area is not None and self.top is not None:
            yield Finding(
                "option-conflict",
                f"top={self.top}",
                "conflicts with area: each defines where the load may be",
                "Give one of them",
            )
        if self.area is not None:
            yield from area_findings(self.area)
        if self.top is not None and not 0 < self.top < math.inf:
            yield Finding("option-value", f"top={self.top}", "must be > 0", "Give a height in m")
        if self.divisions is not None and self.divisions < 0:
            yield Finding(
                "option-value", f"divisions={self.divisions}", "must be ≥ 0", "Give how often to divide at most"
            )
