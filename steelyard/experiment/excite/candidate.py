"""Random candidate motions: joint targets within the limits, sways of the base, steps, walks, straight hand paths.

A candidate depends on its kind, seed and focus alone. Joints move from target to target at rest in each, so that no
target is overshot, at up to ``SPEED`` of their velocity limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.experiment.excite.footstep_schedule import REST, Footstep, FootstepSchedule
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.posture_checker import PostureChecker
from steelyard.spatial import Array

KINDS = ("double", "left", "right", "step", "walk", "task")
SHARES = (0.36, 0.14, 0.14, 0.1, 0.12, 0.14)
WITHIN = 0.1  # share of a joint's range that is left free at each limit
SPEED = 0.8  # largest speed, over the velocity limit
PEAK = 1.875  # peak over mean speed of a rest-to-rest quintic
PAUSE = (0.4, 1.2)  # s from target to target, about, where speed allows it
BETWEEN = np.array([[0.25], [0.5], [0.75]])  # shares of the way to a target at which it is checked
RETURN = 1.3  # s within which every joint can return home
NEARBY = 0.7  # rad from target to target of straight hand paths: longer ones pass through the trunk
TRIES = 30  # postures drawn for one target until one is feasible
SWAY = np.array([0.09, 0.14, 0.2, 0.25])  # of the base: down (over the legs' length), roll, pitch, yaw (rad)
WANDER = 0.35  # amplitude of the zero-moment point, over a sole's half lengths
INWARD = 0.25  # offset of the zero-moment point towards the other foot in single support, over the sole's half width
SWING = 0.8  # rad to both sides of home, of a lifted leg: more upsets the balance
SPREAD = {"step": 0.12, "walk": 0.22}  # length of steps, over the legs' length


@dataclass(frozen=True)
class Candidate:
    """A motion before it is scaled and balanced; times in s before stretching."""

    kind: str
    seed: int
    schedule: FootstepSchedule
    times: Array  # (K,) s, of the targets
    upper: Array  # (K, U) positions of the joints ``stance.upper``
    base: Array  # (K, 4) sink (m), roll, pitch, yaw (rad)
    wander: Array  # (K, 2) m, offset of the zero-moment point
    swing: Array | None = None  # (K, 6) joint positions of a lifted leg


def draw_candidate(checker: PostureChecker, kind: str, seed: int, focus: Sequence[str] = ()) -> Candidate:
    """Draw the candidate of a kind and seed.

    Args:
        checker: Of the postures at and between targets.
        kind: One of ``KINDS``.
        seed: Of the random numbers.
        focus: Joints of the upper body that move; all may where none of them is in the upper body.
    """
    stance = checker.stance
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    schedule = _schedule(stance, kind, rng)
    moving = rng.random(len(stance.upper)) < rng.choice([0.35, 0.7, 1.0])
    if focused := [stance.robot.joints[j] in focus for j in stance.upper if focus]:
        moving = np.array(focused) if any(focused) else moving
    lifted = {"left": 1, "right": 0}.get(kind)
    way = [stance.home]
    times, pause = [REST], rng.uniform(*PAUSE) * (1.5 if schedule.steps else 1.0)
    while True:
        take = pause * rng.uniform(0.8, 1.25)
        longest = np.minimum(take * SPEED * stance.speeds / PEAK, NEARBY if kind == "task" else np.inf)
        posture = _posture(checker, way[-1], moving, lifted, longest, rng)
        at = times[-1] + take
        back = PEAK * np.max(np.abs(posture - stance.home) / (SPEED * stance.speeds))
        if at + max(0.7 * pause, float(back)) > schedule.duration - REST:
            break
        times.append(at)
        way.append(posture)
    times, way = [*times, schedule.duration - REST], [*way, stance.home]
    K, half = len(times), np.minimum(*(leg.sole.half for leg in stance.legs))
    base = rng.uniform(-1, 1, (K, 4)) * SWAY * (rng.random(4) < 0.7)
    base[:, 0] = np.abs(base[:, 0]) * stance.height
    wander = rng.uniform(-1, 1, (K, 2)) * WANDER * half
    base[[0, -1]] = wander[[0, -1]] = 0.0
    if kind in SPREAD or lifted is not None:
        base *= 0.4
    q = np.array(way)
    swing = None if lifted is None else q[:, stance.legs[lifted].joints]
    return Candidate(kind, seed, schedule, np.array(times), q[:, stance.upper], base, wander, swing)


def _posture(
    checker: PostureChecker, last: Array, moving: Array, lifted: int | None, longest: Array, rng: np.random.Generator
) -> Array:
    """A random feasible posture of the upper body and a lifted leg; the ``last`` one where none is found.

    ``longest`` (J,) is the largest displacement of each joint from the last posture.
    """
    stance = checker.stance
    lower, upper = stance.limits
    far = RETURN * SPEED * stance.speeds / PEAK
    for _ in range(TRIES):
        q = stance.home.copy()
        u = rng.uniform(WITHIN, 1 - WITHIN, len(q))
        some = stance.upper[moving & (rng.random(len(moving)) < 0.8)]
        q[some] = (lower + u * (upper - lower))[some]
        if lifted is not None:
            swing = stance.legs[lifted].joints
            low, high = np.maximum(lower, stance.home - SWING), np.minimum(upper, stance.home + SWING)
            q[swing] = (low + u * (high - low))[swing]
        q = np.clip(q, stance.home - far, stance.home + far)
        q = np.clip(q, last - longest, last + longest)
        if lifted is not None and not all(checker.is_lifted(x, lifted) for x in _lifted(stance, last, q)):
            continue
        if not checker.is_feasible(q[None]):
            continue
        if checker.is_feasible(
            np.vstack([last + BETWEEN * (q - last), q + BETWEEN * (stance.home - q)])
        ):  # to it, and from it home
            return np.asarray(q)
    return last


def _lifted(stance: HumanoidStance, last: Array, q: Array) -> list[Array]:
    """Postures on the way to q at which a foot must be lifted: only q itself from home, where the foot stands."""
    return [q] if last is stance.home else [q, *(last + BETWEEN * (q - last))]


def _schedule(stance: HumanoidStance, kind: str, rng: np.random.Generator) -> FootstepSchedule:
    places = np.column_stack([stance.soles[:, :2], np.zeros(2)])
    inward = INWARD * stance.legs[0].sole.half[1] / np.linalg.norm(places[0] - places[1])
    reach = SPREAD.get(kind, 0.0) * stance.height
    if kind in ("left", "right"):  # the standing foot
        step = Footstep(0 if kind == "right" else 1, 1.7, 5.9, np.zeros(3), 0.12 * stance.height, hold=0.7)
        return FootstepSchedule(7.6, places, (step,), inward)
    if kind == "step":
        first, time, steps = int(rng.integers(2)), 1.6, []
        for k in range(4):
            foot = (first + k) % 2
            out = 1.0 if foot == 0 else -1.0
            to = np.array([rng.uniform(-1, 1) * reach, out * rng.uniform(0, 0.6) * reach, out * rng.uniform(0, 0.2)])
            if k >= 2:
                to = np.zeros(3)
            steps.append(Footstep(foot, time, time + 0.7, to, rng.uniform(0.05, 0.12) * stance.height))
            time += 0.7 + 0.5
        return FootstepSchedule(time + 1.1, places, tuple(steps), inward)
    if kind == "walk":
        first, time, steps, length = int(rng.integers(2)), 1.6, [], rng.choice([-0.6, 1.0]) * reach
        count = 5
        for k in range(count):
            ahead = length * min(k + 1, count - 1)
            steps.append(Footstep((first + k) % 2, time, time + 0.6, np.array([ahead, 0.0, 0.0]), 0.06 * stance.height))
            time += 0.6 + 0.35
        return FootstepSchedule(time + 1.25, places, tuple(steps), inward)
    return FootstepSchedule(5.2, places)
