"""Torques that are delayed relative to the motion (``check/delay.py``)."""

from __future__ import annotations

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
        return (
            [] if lag is None or filter is None or not subject.moves else delay_findings(subject.log, lag, filter.delay)
        )

    def facts(self, subject: Subject) -> dict[str, str]:
        """The delay, as text."""
        return {} if subject.lag is None else {"torque delay": str(subject.lag)}

    def data(self, subject: Subject) -> dict[str, Any]:
        """The delay, as data."""
        return {} if subject.lag is None else {"delay": subject.lag.as_json()}
