"""What a robot must be able to do to be calibrated: follow joint positions and return what it measured.

The procedures of this room know a robot only through :class:`Rig`. A simulated robot is one (``simulated.py``); a real
one needs a class of some thirty lines around its driver (``docs/calibrate.md`` has its skeleton). Joints go by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steelyard.experiment.simulate.reference import quintic
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array


class Rig(Protocol):
    """A quadruped on level ground, its joints under position control."""

    @property
    def robot(self) -> Robot:
        """The robot as described: the prior of the calibration."""

    @property
    def feet(self) -> tuple[str, ...]:
        """The frames of its four feet, as ``--feet`` takes them."""

    @property
    def posture(self) -> Mapping[str, float]:
        """Joint positions (rad) in which it stands on all four feet."""

    @property
    def rate(self) -> float:
        """Samples per second, of targets and of measurements."""

    def stand(self) -> None:
        """Stand on all four feet in ``posture``, whatever happened before; a person may have to help."""

    def follow(self, targets: Mapping[str, Array]) -> Log:
        """Track joint positions (T,), one a sample, and hold the last; a log of T rows: q, tau, imu.gyro, imu.acc."""


@dataclass(frozen=True)
class Reading:
    """Sensor readings of one instant, joints in the order of ``robot.joints``."""

    time: float  # s, since the run began
    q: Array  # (J,) rad
    v: Array  # (J,) rad/s
    gyro: Array  # (3,) rad/s, base axes
    acc: Array  # (3,) m/s², proper, base axes


@dataclass(frozen=True)
class JointCommand:
    """Set-points of the joints: positions, velocities, and a feed-forward torque that is added to the controllers'."""

    q: Array  # (J,) rad
    v: Array  # (J,) rad/s
    tau: Array  # (J,) N·m


class BalancingRig(Rig, Protocol):
    """A rig that can also run a controller in its loop; only balancing on two feet needs it."""

    def run(self, controller: Callable[[Reading], JointCommand | None], seconds: float) -> Log:
        """Call the controller once per sample until it returns None or time is over; a log of the measurements."""


def ramp(start: Array, end: Array, count: int) -> Array:
    """Interpolate (count, …) from start, excluded, to end; velocity and acceleration are zero at both."""
    s = quintic(np.arange(1, count + 1) / count)[0]
    return np.asarray(start + (end - start) * s.reshape(-1, *[1] * np.ndim(start)))
