"""Force plates: they stand in the world and feel all that stands on them.

What a plate feels pushes the robot somewhere, and nobody knows which body. The six equations of the base ask
only for the sum, so plates serve there and nowhere else; they need the base's pose to be seen from the base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding
from steelyard.log.log import QUATERNION, Log
from steelyard.spatial import Array, placement, rotation_from_quaternion


@dataclass(frozen=True)
class Plate:
    """A force plate that stands in the world, as the base sees it."""

    pose: Array  # (T, 4, 4) of the plate in base axes
    wrench: Array  # (T, 6) of the plate on the robot, at its origin, in its axes; 0 where not measured

    def part(self, keep: slice) -> Plate:
        """Some of the samples."""
        return Plate(self.pose[keep], self.wrench[keep])

    def then(self, other: Plate) -> Plate:
        """These samples and those that follow them."""
        return Plate(np.concatenate([self.pose, other.pose]), np.concatenate([self.wrench, other.wrench]))


def plate_pose(log: Log, name: str) -> Array:
    """(4, 4) pose of a force plate in the world."""
    given = log.metadata["plates"][name]
    return placement(rotation_from_quaternion(given["quaternion"]), given["position"])


def plate_findings(log: Log) -> Iterator[Finding]:
    """What is lacking for the plates of a log to be used."""
    plates = log.names("plate")
    if not plates:
        return
    where = f"{log.source}, plate.{plates[0]}"
    for vector, columns, fix in (
        ("base.position", ("base.position.x",), "Add base.position.x…z"),
        ("base.quaternion", QUATERNION, "Add base.quaternion.x…w"),
    ):
        if not log.has(*columns):
            yield Finding("todo", where, f"needs the base's pose, and the log has no {vector}", fix)
    known = log.metadata.get("plates", {})
    for name in plates:
        if name not in known:
            fix = f'Add "plates": {{"{name}": {{"position": [x, y, z], "quaternion": [x, y, z, w]}}}} to the metadata'
            yield Finding("todo", f"{log.source}, plate.{name}", "has no place in the world", fix)
