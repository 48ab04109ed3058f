"""What is predicted: short windows of logs, each a measured state, the torques that followed, and where they led.

A window is one data point of Go and Hata (II-D): simulate from its first state with its torques, and compare with its
last state. Logs that have velocities and even stamps are taken as they are; others pass the filters of
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
from steelyard.log.timing import gaps, log_rate, merged
from steelyard.robot.model import Robot
from steelyard.spatial import Array

Integrator = Literal["euler", "rk4"]

HORIZON = 0.03  # s
COUNT = 64  # windows a log
STEP, TOUCHING = 2.5e-3, 5e-4  # s: a step of the fourth order is no longer, and one with feet on the ground
EACH = ("q", "v", "torques", "q_end", "v_end", "log", "base", "base_end")  # what every window has its own of


@dataclass(frozen=True)
class Windows:
    """S windows of as many steps each; joints in the robot's order, the base in the log's conventions."""

    q: Array  # (S, J) rad or m, at the beginning
    v: Array  # (S, J)
    torques: Array  # (S, steps + 1, J) N·m or N, at every node
    q_end: Array  # (S, J)
    v_end: Array  # (S, J)
    step: float  # s, of the integration
    ramp: bool  # torques go evenly from node to node; else they are held until the next
    integrator: Integrator
    log: Array  # (S,) which log each is of
    base: Array | None = None  # (S, 13) of a floating base: place, quaternion x y z w, velocities in base axes
    base_end: Array | None = None

    def __len__(self) -> int:
        return int(self.q.shape[0])

    @property
    def steps(self) -> int:
        """Of the integration."""
        return int(self.torques.shape[1]) - 1

    @property
    def horizon(self) -> float:
        """s."""
        return self.steps * self.step

    def part(self, keep: Array | slice) -> Windows:
        """Some of the windows."""
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
        """``count`` windows of ``horizon`` seconds from each log, evenly spread."""
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
                raise UsageError(
                    Finding(
                        "todo",
                        log.source,
                        f"has another rate than {logs[0].source}, so its windows have other steps",
                        "Search in logs of one rate and kind",
                    )
                )
        joined: dict[str, Any] = {
            k: None if getattr(first, k) is None else np.concatenate([getattr(p, k) for p in parts]) for k in EACH
        }
        return replace(first, **joined)


def _findings(robot: Robot, logs: Sequence[Log], horizon: float, count: int) -> list[Finding]:
    findings = []
    if not (np.isfinite(horizon) and horizon > 0):
        findings.append(Finding("todo", "--horizon", f"is {horizon}", "Give seconds above zero, e.g. 0.03"))
    if count < 1:
        findings.append(Finding("todo", "--windows", f"is {count}", "Give a number of at least 1"))
    for log in logs:
        for kind in ("q", "tau"):
            missing = [f"{kind}.{j}" for j in robot.joints if not log.has(f"{kind}.{j}")]
            if missing:
                what = f"lacks {', '.join(missing)}: a simulation starts from positions and is driven by torques"
                findings.append(Finding("todo", log.source, what, "Record them, or lock those joints (--lock J=Q)"))
        if robot.floating:
            needed = [f"base.{n}.{c}" for n in ("position", "velocity", "angular_velocity") for c in "xyz"]
            missing = [name for name in (*needed, *QUATERNION) if not log.has(name)]
            if missing:
                what = f"lacks {', '.join(missing)}: the state of a floating base"
                findings.append(
                    Finding("todo", log.source, what, "Record or estimate the base's motion, or use identify")
                )
    return findings


def _of_log(robot: Robot, log: Log, index: int, horizon: float, count: int, filter: Filter | None) -> Windows:
    rate = log_rate(log)
    span = max(round(horizon * rate), 1)  # samples
    pieces = _pieces(robot, log, filter)
    starts = [(p, k) for p, (q, *_) in enumerate(pieces) for k in range(len(q) - span)]
    if not starts:
        what = f"has no stretch without gaps that is longer than the horizon of {horizon:g} s"
        raise LogError(Finding("todo", log.source, what, "Record longer, or give a shorter --horizon"))
    chosen = [starts[k] for k in np.unique(np.linspace(0, len(starts) - 1, count).astype(int))]
    held = log.metadata.get("simulation", {}).get("torques") == "held"
    longest = TOUCHING if robot.floating else STEP
    fine = 1 if held else max(int(np.ceil(1 / (rate * longest) - 1e-9)), 1)  # steps a sample

    def at(which: int, offset: int) -> Array:
        return np.array([pieces[p][which][k + offset] for p, k in chosen])

    tau = np.array([pieces[p][2][k : k + span + 1] for p, k in chosen])
    nodes = np.arange(span * fine + 1) / fine
    low = np.minimum(nodes.astype(int), span - 1)
    share = (nodes - low)[None, :, None]
    torques = tau if held else (1 - share) * tau[:, low] + share * tau[:, low + 1]
    based = len(pieces[0]) > 3
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


def _pieces(robot: Robot, log: Log, filter: Filter | None) -> list[tuple[Array, ...]]:
    """q, v, τ, and the state of a floating base, on even stamps without a gap."""
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
        raise LogError(
            Finding("todo", log.source, what, "Give v.JOINT on even stamps: contacts leave nothing to smooth")
        )
    log, _ = merged(log)
    segments, _ = prepare(robot, log, (filter or Filter()).for_logs([log]), torques=True)
    return [(s.q, s.v, s.tau) for s in segments if s.tau is not None]
