"""Whether a robot can do a motion: reach, limits between samples, balance, friction, torque, ground.

Balance is judged by full inverse dynamics. Where both feet stand the ground's wrench is shared in the proportion in
which the zero-moment point divides the way between the soles, and both feet press off their centres by the same vector:
if that is inside both soles, forces exist that carry the motion.

Between samples: positions and speeds are bounded by the coefficients of the spline, which holds them in its hull;
quantities of the whole robot by parabolas, x ± max|Δ²x|/8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.experiment.excite.build_motion import Built
from steelyard.experiment.excite.humanoid_stance import WELL
from steelyard.experiment.excite.trajectory import TrajectorySamples
from steelyard.spatial import Array, rotation_from_rpy

FRICTION = 0.5  # coefficient that is counted on
TWIST = 0.6  # lever of friction against turning, of the mean half length of a sole
EDGE = 0.15  # of a sole's half lengths that is kept from its edge, and at least
EDGE_LEAST = 0.006  # m
LIGHTEST = 0.4  # of the weight, least force on the ground
EFFORT = 0.9  # of the greatest torque
SPEED = 0.95  # of the greatest speed
CLEAR = 0.01  # m, of a foot that is up, once it is
SCRAPE = 5e-4  # m by which a foot may bend the ground while it is lifted or put down
NEAR_LIMIT = 0.01  # rad or m kept from joint limits


@dataclass(frozen=True)
class Reason:
    """Why a motion cannot be done."""

    what: str  # reach | limit | speed | torque | balance | friction | ground | collision
    excess: float  # times what is allowed
    joints: tuple[int, ...] = ()  # into robot.joints, that are to blame


@dataclass(frozen=True)
class Loads:
    """How much of what is allowed a motion uses, sample by sample: 1 is all of it."""

    light: Array  # (T,) of the weight that may be missing from the ground
    slip: Array  # (T,) of friction
    press: Array  # (2, T, 2) of each sole's half lengths; nan where it carries nothing
    torque: Array  # (T, J)

    @property
    def most(self) -> Array:
        """(T,) of whatever is used most."""
        press = np.nanmax(self.press, axis=(0, 2), initial=0.0)
        return np.asarray(np.max([self.light, self.slip, press, self.torque.max(axis=1)], axis=0))


@dataclass(frozen=True)
class GroundReaction:
    """What the ground does, sample by sample."""

    share: Array  # (T, 2) of the force on each foot
    force: Array  # (T, 3) N, all of it, world axes
    twist: Array  # (T,) N·m about the vertical through the zero-moment point
    apart: Array  # (T,) m, between the soles
    press: Array  # (2, T, 2) m, where a foot presses, from its centre in its axes
    torque: Array  # (T, J) N·m or N of the joints, the ground taken off


def reasons(built: Built, samples: TrajectorySamples) -> list[Reason]:
    """All reasons against a motion, the ground's included; empty where there is none."""
    if built.left.max() > WELL:
        legs = tuple(
            int(j) for k, leg in enumerate(built.stance.legs) if built.left[k].max() > WELL for j in leg.joints
        )
        return [Reason("reach", 2.0, legs)]  # nothing else means anything then
    return [*_limits(built), *_balance(built, samples), *_swinging(built, samples)]


def _limits(built: Built) -> Iterator[Reason]:
    stance, spline = built.stance, built.course.spline
    c = spline.c[:, 6:]
    low, high = c.min(axis=0), c.max(axis=0)
    lower, upper = stance.limits
    over = np.maximum(lower + NEAR_LIMIT - low, high - upper + NEAR_LIMIT)
    if (bad := np.flatnonzero(over > 0)).size:
        yield Reason("limit", float(1 + np.max(over[bad] / (upper - lower)[bad])), tuple(map(int, bad)))
    speed = np.abs(spline.derivative().c[:, 6:]).max(axis=0) / (SPEED * stance.speeds)
    if (bad := np.flatnonzero(speed > 1)).size:
        yield Reason("speed", float(speed.max()), tuple(map(int, bad)))


def _balance(built: Built, samples: TrajectorySamples) -> Iterator[Reason]:
    used = loads(built, samples)
    if used.light.max() + _between(used.light) > 1:
        left = 1 - (1 - LIGHTEST) * float(used.light.max())
        yield Reason("friction", LIGHTEST / max(left, 0.1))
        return
    if (worst := float(used.slip.max()) + _between(used.slip)) > 1:
        yield Reason("friction", worst)
    for press in used.press:
        off = press[~np.isnan(press[:, 0])]
        if off.size and off.max() + _between(off) > 1:
            yield Reason("balance", float(off.max()))
    most = used.torque.max(axis=0) + np.abs(np.diff(used.torque, 2, axis=0)).max(axis=0) / 8
    if (bad := np.flatnonzero(most > 1)).size:
        yield Reason("torque", float(most.max()), tuple(map(int, bad)))


