"""Faults of single channels: frozen for a while, constant throughout, clipped.

A position that is frozen is constant to the last bit between motions, begins and ends in a change of speed that the
joint never has elsewhere, or contradicts its velocity. A joint that stops slows down first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding
from steelyard.log.log import BASE_VECTORS, Log
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH, XYZ, Array

FROZEN_SECONDS, FROZEN_SAMPLES = 0.3, 10  # a channel constant for longer, while its joint moves, is frozen
FROZEN_MOTION, MOTION_SAMPLES = 0.05, 5  # s: a position that is frozen in motion for longer ruins its accelerations
TURNED = 0.05  # rad: a base that turns further has an orientation that changes
MOVING = 0.05  # rad/s or m/s: mean speed over that interval below which a value may be constant
ABRUPT = 2.0  # times the largest change of speed elsewhere, at either end of the interval
SPANS = (1, 3, 10)  # samples over which speeds are compared: short ones for fast motions, long ones for noise
LEVELS = 3.0  # of its resolution: a torque that resumes nearer to the value it had was not frozen
CLIPPED_SHARE, CLIPPED_RUN = 0.005, 5  # least share of samples at the extreme value, and least number in a row
EXACT, LEAST_EXACT = 0.02, 100  # of its spread: fourth differences that no sensor is without; samples needed
CLIPPED_TIMES = 3.0  # as often as the value next to it, which a coarse resolution reaches nearly as often


def _frozen(robot: Robot, log: Log, skipped: set[str]) -> Iterator[Finding]:
    """Channels of joints that are constant while the joint moves, other than at the clipping limit."""
    for joint in robot.joints:
        q, v = log.columns[f"q.{joint}"], log.columns.get(f"v.{joint}")
        for kind in ("q", "tau", "current", "v"):
            column = f"{kind}.{joint}"
            values = log.columns.get(column)
            if values is None or column in skipped:
                continue
            for start, stop in _still(log, values[1:] == values[:-1], position=kind == "q"):
                if kind != "q":
                    speed = _speed(log, q, start, stop) if _resumes_elsewhere(values, start, stop) else 0.0
                else:
                    long = log.time[stop] - log.time[start] >= FROZEN_SECONDS
                    speed = 0.0 if v is None or not long else float(np.mean(np.abs(v[start:stop])))
                    speed = speed if speed > MOVING else _speed_before_freezing(log, q, start, stop)
                if speed > MOVING:
                    moves = f"the joint moves at {speed:.2g}/s"
                    yield _frozen_finding(log, column, start, stop, f"at {values[start]:.6g}", moves)
                    break


def _vectors(log: Log) -> Iterator[tuple[str, Array]]:
    """Vectors of base, IMU, wrenches and sensors, (T, k) of the components that are logged."""
    vectors = [(name, XYZ) for name in BASE_VECTORS] + [("base.quaternion", tuple("xyzw"))]
    vectors += [(f"{kind}.{frame}", WRENCH) for kind in ("wrench", "sensor") for frame in log.names(kind)]
    for name, parts in vectors:
        if given := [log.columns[f"{name}.{c}"] for c in parts if log.has(f"{name}.{c}")]:
            yield name, np.column_stack(given)


def _frozen_vectors(robot: Robot, log: Log, skipped: set[str]) -> Iterator[Finding]:
    """Vectors of which all components are constant for a while, other than zero, as the joints move."""
    for name, values in _vectors(log):
        if name in skipped:
            continue
        for start, stop in _still(log, np.all(values[1:] == values[:-1], axis=1) & np.any(values[1:] != 0, axis=1)):
            fastest, speed = _fastest(robot, log, start, stop)
            if speed > MOVING and not (name.startswith(("base.", "imu.")) and _stands(log, name, start, stop)):
                moves = f"{fastest} moves at {speed:.2g}/s"
                yield _frozen_finding(log, name, start, stop, "in all components", moves)
                break


def _constant(robot: Robot, log: Log) -> Iterator[tuple[str, Finding]]:
    """Channels that are constant throughout the log, and the finding of each.

    A foot in the air measures no force, and a base that is held has no velocity: zeros of wrenches are none, and those
    of the base only where the inertial sensor or the orientation varies. A base that stands still has a constant
    orientation, and in an exact simulation constant readings of all its sensors.
    """
    fastest, speed = _fastest(robot, log, 0, len(log) - 1)
    if speed <= MOVING:
        return
    vectors = dict(_vectors(log))
    turns = any(
        bool(np.any(np.ptp(x, axis=0) > 0)) for name, x in vectors.items() if name.startswith(("base.", "imu."))
    )
    for name, values in vectors.items():
        if np.any(np.ptp(values, axis=0) > 0) or name in ("base.position", "base.velocity"):
            continue
        if name.startswith(("base.", "imu.")):
            wrong = turns and not _stands(log, name, 0, len(log))
        else:
            wrong = bool(np.any(values))
        if wrong:
            value = "(" + " ".join(f"{x:.4g}" for x in values[0]) + ")"
            yield name, _constant_finding(log, name, value, f"{fastest} moves at {speed:.2g}/s")
    for joint in robot.joints:
        moved = _speed(log, log.columns[f"q.{joint}"], 0, len(log) - 1)
        for column in (f"{kind}.{joint}" for kind in ("tau", "current", "v")):
            if log.has(column) and moved > MOVING and np.ptp(log.columns[column]) == 0:
                value = f"{log.columns[column][0]:.6g}"
                yield column, _constant_finding(log, column, value, f"the joint moves at {moved:.2g}/s")


def _stands(log: Log, name: str, start: int, stop: int) -> bool:
    """Whether a constant reading is that of a base that stands still: all others are constant, or it does not turn."""
    part = slice(start, stop + 1)
    others = [x[part] for other, x in _vectors(log) if other.startswith(("base.", "imu.")) and other != name]
    if not any(np.any(np.ptp(x, axis=0) > 0) for x in others) or all(map(_is_exact, others)):
        return True
    gyro = log.vector("imu.gyro")
    if name != "base.quaternion" or gyro is None:
        return False
    angle = np.cumsum((gyro - gyro.mean(axis=0))[part][1:] * np.diff(log.time[part])[:, None], axis=0)
    return not angle.size or bool(np.max(np.ptp(angle, axis=0)) < TURNED)


def _is_exact(values: Array) -> bool:
    """Whether a signal (T, k) has no noise at all: a simulation's, whose base need not turn."""
    rough = np.std(np.diff(values, 4, axis=0), axis=0)
    return len(values) > LEAST_EXACT and bool(np.all(rough <= EXACT * np.std(values, axis=0)))


