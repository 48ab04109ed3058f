"""Prediction windows: short stretches of logs, each with its first measured state, its torques and its last state.

A window is one data point of Go and Hata (II-D): simulate from its first state with its torques, and compare with its
last state. Logs with velocities at a constant rate are used as they are; others pass the filters of
``equations/prepare.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from steelyard.equations.filters import Filter
from steelyard.equations.prepare import prepare
from steelyard.errors import Finding, LogError, UsageError
from steelyard.log.log import QUATERNION, Log
from steelyard.log.timing import gaps, log_rate, merge_near_stamps
from steelyard.robot.model import Robot
from steelyard.spatial import Array

Integrator = Literal["euler", "rk4"]

HORIZON = 0.03  # s
COUNT = 64  # windows per log
STEP, TOUCHING = 2.5e-3, 5e-4  # s, largest integration step: of Runge–Kutta, and with contacts
EACH = ("q", "v", "torques", "q_end", "v_end", "log", "base", "base_end")  # arrays over windows


@dataclass(frozen=True)
class Windows:
    """S windows of equal length; joints in the robot's order, the base in the log's conventions."""

    q: Array  # (S, J) rad or m, first
    v: Array  # (S, J) rad/s or m/s, first
    torques: Array  # (S, steps + 1, J) N·m or N, at every node
    q_end: Array  # (S, J) rad or m, last
    v_end: Array  # (S, J) rad/s or m/s, last
    step: float  # s, of the integration
    ramp: bool  # torques are linear between nodes; else held until the next
    integrator: Integrator
    log: Array  # (S,) index of the log
    base: Array | None = None  # (S, 13) of a floating base: position, quaternion x y z w, velocities in base axes
    base_end: Array | None = None

    def __len__(self) -> int:
        return int(self.q.shape[0])

    @property
    def steps(self) -> int:
        """Integration steps per window."""
        return int(self.torques.shape[1]) - 1

    @property
    def horizon(self) -> float:
        """Duration of a window, s."""
        return self.steps * self.step

    def part(self, keep: Array | slice) -> Windows:
        """A subset of the windows."""
        changed: dict[str, Any] = {k: None if getattr(self, k) is None else getattr(self, k)[keep] for k in EACH}
        return replace(self, **changed)

    @classmethod
    def of(
        cls,
        robot: Robot,
        logs: Sequence[Log],
        *,
        horizon: float = HORIZON,
        count: int = COUNT,
        filter: Filter | None = None,
    ) -> Windows:
        """Cut windows out of logs, evenly spread.

        Args:
            robot: Of the logs.
            logs: With positions and torques, of one rate.
            horizon: Duration of a window, s.
            count: Windows per log.
            filter: Of logs without velocities or of uneven stamps; a default one where not given.
        """
        if findings := list(_findings(robot, logs, horizon, count)):
            raise LogError(findings)
        parts = [_of_log(robot, log, k, horizon, count, filter) for k, log in enumerate(logs)]
        first = parts[0]
        for log, part in zip(logs, parts, strict=True):
            if (part.steps, part.ramp, part.integrator) != (
                first.steps,
                first.ramp,
                first.integrator,
            ) or not np.isclose(part.step, first.step, rtol=1e-6):
                what = f"has another rate than {logs[0].source}, so its windows have other steps"
                raise UsageError(Finding("logs-differ", log.source, what, "Search in logs of one rate and kind"))
        joined: dict[str, Any] = {
            k: None if getattr(first, k) is None else np.concatenate([getattr(p, k) for p in parts]) for k in EACH
        }
        return replace(first, **joined)


def _findings(robot: Robot, logs: Sequence[Log], horizon: float, count: int) -> list[Finding]:
    findings = []
    if not (np.isfinite(horizon) and horizon > 0):
        fix = "Give seconds, e.g. horizon=0.03"
        findings.append(Finding("option-value", f"horizon={horizon}", "must be > 0 and finite", fix, {"horizon": 0.03}))
    if count < 1:
        findings.append(Finding("option-value", f"windows={count}", "must be ≥ 1", "Give 1 or more"))
    for log in logs:
        for kind in ("q", "tau"):
            what = "is missing: a simulation starts from measured positions and is driven by measured torques"
            for joint in (j for j in robot.joints if not log.has(f"{kind}.{j}")):
                where, fix = f"{log.source}, {kind}.{joint}", "Record it, or lock the joint"
                findings.append(Finding("column-missing", where, what, fix, {"lock": None}))
        if robot.floating:
            needed = [f"base.{n}.{c}" for n in ("position", "velocity", "angular_velocity") for c in "xyz"]
            what = "is missing: a simulation starts from the measured state of the floating base"
            fix = "Record or estimate the motion of the base, or use `steelyard identify`"
            missing = [name for name in (*needed, *QUATERNION) if not log.has(name)]
            findings += [Finding("column-missing", f"{log.source}, {name}", what, fix) for name in missing]
    return findings


def _of_log(robot: Robot, log: Log, index: int, horizon: float, count: int, filter: Filter | None) -> Windows:
    rate = log_rate(log)
    span = max(round(horizon * rate), 1)  # samples
    segments = _segments(robot, log, filter)
    starts = [(p, k) for p, (q, *_) in enumerate(segments) for k in range(len(q) - span)]
    if not starts:
        what = f"has no stretch without gaps that is longer than the horizon of {horizon:g} s"
        fix = "Record longer, or give a shorter horizon"
        raise LogError(Finding("log-too-short", log.source, what, fix, {"horizon": None}))
    chosen = [starts[k] for k in np.unique(np.linspace(0, len(starts) - 1, count).astype(int))]
    held = log.metadata.get("simulation", {}).get("torques") == "held"
    longest = TOUCHING if robot.floating else STEP
    fine = 1 if held else max(int(np.ceil(1 / (rate * longest) - 1e-9)), 1)  # steps a sample

    def at(which: int, offset: int) -> Array:
        return np.array([segments[p][which][k + offset] for p, k in chosen])

    tau = np.array([segments[p][2][k : k + span + 1] for p, k in chosen])
    nodes = np.arange(span * fine + 1) / fine
    low = np.minimum(nodes.astype(int), span - 1)
    share = (nodes - low)[None, :, None]
    torques = tau if held else (1 - share) * tau[:, low] + share * tau[:, low + 1]
    based = len(segments[0]) > 3
    return Windows(
        at(0, 0),
        at(1, 0),
        torques,
        at(0, span),
        at(1, span),
        1 / (rate * fine),
        not held,
        "euler" if held or robot.floating else "rk4",
        np.full(len(chosen), index),
        at(3, 0) if based else None,
        at(3, span) if based else None,
    )


def _segments(robot: Robot, log: Log, filter: Filter | None) -> list[tuple[Array, ...]]:
    """q, v, τ and the state of a floating base in gap-free stretches at a constant rate."""
    steps = np.diff(log.time)
    joints = robot.joints
    cut = gaps(log)
    ordinary = np.delete(steps, cut)
    even = len(ordinary) > 0 and float(np.ptp(ordinary)) < 1e-3 * float(np.median(ordinary))
    if filter is None and even and log.has(*(f"v.{j}" for j in joints)):
        columns = [np.column_stack([log.columns[f"{kind}.{j}"] for j in joints]) for kind in ("q", "v", "tau")]
        if robot.floating:
            vectors = ("base.position", "base.quaternion", "base.velocity", "base.angular_velocity")
            parts = [log.vector(v, "xyzw" if v.endswith("quaternion") else "xyz") for v in vectors]
            columns.append(np.hstack([p for p in parts if p is not None]))
        edges = [0, *(cut + 1), len(log)]
        return [tuple(c[a:b] for c in columns) for a, b in pairwise(edges)]
    if robot.floating:
        what = "has no joint velocities, or its stamps are uneven"
        fix = "Record v.JOINT at a constant rate: motion with contacts cannot be smoothed"
        raise LogError(Finding("velocity-missing", log.source, what, fix))
    log, _ = merge_near_stamps(log)
    segments, _ = prepare(robot, log, (filter or Filter()).for_logs([log]), torques=True)
    return [(s.q, s.v, s.tau) for s in segments if s.tau is not None]
