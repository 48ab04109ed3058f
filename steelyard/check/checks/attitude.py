"""Consistency of orientation, gyro and accelerometer: quaternion order, sign of gravity, sensor frame.

The angular velocity of the quaternion equals the gyro's, in the same axes. Where another quaternion convention, or
another mounting of the gyro, explains the gyro's signal and the given one does not, that is the fault.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.equations.base_motion import imu_mount
from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

TURNING = 0.05  # rad/s rms: below this the order of a quaternion cannot be inferred
TURN_TIME = 0.02  # s: interval over which angular velocities are compared, long enough to suppress noise
LEAST_AXIS = 0.01  # smallest to largest singular value: rotation about all three axes is needed to infer a mounting
UNEXPLAINED = 0.5  # a convention that explains the gyro leaves a residual below this share of it …
BETTER = 0.5  # … and below this share of the given convention's residual
FRAME = "Give the sensor's frame in the metadata (imu_frame), or rotate the columns into base axes"
MISALIGNED = 20.0  # degrees: smaller rotations are those of a mounting (``imu_tilt.py``), not of other axes
UPRIGHT = 45.0  # degrees: largest angle between up and the mean proper acceleration of a robot on its feet


def attitude_findings(robot: Robot, log: Log) -> list[Finding]:
    """Contradictions between the base's orientation, gyro and accelerometer."""
    if not robot.floating:
        return []
    R_imu, R_quaternion = (imu_mount(robot, log, key)[:3, :3] for key in ("imu_frame", "quaternion_frame"))
    quaternion = log.vector("base.quaternion", "xyzw")
    gyro, acc = log.vector("imu.gyro"), log.vector("imu.acc")
    findings: list[Finding] = []
    if quaternion is not None and gyro is not None:
        findings += _compare_rates(log, quaternion, gyro @ R_imu.T, R_quaternion)
    if acc is not None and not findings:
        findings += _compare_gravity(log, quaternion, acc @ R_imu.T @ R_quaternion)
    return findings


def _compare_rates(log: Log, quaternion: Array, gyro: Array, R_quaternion: Array) -> Iterator[Finding]:
    """Compare the quaternion's angular velocity with the gyro's, in base axes."""
    step = max(1, round(TURN_TIME / float(np.median(np.diff(log.time)))))
    time = log.time[::step]
    measured = np.array([np.mean(gyro[k : k + step + 1], axis=0) for k in range(0, (len(time) - 1) * step, step)])
    size = float(np.sqrt(np.mean(np.sum(measured**2, axis=1))))
    if size < TURNING:
        return
    conventions = {
        "xyzw": quaternion,
        "wxyz": quaternion[:, [1, 2, 3, 0]],  # the column called x holds w
        "conjugate": quaternion * [-1, -1, -1, 1],
    }
    rates = {name: body_rate(q[::step], time) @ R_quaternion.T for name, q in conventions.items()}
    residual = {
        name: float(np.sqrt(np.mean(np.sum((rate - measured) ** 2, axis=1))) / size) for name, rate in rates.items()
    }
    best = min(residual, key=lambda name: residual[name])
    limit = min(UNEXPLAINED, BETTER * residual["xyzw"])
    where = f"{log.source}, base.quaternion"
    unexplained = f"({100 * residual[best]:.0f} % of the gyro unexplained, {100 * residual['xyzw']:.0f} % as given)"
    if best == "wxyz" and residual[best] < limit:
        what = f"agrees with the gyro only in the order w, x, y, z {unexplained}"
        remedy = {"column": "base.quaternion", "order": "wxyz"}
        yield Finding("quaternion-order", where, what, "Rename the columns: the first is w", remedy)
    elif best == "conjugate" and residual[best] < limit:
        what = f"is the inverse rotation, world in base instead of base in world {unexplained}"
        vector = [f"base.quaternion.{c}" for c in "xyz"]
        yield Finding("quaternion-inverse", where, what, "Negate x, y and z", {"negate": vector})
    else:
        yield from _compare_axes(log, rates["xyzw"], measured, limit * size)


