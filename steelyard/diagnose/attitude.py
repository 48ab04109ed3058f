"""Orientation, gyro and accelerometer held against each other: quaternion order, gravity's sign and frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.errors import Finding
from steelyard.log import Log
from steelyard.robot import Robot
from steelyard.samples import imu_mount

Array = np.ndarray

TURNING = 0.05  # rad/s rms: slower turns tell nothing about the order of a quaternion
TELLING = 0.5  # a reading that explains the gyro must leave less than this share of it …
BETTER = 0.5  # … and less than this share of what the other reading leaves
UPRIGHT = 45.0  # degrees: the mean proper acceleration of a robot on its feet is this close to up
LENGTH = 0.05  # a unit quaternion's length is this close to one


def attitude_findings(robot: Robot, log: Log) -> list[Finding]:
    """What is wrong with the base's orientation and inertial sensor."""
    if not robot.floating:
        return []
    mount = imu_mount(robot, log)[:3, :3]
    if "quaternion_frame" in log.metadata:  # orientation of the sensor itself: compare in its own axes
        mount = np.eye(3)
    quaternion = log.vector("base.quaternion", "xyzw")
    gyro, acc = log.vector("imu.gyro"), log.vector("imu.acc")
    found: list[Finding] = []
    if quaternion is not None:
        found += _length(log, quaternion)
        if gyro is not None:
            found += _order(log, quaternion, gyro @ mount.T)
    if acc is not None and not found:
        found += _gravity(log, quaternion, acc @ mount.T)
    return found


def _length(log: Log, quaternion: Array) -> Iterator[Finding]:
    length = np.linalg.norm(quaternion, axis=1)
    if np.max(np.abs(length - 1)) > LENGTH:
        k = int(np.argmax(np.abs(length - 1)))
        yield Finding(f"{log.source}, base.quaternion, row {k}", f"has length {length[k]:.3g}", "Give unit quaternions")


def _order(log: Log, quaternion: Array, gyro: Array) -> Iterator[Finding]:
    middle = (gyro[1:] + gyro[:-1]) / 2
    size = float(np.sqrt(np.mean(np.sum(middle**2, axis=1))))
    if size < TURNING:
        return
    step = max(
        1, round(0.02 / float(np.median(np.diff(log.time))))
    )  # over 20 ms, so that noise does not drown the turn
    readings = {
        "xyzw": quaternion,
        "wxyz": quaternion[:, [1, 2, 3, 0]],  # the column called x holds w
        "conjugate": quaternion * [-1, -1, -1, 1],
    }
    left = {}
    for name, q in readings.items():
        rate = _body_rate(q, log.time, step)
        known = np.array([np.mean(gyro[k : k + step + 1], axis=0) for k in range(0, len(rate) * step, step)])
        left[name] = float(np.sqrt(np.mean(np.sum((rate - known) ** 2, axis=1))) / size)
    best = min(left, key=lambda name: left[name])
    if best == "xyzw" or left[best] > TELLING or left[best] > BETTER * left["xyzw"]:
        return
    if best == "wxyz":
        yield Finding(
            f"{log.source}, base.quaternion",
            f"turns as the gyro says only if read as w, x, y, z ({100 * left[best]:.0f} % unexplained, "
            f"{100 * left['xyzw']:.0f} % as given)",
            "Rename the columns: the first is w",
        )
    else:
        yield Finding(
            f"{log.source}, base.quaternion",
            "turns against the gyro: it holds the world in the base, not the base in the world",
            "Give the inverse rotation: negate x, y and z",
        )


def _body_rate(q: Array, time: Array, step: int) -> Array:
    """Angular velocity in body axes over every ``step`` samples."""
    a, b = q[:-step:step], q[step::step]
    n = min(len(a), len(b))
    a, b, dt = a[:n], b[:n], (time[step::step] - time[:-step:step])[:n]
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
        yield Finding(where, f"points down in {frame} ({mean[2]:.3g} m/s² along z): the sign of gravity is reversed",
                      "Give the proper acceleration, about +9.81 upwards at rest: negate it")  # fmt: skip
    elif angle > UPRIGHT:
        name = "xyz"[int(np.argmax(np.abs(mean)))] if quaternion is None else "across z"
        what = f"points {angle:.0f}° away from up in {frame} (mostly {name}): its axes are not the base's"
        yield Finding(where, what, "Name the sensor's frame (metadata imu_frame), or turn the columns into base axes")
