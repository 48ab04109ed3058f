"""A load that is picked up or put down within a log.

With all parameters free (``free_fit.py``), an additional body that is there from some time on explains what no constant
robot explains: its columns are those of the body that carries it, set to zero before that time. Carriers are the last
link of an arm and the base of a floating robot. What changes slowly, as friction does when it warms up, is
no body: it leaves most of the residual.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steelyard.check.free_fit import Explained, FreeFit
from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding, Severity
from steelyard.robot.model import Robot
from steelyard.spatial import Array

SPLITS = np.linspace(0.1, 0.9, 17)  # of the rows: times of the change that are tried
RATIO, RATIO_WRONG = 0.6, 0.3  # squared residual with the load, of that without, at most: doubtful, and refused; good
# logs of real robots leave at least 0.78
LEAST, LEAST_WRONG = 0.01, 0.05  # of the robot's mass: loads that are doubtful, and refused
MOST = 1.0  # of the robot's mass: a heavier one is no load
CLEAR = 6.0  # standard deviations between the load's mass and zero


class Change(NamedTuple):
    """A load from some time on."""

    time: float  # s
    mass: float  # kg, negative where it is put down
    sigmas: float  # between that mass and zero
    ratio: float  # squared residual with it, of that without


class PayloadChange(Check):
    """A load that comes or goes within the log; judged where nothing else is wrong."""

    rank = 64
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        fit = subject.free_balance
        if fit is None or not subject.moves:
            return []
        robot, log = fit.balance.robot, subject.log
        total = float(sum(b.parameters[0] for b in robot.bodies))
        body = carrier(robot)
        change = payload_change(fit, body)
        if change.ratio > RATIO or change.sigmas < CLEAR or not LEAST * total <= abs(change.mass) <= MOST * total:
            return []
        wrong = change.ratio < RATIO_WRONG and abs(change.mass) > LEAST_WRONG * total
        severity: Severity = "error" if wrong else "doubt"
        word = "more" if change.mass > 0 else "less"
        when = change.time - float(log.time[0])
        what = f"carries {abs(change.mass):.2g} kg {word} on {body} from about {when:.1f} s on"
        remedy = {"time": change.time, "mass": change.mass, "body": body}
        fix = "Split the log there, and identify from the part without the load"
        return [Finding("payload-changes", log.source, what, fix, remedy, severity)]


def carrier(robot: Robot) -> str:
    """Body that a load is most likely put on: the base of a floating robot, else the last link of the longest chain."""
    if robot.floating:
        return robot.bodies[0].name
    return max(robot.bodies, key=lambda b: len(robot.model.supports[b.joint])).name


def payload_change(fit: FreeFit, body: str) -> Change:
    """The best time and mass of a load on a body."""
    columns = fit.Y[:, :, fit.balance.columns.body(body)]
    count = len(fit.rows)
    trials = [(int(share * count), fit.explain(_since(columns, int(share * count)))) for share in SPLITS]
    at, best = min(trials, key=lambda trial: trial[1].ratio)
    return Change(float(fit.time[at]), float(best.values[0]), _mass_sigmas(best), best.ratio)


def _since(columns: Array, row: int) -> Array:
    return np.asarray(columns * (np.arange(len(columns)) >= row)[:, None, None])


def _mass_sigmas(load: Explained) -> float:
    variance = float(load.covariance[0, 0])
    return float(abs(load.values[0]) / np.sqrt(variance)) if np.isfinite(variance) and variance > 0 else 0.0
