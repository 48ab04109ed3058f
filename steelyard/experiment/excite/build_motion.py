"""From a candidate to a motion that keeps its balance: legs by inverse kinematics, the base by the zero-moment point.

Upper body, turning and height of the base, and feet are given; what is left is where the base is. It is put such that
the centre of mass is where ``preview`` wants it, then such that the zero-moment point of the *whole* robot, by inverse
dynamics, is where the schedule wants it: what it is off by goes through ``preview`` again and is taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.experiment.excite.candidates import Candidate
from steelyard.experiment.excite.hands import straight
from steelyard.experiment.excite.humanoid_stance import WELL, HumanoidStance, poses, solve
from steelyard.experiment.excite.schedule import Schedule, joined, preview, smooth
from steelyard.experiment.excite.trajectory import STEP, Trajectory, TrajectorySamples
from steelyard.spatial import Array, rotation_from_rpy

ROUNDS = 4  # corrections of the zero-moment point
SINK = 0.03  # of its height that the base goes down over a foot that stands alone: legs are long enough then
NEAR = 2e-3  # m, where its correction ends


@dataclass(frozen=True)
class MotionScale:
    """How much of a candidate is kept."""

    upper: Array  # (U,) of each joint's way
    base: float = 1.0  # of sways and steps
    swing: float = 1.0  # of the lifted leg's own motion
    stretch: float = 1.0  # of time
    straight: float = 1.0  # how straight hands go that are to


@dataclass(frozen=True)
class Built:
    """A motion, and how it came out."""

    stance: HumanoidStance
    candidate: Candidate
    scale: MotionScale
    course: Trajectory
    left: Array  # (2, N) m or rad that legs stay away from where they should be

    @cached_property
    def schedule(self) -> Schedule:
        """Feet, in times before stretching."""
        return self.candidate.schedule.scaled(self.scale.base)

    def standing(self, time: Array) -> Array:
        """(T, 2) whether a sole is on the ground."""
        return self.schedule.standing(time / self.scale.stretch)

    def feet(self, time: Array) -> Array:
        """(2, T, 4) x, y, z, yaw of the soles as planned."""
        return self.schedule.feet(time / self.scale.stretch)


def build(stance: HumanoidStance, candidate: Candidate, scale: MotionScale) -> Built:
    """The candidate so scaled, balanced."""
    schedule = candidate.schedule.scaled(scale.base)
    count = round(schedule.duration * scale.stretch / STEP) + 1
    time = np.arange(count) * STEP
    u = time / scale.stretch
    values = np.zeros((count, 6 + len(stance.home)))
    values[:, 6:] = stance.home
    home = stance.home[stance.upper]
    targets = home + scale.upper * (candidate.upper - home)
    upper = joined(candidate.times, targets, u)
    if candidate.kind == "task":
        upper = upper + scale.straight * (straight(stance, candidate.times, targets, upper, u) - upper)
    values[:, 6 + stance.upper] = upper
    feet = schedule.feet(u)
    sway = joined(candidate.times, candidate.base, u) * scale.base
    values[:, 2] = stance.height - sway[:, 0]
    values[:, 3:6] = sway[:, 1:]
    values[:, 5] += feet[:, :, 3].mean(axis=0)
    under = schedule.reference(u)
    aside = under[:, 1] - feet[:, :, 1].mean(axis=0)
    aside /= 0.5 * np.abs(stance.soles[0, 1] - stance.soles[1, 1])
    values[:, 2] -= SINK * stance.height * aside**2
    values[:, 3] -= stance.lean * aside
    reference = under + scale.base * joined(candidate.times, candidate.wander, u)
    target = preview(reference, STEP, stance.com_height)
    values[:, :2] = target + stance.base[:2]
    left = np.zeros((2, count))
    for _ in range(2):
        left = _legs(stance, candidate, scale, schedule, values, feet, u)
        values[:, :2] += target - com(stance, values)
    for k in range(ROUNDS):
        left = _legs(stance, candidate, scale, schedule, values, feet, u)
        course = Trajectory.through(stance.robot, values)
        if left.max() > WELL:
            break
        error = course.at(time).zmp - reference
        if k == ROUNDS - 1 or np.abs(error).max() < NEAR:
            break
        error[[0, -1]] = 0.0
        values[:, :2] -= preview(error, STEP, stance.com_height)
    return Built(stance, candidate, scale, course, left)


def com(stance: HumanoidStance, values: Array) -> Array:
    """(N, 2) m, of the centre of mass: where the ground's force acts while nothing moves."""
    still = np.zeros_like(values)
    return TrajectorySamples(stance.robot, np.arange(len(values)) * STEP, values, still, still).zmp


def _legs(
    stance: HumanoidStance,
    candidate: Candidate,
    scale: MotionScale,
    schedule: Schedule,
    values: Array,
    feet: Array,
    u: Array,
) -> Array:
    """Solve both legs for base and feet, in place; a leg that moves by itself is blended in while it is up."""
    R = rotation_from_rpy(values[:, 3:6])
    left = np.zeros((2, len(values)))
    for k, leg in enumerate(stance.legs):
        columns = 6 + leg.joints
        yaw = np.zeros((len(values), 3))
        yaw[:, 2] = feet[k, :, 3]
        inside = np.einsum("tji,tjk->tik", R, rotation_from_rpy(yaw))
        place = np.einsum("tji,tj->ti", R, feet[k, :, :3] - values[:, :3])
        q = np.ascontiguousarray(values[:, columns])
        left[k] = solve(leg, poses(inside, place), q)
        if candidate.swing is not None and schedule.steps[0].foot == k:
            step = schedule.steps[0]
            part = (u - step.lift) / (step.land - step.lift)
            ramp = (1 - step.hold) / 2
            weight = scale.swing * smooth((part - ramp) / 0.12) * smooth((1 - ramp - part) / 0.12)
            q = q + weight[:, None] * (joined(candidate.times, candidate.swing, u) - q)
        values[:, columns] = q
    return left
