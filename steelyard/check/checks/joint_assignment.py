"""Columns of a fixed robot under the wrong joint's name, or of a joint whose positive direction is the other one.

Two joints may be exchanged in their positions, their torques or both; one joint may count the other way in its
positions or in both. Each is another set of equations, fitted with all parameters free (``free_fit.py``): where one of
them leaves a small part of the residual of the log as it is, that is the fault. A torque alone that is reversed is
found by ``torques.py``. A wrist that is symmetric about its axis fits either way, with the mirrored parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from steelyard.check.free_fit import centres, target
from steelyard.check.subject import Check, Subject
from steelyard.check.torque_balance import TorqueBalance, basis
from steelyard.equations.columns import FRICTION
from steelyard.equations.dynamics import Dynamics
from steelyard.errors import Finding, Severity
from steelyard.log.log import Log
from steelyard.spatial import Array

WRONG, DOUBTED = 0.3, 0.6  # squared residual of the best hypothesis, of that as logged; at least 0.89 on good logs
FLOOR = (
    0.02  # of each torque's rms: residuals below are as good as none, so that exact logs are not compared by rounding
)
MOST_ROWS = 120  # of a balance that are used
MOST_JOINTS = 10  # of an arm; of more joints, as of four legs, only neighbours would be confused


class JointAssignment(Check):
    """Swapped joints, and joints that count the other way."""

    rank = 60
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        fit = subject.free_fit
        if fit is None or not subject.moves or not 2 <= len(fit.balance.robot.joints) <= MOST_JOINTS:
            return []
        trials = Trials(fit.balance)
        if trials.floor > DOUBTED * (trials.given + trials.floor):
            return []  # no hypothesis can leave so much less
        ratios = {h: (trials.squares(h) + trials.floor) / (trials.given + trials.floor) for h in trials.hypotheses()}
        best = min(ratios, key=lambda h: ratios[h])
        return [] if ratios[best] > DOUBTED else [_finding(subject.log, best, ratios[best])]


@dataclass(frozen=True)
class Hypothesis:
    """What the log's columns of some joints may really be."""

    joints: tuple[str, ...]  # one that is reversed, or two that are exchanged
    positions: bool  # whether their positions are
    torques: bool  # whether their torques are

    @property
    def columns(self) -> list[str]:
        """Kinds of columns."""
        return [kind for kind, wrong in (("q", self.positions), ("tau", self.torques)) if wrong]


class Trials:
    """Squared residuals of some rows of a balance, as logged and under hypotheses."""

    def __init__(self, balance: TorqueBalance):
        count = len(balance.time)
        rows = np.unique(np.linspace(0, count - 1, min(count, MOST_ROWS)).astype(int))
        self.robot, self.bodies = balance.robot, balance.columns.bodies
        self.states, self.torque = centres(balance, rows), target(balance)[rows]
        self.scale = np.maximum(np.sqrt(np.mean(self.torque**2, axis=0)), 1e-12)
        terms = [[balance.term(joint, law)[rows, j] for law in FRICTION["all"]] for j, joint in enumerate(self.joints)]
        self.terms = np.array(terms)  # (J, laws, T)
        self.floor = FLOOR**2 * self.torque.size
        self._regressors: dict[tuple[str, ...], Array] = {}
        self.given = self.squares(Hypothesis((), False, False))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names, in the robot's order."""
        return tuple(self.robot.joints)

    def hypotheses(self) -> Iterator[Hypothesis]:
        """Every joint reversed and every pair exchanged; the reversed torque alone is another check's."""
        for joint in self.joints:
            yield from (Hypothesis((joint,), True, torques) for torques in (False, True))
        for pair in combinations(self.joints, 2):
            yield from (Hypothesis(pair, *which) for which in ((True, False), (False, True), (True, True)))

    def squares(self, h: Hypothesis) -> float:
        """Squared residual, each torque scaled by its rms."""
        J = len(self.joints)
        order, sign = self._order(h)
        moved, torqued = (np.where(x, order, np.arange(J)) for x in (h.positions, h.torques))
        y, scale = self.torque[:, torqued], self.scale[torqued]
        if h.torques:
            y = y * sign
        laws = self.terms.shape[1]
        Z = np.zeros((len(y), J, laws * J))
        for j in range(J):
            Z[:, j, laws * j : laws * (j + 1)] = self.terms[moved[j]].T
        A = np.concatenate([self._regressor(h), Z], axis=2) / scale[:, None]
        Q = basis(A.reshape(y.size, -1))
        r = (y / scale).ravel()
        r = r - Q @ (Q.T @ r)
        return float(r @ r)

    def _order(self, h: Hypothesis) -> tuple[Array, Array]:
        at, order, sign = (
            [self.joints.index(j) for j in h.joints],
            np.arange(len(self.joints)),
            np.ones(len(self.joints)),
        )
        if len(at) == 2:
            order[at] = order[at[::-1]]
        sign[at] = -1.0 if len(at) == 1 else 1.0
        return order, sign

    def _regressor(self, h: Hypothesis) -> Array:
        key = h.joints if h.positions else ()
        if key not in self._regressors:
            order, sign = self._order(replace(h, joints=key))
            s = self.states
            s = replace(s, q=sign * s.q[:, order], v=sign * s.v[:, order], a=sign * s.a[:, order])
            self._regressors = {
                (): self._regressors.get((), np.empty(0)),
                key: Dynamics(self.robot, s).regressor(self.bodies),
            }
        return self._regressors[key]


def _finding(log: Log, h: Hypothesis, ratio: float) -> Finding:
    severity: Severity = "error" if ratio < WRONG else "doubt"
    names = [f"{kind}.{joint}" for joint in h.joints for kind in h.columns]
    less = f"{100 * ratio:.0f} % of the squared residual, with all parameters free"
    where = f"{log.source}, {' and '.join(names)}"
    if len(h.joints) == 1:
        what = f"count the other way than the description's joint: reversed they leave {less}"
        return Finding("joint-reversed", where, what, f"Negate {' and '.join(names)}", {"negate": names}, severity)
    what = f"belong to each other's joint: exchanged they leave {less}"
    fix = f"Exchange {' and '.join(h.columns)} of {' and '.join(h.joints)}"
    return Finding("joints-swapped", where, what, fix, {"swap": list(h.joints), "columns": h.columns}, severity)
