"""Standing on all feet while the trunk follows a motion: feedback on its pose, inverse dynamics, force distribution."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from steelyard.experiment.simulate.force_distribution import DesiredAccelerations, distribute, required, torques
from steelyard.experiment.simulate.legs import Legs
from steelyard.experiment.simulate.reference import Motion, still
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.spatial import Array

STIFF, DAMPED, INTEGRAL = 150.0, 25.0, 250.0  # 1/s², 1/s, 1/s³: stable with a load of 15 times the trunk's inertia
PINNED = 30.0  # 1/s, damping of feet that slide


class Stand:
    """Controller that keeps all feet in place and the trunk on ``motion`` about its first pose."""

    def __init__(self, legs: Legs, motion: Motion = still, *, period: float, start: float = 0.0) -> None:
        self.legs, self.motion, self.period, self.start = legs, motion, period, start
        self.missing = np.zeros(6)  # m/s² and rad/s², integrated feedback: errors of the description
        self.most = np.array([6.0, 6.0, 6.0, *[20.0 / legs.length] * 3])  # limits of ``missing``
        self.origin: Array | None = None

    def torque(self, state: RobotState) -> Array:
        """(J,) for the next control period."""
        feet = self.legs.feet_at(state)
        if self.origin is None:
            self.origin = np.array([*feet.centre[:, :2].mean(axis=0) - self.legs.hips[:, :2].mean(axis=0), 0.0])
            self.origin[2] = feet.centre[:, 2].mean() + self.legs.depth - self.legs.hips[:, 2].mean()
        sway = self.motion(state.time - self.start)
        R = pin.rpy.rpyToMatrix(sway.offset[3:])
        J = pin.rpy.computeRpyJacobian(sway.offset[3:], pin.LOCAL)
        dJ = pin.rpy.computeRpyJacobianTimeDerivative(sway.offset[3:], sway.rate[3:], pin.LOCAL)
        spin, turn = J @ sway.rate[3:], J @ sway.acceleration[3:] + dJ @ sway.rate[3:]
        off = self.origin + sway.offset[:3] - state.position
        tilt = pin.log3(state.rotation.T @ R)  # base axes
        self.missing += INTEGRAL * self.period * np.concatenate([off, tilt])
        self.missing = np.clip(self.missing, -self.most, self.most)
        linear = sway.acceleration[:3] + STIFF * off + DAMPED * (sway.rate[:3] - state.rotation @ state.velocity)
        angular = turn + STIFF * tilt + DAMPED * (spin - state.angular_velocity)
        wish = DesiredAccelerations(linear + self.missing[:3], angular + self.missing[3:], -PINNED * feet.velocity)
        needed = required(self.legs, state, feet, wish)
        ground = distribute(self.legs, feet, needed[:6], np.ones(len(self.legs.feet), bool))
        return torques(self.legs, feet, needed, ground)
