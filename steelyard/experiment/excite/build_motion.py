"""From a candidate to a balanced motion: legs by inverse kinematics, the base by the zero-moment point.

The candidate prescribes the upper body, the base's rotation and height, and the feet; the base's horizontal position
is free. It is first chosen such that the centre of mass follows ``track_zmp``, then corrected until the zero-moment
point of the *whole* robot, by inverse dynamics, follows the schedule's: its error goes through ``track_zmp`` and is
subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.experiment.excite.candidate import Candidate
from steelyard.experiment.excite.footstep_schedule import FootstepSchedule, interpolate_at_rest, smootherstep, track_zmp
from steelyard.experiment.excite.hands import straighten_paths
from steelyard.experiment.excite.humanoid_stance import REACHED, HumanoidStance, flat_poses, solve_leg
from steelyard.experiment.excite.trajectory import STEP, Trajectory, TrajectorySamples
from steelyard.spatial import Array, rotation_from_rpy

ROUNDS = 4  # corrections of the zero-moment point
SINK = 0.03  # share of its height by which the base sinks over a single standing foot, so that both legs reach
NEAR = 2e-3  # m, error of the zero-moment point at which corrections end


@dataclass(frozen=True)
class MotionScale:
    """Factors on the amplitudes and the duration of a candidate."""

    upper: Array  # (U,) on the displacement of each joint of the upper body
    base: float = 1.0  # on sways and steps
    swing: float = 1.0  # on the lifted leg's joint motion
    stretch: float = 1.0  # on the duration
    straight: float = 1.0  # on the correction that makes hands move along straight lines


@dataclass(frozen=True)
class WholeBodyMotion:
    """A balanced motion of a scaled candidate."""

    stance: HumanoidStance
    candidate: Candidate
    scale: MotionScale
    trajectory: Trajectory
    leg_error: Array  # (2, N) m or rad, error of the legs' inverse kinematics

    @cached_property
    def schedule(self) -> FootstepSchedule:
        """Footsteps, in times before stretching."""
        return self.candidate.schedule.scaled(self.scale.base)

    def in_contact(self, time: Array) -> Array:
        """Whether each sole is on the ground, (T, 2)."""
        return self.schedule.in_contact(time / self.scale.stretch)

    def foot_poses(self, time: Array) -> Array:
        """Planned x, y, z (m) and yaw (rad) of the soles, (2, T, 4)."""
        return self.schedule.foot_poses(time / self.scale.stretch)


def build_motion(stance: HumanoidStance, candidate: Candidate, scale: MotionScale) -> WholeBodyMotion:
    """Build the balanced motion of a scaled candidate; whether it is feasible is checked by ``feasibility``."""
    schedule = candidate.schedule.scaled(scale.base)
    count = round(schedule.duration * scale.stretch / STEP) + 1
    time = np.arange(count) * STEP
    u = time / scale.stretch
    values = np.zeros((count, 6 + len(stance.home)))
    values[:, 6:] = stance.home
    home = stance.home[stance.upper]
    targets = home + scale.upper * (candidate.upper - home)
    upper = interpolate_at_rest(candidate.times, targets, u)
    if candidate.kind == "task":
        upper = upper + scale.straight * (straighten_paths(stance, candidate.times, targets, upper, u) - upper)
    values[:, 6 + stance.upper] = upper
    feet = schedule.foot_poses(u)
    sway = interpolate_at_rest(candidate.times, candidate.base, u) * scale.base
    values[:, 2] = stance.height - sway[:, 0]
    values[:, 3:6] = sway[:, 1:]
    values[:, 5] += feet[:, :, 3].mean(axis=0)
    under = schedule.zmp_reference(u)
    aside = under[:, 1] - feet[:, :, 1].mean(axis=0)
    aside /= 0.5 * np.abs(stance.soles[0, 1] - stance.soles[1, 1])
    values[:, 2] -= SINK * stance.height * aside**2
    values[:, 3] -= stance.lean * aside
    reference = under + scale.base * interpolate_at_rest(candidate.times, candidate.wander, u)
    target = track_zmp(reference, STEP, stance.com_height)
    values[:, :2] = target + stance.base[:2]
    leg_error = np.zeros((2, count))
    for _ in range(2):
        leg_error = _solve_legs(stance, candidate, scale, schedule, values, feet, u)
        values[:, :2] += target - centre_of_mass(stance, values)
    for k in range(ROUNDS):
        leg_error = _solve_legs(stance, candidate, scale, schedule, values, feet, u)
        trajectory = Trajectory.through(stance.robot, values)
        if leg_error.max() > REACHED:
            break
        error = trajectory.at(time).zmp - reference
        if k == ROUNDS - 1 or np.abs(error).max() < NEAR:
            break
        error[[0, -1]] = 0.0
        values[:, :2] -= track_zmp(error, STEP, stance.com_height)
    return WholeBodyMotion(stance, candidate, scale, trajectory, leg_error)


def centre_of_mass(stance: HumanoidStance, values: Array) -> Array:
    """Horizontal position (N, 2) of the centre of mass, m: the zero-moment point of a robot at rest."""
    still = np.zeros_like(values)
    return TrajectorySamples(stance.robot, np.arange(len(values)) * STEP, values, still, still).zmp


def _solve_legs(
    stance: HumanoidStance,
    candidate: Candidate,
    scale: MotionScale,
    schedule: FootstepSchedule,
    values: Array,
    feet: Array,
    u: Array,
) -> Array:
    """Solve both legs for base and feet, in place, blending in a lifted leg's own motion; their errors (2, N)."""
    R = rotation_from_rpy(values[:, 3:6])
    leg_error = np.zeros((2, len(values)))
    for k, leg in enumerate(stance.legs):
        columns = 6 + leg.joints
        yaw = np.zeros((len(values), 3))
        yaw[:, 2] = feet[k, :, 3]
        inside = np.einsum("tji,tjk->tik", R, rotation_from_rpy(yaw))
        position = np.einsum("tji,tj->ti", R, feet[k, :, :3] - values[:, :3])
        q = np.ascontiguousarray(values[:, columns])
        leg_error[k] = solve_leg(leg, flat_poses(inside, position), q)
        if candidate.swing is not None and schedule.steps[0].foot == k:
            step = schedule.steps[0]
            part = (u - step.lift) / (step.land - step.lift)
            ramp = (1 - step.hold) / 2
            weight = scale.swing * smootherstep((part - ramp) / 0.12) * smootherstep((1 - ramp - part) / 0.12)
            q = q + weight[:, None] * (interpolate_at_rest(candidate.times, candidate.swing, u) - q)
        values[:, columns] = q
    return leg_error
