"""All checks of one log, one after another: the same for ``check``, ``identify`` and ``load``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.check.opening import refuse
from steelyard.check.subject import Subject, all_checks
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.errors import Finding
from steelyard.log.log import Log


@dataclass(frozen=True)
class Diagnosis:
    """Findings about a log, and what was measured to get them."""

    findings: tuple[Finding, ...]
    facts: dict[str, str] = field(default_factory=dict)  # for people
    data: dict[str, Any] = field(default_factory=dict)  # for machines


def diagnose(subject: Subject) -> Diagnosis:
    """Run every check; those that need an otherwise good log run only where no other findings an error."""
    findings, facts, data = list[Finding](), dict[str, str](), dict[str, Any]()
    for check in all_checks():
        if not (check.after_others and any(f.severity == "error" for f in findings)):
            facts |= check.facts(subject)
            data |= check.data(subject)
            findings += check.find(subject)
    return Diagnosis(tuple(findings), facts, data)


def diagnose_logs(
    setup: Setup, logs: Iterable[tuple[Log, Sequence[Segment]]], despite: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Diagnose every log, and refuse those with errors.

    Args:
        setup: Robot and equations.
        logs: Each with its segments.
        despite: Codes of errors that are not refused.

    Returns:
        Doubts and notes, and the errors that were overruled.

    Raises:
        LogError: With every other error of any log.
    """
    findings = [f for log, segments in logs for f in diagnose(Subject(setup, log, segments)).findings]
    refuse(findings, despite)
    return tuple(findings)
