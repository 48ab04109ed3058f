"""Legs of three joints as their kinematics have them: a crouched posture, where the feet are, how joints move them.

Everything is found from the description by Pinocchio: no leg lengths, joint axes or knee directions are written
down here, so one controller serves all quadrupeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.equations.unknown_forces import Foot
from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.state import RobotState
from steelyard.robot.model import Robot

Array = np.ndarray

CROUCH = 0.72  # hips above the ground, of the legs' length
NEAR = 1e-10  # m, where a foot counts as reached
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Feet:
    """Where the feet are, and how they move, at one instant; world axes."""

    rotation: Array  # (3, 3) of the base
    centre: Array  # (F, 3) m, of the balls
    velocity: Array  # (F, 3) m/s, of the centres
    bias: Array  # (F, 3) m/s², of the centres while joints and base do not accelerate
    jacobian: Array  # (F, 3, 6 + J) of the centres
    contact: Array  # (F, 3, 6 + J) of the lowest points
    com: Array  # (3,) m, as described
    com_velocity: Array  # (3,) m/s


class Legs:
    """Four (or more) legs of a described robot. Velocities of the base in base axes, as Pinocchio has them."""

    def __init__(self, robot: Robot, feet: Sequence[Foot]) -> None:
        import pinocchio as pin

        self.robot, self.feet = robot, tuple(feet)
        chains = [[robot.joints.index(j) for j in reversed(robot.joints_above(f.frame.joint))] for f in feet]
        if len(feet) < 4 or any(len(c) != 3 for c in chains) or len({j for c in chains for j in c}) != 3 * len(feet):
            counts = ", ".join(f"{f.frame.name} {len(c)}" for f, c in zip(feet, chains, strict=True))
            raise UsageError(
                Finding(
                    f"legs of {robot.name}",
                    f"have joints: {counts}",
                    "Take a robot with four or more legs of three joints each, or name such feet",
                )
            )
        self.joints = np.array(chains)  # (F, 3) into robot.joints
        self.radius = np.array([f.radius for f in feet])
        self.model: Any = robot.model.copy()
        self.frames = [
            self.model.addFrame(
                pin.Frame(f"ball {k}", f.frame.joint, pin.SE3(np.eye(3), f.centre), pin.FrameType.OP_FRAME)
            )
            for k, f in enumerate(feet)
        ]
        self.data: Any = self.model.createData()
        self.mass = float(sum(b.parameters[0] for b in robot.bodies))
        self.hips, self.length = self._measure()

    def _measure(self) -> tuple[Array, float]:
        """(F, 3) where feet hang below the second joints, at no depth; and the legs' length, m."""
        import pinocchio as pin

        q = self.robot.positions(np.zeros((1, len(self.robot.joints))))[0]
        pin.forwardKinematics(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        hips, lengths = [], []
        for frame, chain in zip(self.frames, self.joints, strict=True):
            thigh, knee = (self.data.oMi[self.model.getJointId(self.robot.joints[j])].translation for j in chain[1:])
            ball = self.data.oMf[frame].translation
            hips.append([thigh[0], ball[1], thigh[2]])
            lengths.append(np.linalg.norm(knee[[0, 2]] - thigh[[0, 2]]) + np.linalg.norm(ball[[0, 2]] - knee[[0, 2]]))
        return np.array(hips), float(np.mean(lengths))

    @property
    def depth(self) -> float:
        """Of the balls' centres below the hips in the crouched posture, m."""
        return CROUCH * self.length

    @cached_property
    def home(self) -> Array:
        """(J,) crouched posture: every foot below its hip, knees behind where the limits let them."""
        described = [self.robot.description.joints[j] for j in self.robot.joints]
        q = np.clip(np.zeros(len(described)), [j.lower for j in described], [j.upper for j in described])
        for k, chain in enumerate(self.joints):
            target = self.hips[k] - self.depth * UP
            found = [
                s for a in (0.8, -0.8) for b in (1.6, -1.6) if (s := self._reach(k, target, (0.0, a, b))) is not None
            ]
            if not found:
                raise UsageError(
                    Finding(
                        f"leg {self.feet[k].frame.name} of {self.robot.name}",
                        "does not reach the ground below its hip within its limits",
                        "Take a robot with legs that bend under its trunk",
                    )
                )
            q[chain] = min(found, key=lambda s, k=k: self._knee(k, s))  # type: ignore[misc]
        return q

    def _knee(self, leg: int, angles: Array) -> float:
        """How far forward the knee is, m."""
        import pinocchio as pin

        q = np.zeros(len(self.robot.joints))
        q[self.joints[leg]] = angles
        pin.forwardKinematics(self.model, self.data, self.robot.positions(q[None])[0])
        knee = self.model.getJointId(self.robot.joints[self.joints[leg][2]])
        return round(float(self.data.oMi[knee].translation[0]), 6)

    def _reach(self, leg: int, target: Array, start: Sequence[float]) -> Array | None:
        """(3,) joint positions within limits that bring a ball to a place in the base frame, m; None if none do."""
        import pinocchio as pin

        q = np.zeros(len(self.robot.joints))
        chain = self.joints[leg]
        q[chain] = start
        for _ in range(60):
            full = self.robot.positions(q[None])[0]
            J = pin.computeFrameJacobian(self.model, self.data, full, self.frames[leg], pin.LOCAL_WORLD_ALIGNED)
            error = target - self.data.oMf[self.frames[leg]].translation
            if np.linalg.norm(error) < NEAR:
                break
            A = J[:3, 6 + chain]
            step = A.T @ np.linalg.solve(A @ A.T + 1e-9 * np.eye(3), error)
            q[chain] += step * min(1.0, 0.3 / max(np.abs(step).max(), 1e-12))
        limits = [self.robot.description.joints[self.robot.joints[j]] for j in chain]
        inside = all(j.lower <= x <= j.upper for j, x in zip(limits, q[chain], strict=True))
        q[chain] = (q[chain] + np.pi) % (2 * np.pi) - np.pi if not inside else q[chain]
        inside = all(j.lower <= x <= j.upper for j, x in zip(limits, q[chain], strict=True))
        return q[chain] if inside and np.linalg.norm(error) < NEAR else None

    def feet_at(self, state: RobotState) -> Feet:
        """Feet in the world at a state."""
        import pinocchio as pin

        model, data, v = self.model, self.data, state.motion
        pin.forwardKinematics(model, data, state.configuration, v, np.zeros_like(v))
        pin.computeJointJacobians(model, data)
        pin.updateFramePlacements(model, data)
        F = len(self.frames)
        centre, bias, J, Jc = np.empty((F, 3)), np.empty((F, 3)), np.empty((F, 3, len(v))), np.empty((F, 3, len(v)))
        aligned = pin.LOCAL_WORLD_ALIGNED
        for k, frame in enumerate(self.frames):
            both = pin.getFrameJacobian(model, data, frame, aligned)
            centre[k], J[k] = data.oMf[frame].translation, both[:3]
            bias[k] = pin.getFrameClassicalAcceleration(model, data, frame, aligned).linear
            Jc[k] = both[:3]
            Jc[k, 0] -= self.radius[k] * both[4]  # ω × (0, 0, −r)
            Jc[k, 1] += self.radius[k] * both[3]
        com = pin.centerOfMass(model, data, state.configuration, v, False).copy()
        return Feet(state.rotation, centre, J @ v, bias, J, Jc, com, data.vcom[0].copy())
