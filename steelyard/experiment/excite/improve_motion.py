"""Improve a chosen motion by gradient ascent on the log det of all chosen motions' information.

With M the root of all information and P = (MᵀM)⁻¹, a change dY of one motion's rows changes log det(MᵀM) by 2⟨YP, dY⟩.
So one product Y·P gives the derivative by every target of every joint: the rows are computed again with that target
moved a little, base and legs unchanged. The reaction of base and legs is neglected in the gradient, but each step
along it is built, balanced and checked in full, at several durations, and accepted only if it is feasible and more
informative.

Every move between two targets begins and ends at rest, so each has a duration of its own. Accelerations scale with its
inverse square: a move that uses a share s of its limits can be done in √s of its duration. Only motions in double
support are retimed; steps keep their times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.build_motion import WholeBodyMotion, build_motion
from steelyard.experiment.excite.feasibility import SPEED, compute_utilisation, find_violations
from steelyard.experiment.excite.footstep_schedule import REST, interpolate_at_rest
from steelyard.experiment.excite.informativeness import Informativeness
from steelyard.experiment.excite.make_feasible import CHECKED
from steelyard.experiment.excite.posture_checker import PostureChecker
from steelyard.experiment.excite.trajectory import STEP, Trajectory, TrajectorySamples
from steelyard.spatial import Array

STEPS = 4
SIZES = (0.3, 0.15, 0.07)  # rad, step of the target with the largest derivative, tried in order
PACES = 4  # retimings of one motion
NUDGE = 1e-3  # rad, for finite differences
ROOM = 1.05  # factor on the duration that a move seems to need
QUICKEST, SLOWEST = 0.6, 1.3  # factors on the duration of a move in one retiming
TIMID = 0.7  # exponent of that factor: a faster move also affects those before and after
MARGIN = 0.08  # s before and after a move that count as its own


@dataclass(frozen=True)
class ImprovedMotion:
    """A motion after some steps of ascent."""

    motion: WholeBodyMotion
    gain: float  # of log det, nats, by all steps
    steps: int


def log_det_gradient(informativeness: Informativeness, motion: WholeBodyMotion, rest: Array) -> Array:
    """Derivative (K, U) of log det by the targets of the upper joints; ``rest`` (r, r) is the root of all others."""
    stance, candidate, scale = motion.stance, motion.candidate, motion.scale
    basis, Y = informativeness.basis, informativeness.base_rows(motion.trajectory)
    M = criteria.combine(rest, Y)
    G = np.linalg.solve(M, np.linalg.solve(M.T, Y.T)).T @ basis.T  # Y P, for all parameters
    knots = np.arange(round(motion.trajectory.duration / STEP) + 1) * STEP
    values = motion.trajectory.spline(knots)
    base = float(np.sum(G * informativeness.rows(motion.trajectory)))
    out = np.zeros_like(candidate.upper)
    for k in range(1, len(candidate.times) - 1):
        for j in np.flatnonzero(np.ptp(candidate.upper, axis=0) > 0):
            bump = np.zeros((len(candidate.times), 1))
            bump[k] = NUDGE
            moved = values.copy()
            moved[:, 6 + stance.upper[j]] += interpolate_at_rest(candidate.times, bump, knots / scale.stretch)[:, 0]
            out[k, j] = (
                2 * (float(np.sum(G * informativeness.rows(Trajectory.through(stance.robot, moved)))) - base) / NUDGE
            )
    return out


def improve_motion(
    checker: PostureChecker,
    informativeness: Informativeness,
    motion: WholeBodyMotion,
    rest: Array,
    progress: Callable[[], None] = lambda: None,
) -> ImprovedMotion:
    """Retime a motion, then step along the gradient while steps are feasible and more informative.

    Args:
        checker: Of postures and self-collision.
        informativeness: Of the robot's motions.
        motion: A feasible motion.
        rest: Root (r, r) of the information of all other motions.
        progress: Called after each motion that is checked.
    """
    stance = checker.stance
    lower, upper = (limit[stance.upper] for limit in stance.limits)
    ascent = _Ascent(checker, informativeness, rest, progress)
    first = score = ascent.score(motion)
    taken = 0
    for _ in range(1 + STEPS):
        for size in SIZES if taken else (0.0, *SIZES):
            aim = motion.candidate.upper
            if size:
                slope = ascent.gradient(motion)
                aim = np.clip(aim + size * slope / max(np.abs(slope).max(), 1e-12), lower, upper)
                aim[[0, -1]] = motion.candidate.upper[[0, -1]]
            other, better = ascent.best_retiming(
                build_motion(stance, replace(motion.candidate, upper=aim), motion.scale)
            )
            if other is not None and better > score:
                motion, score, taken = other, better, taken + 1
                break
        else:
            break
    return ImprovedMotion(motion, score - first, taken)


@dataclass
class _Ascent:
    checker: PostureChecker
    informativeness: Informativeness
    rest: Array
    progress: Callable[[], None]
    _last: tuple[WholeBodyMotion, Array] | None = None

    def score(self, motion: WholeBodyMotion) -> float:
        """Nats that the motion adds to log det of the others."""
        return criteria.gain(self.rest, self.informativeness.base_rows(motion.trajectory))

    def gradient(self, motion: WholeBodyMotion) -> Array:
        """``log_det_gradient``, computed once for a motion."""
        if self._last is None or self._last[0] is not motion:
            self._last = motion, log_det_gradient(self.informativeness, motion, self.rest)
        return self._last[1]

    def best_retiming(self, motion: WholeBodyMotion) -> tuple[WholeBodyMotion | None, float]:
        """The most informative of several retimings of a motion, and its score; None where none is feasible."""
        best, score, other = None, -np.inf, motion
        for _ in range(PACES):
            samples = other.trajectory.sampled(CHECKED)
            self.progress()
            if not find_violations(other, samples) and not self.checker.colliding_joints(other.trajectory):
                if (value := self.score(other)) < score:
                    break
                best, score = other, value
            quicker = retime(other, samples)
            if quicker is None:
                break
            other = quicker
        return best, score


def retime(motion: WholeBodyMotion, samples: TrajectorySamples) -> WholeBodyMotion | None:
    """The motion with the duration of every move closer to what it needs; None where feet step."""
    candidate, stretch = motion.candidate, motion.scale.stretch
    if candidate.schedule.steps:
        return None
    ways = np.diff(candidate.times) * stretch * _duration_factors(motion, samples)
    times = REST + np.concatenate([[0.0], np.cumsum(ways)])
    schedule = replace(candidate.schedule, duration=float(times[-1]) + REST)
    return build_motion(
        motion.stance, replace(candidate, times=times, schedule=schedule), replace(motion.scale, stretch=1.0)
    )


def _duration_factors(motion: WholeBodyMotion, samples: TrajectorySamples) -> Array:
    used = np.sqrt(compute_utilisation(motion, samples).peak)
    used = ROOM * np.maximum(used, (np.abs(samples.v) / (SPEED * motion.stance.speeds)).max(axis=1))
    ends = motion.candidate.times * motion.scale.stretch
    own = [(samples.time >= a - MARGIN) & (samples.time <= b + MARGIN) for a, b in pairwise(ends)]
    need = np.array([used[part].max() for part in own])
    return np.asarray(np.clip(np.where(need < 1, need**TIMID, need), QUICKEST, SLOWEST))