def _constant_finding(log: Log, column: str, value: str, moves: str) -> Finding:
    what = f"is {value} throughout while {moves}: not measured"
    return Finding(
        "signal-constant",
        f"{log.source}, {column}",
        what,
        "Log the sensor's values, or drop the columns",
        {"column": column},
    )


def _fastest(robot: Robot, log: Log, start: int, stop: int) -> tuple[str, float]:
    speeds = {j: _speed(log, log.columns[f"q.{j}"], start, stop) for j in robot.joints}
    return max(speeds.items(), key=lambda item: item[1], default=("", 0.0))


def _frozen_finding(log: Log, column: str, start: int, stop: int, value: str, moves: str) -> Finding:
    where = f"{log.source}, {column}, rows {start} to {stop}"
    what = f"is constant {value} for {log.time[stop] - log.time[start]:.2g} s while {moves}: frozen"
    remedy = {"column": column, "drop_rows": [start, stop]}
    code = "position-frozen" if column.startswith("q.") else "channel-frozen"
    return Finding(code, where, what, "Drop those rows, or the channel", remedy)


def _still(log: Log, same: Array, *, position: bool = False) -> list[tuple[int, int]]:
    """First and last rows of the constant intervals that are as long as a frozen channel's, the longest first."""
    seconds, samples = (FROZEN_MOTION, MOTION_SAMPLES) if position else (FROZEN_SECONDS, FROZEN_SAMPLES)
    starts, stops = _runs(same)
    long = (stops - starts >= samples) & (log.time[stops] - log.time[starts] >= seconds)
    intervals = [(int(a), int(b)) for a, b in zip(starts[long], stops[long], strict=True)]
    return sorted(intervals, key=lambda interval: interval[0] - interval[1])


