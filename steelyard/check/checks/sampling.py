"""Faults of the sampling: lost samples, repeated rows, wrong stamps.

Samples that are lost leave a grid of stamps with holes. Rows that are repeated hold an old value at a new stamp. A
stamp that is wrong among regular ones, or every stamp that is off by a little, makes speeds that the robot never had.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding, Severity
from steelyard.log.log import Log
from steelyard.log.timing import GAP, gaps, log_rate
from steelyard.robot.model import Robot
from steelyard.spatial import Array

MISSED = 1.6  # regular steps: samples are missing in a longer step
PAUSE = 0.5  # s: a longer gap is a pause, not lost samples
LOST = 0.2  # share of samples lost from which the log is doubtful
ON_GRID, OFF_GRID = 0.9, 0.1  # share of steps that are multiples of one step, within so much of it: a grid with holes
HOLES = 6.0  # regular steps in the median one, at most: shorter steps are bursts of a logger that catches up
REPEATED, REPEATED_MOST = 0.005, 0.1  # share of rows that repeat the previous one: doubtful, and refused
MOVING, AROUND = 0.05, 0.05  # rad/s or m/s within s on either side: of a joint that moves through a repeated row
DISPLACED = 0.25  # of the step: a stamp further from the middle of its neighbours is wrong …
OUTLYING = 10.0  # … where that is as many times the median of all stamps
FEW = 0.002  # share of stamps: more are the logger's jitter, not outliers
JITTER, JITTER_MOST = 4e-4, 3e-3  # s rms of the stamps' hidden errors: doubtful, and refused
CLEAR = 4.0  # standard errors that the hidden errors must exceed
SAMPLES = 20_000  # of a log that are examined for hidden errors of the stamps


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
        usual = _grid(steps)
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


def _grid(steps: Array) -> float:
    """The regular step of the stamps, s: of a grid with many holes, of which the median step is a multiple."""
    usual = float(np.median(steps))
    short = steps[steps < PAUSE]
    step = float(np.percentile(short, 5)) if short.size else usual
    for _ in range(3):
        count = np.maximum(np.round(short / max(step, 1e-12)), 1)
        step = float(np.median(short / count))
    on_grid = np.mean(np.abs(short / step - np.round(short / step)) < OFF_GRID) if step > 0 else 0.0
    return step if usual / HOLES < step < usual / MISSED and on_grid > ON_GRID else usual


def _lost(log: Log) -> Iterator[Finding]:
    timing = Timing.of(log)
    if timing.lost > LOST:
        what = f"lacks {timing.dropped} samples ({100 * timing.lost:.0f} %), in gaps of up to {timing.widest:.2g} s"
        fix = "Record without loss, at a lower rate if necessary"
        yield Finding("samples-lost", f"{log.source}, time", what, fix, {"lost": timing.lost}, "doubt")


def _repeated(robot: Robot, log: Log) -> Iterator[Finding]:
    """Rows that repeat the previous one in every column while a joint moves before and after."""
    table = np.column_stack(list(log.columns.values()))
    rows = np.flatnonzero(np.all(table[1:] == table[:-1], axis=1)) + 1
    if not rows.size or not robot.joints:
        return
    q = np.column_stack([log.columns[f"q.{j}"] for j in robot.joints])
    w = max(2, round(AROUND / float(np.median(np.diff(log.time)))))
    before, after = np.maximum(rows - 1 - w, 0), np.minimum(rows + w, len(log) - 1)
    ends = ((before, np.maximum(rows - 1, 1)), (np.minimum(rows, len(log) - 2), after))
    speeds = [np.abs(q[b] - q[a]).max(axis=1) / np.maximum(log.time[b] - log.time[a], 1e-12) for a, b in ends]
    share = float(np.sum(np.minimum(*speeds) > MOVING)) / len(log)
    if share > REPEATED:
        what = f"{100 * share:.2g} % of the rows repeat the previous row in motion: a value is held at a new stamp"
        fix = "Record at the rate of the sensors, or drop the repeated rows"
        severity: Severity = "error" if share > REPEATED_MOST else "doubt"
        yield Finding("rows-repeated", log.source, what, fix, {"share": share}, severity)


def _outliers(log: Log) -> Iterator[Finding]:
    """Stamps that are off among regular ones: alone between gaps, or away from the middle of their neighbours."""
    steps, step = np.diff(log.time), _grid(np.diff(log.time))
    wide = steps > GAP * step
    alone = np.flatnonzero(np.append(True, wide) & np.append(wide, True))
    if alone.size and len(log) > 10 and alone.size <= max(1, FEW * len(log)):
        rows = [int(k) for k in alone]
        what = f"row{'s' if len(rows) > 1 else ''} {_listed(rows)} alone between gaps: a wrong stamp"
        fix, remedy = "Drop those rows, or correct their stamps", {"column": "time", "drop_rows": rows}
        yield Finding("stamp-outlier", f"{log.source}, time, row {rows[0]}", what, fix, remedy, "doubt")
        return
    off = np.abs(steps[1:] - steps[:-1]) / 2
    even = ~wide[1:] & ~wide[:-1] & (np.abs(log.time[2:] - log.time[:-2] - 2 * step) < DISPLACED * step)
    usual = float(np.median(off[even])) if even.any() else np.inf
    wrong = np.flatnonzero(even & (off > max(DISPLACED * step, OUTLYING * usual))) + 1
    if wrong.size and wrong.size <= max(1, FEW * len(log)):
        rows = [int(k) for k in wrong]
        what = f"is off by {1e3 * float(off[wrong - 1].max()):.2g} ms at row {_listed(rows)}, among regular stamps"
        fix, remedy = "Correct those stamps, or drop the rows", {"column": "time", "drop_rows": rows}
        yield Finding("stamp-outlier", f"{log.source}, time, row {rows[0]}", what, fix, remedy, "doubt")


def _listed(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:5])) + (" …" if len(rows) > 5 else "")


def stamp_jitter(robot: Robot, log: Log) -> tuple[float, float]:
    """Standard deviation of the stamps' hidden errors and its standard error, s; (0, inf) where it cannot be measured.

    A sample stamped d too early has a position that is v d away from those of its neighbours, at every joint with the
    same d, while noise and quantisation of encoders are independent. So with e the residual of interpolation
    between neighbours, E[eᵢ eⱼ] = vᵢ vⱼ E[d²] for i ≠ j.
    """
    part = slice(0, SAMPLES)
    t, joints = log.time[part], [j for j in robot.joints if np.ptp(log.columns[f"q.{j}"][part]) > 0]
    if len(joints) < 2 or len(t) < 100:
        return 0.0, np.inf
    q = np.column_stack([log.columns[f"q.{j}"][part] for j in joints])
    offsets = np.array([-3, -2, -1, 1, 2, 3])
    k = np.arange(3, len(t) - 3)
    near = t[k[:, None] + offsets] - t[k][:, None]
    even = near[:, -1] - near[:, 0] < 12 * np.median(np.diff(t))  # no gap
    k, near = k[even], near[even]
    if len(k) < 100:
        return 0.0, np.inf
    ratio = near[:, None, :] / (near[:, None, :] - near[:, :, None] + np.eye(6))
    weights = np.prod(np.where(np.eye(6, dtype=bool), 1.0, ratio), axis=2)  # Lagrange, at each sample's own stamp
    e = q[k] - np.einsum("ks,ksj->kj", weights, q[k[:, None] + offsets])
    v = (q[k + 2] - q[k - 2]) / (t[k + 2] - t[k - 2])[:, None]
    ev, vv = e * v, v * v
    top = ev.sum(axis=1) ** 2 - (ev**2).sum(axis=1)
    bottom = (vv.sum(axis=1) ** 2 - (vv**2).sum(axis=1)) * (1 + (weights**2).sum(axis=1))
    whole = float(bottom.sum())
    if whole <= 0:
        return 0.0, np.inf
    blocks = np.array_split(np.arange(len(k)), 20)
    variance = float(top.sum()) / whole
    spread = np.array([top[b].sum() - variance * bottom[b].sum() for b in blocks])
    error = float(np.sqrt(np.sum(spread**2))) / whole
    std = float(np.sqrt(max(variance, 0.0)))
    return std, error / (2 * std) if std > 0 else np.inf


def _jitter(robot: Robot, log: Log) -> Iterator[Finding]:
    std, error = stamp_jitter(robot, log)
    if std > JITTER + CLEAR * error:
        what = f"has hidden errors of {1e3 * std:.2g} ± {1e3 * error:.1g} ms (rms): positions do not fit their stamps"
        fix = "Stamp samples where they are measured"
        severity: Severity = "error" if std > JITTER_MOST else "doubt"
        yield Finding("stamp-jitter", f"{log.source}, time", what, fix, {"jitter": std}, severity)


class Sampling(Check):
    """Lost samples, repeated rows and wrong stamps."""

    rank = 9

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        robot, log = subject.setup.robot, subject.log
        findings = [*_lost(log), *_repeated(robot, log), *_outliers(log)]
        if subject.setup.torques and not findings:  # forces alone are fitted at a low cut-off
            findings += _jitter(robot, log)
        return findings
