"""Measured torques compared with those that the described robot needs: sign, gear ratio, motor side.

Descriptions are wrong by tens of percent, not by factors: a factor far from one is a unit, a gear or a sign. On joint
rows each measured torque is regressed on the predicted one, ``τ_j = g_j (Yθ)_j + friction``; friction alone determines
the sign too, since it only dissipates. On contact-free rows all joints are regressed at once, with unknown foot forces
projected out: ``N Yθ = Σ_j γ_j N_j τ_j``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from steelyard.check.friction import friction_sign
from steelyard.check.gravity import gravity_findings
from steelyard.check.subject import Check, Subject
from steelyard.check.torque_balance import TorqueBalance, long_run, partial, residual
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.spatial import Array

EXPLAINED = 0.6  # least share of the torque without friction and offset that the prediction must explain …
BELIEVED = 1.5  # … and its least size, in likely errors of the description, for a gain to be inferred
SMALLEST = 0.2  # a torque below this share of the predicted one is on the motor side, or in another unit
ALL_EXPLAINED = 0.8  # least share of contact-free rows that the gains of all joints must explain together
LIGHT = 3.0  # no robot is lighter than described by this factor: a median gain beyond it means all gears are missing
FIRM = 5.0  # standard deviations between such a gain and the nearest acceptable one
FREE_GAIN = 3.0  # prior standard deviation of such gains about 1


class JointGain(NamedTuple):
    """Gain of one joint's torque, and the sign that friction implies."""

    gain: float  # measured / predicted torque
    reliable: bool  # the prediction explains the torque, and no likely error of the description changes its sign
    friction_sign: int  # 1, −1, or 0 where there is too little friction

    @property
    def sign(self) -> int:
        """1 correct, −1 reversed, 0 unknown or contradictory."""
        return int(np.sign(self.friction_sign + self.reliable * np.sign(self.gain)))


def torque_findings(balance: TorqueBalance, log: Log, moves: bool = True) -> list[Finding]:
    """Joints whose torque has the wrong sign or scale; gravity in another direction than described."""
    root = np.linalg.inv(priors.make(balance.robot, Columns(balance.columns.bodies)).K)
    if not balance.separate:
        return list(_all_gains(balance, log, root))
    if moves and (findings := gravity_findings(balance, log)):
        return findings
    gains = {joint: _joint_gain(balance, j, root) for j, joint in enumerate(balance.robot.joints)}
    judged = (_judge(log, joint, g.gain if g.reliable else None, g.sign) for joint, g in gains.items())
    return [finding for finding in judged if finding]


def _joint_gain(balance: TorqueBalance, j: int, root: Array) -> JointGain:
    """Regress one joint's torque; ``root`` (n, n): A with AAᵀ the covariance of the description's parameters."""
    joint, measured, predicted = balance.robot.joints[j], balance.measured[:, j, j], balance.predicted[:, j]
    v, dry, a, one = (balance.term(joint, t)[:, j] for t in ("viscous", "coulomb", "armature", "offset"))
    gain, explained = partial(predicted, measured, np.column_stack([v, dry, a, one]))
    error = balance.Y[:, j, : len(root)] @ root
    rest = residual(np.column_stack([v, dry, a, one]), np.column_stack([predicted, error]))
    believed = np.linalg.norm(rest[:, 0]) > BELIEVED * np.linalg.norm(rest[:, 1:])
    sign = friction_sign(measured, v, dry, np.column_stack([predicted, a, one]))
    return JointGain(gain, bool(believed and explained > EXPLAINED), sign)


def _judge(log: Log, joint: str, gain: float | None, sign: int, limit: float = SMALLEST) -> Finding | None:
    """``gain``: measured / needed torque, None if unknown; ``sign``: 0 if unknown; ``limit``: the least good gain."""
    column = f"tau.{joint}" if log.has(f"tau.{joint}") else f"current.{joint}"
    given = log.metadata.get("gains", {}).get(joint)
    if column.startswith("current") and given is None:
        gain = None  # it is identified
    if gain is not None and abs(gain) < limit:
        what = f"is {gain:.3g} times the torque that the robot needs: motor side, or a gear ratio or unit is missing"
        factor = column if column.startswith("tau") else f"the drive gain of {joint}, {given:.4g} N·m/A,"
        fix = f"Multiply {factor} by the gear ratio (about {1 / gain:.3g})"
        return Finding("torque-too-small", f"{log.source}, {column}", what, fix, {"column": column, "scale": 1 / gain})
    if sign >= 0:
        return None
    what = "has the wrong sign: friction would drive the joint instead of braking it"
    if gain is not None:
        what = f"is {gain:.2g} times the torque that the robot needs: its sign is reversed"
    return Finding("sign-reversed", f"{log.source}, {column}", what, f"Negate {column}", {"negate": column})


def _all_gains(balance: TorqueBalance, log: Log, root: Array) -> Iterator[Finding]:
    """Regress the gains γ of all joints at once, where rows mix their torques; ``root`` as in ``_joint_gain``."""
    joints, J = balance.robot.joints, len(balance.robot.joints)
    needed = balance.predicted - balance.other
    scale = np.sqrt(np.mean(needed**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    friction = np.stack([balance.term(j, term) for j in joints for term in ("viscous", "coulomb")], axis=2)
    A = (np.concatenate([balance.measured, friction], axis=2) / scale[:, None]).reshape(needed.size, -1)
    y = (needed / scale).ravel()
    rest = residual(A, y)
    if float(rest @ rest) > (1 - ALL_EXPLAINED) * float(y @ y):
        return
    noise = long_run(rest.reshape(needed.shape)) / max(needed.size - A.shape[1], 1)
    size = np.linalg.norm(A, axis=0)
    ridge = 1e-12 * size**2
    ridge[:J] += noise / FREE_GAIN**2  # towards one; friction is free
    inverse = np.linalg.inv(A.T @ A + np.diag(np.where(size > 0, ridge, 1.0)))
    gains = (inverse @ (A.T @ y + ridge * (np.arange(len(size)) < J)))[:J]
    error = (balance.Y[:, :, : len(root)] / scale[:, None]).reshape(needed.size, -1) @ root
    half_width = FIRM * np.sqrt(noise * np.diag(inverse)[:J])
    bias = np.linalg.norm((inverse @ (A.T @ error))[:J], axis=1)  # from likely errors of the description
    middle = float(np.median(gains))
    typical, most = middle, 1 / SMALLEST  # a robot that is lighter or heavier than described changes all of them
    if not 1 / LIGHT < middle < LIGHT:
        typical, most = 1.0, LIGHT / 2
    each = zip(joints, gains / typical, half_width / typical, bias / typical, strict=True)
    for joint, gain, width, error_bias in each:
        if gain + width + BELIEVED * error_bias < 0 or gain - width - error_bias > most:
            finding = _judge(log, joint, float(1 / gain), int(np.sign(gain)), 1 / most)
            if finding is not None:
                yield finding


class Torques(Check):
    """Torques with a wrong sign or scale; not judged while their delay is beyond the search range."""

    rank = 40
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        balance = subject.balance
        if balance is None or (subject.lag is not None and subject.lag.beyond):
            return []
        return torque_findings(balance, subject.log, subject.moves)
