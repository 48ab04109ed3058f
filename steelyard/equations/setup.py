"""Setup of the equations: robot, columns, unknown forces, filter and free parameters, decided for these logs.

All rows are computed from a ``Setup``, offline and online, over one log or thousands, of logs or of planned motions.
``auto`` options are resolved from the description and the columns, and what does not fit together is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.equations.columns import FRICTION, Columns
from steelyard.equations.coupled_motors import coupled, differing, motor_terms
from steelyard.equations.equation_options import EquationOptions, Equations
from steelyard.equations.filters import Filter
from steelyard.equations.match import match
from steelyard.equations.missing import Missing, unmeasured
from steelyard.equations.missing import notices as partly_measured
from steelyard.equations.prepare import prepare
from steelyard.equations.random_rows import random_rows
from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.subspace import Subspace
from steelyard.equations.unknown_forces import Foot, FreeRows, foot
from steelyard.errors import Finding, LogError, UsageError, note, unknown_name
from steelyard.log.force_plate import plate_findings
from steelyard.log.log import Log
from steelyard.robot.build import build, find_welds
from steelyard.robot.description import Description
from steelyard.robot.model import Base, Robot
from steelyard.spatial import WRENCH, Array


@dataclass(frozen=True)
class Setup:
    """Equations of a robot and their parameters."""

    robot: Robot
    equations: Equations
    columns: Columns
    unknown: tuple[Foot | Missing, ...] = ()  # forces that are not measured, projected out
    filter: Filter | None = None  # of both sides, every value set; None: unfiltered rows at every sample
    links: tuple[str, ...] | None = None  # names of the free bodies; None means all
    notices: tuple[Finding, ...] = ()
    commanded: tuple[str, ...] = ()  # joints whose torque is what the drive was commanded, in any log
    without_columns: tuple[str, ...] = ()  # movable joints that no log measures, locked at neutral

    @classmethod
    def of(
        cls,
        description: Description,
        logs: Sequence[Log],
        options: EquationOptions,
        *,
        held_out: Sequence[Log] = (),
        load: str | None = None,
    ) -> Setup:
        """Decide base, equations, locked joints, feet, columns and filter for these logs; refuse what does not fit.

        Args:
            description: The robot's description.
            logs: Training logs, all of the same sensors.
            options: Which equations and parameters.
            held_out: Validation logs: of the same sensors, without influence on the filter.
            load: Link that carries an unknown load in logs that are ``loaded``.

        Raises:
            UsageError: Options conflict with each other or with the logs.
            LogError: A log lacks columns that are needed, or differs from the others.
        """
        if not logs:
            raise UsageError(Finding("logs-missing", "logs", "there are none", "Give at least one log"))
        every = [*logs, *held_out]
        base, equations = _base_and_equations(description, every, options)
        torques, plates = equations != "base", base == "floating" and equations == "base"
        lock, notices = dict(options.lock), list[Finding]()
        matches = [match(description, log, lock, torques=torques) for log in every]
        _refuse_different(every, [m.joints for m in matches], equations)
        if base == "fixed" and equations == "base":
            text = "the equations are those of the force–torque sensors alone: no joint torque is used"
            notices.append(note("torques-unused", "equations=base", text))
        if plates:
            if bad := [f for log in every for f in (*plate_findings(log), *_counted_twice(log))]:
                raise LogError(bad)
        else:
            text = f"plates are used in base equations alone, not in {equations} rows"
            unused = [log.source for log in every if log.names("plate")]
            notices += [note("plate-unusable", name, f"{name}: {text}", equations="base") for name in unused]
        if base == "floating" and options.gravity:
            where, what = (
                f"gravity={' '.join(map(str, options.gravity))}",
                "is for a fixed base: a floating one measures it",
            )
            raise UsageError(Finding("option-conflict", where, what, "Leave gravity out"))
        lock |= dict.fromkeys(matches[0].locked, 0.0)
        gravity = {"gravity": options.gravity} if options.gravity else {}
        sensors = _sensors(description, base, lock, every)
        robot = build(description, base=base, lock=lock, repair=options.repair_prior, sensors=sensors, **gravity)
        if bad := [*(f for log in every for f in _frames(robot, log)), *differing(robot, every)]:
            raise LogError(bad)
        robot = robot if load is None else robot.with_load(load)
        notices += [
            *robot.notices,
            *(n for log in every for n in log.notices),
            *(n for m in matches for n in m.notices),
        ]
        commanded = _commanded(robot, every) if torques else ()
        notices += _describe_commanded(robot, commanded)
        feet, remarks = _feet(robot, every[0], equations, options.feet)
        unknown = unmeasured(robot, every, base=plates)
        columns = _columns(robot, every, FRICTION[options.friction] if torques else None)
        return cls(
            robot,
            equations,
            columns,
            (*feet, *unknown),
            options.filter.for_logs(logs, equations),
            tuple(robot.body(link).name for link in options.links) or None,
            (*notices, *remarks, *partly_measured(unknown)),
            commanded,
            matches[0].locked,
        )

    @property
    def torques(self) -> bool:
        """Whether the equations need joint torques."""
        return self.equations != "base"

    @cached_property
    def free_bodies(self) -> tuple[str, ...]:
        """Names of the bodies that are not held at the description."""
        return tuple(b for b in self.columns.bodies if self.links is None or b in self.links)

    @cached_property
    def free(self) -> Array:
        """Indices of the free parameters: of the free bodies, of joints and of sensors."""
        held = [b for b in self.columns.bodies if b not in self.free_bodies]
        return np.setdiff1d(np.arange(self.columns.n), [i for b in held for i in _indices(self.columns, b)])

    @cached_property
    def known(self) -> Array:
        """Indices of the parameters that are held."""
        return np.setdiff1d(np.arange(self.columns.n), self.free)

    def holding(self, *bodies: str) -> Setup:
        """The same setup with some of the free bodies held."""
        return replace(self, links=tuple(b for b in self.free_bodies if b not in bodies))

    def segments(self, log: Log, *, level: bool = False) -> tuple[list[Segment], list[Finding]]:
        """Evenly spaced, filtered, differentiated samples of a log, and notices about merged and dropped samples.

        Args:
            log: The log.
            level: Whether the up direction is needed although the equations do not use it.
        """
        assert self.filter is not None
        level = level or bool(self.unknown or log.names("plate"))
        return prepare(self.robot, log, self.filter, torques=self.torques, level=level)

    def rows(
        self,
        segments: Sequence[Segment],
        *,
        like: Rows | None = None,
        free: FreeRows | None = None,
        samples: int | None = None,
    ) -> Rows:
        """Rows of some segments.

        Args:
            segments: Samples, from ``segments``.
            like: Rows whose coordinates and kernels are to be used.
            free: Coordinates of contact-free rows, where they are given.
            samples: Number of samples of all rows to come, where more than those of the segments.
        """
        if like is not None:
            free, samples = like.free, like.samples
        return Rows(self, segments, free, samples)

    def unfiltered(self) -> Setup:
        """The same setup with unfiltered rows at every sample."""
        return replace(self, filter=None)

    def structure(self, scale: Array, seed: int = 0) -> Subspace:
        """Row space of random motion: all that structure and sensors allow to identify.

        Args:
            scale: (n,) natural size of each parameter.
            seed: Of the random motion.
        """
        return Subspace.of(self.possible if seed == 0 else random_rows(self, seed), scale)

    @cached_property
    def possible(self) -> Array:
        """(n, n) R of random motion: its row space contains all that any motion excites."""
        return random_rows(self, 0)


def _indices(columns: Columns, body: str) -> range:
    at = columns.body(body)
    return range(at.start, at.stop)


def _refuse_different(logs: Sequence[Log], joints: Sequence[Sequence[str]], equations: Equations) -> None:
    """Refuse logs that do not measure the same joints and forces."""
    first, *others = logs
    findings = [
        Finding(
            "logs-differ",
            f"{log.source}, joints",
            f"measures other joints than {first.source}",
            "Give logs of the same joints, or lock the others (lock={joint: q})",
        )
        for log, own in zip(logs, joints, strict=True)
        if set(own) != set(joints[0])
    ]
    if not findings and equations in ("full", "base"):
        for log in others:
            for kind in ("wrench", "plate"):
                if missing := sorted(set(first.names(kind)) - set(log.names(kind))):
                    where, what = (
                        f"{log.source}, {kind}.{', '.join(missing)}",
                        f"is missing, though {first.source} has it",
                    )
                    fix = "Give logs with the same force sensors, or name the feet"
                    findings.append(Finding("logs-differ", where, what, fix))
    if findings:
        raise LogError(findings)


def _columns(robot: Robot, logs: Sequence[Log], laws: Sequence[str] | None) -> Columns:
    """The entries of θ; ``laws``: friction terms of every joint, None where joint torques are not used."""
    gains = [j for j in robot.joints if any(log.needs_gain(j) for log in logs)] if laws is not None else []
    motors = coupled(robot, logs[0])
    terms = [(j, law) for j in robot.joints for law in laws or ()] + motor_terms(motors, tuple(laws or ()))
    offsets = tuple((s.name, component) for s in robot.sensors for component in s.components)
    bodies = tuple(b.name for b in robot.bodies)
    return Columns(bodies, (*terms, *((j, "gain") for j in gains)), offsets, motors)


def _feet(robot: Robot, log: Log, equations: Equations, given: Sequence[str]) -> tuple[tuple[Foot, ...], list[Finding]]:
    """Frames that may be in contact with unmeasured forces, and notices about them."""
    if given:
        return tuple(foot(robot, text) for text in given), []
    contacts = [name for name in log.names("contact") if equations == "contact-free" or robot.sensors]
    if equations != "contact-free":
        contacts = [name for name in contacts if name not in log.names("wrench")]
    if contacts:
        names = ", ".join(contacts)
        notice = note("feet-from-contacts", names, f"feet taken from the log's contact columns: {names}", feet=contacts)
        return tuple(foot(robot, name) for name in contacts), [notice]
    if not robot.floating:
        return (), []
    measured = [robot.frame(name).joint for name in log.names("wrench")]
    open_ended = [s for s in robot.sensors if not any(j in list(robot.model.subtrees[s.joint]) for j in measured)]
    if not open_ended:
        return (), []
    names = ", ".join(s.name for s in open_ended)
    text = f"the parts below {names} are taken to be in contact, and nothing else: name the feet if that is not so"
    return tuple(Foot(robot.frames[s.link], True, 0.0, np.zeros(3)) for s in open_ended), [
        note("feet-assumed", names, text, feet=None)
    ]


def _sensors(
    description: Description, base: Base, lock: Mapping[str, float], logs: Sequence[Log]
) -> dict[str, tuple[str, ...]]:
    """Force–torque sensors and their measured components; refused where logs differ or a joint is not fixed."""
    every = [{s: tuple(c for c in WRENCH if log.has(f"sensor.{s}.{c}")) for s in log.names("sensor")} for log in logs]
    findings = []
    for log, sensors in zip(logs, every, strict=True):
        findings += find_welds(description, lock, sensors, base, log.source)[1]
        if sensors != every[0]:
            what = f"has other sensor columns than {logs[0].source}"
            findings.append(
                Finding("logs-differ", f"{log.source}, sensors", what, "Give logs with the same sensor columns")
            )
    if findings:
        raise LogError(findings)
    return every[0]


def _commanded(robot: Robot, logs: Sequence[Log]) -> tuple[str, ...]:
    """Joints whose torque is commanded, not measured, in any log."""
    named = {joint for log in logs for joint in log.metadata.get("commanded", ())}
    return tuple(joint for joint in robot.joints if joint in named)


def _describe_commanded(robot: Robot, commanded: Sequence[str]) -> list[Finding]:
    if not commanded:
        return []
    whose = "all joints" if len(commanded) == len(robot.joints) else ", ".join(commanded)
    why = "the delay, the gain error and the saturation of the drives bias the estimate"
    text = f"the torque of {whose} is commanded, not measured: {why}"
    return [note("torque-commanded", whose, text, joints=commanded)]


def _frames(robot: Robot, log: Log) -> Iterator[Finding]:
    """Findings about columns and metadata that name a frame which the robot does not have."""
    named = [(f"{kind}.{frame}", frame) for kind in ("wrench", "contact") for frame in log.names(kind)]
    if robot.floating:
        named += [(key, str(log.metadata[key])) for key in ("imu_frame", "quaternion_frame") if key in log.metadata]
    for column, frame in named:
        if frame not in robot.frames:
            what, fix = f"{frame!r} is not in {robot.name}", "Name a link, joint or site of the description"
            yield unknown_name(f"{log.source}, {column}", what, frame, robot.frames, fix, most=3)


def _counted_twice(log: Log) -> Iterator[Finding]:
    if log.names("plate") and log.names("sensor"):
        where = f"{log.source}, plate.{log.names('plate')[0]} and sensor.{log.names('sensor')[0]}"
        what = "may measure the same force twice: it is not known which body stands on a plate"
        yield Finding("force-measured-twice", where, what, "Leave the columns of one of the two out")


def _base_and_equations(
    description: Description, logs: Sequence[Log], options: EquationOptions
) -> tuple[Base, Equations]:
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
            fix = "Use equations='joint', or base='floating'"
            remedy = {"base": "floating"}
            raise UsageError(Finding("option-conflict", f"equations={equations}", "needs a floating base", fix, remedy))
        if equations == "contact-free" and not (options.feet or log.names("contact") or sensors):
            what, fix = "needs the frames that may touch the ground", "Name the feet (feet=[…])"
            raise UsageError(Finding("feet-missing", "equations=contact-free", what, fix, {"feet": None}))
        if equations in ("full", "joint") and base == "floating" and log.names("plate") and not log.names("wrench"):
            what = (
                "cannot use force plates, since it is not known which body stands on them, and the log has no other "
                "contact force"
            )
            fix = "Use equations='base', or equations='contact-free' and name the feet"
            remedy = {"equations": "base"}
            raise UsageError(Finding("plate-unusable", f"equations={equations}", what, fix, remedy))
        return base, equations
    torques = bool(log.names("tau") or log.names("current"))
    if base == "fixed":
        if options.feet and not sensors:
            what, fix = "are of no use on a fixed base", "Leave feet out, or use base='floating'"
            where, remedy = f"feet={','.join(options.feet)}", {"base": "floating"}
            raise UsageError(Finding("option-conflict", where, what, fix, remedy))
        return base, "joint" if torques or not sensors else "base"
    if options.feet and torques:
        return base, "contact-free"
    if options.feet and (log.names("wrench") or log.names("plate")):
        what = "needs contact-free equations, and these need joint torques, which the log lacks"
        where, fix = f"feet={','.join(options.feet)}", "Leave feet out to use the measured forces"
        raise UsageError(Finding("torques-missing", where, what, fix))
    if log.names("wrench"):
        return base, "full" if torques else "base"
    if sensors:
        return base, "contact-free" if torques else "base"
    if log.names("plate"):
        return base, "base"
    if log.names("contact"):
        return base, "contact-free"
    raise UsageError(
        Finding(
            "feet-missing",
            log.source,
            "has a floating base but neither contact wrenches nor feet",
            "Name the feet (feet=[…]), or use equations='full' if nothing touches the robot",
            {"feet": None},
        )
    )
