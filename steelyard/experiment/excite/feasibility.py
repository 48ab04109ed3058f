"""Feasibility of a whole-body motion: reach, joint limits, balance, friction, torque, height of lifted feet.

Balance is checked by full inverse dynamics. In double support the ground reaction is distributed in the proportion in
which the zero-moment point divides the line between the soles, and both centres of pressure are off the soles' centres
by the same vector: if that lies inside both soles, contact forces exist that produce the motion.

Between samples, positions and speeds are bounded by the coefficients of the spline, whose hull contains it; quantities
of the whole robot by parabolas, x ± max|Δ²x|/8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.experiment.excite.build_motion import WholeBodyMotion
from steelyard.experiment.excite.humanoid_stance import REACHED
from steelyard.experiment.excite.trajectory import TrajectorySamples
from steelyard.spatial import Array, rotation_from_rpy

FRICTION = 0.5  # coefficient of friction of the ground
TWIST = 0.6  # lever of friction against yaw, over the mean half length of a sole
EDGE = 0.15  # least distance of the centre of pressure from a sole's edge, over the sole's half lengths
EDGE_LEAST = 0.006  # m, and absolutely
LIGHTEST = 0.4  # least vertical force on the ground, over the weight
EFFORT = 0.9  # largest torque, over the effort limit
SPEED = 0.95  # largest speed, over the velocity limit
CLEAR = 0.01  # m, least height of a lifted foot
SCRAPE = 5e-4  # m that a foot may be below the ground while it is lifted or put down
NEAR_LIMIT = 0.01  # rad or m, least distance from position limits


@dataclass(frozen=True)
class Violation:
    """A constraint that a motion violates."""

    constraint: str  # reach | limit | speed | torque | balance | friction | ground | collision
    excess: float  # over what is allowed, > 1
    joints: tuple[int, ...] = ()  # that cause it, as indices of robot.joints


@dataclass(frozen=True)
class Utilisation:
    """Shares of the limits of contact and motors that a motion uses at each sample; 1 is at the limit."""

    unloading: Array  # (T,) of the weight that the ground may miss
    friction: Array  # (T,) of the friction cone
    cop: Array  # (2, T, 2) of the centre of pressure's range in each sole; nan where it carries no force
    torque: Array  # (T, J) of the effort limits

    @property
    def peak(self) -> Array:
        """The largest share at each sample, (T,)."""
        cop = np.nanmax(self.cop, axis=(0, 2), initial=0.0)
        return np.asarray(np.max([self.unloading, self.friction, cop, self.torque.max(axis=1)], axis=0))


@dataclass(frozen=True)
class GroundReaction:
    """Contact forces and joint torques at each sample."""

    share: Array  # (T, 2) of the force on each foot
    force: Array  # (T, 3) N, on both feet together, world axes
    yaw_moment: Array  # (T,) N·m about the vertical through the zero-moment point
    sole_distance: Array  # (T,) m
    cop: Array  # (2, T, 2) m, centre of pressure from each sole's centre, in the sole's axes
    torque: Array  # (T, J) N·m or N of the joints


def find_violations(motion: WholeBodyMotion, samples: TrajectorySamples) -> list[Violation]:
    """All constraints but self-collision that a motion violates; empty where it is feasible."""
    if motion.leg_error.max() > REACHED:
        legs = tuple(
            int(j)
            for k, leg in enumerate(motion.stance.legs)
            if motion.leg_error[k].max() > REACHED
            for j in leg.joints
        )
        return [Violation("reach", 2.0, legs)]  # the trajectory is meaningless then
    return [*_joint_violations(motion), *_balance_violations(motion, samples), *_swing_violations(motion, samples)]


def _joint_violations(motion: WholeBodyMotion) -> Iterator[Violation]:
    stance, spline = motion.stance, motion.trajectory.spline
    c = spline.c[:, 6:]
    low, high = c.min(axis=0), c.max(axis=0)
    lower, upper = stance.limits
    over = np.maximum(lower + NEAR_LIMIT - low, high - upper + NEAR_LIMIT)
    if (bad := np.flatnonzero(over > 0)).size:
        yield Violation("limit", float(1 + np.max(over[bad] / (upper - lower)[bad])), tuple(map(int, bad)))
    speed = np.abs(spline.derivative().c[:, 6:]).max(axis=0) / (SPEED * stance.speeds)
    if (bad := np.flatnonzero(speed > 1)).size:
        yield Violation("speed", float(speed.max()), tuple(map(int, bad)))


def _balance_violations(motion: WholeBodyMotion, samples: TrajectorySamples) -> Iterator[Violation]:
    used = compute_utilisation(motion, samples)
    if used.unloading.max() + _between_samples(used.unloading) > 1:
        remaining = 1 - (1 - LIGHTEST) * float(used.unloading.max())  # of the weight
        yield Violation("friction", LIGHTEST / max(remaining, 0.1))
        return
    if (worst := float(used.friction.max()) + _between_samples(used.friction)) > 1:
        yield Violation("friction", worst)
    for share in used.cop:
        off = share[~np.isnan(share[:, 0])]
        if off.size and off.max() + _between_samples(off) > 1:
            yield Violation("balance", float(off.max()))
    peak = used.torque.max(axis=0) + np.abs(np.diff(used.torque, 2, axis=0)).max(axis=0) / 8
    if (bad := np.flatnonzero(peak > 1)).size:
        yield Violation("torque", float(peak.max()), tuple(map(int, bad)))


def compute_utilisation(motion: WholeBodyMotion, samples: TrajectorySamples) -> Utilisation:
    """Shares of the limits of contact and motors that a motion uses."""
    stance, ground = motion.stance, compute_ground_reaction(motion, samples)
    weight = stance.mass * float(np.linalg.norm(stance.robot.gravity))
    vertical = ground.force[:, 2]
    lever = TWIST * float(np.mean([leg.sole.half.mean() for leg in stance.legs]))
    lever = lever + ground.share.min(axis=1) * ground.sole_distance  # two feet resist yaw by a couple of forces
    across = np.hypot(np.linalg.norm(ground.force[:, :2], axis=1), ground.yaw_moment / lever)
    cop = np.empty_like(ground.cop)
    for k, leg in enumerate(stance.legs):
        room = leg.sole.half - np.maximum(EDGE * leg.sole.half, EDGE_LEAST)
        cop[k] = np.where(ground.share[:, k : k + 1] > 1e-3, np.abs(ground.cop[k]) / room, np.nan)
    return Utilisation(
        (1 - vertical / weight) / (1 - LIGHTEST),
        across / (FRICTION * np.maximum(vertical, 0.1 * weight)),
        cop,
        np.abs(ground.torque) / (EFFORT * stance.efforts),
    )


def compute_ground_reaction(motion: WholeBodyMotion, samples: TrajectorySamples) -> GroundReaction:
    """Distribute the ground reaction of a motion over the feet; joint torques with it."""
    stance = motion.stance
    force, moment = samples.ground_wrench
    zmp = samples.zmp
    feet, contact = motion.foot_poses(samples.time), motion.in_contact(samples.time)
    left, right = feet[0, :, :2], feet[1, :, :2]
    line = left - right
    share = np.clip(np.einsum("ti,ti->t", zmp - right, line) / np.einsum("ti,ti->t", line, line), 0.0, 1.0)
    share = np.where(contact[:, 0] & contact[:, 1], share, contact[:, 0].astype(float))
    shares = np.column_stack([share, 1 - share])
    off = zmp - shares[:, :1] * left - shares[:, 1:] * right  # (T, 2) world axes
    cop = np.empty((2, len(zmp), 2))
    for k in range(2):
        c, s = np.cos(feet[k, :, 3]), np.sin(feet[k, :, 3])
        cop[k] = np.column_stack([c * off[:, 0] + s * off[:, 1], -s * off[:, 0] + c * off[:, 1]])
    yaw_moment = moment[:, 2] - (zmp[:, 0] * force[:, 1] - zmp[:, 1] * force[:, 0])
    torque = samples.generalised_forces[:, 6:].copy()
    R = samples.rotation
    for k, leg in enumerate(stance.legs):
        f = shares[:, k : k + 1] * force
        at = np.column_stack([feet[k, :, :2] + off, np.zeros(len(off))])
        about = np.cross(at - samples.base_position, f)  # about the base's origin
        about[:, 2] += shares[:, k] * yaw_moment
        wrench = np.hstack([np.einsum("tji,tj->ti", R, f), np.einsum("tji,tj->ti", R, about)])  # base axes
        J = samples.kinematics.jacobian(leg.sole.joint)[:, :, 6 + leg.joints]
        torque[:, leg.joints] -= np.einsum("tij,ti->tj", J, wrench)
    return GroundReaction(shares, force, yaw_moment, np.linalg.norm(line, axis=1), cop, torque)


def _swing_violations(motion: WholeBodyMotion, samples: TrajectorySamples) -> Iterator[Violation]:
    """Whether a lifted foot, once it has risen, stays above the ground by ``CLEAR``."""
    time, schedule, stretch = samples.time, motion.schedule, motion.scale.stretch
    worst = np.inf
    for step in schedule.steps:
        ramp = 0.3 * (step.land - step.lift) * (1 - step.hold)
        up = (time / stretch > step.lift + ramp) & (time / stretch < step.land - ramp)
        soft = (time / stretch > step.lift) & (time / stretch < step.land)
        heights = _lowest_corner(motion, samples, step.foot)
        if up.any():
            worst = min(worst, float(heights[up].min()) - min(CLEAR, 0.5 * step.height))
        if soft.any():
            worst = min(worst, float(heights[soft].min()) + SCRAPE)
    if worst < 0:
        yield Violation("ground", 1 - worst / CLEAR)


def _lowest_corner(motion: WholeBodyMotion, samples: TrajectorySamples, foot: int) -> Array:
    """Height (T,) of a sole's lowest corner by forward kinematics, m."""
    leg = motion.stance.legs[foot]
    R, p = samples.kinematics.pose(leg.sole.joint, np.eye(4))
    corners = np.einsum("tij,cj->tci", R, leg.sole.corners) + p[:, None]
    world = (
        np.einsum("tj,tcj->tc", rotation_from_rpy(samples.values[:, 3:6])[:, 2], corners) + samples.base_position[:, 2:]
    )
    return np.asarray(world.min(axis=1))


def _between_samples(x: Array) -> float:
    """How far a smooth quantity may exceed its samples: of a parabola through three of them."""
    return float(np.abs(np.diff(x, 2, axis=0)).max(initial=0.0)) / 8
