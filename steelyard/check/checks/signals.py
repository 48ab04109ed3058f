"""Channels that stopped telling the truth: frozen, clipped, or held because samples were dropped."""

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

FROZEN_SECONDS, FROZEN_SAMPLES = 0.3, 10  # a channel that keeps one value for longer, while its joint moves, is frozen
MOVING = 0.05  # rad/s or m/s, mean speed over that stretch: slower than this a value may stand still
JUMP = 0.5  # of the way at that speed: a position that stood still must have made good as much at once
CLIPPED_SHARE, CLIPPED_RUN = 0.005, 5  # of the samples sit at the extreme value, so many or more in a row
REPEATED_SHARE = 0.2  # of the rows repeat the row before in every column
MISSED = 1.6  # median steps: a longer step lacks samples
PAUSE = 0.5  # s: a longer hole is taken for a pause, not for samples that were lost
LOST = 0.1  # of the samples: more than this lost is a fault


@dataclass(frozen=True)
class Timing:
    """How evenly a log was sampled."""

    samples: int
    duration: float  # s
    rate: float  # Hz, by the median step
    jitter: float  # s, standard deviation of the steps that lack no sample
    gaps: int  # holes at which the log is split
    widest: float  # s, the longest step
    dropped: int  # samples missing in holes that are no pauses
    lost: float  # their share

    @classmethod
    def of(cls, log: Log) -> Timing:
        """Timing of a log."""
        steps = np.diff(log.time)
        usual = float(np.median(steps))
        long = (steps > MISSED * usual) & (steps < PAUSE)
        holes = float(np.sum(np.round(steps[long] / usual) - 1))
        short = float(np.sum(steps[steps < PAUSE])) / usual - float(np.sum(steps < PAUSE))
        dropped = int(max(0.0, min(holes, short)))  # a logger that catches up in a burst has lost nothing
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
        """For people."""
        dropped = f"{self.dropped} samples ({100 * self.lost:.2g} %), the widest hole {self.widest:.3g} s"
        return {
            "log": f"{self.samples} samples, {self.duration:.2f} s at {self.rate:.1f} Hz",
            "jitter": f"{1e3 * self.jitter if self.jitter > 1e-9 else 0:.2g} ms",
            "gaps": self.gaps,
            **({"dropped": dropped} if self.dropped else {}),
        }


def _lost(log: Log) -> Iterator[Finding]:
    timing = Timing.of(log)
    if timing.lost > LOST:
        what = f"lacks {timing.dropped} samples ({100 * timing.lost:.0f} %), in holes of up to {timing.widest:.2g} s"
        yield Finding("todo", f"{log.source}, time", what, "Log without loss, at a lower rate if need be")


def _repeated(log: Log) -> Iterator[Finding]:
    table = np.column_stack(list(log.columns.values()))
    share = float(np.mean(np.all(table[1:] == table[:-1], axis=1)))
    moving = float(np.mean(np.ptp(table, axis=0) > 0))
    if share > REPEATED_SHARE and moving > 0:
        what = f"{100 * share:.0f} % of the rows repeat the row before: samples were dropped and the last one held"
        yield Finding("todo", log.source, what, "Log at the rate of the sensors, or drop the repeated rows")


def _frozen(robot: Robot, log: Log, clipped: set[str]) -> Iterator[Finding]:
    """Channels of joints that keep a value; those that are ``clipped`` keep theirs for another reason."""
    for joint in robot.joints:
        q, v = log.columns[f"q.{joint}"], log.columns.get(f"v.{joint}")
        for kind in ("q", "tau", "current", "v"):
            values = log.columns.get(f"{kind}.{joint}")
            stretch = None if values is None else _still(log, values[1:] == values[:-1])
            if values is None or stretch is None or f"{kind}.{joint}" in clipped:
                continue
            start, stop = stretch
            if kind != "q":
                speed = _speed(log, q, start, stop)
            elif v is not None:
                speed = float(np.mean(np.abs(v[start:stop])))
            else:
                speed = _speed_before_a_jump(log, q, start, stop)
            if speed > MOVING:
                what = f"the value {values[start]:.6g}", f"the joint moves at {speed:.2g}/s"
                yield _finding(log, f"{kind}.{joint}", start, stop, *what)


