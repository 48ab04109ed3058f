"""Which postures a humanoid may take: nothing touches, motors hold it still, a lifted foot is off the ground."""

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

HOLD = 0.8  # of the greatest torque, that holding a posture may take
OVER = 0.04  # m, a lifted foot over the other


@dataclass(frozen=True, eq=False)
class Postures:
    """What is asked of single postures before a motion is made of them, and of motions before they are played."""

    stance: HumanoidStance
    collisions: Collisions

    @cached_property
    def _data(self) -> Any:
        return self.stance.robot.model.createData()

    def free(self, q: Array) -> bool:
        """Whether postures (B, J) can all be taken: motors hold them, and nothing touches."""
        stance, robot = self.stance, self.stance.robot
        full = robot.positions(q)
        for x in full:
            holding = pin.computeGeneralizedGravity(robot.model, self._data, x)[6:]
            if np.any(np.abs(holding[stance.upper]) > HOLD * stance.efforts[stance.upper]):
                return False
        return self.collisions.first(full) is None

    def lifted(self, q: Array, foot: int) -> bool:
        """Whether a foot is well above the other in a posture (J,), base upright."""
        robot = self.stance.robot
        pin.forwardKinematics(robot.model, self._data, robot.positions(q[None])[0])
        return self._lowest(foot) > self._lowest(1 - foot) + OVER

    def _lowest(self, foot: int) -> float:
        sole = self.stance.legs[foot].sole
        pose = self._data.oMi[sole.joint]
        return float((sole.corners @ pose.rotation[2] + pose.translation[2]).min())

    def blame(self, course: Trajectory) -> tuple[int, ...]:
        """Joints, into robot.joints, between two parts that touch in a motion; empty where none do."""
        robot = self.stance.robot
        knots = course.sampled(1 / STEP)
        speed = np.zeros((len(knots.time), robot.model.nq))
        speed[:, 7:] = knots.v
        contact = self.collisions.scan(knots.time, robot.positions(knots.q), speed)
        if contact is None:
            return ()
        chains = [set(robot.joints_above(robot.body(name).joint)) for name in (contact.first, contact.second)]
        return tuple(robot.joints.index(j) for j in chains[0] ^ chains[1])
