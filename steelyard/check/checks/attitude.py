"""Orientation, gyro and accelerometer held against each other: quaternion order, gravity's sign, the sensor's frame.

The rate at which the quaternion turns is the gyro's reading, in the same axes. Where another reading of the quaternion,
or another mounting of the gyro, explains the turning and the given one does not, that is the fault.
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

TURNING = 0.05  # rad/s rms: slower turns tell nothing about the order of a quaternion
TURN_TIME = 0.02  # s, over which turns are compared, so that noise does not drown them
ROUND = 0.01  # least share of turning about the least turned axis that tells how a gyro is mounted
TELLING = 0.5  # a reading that explains the gyro must leave less than this share of it …
BETTER = 0.5  # … and less than this share of what the other reading leaves
FRAME = "Name the sensor's frame (metadata imu_frame), or turn the columns into base axes"
UPRIGHT = 45.0  # degrees: the mean proper acceleration of a robot on its feet is this close to up


def attitude_findings(robot: Robot, log: Log) -> list[Finding]:
    """What is wrong with the base's orientation and inertial sensor."""
    if not robot.floating:
        return []
    mount, turned = (imu_mount(robot, log, key)[:3, :3] for key in ("imu_frame", "quaternion_frame"))
    quaternion = log.vector("base.quaternion", "xyzw")
    gyro, acc = log.vector("imu.gyro"), log.vector("imu.acc")
    found: list[Finding] = []
    if quaternion is not None and gyro is not None:
        found += _turning(log, quaternion, gyro @ mount.T, turned)
    if acc is not None and not found:
        found += _gravity(log, quaternion, acc @ mount.T @ turned)
    return found


def _turning(log: Log, quaternion: Array, gyro: Array, turned: Array) -> Iterator[Finding]:
    """The quaternion's rate against the gyro's, in base axes; ``turned``: the quaternion's frame in the base."""
    step = max(1, round(TURN_TIME / float(np.median(np.diff(log.time)))))
    time = log.time[::step]
    known = np.array([np.mean(gyro[k : k + step + 1], axis=0) for k in range(0, (len(time) - 1) * step, step)])
    size = float(np.sqrt(np.mean(np.sum(known**2, axis=1))))
    if size < TURNING:
        return
    readings = {
        "xyzw": quaternion,
        "wxyz": quaternion[:, [1, 2, 3, 0]],  # the column called x holds w
        "conjugate": quaternion * [-1, -1, -1, 1],
    }
    rates = {name: _body_rate(q[::step], time) @ turned.T for name, q in readings.items()}
    left = {name: float(np.sqrt(np.mean(np.sum((rate - known) ** 2, axis=1))) / size) for name, rate in rates.items()}
    best = min(left, key=lambda name: left[name])
    limit = min(TELLING, BETTER * left["xyzw"])
    where = f"{log.source}, base.quaternion"
    unexplained = f"({100 * left[best]:.0f} % unexplained, {100 * left['xyzw']:.0f} % as given)"
    if best == "wxyz" and left[best] < limit:
        what = f"turns as the gyro says only if read as w, x, y, z {unexplained}"
        yield Finding("todo", where, what, "Rename the columns: the first is w")
    elif best == "conjugate" and left[best] < limit:
        what = f"turns against the gyro: it holds the world in the base, not the base in the world {unexplained}"
        yield Finding("todo", where, what, "Give the inverse rotation: negate x, y and z")
    else:
        yield from _mounting(log, rates["xyzw"], known, limit * size)


def _mounting(log: Log, rate: Array, gyro: Array, limit: float) -> Iterator[Finding]:
    """The rotation or reflection that takes the gyro to the quaternion's rate, where only that one explains it."""
    U, s, Vt = np.linalg.svd(rate.T @ gyro)
    axes = U @ Vt  # rate ≈ axes · gyro
    if s[2] < ROUND * s[0] or float(np.sqrt(np.mean(np.sum((rate - gyro @ axes.T) ** 2, axis=1)))) > limit:
        return  # turns about all axes are needed to tell
    where = f"{log.source}, imu.gyro"
    shown = ", ".join(f"{_axis(row)} for {name}" for name, row in zip("xyz", axes, strict=True))
    if np.linalg.det(axes) < 0:
        yield Finding(
            "todo", where, f"has an axis reversed: it turns as base.quaternion does with {shown}", "Negate that axis"
        )
        return
    angle = float(np.degrees(np.arccos(np.clip((np.trace(axes) - 1) / 2, -1, 1))))
    what = f"is turned by {angle:.0f}° against base.quaternion, as if its frame were another (it fits with {shown})"
    yield Finding("todo", where, what, FRAME)


def _axis(row: Array) -> str:
    """The axis that a row of a rotation mostly is."""
    k = int(np.argmax(np.abs(row)))
    return f"{'-' if row[k] < 0 else ''}{'xyz'[k]}"


def _body_rate(q: Array, time: Array) -> Array:
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


def _gravity(log: Log, quaternion: Array | None, acc: Array) -> Iterator[Finding]:
    """The mean of a proper acceleration, turned into the world, points up."""
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
        yield Finding("todo", where, what, "Give the proper acceleration, about +9.81 upwards at rest: negate it")
    elif angle > UPRIGHT:
        name = "xyz"[int(np.argmax(np.abs(mean)))] if quaternion is None else "across z"
        what = f"points {angle:.0f}° away from up in {frame} (mostly {name}): its axes are not the base's"
        yield Finding("todo", where, what, FRAME)


class Attitude(Check):
    """Orientation, gyro and accelerometer that contradict each other."""

    rank = 20

    def find(self, subject: Subject) -> list[Finding]:
        """What is wrong, and how to mend it."""
        return attitude_findings(subject.setup.robot, subject.log)
