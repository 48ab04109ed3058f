"""Torques that are delayed relative to the motion (``check/delay.py``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.check.delay import delay_findings
from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding


class LateTorques(Check):
    """A delay of the torques, or one that changes through the log."""

    rank = 90
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        lag, filter = subject.lag, subject.setup.filter
        if lag is None or filter is None or not subject.moves:
            return []
        findings = delay_findings(subject.log, lag, filter.delay)
        if subject.setup.commanded:  # a drive obeys later than its law is evaluated: known of such logs, not a fault
            findings = [replace(f, severity="doubt") for f in findings]
        return findings

    def facts(self, subject: Subject) -> dict[str, str]:
        """The delay, as text."""
        return {} if subject.lag is None else {"torque delay": str(subject.lag)}

    def data(self, subject: Subject) -> dict[str, Any]:
        """The delay, as data."""
        return {} if subject.lag is None else {"delay": subject.lag.as_json()}
