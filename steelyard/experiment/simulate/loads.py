"""Payloads welded to links: the true parameters of the carrying body are the sum of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.robot import geometry
from steelyard.robot.model import Robot
from steelyard.spatial import Array

EDGE = 0.1  # m, of the cube that is the default load


@dataclass(frozen=True)
class Load:
    """A body welded to a link; its parameters (10,) are in that link's frame."""

    link: str
    parameters: Array

    @classmethod
    def cuboid(
        cls, link: str, mass: float, centre: Iterable[float], edges: Iterable[float] = (EDGE, EDGE, EDGE)
    ) -> Load:
        """A homogeneous cuboid, kg, with its centre (m, link axes) and edge lengths along the link's axes."""
        at, half = np.array([*centre], float), np.array([*edges], float) / 2
        return cls(link, geometry.box_inertia(mass, (at - half, at + half)))

    @classmethod
    def body(cls, link: str, mass: float, com: Iterable[float], tensor: Array) -> Load:
        """Any body: kg, centre of mass (3,) and inertia (3, 3) about it, in link axes."""
        return cls(link, inertia.pack(mass, np.array([*com], float), tensor))

    @classmethod
    def parse(cls, text: str) -> Load:
        """``MASS@LINK:x,y,z`` or ``MASS@LINK:x,y,z:sx,sy,sz``: kg, centre and edges of a cuboid in m."""
        try:
            amount, rest = text.split("@", 1)
            link, *numbers = rest.rsplit(":", 2) if rest.count(":") >= 2 else rest.split(":")
            centre, edges = ([float(x) for x in part.split(",")] for part in [*numbers, f"{EDGE},{EDGE},{EDGE}"][:2])
            mass = float(amount)
            good = len(centre) == len(edges) == 3 and mass > 0 and min(edges) > 0 and np.isfinite([mass, *centre]).all()
        except ValueError:
            good = False
        if not good:
            raise UsageError(
                Finding(
                    "option-value",
                    f"load={text}",
                    "is not MASS@LINK:x,y,z or MASS@LINK:x,y,z:sx,sy,sz with positive mass and edges",
                    "Write e.g. 1@trunk:0.05,0,0.1:0.08,0.08,0.04 (kg, m)",
                )
            )
        return cls.cuboid(link, mass, centre, edges)


def add_loads(robot: Robot, truth: Mapping[str, Array], loads: Iterable[Load]) -> dict[str, Array]:
    """Parameters (10,) of every body with its payload."""
    total = {body.name: np.array(truth.get(body.name, body.parameters), float) for body in robot.bodies}
    for load in loads:
        body = robot.body(load.link)
        total[body.name] = total[body.name] + inertia.transform(load.parameters, robot.frames[load.link].placement)
    return total
