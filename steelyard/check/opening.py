"""Opening of logs: those that do not match the robot, or have wrong units or contact forces, are refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.check.supporting_force import SAMPLES, weight_findings
from steelyard.check.units import unit_findings
from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.setup import Setup
from steelyard.errors import Finding, LogError
from steelyard.log.log import Log
from steelyard.robot.description import Description


def open_logs(
    description: Description,
    logs: Sequence[Log],
    options: EquationOptions,
    *,
    held_out: Sequence[Log] = (),
    load: str | None = None,
    despite: Collection[str] = (),
) -> Setup:
    """Make the setup of these logs, and refuse wrong units and contact forces that do not carry the robot.

    Args:
        description: The robot.
        logs: Logs to identify from.
        options: Which equations to use.
        held_out: Logs that are only predicted.
        load: Link that carries an unknown load in logs that are ``loaded``.
        despite: Codes of findings that are not refused; they remain among the setup's notices.

    Raises:
        LogError: With every finding about units and forces.
    """
    setup = Setup.of(description, logs, options, held_out=held_out, load=load)
    every = [*logs, *held_out]
    findings = [f for log in every for f in (*unit_findings(setup.robot, log), *_zero_torques(log))]
    refuse(findings, despite)
    supported = [weight_findings(setup, log, max(SAMPLES // len(every), 40)) for log in every]
    findings += [f for about_forces, _ in supported for f in about_forces]
    refuse(findings, despite)
    return replace(setup, notices=(*setup.notices, *findings, *(n for _, notices in supported for n in notices)))


def refuse(findings: Sequence[Finding], despite: Collection[str] = ()) -> None:
    """Raise every error among the findings whose code is not overruled."""
    if bad := [f for f in findings if f.severity == "error" and f.code not in despite]:
        raise LogError(bad)


def _zero_torques(log: Log) -> Iterator[Finding]:
    driven = [c for c in log.columns if c.startswith(("tau.", "current."))]
    if driven and not any(np.any(log.columns[c]) for c in driven):
        yield Finding("torque-all-zero", f"{log.source}, tau", "is zero throughout", "Log the measured joint torques")