def loads(built: Built, samples: TrajectorySamples) -> Loads:
    """What a motion uses of ground and motors."""
    stance, ground = built.stance, ground_of(built, samples)
    weight = stance.mass * float(np.linalg.norm(stance.robot.gravity))
    vertical = ground.force[:, 2]
    lever = TWIST * float(np.mean([leg.sole.half.mean() for leg in stance.legs]))
    lever = lever + ground.share.min(axis=1) * ground.apart  # two feet hold against turning by a pair of forces
    across = np.hypot(np.linalg.norm(ground.force[:, :2], axis=1), ground.twist / lever)
    press = np.empty_like(ground.press)
    for k, leg in enumerate(stance.legs):
        room = leg.sole.half - np.maximum(EDGE * leg.sole.half, EDGE_LEAST)
        press[k] = np.where(ground.share[:, k : k + 1] > 1e-3, np.abs(ground.press[k]) / room, np.nan)
    return Loads(
        (1 - vertical / weight) / (1 - LIGHTEST),
        across / (FRICTION * np.maximum(vertical, 0.1 * weight)),
        press,
        np.abs(ground.torque) / (EFFORT * stance.efforts),
    )


def ground_of(built: Built, samples: TrajectorySamples) -> GroundReaction:
    """How the ground carries the motion."""
    stance = built.stance
    force, moment = samples.wrench
    zmp = samples.zmp
    feet, standing = built.feet(samples.time), built.standing(samples.time)
    left, right = feet[0, :, :2], feet[1, :, :2]
    way = left - right
    share = np.clip(np.einsum("ti,ti->t", zmp - right, way) / np.einsum("ti,ti->t", way, way), 0.0, 1.0)
    share = np.where(standing[:, 0] & standing[:, 1], share, standing[:, 0].astype(float))
    shares = np.column_stack([share, 1 - share])
    off = zmp - shares[:, :1] * left - shares[:, 1:] * right  # (T, 2) world axes
    press = np.empty((2, len(zmp), 2))
    for k in range(2):
        c, s = np.cos(feet[k, :, 3]), np.sin(feet[k, :, 3])
        press[k] = np.column_stack([c * off[:, 0] + s * off[:, 1], -s * off[:, 0] + c * off[:, 1]])
    twist = moment[:, 2] - (zmp[:, 0] * force[:, 1] - zmp[:, 1] * force[:, 0])
    torque = samples.forces[:, 6:].copy()
    R = samples.rotation
    for k, leg in enumerate(stance.legs):
        f = shares[:, k : k + 1] * force
        at = np.column_stack([feet[k, :, :2] + off, np.zeros(len(off))])
        about = np.cross(at - samples.place, f)  # about the base's origin
        about[:, 2] += shares[:, k] * twist
        wrench = np.hstack([np.einsum("tji,tj->ti", R, f), np.einsum("tji,tj->ti", R, about)])  # base axes
        J = samples.places.jacobian(leg.sole.joint)[:, :, 6 + leg.joints]
        torque[:, leg.joints] -= np.einsum("tij,ti->tj", J, wrench)
    return GroundReaction(shares, force, twist, np.linalg.norm(way, axis=1), press, torque)


def _swinging(built: Built, samples: TrajectorySamples) -> Iterator[Reason]:
    """A foot that is up stays above the ground by ``CLEAR`` once it has had the time to get there."""
    time, schedule, stretch = samples.time, built.schedule, built.scale.stretch
    worst = np.inf
    for step in schedule.steps:
        ramp = 0.3 * (step.land - step.lift) * (1 - step.hold)
        up = (time / stretch > step.lift + ramp) & (time / stretch < step.land - ramp)
        soft = (time / stretch > step.lift) & (time / stretch < step.land)
        heights = _corners(built, samples, step.foot)
        if up.any():
            worst = min(worst, float(heights[up].min()) - min(CLEAR, 0.5 * step.height))
        if soft.any():
            worst = min(worst, float(heights[soft].min()) + SCRAPE)
    if worst < 0:
        yield Reason("ground", 1 - worst / CLEAR)


def _corners(built: Built, samples: TrajectorySamples, foot: int) -> Array:
    """(T,) m, lowest corner of a sole by the joints."""
    leg = built.stance.legs[foot]
    R, p = samples.places.pose(leg.sole.joint, np.eye(4))
    corners = np.einsum("tij,cj->tci", R, leg.sole.corners) + p[:, None]
    world = np.einsum("tj,tcj->tc", rotation_from_rpy(samples.values[:, 3:6])[:, 2], corners) + samples.place[:, 2:]
    return np.asarray(world.min(axis=1))


def _between(x: Array) -> float:
    """How far a smooth quantity may go beyond its samples, as parabolas have it."""
    return float(np.abs(np.diff(x, 2, axis=0)).max(initial=0.0)) / 8
