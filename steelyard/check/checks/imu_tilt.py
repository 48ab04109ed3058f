"""Mounting of an IMU that is off by some degrees, by its accelerometer and its gyro against the orientation.

Averaged over a few seconds, the accelerometer in world axes points up: a base that stays near its place has no mean
acceleration. An IMU that is rotated by δ measures ``a − δ × a``, and ``ω − δ × ω``, so that both are linear in δ. An
orientation from the same tilted IMU agrees with it: then nothing is seen here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.check.checks.attitude import FRAME, MISALIGNED, TURN_TIME, body_rate
from steelyard.check.subject import Check, Subject
from steelyard.equations.base_motion import imu_mount
from steelyard.errors import Finding, Severity
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import Array, rotation_from_quaternion

TILT, TILT_WRONG = 2.5, 7.0  # degrees beyond the uncertainty: doubtful, and refused
CLEAR = 4.0  # standard deviations that are its uncertainty
LONGEST, SHORTEST = 4.0, 1.5  # s, of the windows over which accelerations average out
WINDOWS = 4  # at least, that overlap by half
SPEED = 1.0  # m/s: of a robot that walks in circles, whose centripetal acceleration does not average out
MOST = 1.5 * MISALIGNED  # degrees: beyond, the first order does not hold
SIGNAL = 0.05  # rad/s rms: slower rotation does not show the axes of a gyro


class ImuTilt(Check):
    """An accelerometer or gyro whose axes are some degrees away from those of the orientation."""

    rank = 22
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        robot, log = subject.setup.robot, subject.log
        quaternion = log.vector("base.quaternion", "xyzw")
        if not robot.floating or quaternion is None:
            return []
        return list(
            _judge(log, {"imu.acc": acc_tilt(robot, log, quaternion), "imu.gyro": gyro_tilt(robot, log, quaternion)})
        )


def _judge(log: Log, tilts: dict[str, tuple[float, float]]) -> Iterator[Finding]:
    wrong = {c: angle for c, (angle, error) in tilts.items() if angle - CLEAR * error > TILT and angle < MOST}
    if not wrong:
        return
    sure = max(angle - CLEAR * error for c, (angle, error) in tilts.items() if c in wrong)
    severity: Severity = "error" if sure > TILT_WRONG else "doubt"
    most = max(wrong.values())
    what = f"is rotated by {most:.1f}° relative to base.quaternion"
    where = f"{log.source}, {' and '.join(wrong)}"
    yield Finding("imu-tilted", where, what, FRAME, {"imu_frame": None, "degrees": most}, severity)


def acc_tilt(robot: Robot, log: Log, quaternion: Array) -> tuple[float, float]:
    """Angle in degrees between accelerometer and orientation about horizontal axes, and its standard deviation."""
    acc = log.vector("imu.acc")
    length = min(LONGEST, 2 * float(log.time[-1] - log.time[0]) / (WINDOWS + 1))
    if acc is None or length < SHORTEST:
        return 0.0, np.inf
    R = _axes(robot, log, quaternion)
    acc = acc @ imu_mount(robot, log)[:3, :3].T
    level = np.einsum("tij,tj->ti", R, acc)
    turned = R @ _cross(acc)  # a × δ in world axes: what a rotation by δ changes
    windows = list(_windows(log.time, length))
    if len(windows) < WINDOWS - 1:  # a gap
        return 0.0, np.inf
    up = np.array([0.0, 0.0, GRAVITY])
    y = np.array([np.einsum("t,ti->i", w, level[part]) - up for part, w in windows])
    A = np.array([np.einsum("t,tij->ij", w, turned[part]) for part, w in windows])
    spin = [
        abs(float(np.einsum("t,ti->i", w, np.einsum("tij,tj->ti", R[part], _gyro(robot, log)[part]))[2]))
        for part, w in windows
    ]
    circling = SPEED * float(np.median(spin)) / GRAVITY
    flat, rows = A[:, :2].reshape(-1, 3), y[:, :2].ravel()  # horizontal: the vertical one is the sensor's scale
    upright = np.median(R[:, 2, :], axis=0)
    across = np.linalg.svd(upright[None] / np.linalg.norm(upright))[2][1:]  # about the vertical nothing is seen
    flat = flat @ across.T
    inverse = np.linalg.pinv(flat.T @ flat)
    tilt = inverse @ (flat.T @ rows)
    rest = rows - flat @ tilt
    noise = 2 * float(rest @ rest) / max(len(rows) - 2, 1)  # windows overlap by half
    error = (noise * float(np.max(np.diag(inverse)))) ** 0.5
    angle = max(float(np.linalg.norm(tilt)) - circling, 0.0)
    return float(np.degrees(angle)), float(np.degrees(error))


def gyro_tilt(robot: Robot, log: Log, quaternion: Array) -> tuple[float, float]:
    """Angle in degrees between gyro and orientation, and its standard deviation."""
    if log.vector("imu.gyro") is None:
        return 0.0, np.inf
    step = max(1, round(TURN_TIME / float(np.median(np.diff(log.time)))))
    time, gyro = log.time[::step], _gyro(robot, log)
    measured = np.array([np.mean(gyro[k : k + step + 1], axis=0) for k in range(0, (len(time) - 1) * step, step)])
    rate = body_rate(quaternion[::step], time) @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T
    size = np.sqrt(np.mean(measured**2, axis=0))
    if np.sort(size)[1] < SIGNAL:  # two axes show a rotation about any third
        return 0.0, np.inf
    A, y = _cross(measured).reshape(-1, 3), (measured - rate).ravel()
    inverse = np.linalg.pinv(A.T @ A)
    tilt = inverse @ (A.T @ y)
    rest = y - A @ tilt
    lagged = max(
        1.0, 1 + 2 * sum(float(rest[3 * k :] @ rest[: -3 * k]) for k in range(1, 9)) / max(float(rest @ rest), 1e-300)
    )
    error = float(np.sqrt(lagged * float(rest @ rest) / max(len(y) - 3, 1) * np.max(np.diag(inverse))))
    return float(np.degrees(np.linalg.norm(tilt))), float(np.degrees(error))


def _axes(robot: Robot, log: Log, quaternion: Array) -> Array:
    """(T, 3, 3) axes of the base in the world."""
    return np.asarray(rotation_from_quaternion(quaternion) @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T)


def _cross(x: Array) -> Array:
    """(T, 3, 3) matrices [x]× with [x]× d = x × d."""
    return np.asarray(np.cross(x[:, None, :], np.eye(3)).transpose(0, 2, 1))


def _gyro(robot: Robot, log: Log) -> Array:
    gyro = log.vector("imu.gyro")
    return np.zeros((len(log), 3)) if gyro is None else np.asarray(gyro @ imu_mount(robot, log)[:3, :3].T)


def _windows(time: Array, length: float) -> Iterator[tuple[slice, Array]]:
    """Windows that overlap by half, and their weights, which sum to one and fade at both ends."""
    for start in np.arange(time[0], time[-1] - 0.99 * length, length / 2):
        first, last = np.searchsorted(time, [start, start + length])
        weight = np.hanning(last - first)
        if last - first > 8:
            yield slice(int(first), int(last)), weight / weight.sum()
