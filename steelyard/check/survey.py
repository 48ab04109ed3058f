"""``steelyard check``: whether a description is plausible, whether a log matches it, and which base parameters the log
excites; nothing is identified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.check.checks.sampling import Timing
from steelyard.check.description_lint import check_description, description_findings
from steelyard.check.diagnosis import diagnose
from steelyard.check.excitation import assess_excitation
from steelyard.check.opening import open_logs
from steelyard.check.subject import Subject
from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.errors import Finding, Severity, SteelyardError
from steelyard.log.log import Log
from steelyard.log.log_source import LogSource, MappingSource, as_log
from steelyard.robot.description import Description, RobotSource, read_description

LABELS: dict[Severity, str] = {"error": "to correct", "doubt": "doubtful", "note": "note"}


@dataclass(frozen=True)
class Survey:
    """Findings, measured quantities and verdict of a description, and of a log if one is given.

    Attributes:
        findings: Errors, doubts and notes, each with code, severity and remedy.
        facts: As text: rate, duration, gaps, equations, base parameters …
        notices: What reading changed or left out.
        sentence: The verdict in one sentence.
        data: As numbers: timing, excitation, delay.

    Examples:
        Names as in ``help(steelyard)``.

        >>> survey = sy.check("demo_arm", log)
        >>> survey.exit_code, survey.facts["equations"]
        (0, 'joint')
        >>> [finding.code for finding in sy.check("demo_arm", log.cut(0, 100)).errors]
        ['log-too-short']
    """

    findings: tuple[Finding, ...]
    facts: dict[str, Any]
    notices: tuple[Finding, ...]
    sentence: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings for which ``identify`` refuses the log; the others are doubts and notes."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def exit_code(self) -> int:
        """Of the command line: 0 nothing, 4 doubts only, 3 errors; notes do not count."""
        severities = {f.severity for f in self.findings}
        return 3 if "error" in severities else 4 if "doubt" in severities else 0

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "schema": 1,
            "findings": [f.as_json() for f in self.findings],
            "facts": self.facts,
            "notices": [str(n) for n in self.notices],
            "verdict": self.sentence,
            **{key: self.data.get(key) for key in ("timing", "excitation", "delay")},
        }

    def lines(self, show: Callable[[Finding], str] = str) -> list[str]:
        """As text; ``show`` formats a finding (the command line adds its flags)."""
        shown = [f"{name}: {value}" for name, value in self.facts.items()]
        shown += [f"{LABELS[finding.severity]}: {show(finding)}" for finding in self.findings]
        return [*shown, *(f"note: {n}" for n in self.notices), "", self.sentence]


def survey(
    source: RobotSource,
    log: LogSource | None = None,
    progress: Callable[[str], None] = lambda _: None,
    mapping: MappingSource | None = None,
    topics: Mapping[str, str] | None = None,
    options: EquationOptions | None = None,
) -> Survey:
    """Check a description, and a log against it.

    Args:
        source: Description of the robot, or its name.
        log: The log; None to check the description alone.
        progress: Called with each step.
        mapping: TOML file for foreign logs.
        topics: Topics of a bag, by kind.
        options: Which equations to use.

    Returns:
        Findings, quantities and a verdict; unreadable files are findings too, not errors.
    """
    progress("reading")
    options = options or EquationOptions()
    if log is None:
        return _survey_description(source, options)
    try:
        description, log = read_description(source), as_log(log, mapping, topics)
        setup, refusals = _opened(description, log, options)
        segments, remarks = setup.segments(log, level=True)
    except SteelyardError as error:
        return Survey(error.findings, {}, (), _not_usable(error.findings))
    timing = Timing.of(log)
    facts: dict[str, Any] = {
        "robot": f"{setup.robot.name}, {setup.robot.base} base, {len(setup.robot.bodies)} moving bodies",
        **timing.facts(),
        "equations": setup.equations,
    }
    if setup.robot.sensors:
        facts["sensors"] = ", ".join(f"{s.name} ({' '.join(s.components)})" for s in setup.robot.sensors)
    progress("evaluating the excitation")
    excited = assess_excitation(setup, segments)
    facts["base parameters"] = str(excited)
    if excited.weak:
        facts["poorly excited"] = excited.poorly_excited()
    if quiet := _quiet(setup, segments):
        facts["hardly moving"] = ", ".join(quiet)
    progress("comparing channels")
    diagnosis = diagnose(Subject(setup, log, segments))
    described = description_findings(setup.robot)
    findings, facts = (*refusals, *diagnosis.findings, *described), facts | diagnosis.facts
    data = {"timing": vars(timing), "excitation": excited.as_json(), "delay": None, **diagnosis.data}
    notices = (*_unreported(setup.notices, described), *remarks)
    if any(f.severity == "error" for f in findings):
        return Survey(findings, facts, notices, _not_usable(findings), data)
    share = f"{excited.strong} of {excited.possible} base parameters"
    sentence = f"Usable{_doubts(findings)}: the motion excites {share} strongly."
    if excited.advice:
        sentence += f" To learn more, {'; '.join(motion.help for motion in excited.advice)}."
    return Survey(findings, facts, notices, sentence, data)


def _survey_description(source: RobotSource, options: EquationOptions) -> Survey:
    try:
        robot, findings = check_description(source, read_description(source), options)
    except SteelyardError as error:
        return Survey(error.findings, {}, (), _not_usable(error.findings))
    notices = _unreported(robot.notices, findings)
    judged = sum(robot.has_shape(body) for body in robot.bodies)
    facts = {
        "robot": f"{robot.name}, {robot.base} base, {len(robot.bodies)} moving bodies",
        "mass": f"{sum(float(b.parameters[0]) for b in robot.bodies):.4g} kg in the moving bodies",
        "shapes": f"of {judged} bodies, whose inertia is judged by them",
    }
    if any(f.severity == "error" for f in findings):
        return Survey(tuple(findings), facts, notices, _not_usable(findings))
    sentence = f"Usable{_doubts(findings)}: the description is physically consistent."
    return Survey(tuple(findings), facts, notices, sentence)


def _unreported(notices: Sequence[Finding], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Notices without the one on rounded angles, where these are findings."""
    reported = {f.code for f in findings} & {"angle-rounded"}
    return tuple(n for n in notices if n.code not in reported)


def _not_usable(findings: Sequence[Finding]) -> str:
    count = sum(f.severity == "error" for f in findings)
    return f"Not usable yet: {count} thing{'s' if count > 1 else ''} to correct."


def _doubts(findings: Sequence[Finding]) -> str:
    count = sum(f.severity == "doubt" for f in findings)
    return f", with {count} doubt{'s' if count > 1 else ''}" if count else ""


def _opened(description: Description, log: Log, options: EquationOptions) -> tuple[Setup, tuple[Finding, ...]]:
    """The setup, and why identification refuses the description, whose bodies are then repaired."""
    try:
        return open_logs(description, [log], options), ()
    except SteelyardError as error:
        if not any("repair_prior" in f.remedy for f in error.findings):
            raise
        return open_logs(description, [log], replace(options, repair_prior=True)), error.findings


def _quiet(setup: Setup, segments: Sequence[Segment]) -> list[str]:
    """Joints that hardly move: less than 0.1 rad (or m) or never faster than 0.05 rad/s (or m/s)."""
    q, v = np.vstack([s.q for s in segments]), np.vstack([s.v for s in segments])
    still = (np.ptp(q, axis=0) < 0.1) | (np.abs(v).max(axis=0) < 0.05)
    return [j for j, s in zip(setup.robot.joints, still, strict=True) if s]
