"""``steelyard check``: does this log fit this robot, and what does its motion excite? The robot is never identified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.check.attitude import attitude_findings
from steelyard.check.delay import Delay, delay_findings, find_delay
from steelyard.check.excitation import NOISE, Excitation, excitation
from steelyard.check.sensors import sign_findings
from steelyard.check.signals import Timing, signal_findings
from steelyard.check.torque_balance import MOST_SAMPLES, balance, slowed, spread
from steelyard.check.torques import torque_findings
from steelyard.compose import prior as priors
from steelyard.equations.prepare import Filter, Segment, prepare
from steelyard.equations.rows import Rows
from steelyard.equations.setup import Options, Plan, make_plan
from steelyard.equations.unknown_forces import Foot
from steelyard.errors import Finding, LogError, SteelyardError
from steelyard.inference import noise
from steelyard.inference.uncertainty import Subspace, structural
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.description import Description, read_description

Array = np.ndarray


@dataclass(frozen=True)
class Survey:
    """What was found."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any]  # for people: rate, duration, gaps, equations, base parameters …
    notices: tuple[str, ...]
    sentence: str
    data: dict[str, Any] = field(default_factory=dict)  # for machines: timing, excitation, delay

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "schema": 1,
            "findings": [f._asdict() for f in self.findings],
            "facts": self.facts,
            "notices": list(self.notices),
            "verdict": self.sentence,
            **{key: self.data.get(key) for key in ("timing", "excitation", "delay")},
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
        filter = options.filter.for_logs([log], plan.equations)
        segments, remarks = prepare(plan.robot, log, filter, torques=plan.equations != "base")
    except SteelyardError as error:
        return Survey(error.findings, {}, (), _not_usable(error.findings))
    timing = Timing.of(log)
    facts: dict[str, Any] = {
        "robot": f"{plan.robot.name}, {plan.robot.base} base, {len(plan.robot.bodies)} moving bodies",
        **timing.facts(),
        "equations": plan.equations,
    }
    if plan.robot.sensors:
        facts["sensors"] = ", ".join(f"{s.name} ({' '.join(s.components)})" for s in plan.robot.sensors)
    progress("looking at what the motion excites")
    excited = _excited(plan, segments, filter)
    facts["base parameters"] = str(excited)
    if excited.weak:
        facts["told weakly"] = excited.left_to_prior()
    if quiet := _quiet(plan, segments):
        facts["hardly moving"] = ", ".join(quiet)
    progress("comparing channels with each other")
    findings = [*signal_findings(plan.robot, log), *attitude_findings(plan.robot, log)]
    findings += sign_findings(plan, log, segments, filter)
    lag = None
    if not findings:
        findings, lag = _balanced(plan, log, filter)
    if lag is not None:
        facts["torque after motion"] = str(lag)
    data = {"timing": vars(timing), "excitation": excited.as_json(), "delay": lag.as_json() if lag else None}
    notices = (*plan.notices, *remarks)
    if findings:
        return Survey(tuple(findings), facts, notices, _not_usable(findings), data)
    sentence = f"Usable: the motion excites {excited.strong} of {excited.possible} base parameters strongly."
    if excited.advice:
        sentence += f" To learn more, {'; '.join(motion.help for motion in excited.advice)}."
    return Survey((), facts, notices, sentence, data)


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


def _excited(plan: Plan, segments: Sequence[Segment], filter: Filter) -> Excitation:
    """What the rows see, if they are wrong by 5 % of their rms; of a long log from pieces spread over it."""
    some = spread(segments, MOST_SAMPLES[plan.robot.base])
    whole, looked_at = (sum(len(s.time) for s in parts) for parts in (segments, some))
    rows = Rows(plan.robot, some, plan.columns, plan.equations, plan.feet, filter)
    blocks = list(rows)
    scale = np.sqrt(np.mean(np.concatenate([b.target for b in blocks]) ** 2, axis=0))
    wrong = NOISE * np.maximum(scale, max(1e-3 * float(scale.max()), 1e-9))
    weights = noise.Noise.unit(wrong * np.sqrt(looked_at / whole))
    prior = priors.make(plan.robot, plan.columns)
    space = Subspace.of(noise.information(blocks, weights, plan.columns.names).R, prior.scale)
    possible = structural(plan.robot, plan.columns, plan.equations, prior.scale, plan.feet)
    return excitation(plan, rows, wrong, space, possible)


def _balanced(plan: Plan, log: Log, filter: Filter) -> tuple[list[Finding], Delay | None]:
    """Torques against the description; and their delay, where they have their signs and sizes.

    Torques that are very late have no signs to speak of: then only the delay is told.
    """
    if plan.equations == "base":
        return [], None
    slow = slowed(filter, log)
    try:
        segments, _ = prepare(plan.robot, log, slow, torques=True)
    except LogError:  # no piece is long enough for slow rows
        return [], None
    feet = [f for f in plan.feet if isinstance(f, Foot)]
    both = balance(plan.robot, segments, plan.equations, feet, slow, plan.columns.motors)
    if both is None:
        return [], None
    lag = find_delay(both)
    if (lag is None or not lag.beyond) and (findings := torque_findings(both, log)):
        return findings, None
    return ([], None) if lag is None else (delay_findings(log, lag, filter.delay), lag)


def _quiet(plan: Plan, segments: Sequence[Segment]) -> list[str]:
    """Joints that hardly move: less than 0.1 rad (or m) or never faster than 0.05 rad/s (or m/s)."""
    q, v = np.vstack([s.q for s in segments]), np.vstack([s.v for s in segments])
    still = (np.ptp(q, axis=0) < 0.1) | (np.abs(v).max(axis=0) < 0.05)
    return [j for j, s in zip(plan.robot.joints, still, strict=True) if s]
