"""What is to be done with these logs: every ``auto`` decided, and what does not fit together refused."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args, get_type_hints

import numpy as np

from steelyard import check
from steelyard import prior as priors
from steelyard.contact import Foot, foot
from steelyard.errors import Finding, LogError, UsageError
from steelyard.gains import needs_gain
from steelyard.log import Log
from steelyard.missing import Missing, unmeasured
from steelyard.missing import notices as partly_measured
from steelyard.plate import plate_findings
from steelyard.read.description import Description
from steelyard.regressor import FRICTION, Columns, Equations
from steelyard.robot import Base, Robot, build
from steelyard.samples import Filter
from steelyard.weight import weight_findings

Method = Literal["lmi", "least-squares"]


@dataclass(frozen=True)
class Options:
    """How to identify; the defaults suit most logs."""

    base: Literal["auto", "fixed", "floating"] = "auto"
    equations: Literal["auto", "joint", "base", "full", "contact-free"] = "auto"
    method: Method = "lmi"
    prior: priors.Kind = "cad"
    regularisation: Literal["quadratic", "entropic"] = "quadratic"
    null_space: Literal["structure", "data"] = "structure"  # where least-squares takes Z from
    friction: Literal["none", "viscous", "coulomb", "all"] = "none"
    links: tuple[str, ...] = ()  # free bodies; () means all
    feet: tuple[str, ...] = ()
    lock: Mapping[str, float] = field(default_factory=dict)
    repair_prior: bool = False
    robust: bool = False
    filter: Filter = field(default_factory=Filter)
    gravity: tuple[float, float, float] | None = None  # m/s², world axes, of a fixed base

    def __post_init__(self) -> None:
        hints = get_type_hints(Options)
        findings = []
        for name in ("base", "equations", "method", "prior", "regularisation", "null_space", "friction"):
            allowed, value = get_args(hints[name]), getattr(self, name)
            if value not in allowed:
                findings.append(Finding(f"{name} {value!r}", "is not known", f"Choose from: {', '.join(allowed)}"))
        for joint, value in self.lock.items():
            if not math.isfinite(value):
                findings.append(Finding(f"lock {joint}", f"is {value}", "Give a number in rad or m"))
        if self.gravity is not None and not all(math.isfinite(g) for g in self.gravity):
            findings.append(Finding("gravity", f"is {self.gravity}", "Give three numbers in m/s²"))
        if self.prior == "none" and self.regularisation == "entropic":
            findings.append(
                Finding(
                    "regularisation 'entropic'", "is a pull towards the prior, and prior is 'none'", "Drop one of them"
                )
            )
        if self.feet and self.equations not in ("auto", "contact-free"):
            what = f"are projected out of contact-free rows only, not of {self.equations} rows"
            findings.append(
                Finding(f"feet {', '.join(self.feet)}", what, "Drop --feet, or use --equations contact-free")
            )
        if findings:
            raise UsageError(findings)


@dataclass(frozen=True)
class Plan:
    """What the options' ``auto`` came to for these logs."""

    robot: Robot
    equations: Equations
    feet: tuple[Foot | Missing, ...]  # and what wrenches do not measure: all forces that are projected out
    columns: Columns
    notices: tuple[str, ...]


