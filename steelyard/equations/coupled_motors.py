"""Motors that are coupled to more than one joint: their friction and rotor inertia, apart from those of the joints.

Behind a coupled transmission a motor's speed, referred to its own joint, is u = Σ r_k v_k. A law f on its shaft
takes the power u f = vᵀ(r f), so its generalised force on joint j is r_j f: one column that spans the rows of all
joints it is coupled to. A motor of one joint alone cannot be distinguished from that joint, and has no column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

PREFIX = "motor."  # of a term on the motor's side: motor.viscous, motor.coulomb, motor.armature
LAWS = ("viscous", "coulomb", "armature")  # an offset of the motor is a combination of the joints' offsets


@dataclass(frozen=True)
class Motor:
    """A coupled motor, named after the joint whose columns it has in a log."""

    joint: str
    ratios: Mapping[str, float]  # joint → r, its own joint's is 1

    def vector(self, joints: Sequence[str]) -> Array:
        """(J,) r in the order of these joints."""
        return np.array([self.ratios.get(joint, 0.0) for joint in joints])


def coupled(robot: Robot, log: Log) -> tuple[Motor, ...]:
    """Motors of a log that are coupled to more than one of the robot's moving joints."""
    transmission = log.metadata.get("transmission")
    if transmission is None:
        return ()
    motors = []
    for joint, row in zip(transmission["joints"], transmission["matrix"], strict=True):
        gears = dict(zip(transmission["joints"], row, strict=True))
        own = gears[joint] or max(row, key=abs)  # a motor named after a joint that it is not coupled to
        ratios = {j: gears[j] / own for j in robot.joints if gears.get(j)}
        if len(ratios) > 1 and joint in robot.description.joints:
            motors.append(Motor(joint, ratios))
    return tuple(motors)


def differing(robot: Robot, logs: Sequence[Log]) -> Iterator[Finding]:
    """Logs with another transmission than the first."""
    for log in logs[1:]:
        if coupled(robot, log) != coupled(robot, logs[0]):
            what = f"has another transmission than {logs[0].source}"
            yield Finding("logs-differ", f"{log.source}, transmission", what, "Read all logs with the same mapping")


def motor_terms(motors: Sequence[Motor], laws: Sequence[str]) -> list[tuple[str, str]]:
    """Columns of the motors for these laws, as (joint, term)."""
    return [(motor.joint, PREFIX + law) for motor in motors for law in LAWS if law in laws]
