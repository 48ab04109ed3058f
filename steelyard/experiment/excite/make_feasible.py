"""Make a candidate feasible: each violated constraint reduces what causes it, and nothing else.

Speed, torque, friction and balance are met by a longer duration: accelerations scale with its inverse square. Reach,
limits and collisions are met by a smaller displacement of the joints that cause them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.experiment.excite.build_motion import MotionScale, WholeBodyMotion, build_motion
from steelyard.experiment.excite.candidate import Candidate
from steelyard.experiment.excite.feasibility import Violation, find_violations
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.posture_checker import PostureChecker

TRIES = 8
CHECKED = 100.0  # Hz
LESS = 0.75  # factor on a displacement that is too large
LONGEST = 4.0  # largest factor on the duration
FAINT = 0.1  # least retained amplitude: a motion with less is not worth playing


@dataclass(frozen=True)
class FeasibilityOutcome:
    """Result of making a candidate feasible."""

    candidate: Candidate
    motion: WholeBodyMotion | None  # None where it stayed infeasible
    tries: int
    raw: bool  # whether it was feasible as drawn
    reasons: tuple[str, ...]  # constraints that were violated, over all tries in order

    @property
    def amplitude(self) -> float:
        """Share of the drawn amplitude that was retained; 0 where infeasible."""
        return retained_amplitude(self.motion) if self.motion else 0.0


def retained_amplitude(motion: WholeBodyMotion) -> float:
    """Mean share of the drawn amplitude, over moving joints of the upper body, base and lifted leg."""
    c, s = motion.candidate, motion.scale
    moved = np.ptp(c.upper, axis=0) > 1e-9
    parts = [*s.upper[moved]]
    if np.ptp(c.base) + np.ptp(c.wander) > 0 or c.schedule.steps:
        parts.append(s.base)
    if c.swing is not None:
        parts += [s.swing] * 6
    return float(np.mean(parts)) if parts else 0.0


def make_feasible(checker: PostureChecker, candidate: Candidate) -> FeasibilityOutcome:
    """Build and check a candidate, reducing it after each check, until it is feasible or not worth playing."""
    stance = checker.stance
    scale, violated = MotionScale(np.ones(len(stance.upper))), list[str]()
    for k in range(TRIES):
        motion = build_motion(stance, candidate, scale)
        violations = find_violations(motion, motion.trajectory.sampled(CHECKED))
        if not violations and (joints := checker.colliding_joints(motion.trajectory)):
            violations = [Violation("collision", 1.5, joints)]
        if not violations:
            return FeasibilityOutcome(candidate, motion, k + 1, k == 0, tuple(violated))
        violated += [violation.constraint for violation in violations]
        scale = reduce_scale(stance, scale, violations)
        if scale.stretch > LONGEST or retained_amplitude(replace(motion, scale=scale)) < FAINT:
            break
    return FeasibilityOutcome(candidate, None, k + 1, False, tuple(violated))


def reduce_scale(stance: HumanoidStance, scale: MotionScale, violations: Sequence[Violation]) -> MotionScale:
    """The scale reduced where constraints are violated."""
    upper, base, swing, stretch, straight = np.ones(len(stance.upper)), 1.0, 1.0, 1.0, 1.0
    for violation in violations:
        hot = np.isin(stance.upper, violation.joints)
        if violation.constraint in ("speed", "friction", "balance"):
            quick = violation.excess if violation.constraint == "speed" else np.sqrt(violation.excess)
            stretch = max(stretch, float(np.clip(1.04 * quick, 1.08, 2.0)))
        elif violation.constraint == "torque" and hot.any():
            stretch = max(stretch, 1.1)
            limb = np.isin(stance.upper, stance.below(violation.joints))
            upper[limb] = np.minimum(upper[limb], np.clip(0.95 / violation.excess, 0.7, 0.9))
        elif violation.constraint == "ground":
            swing = min(swing, LESS)
        elif hot.any():  # collision
            upper[hot] = np.minimum(upper[hot], LESS)
            straight = 0.5
        else:  # reach, limit, torque, collision of legs
            base, swing, upper = min(base, 0.65), min(swing, 0.65), np.minimum(upper, 0.8)
    return MotionScale(
        scale.upper * upper, scale.base * base, scale.swing * swing, scale.stretch * stretch, scale.straight * straight
    )
