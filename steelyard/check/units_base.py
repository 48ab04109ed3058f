"""Units of the base's columns: accelerometer against gravity, gyro against orientation, velocity against position."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

DEGREES = 180 / np.pi
NEAR = 1.25  # ratio up to which two magnitudes count as equal
WINDOW = 0.1  # s, over which a velocity is compared with the change of its position

AT_REST = (0.7, 1.4)  # range of the median norm of proper acceleration, in g
GRAVITY_LEFT = 0.5  # median norm in g below which gravity has been removed
ACCELERATION_UNITS = (
    ("g", GRAVITY, f"Multiply by {GRAVITY}"),
    ("mg", GRAVITY / 1e3, f"Multiply by {GRAVITY / 1e3:.5g}"),
    ("mm/s^2", 1e-3, "Divide by 1000"),
)
ACCELERATION_MOST = 5.0  # g: a larger median norm is in an unknown unit
BASE_MOST = 5.0  # g rms: no base accelerates as much through a whole log
BASE_SLOW = 1e-3  # m/s rms: least speed for the unit of a velocity to be judged
TURNING = 0.02  # rad/s rms: least angular velocity for the unit of a gyro to be judged
SPINNING = 20.0  # rad/s rms: no base rotates as fast through a whole log


def base_findings(log: Log, seconds: Array | None) -> Iterator[Finding]:
    """Columns of the base in another unit; ``seconds``: the log's time, where its unit is known."""
    yield from _inertial(log, seconds)
    yield from _motion(log, seconds)


def near(one: float, two: float) -> bool:
    """Whether two magnitudes are equal within a factor of NEAR."""
    return 1 / NEAR < one / two < NEAR


def _inertial(log: Log, seconds: Array | None) -> Iterator[Finding]:
    if (acc := log.vector("imu.acc")) is not None:
        yield from _acceleration(f"{log.source}, imu.acc", acc)
    turn = _turn_rate(log.vector("base.quaternion", "xyzw"), seconds)
    for name in ("imu.gyro", "base.angular_velocity"):
        if (gyro := log.vector(name)) is None:
            continue
        rate = _rms(gyro)
        where = f"{log.source}, {name}"
        if turn is None:
            if rate > SPINNING:
                what = f"has an rms of {rate:.3g} rad/s; {rate:.3g} °/s are {rate / DEGREES:.3g} rad/s"
                remedy = {"column": name, "unit": "deg/s", "scale": 1 / DEGREES}
                yield Finding("column-unit", where, what, "Divide by 57.2958 for rad/s", remedy)
        elif turn > TURNING:
            for factor, unit in ((DEGREES, "deg/s"), (1e3, "mrad/s")):
                if near(rate / turn, factor):
                    what = f"is {rate / turn:.3g} times the rate of base.quaternion: {unit}"
                    remedy = {"column": name, "unit": unit, "scale": 1 / factor}
                    yield Finding("column-unit", where, what, f"Divide by {factor:.6g} for rad/s", remedy)


def _acceleration(where: str, acc: Array) -> Iterator[Finding]:
    size = float(np.median(np.linalg.norm(acc, axis=1)))
    steady = float(np.linalg.norm(np.mean(acc, axis=0)))  # gravity, as long as the base does not turn over
    low, high = AT_REST
    if low * GRAVITY < size < high * GRAVITY:
        return
    for unit, scale, fix in ACCELERATION_UNITS:
        if low < size * scale / GRAVITY < high and steady > GRAVITY_LEFT * size:
            remedy = {"column": "imu.acc", "unit": unit, "scale": scale}
            yield Finding("column-unit", where, f"has a median norm of {size:.4g}: {unit}", f"{fix} for m/s²", remedy)
            return
    if size < GRAVITY_LEFT * GRAVITY:
        what = f"has a median norm of {size:.3g} m/s²: gravity has been removed"
        yield Finding("gravity-removed", where, what, "Give the proper acceleration, about 9.81 m/s² upwards at rest")
    elif size > ACCELERATION_MOST * GRAVITY:
        what = f"has a median norm of {size:.4g}, {size / GRAVITY:.3g} times gravity"
        remedy = {"column": "imu.acc", "scale": None}
        yield Finding("column-unit", where, what, "Convert to m/s², about 9.81 at rest", remedy)


def _motion(log: Log, seconds: Array | None) -> Iterator[Finding]:
    """Magnitude of the base's acceleration, and its velocity against its position."""
    position = log.vector("base.position")
    velocity, acceleration = log.vector("base.velocity"), log.vector("base.acceleration")
    if acceleration is not None and (size := _rms(acceleration)) > BASE_MOST * GRAVITY:
        yield _millimetres(log, "base.acceleration", f"has an rms of {size:.3g} m/s²", "/s^2")
    if position is None or seconds is None:
        return
    step = max(WINDOW, float(np.median(np.diff(seconds))))
    grid = np.arange(seconds[0], seconds[-1], step)  # not by samples: time stamps may come in bursts
    if len(grid) < 3:
        return
    rate = np.diff(np.column_stack([np.interp(grid, seconds, p) for p in position.T]), axis=0) / step
    if (size := _rms(np.diff(rate, axis=0) / step)) > BASE_MOST * GRAVITY:
        yield _millimetres(log, "base.position", f"accelerates by {size:.3g} m/s² (rms)", "")
    elif velocity is not None and _rms(rate) > BASE_SLOW and near(_rms(velocity) / _rms(rate), 1e3):
        what = f"is {_rms(velocity) / _rms(rate):.3g} times the rate of base.position"
        yield _millimetres(log, "base.velocity", what, "/s")


def _millimetres(log: Log, column: str, what: str, per: str) -> Finding:
    remedy = {"column": column, "unit": f"mm{per}", "scale": 1e-3}
    return Finding("column-unit", f"{log.source}, {column}", f"{what}: mm{per}", f"Divide by 1000 for m{per}", remedy)


def _rms(vectors: Array) -> float:
    """Root mean square of the norms of vectors (T, 3)."""
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
