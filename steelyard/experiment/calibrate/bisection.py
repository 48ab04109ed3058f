"""The support line below the centre of mass: Algorithm 1 of Lee and Manchester, and what the speed of tipping adds.

The trunk moves over its feet until the line through two of them passes below the centre of mass. What is searched is
the believed lever arm u of the weight about the line, as measured joints and the measured direction of gravity give
it for each trial: sagging joints and a trunk that is not level are in it. Tipping forward says u is too large,
backward too small; u* between, where it would not tip, is minus what the belief is off along n.

``halving`` is the paper: the middle of the bracket is tried, six times. ``momentum`` tries where the speed of the
last falls says, a little beyond, so that the bracket closes from both sides; within it u* is the zero of the line
through the lever arms that the falls show. A fall tells its own lever arm to a share of it, so trials near balance
weigh most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pinocchio as pin

from steelyard.errors import Finding, LogError
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.rig import Rig
from steelyard.experiment.calibrate.tipping import Trial, attempt
from steelyard.spatial import Array

Method = Literal["momentum", "halving"]

RANGE = 0.04  # m, that the belief may be off
CLOSE = 0.005  # m, of the bracket: the paper's threshold
TRIALS = 6
SHARE, FLOOR = 0.15, 3e-4  # of a lever arm, m: how well a fall tells it; a believed inertia is off by some ten percent
COMMON = 4e-4  # m, that all trials on a line may share: feet that creep, smoothing, an inertia that is off
BEYOND = 0.0015  # m, past the expected balance


@dataclass(frozen=True)
class Bisection:
    """How a support line is searched."""

    method: Method = "momentum"
    most: int = TRIALS  # on each line
    within: float = RANGE  # m, that the belief may be off

    def findings(self) -> Iterator[Finding]:
        """All that is wrong with it."""
        if self.most < 3:
            yield Finding("todo", "trials", f"are {self.most} a diagonal", "Give 3 or more: a bracket and one inside")
        if not 0.005 <= self.within <= 0.2:
            yield Finding("todo", "the range", f"is {1e3 * self.within:g} mm", "Give 5 to 200 mm")


@dataclass(frozen=True)
class SupportLine:
    """A line below the centre of mass c, and so a plane that holds it: n · c = offset, c in the nominal posture."""

    feet: str
    turn: float  # rad, of the trunk about the line's direction
    normal: Array  # (3,) n, base axes
    offset: float  # m
    std: float  # m, of what happened in the trials; what joints' zeros and gravity add is not in it
    bracket: tuple[float, float]  # m, of the believed lever arm: it tipped to different sides
    trials: tuple[Trial, ...]
    levers: Array  # (trials, 2) m: believed lever arm, and the one that the fall shows
    estimates: Array  # (trials,) m, how far the belief was off along n, as it looked after so many trials


def find_line(
    rig: Rig,
    stance: QuadrupedStance,
    diagonal: tuple[int, int],
    how: Bisection,
    *,
    turn: float = 0.0,
    said: Callable[[str], None] = lambda _: None,
) -> SupportLine:
    """Search the support line of two diagonal feet, the trunk turned about its direction by ``turn`` (rad)."""
    rig.stand()
    method, at, low, high, sag = how.method, stance.nominal, -how.within, how.within, 0.0
    tried, trials, levers, guesses = at, list[Trial](), list[tuple[float, float]](), list[float]()
    goal = 0.0
    while len(trials) < how.most and not (method == "momentum" and len(trials) >= 3 and high - low <= CLOSE):
        posture = over_line(stance, diagonal, turn, goal - sag, tried)
        trial, at = attempt(rig, stance, at, posture, diagonal)
        tried = posture
        u, s = trial.lever(stance)
        sag += u - goal  # what the joints gave way: the next posture allows for it
        trials.append(trial)
        levers.append((u, s))
        low, high = _narrowed(low, high, u, _side(trial, s, method))
        guess, _ = balance(levers)
        guesses.append(-guess if method == "momentum" else -(low + high) / 2)
        side = "beyond the line" if trial.tilt > 0 else "before the line"
        said(
            f"{stance.name(diagonal)}, trial {len(trials)}: lever arm believed {1e3 * u:6.1f} mm, tips by "
            f"{np.degrees(trial.tilt):5.1f}° ({side}), falls as with {1e3 * s:6.1f} mm; belief off by "
            f"{1e3 * guesses[-1]:.1f} mm"
        )
        goal = _next(method, low, high, guess, levers)
    sides = [_side(t, s, method) > 0 for t, (_, s) in zip(trials, levers, strict=True)]
    if len(set(sides)) == 1 and (method == "halving" or min(abs(s) for _, s in levers) > CLOSE / 2):
        raise LogError(
            Finding(
                "todo",
                f"support line of {stance.name(diagonal)}",
                f"is not within {1e3 * how.within:.0f} mm of where the description has the centre of mass",
                "Search a wider range, and check the feet and the sign of the gyro",
            )
        )
    return line_of(stance, turn, trials, method, np.array(guesses))


def over_line(stance: QuadrupedStance, diagonal: tuple[int, int], turn: float, goal: float, start: Array) -> Array:
    """(J,) posture with the feet where they stood, the trunk turned, and the believed lever arm as wanted (m)."""
    level = np.array([0.0, 0.0, 1.0])
    _, n = stance.line(stance.nominal, level, diagonal)
    R = pin.exp3(turn * np.cross(level, n))
    q, y = start, goal
    for _ in range(12):
        q = stance.moved(y * n, R, q)
        miss = goal - stance.lever(q, R.T @ level, diagonal)
        y += miss
        if abs(miss) < 1e-6:
            break
    return q


def weights(s: Array) -> Array:
    """(trials,) 1/m²: how much the falls with these lever arms (m) tell."""
    return np.asarray(1 / np.hypot(FLOOR, SHARE * s) ** 2)


def balance(levers: list[tuple[float, float]]) -> tuple[float, float]:
    """u* and its standard deviation: zero of the line s = κ (u − u*) through the trials, κ = 1 ± ``SHARE``."""
    u, s = np.array(levers).T
    w = weights(s)
    # s = κ u − d with a prior on κ: two unknowns, one more row
    A = np.vstack([np.column_stack([u, -np.ones_like(u)]) * np.sqrt(w)[:, None], [[1 / SHARE, 0.0]]])
    (kappa, d), *_ = np.linalg.lstsq(A, np.concatenate([s * np.sqrt(w), [1 / SHARE]]), rcond=None)
    C = np.linalg.inv(A.T @ A)
    g = np.array([-d / kappa**2, 1 / kappa])
    return float(d / kappa), float(np.sqrt(g @ C @ g))


def _narrowed(low: float, high: float, u: float, side: float) -> tuple[float, float]:
    """The bracket after a trial at u; one that contradicts it (a fall too near balance to tell) moves the other end."""
    if side > 0:
        return (low if low < u else u - CLOSE / 2), min(high, u)
    return max(low, u), (high if high > u else u + CLOSE / 2)


def _next(method: Method, low: float, high: float, guess: float, levers: list[tuple[float, float]]) -> float:
    if method == "halving":
        return (low + high) / 2
    _, s = levers[-1]
    beyond = guess - np.sign(s) * max(BEYOND, SHARE * abs(s) / 2)
    return float(np.clip(beyond, low + 0.1 * (high - low), high - 0.1 * (high - low)))


def line_of(
    stance: QuadrupedStance, turn: float, trials: Sequence[Trial], method: Method, estimates: Array
) -> SupportLine:
    """What trials on one diagonal say, under some belief: the lever arms and momenta of their falls follow from it."""
    levers = [t.lever(stance) for t in trials]
    u, sides = np.array([u for u, _ in levers]), [_side(t, s, method) for t, (_, s) in zip(trials, levers, strict=True)]
    low = max((x for x, side in zip(u, sides, strict=True) if side < 0), default=-np.inf)
    high = min((x for x, side in zip(u, sides, strict=True) if side > 0), default=np.inf)
    low, high = min(low, high), max(low, high)
    zero, std = balance(levers)
    if method == "halving":
        zero, std = (low + high) / 2, (high - low) / np.sqrt(12)
    std = float(np.hypot(std, COMMON))
    diagonal = trials[0].diagonal
    w = weights(np.array([s for _, s in levers]))
    if method == "halving":  # the side is decided as the feet leave the ground, nearest to balance
        nearest = trials[int(np.argmin([abs(s) for _, s in levers]))]
        _, n = stance.line(nearest.fall.q[0], nearest.fall.up[0], diagonal)
    else:
        n = np.average([t.normal(stance) for t in trials], axis=0, weights=w)
    offset = float(n @ stance.com(stance.nominal)) - zero
    return SupportLine(
        stance.name(diagonal), turn, n, offset, std, (low, high), tuple(trials), np.array(levers), estimates
    )


def _side(trial: Trial, lever: float, method: Method) -> float:
    return lever if method == "momentum" else trial.tilt
