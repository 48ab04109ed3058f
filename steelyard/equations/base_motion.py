"""Motion of a floating base from an inertial sensor, its pose or its velocities, whichever was logged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.log import QUATERNION, Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import Array, rotation_from_quaternion, unwrap_quaternions


def base_pose(robot: Robot, log: Log, smooth) -> Array:  # type: ignore[no-untyped-def]
    """(T, 4, 4) filtered pose of the base in the world."""
    R, position = _orientation(log, smooth), log.vector("base.position")
    assert R is not None and position is not None
    pose = np.tile(np.eye(4), (len(R), 1, 1))
    pose[:, :3, :3] = R @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T
    pose[:, :3, 3] = smooth(position)
    return pose


def base_motion(robot: Robot, log: Log, rate: float, smooth, derivative, level: bool):  # type: ignore[no-untyped-def]
    """Angular velocity and acceleration, proper acceleration of the base origin, and the up direction, in base axes.

    ``level``: whether up is needed, where only gyro and accelerometer could give it.
    """
    R = _orientation(log, smooth)
    if R is not None:  # orientation of the IMU: from its axes to those of the base
        R = R @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T
    imu_gyro, imu_acc = log.vector("imu.gyro"), log.vector("imu.acc")
    mount = imu_mount(robot, log)
    if imu_gyro is not None:
        gyro = smooth(imu_gyro) @ mount[:3, :3].T
    elif (angular := log.vector("base.angular_velocity")) is not None:
        gyro = smooth(angular)
    elif R is not None:
        spin = np.stack([derivative(R[:, i, j]) for i in range(3) for j in range(3)], axis=1).reshape(R.shape)
        W = np.einsum("tki,tkj->tij", R, spin)  # RᵀṘ = [ω]×
        gyro = np.stack([W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]], axis=1) / 2
    else:
        raise LogError(
            Finding(
                "base-rotation-missing",
                log.source,
                "does not measure how the base rotates",
                "Add imu.gyro.x…z, base.angular_velocity.x…z or base.quaternion.x…w",
            )
        )
    measured = log.vector("base.angular_acceleration")
    alpha = smooth(measured) if measured is not None else np.column_stack([derivative(w) for w in gyro.T])
    against_gravity = None if R is None else R[:, 2, :]  # Rᵀ e_z
    if imu_acc is not None:
        acc = smooth(imu_acc) @ mount[:3, :3].T
        lever = np.broadcast_to(mount[:3, 3], acc.shape)
        acc = acc - np.cross(alpha, lever) - np.cross(gyro, np.cross(gyro, lever))
    elif against_gravity is not None and (linear := log.vector("base.acceleration")) is not None:
        acc = smooth(linear) + GRAVITY * against_gravity
    elif against_gravity is not None and (velocity := log.vector("base.velocity")) is not None:
        v = smooth(velocity)
        acc = np.column_stack([derivative(x) for x in v.T]) + np.cross(gyro, v) + GRAVITY * against_gravity
    elif R is not None and (position := log.vector("base.position")) is not None:
        world = np.column_stack([derivative(p, 2) for p in smooth(position).T])
        acc = np.einsum("tki,tk->ti", R, world + GRAVITY * np.array([0.0, 0.0, 1.0]))
    else:
        raise LogError(
            Finding(
                "base-acceleration-missing",
                log.source,
                "does not measure how the base accelerates",
                "Add imu.acc.x…z, or base.quaternion.x…w with base.acceleration, base.velocity or base.position",
            )
        )
    up = tilt_both_ways(gyro, acc, rate) if against_gravity is None and level else against_gravity
    return gyro, alpha, acc, up


def imu_mount(robot: Robot, log: Log, key: str = "imu_frame") -> Array:
    """(4, 4) pose in the base frame of the frame that the metadata name: of the IMU, or of the orientation."""
    name = log.metadata.get(key)
    if name is None:
        return np.eye(4)
    placement = robot.on_base(robot.frame(str(name)))
    if placement is None:
        raise LogError(
            Finding(
                "frame-not-on-base",
                f"{log.source}, {key}",
                f"{name!r} is not fixed to the base body",
                "Use an IMU that is mounted on the base",
            )
        )
    return placement


def _orientation(log: Log, smooth) -> Array | None:  # type: ignore[no-untyped-def]
    """(T, 3, 3) filtered rotation of the base in the world."""
    if not any(log.has(name) for name in QUATERNION):
        return None
    quaternion = log.vector("base.quaternion", "xyzw")
    assert quaternion is not None
    length = np.linalg.norm(quaternion, axis=1)
    if np.any(np.abs(length - 1) > 0.05):
        k = int(np.argmax(np.abs(length - 1)))
        raise LogError(
            Finding(
                "quaternion-not-unit",
                f"{log.source}, base.quaternion, row {k}",
                f"has norm {length[k]:.3g}",
                "Give unit quaternions",
            )
        )
    return rotation_from_quaternion(smooth(unwrap_quaternions(quaternion / length[:, None])))


def tilt_both_ways(gyro: Array, acc: Array, rate: float, seconds: float = 2.0) -> Array:
    """Up direction in base axes from gyro and accelerometer alone: a complementary filter run in both directions.

    Each pass starts where the other ended: a mean over the first second would mix axes of a base that rotates.
    """
    gain = 1 / (seconds * rate)
    step = np.cross(gyro[:, None, :], np.eye(3)).transpose(0, 2, 1) / rate  # step[k] u = ω × u / rate
    pull = gain * acc / GRAVITY

    def run(order: Sequence[int], sign: float, u: Array) -> Array:
        up = np.empty_like(acc)
        for k in order:
            u = (1 - gain) * (u - sign * step[k] @ u) + pull[k]
            u = u / np.sqrt(u @ u)
            up[k] = u
        return up

    onward, back = range(len(acc)), range(len(acc) - 1, -1, -1)
    backward = run(back, -1.0, np.mean(acc[-int(rate) :], axis=0) / GRAVITY)
    forward = run(onward, 1.0, backward[0])
    both = forward + run(back, -1.0, forward[-1])
    return np.asarray(both / np.linalg.norm(both, axis=1, keepdims=True))
