"""The support line below the centre of mass: Algorithm 1 of Lee and Manchester, and a variant that uses tipping speed.

The trunk moves over its feet until the line through two of them passes below the centre of mass. The search variable
is the believed lever arm u of the weight about the line, computed for each trial from measured joint positions and the
measured direction of gravity, so that sagging joints and a trunk that is not level are accounted for. If the robot
tips forward, u is too large, if backward, too small; at u*, where it would not tip, −u* is the error of the believed
centre of mass along n.

``halving`` is the paper's search: the middle of the bracket, six times. ``momentum`` estimates u* from the angular
momentum of the falls and tries slightly beyond it, so that the bracket closes from both sides; u* is the zero of a line
through the measured lever arms. The error of a measured lever arm is proportional to it, so trials near balance have
the largest weights.
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

RANGE = 0.04  # m, largest error of the believed centre of mass along n
CLOSE = 0.005  # m, of the bracket: the paper's threshold
TRIALS = 6
SHARE = 0.15  # relative standard deviation of a lever arm measured by a fall: the believed inertia is off by some 10 %
FLOOR = 3e-4  # m, its absolute standard deviation
COMMON = 4e-4  # m, error common to all trials on a line: creeping feet, smoothing, a wrong inertia
BEYOND = 0.0015  # m, past the expected balance


@dataclass(frozen=True)
class Bisection:
    """How a support line is searched."""

    method: Method = "momentum"
    trials: int = TRIALS  # on each line, at most
    within: float = RANGE  # m, largest error of the belief along n

    def findings(self) -> Iterator[Finding]:
        """Faults of these settings."""
        if self.trials < 3:
            yield Finding(
                "option-value",
                f"trials={self.trials}",
                "must be ≥ 3",
                "Give a bracket and one trial inside",
                {"trials": 3},
            )
        if not 0.005 <= self.within <= 0.2:
            yield Finding("option-value", f"within={self.within:g}", "must be in [0.005, 0.2] m", "Give 5 to 200 mm")


@dataclass(frozen=True)
class SupportLine:
    """A line below the centre of mass c, hence a plane that contains it: n · c = offset, c in the nominal posture."""

    feet: str
    turn: float  # rad, of the trunk about the line's direction
    normal: Array  # (3,) n, base axes
    offset: float  # m
    std: float  # m, from the trials; errors of joint zeros and of gravity's direction not included
    bracket: tuple[float, float]  # m, believed lever arms at which it tipped to different sides
    trials: tuple[Trial, ...]
    levers: Array  # (trials, 2) m: believed lever arm, and the one measured by the fall
    estimates: Array  # (trials,) m, error of the belief along n as estimated after each trial


def find_line(
    rig: Rig,
    stance: QuadrupedStance,
    diagonal: tuple[int, int],
    how: Bisection,
    *,
    turn: float = 0.0,
    progress: Callable[[str], None] = lambda _: None,
) -> SupportLine:
    """Search for the support line of two diagonal feet, the trunk turned about its direction by ``turn`` (rad).

    Raises:
        LogError: The robot tipped to one side in all trials.
    """
    rig.stand()
    method, at, low, high, sag = how.method, stance.nominal, -how.within, how.within, 0.0
    tried, trials, levers, guesses = at, list[Trial](), list[tuple[float, float]](), list[float]()
    goal = 0.0
    while len(trials) < how.trials and not (method == "momentum" and len(trials) >= 3 and high - low <= CLOSE):
        posture = over_line(stance, diagonal, turn, goal - sag, tried)
        trial, at = attempt(rig, stance, at, posture, diagonal)
        tried = posture
        u, s = trial.lever(stance)
        sag += u - goal  # the joints yield: the next posture compensates
        trials.append(trial)
        levers.append((u, s))
        low, high = _narrowed(low, high, u, _side(trial, s, method))
        guess, _ = balance(levers)
        guesses.append(-guess if method == "momentum" else -(low + high) / 2)
        side = "beyond the line" if trial.tilt > 0 else "before the line"
        progress(
            f"{stance.name(diagonal)}, trial {len(trials)}: lever arm believed {1e3 * u:6.1f} mm, tips by "
            f"{np.degrees(trial.tilt):5.1f}° ({side}), measured {1e3 * s:6.1f} mm; error of the belief "
            f"{1e3 * guesses[-1]:.1f} mm"
        )
        goal = _next(method, low, high, guess, levers)
    sides = [_side(t, s, method) > 0 for t, (_, s) in zip(trials, levers, strict=True)]
    if len(set(sides)) == 1 and (method == "halving" or min(abs(s) for _, s in levers) > CLOSE / 2):
        raise LogError(
            Finding(
                "com-out-of-range",
                f"support line of {stance.name(diagonal)}",
                f"is more than {1e3 * how.within:.0f} mm from the described centre of mass",
                "Search a wider range, and check the feet and the sign of the gyro",
                {"within": 2 * how.within},
            )
        )
    return line_of(stance, turn, trials, method, np.array(guesses))


def over_line(stance: QuadrupedStance, diagonal: tuple[int, int], turn: float, goal: float, start: Array) -> Array:
    """(J,) posture with the feet in place, the trunk turned, and ``goal`` (m) as the believed lever arm."""
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
    """(trials,) 1/m²: inverse variances of measured lever arms (m)."""
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
    """The bracket after a trial at u; a trial that contradicts it (too near balance to judge) moves the other end."""
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
    """Evaluate trials on one diagonal under a belief, from which lever arms and momenta of their falls follow."""
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