def _resumes_elsewhere(values: Array, start: int, stop: int) -> bool:
    """Whether a channel, after a constant interval, differs from it by more than its resolution shows."""
    steps = np.abs(np.diff(values))
    resolution = float(np.min(steps[steps > 0], initial=np.inf))
    ends = values[[k for k in (start - 1, stop + 1) if 0 <= k < len(values)]]
    away = float(np.max(np.abs(ends - values[start]), initial=0.0))
    return away > LEVELS * resolution or (stop == len(values) - 1 and bool(np.std(values) > LEVELS * resolution))


def _speed(log: Log, q: Array, start: int, stop: int) -> float:
    return float(np.sum(np.abs(np.diff(q[start : stop + 1]))) / (log.time[stop] - log.time[start]))


def _speed_before_freezing(log: Log, q: Array, start: int, stop: int) -> float:
    """Speed beside an interval in which a position is frozen in motion; 0 where the joint may have stopped.

    At either end the speed changes between zero and what it is beside the interval. Where the joint moves on both sides
    and that change is ABRUPT times larger than any elsewhere in the log, no motion explains it.
    """
    least = max(SPANS)
    if start < least or stop + least >= len(q):
        return 0.0
    step = float(np.median(np.diff(log.time)))
    before = abs(q[start] - q[start - least]) / (log.time[start] - log.time[start - least])
    after = abs(q[stop + least] - q[stop]) / (log.time[stop + least] - log.time[stop])
    if min(before, after) <= MOVING:
        return 0.0
    for span in SPANS:
        change = np.abs(q[2 * span :] - 2 * q[span:-span] + q[: -2 * span])  # of the distance in one span
        centre = np.arange(span, len(q) - span)
        away = (centre < start - span) | (centre > stop + span)
        usual = float(np.max(change[away], initial=0.0))
        own = max(abs(q[start] - q[start - span]), abs(q[stop + span] - q[stop]))
        if own > ABRUPT * usual and own > MOVING * span * step:
            return float(min(before, after))
    return 0.0


def _clipped(log: Log) -> Iterator[tuple[str, Finding]]:
    """Columns that stay at their extreme value, and the finding of each."""
    for name, values in log.columns.items():
        if not name.startswith(("tau.", "current.", "imu.", "wrench.", "sensor.")) or np.ptp(values) == 0:
            continue
        for word, extreme in (("largest", values.max()), ("smallest", values.min())):
            at = values == extreme
            start, stop = _longest_run(at)
            inner = values[~at]
            nearest = inner.max() if word == "largest" else inner.min()
            alone = np.sum(at) > CLIPPED_TIMES * np.sum(values == nearest)
            if extreme != 0 and alone and np.mean(at) > CLIPPED_SHARE and stop - start >= CLIPPED_RUN:
                what = f"is at its {word} value {extreme:.6g} in {100 * np.mean(at):.1f} % of the samples: clipped"
                fix = "Record within the sensor's range, or drop the clipped intervals"
                yield name, Finding("channel-clipped", f"{log.source}, {name}", what, fix)
                break


def _runs(flags: Array) -> tuple[Array, Array]:
    """First and one past last indices of the runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return edges[::2], edges[1::2]


def _longest_run(flags: Array) -> tuple[int, int]:
    """First and one past last index of the longest run of True; (0, 0) where there is none."""
    starts, stops = _runs(flags)
    if not len(starts):
        return 0, 0
    k = int(np.argmax(stops - starts))
    return int(starts[k]), int(stops[k])


class Signals(Check):
    """Channels that are frozen, constant or clipped."""

    rank = 10

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        robot, log = subject.setup.robot, subject.log
        constant, clipped = dict(_constant(robot, log)), dict(_clipped(log))
        skipped = constant.keys() | clipped.keys()
        frozen = (*_frozen(robot, log, skipped), *_frozen_vectors(robot, log, skipped))
        return [*constant.values(), *frozen, *clipped.values()]
