"""Torques held against what the described robot would need: sign, gear ratio, motor side.

Descriptions are wrong by tens of percent, not by factors: a factor far from one is a unit, a gear or a sign. On joint
rows each measured torque is regressed on the predicted one, ``τ_j = g_j (Yθ)_j + friction``; friction alone tells the
sign too, since it can only take power. On contact-free rows all joints are regressed at once, with unknown foot forces
projected out: ``N Yθ = Σ_j γ_j N_j τ_j``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from steelyard.check.friction import rubbing
from steelyard.check.gravity import gravity_findings
from steelyard.check.subject import Check, Subject
from steelyard.check.torque_balance import TorqueBalance, left, long_run, partial
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.spatial import Array

EXPLAINED = 0.6  # the prediction must explain this share of what friction and offset leave, or it says nothing;
BELIEVED = 1.5  # nor does it where its size is less than so many times what a description may be wrong by
SMALLEST = 0.2  # a torque of less than this share of what is needed is the motor's, or lacks a unit
ALL_EXPLAINED = 0.8  # share of contact-free rows that gains of all joints must explain together
LIGHT = 3.0  # times: no robot is that much lighter than described; where most joints say so, all gears are missing
FIRM = 5.0  # standard deviations by which such a gain must be away from what is still good
FREE_GAIN = 3.0  # standard deviation that such gains have about 1 before anything is measured


class JointGain(NamedTuple):
    """What one joint's torque says about itself."""

    gain: float  # measured for each predicted
    sure: bool  # the prediction explains the torque, and no likely error of the description changes its sign
    rubs: int  # which sign friction tells

    @property
    def sign(self) -> int:
        """1 as it should be, −1 reversed, 0 not told or told both ways."""
        return int(np.sign(self.rubs + self.sure * np.sign(self.gain)))


def torque_findings(balance: TorqueBalance, log: Log) -> list[Finding]:
    """Joints whose torque has the wrong sign or is a factor off; gravity that points elsewhere."""
    root = np.linalg.inv(priors.make(balance.robot, Columns(balance.columns.bodies)).K)
    if not balance.separate:
        return list(_together(balance, log, root))
    told = [_told(balance, j, root) for j in range(len(balance.robot.joints))]
    if found := gravity_findings(balance, log):
        return found
    judged = zip(balance.robot.joints, told, strict=True)
    return [f for joint, one in judged if (f := _judge(log, joint, one.gain if one.sure else None, one.sign))]


def _told(balance: TorqueBalance, j: int, root: Array) -> JointGain:
    """``root`` (n, n): A with AAᵀ the covariance of what the description says."""
    joint, measured, predicted = balance.robot.joints[j], balance.measured[:, j, j], balance.predicted[:, j]
    v, dry, a, one = (balance.term(joint, t)[:, j] for t in ("viscous", "coulomb", "armature", "offset"))
    gain, explained = partial(predicted, measured, np.column_stack([v, dry, a, one]))
    wrong = balance.Y[:, j, : len(root)] @ root
    seen = left(np.column_stack([v, dry, a, one]), np.column_stack([predicted, wrong]))
    believed = np.linalg.norm(seen[:, 0]) > BELIEVED * np.linalg.norm(seen[:, 1:])
    rubs = rubbing(measured, v, dry, np.column_stack([predicted, a, one]))
    return JointGain(gain, bool(believed and explained > EXPLAINED), rubs)


def _judge(log: Log, joint: str, gain: float | None, sign: int, limit: float = SMALLEST) -> Finding | None:
    """``gain``: measured for each needed, None where nothing tells it; ``sign``: 0 where nothing tells that."""
    column = f"tau.{joint}" if log.has(f"tau.{joint}") else f"current.{joint}"
    given = log.metadata.get("gains", {}).get(joint)
    if column.startswith("current") and given is None:
        gain = None  # whatever it is, it will be identified
    if gain is not None and abs(gain) < limit:
        what = f"is {gain:.3g} times what the robot needs: motor side, or a gear ratio or a unit is missing"
        whose = column if column.startswith("tau") else f"the drive gain of {joint}, {given:.4g} N·m/A,"
        return Finding(
            "todo", f"{log.source}, {column}", what, f"Multiply {whose} by the gear ratio (about {1 / gain:.3g})"
        )
    if sign >= 0:
        return None
    what = "has the wrong sign: with it friction would drive the joint instead of braking it"
    if gain is not None:
        what = f"is {gain:.2g} times what the robot needs: its sign is reversed"
    return Finding("todo", f"{log.source}, {column}", what, f"Negate {column}")


def _together(balance: TorqueBalance, log: Log, root: Array) -> Iterator[Finding]:
    """Gains γ of all joints at once, where rows mix their torques; ``root`` as below."""
    joints, J = balance.robot.joints, len(balance.robot.joints)
    needed = balance.predicted - balance.other
    scale = np.sqrt(np.mean(needed**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    friction = np.stack([balance.term(j, term) for j in joints for term in ("viscous", "coulomb")], axis=2)
    A = (np.concatenate([balance.measured, friction], axis=2) / scale[:, None]).reshape(needed.size, -1)
    y = (needed / scale).ravel()
    rest = left(A, y)
    if float(rest @ rest) > (1 - ALL_EXPLAINED) * float(y @ y):
        return
    noise = long_run(rest.reshape(needed.shape)) / max(needed.size - A.shape[1], 1)
    size = np.linalg.norm(A, axis=0)
    pull = 1e-12 * size**2
    pull[:J] += noise / FREE_GAIN**2  # towards one; friction is free
    inverse = np.linalg.inv(A.T @ A + np.diag(np.where(size > 0, pull, 1.0)))
    gains = (inverse @ (A.T @ y + pull * (np.arange(len(size)) < J)))[:J]
    wrong = (balance.Y[:, :, : len(root)] / scale[:, None]).reshape(needed.size, -1) @ root
    wide = FIRM * np.sqrt(noise * np.diag(inverse)[:J])
    doubt = np.linalg.norm((inverse @ (A.T @ wrong))[:J], axis=1)  # what errors of the description make of each
    middle = float(np.median(gains))
    typical, most = middle, 1 / SMALLEST  # a robot that is lighter or heavier than described changes all of them
    if not 1 / LIGHT < middle < LIGHT:
        typical, most = 1.0, LIGHT / 2
    for joint, gain, sure, likely in zip(joints, gains / typical, wide / typical, doubt / typical, strict=True):
        if gain + sure + BELIEVED * likely < 0 or gain - sure - likely > most:
            finding = _judge(log, joint, float(1 / gain), int(np.sign(gain)), 1 / most)
            if finding is not None:
                yield finding


class Torques(Check):
    """Torques of another sign or size than the motion takes; those that are very late have neither to speak of."""

    rank = 40
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """What is wrong, and how to mend it."""
        both = subject.balance
        if both is None or (subject.lag is not None and subject.lag.beyond):
            return []
        return torque_findings(both, subject.log)
