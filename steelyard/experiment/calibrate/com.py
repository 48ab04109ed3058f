"""The centre of mass of a standing quadruped, from joints and IMU alone: Algorithm 2 of Lee and Manchester.

Each support line is a plane n · c = d that contains the centre of mass c of the whole robot *in its nominal posture*:
the change Δh / M of the legs' first moments between that posture and the one of a trial is subtracted. n is horizontal
by the measured direction of gravity. Two level lines determine x and y; with the trunk turned by ±15° about each line's
direction n leaves the horizontal plane of the trunk, and z follows (the paper's future work). All lines together are
one weighted least-squares problem, in which errors of joint zeros and of the accelerometer are common to all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.calibrate.bisection import Bisection, SupportLine, find_line, line_of
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.rig import Rig
from steelyard.experiment.calibrate.tipping import at_rest, follow
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

TURN = np.radians(15.0)
HEIGHT = 0.05  # m, standard deviation of the described z
WEIGH = 2.0  # s at rest, of which the second half is averaged


@dataclass(frozen=True)
class CentreOfMass:
    """The centre of mass of a robot, with the support lines that determine it."""

    com: Array  # (3,) m, base axes: the whole robot in its nominal posture
    covariance: Array  # (3, 3) m²
    trunk: Array  # (3,) m: of the trunk with its payload, the legs as described
    described: Array  # (3,) m: of the whole robot as described
    mass: float  # kg, of the whole robot
    mass_measured: bool  # by the joint torques at rest; else given
    legs_mass: float  # kg, as described
    lines: tuple[SupportLine, ...]
    tilted: bool  # the trunk was turned too, which measures z

    @property
    def std(self) -> Array:
        """(3,) m, standard deviation of ``com``."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def trunk_std(self) -> Array:
        """(3,) m, standard deviation of ``trunk``, the legs taken as described."""
        return self.std * self.mass / (self.mass - self.legs_mass)

    @property
    def trials(self) -> int:
        """How many times it stood on two feet."""
        return sum(len(line.trials) for line in self.lines)

    def as_json(self) -> dict[str, Any]:
        """The contents of ``calibration.json``."""
        return {
            "com": self.com.tolist(),
            "std": self.std.tolist(),
            "covariance": self.covariance.tolist(),
            "of": "the whole robot in its nominal posture, base axes, m",
            "z_measured": self.tilted,
            "described": self.described.tolist(),
            "trunk": {"com": self.trunk.tolist(), "std": self.trunk_std.tolist()},
            "mass": self.mass,
            "weighed": self.mass_measured,
            "lines": [
                {
                    "feet": line.feet,
                    "turn": line.turn,
                    "normal": line.normal.tolist(),
                    "offset": line.offset,
                    "std": line.std,
                    "bracket": [_finite(x) for x in line.bracket],
                    "trials": [
                        {"believed": float(u), "shown": float(s), "tilt": t.tilt}
                        for (u, s), t in zip(line.levers, line.trials, strict=True)
                    ],
                }
                for line in self.lines
            ],
        }


def find_com(
    rig: Rig,
    how: Bisection | None = None,
    *,
    mass: float | None = None,
    tilt: bool = True,
    zero_error: float = 0.0,
    acc_bias: float = 0.0,
    progress: Callable[[str], None] = lambda _: None,
) -> CentreOfMass:
    """Find the centre of mass of a robot that stands on level ground.

    Args:
        rig: The robot.
        how: Search for each support line.
        mass: kg, of the whole robot on a scale; default from its joint torques at rest.
        tilt: Turn the trunk as well, which measures z.
        zero_error: rad, standard deviation of the joints' zeros.
        acc_bias: m/s², standard deviation of the accelerometer's bias.
        progress: Called with a line of text per trial.

    Returns:
        Centre of mass of the whole robot and of its trunk, base axes, with covariance.

    Raises:
        UsageError: The settings, or the robot's legs, do not suit the procedure.
        LogError: A trial failed.
    """
    how = how or Bisection()
    findings = [*how.findings()]
    if mass is not None and not (np.isfinite(mass) and mass > 0):
        findings.insert(
            0,
            Finding(
                "option-value", f"mass={mass}", "must be > 0", "Give kg, or None to use joint torques", {"mass": None}
            ),
        )
    if findings:
        raise UsageError(findings)
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    described = stance.com(stance.nominal)
    weight = weigh(rig, stance) if mass is None else mass
    progress(f"mass {weight:.3f} kg ({'from joint torques at rest' if mass is None else 'given'})")
    stance = stance.with_mass_and_com(weight, described)
    lines = list[SupportLine]()
    for turn in (0.0, TURN, -TURN) if tilt else (0.0,):
        if turn:
            progress(f"trunk turned by {np.degrees(turn):.0f}° about the line")
        lines += [find_line(rig, stance, diagonal, how, turn=turn, progress=progress) for diagonal in stance.diagonals]
        com, _ = solve(stance, lines, zero_error, acc_bias)
        stance = stance.with_mass_and_com(weight, com)  # a better belief improves the next trials, and earlier ones
        lines = [line_of(stance, line.turn, line.trials, how.method, line.estimates) for line in lines]
    com, covariance = solve(stance.with_mass_and_com(weight, described), lines, zero_error, acc_bias)
    legs_mass, legs = stance.legs(stance.nominal)
    trunk = (weight * com - legs) / (weight - legs_mass)
    return CentreOfMass(com, covariance, trunk, described, weight, mass is None, legs_mass, tuple(lines), tilt)


def weigh(rig: Rig, stance: QuadrupedStance) -> float:
    """Measure the mass of the robot, kg, from its joint torques at rest; dry friction of the joints adds an error."""
    rig.stand()
    count = round(WEIGH * rig.rate)
    rest = at_rest(stance, follow(rig, stance, np.tile(stance.nominal, (count, 1))), count // 2)
    return float(np.sum(stance.forces(rest.q, rest.tau, rest.up) @ rest.up) / GRAVITY)


def solve(stance: QuadrupedStance, lines: list[SupportLine], zero_error: float, acc_bias: float) -> tuple[Array, Array]:
    """Centre of mass (3,) and covariance from planes n · c = d, with a weak prior on z."""
    believed = stance.com(stance.nominal)
    A, d = np.array([line.normal for line in lines]), np.array([line.offset for line in lines])
    common = [
        disturbances(stance, line)
        * np.concatenate([np.full(len(stance.nominal), zero_error), np.full(3, acc_bias / GRAVITY)])
        for line in lines
    ]
    C = np.diag([line.std**2 for line in lines]) + np.array(common) @ np.array(common).T
    W = np.linalg.inv(C)
    prior = np.diag([0.0, 0.0, HEIGHT**-2])
    covariance = np.linalg.inv(A.T @ W @ A + prior)
    return covariance @ (A.T @ W @ d + prior @ believed), covariance


def disturbances(stance: QuadrupedStance, line: SupportLine) -> Array:
    """(J + 3,) derivatives of the plane's offset by each joint's zero (m/rad) and by the measured up direction (m)."""
    trial = line.trials[-1]
    q, up, step = trial.fall.q[0], trial.fall.up[0], 1e-5
    base = stance.lever(q, up, trial.diagonal)
    joints = [stance.lever(q + step * e, up, trial.diagonal) - base for e in np.eye(len(q))]
    ups = [stance.lever(q, (u := up + step * e) / np.linalg.norm(u), trial.diagonal) - base for e in np.eye(3)]
    return np.array([*joints, *ups]) / step


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