def _compare_axes(log: Log, rate: Array, gyro: Array, limit: float) -> Iterator[Finding]:
    """Fit the rotation or reflection between gyro and quaternion rate (Procrustes); report it where it is needed."""
    U, s, Vt = np.linalg.svd(rate.T @ gyro)
    axes = U @ Vt  # rate ≈ axes · gyro
    if s[2] < LEAST_AXIS * s[0] or float(np.sqrt(np.mean(np.sum((rate - gyro @ axes.T) ** 2, axis=1)))) > limit:
        return
    where = f"{log.source}, imu.gyro"
    shown = ", ".join(f"{_axis(row)} for {name}" for name, row in zip("xyz", axes, strict=True))
    if np.linalg.det(axes) < 0:
        what = f"has an axis reversed: it agrees with base.quaternion with {shown}"
        negative = [f"imu.gyro.{c}" for c, row in zip("xyz", axes, strict=True) if _axis(row) == f"-{c}"]
        remedy = {"negate": negative[0]} if len(negative) == 1 else {}
        yield Finding("axis-reversed", where, what, "Negate that axis", remedy)
        return
    angle = float(np.degrees(np.arccos(np.clip((np.trace(axes) - 1) / 2, -1, 1))))
    if angle < MISALIGNED:
        return
    what = f"is rotated by {angle:.0f}° relative to base.quaternion (they agree with {shown})"
    yield Finding("sensor-frame", where, what, FRAME, {"imu_frame": None})


def _axis(row: Array) -> str:
    """The axis nearest to a row of a rotation, with its sign."""
    k = int(np.argmax(np.abs(row)))
    return f"{'-' if row[k] < 0 else ''}{'xyz'[k]}"


def body_rate(q: Array, time: Array) -> Array:
    """Angular velocity in body axes between neighbouring samples."""
    a, b, dt = q[:-1], q[1:], np.diff(time)
    av, aw, bv, bw = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    w = aw * bw + np.sum(av * bv, axis=1, keepdims=True)  # conj(a) ⊗ b
    v = aw * bv - bw * av - np.cross(av, bv)
    sign = np.where(w < 0, -1.0, 1.0)
    v, w = sign * v, sign * w
    length = np.linalg.norm(v, axis=1, keepdims=True)
    angle = 2 * np.arctan2(length, w)
    return np.asarray(np.where(length > 1e-12, v / np.maximum(length, 1e-12) * angle, 2 * v) / dt[:, None])


def _compare_gravity(log: Log, quaternion: Array | None, acc: Array) -> Iterator[Finding]:
    """The mean proper acceleration, rotated into the world, must point up."""
    if quaternion is None:
        mean, frame = np.mean(acc, axis=0), "the base"
    else:
        x, y, z, w = quaternion.T
        up = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1)  # Rᵀ e_z
        along = float(np.mean(np.sum(acc * up, axis=1)))
        across = float(np.linalg.norm(np.mean(acc - np.sum(acc * up, axis=1, keepdims=True) * up, axis=0)))
        mean, frame = np.array([across, 0.0, along]), "the world"
    angle = float(np.degrees(np.arccos(np.clip(mean[2] / max(float(np.linalg.norm(mean)), 1e-12), -1, 1))))
    where = f"{log.source}, imu.acc"
    if angle > 180 - UPRIGHT:
        what = f"points down in {frame} ({mean[2]:.3g} m/s² along z): the sign of gravity is reversed"
        fix = "Negate it: proper acceleration is about +9.81 m/s² upwards at rest"
        yield Finding("sign-reversed", where, what, fix, {"negate": "imu.acc"})
    elif angle > UPRIGHT:
        name = "xyz"[int(np.argmax(np.abs(mean)))] if quaternion is None else "across z"
        what = f"points {angle:.0f}° away from up in {frame} (mostly {name}): its axes are not the base's"
        yield Finding("sensor-frame", where, what, FRAME, {"imu_frame": None})


class Attitude(Check):
    """Orientation, gyro and accelerometer that contradict each other."""

    rank = 20

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        return attitude_findings(subject.setup.robot, subject.log)
