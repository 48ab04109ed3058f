"""Force–torque sensors inside a robot: the weld that each is in, and its measurement equation.

A sensor in a weld cuts a moving body in two. In the model the cut is a joint of six degrees of freedom that never
moves. Its generalised force is the wrench of the part above on the part below, Y_S θ − Jᵀf, with f the contact forces
below. A sensor measures the opposite wrench, with a constant offset:

    −Y_S θ + offset = reading − Jᵀf

in the sensor's own axes. *Below* is away from the root of the description: the foot, the tool, or the whole robot if it
stands on the sensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding, unknown_name
from steelyard.robot.description import Description, Joint
from steelyard.spatial import WRENCH, Array

MOST_NAMES = 12  # welds that a refusal lists


@dataclass(frozen=True)
class Sensor:
    """A force–torque sensor and its cut."""

    name: str  # in the log: of a fixed joint, a link or a site
    joint: int  # index of the cut in the Pinocchio model
    link: str  # root link of the part below; its frame is the cut's
    placement: Array  # (4, 4) of the sensor's axes in that frame
    components: tuple[str, ...]  # measured ones of fx … mz

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of its equations."""
        return tuple(f"{self.name}.{c}" for c in self.components)

    @property
    def motion(self) -> Array:
        """(6, k) G: with φ the wrench on the part below, about the cut's origin in its axes, the reading is Gᵀφ."""
        import pinocchio as pin

        at = [WRENCH.index(c) for c in self.components]
        return np.asarray(-pin.SE3(self.placement).toActionMatrix()[:, at])


@dataclass(frozen=True)
class Weld:
    """A joint without motion, and the pose of a sensor in it."""

    joint: Joint  # fixed or locked
    placement: Array  # (4, 4) of the sensor's axes in the frame of the joint's child


def find_weld(description: Description, moving: Sequence[str], name: str, where: str) -> Weld | Finding:
    """Return the weld of a sensor: the joint without motion of its name, or the one above its link or site."""
    above = {joint.child: joint for joint in description.joints.values()}
    welds = {n: j for n, j in description.joints.items() if n not in moving}
    if name in welds:
        return Weld(welds[name], np.eye(4))
    fix = "The description has no fixed joint: add one at the sensor"
    if welds:
        more = " …" if len(welds) > MOST_NAMES else ""
        fix = f"Name the fixed joint that it is in: {', '.join(list(welds)[:MOST_NAMES])}{more}"
    link, placement = description.frames.get(name, (name, np.eye(4)))
    if link in description.links:
        if link == description.root:
            return Finding("sensor-on-root", where, f"{name!r} is on the root link, which no joint is above", fix)
        if above[link].name in welds:
            return Weld(above[link], placement)
        what = f"the joint above {name!r}, {above[link].name}, moves: a sensor is in a fixed joint"
        return Finding("sensor-on-moving-joint", where, what, fix)
    if name in description.joints:
        what = f"the joint {name!r} moves: a sensor is in a fixed joint"
        return Finding("sensor-on-moving-joint", where, what, fix)
    below = [joint.child for joint in welds.values()]
    sites = [site for site, (holder, _) in description.frames.items() if holder in below]
    return unknown_name(where, f"{name!r} is not in {description.name}", name, [*welds, *below, *sites], fix, most=3)
