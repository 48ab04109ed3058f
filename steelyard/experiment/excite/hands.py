"""Hands on straight paths: task-space motion between joint-space targets.

Interpolated joints take a hand along some curve. At each instant the arm's joints are corrected by the least amount
that brings the hand onto the straight line (damped least squares), so that the targets themselves stay unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.experiment.excite.convex_pieces import kinematics_at
from steelyard.experiment.excite.footstep_schedule import interpolate_at_rest
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.spatial import Array

ARM = 4  # least number of joints of an arm, and number of its joints that are corrected
STEPS = 4
DAMPED = 0.02  # m, damping: directions with smaller singular values are hardly followed


@dataclass(frozen=True)
class Hand:
    """The end of an arm."""

    joint: int  # of the Pinocchio model
    arm: Array  # indices of robot.joints, the ones nearest to the trunk


def find_hands(stance: HumanoidStance) -> tuple[Hand, ...]:
    """Ends of the upper body's chains that have at least ``ARM`` joints of their own."""
    robot = stance.robot
    inner = set(robot.model.parents)
    ends = [b for b in robot.bodies if b.joint not in inner and b.joint not in {leg.sole.joint for leg in stance.legs}]
    chains = [robot.joints_above(b.joint) for b in ends]
    hands = []
    for body, chain in zip(ends, chains, strict=True):
        others = {j for other in chains if other is not chain for j in other}
        own = [robot.joints.index(j) for j in chain if j not in others]
        if len(own) >= ARM:
            hands.append(Hand(body.joint, np.array(own[-ARM:])))
    return tuple(hands)


def straighten_paths(stance: HumanoidStance, times: Array, targets: Array, upper: Array, u: Array) -> Array:
    """Correct joints ``upper`` (N, U) so that hands move along straight lines from target (K, U) to target."""
    q, ends = (np.tile(stance.home, (len(x), 1)) for x in (upper, targets))
    q[:, stance.upper], ends[:, stance.upper] = upper, targets
    between = (u > times[1]) & (u < times[-2])  # at home hands are beside the hips: a straight way there would hit them
    if not between.any():
        return upper
    for hand in find_hands(stance):
        line = interpolate_at_rest(times, kinematics_at(stance.robot, ends).pose(hand.joint, np.eye(4))[1], u)
        for _ in range(STEPS):
            kinematics = kinematics_at(stance.robot, q)
            at = kinematics.pose(hand.joint, np.eye(4))[1]
            whole = kinematics.jacobian(hand.joint)[:, :, 6 + hand.arm]
            J = whole[:, :3] + np.cross(whole[:, 3:], at[:, :, None], axis=1)  # of the hand's origin
            G = np.einsum("tij,tkj->tik", J, J) + DAMPED**2 * np.eye(3)
            move = np.einsum("tij,ti->tj", J, np.linalg.solve(G, (line - at)[:, :, None])[:, :, 0])
            q[:, hand.arm] += between[:, None] * move
    return q[:, stance.upper]
