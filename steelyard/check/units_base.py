"""Units of the base's columns: an accelerometer against gravity, a gyro against the orientation, a way against time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

DEGREES = 180 / np.pi
NEAR = 1.25  # two sizes are the same if neither is more than this times the other
WINDOW = 0.1  # s, over which a velocity is compared with the change of its position

AT_REST = (0.7, 1.4)  # the median size of a proper acceleration, in units of gravity, is well inside
GRAVITY_LEFT = 0.5  # … and below this share of it gravity was taken out
ACCELERATION_UNITS = (
    ("g", GRAVITY, f"multiply by {GRAVITY}"),
    ("milli-g", GRAVITY / 1e3, f"multiply by {GRAVITY / 1e3:.5g}"),
    ("mm/s²", 1e-3, "divide by 1000"),
)
ACCELERATION_MOST = 5.0  # in units of gravity: a larger median is in no unit that is known here
BASE_MOST = 5.0  # in units of gravity, rms: no base is accelerated that hard through a whole log
BASE_SLOW = 1e-3  # m/s rms: slower ways say nothing about units
TURNING = 0.02  # rad/s rms: slower turns say nothing about units
SPINNING = 20.0  # rad/s rms: no robot's base spins that fast through a whole log


def base_findings(log: Log, seconds: Array | None) -> Iterator[Finding]:
    """Columns of the base that are a factor off; ``seconds``: the log's time, where its unit is known."""
    yield from _inertial(log, seconds)
    yield from _motion(log, seconds)


def near(one: float, two: float) -> bool:
    """Whether two sizes are the same within a factor of NEAR."""
    return 1 / NEAR < one / two < NEAR


def _inertial(log: Log, seconds: Array | None) -> Iterator[Finding]:
    if (acc := log.vector("imu.acc")) is not None:
        yield from _acceleration(f"{log.source}, imu.acc", acc)
    turn = _turn_rate(log.vector("base.quaternion", "xyzw"), seconds)
    for name in ("imu.gyro", "base.angular_velocity"):
        if (gyro := log.vector(name)) is None:
            continue
        told = _rms(gyro)
        where = f"{log.source}, {name}"
        if turn is None:
            if told > SPINNING:
                what = f"turns at {told:.3g} rad/s (rms); {told:.3g} °/s would be {told / DEGREES:.3g}"
                yield Finding("todo", where, what, "Give rad/s: divide by 57.2958")
        elif turn > TURNING:
            for factor, unit in ((DEGREES, "°/s"), (1e3, "mrad/s")):
                if near(told / turn, factor):
                    what = f"turns {told / turn:.3g} times as fast as base.quaternion: {unit}"
                    yield Finding("todo", where, what, f"Give rad/s: divide by {factor:.6g}")


def _acceleration(where: str, acc: Array) -> Iterator[Finding]:
    size = float(np.median(np.linalg.norm(acc, axis=1)))
    steady = float(np.linalg.norm(np.mean(acc, axis=0)))  # gravity, as long as the base does not turn over
    low, high = AT_REST
    if low * GRAVITY < size < high * GRAVITY:
        return
    for unit, scale, fix in ACCELERATION_UNITS:
        if low < size * scale / GRAVITY < high and steady > GRAVITY_LEFT * size:
            yield Finding("todo", where, f"has a median size of {size:.4g}: {unit}", f"Give m/s²: {fix}")
            return
    if size < GRAVITY_LEFT * GRAVITY:
        what = f"has a median size of {size:.3g} m/s²: gravity was taken out"
        yield Finding("todo", where, what, "Give the proper acceleration, about 9.81 upwards at rest")
    elif size > ACCELERATION_MOST * GRAVITY:
        what = f"has a median size of {size:.4g}, {size / GRAVITY:.3g} times gravity"
        yield Finding("todo", where, what, "Give m/s², about 9.81 at rest")


def _motion(log: Log, seconds: Array | None) -> Iterator[Finding]:
    """Motion of the base: how hard it is accelerated, and its velocity against its way."""
    where, position = f"{log.source}, base", log.vector("base.position")
    velocity, acceleration = log.vector("base.velocity"), log.vector("base.acceleration")
    if acceleration is not None and (size := _rms(acceleration)) > BASE_MOST * GRAVITY:
        yield Finding("todo", f"{where}.acceleration", f"is {size:.3g} m/s² (rms): mm/s²", "Give m/s²: divide by 1000")
    if position is None or seconds is None:
        return
    step = max(WINDOW, float(np.median(np.diff(seconds))))
    grid = np.arange(seconds[0], seconds[-1], step)  # not by samples: stamps may come in bursts
    if len(grid) < 3:
        return
    rate = np.diff(np.column_stack([np.interp(grid, seconds, p) for p in position.T]), axis=0) / step
    if (size := _rms(np.diff(rate, axis=0) / step)) > BASE_MOST * GRAVITY:
        yield Finding(
            "todo", f"{where}.position", f"accelerates by {size:.3g} m/s² (rms): mm", "Give m: divide by 1000"
        )
    elif velocity is not None and _rms(rate) > BASE_SLOW and near(_rms(velocity) / _rms(rate), 1e3):
        what = f"is {_rms(velocity) / _rms(rate):.3g} times the rate of base.position: mm/s"
        yield Finding("todo", f"{where}.velocity", what, "Give m/s: divide by 1000")


def _rms(vectors: Array) -> float:
    """Root mean square of the lengths of vectors (T, 3)."""
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))


def _turn_rate(quaternion: Array | None, seconds: Array | None) -> float | None:
    """Root mean square of the angular velocity, rad/s."""
    if quaternion is None or seconds is None:
        return None
    unit = quaternion / np.maximum(np.linalg.norm(quaternion, axis=1, keepdims=True), 1e-12)
    # The chord between neighbours: exact where their dot product rounds to one.
    chord = np.minimum(np.linalg.norm(unit[1:] - unit[:-1], axis=1), np.linalg.norm(unit[1:] + unit[:-1], axis=1))
    rate = 4 * np.arcsin(np.minimum(chord / 2, 1)) / np.diff(seconds)
    return float(np.sqrt(np.mean(rate**2)))
