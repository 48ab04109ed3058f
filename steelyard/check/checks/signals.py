"""Faults of single channels: frozen, clipped, lost samples, samples held in place of lost ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding
from steelyard.log.log import BASE_VECTORS, Log
from steelyard.log.timing import gaps, log_rate
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH, XYZ, Array

FROZEN_SECONDS, FROZEN_SAMPLES = 0.3, 10  # a channel constant for longer, while its joint moves, is frozen
MOVING = 0.05  # rad/s or m/s: mean speed over that interval below which a value may be constant
JUMP = 0.5  # of the distance at that speed: least jump of a position at the end of a constant interval
CLIPPED_SHARE, CLIPPED_RUN = 0.005, 5  # least share of samples at the extreme value, and least number in a row
REPEATED_SHARE = 0.2  # of the rows are identical to the previous row in every column
MISSED = 1.6  # median steps: samples are missing in a longer step
PAUSE = 0.5  # s: a longer gap is a pause, not lost samples
LOST = 0.1  # share of samples lost above which the log is refused


@dataclass(frozen=True)
class Timing:
    """Sampling of a log."""

    samples: int
    duration: float  # s
    rate: float  # Hz, by the median step
    jitter: float  # s, standard deviation of the steps in which no sample is missing
    gaps: int  # at which the log is split
    widest: float  # s, the longest step
    dropped: int  # samples missing in gaps that are not pauses
    lost: float  # dropped as a share of all samples

    @classmethod
    def of(cls, log: Log) -> Timing:
        """Timing of a log."""
        steps = np.diff(log.time)
        usual = float(np.median(steps))
        long = (steps > MISSED * usual) & (steps < PAUSE)
        missing = float(np.sum(np.round(steps[long] / usual) - 1))
        short = float(np.sum(steps[steps < PAUSE])) / usual - float(np.sum(steps < PAUSE))
        dropped = int(max(0.0, min(missing, short)))  # a logger that catches up in a burst loses nothing
        even = steps[steps <= MISSED * usual]
        return cls(
            samples=len(log),
            duration=float(log.time[-1] - log.time[0]),
            rate=log_rate(log),
            jitter=float(np.std(even)),
            gaps=int(gaps(log).size),
            widest=float(steps.max()),
            dropped=dropped,
            lost=dropped / (len(log) + dropped),
        )

    def facts(self) -> dict[str, Any]:
        """As text."""
        dropped = f"{self.dropped} samples ({100 * self.lost:.2g} %), longest gap {self.widest:.3g} s"
        return {
            "log": f"{self.samples} samples, {self.duration:.2f} s at {self.rate:.1f} Hz",
            "jitter": f"{1e3 * self.jitter if self.jitter > 1e-9 else 0:.2g} ms",
            "gaps": self.gaps,
            **({"dropped": dropped} if self.dropped else {}),
        }


def _lost(log: Log) -> Iterator[Finding]:
    timing = Timing.of(log)
    if timing.lost > LOST:
        what = f"lacks {timing.dropped} samples ({100 * timing.lost:.0f} %), in gaps of up to {timing.widest:.2g} s"
        fix = "Record without loss, at a lower rate if necessary"
        yield Finding("samples-lost", f"{log.source}, time", what, fix)


def _repeated(log: Log) -> Iterator[Finding]:
    table = np.column_stack(list(log.columns.values()))
    share = float(np.mean(np.all(table[1:] == table[:-1], axis=1)))
    moving = float(np.mean(np.ptp(table, axis=0) > 0))
    if share > REPEATED_SHARE and moving > 0:
        what = f"{100 * share:.0f} % of the rows repeat the previous row: samples were lost and the last one held"
        fix = "Record at the rate of the sensors, or drop the repeated rows"
        yield Finding("samples-repeated", log.source, what, fix)


def _frozen(robot: Robot, log: Log, clipped: set[str]) -> Iterator[Finding]:
    """Channels of joints that are constant while the joint moves, other than at the clipping limit."""
    for joint in robot.joints:
        q, v = log.columns[f"q.{joint}"], log.columns.get(f"v.{joint}")
        for kind in ("q", "tau", "current", "v"):
            values = log.columns.get(f"{kind}.{joint}")
            interval = None if values is None else _still(log, values[1:] == values[:-1])
            if values is None or interval is None or f"{kind}.{joint}" in clipped:
                continue
            start, stop = interval
            if kind != "q":
                speed = _speed(log, q, start, stop)
            elif v is not None:
                speed = float(np.mean(np.abs(v[start:stop])))
            else:
                speed = _speed_before_a_jump(log, q, start, stop)
            if speed > MOVING:
                moves = f"the joint moves at {speed:.2g}/s"
                yield _frozen_finding(log, f"{kind}.{joint}", start, stop, f"at {values[start]:.6g}", moves)


def _frozen_vectors(robot: Robot, log: Log) -> Iterator[Finding]:
    """Vectors of which all components are constant while the joints move."""
    if not robot.joints:
        return
    vectors = [(name, XYZ) for name in BASE_VECTORS] + [("base.quaternion", tuple("xyzw"))]
    vectors += [(f"{kind}.{frame}", WRENCH) for kind in ("wrench", "sensor") for frame in log.names(kind)]
    for name, parts in vectors:
        given = [log.columns[f"{name}.{c}"] for c in parts if log.has(f"{name}.{c}")]
        values = np.column_stack(given) if given else np.zeros((len(log), 1))
        interval = _still(log, np.all(values[1:] == values[:-1], axis=1) & np.any(values[1:] != 0, axis=1))
        if interval is None:
            continue
        start, stop = interval
        fastest = max(robot.joints, key=lambda j: _speed(log, log.columns[f"q.{j}"], start, stop))
        speed = _speed(log, log.columns[f"q.{fastest}"], start, stop)
        if speed > MOVING:
            moves = f"{fastest} moves at {speed:.2g}/s"
            yield _frozen_finding(log, name, start, stop, "in all components", moves)


def _frozen_finding(log: Log, column: str, start: int, stop: int, value: str, moves: str) -> Finding:
    where = f"{log.source}, {column}, rows {start} to {stop}"
    what = f"is constant {value} for {log.time[stop] - log.time[start]:.2g} s while {moves}: frozen"
    remedy = {"column": column, "drop_rows": [start, stop]}
    return Finding("channel-frozen", where, what, "Drop those rows, or the channel", remedy)


def _still(log: Log, same: Array) -> tuple[int, int] | None:
    """First and last row of the longest constant interval; None where it is shorter than a frozen channel's."""
    start, stop = _longest_run(same)
    long = stop - start >= FROZEN_SAMPLES and log.time[stop] - log.time[start] >= FROZEN_SECONDS
    return (start, stop) if long else None


