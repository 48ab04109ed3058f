"""State of a simulated robot at one instant, in the conventions of logs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.spatial import Array, cross, rotation_from_unit


@dataclass(frozen=True)
class RobotState:
    """One instant: motion, and the acceleration under the torques and forces of that instant."""

    time: float  # s
    position: Array  # (3,) m, base origin in the world
    quaternion: Array  # (4,) x y z w, base in the world
    velocity: Array  # (3,) m/s, of the base origin, base axes
    angular_velocity: Array  # (3,) rad/s, base axes
    acceleration: Array  # (3,) m/s², of the base origin, base axes, gravity not included
    angular_acceleration: Array  # (3,) rad/s², base axes
    q: Array  # (J,) rad or m
    v: Array  # (J,)
    a: Array  # (J,)
    tau: Array  # (J,) N·m or N, of the motors

    @cached_property
    def rotation(self) -> Array:
        """(3, 3) base axes to world axes."""
        return rotation_from_unit(self.quaternion)

    @property
    def configuration(self) -> Array:
        """(7 + J,) in Pinocchio's order."""
        return np.concatenate([self.position, self.quaternion, self.q])

    @property
    def motion(self) -> Array:
        """(6 + J,) velocities in Pinocchio's order."""
        return np.concatenate([self.velocity, self.angular_velocity, self.v])

    @property
    def accelerations(self) -> Array:
        """(6 + J,) accelerations in Pinocchio's order: the base's is spatial, p̈ − ω × ṗ."""
        linear = self.acceleration - cross(self.angular_velocity, self.velocity)
        return np.concatenate([linear, self.angular_acceleration, self.a])


@dataclass(frozen=True)
class FootContact:
    """Force of the ground on one foot; all zero in the air."""

    force: Array  # (3,) N, of the ground on the robot, world axes
    point: Array  # (3,) m, centre of pressure, in the world
    moment: Array  # (3,) N·m about that point, world axes: friction of a sole
