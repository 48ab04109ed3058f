"""What is to be done with these logs: every ``auto`` decided, and what does not fit together refused."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args, get_type_hints

import numpy as np

from steelyard.check import match as check
from steelyard.check.supporting_force import LOOKED_AT, weight_findings
from steelyard.compose import prior as priors
from steelyard.compose.division_rule import Rule
from steelyard.compose.load_area import RULE, Area, area_findings, as_cuboid, on_top
from steelyard.compose.points import COARSEST, FINEST, GRID, RIDGE, Count, Within
from steelyard.compose.primitives import Primitive
from steelyard.compose.shape_file import ShapeFile
from steelyard.equations.coupled_motors import coupled, differing, motor_terms
from steelyard.equations.missing import Missing, unmeasured
from steelyard.equations.missing import notices as partly_measured
from steelyard.equations.prepare import Filter
from steelyard.equations.rows import FRICTION, Columns, Equations
from steelyard.equations.unknown_forces import Foot, foot
from steelyard.errors import Finding, LogError, UsageError
from steelyard.log.force_plate import plate_findings
from steelyard.log.log import Log
from steelyard.robot.description import Description
from steelyard.robot.model import LOAD, Base, Robot, build, find_welds
from steelyard.spatial import WRENCH

Method = Literal["lmi", "points", "shapes", "nonlinear", "constrained", "mata", "linear", "least-squares"]
Friction = Literal["none", "viscous", "coulomb", "armature", "all"]


@dataclass(frozen=True)
class Options:
    """How to identify; the defaults suit most logs."""

    base: Literal["auto", "fixed", "floating"] = "auto"
    equations: Literal["auto", "joint", "base", "full", "contact-free"] = "auto"
    method: Method = "lmi"
    prior: priors.Kind = "cad"
    regularisation: priors.Regularisation = "quadratic"
    realisable: bool = False  # all mass inside an ellipsoid around each body's box
    total_mass: float | None = None  # kg, of all moving bodies, weighed
    hard_mass: bool = False  # the total mass holds exactly
    symmetric: tuple[str, ...] = ()  # LEFT=RIGHT pairs of bodies, or "auto"
    null_space: Literal["structure", "data"] = "structure"  # where least-squares, and prior_space "null", take Z from
    prior_space: Literal["all", "null"] = "all"  # null: the prior pulls only where Z sees nothing (Ayusawa 24, 25)
    prior_width: priors.Width = "inertia"  # box: as far off as a mass in the body's box can be (Ayusawa 17–28)
    prior_weight: float = 1.0  # of the bodies' prior: λ_φ (Ayusawa 24), α (Jovic 4)
    points: Count = GRID  # method points: masses along each edge, or "auto"
    points_in: Within = "box"  # where they may be
    point_ridge: float = RIDGE  # λ_ρ (Ayusawa 24): pull of every single mass
    friction: Friction = "none"
    links: tuple[str, ...] = ()  # free bodies; () means all
    feet: tuple[str, ...] = ()
    lock: Mapping[str, float] = field(default_factory=dict)
    repair_prior: bool = False
    robust: bool = False
    filter: Filter = field(default_factory=Filter)
    gravity: tuple[float, float, float] | None = None  # m/s², world axes, of a fixed base
    load: str | None = None  # link that carries an unknown load in logs that are ``loaded``
    hold_out: float | None = None  # s: every third block of this length is predicted, not learned from
    ranges: Literal["none", "masses", "com", "all"] = "none"  # guaranteed ranges of these, whatever the prior
    ranges_inside: bool = False  # each body's mass lies in its box
    ranges_together: bool = False  # all ranges hold at once, rather than each on its own
    shapes: ShapeFile | None = None  # method shapes: what bodies are made of to begin with; None: the description's
    divisions: int | None = None  # of shapes: at most so many
    area: Area | None = None  # x0 x1 y0 y1 z0 z1 m, in the link's axes: the load lies in it, and it is divided (Xu)
    top: float | None = None  # m: the same of all that is so far above the link

    def __post_init__(self) -> None:
        hints = get_type_hints(Options)
        findings = []
        choices = ("base", "equations", "method", "prior", "regularisation", "null_space", "friction", "ranges")
        for name in (*choices, "prior_space", "prior_width", "points_in"):
            allowed, value = get_args(hints[name]), getattr(self, name)
            if value not in allowed:
                findings.append(Finding(f"{name} {value!r}", "is not known", f"Choose from: {', '.join(allowed)}"))
        for joint, value in self.lock.items():
            if not math.isfinite(value):
                findings.append(Finding(f"lock {joint}", f"is {value}", "Give a number in rad or m"))
        if self.gravity is not None and not all(math.isfinite(g) for g in self.gravity):
            findings.append(Finding("gravity", f"is {self.gravity}", "Give three numbers in m/s²"))
        if self.hold_out is not None and not 0 < self.hold_out < math.inf:
            findings.append(
                Finding(f"hold_out {self.hold_out}", "is no length of a block", "Give seconds, more than 0")
            )
        findings += self._misfits()
        findings += self._about_points()
        if self.feet and self.equations not in ("auto", "contact-free"):
            what = f"are projected out of contact-free rows only, not of {self.equations} rows"
            findings.append(
                Finding(f"feet {', '.join(self.feet)}", what, "Drop --feet, or use --equations contact-free")
            )
        findings += self._about_shapes()
        if findings:
            raise UsageError(findings)

    def _misfits(self) -> Iterator[Finding]:
        """Options of methods that make no sense together."""
        pulled = f"regularisation {self.regularisation!r}"
        if self.prior == "none" and self.regularisation != "quadratic":
            yield Finding(pulled, "is a pull towards the prior, and prior is 'none'", "Drop one of them")
        if self.method != "lmi" and self.regularisation == "entropic":
            yield Finding(pulled, f"is for method lmi, not {self.method}", "Use --method lmi, or pullback")
        if self.method == "least-squares" and self.regularisation == "pullback":
            yield Finding(pulled, "is a pull towards the prior, and least-squares has none", "Use --method lmi")
        if self.realisable and self.method != "lmi":
            yield Finding("ellipsoid", f"is for method lmi, not {self.method}", "Drop it, or use --method lmi")
        if self.prior == "none" and self.method == "constrained":
            what = "leaves method constrained without the damping that makes its answer one"
            yield Finding("prior 'none'", what, "Use --prior cad, with a small --prior-weight")
        if self.total_mass is not None and not 0 < self.total_mass < math.inf:
            yield Finding(f"total_mass {self.total_mass}", "is no mass", "Give kg, more than 0")
        given = {
            "total_mass": self.total_mass is not None,
            "hard_mass": self.hard_mass,
            "symmetric": bool(self.symmetric),
        }
        for name, is_given in given.items():
            if is_given and self.method != "constrained":
                fix = "Drop it, or use --method constrained"
                yield Finding(name, f"is for method constrained, not {self.method}", fix)

    def _about_points(self) -> Iterator[Finding]:
        n, edge = self.points, f"from {COARSEST} to {FINEST} along each edge"
        if n != "auto" and not (isinstance(n, int) and COARSEST <= n <= FINEST):
            yield Finding(f"points {n!r}", "is no grid of masses", f"Give a number {edge}, or auto")
        for name in ("point_ridge", "prior_weight"):
            value = getattr(self, name)
            if not 0 <= value < math.inf or (name == "prior_weight" and value == 0):
                least = "0 or more" if name == "point_ridge" else "more than 0; --prior none drops the prior"
                yield Finding(f"{name} {value}", "is no weight", f"Give {least}")
        if self.method == "points" and self.load is not None:
            what = "asks where the mass may be, and nothing says so about a load"
            yield Finding("method 'points'", what, "Use lmi to weigh a load")
        if self.regularisation == "entropic" and self.prior_space == "null":
            yield Finding("prior_space 'null'", "has no entropic regularisation", "Use regularisation quadratic")

    @property
    def placed(self) -> bool:
        """Whether it is said where the load may be, and other bodies are not made of shapes."""
        given = self.method != "shapes" and self.shapes is not None and LOAD in self.shapes.links
        return self.area is not None or self.top is not None or given

    @property
    def rule(self) -> Rule:
        """How shapes are divided."""
        rule = self.shapes.rule if self.shapes is not None else RULE if self.placed else Rule()
        return rule if self.divisions is None else replace(rule, most=self.divisions)

    def _about_shapes(self) -> Iterator[Finding]:
        for name in ("shapes", "divisions"):
            if getattr(self, name) is not None and self.method != "shapes" and not self.placed:
                what = f"is for method shapes, not {self.method}"
                yield Finding(f"--{name}", what, "Drop it, or use --method shapes")
        if self.placed and self.load is None:
            yield Finding("area", "is where a load may be, and there is none", "Use `steelyard load`")
        if self.area is not None and self.top is not None:
            yield Finding("--area and --top", "both say where the load is", "Give one of them")
        if self.area is not None:
            yield from area_findings(self.area)
        if self.top is not None and not 0 < self.top < math.inf:
            yield Finding(f"--top {self.top}", "is no height", "Give m, more than 0")
        if self.divisions is not None and self.divisions < 0:
            yield Finding(f"--divisions {self.divisions}", "is less than none", "Give 0 or more")


@dataclass(frozen=True)
class Plan:
    """What the options' ``auto`` came to for these logs."""

    robot: Robot
    equations: Equations
    feet: tuple[Foot | Missing, ...]  # and what wrenches do not measure: all forces that are projected out
    columns: Columns
    notices: tuple[str, ...]
    shapes: Mapping[str, tuple[Primitive, ...]] = field(default_factory=dict)  # of bodies, where a file gives them


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
    if base == "fixed" and equations == "base":
        notices.append("the equations are those of the force–torque sensors alone: no joint torque is used")
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
    plates = base == "floating" and equations == "base"
    if plates:
        if bad := [f for log in logs for f in (*plate_findings(log), *_counted_twice(log))]:
            raise LogError(bad)
    else:
        notices += [f"{log.source}: plates are used in base equations alone, not in {equations} rows"
                    for log in logs if log.names("plate")]  # fmt: skip
    if base == "floating" and options.gravity:
        raise UsageError(Finding("--gravity", "is for a fixed base: a floating one measures it", "Drop it"))
    lock |= dict.fromkeys(first.locked, 0.0)
    gravity = {"gravity": options.gravity} if options.gravity else {}
    sensors = _sensors(description, base, lock, logs)
    robot = build(description, base=base, lock=lock, repair=options.repair_prior, sensors=sensors, **gravity)
    bad = [f for log in logs for f in (*_frames(robot, log), *check.unit_findings(robot, log), *_silent(log))]
    if bad := bad + list(differing(robot, logs)):
        raise LogError(bad)
    if options.load is not None:
        robot = robot.carrying(options.load)
    shapes = options.shapes.bodies(robot) if options.shapes is not None else {}
    if options.load is not None and (options.area is not None or options.top is not None):
        area = options.area if options.top is None else on_top(robot, options.load, options.top)
        shapes[LOAD] = (as_cuboid(area or ()),)
    notices += [*robot.notices, *(n for log in logs for n in log.notices), *(n for m in matches for n in m.notices)]
    feet, remarks = _feet(robot, logs[0], equations, options.feet)
    notices += remarks
    unknown = unmeasured(robot, logs, base=plates)
    notices += partly_measured(unknown)
    if base == "floating" and equations in ("base", "full") and not feet:  # wrenches are all that holds the robot
        some = max(LOOKED_AT // len(logs), 40)
        weighed = [weight_findings(robot, log, unknown, plates=plates, samples=some) for log in logs]
        if wrong := [f for findings, _ in weighed for f in findings]:
            raise LogError(wrong)
        notices += [n for _, said in weighed for n in said]
    gains = [j for j in robot.joints if any(log.needs_gain(j) for log in logs)] if torques else []
    laws, motors = FRICTION[options.friction] if torques else (), coupled(robot, logs[0])
    terms = [(j, law) for j in robot.joints for law in laws] + motor_terms(motors, laws) + [(j, "gain") for j in gains]
    offsets = tuple((s.name, component) for s in robot.sensors for component in s.components)
    columns = Columns(tuple(b.name for b in robot.bodies), tuple(terms), offsets, motors)
    return Plan(robot, equations, (*feet, *unknown), columns, tuple(notices), shapes)


def _feet(robot: Robot, log: Log, equations: Equations, given: Sequence[str]) -> tuple[tuple[Foot, ...], list[str]]:
    """What may touch, with forces that nothing measures."""
    if given:
        return tuple(foot(robot, text) for text in given), []
    contacts = [name for name in log.names("contact") if equations == "contact-free" or robot.sensors]
    if equations != "contact-free":
        contacts = [name for name in contacts if name not in log.names("wrench")]
    if contacts:
        names = ", ".join(contacts)
        return tuple(foot(robot, name) for name in contacts), [f"feet taken from the log's contact columns: {names}"]
    if not robot.floating:
        return (), []
    measured = [robot.frame(name).joint for name in log.names("wrench")]
    open_ended = [s for s in robot.sensors if not any(j in list(robot.model.subtrees[s.joint]) for j in measured)]
    if not open_ended:
        return (), []
    names = ", ".join(s.name for s in open_ended)
    remark = f"the parts below {names} are taken to touch something, and nothing else: name the feet if that is not so"
    return tuple(Foot(robot.frames[s.link], True, 0.0, np.zeros(3)) for s in open_ended), [remark]


def _sensors(
    description: Description, base: Base, lock: Mapping[str, float], logs: Sequence[Log]
) -> dict[str, tuple[str, ...]]:
    """Force–torque sensors and their measured components, the same in all logs, each in a weld."""
    every = [{s: tuple(c for c in WRENCH if log.has(f"sensor.{s}.{c}")) for s in log.names("sensor")} for log in logs]
    findings = []
    for log, sensors in zip(logs, every, strict=True):
        findings += find_welds(description, lock, sensors, base, log.source)[1]
        if sensors != every[0]:
            what = f"has other sensor columns than {logs[0].source}"
            findings.append(Finding(log.source, what, "Give logs with the same sensor columns"))
    if findings:
        raise LogError(findings)
    return every[0]


def _frames(robot: Robot, log: Log) -> Iterator[Finding]:
    """Columns and metadata that name a place the robot does not have."""
    named = [(f"{kind}.{frame}", frame) for kind in ("wrench", "contact") for frame in log.names(kind)]
    if robot.floating:
        named += [(key, str(log.metadata[key])) for key in ("imu_frame", "quaternion_frame") if key in log.metadata]
    for column, frame in named:
        if frame not in robot.frames:
            near = difflib.get_close_matches(frame, robot.frames, n=3)
            fix = f"Did you mean {' or '.join(near)}" if near else "Name a link, joint or site of the description"
            yield Finding(f"{log.source}, {column}", f"{frame!r} is not in {robot.name}", fix)


def _counted_twice(log: Log) -> Iterator[Finding]:
    if log.names("plate") and log.names("sensor"):
        where = f"{log.source}, plate.{log.names('plate')[0]} and sensor.{log.names('sensor')[0]}"
        what = "may tell the same force twice: nobody knows what stands on a plate"
        yield Finding(where, what, "Leave the columns of one of the two out")


def _silent(log: Log) -> Iterator[Finding]:
    driven = [c for c in log.columns if c.startswith(("tau.", "current."))]
    if driven and not any(np.any(log.columns[c]) for c in driven):
        yield Finding(f"{log.source}, tau", "is zero throughout", "Log the torques that moved the robot")


def _base_and_equations(description: Description, logs: Sequence[Log], options: Options) -> tuple[Base, Equations]:
    log = logs[0]
    inertial = any(c.startswith(("imu.", "base.")) for c in log.columns)
    sensors = bool(log.names("sensor"))
    base: Base
    if options.base != "auto":
        base = options.base
    elif description.root == "world":
        base = "fixed"
    else:
        asked = options.equations == "contact-free" or (options.equations == "base" and not sensors)
        base = "floating" if inertial or asked else "fixed"
    if options.equations != "auto":
        equations: Equations = options.equations
        if base == "fixed" and equations != "joint" and not (equations == "base" and sensors):
            raise UsageError(
                Finding(f"--equations {equations}", "needs a floating base", "Use joint, or --base floating")
            )
        if equations == "contact-free" and not (options.feet or log.names("contact") or sensors):
            raise UsageError(Finding("--equations contact-free", "needs to know the feet", "Name them: --feet F,…"))
        if equations in ("full", "joint") and base == "floating" and log.names("plate") and not log.names("wrench"):
            what = "cannot use force plates, since nobody knows which body they push, and nothing else holds the robot"
            raise UsageError(Finding(f"--equations {equations}", what, "Use base, or contact-free with --feet F,…"))
        return base, equations
    torques = bool(log.names("tau") or log.names("current"))
    if base == "fixed":
        if options.feet and not sensors:
            raise UsageError(Finding("--feet", "are of no use on a fixed base", "Drop them, or say --base floating"))
        return base, "joint" if torques or not sensors else "base"
    if options.feet and torques:
        return base, "contact-free"
    if options.feet and (log.names("wrench") or log.names("plate")):
        what = "are projected out of contact-free rows, which need torques, and the log has none"
        raise UsageError(Finding("--feet", what, "Drop them to use the measured forces"))
    if log.names("wrench"):
        return base, "full" if torques else "base"
    if sensors:
        return base, "contact-free" if torques else "base"
    if log.names("plate"):
        return base, "base"
    if log.names("contact"):
        return base, "contact-free"
    raise UsageError(
        Finding(log.source, "has a floating base but neither contact wrenches nor feet",
                "Name the feet (--feet F,…), or say --equations full if nothing touches the robot")
    )  # fmt: skip
