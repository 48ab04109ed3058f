"""Which parts of a robot stand on the ground: balls at the ends of its legs, written as ``--feet`` takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.equations.unknown_forces import Foot, foot
from steelyard.errors import Finding, UsageError
from steelyard.robot import geometry
from steelyard.robot.model import Body, Robot

CALLED = ("foot", "toe", "contact")  # what feet are called where no ball tells


def find_feet(robot: Robot) -> tuple[str, ...]:
    """``FRAME`` or ``FRAME:point:RADIUS`` of each leg's end; empty where there is none.

    A link at the end of a chain is a foot if it is a ball, or if it is called one: then its radius is half the
    middle edge of the box around it.
    """
    inner = set(robot.model.parents)
    ends = [body for body in robot.bodies if body.joint not in inner and body.joint > 1]
    return tuple(found for body in ends if (found := _foot(robot, body)) is not None)


def point_feet(robot: Robot, feet: Sequence[str]) -> tuple[Foot, ...]:
    """Feet to stand on, found by themselves where none is named; each a ball of some radius on a leg of its own."""
    given = tuple(feet) or find_feet(robot)
    if not given:
        raise UsageError(
            Finding(
                f"feet of {robot.name}",
                "are not found: no chain ends in a ball, or in a link called a foot",
                "Name them: --feet FRAME:point:RADIUS,…",
            )
        )
    found = tuple(foot(robot, text) for text in given)
    bad = [
        Finding(
            f"foot {text!r}",
            "is no ball, which is what stands on simulated ground",
            f"Give a radius: {f.frame.name}:point:0.02",
        )
        for text, f in zip(given, found, strict=True)
        if f.surface or f.radius <= 0
    ]
    if bad:
        raise UsageError(bad)
    return found


def _foot(robot: Robot, body: Body) -> str | None:
    known = [link for link in body.links if not (f := foot(robot, link)).surface and f.radius > 0]
    if known:
        return max(known, key=lambda link: float(np.linalg.norm(foot(robot, link).centre)))
    for link in body.links:
        box = geometry.link_box(robot.description.links[link], np.eye(4))
        if box is not None and any(word in link.lower() for word in CALLED):
            return f"{link}:point:{np.median(box[1] - box[0]) / 2:.4f}"
    return None
