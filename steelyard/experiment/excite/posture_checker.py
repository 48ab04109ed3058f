"""Checks of a humanoid's postures and trajectories: self-collision, holding torques, height of a lifted foot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.trajectory import STEP, Trajectory
from steelyard.spatial import Array

HOLD = 0.8  # largest holding torque, over the effort limit
OVER = 0.04  # m, least height of a lifted foot over the other


@dataclass(frozen=True, eq=False)
class PostureChecker:
    """Checks of single postures before a motion is built of them, and of trajectories before they are played."""

    stance: HumanoidStance
    collisions: Collisions

    @cached_property
    def _data(self) -> Any:
        return self.stance.robot.model.createData()

    def is_feasible(self, q: Array) -> bool:
        """Whether all postures (B, J) are within holding torques and free of self-collision."""
        stance, robot = self.stance, self.stance.robot
        full = robot.positions(q)
        for x in full:
            holding = pin.computeGeneralizedGravity(robot.model, self._data, x)[6:]
            if np.any(np.abs(holding[stance.upper]) > HOLD * stance.efforts[stance.upper]):
                return False
        return self.collisions.first_collision(full) is None

    def is_lifted(self, q: Array, foot: int) -> bool:
        """Whether a foot is ``OVER`` above the other in a posture (J,), base upright."""
        robot = self.stance.robot
        pin.forwardKinematics(robot.model, self._data, robot.positions(q[None])[0])
        return self._lowest(foot) > self._lowest(1 - foot) + OVER

    def _lowest(self, foot: int) -> float:
        sole = self.stance.legs[foot].sole
        pose = self._data.oMi[sole.joint]
        return float((sole.corners @ pose.rotation[2] + pose.translation[2]).min())

    def colliding_joints(self, trajectory: Trajectory) -> tuple[int, ...]:
        """Joints, as indices of robot.joints, between two links that collide in a motion; empty where none do."""
        robot = self.stance.robot
        knots = trajectory.sampled(1 / STEP)
        speed = np.zeros((len(knots.time), robot.model.nq))
        speed[:, 7:] = knots.v
        contact = self.collisions.find_contact(knots.time, robot.positions(knots.q), speed)
        if contact is None:
            return ()
        chains = [set(robot.joints_above(robot.body(name).joint)) for name in (contact.first, contact.second)]
        return tuple(robot.joints.index(j) for j in chains[0] ^ chains[1])
