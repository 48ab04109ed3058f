"""Soles: the flat undersides of two feet that a humanoid stands on, found from its description.

At its neutral posture, base level, a humanoid stands with both soles flat and level. So a sole is what lies lowest on
the last body of a leg of six joints or more, its axes are then the world's, and its edge is the rectangle around it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.robot import geometry
from steelyard.robot.model import Body, Robot
from steelyard.spatial import Array

LEG = 6  # joints that it takes to hold a surface still
FLAT = 0.004  # m above its lowest point that still belong to a sole
LEVEL = 0.05  # m between the two lowest points of a pair of feet, at most


@dataclass(frozen=True)
class Sole:
    """A rectangle that touches the ground, on one body."""

    name: str  # of the body, and of the frame that its columns of a log are in
    joint: int  # of the Pinocchio model
    placement: Array  # (4, 4) in that joint's frame: origin amid the rectangle, axes of the base at neutral
    half: Array  # (2,) m, half lengths along x and y

    @property
    def corners(self) -> Array:
        """(4, 3) m, in the joint's frame, going round."""
        x, y = self.half
        flat = np.array([[x, y, 0], [-x, y, 0], [-x, -y, 0], [x, -y, 0]])
        return np.asarray(flat @ self.placement[:3, :3].T + self.placement[:3, 3])


def find_soles(robot: Robot, feet: Sequence[str] = ()) -> tuple[Sole, Sole]:
    """Left and right sole (by y); ``feet``: names of links of the two, where they are not found by themselves."""
    import pinocchio as pin

    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, pin.neutral(robot.model))
    inner = set(robot.model.parents)
    bodies = [robot.body(name) for name in feet] or [
        b for b in robot.bodies if b.joint not in inner and len(robot.joints_above(b.joint)) >= LEG
    ]
    found = [sole for b in bodies if (sole := _sole(b, data.oMi[b.joint].homogeneous)) is not None]
    found.sort(key=lambda pair: pair[0])
    if len(found) < 2 or found[1][0] - found[0][0] > LEVEL or len(feet) not in (0, 2):
        what = "are not found: no two legs of six joints end in shapes that reach equally low"
        raise UsageError(
            Finding(
                "todo",
                f"soles of {robot.name}",
                what,
                "Take a humanoid, or name links of its two soles: --feet LEFT,RIGHT",
            )
        )
    pair = sorted((sole for _, sole in found[:2]), key=lambda s: -(data.oMi[s.joint].act(s.placement[:3, 3]))[1])
    return pair[0], pair[1]


def _sole(body: Body, pose: Array) -> tuple[float, Sole] | None:
    """Height of the lowest point in the world, and the sole around it."""
    vertices = geometry.outline(body.parts)
    if vertices is None:  # no shapes: the box that stands in for them
        vertices = np.array(list(itertools.product(*np.transpose(body.box))))
    world = vertices @ pose[:3, :3].T + pose[:3, 3]
    height = float(world[:, 2].min())
    under = world[world[:, 2] < height + FLAT, :2]
    low, high = under.min(axis=0), under.max(axis=0)
    if (high - low).min() < FLAT:
        return None
    place = np.eye(4)
    place[:3, 3] = [*(low + high) / 2, height]
    return height, Sole(body.name, body.joint, np.linalg.inv(pose) @ place, (high - low) / 2)
