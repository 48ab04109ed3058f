"""Is this description plausible? Values that can be read and are physically consistent, but hardly right.

A description that identification refuses is an ``error``; what the checks in ``description_checks/`` find is a
``doubt`` or a ``note``: a robot may be unusual, and the prior of a body is only a guess.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from steelyard import inertia
from steelyard.check.subject import classes_in
from steelyard.equations.equation_options import EquationOptions
from steelyard.errors import DescriptionError, Finding
from steelyard.robot import geometry
from steelyard.robot.build import build, default_base
from steelyard.robot.description import Description, Link, RobotSource
from steelyard.robot.model import Body, Robot
from steelyard.spatial import Array


@dataclass(frozen=True)
class BodyHull:
    """The convex hull of a body's shapes, in the body's frame."""

    vertices: Array  # (v, 3) m

    @cached_property
    def volume(self) -> float:
        """m³; at least that of the shapes."""
        return float(geometry.convex_hull(self.vertices).volume)

    @cached_property
    def covariance(self) -> Array:
        """(3, 3) m², density covariance of the hull with uniform density."""
        return inertia.density_covariance(geometry.hull_inertia(self.vertices))

    @cached_property
    def size(self) -> float:
        """Diagonal of its box, m."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    def depth(self, point: Array) -> float:
        """How far a point (3,) is inside, m; negative if it is outside."""
        return -float((geometry.convex_hull(self.vertices).equations @ np.append(point, 1.0)).max())


@dataclass(frozen=True)
class DescribedRobot:
    """A robot whose description is checked."""

    robot: Robot

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """Moving bodies that have the parameters of the description, unrepaired."""
        sums = {b.name: sum(inertia.transform(link.parameters, at) for link, at in b.parts) for b in self.robot.bodies}
        return tuple(b for b in self.robot.bodies if b.parts and np.allclose(sums[b.name], b.parameters, rtol=1e-9))

    @cached_property
    def solids(self) -> dict[str, tuple[BodyHull, ...]]:
        """Body → hull of its collision shapes, and of all shapes if it has others; bodies without shapes are absent.

        A body has to be implausible in both: collision shapes are often smaller than the part, visual ones larger.
        """
        solids = dict[str, tuple[BodyHull, ...]]()
        for body in self.bodies:
            if self.robot.has_shape(body):
                hulls = [geometry.hull_of_links(body.parts)]
                if any(link.collision and link.visual for link, _ in body.parts):
                    hulls.append(geometry.hull_of_links(body.parts, visual=True))
                if some := tuple(BodyHull(hull) for hull in hulls if hull is not None):
                    solids[body.name] = some
        return solids

    def main_links(self) -> list[Link]:
        """The link of each body that has more than half of its mass."""
        heaviest = [max((link for link, _ in b.parts), key=lambda link: link.mass) for b in self.bodies]
        return [k for k, b in zip(heaviest, self.bodies, strict=True) if k.mass > 0.5 * b.parameters[0]]

    def place(self, kind: str, name: str, line: int) -> str:
        """Where a finding is: ``robot.urdf:12 body 'forearm'``."""
        return f"{self.robot.description.path.name}{f':{line}' if line else ''} {kind} '{name}'"

    def place_of(self, body: Body) -> str:
        """The same of a body, at the line of its heaviest link."""
        return self.place("body", body.name, max((link for link, _ in body.parts), key=lambda link: link.mass).line)


class DescriptionCheck(ABC):
    """A search for one kind of implausible value in a description."""

    rank: ClassVar[int] = 50  # checks run in this order

    @abstractmethod
    def find(self, subject: DescribedRobot) -> list[Finding]:
        """Findings of this check: doubts and notes."""


def description_findings(robot: Robot) -> list[Finding]:
    """Run every check of a description; bodies whose parameters were repaired are not judged."""
    from steelyard.check import description_checks

    subject = DescribedRobot(robot)
    classes: list[type[DescriptionCheck]] = classes_in(description_checks, DescriptionCheck)
    ordered = sorted(classes, key=lambda check: (check.rank, check.__name__))
    return [finding for check in ordered for finding in check().find(subject)]


def check_description(
    source: RobotSource, description: Description, options: EquationOptions
) -> tuple[Robot, list[Finding]]:
    """Build a robot without a log, and judge its description.

    Args:
        source: What the description was read from: a short name decides the base.
        description: The robot.
        options: Base, locked joints, and whether inconsistent bodies are repaired.

    Returns:
        The robot, with inconsistent bodies repaired; the reasons why identification refuses it, which are errors,
        then doubts and notes.

    Raises:
        SteelyardError: It cannot be built at all.
    """
    base = default_base(source, description) if options.base == "auto" else options.base
    refusals = list[Finding]()
    try:
        robot = build(description, base=base, lock=options.lock, repair=options.repair_prior)
    except DescriptionError as error:
        if not any("repair_prior" in f.remedy for f in error.findings):
            raise
        refusals += error.findings
        robot = build(description, base=base, lock=options.lock, repair=True)
    return robot, [*refusals, *description_findings(robot)]