def _frozen_vectors(robot: Robot, log: Log) -> Iterator[Finding]:
    """Sensors of several components that keep all of them, while the joints move."""
    if not robot.joints:
        return
    vectors = [(name, XYZ) for name in BASE_VECTORS] + [("base.quaternion", tuple("xyzw"))]
    vectors += [(f"{kind}.{frame}", WRENCH) for kind in ("wrench", "sensor") for frame in log.names(kind)]
    for name, parts in vectors:
        given = [log.columns[f"{name}.{c}"] for c in parts if log.has(f"{name}.{c}")]
        values = np.column_stack(given) if given else np.zeros((len(log), 1))
        stretch = _still(log, np.all(values[1:] == values[:-1], axis=1) & np.any(values[1:] != 0, axis=1))
        if stretch is None:
            continue
        start, stop = stretch
        fastest = max(robot.joints, key=lambda j: _speed(log, log.columns[f"q.{j}"], start, stop))
        speed = _speed(log, log.columns[f"q.{fastest}"], start, stop)
        if speed > MOVING:
            yield _finding(log, name, start, stop, "one value", f"{fastest} moves at {speed:.2g}/s")


def _finding(log: Log, column: str, start: int, stop: int, value: str, meanwhile: str) -> Finding:
    where = f"{log.source}, {column}, rows {start} to {stop}"
    what = f"keeps {value} for {log.time[stop] - log.time[start]:.2g} s while {meanwhile}"
    return Finding("todo", where, what, "Drop those rows, or the channel: it was frozen")


def _still(log: Log, same: Array) -> tuple[int, int] | None:
    """First and last row of the longest stretch that stands still, where it is long."""
    start, stop = _longest_run(same)
    long = stop - start >= FROZEN_SAMPLES and log.time[stop] - log.time[start] >= FROZEN_SECONDS
    return (start, stop) if long else None


def _speed(log: Log, q: Array, start: int, stop: int) -> float:
    return float(np.sum(np.abs(np.diff(q[start : stop + 1]))) / (log.time[stop] - log.time[start]))


def _speed_before_a_jump(log: Log, q: Array, start: int, stop: int) -> float:
    """Speed at which a position ran into its stillness, where it made the way good afterwards at once; else 0."""
    before = max(0, start - FROZEN_SAMPLES)
    if before == start or stop + 1 >= len(q):
        return 0.0
    speed = _speed(log, q, before, start)
    way = speed * float(log.time[stop] - log.time[start])
    return speed if abs(q[stop + 1] - q[stop]) > JUMP * way else 0.0


def _clipped(log: Log) -> Iterator[tuple[str, Finding]]:
    """Columns that sit at their extreme value, with what to say about them."""
    for name, values in log.columns.items():
        if not name.startswith(("tau.", "current.", "imu.", "wrench.", "sensor.")) or np.ptp(values) == 0:
            continue
        for word, extreme in (("largest", values.max()), ("smallest", values.min())):
            at = values == extreme
            start, stop = _longest_run(at)
            if extreme != 0 and np.mean(at) > CLIPPED_SHARE and stop - start >= CLIPPED_RUN:
                what = f"sits at its {word} value {extreme:.6g} in {100 * np.mean(at):.1f} % of the samples: clipped"
                fix = "Record within the sensor's range, or drop the clipped stretches"
                yield name, Finding("todo", f"{log.source}, {name}", what, fix)
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
    """Channels that froze, were clipped, lost or repeated."""

    rank = 10

    def find(self, subject: Subject) -> list[Finding]:
        """What is wrong, and how to mend it."""
        robot, log = subject.setup.robot, subject.log
        clipped = dict(_clipped(log))
        frozen = (*_frozen(robot, log, set(clipped)), *_frozen_vectors(robot, log))
        return [*_lost(log), *_repeated(log), *frozen, *clipped.values()]
