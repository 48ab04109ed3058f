"""Logs on their way in: what does not fit a robot is refused by its setup, what cannot be believed is refused here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.check.supporting_force import LOOKED_AT, weight_findings
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
) -> Setup:
    """The setup of these logs, once their units and the forces that hold the robot can be believed.

    Args:
        description: The robot.
        logs: Logs to learn from.
        options: Which equations are asked for.
        held_out: Logs that are only predicted.
        load: Link that carries an unknown load in logs that are ``loaded``.
    """
    setup = Setup.of(description, logs, options, held_out=held_out, load=load)
    every = [*logs, *held_out]
    if bad := [f for log in every for f in (*unit_findings(setup.robot, log), *_silent(log))]:
        raise LogError(bad)
    supported = [weight_findings(setup, log, max(LOOKED_AT // len(every), 40)) for log in every]
    if bad := [f for findings, _ in supported for f in findings]:
        raise LogError(bad)
    return replace(setup, notices=(*setup.notices, *(n for _, notices in supported for n in notices)))


def _silent(log: Log) -> Iterator[Finding]:
    driven = [c for c in log.columns if c.startswith(("tau.", "current."))]
    if driven and not any(np.any(log.columns[c]) for c in driven):
        yield Finding("todo", f"{log.source}, tau", "is zero throughout", "Log the torques that moved the robot")
