"""Channels that stopped telling the truth: frozen, clipped, or repeated because samples were dropped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.errors import Finding
from steelyard.log import Log
from steelyard.robot import Robot

Array = np.ndarray

FROZEN_SECONDS = 0.3  # a channel that keeps one value for longer, while its joint moves, is frozen
MOVING = 0.05  # rad/s or m/s, mean speed over that stretch: slower than this a value may stand still
CLIPPED_SHARE, CLIPPED_RUN = 0.01, 5  # of the samples sit at the extreme value, so many or more in a row
REPEATED_SHARE = 0.2  # of the rows repeat the row before in every column


def signal_findings(robot: Robot, log: Log) -> list[Finding]:
    """Frozen, clipped and repeated channels."""
    return [*_repeated(log), *_frozen(robot, log), *_clipped(log)]


def _repeated(log: Log) -> Iterator[Finding]:
    table = np.column_stack(list(log.columns.values()))
    share = float(np.mean(np.all(table[1:] == table[:-1], axis=1)))
    moving = float(np.mean(np.ptp(table, axis=0) > 0))
    if share > REPEATED_SHARE and moving > 0:
        yield Finding(
            log.source,
            f"{100 * share:.0f} % of the rows repeat the row before: samples were dropped and the last one held",
            "Log at the rate of the sensors, or drop the repeated rows",
        )


def _frozen(robot: Robot, log: Log) -> Iterator[Finding]:
    for joint in robot.joints:
        q = log.columns[f"q.{joint}"]
        for kind in ("q", "tau", "current", "v"):
            values = log.columns.get(f"{kind}.{joint}")
            if values is None:
                continue
            start, stop = _longest_run(values[1:] == values[:-1])
            seconds = float(log.time[stop] - log.time[start])
            if seconds < FROZEN_SECONDS:
                continue
            if kind == "q":
                other = log.columns.get(f"v.{joint}")
                speed = 0.0 if other is None else float(np.mean(np.abs(other[start:stop])))
            else:
                speed = float(np.mean(np.abs(np.diff(q[start : stop + 1])))) * (stop - start) / max(seconds, 1e-12)
            if speed > MOVING:
                yield Finding(
                    f"{log.source}, {kind}.{joint}, rows {start} to {stop}",
                    f"keeps the value {values[start]:.6g} for {seconds:.2g} s while the joint moves at {speed:.2g}/s",
                    "Drop those rows, or the channel: it was frozen",
                )


def _clipped(log: Log) -> Iterator[Finding]:
    for name, values in log.columns.items():
        if not name.startswith(("tau.", "current.", "imu.", "wrench.", "sensor.")) or np.ptp(values) == 0:
            continue
        for word, extreme in (("most", values.max()), ("least", values.min())):
            at = values == extreme
            start, stop = _longest_run(at)
            if np.mean(at) > CLIPPED_SHARE and stop - start >= CLIPPED_RUN:
                yield Finding(
                    f"{log.source}, {name}",
                    f"sits at its {word} value {extreme:.6g} in {100 * np.mean(at):.1f} % of the samples: clipped",
                    "Record within the sensor's range, or drop the clipped stretches",
                )
                break


def _longest_run(flags: Array) -> tuple[int, int]:
    """First and one past last index of the longest run of True; (0, 0) where there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    starts, stops = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    k = int(np.argmax(stops - starts))
    return int(starts[k]), int(stops[k])
