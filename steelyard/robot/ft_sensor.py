"""Force–torque sensors inside a robot: which weld each sits in, and what its reading says.

A sensor in a weld cuts a moving body in two. In the model the cut is a joint of six degrees of freedom that never
moves: its generalised force is the wrench that the part above puts on the part below, Y_S θ − Jᵀf with f what touches
below. A sensor tells the opposite wrench, and it has a constant offset:

    −Y_S θ + offset = reading − Jᵀf

in the sensor's own axes. *Below* is away from the root of the description: the foot, the tool, the whole of a robot
that stands on a sensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding, did_you_mean
from steelyard.robot.description import Description, Joint
from steelyard.spatial import WRENCH, Array

MOST_NAMES = 12  # of welds that a refusal lists


@dataclass(frozen=True)
class Sensor:
    """A force–torque sensor, in the cut that it makes."""

    name: str  # as the log has it: a fixed joint, a link or a site
    joint: int  # the cut in the Pinocchio model
    link: str  # root link of the part below; its frame is the cut's
    placement: Array  # (4, 4) of the sensor's axes in that frame
    components: tuple[str, ...]  # that are measured, of fx … mz

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
    """Where a sensor sits."""

    joint: Joint  # fixed or locked
    placement: Array  # (4, 4) of the sensor's axes in the frame of the joint's child


def find_weld(description: Description, moving: Sequence[str], name: str, where: str) -> Weld | Finding:
    """The weld of a sensor: a joint that does not move, or the one that holds a link or a site."""
    above = {joint.child: joint for joint in description.joints.values()}
    welds = {n: j for n, j in description.joints.items() if n not in moving}
    if name in welds:
        return Weld(welds[name], np.eye(4))
    fix = "The description has no fixed joint: add one there"
    if welds:
        more = " …" if len(welds) > MOST_NAMES else ""
        fix = f"Name the weld it sits in: {', '.join(list(welds)[:MOST_NAMES])}{more}"
    link, placement = description.frames.get(name, (name, np.eye(4)))
    if link in description.links:
        if link == description.root:
            return Finding("todo", where, f"{name!r} is on the root link, and nothing is above it", fix)
        if above[link].name in welds:
            return Weld(above[link], placement)
        return Finding(
            "todo", where, f"{name!r} hangs on {above[link].name}, which moves: a sensor sits in a weld", fix
        )
    if name in description.joints:
        return Finding("todo", where, f"{name!r} is a joint that moves: a sensor sits in a weld", fix)
    below = [joint.child for joint in welds.values()]
    sites = [site for site, (holder, _) in description.frames.items() if holder in below]
    fix = did_you_mean(name, [*welds, *below, *sites], fix, most=3)
    return Finding("todo", where, f"{name!r} is not in {description.name}", fix)
