"""Humanoids of the index, and simple motions for them: the base sways over two fixed soles while the arms swing."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from steelyard.errors import DescriptionError
from steelyard.experiment.simulate.reference_motion import with_soles
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import XYZ


@cache
def _load(name: str) -> Robot | str:
    try:
        return Robot.load(name)
    except DescriptionError as error:
        return str(error)


def humanoid(name: str) -> Robot:
    loaded = _load(name)
    if isinstance(loaded, str):
        pytest.skip(loaded)
    return loaded


class Stance:
    """Both soles flat on the ground, the base above them wherever it is asked to be."""

    def __init__(self, robot: Robot, knee: float = 0.5) -> None:
        self.robot, self.soles = robot, find_soles(robot)
        self.model, self.frames = with_soles(robot, self.soles)
        self.data = self.model.createData()
        limits = [robot.description.joints[j] for j in robot.joints]
        q = np.array([np.clip(0.0, j.lower + 0.1, j.upper - 0.1) for j in limits])
        ids = {str(n): i for i, n in enumerate(self.model.names)}
        self.legs = [
            np.array([self.model.joints[ids[j]].idx_v for j in robot.joints_above(s.joint)]) for s in self.soles
        ]
        self.arms = [i for i in range(len(q)) if not any(i + 6 in leg for leg in self.legs)]
        # bend the knees: the joint of a leg that is amid it and turns about y
        for leg in self.legs:
            names = [robot.joints[i - 6] for i in leg]
            for j in names:
                if "knee" in j or j.endswith("_4_joint"):
                    q[robot.joints.index(j)] = knee
        self.q = np.concatenate([[0, 0, 0, 0, 0, 0, 1], q])
        pin.framesForwardKinematics(self.model, self.data, pin.neutral(self.model))
        self.targets = []
        middle = np.mean([self.data.oMf[f].translation for f in self.frames], axis=0)
        for f in self.frames:
            t = self.data.oMf[f].translation - [middle[0], 0, 0]
            self.targets.append(pin.SE3(np.eye(3), np.array([t[0], t[1], 0.0])))
        self.height = -middle[2] - 0.04 * (-middle[2])
        self.q[2] = self.height
        for _ in range(20):  # the centre of mass over the middle of both soles
            self.q = self.solve(self.q)
            com = pin.centerOfMass(self.model, self.data, self.q)
            self.q[:2] -= com[:2]
        self.q = self.solve(self.q)

    def solve(self, q: np.ndarray) -> np.ndarray:
        """Leg joints such that the soles are where they belong, base and arms as they are."""
        q = q.copy()
        for _ in range(100):
            pin.computeJointJacobians(self.model, self.data, q)
            pin.updateFramePlacements(self.model, self.data)
            worst = 0.0
            for f, leg, goal in zip(self.frames, self.legs, self.targets, strict=True):
                e = pin.log6(self.data.oMf[f].inverse() * goal).vector
                J = pin.getFrameJacobian(self.model, self.data, f, pin.LOCAL)[:, leg]
                step = np.linalg.lstsq(J, e, rcond=1e-6)[0]
                q[leg + 1] += np.clip(step, -0.3, 0.3)
                worst = max(worst, np.abs(e).max())
            if worst < 1e-13:
                break
        assert worst < 1e-10
        return q

    def motion(
        self, seconds: float = 4.0, *, sway: float = 0.03, squat: float = 0.04, arms: float = 0.4, seed: int = 0
    ) -> Log:
        """Sways, squats and swings, from rest to rest."""
        rng, rate = np.random.default_rng(seed), 200
        t = np.arange(round(seconds * rate) + 1) / rate
        # rest at both ends: s(t) a smooth window
        u = np.clip(np.minimum(t, seconds - t) / 1.0, 0, 1)
        window = u**3 * (10 - 15 * u + 6 * u * u)
        q = np.tile(self.q, (len(t), 1))
        q[:, 0] += window * sway * 0.5 * np.sin(2 * np.pi * 0.7 * t)
        q[:, 1] += window * sway * np.sin(2 * np.pi * 0.5 * t + 1.0)
        q[:, 2] -= window * squat * (1 - np.cos(2 * np.pi * 0.6 * t)) / 2
        names = self.robot.joints
        for i in self.arms:
            joint = self.robot.description.joints[names[i]]
            room = min(self.q[7 + i] - joint.lower, joint.upper - self.q[7 + i])
            q[:, 7 + i] += (
                window
                * min(arms, 0.8 * room)
                * rng.uniform(0.3, 1)
                * np.sin(2 * np.pi * rng.uniform(0.4, 1.0) * t + rng.uniform(0, 6))
            )
        planned = q[:, :2] - self.q[:2]
        for k in range(1, len(t)):  # legs start from the instant before
            for leg in self.legs:
                q[k, leg + 1] = q[k - 1, leg + 1]
            for _ in range(6):  # it is the centre of mass that sways
                q[k] = self.solve(q[k])
                off = planned[k] - pin.centerOfMass(self.model, self.data, q[k])[:2]
                q[k, :2] += off
            q[k] = self.solve(q[k])
        return as_motion(self.robot, t, q, {s.name: np.ones(len(t)) for s in self.soles})


def as_motion(robot: Robot, t: np.ndarray, q: np.ndarray, contact: dict[str, np.ndarray]) -> Log:
    """Positions over time (T, 7 + J), base turned not at all, as a motion with its derivatives."""
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(t, np.delete(q, [3, 4, 5, 6], axis=1), k=5)
    v, a = spline(t, 1), spline(t, 2)
    columns: dict[str, np.ndarray] = {"time": t}
    for i, c in enumerate(XYZ):
        columns[f"base.position.{c}"], columns[f"base.velocity.{c}"] = q[:, i], v[:, i]
        columns[f"base.acceleration.{c}"] = a[:, i]
        columns[f"base.angular_velocity.{c}"] = columns[f"base.angular_acceleration.{c}"] = np.zeros(len(t))
    for i, c in enumerate("xyzw"):
        columns[f"base.quaternion.{c}"] = q[:, 3 + i]
    for i, j in enumerate(robot.joints):
        columns[f"q.{j}"], columns[f"v.{j}"], columns[f"a.{j}"] = q[:, 7 + i], v[:, 3 + i], a[:, 3 + i]
    columns |= {f"contact.{name}": flags for name, flags in contact.items()}
    return Log.from_columns(columns, {"motion": {"kind": "double"}}, "sway")
