"""All checks of one log, one after another: the same for ``check``, ``identify`` and ``load``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.check.subject import Subject, all_checks
from steelyard.errors import Finding


@dataclass(frozen=True)
class Diagnosis:
    """Findings about a log, and what was measured to get them."""

    findings: tuple[Finding, ...]
    facts: dict[str, str] = field(default_factory=dict)  # for people
    data: dict[str, Any] = field(default_factory=dict)  # for machines


def diagnose(subject: Subject) -> Diagnosis:
    """Run every check; those that need an otherwise good log run only where no other found an error."""
    findings, facts, data = list[Finding](), dict[str, str](), dict[str, Any]()
    for check in all_checks():
        if not (check.after_others and any(f.severity == "error" for f in findings)):
            facts |= check.facts(subject)
            data |= check.data(subject)
            findings += check.find(subject)
    return Diagnosis(tuple(findings), facts, data)
