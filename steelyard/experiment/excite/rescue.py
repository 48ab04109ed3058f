"""A candidate made possible: each reason against it takes away what is to blame, and no more.

Too fast, too strong or out of balance by its accelerations: more time, as much as the square root of the excess tells.
Too far, or into each other: a smaller way of the joints that are to blame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.experiment.excite.build_motion import Built, MotionScale, build
from steelyard.experiment.excite.candidates import Candidate
from steelyard.experiment.excite.feasible import Reason, reasons
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.postures import Postures

TRIES = 8
CHECKED = 100.0  # Hz
LESS = 0.75  # of a way that is too far
LONGEST = 4.0  # stretch, at most
FAINT = 0.1  # what is left of a motion with less than this is not worth playing


@dataclass(frozen=True)
class Outcome:
    """What became of a candidate."""

    candidate: Candidate
    built: Built | None  # None where nothing could be done
    tries: int
    raw: bool  # possible as drawn
    reasons: tuple[str, ...]  # of all tries, in order

    @property
    def amplitude(self) -> float:
        """Share of the ways that was kept, over all that moves."""
        return retained(self.built) if self.built else 0.0


def retained(built: Built) -> float:
    """Mean share of what was drawn, over joints of the upper body that move, base and lifted leg."""
    c, s = built.candidate, built.scale
    moved = np.ptp(c.upper, axis=0) > 1e-9
    parts = [*s.upper[moved]]
    if np.ptp(c.base) + np.ptp(c.wander) > 0 or c.schedule.steps:
        parts.append(s.base)
    if c.swing is not None:
        parts += [s.swing] * 6
    return float(np.mean(parts)) if parts else 0.0


def attempt(postures: Postures, candidate: Candidate) -> Outcome:
    """Build, check, take away what is too much, again."""
    stance = postures.stance
    scale, told = MotionScale(np.ones(len(stance.upper))), list[str]()
    for k in range(TRIES):
        built = build(stance, candidate, scale)
        found = reasons(built, built.course.sampled(CHECKED))
        if not found and (blamed := postures.blame(built.course)):
            found = [Reason("collision", 1.5, blamed)]
        if not found:
            return Outcome(candidate, built, k + 1, k == 0, tuple(told))
        told += [reason.what for reason in found]
        scale = less(stance, scale, found)
        if scale.stretch > LONGEST or retained(replace(built, scale=scale)) < FAINT:
            break
    return Outcome(candidate, None, k + 1, False, tuple(told))


def less(stance: HumanoidStance, scale: MotionScale, found: Sequence[Reason]) -> MotionScale:
    """The scale with what is to blame taken back."""
    upper, base, swing, stretch, straight = np.ones(len(stance.upper)), 1.0, 1.0, 1.0, 1.0
    for reason in found:
        hot = np.isin(stance.upper, reason.joints)
        if reason.what in ("speed", "friction", "balance"):
            quick = reason.excess if reason.what == "speed" else np.sqrt(reason.excess)
            stretch = max(stretch, float(np.clip(1.04 * quick, 1.08, 2.0)))
        elif reason.what == "torque" and hot.any():
            stretch = max(stretch, 1.1)
            limb = np.isin(stance.upper, stance.below(reason.joints))
            upper[limb] = np.minimum(upper[limb], np.clip(0.95 / reason.excess, 0.7, 0.9))
        elif reason.what == "ground":
            swing = min(swing, LESS)
        elif hot.any():  # collision
            upper[hot] = np.minimum(upper[hot], LESS)
            straight = 0.5
        else:  # reach, limit, torque, collision of legs
            base, swing, upper = min(base, 0.65), min(swing, 0.65), np.minimum(upper, 0.8)
    return MotionScale(
        scale.upper * upper, scale.base * base, scale.swing * swing, scale.stretch * stretch, scale.straight * straight
    )
