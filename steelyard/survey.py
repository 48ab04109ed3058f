"""``steelyard check``: does this log fit this robot, and what does its motion excite? Nothing is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import noise
from steelyard import prior as priors
from steelyard.clock import gaps, log_rate
from steelyard.diagnose.attitude import attitude_findings
from steelyard.diagnose.sensors import sign_findings
from steelyard.diagnose.signals import signal_findings
from steelyard.diagnose.torques import delay, gain_findings
from steelyard.errors import Finding, SteelyardError
from steelyard.identifiable import Subspace, structural
from steelyard.log import Log
from steelyard.motors import motor_terms
from steelyard.plan import Options, Plan, make_plan
from steelyard.read.description import Description, read_description
from steelyard.read.table import read_log
from steelyard.regressor import FRICTION, Columns, Rows
from steelyard.samples import prepare

Array = np.ndarray


@dataclass(frozen=True)
class Survey:
    """What was found."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any]  # rate, duration, gaps, equations, base parameters …
    notices: tuple[str, ...]
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "schema": 1,
            "findings": [f._asdict() for f in self.findings],
            "facts": self.facts,
            "notices": list(self.notices),
            "verdict": self.sentence,
        }

    def lines(self) -> list[str]:
        """For people."""
        shown = [f"{name}: {value}" for name, value in self.facts.items()]
        shown += [f"to correct: {finding}" for finding in self.findings]
        return [*shown, *(f"note: {n}" for n in self.notices), "", self.sentence]


def survey(
    source: str | Path,
    path: Path,
    progress: Callable[[str], None] = lambda _: None,
    mapping: Path | None = None,
    topics: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> Survey:
    """Look a log over."""
    options = options or Options()
    progress("reading")
    try:
        description, log = read_description(source), read_log(path, mapping, topics)
        plan = _plan(description, log, options)
        filter = options.filter.for_logs([log])
        segments, remarks = prepare(plan.robot, log, filter, torques=plan.equations != "base")
    except SteelyardError as error:
        return Survey(error.findings, {}, (), _not_usable(error.findings))
    facts: dict[str, Any] = {
        "robot": f"{plan.robot.name}, {plan.robot.base} base, {len(plan.robot.bodies)} moving bodies",
        "log": f"{len(log)} samples, {log.time[-1] - log.time[0]:.2f} s at {log_rate(log):.1f} Hz",
        "jitter": f"{1e3 * np.std(np.diff(log.time)):.2g} ms",
        "gaps": int(gaps(log).size),
        "equations": plan.equations,
    }
    if plan.robot.sensors:
        facts["sensors"] = ", ".join(f"{s.name} ({' '.join(s.components)})" for s in plan.robot.sensors)
    progress("looking at what the motion excites")
    rows = Rows(plan.robot, segments, plan.columns, plan.equations, plan.feet, filter)
    prior = priors.make(plan.robot, plan.columns)
    scale = np.sqrt(np.mean(np.concatenate([b.target for b in rows]) ** 2, axis=0))
    info = noise.information(rows, noise.Noise.unit(np.maximum(0.05 * scale, 1e-6)), plan.columns.names)
    space = Subspace.of(info.R, prior.scale)
    possible = structural(plan.robot, plan.columns, plan.equations, prior.scale, plan.feet)
    strong = int(np.sum(space.values > 10))
    facts["base parameters"] = (
        f"{possible.rank} possible, {space.rank} excited, {strong} strongly; condition {space.condition:.3g}"
    )
    quiet = _quiet(plan, segments)
    if quiet:
        facts["hardly moving"] = ", ".join(quiet)
    progress("comparing channels with each other")
    findings = [*signal_findings(plan.robot, log), *attitude_findings(plan.robot, log)]
    findings += sign_findings(plan, log, segments, filter)
    if plan.equations == "joint" and not findings:
        findings += gain_findings(plan.robot, log, segments, filter)
        motors = plan.columns.motors
        terms = [(j, law) for j in plan.robot.joints for law in FRICTION["all"]] + motor_terms(motors, FRICTION["all"])
        lag = delay(plan.robot, segments, Columns(plan.columns.bodies, tuple(terms), motors=motors), filter)
        if lag is not None and not findings:
            facts["torque after motion"] = str(lag)
    if findings:
        return Survey(tuple(findings), facts, (*plan.notices, *remarks), _not_usable(findings))
    sentence = f"Usable: the motion excites {strong} of {possible.rank} base parameters strongly"
    sentence += f"; to learn more, move {', '.join(quiet[:3])}." if quiet else "."
    return Survey((), facts, (*plan.notices, *remarks), sentence)


def _not_usable(findings: Sequence[Finding]) -> str:
    count = len(findings)
    return f"Not usable yet: {count} thing{'s' if count > 1 else ''} to correct."


def _plan(description: Description, log: Log, options: Options) -> Plan:
    try:
        return make_plan(description, [log], options)
    except SteelyardError as error:
        if not any("--repair-prior" in f.fix for f in error.findings):
            raise
        return make_plan(description, [log], replace(options, repair_prior=True))


def _quiet(plan: Plan, segments: list[Any]) -> list[str]:
    """Joints that hardly move: less than 0.1 rad (or m) and never faster than 0.05 rad/s (or m/s)."""
    q, v = np.vstack([s.q for s in segments]), np.vstack([s.v for s in segments])
    still = (np.ptp(q, axis=0) < 0.1) | (np.abs(v).max(axis=0) < 0.05)
    return [j for j, s in zip(plan.robot.joints, still, strict=True) if s]