def make_plan(description: Description, logs: Sequence[Log], options: Options) -> Plan:
    """Decide base, equations, locked joints, feet and columns for these logs; refuse what does not fit."""
    if not logs:
        raise UsageError(Finding("logs", "there are none", "Give at least one log"))
    base, equations = _base_and_equations(description, logs, options)
    torques = equations != "base"
    lock, notices = dict(options.lock), list[str]()
    matches = [check.match(description, log, lock, torques=torques) for log in logs]
    first = matches[0]
    findings = [
        Finding(log.source, f"measures other joints than {logs[0].source}", "Give logs of the same joints, or --lock")
        for log, m in zip(logs, matches, strict=True)
        if set(m.joints) != set(first.joints)
    ]
    if findings:
        raise LogError(findings)
    if equations in ("full", "base"):
        findings = [
            Finding(log.source, f"has no {kind} at {', '.join(missing)}, though {logs[0].source} has",
                    "Give logs with the same force sensors, or name the feet")
            for log in logs
            for kind in ("wrench", "plate")
            if (missing := sorted(set(logs[0].names(kind)) - set(log.names(kind))))
        ]  # fmt: skip
        if findings:
            raise LogError(findings)
    if equations == "base":
        if bad := [f for log in logs for f in plate_findings(log)]:
            raise LogError(bad)
    else:
        notices += [f"{log.source}: plates are used in base equations alone, not in {equations} rows"
                    for log in logs if log.names("plate")]  # fmt: skip
    if base == "floating" and options.gravity:
        raise UsageError(Finding("--gravity", "is for a fixed base: a floating one measures it", "Drop it"))
    lock |= dict.fromkeys(first.locked, 0.0)
    gravity = {"gravity": options.gravity} if options.gravity else {}
    robot = build(description, base=base, lock=lock, repair=options.repair_prior, **gravity)
    if bad := [f for log in logs for f in (*_frames(robot, log), *check.unit_findings(robot, log), *_silent(log))]:
        raise LogError(bad)
    notices += [*robot.notices, *(n for log in logs for n in log.notices), *(n for m in matches for n in m.notices)]
    feet = tuple(foot(robot, text) for text in options.feet)
    if equations == "contact-free" and not feet:
        feet = tuple(foot(robot, name) for name in logs[0].names("contact"))
        notices.append("feet taken from the log's contact columns: " + ", ".join(f.frame.name for f in feet))
    unknown = unmeasured(robot, logs, base=equations == "base")
    notices += partly_measured(unknown)
    if base == "floating" and equations in ("base", "full"):  # wrenches are all that holds the robot
        weighed = [weight_findings(robot, log, unknown, plates=equations == "base") for log in logs]
        if wrong := [f for findings, _ in weighed for f in findings]:
            raise LogError(wrong)
        notices += [n for _, said in weighed for n in said]
    gains = [j for j in robot.joints if any(needs_gain(log, j) for log in logs)] if torques else []
    if gains and unknown:
        what = f"lacks {', '.join(unknown[0].names)}, and the drive gain of {gains[0]} is not known either"
        raise LogError(Finding(unknown[0].column, what, "Give the drive gains (metadata gains), or all six components"))
    terms = [(j, term) for j in robot.joints for term in FRICTION[options.friction]] if torques else []
    terms += [(j, "gain") for j in gains]
    columns = Columns(tuple(b.name for b in robot.bodies), tuple(terms))
    return Plan(robot, equations, (*feet, *unknown), columns, tuple(notices))


def _frames(robot: Robot, log: Log) -> Iterator[Finding]:
    """Columns and metadata that name a place the robot does not have."""
    named = [(f"{kind}.{frame}", frame) for kind in ("wrench", "contact") for frame in log.names(kind)]
    if "imu_frame" in log.metadata and robot.floating:
        named.append(("imu_frame", str(log.metadata["imu_frame"])))
    for column, frame in named:
        if frame not in robot.frames:
            near = difflib.get_close_matches(frame, robot.frames, n=3)
            fix = f"Did you mean {' or '.join(near)}" if near else "Name a link, joint or site of the description"
            yield Finding(f"{log.source}, {column}", f"{frame!r} is not in {robot.name}", fix)


def _silent(log: Log) -> Iterator[Finding]:
    driven = [c for c in log.columns if c.startswith(("tau.", "current."))]
    if driven and not any(np.any(log.columns[c]) for c in driven):
        yield Finding(f"{log.source}, tau", "is zero throughout", "Log the torques that moved the robot")


def _base_and_equations(description: Description, logs: Sequence[Log], options: Options) -> tuple[Base, Equations]:
    log = logs[0]
    inertial = any(c.startswith(("imu.", "base.")) for c in log.columns)
    base: Base
    if options.base != "auto":
        base = options.base
    elif description.root == "world":
        base = "fixed"
    else:
        base = "floating" if inertial or options.equations in ("base", "contact-free") else "fixed"
    if options.equations != "auto":
        equations: Equations = options.equations
        if base == "fixed" and equations != "joint":
            raise UsageError(
                Finding(f"--equations {equations}", "needs a floating base", "Use joint, or --base floating")
            )
        if equations == "contact-free" and not (options.feet or log.names("contact")):
            raise UsageError(Finding("--equations contact-free", "needs to know the feet", "Name them: --feet F,…"))
        if equations in ("full", "joint") and base == "floating" and log.names("plate") and not log.names("wrench"):
            what = "cannot use force plates, since nobody knows which body they push, and nothing else holds the robot"
            raise UsageError(Finding(f"--equations {equations}", what, "Use base, or contact-free with --feet F,…"))
        return base, equations
    if base == "fixed":
        if options.feet:
            raise UsageError(Finding("--feet", "are of no use on a fixed base", "Drop them, or say --base floating"))
        return base, "joint"
    torques = bool(log.names("tau") or log.names("current"))
    if options.feet and torques:
        return base, "contact-free"
    if options.feet and (log.names("wrench") or log.names("plate")):
        what = "are projected out of contact-free rows, which need torques, and the log has none"
        raise UsageError(Finding("--feet", what, "Drop them to use the measured forces"))
    if log.names("wrench"):
        return base, "full" if torques else "base"
    if log.names("plate"):
        return base, "base"
    if log.names("contact"):
        return base, "contact-free"
    raise UsageError(
        Finding(log.source, "has a floating base but neither contact wrenches nor feet",
                "Name the feet (--feet F,…), or say --equations full if nothing touches the robot")
    )  # fmt: skip
