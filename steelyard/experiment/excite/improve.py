"""A chosen motion made to tell more, by the gradient of what all chosen motions tell together.

With M the root of all information and P = (MᵀM)⁻¹, a change dY of one motion's rows changes log det(MᵀM) by 2⟨YP, dY⟩.
So one product Y·P gives the derivative by every target of every joint: rows are made again with that target moved a
little, the base and the legs as they are. That is the gradient but for how base and legs answer; each step along it is
built, balanced and checked in full, at several paces, and taken only if the motion can be done and tells more.

Every way between two targets begins and ends at rest, so each may take a time of its own. Accelerations go with the
square of the pace: a way that uses a share s of what is allowed can be done in √s of its time. Only motions on two feet
that stay are paced; steps have times of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.build_motion import Built, build
from steelyard.experiment.excite.feasible import SPEED, loads, reasons
from steelyard.experiment.excite.informativeness import Telling
from steelyard.experiment.excite.postures import Postures
from steelyard.experiment.excite.rescue import CHECKED
from steelyard.experiment.excite.schedule import REST, joined
from steelyard.experiment.excite.trajectory import STEP, Trajectory, TrajectorySamples
from steelyard.spatial import Array

STEPS = 4
SIZES = (0.3, 0.15, 0.07)  # rad that the target with the largest derivative is moved, tried in order
PACES = 4  # tried of one motion
NUDGE = 1e-3  # rad, for differences
ROOM = 1.05  # of time that is left to a way, beyond what seems enough
QUICKEST, SLOWEST = 0.6, 1.3  # of its time, at once
TIMID = 0.7  # power of what a way could be quicker by: ways share the ground with those before and after
MARGIN = 0.08  # s before and after a way that count as its own


@dataclass(frozen=True)
class Improved:
    """A motion after some steps."""

    built: Built
    gain: float  # log det, nats, by all steps
    steps: int


def gradient(telling: Telling, built: Built, rest: Array) -> Array:
    """(K, U) derivative of log det by the targets of the upper joints; ``rest`` (r, r): root of all other motions."""
    stance, candidate, scale = built.stance, built.candidate, built.scale
    weight, Y = telling.weight, telling.base_rows(built.course)
    M = criteria.together(rest, Y)
    G = np.linalg.solve(M, np.linalg.solve(M.T, Y.T)).T @ weight.T  # Y P, for all parameters
    knots = np.arange(round(built.course.duration / STEP) + 1) * STEP
    values = built.course.spline(knots)
    base = float(np.sum(G * telling.rows(built.course)))
    out = np.zeros_like(candidate.upper)
    for k in range(1, len(candidate.times) - 1):
        for j in np.flatnonzero(np.ptp(candidate.upper, axis=0) > 0):
            bump = np.zeros((len(candidate.times), 1))
            bump[k] = NUDGE
            moved = values.copy()
            moved[:, 6 + stance.upper[j]] += joined(candidate.times, bump, knots / scale.stretch)[:, 0]
            out[k, j] = 2 * (float(np.sum(G * telling.rows(Trajectory.through(stance.robot, moved)))) - base) / NUDGE
    return out


def improve(
    postures: Postures, telling: Telling, built: Built, rest: Array, progress: Callable[[], None] = lambda: None
) -> Improved:
    """A better pace, then steps along the gradient, each at its own pace, while they can be done and tell more."""
    stance = postures.stance
    lower, upper = (limit[stance.upper] for limit in stance.limits)
    search = _Search(postures, telling, rest, progress)
    first = score = search.score(built)
    taken = 0
    for _ in range(1 + STEPS):
        for size in SIZES if taken else (0.0, *SIZES):
            aim = built.candidate.upper
            if size:
                slope = search.gradient(built)
                aim = np.clip(aim + size * slope / max(np.abs(slope).max(), 1e-12), lower, upper)
                aim[[0, -1]] = built.candidate.upper[[0, -1]]
            other, better = search.at_its_pace(build(stance, replace(built.candidate, upper=aim), built.scale))
            if other is not None and better > score:
                built, score, taken = other, better, taken + 1
                break
        else:
            break
    return Improved(built, score - first, taken)


@dataclass
class _Search:
    postures: Postures
    telling: Telling
    rest: Array
    progress: Callable[[], None]
    _last: tuple[Built, Array] | None = None

    def score(self, built: Built) -> float:
        """Nats that it adds to the others."""
        return criteria.gain(self.rest, self.telling.base_rows(built.course))

    def gradient(self, built: Built) -> Array:
        """The same as ``gradient``, worked out once for a motion."""
        if self._last is None or self._last[0] is not built:
            self._last = built, gradient(self.telling, built, self.rest)
        return self._last[1]

    def at_its_pace(self, built: Built) -> tuple[Built | None, float]:
        """The one that tells most of a motion at several paces; None where none can be done."""
        best, score, other = None, -np.inf, built
        for _ in range(PACES):
            samples = other.course.sampled(CHECKED)
            self.progress()
            if not reasons(other, samples) and not self.postures.blame(other.course):
                if (told := self.score(other)) < score:
                    break
                best, score = other, told
            quicker = paced(other, samples)
            if quicker is None:
                break
            other = quicker
        return best, score


def paced(built: Built, samples: TrajectorySamples) -> Built | None:
    """The motion with every way a step nearer to the time that it needs; None where feet step."""
    candidate, stretch = built.candidate, built.scale.stretch
    if candidate.schedule.steps:
        return None
    ways = np.diff(candidate.times) * stretch * _factors(built, samples)
    times = REST + np.concatenate([[0.0], np.cumsum(ways)])
    schedule = replace(candidate.schedule, duration=float(times[-1]) + REST)
    return build(built.stance, replace(candidate, times=times, schedule=schedule), replace(built.scale, stretch=1.0))


def _factors(built: Built, samples: TrajectorySamples) -> Array:
    used = np.sqrt(loads(built, samples).most)
    used = ROOM * np.maximum(used, (np.abs(samples.v) / (SPEED * built.stance.speeds)).max(axis=1))
    ends = built.candidate.times * built.scale.stretch
    own = [(samples.time >= a - MARGIN) & (samples.time <= b + MARGIN) for a, b in pairwise(ends)]
    need = np.array([used[part].max() for part in own])
    return np.asarray(np.clip(np.where(need < 1, need**TIMID, need), QUICKEST, SLOWEST))
