"""Measured rates against the derivatives of what they are the rates of, at any factor.

Over a window ∫ v dt = Δq, whatever the robot. A factor that all joints share is that of the clock: stamps at a wrong
rate. It is no delay, though a torque balance with wrong accelerations may look like one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from steelyard.check.checks.attitude import TURN_TIME, body_rate
from steelyard.check.subject import Check, Subject
from steelyard.check.units_base import WINDOW
from steelyard.equations.base_motion import imu_mount
from steelyard.errors import Finding, Severity
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

DOUBTED, WRONG = 0.05, 0.2  # relative difference; the drives of real arms agree to 0.1 %, those of real legs to 1.5 %
CORRELATION = 0.9  # least one for a factor; on real robots it is 0.999
SLOW = 0.02  # rad/s or m/s, rms: slower motions are not compared
SAME = 0.03  # relative spread of factors that are one


class Ratio(NamedTuple):
    """A rate in terms of the derivative, between the slopes of either regressed on the other."""

    factor: float
    correlation: float

    @property
    def contradiction(self) -> float:
        """Relative difference from one that noise of neither side explains."""
        if self.factor < 0:
            return np.inf
        low, high = self.factor * self.correlation, self.factor / self.correlation
        return max(low - 1, 1 / high - 1, 0.0)


class Velocities(Check):
    """Velocities, accelerations and gyro that are not the rates of position, velocity and orientation."""

    rank = 8

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        robot, log = subject.setup.robot, subject.log
        ratios = {column: (of, ratio) for column, of, ratio in _ratios(robot, log) if ratio is not None}
        wrong = {c: (of, r) for c, (of, r) in ratios.items() if r.contradiction > DOUBTED}
        clock = {c: r.factor for c, (_, r) in ratios.items() if not c.startswith("a.")}
        factor = float(np.median(list(clock.values()))) if clock else 1.0
        if len(clock) > 1 and wrong.keys() >= clock.keys() and all(abs(f / factor - 1) < SAME for f in clock.values()):
            contradiction = min(wrong[c][1].contradiction for c in clock)
            what = f"has a wrong rate: every velocity is {factor:.4g} times the rate of its position"
            fix = f"Divide the stamps by {factor:.4g}, or correct the unit of all velocities or positions"
            remedy = {"column": "time", "scale": 1 / factor}
            return [
                Finding("velocity-inconsistent", f"{log.source}, time", what, fix, remedy, _severity(contradiction))
            ]
        return [_finding(log, column, of, ratio) for column, (of, ratio) in wrong.items()]


def _severity(contradiction: float) -> Severity:
    return "error" if contradiction > WRONG else "doubt"


def _finding(log: Log, column: str, of: str, ratio: Ratio) -> Finding:
    where = f"{log.source}, {column}"
    if ratio.factor < 0:
        what = f"is {ratio.factor:.3g} times the rate of {of}: its sign is reversed"
        return Finding("sign-reversed", where, what, f"Negate {column}", {"negate": column})
    what = f"is {ratio.factor:.4g} times the rate of {of}"
    fix = f"Divide {column} by {ratio.factor:.4g}, or correct the rate of the stamps"
    remedy = {"column": column, "scale": 1 / ratio.factor}
    return Finding("velocity-inconsistent", where, what, fix, remedy, _severity(ratio.contradiction))


def _ratios(robot: Robot, log: Log) -> Iterator[tuple[str, str, Ratio | None]]:
    """Columns, what each is the rate of, and their ratio; None where it cannot be measured."""
    for joint in robot.joints:
        for low, high in ((f"q.{joint}", f"v.{joint}"), (f"v.{joint}", f"a.{joint}")):
            if log.has(low, high):
                yield high, low, _ratio(log.time, log.columns[low][:, None], log.columns[high][:, None])
    quaternion = log.vector("base.quaternion", "xyzw")
    if robot.floating and quaternion is not None and (gyro := log.vector("imu.gyro")) is not None:
        ratio = _turning(robot, log, quaternion, gyro)
        yield "imu.gyro", "base.quaternion", None if ratio is None or ratio.factor < 0 else ratio  # see attitude.py


def _ratio(time: Array, low: Array, high: Array) -> Ratio | None:
    """Of a rate (T, k) to the derivative of a quantity (T, k), by their changes over WINDOW seconds."""
    steps = np.diff(time)
    integral = np.vstack([np.zeros(low.shape[1]), np.cumsum(steps[:, None] * (high[1:] + high[:-1]) / 2, axis=0)])
    w = min(max(1, round(WINDOW / float(np.median(steps)))), len(low) // 2)
    span = (time[w:] - time[:-w])[:, None]
    return _compare((low[w:] - low[:-w]) / span, (integral[w:] - integral[:-w]) / span)


def _turning(robot: Robot, log: Log, quaternion: Array, gyro: Array) -> Ratio | None:
    R_imu, R_quaternion = (imu_mount(robot, log, key)[:3, :3] for key in ("imu_frame", "quaternion_frame"))
    step = max(1, round(TURN_TIME / float(np.median(np.diff(log.time)))))
    rate = body_rate(quaternion[::step], log.time[::step]) @ R_quaternion.T
    measured = np.array([np.mean(gyro[k * step : (k + 1) * step + 1], axis=0) for k in range(len(rate))])
    return _compare(rate, measured @ R_imu.T)


def _compare(derivative: Array, rate: Array) -> Ratio | None:
    x, y = derivative - derivative.mean(axis=0), rate - rate.mean(axis=0)
    xx, yy = float(np.sum(x * x)), float(np.sum(y * y))
    if xx < len(x) * SLOW**2 or yy == 0:
        return None
    correlation = float(np.sum(x * y)) / np.sqrt(xx * yy)
    if abs(correlation) < CORRELATION:
        return None
    return Ratio(float(np.sign(correlation) * np.sqrt(yy / xx)), correlation)