def _speed(log: Log, q: Array, start: int, stop: int) -> float:
    return float(np.sum(np.abs(np.diff(q[start : stop + 1]))) / (log.time[stop] - log.time[start]))


def _speed_before_a_jump(log: Log, q: Array, start: int, stop: int) -> float:
    """Speed before a constant interval of a position that ends in a jump of about the distance missed; else 0."""
    before = max(0, start - FROZEN_SAMPLES)
    if before == start or stop + 1 >= len(q):
        return 0.0
    speed = _speed(log, q, before, start)
    missed = speed * float(log.time[stop] - log.time[start])
    return speed if abs(q[stop + 1] - q[stop]) > JUMP * missed else 0.0


def _clipped(log: Log) -> Iterator[tuple[str, Finding]]:
    """Columns that stay at their extreme value, and the finding of each."""
    for name, values in log.columns.items():
        if not name.startswith(("tau.", "current.", "imu.", "wrench.", "sensor.")) or np.ptp(values) == 0:
            continue
        for word, extreme in (("largest", values.max()), ("smallest", values.min())):
            at = values == extreme
            start, stop = _longest_run(at)
            if extreme != 0 and np.mean(at) > CLIPPED_SHARE and stop - start >= CLIPPED_RUN:
                what = f"is at its {word} value {extreme:.6g} in {100 * np.mean(at):.1f} % of the samples: clipped"
                fix = "Record within the sensor's range, or drop the clipped intervals"
                yield name, Finding("channel-clipped", f"{log.source}, {name}", what, fix)
                break


def _longest_run(flags: Array) -> tuple[int, int]:
    """First and one past last index of the longest run of True; (0, 0) where there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    starts, stops = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    k = int(np.argmax(stops - starts))
    return int(starts[k]), int(stops[k])


class Signals(Check):
    """Channels that are frozen, clipped, lost or repeated."""

    rank = 10

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        robot, log = subject.setup.robot, subject.log
        clipped = dict(_clipped(log))
        frozen = (*_frozen(robot, log, set(clipped)), *_frozen_vectors(robot, log))
        return [*_lost(log), *_repeated(log), *frozen, *clipped.values()]
