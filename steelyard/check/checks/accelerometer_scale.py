"""Scale of the accelerometer, by gravity: on the mean a robot is not accelerated.

The mean proper acceleration over a log, in world axes, is g upwards plus the change of velocity over the duration. A
robot on its feet changes its velocity by little, so that after some seconds the mean's length is g. A wrong scale, or a
bias, makes every force of the base wrong by as much.
"""

from __future__ import annotations

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.equations.base_motion import imu_mount
from steelyard.errors import Finding, Severity
from steelyard.log.log import QUATERNION, Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import rotation_from_quaternion

SPEED = 0.5  # m/s: least change of velocity between the ends of a log that is allowed for, else as much as it varies
UPRIGHT = 30.0  # degrees from upright that nine tenths of the samples are within
DOUBTED, WRONG = 0.02, 0.05  # of g beyond that: doubtful, and refused; accelerometers are within 1 %


class AccelerometerScale(Check):
    """An accelerometer whose mean is not gravity."""

    rank = 22
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        log = subject.log
        if not subject.setup.robot.floating or log.vector("imu.acc") is None:
            return []
        factor, excess = scale_of(subject.setup.robot, log)
        if excess <= DOUBTED:
            return []
        what = f"is {factor:.3f} times gravity on the mean of the log: a wrong scale, or a bias"
        remedy = {"column": "imu.acc", "scale": 1 / factor}
        severity: Severity = "error" if excess > WRONG else "doubt"
        fix = f"Divide it by {factor:.3f}, or calibrate it"
        return [Finding("accelerometer-scale", f"{log.source}, imu.acc", what, fix, remedy, severity)]


def scale_of(robot: Robot, log: Log) -> tuple[float, float]:
    """Length of the mean proper acceleration over g, and by how much it is further from 1 than motion explains.

    The excess is minus infinity where the base does not stay upright: such a robot is thrown or swung, not on its feet.
    """
    acc = log.vector("imu.acc")
    assert acc is not None
    if log.has(*QUATERNION):
        R_imu, R_quaternion = (imu_mount(robot, log, key)[:3, :3] for key in ("imu_frame", "quaternion_frame"))
        acc = acc @ R_imu.T @ R_quaternion  # in the axes whose orientation is logged
        R = rotation_from_quaternion(np.column_stack([log.columns[name] for name in QUATERNION]))
        acc, cosine = np.einsum("tij,tj->ti", R, acc), R[:, 2, 2]
    else:
        along = acc.mean(axis=0)
        cosine = acc @ along / np.maximum(np.linalg.norm(acc, axis=1) * np.linalg.norm(along), 1e-12)
    steps = np.gradient(log.time)[:, None]
    mean = (steps * acc).sum(axis=0) / steps.sum()
    factor = float(np.linalg.norm(mean)) / GRAVITY
    if np.percentile(np.degrees(np.arccos(np.clip(cosine, -1, 1))), 90) > UPRIGHT:
        return factor, -np.inf
    speed = max(SPEED, float(np.ptp(np.cumsum(steps * (acc - mean), axis=0), axis=0).max()))
    return factor, abs(factor - 1) - speed / (GRAVITY * float(steps.sum()))
