"""Force plates: fixed in the world, they measure the sum of all contact forces on them.

Which body a force acts on is unknown. The six equations of the base contain only the total wrench, so plates are used
there and in no others; the base's pose is needed to express the wrench in base axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding
from steelyard.log.log import QUATERNION, Log
from steelyard.spatial import XYZ, Array, placement, rotation_from_quaternion


@dataclass(frozen=True)
class Plate:
    """A force plate, expressed in the base frame."""

    pose: Array  # (T, 4, 4) of the plate in base axes
    wrench: Array  # (T, 6) of the plate on the robot, at its origin, in its axes; 0 for components not measured

    def part(self, keep: slice) -> Plate:
        """Return some of the samples."""
        return Plate(self.pose[keep], self.wrench[keep])

    def then(self, other: Plate) -> Plate:
        """Return these samples followed by another's."""
        return Plate(np.concatenate([self.pose, other.pose]), np.concatenate([self.wrench, other.wrench]))


def plate_pose(log: Log, name: str) -> Array:
    """Return the pose (4, 4) of a force plate in the world."""
    given = log.metadata["plates"][name]
    return placement(rotation_from_quaternion(given["quaternion"]), given["position"])


def plate_findings(log: Log) -> Iterator[Finding]:
    """Yield a finding for all that a log lacks for its plates to be used."""
    plates = log.names("plate")
    if not plates:
        return
    where = f"{log.source}, plate.{plates[0]}"
    for columns in (tuple(f"base.position.{c}" for c in XYZ), QUATERNION):
        if missing := [c for c in columns if not log.has(c)]:
            what = f"needs the base's pose, and the log has no {missing[0].rpartition('.')[0]}"
            yield Finding("base-pose-missing", where, what, f"Add {', '.join(missing)}", {"columns": missing})
    known = log.metadata.get("plates", {})
    for name in plates:
        if name not in known:
            fix = f'Add "plates": {{"{name}": {{"position": [x, y, z], "quaternion": [x, y, z, w]}}}} to the metadata'
            what = "has no pose in the metadata"
            yield Finding("plate-pose-missing", f"{log.source}, plate.{name}", what, fix)
