"""Hands on straight ways in space: task-space targets instead of joint-space ones.

Between two postures a joint-space motion takes a hand along some curve. Here it goes straight: at each instant the
arm's joints are moved from the joint-space motion by as little as brings the hand onto the line (damped least squares),
so postures at both ends, and all that comes before and after, stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.experiment.excite.collision_solids import places_at
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.schedule import joined
from steelyard.spatial import Array

ARM = 4  # joints above a hand, at least, that are its own
STEPS = 4
DAMPED = 0.02  # m, of a singular value below which an arm does not follow


@dataclass(frozen=True)
class Hand:
    """The end of an arm."""

    joint: int  # of the Pinocchio model
    arm: Array  # into robot.joints, the first of its own joints, which carry it about


def hands(stance: HumanoidStance) -> tuple[Hand, ...]:
    """Ends of chains of the upper body with joints enough of their own."""
    robot = stance.robot
    inner = set(robot.model.parents)
    ends = [b for b in robot.bodies if b.joint not in inner and b.joint not in {leg.sole.joint for leg in stance.legs}]
    chains = [robot.joints_above(b.joint) for b in ends]
    found = []
    for body, chain in zip(ends, chains, strict=True):
        others = {j for other in chains if other is not chain for j in other}
        own = [robot.joints.index(j) for j in chain if j not in others]
        if len(own) >= ARM:
            found.append(Hand(body.joint, np.array(own[-ARM:])))
    return tuple(found)


def straight(stance: HumanoidStance, times: Array, targets: Array, upper: Array, u: Array) -> Array:
    """(N, U) joints of the upper body, hands on straight lines from target (K, U) to target."""
    q, ends = (np.tile(stance.home, (len(x), 1)) for x in (upper, targets))
    q[:, stance.upper], ends[:, stance.upper] = upper, targets
    between = (u > times[1]) & (u < times[-2])  # hands are at home beside the hips: what leaves them is left as it is
    if not between.any():
        return upper
    for hand in hands(stance):
        line = joined(times, places_at(stance.robot, ends).pose(hand.joint, np.eye(4))[1], u)
        for _ in range(STEPS):
            places = places_at(stance.robot, q)
            at = places.pose(hand.joint, np.eye(4))[1]
            whole = places.jacobian(hand.joint)[:, :, 6 + hand.arm]
            J = whole[:, :3] + np.cross(whole[:, 3:], at[:, :, None], axis=1)  # of the point
            G = np.einsum("tij,tkj->tik", J, J) + DAMPED**2 * np.eye(3)
            move = np.einsum("tij,ti->tj", J, np.linalg.solve(G, (line - at)[:, :, None])[:, :, 0])
            q[:, hand.arm] += between[:, None] * move
    return q[:, stance.upper]
