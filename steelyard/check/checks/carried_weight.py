"""Contact forces that do not carry the robot: their mean vertical part, over g, is its mass.

Over a log that neither falls nor flies the vertical force is M (g + z̈), with M the mass. A description may be wrong
about M by a third, and an unknown load may add as much; beyond that a contact is not measured, somebody or a crane
holds the robot, or a force has the wrong scale. With M free, ``Σ_f c_f F_f = g + z̈`` gives the relative scale of the
feet wherever load moves from one to another: all c_f must be 1/M. Averages
over half a second leave out z̈.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.check.supporting_force import SupportingForce, supporting_force
from steelyard.errors import Finding, Severity
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

DOUBTED, WRONG = (
    1.5,
    3.0,
)  # ratio to the description's mass, either way: a load of 30 % and an error of 15 % are no fault
UNEVEN = 1.25  # ratio between the scales of two feet, either way, that is a doubt …
CLEAR = 4.0  # … where it is as many standard deviations away from one …
EXPLAINED = 0.5  # … and leaves at most this share of the squared changes of the total force …
STEADY = 0.05  # … which then are at most this share of the weight (rms): a base that leaps is not judged
TRANSFERRED = 0.3  # of the weight: least range of a foot's force for its scale to be inferred
WINDOW = 0.5  # s over which forces are averaged: slower than the steps' impacts, which act on the base late
LEAST = 12  # windows that are needed to compare feet


class CarriedWeight(Check):
    """Feet or plates that do not carry the robot's weight, or one of them with another scale."""

    rank = 25

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        log = subject.log
        step = max(1, round(WINDOW / 5 / float(np.median(np.diff(log.time)))))
        rows = np.arange(0, len(log), step)
        force = supporting_force(subject.setup, log, rows)
        if force is None or not force.judged:
            return []
        return list(_total(f"{log.source}, {force.kinds}", force)) or list(_feet(log.source, log.time[rows], force))


def _total(where: str, force: SupportingForce) -> Iterator[Finding]:
    ratio = force.carried / force.mass
    if 1 / DOUBTED < ratio < DOUBTED:
        return
    what = f"carries {force.carried:.3g} kg in total, of a robot of {force.mass:.3g} kg"
    fix = "Log all contacts, release the robot from what holds it, or correct the scale of the forces"
    severity: Severity = "doubt" if 1 / WRONG < ratio < WRONG else "error"
    remedy = {"carried": force.carried, "mass": force.mass}
    yield Finding("weight-not-carried", where, what, fix, remedy, severity)


def _feet(source: str, time: Array, force: SupportingForce) -> Iterator[Finding]:
    """Feet whose force has another scale than that of the others, where the weight is shifted between them."""
    windows = np.floor((time - time[0]) / WINDOW).astype(int)
    counts = np.bincount(windows)
    means = {c: (np.bincount(windows, f) / np.maximum(counts, 1))[counts > 0] for c, f in force.vertical.items()}
    weight = force.carried * GRAVITY
    means = {c: f / weight for c, f in means.items()}
    moving = {c: f for c, f in means.items() if np.ptp(f) > TRANSFERRED}
    if len(moving) < 2 or len(next(iter(means.values()))) < LEAST:
        return
    total = sum(means.values(), np.zeros(1))
    given = _residual(total[:, None])
    trials = {column: _residual(np.column_stack([total, f])) for column, f in moving.items()}
    column = min(trials, key=lambda c: trials[c].squares)
    best = trials[column]
    if best.squares > EXPLAINED * given.squares or best.squares > STEADY**2 * len(total):
        return
    c, d, error = *map(float, best.scale), float(best.std[1])
    if abs(d) < CLEAR * error or 1 / UNEVEN < (c + d) / c < UNEVEN:
        return
    names = f"{column} and {next(x for x in moving if x != column)}" if len(moving) == 2 else column
    what = f"is {c / (c + d):.2g} times too large for the weight that is shifted to it"
    if len(moving) == 2:
        what += f", or the other {(c + d) / c:.2g} times"
    fix = "Correct the scale of the force, or log what else carries the robot"
    remedy = {"column": column, "scale": (c + d) / c}
    yield Finding("force-scale", f"{source}, {names}", what, fix, remedy, "doubt")


class _Fit(NamedTuple):
    scale: Array  # (k,) coefficients of the columns that make one
    std: Array  # (k,)
    squares: float  # sum of the squared residual


def _residual(columns: Array) -> _Fit:
    """Regress one, the weight over itself, on forces."""
    inverse = np.linalg.pinv(columns.T @ columns)
    scale = inverse @ columns.sum(axis=0)
    e = 1 - columns @ scale
    squares = float(e @ e)
    return _Fit(scale, np.sqrt(np.maximum(np.diag(inverse), 0.0) * squares / max(len(e) - len(scale), 1)), squares)
