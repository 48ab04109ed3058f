"""Kinematics of legs of three joints: a crouched posture, positions of the feet, and their Jacobians.

Everything is computed from the description by Pinocchio; there are no constants for leg lengths, joint axes or knee
directions, so one controller serves all quadrupeds. Feet are balls at the ends of legs, written as the option ``feet``
takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard.equations.unknown_forces import Foot, foot
from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.robot import geometry
from steelyard.robot.model import Body, Robot
from steelyard.spatial import Array

CROUCH = 0.72  # height of the hips above the ground over the length of the legs
NEAR = 1e-10  # m, tolerance of inverse kinematics
UP = np.array([0.0, 0.0, 1.0])
CALLED = ("foot", "toe", "contact")  # parts of the names of feet that are not balls


@dataclass(frozen=True)
class Feet:
    """Kinematics of the feet at one instant; world axes."""

    rotation: Array  # (3, 3) of the base
    centre: Array  # (F, 3) m, of the balls
    velocity: Array  # (F, 3) m/s, of the centres
    bias: Array  # (F, 3) m/s², J̇ v of the centres
    jacobian: Array  # (F, 3, 6 + J) Jacobians of the centres
    contact: Array  # (F, 3, 6 + J) Jacobians of the contact points
    com: Array  # (3,) m, as described
    com_velocity: Array  # (3,) m/s


class Legs:
    """Four (or more) legs of a described robot. Velocities of the base are in base axes, as in Pinocchio."""

    def __init__(self, robot: Robot, feet: Sequence[Foot]) -> None:
        self.robot, self.feet = robot, tuple(feet)
        chains = [[robot.joints.index(j) for j in reversed(robot.joints_above(f.frame.joint))] for f in feet]
        if len(feet) < 4 or any(len(c) != 3 for c in chains) or len({j for c in chains for j in c}) != 3 * len(feet):
            counts = ", ".join(f"{f.frame.name} {len(c)}" for f, c in zip(feet, chains, strict=True))
            raise UsageError(
                Finding(
                    "leg-unsuitable",
                    f"legs of {robot.name}",
                    f"have joints: {counts}",
                    "Take a robot with four or more legs of three joints each, or name such feet",
                    {"feet": None},
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
        """(F, 3) m, hips: above the feet, at the second joints; and the length of the legs, m."""
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
        """Depth of the balls' centres below the hips in the crouched posture, m."""
        return CROUCH * self.length

    @cached_property
    def home(self) -> Array:
        """(J,) crouched posture: every foot below its hip, knees backward where the limits allow it."""
        described = [self.robot.description.joints[j] for j in self.robot.joints]
        q = np.clip(np.zeros(len(described)), [j.lower for j in described], [j.upper for j in described])
        for k, chain in enumerate(self.joints):
            target = self.hips[k] - self.depth * UP
            solutions = [
                s for a in (0.8, -0.8) for b in (1.6, -1.6) if (s := self._reach(k, target, (0.0, a, b))) is not None
            ]
            if not solutions:
                raise UsageError(
                    Finding(
                        "posture-unreachable",
                        f"leg {self.feet[k].frame.name} of {self.robot.name}",
                        "does not reach the ground below its hip within its limits",
                        "Take a robot with legs that bend under its trunk",
                    )
                )
            q[chain] = min(solutions, key=lambda s, k=k: self._knee(k, s))  # type: ignore[misc]
        return q

    def _knee(self, leg: int, angles: Array) -> float:
        """x of the knee, m."""
        q = np.zeros(len(self.robot.joints))
        q[self.joints[leg]] = angles
        pin.forwardKinematics(self.model, self.data, self.robot.positions(q[None])[0])
        knee = self.model.getJointId(self.robot.joints[self.joints[leg][2]])
        return round(float(self.data.oMi[knee].translation[0]), 6)

    def _reach(self, leg: int, target: Array, start: Sequence[float]) -> Array | None:
        """(3,) joint positions that place a ball at a point (m) of the base frame; None if limits allow none."""
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
        """Kinematics of the feet in a state."""
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


def find_feet(robot: Robot) -> tuple[str, ...]:
    """Find the feet: ``FRAME`` or ``FRAME:point:RADIUS`` of each leg's end.

    A link at the end of a chain is a foot if it is a ball, or if its name contains one of ``CALLED``: then its radius
    is half the middle edge of the box around it.
    """
    inner = set(robot.model.parents)
    ends = [body for body in robot.bodies if body.joint not in inner and body.joint > 1]
    feet = [_foot(robot, body) for body in ends]
    return tuple(text for text in feet if text is not None)


def point_feet(robot: Robot, feet: Sequence[str]) -> tuple[Foot, ...]:
    """Parse the feet, default those of ``find_feet``; each must be a ball of some radius."""
    given = tuple(feet) or find_feet(robot)
    if not given:
        raise UsageError(
            Finding(
                "feet-missing",
                f"feet of {robot.name}",
                "are not found: no chain ends in a ball, or in a link called a foot",
                "Name them as FRAME:point:RADIUS",
                {"feet": None},
            )
        )
    parsed = tuple(foot(robot, text) for text in given)
    bad = [
        Finding(
            "foot-not-ball",
            f"feet={text}",
            "is not a ball, which simulated feet are",
            f"Give a radius: {f.frame.name}:point:0.02",
            {"feet": None},
        )
        for text, f in zip(given, parsed, strict=True)
        if f.surface or f.radius <= 0
    ]
    if bad:
        raise UsageError(bad)
    return parsed


def _foot(robot: Robot, body: Body) -> str | None:
    known = [link for link in body.links if not (f := foot(robot, link)).surface and f.radius > 0]
    if known:
        return max(known, key=lambda link: float(np.linalg.norm(foot(robot, link).centre)))
    for link in body.links:
        box = geometry.link_box(robot.description.links[link], np.eye(4))
        if box is not None and any(word in link.lower() for word in CALLED):
            return f"{link}:point:{np.median(box[1] - box[0]) / 2:.4f}"
    return None
