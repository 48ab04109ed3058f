"""Soles: the flat undersides of a humanoid's two feet, from its description.

In the neutral configuration with a level base both soles are level. So a sole is the set of lowest points on the last
body of a leg of six joints or more; its axes are then the world's, and its outline is the rectangle around them.
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

LEG = 6  # joints, at least: so many hold a surface at any pose
FLAT = 0.004  # m; points up to so far above the lowest one belong to the sole
LEVEL = 0.05  # m, largest difference in height between the lowest points of two feet


@dataclass(frozen=True)
class Sole:
    """A rectangle on one body that touches the ground."""

    name: str  # of the body, and of the frame of its wrench columns in a log
    joint: int  # of the Pinocchio model
    placement: Array  # (4, 4) in that joint's frame: origin at the centre of the rectangle, axes of the base at neutral
    half: Array  # (2,) m, half lengths along x and y

    @property
    def corners(self) -> Array:
        """(4, 3) m, in the joint's frame, in order around the rectangle."""
        x, y = self.half
        flat = np.array([[x, y, 0], [-x, y, 0], [-x, -y, 0], [x, -y, 0]])
        return np.asarray(flat @ self.placement[:3, :3].T + self.placement[:3, 3])


def find_soles(robot: Robot, feet: Sequence[str] = ()) -> tuple[Sole, Sole]:
    """Return left and right sole (by y); ``feet``: links of the two, if the search does not find them."""
    import pinocchio as pin

    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, pin.neutral(robot.model))
    inner = set(robot.model.parents)
    bodies = [robot.body(name) for name in feet] or [
        b for b in robot.bodies if b.joint not in inner and len(robot.joints_above(b.joint)) >= LEG
    ]
    soles = [sole for b in bodies if (sole := _sole(b, data.oMi[b.joint].homogeneous)) is not None]
    soles.sort(key=lambda pair: pair[0])
    if len(soles) < 2 or soles[1][0] - soles[0][0] > LEVEL or len(feet) not in (0, 2):
        what = "are not found: no two legs of six joints end in shapes that reach equally low"
        fix = "Take a humanoid, or name the links of its two soles: feet=['LEFT', 'RIGHT']"
        raise UsageError(Finding("soles-missing", f"soles of {robot.name}", what, fix, {"feet": None}))
    pair = sorted((sole for _, sole in soles[:2]), key=lambda s: -(data.oMi[s.joint].act(s.placement[:3, 3]))[1])
    return pair[0], pair[1]


def _sole(body: Body, pose: Array) -> tuple[float, Sole] | None:
    """Height of the lowest point in the world, and the sole around it."""
    vertices = geometry.hull_of_links(body.parts)
    if vertices is None:  # no shapes: the body's box
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
