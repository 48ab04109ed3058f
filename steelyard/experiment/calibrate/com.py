"""The centre of mass of a standing quadruped, from joints and IMU alone: Algorithm 2 of Lee and Manchester.

Each support line is a plane n · c = d that holds the centre of mass c of the whole robot *in its nominal posture*: what
the legs' first moments moved between that posture and the one of a trial is taken back, Δh / M. n is horizontal by the
measured direction of gravity. Two level lines make x and y; with the trunk turned by ±15° about each line's
direction n leaves the horizontal plane of the trunk, and z follows (the paper's future work). All lines together are
one weighted least-squares problem, in which errors of the joints' zeros and of the accelerometer are common to all.
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
HEIGHT = 0.05  # m, standard deviation of the description's z where no trunk was turned
WEIGH = 2.0  # s


@dataclass(frozen=True)
class CentreOfMass:
    """Where the robot's mass is, and what says so."""

    com: Array  # (3,) m, base axes: the whole robot in its nominal posture
    covariance: Array  # (3, 3) m²
    trunk: Array  # (3,) m: of the trunk with all it carries, the legs as described
    described: Array  # (3,) m: what the description has for the whole robot
    mass: float  # kg, of the whole robot
    weighed: bool  # by the joints' torques at rest, or told
    legs_mass: float  # kg, as described
    lines: tuple[SupportLine, ...]
    tilted: bool  # whether z is measured

    @property
    def std(self) -> Array:
        """(3,) m."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def trunk_std(self) -> Array:
        """(3,) m, the legs taken as described."""
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
            "weighed": self.weighed,
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
    said: Callable[[str], None] = lambda _: None,
) -> CentreOfMass:
    """Find the centre of mass of a robot that stands on level ground.

    ``mass``: kg, where somebody weighed it; else the joints' torques at rest do. ``tilt``: turn the trunk, too, for
    z. ``zero_error`` (rad) and ``acc_bias`` (m/s²): standard deviations that go into the uncertainty.
    """
    how = how or Bisection()
    findings = [*how.findings()]
    if mass is not None and not (np.isfinite(mass) and mass > 0):
        findings.insert(0, Finding("todo", "mass", f"is {mass}", "Give kg above 0, or none to weigh by the joints"))
    if findings:
        raise UsageError(findings)
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    described = stance.com(stance.nominal)
    weight = weigh(rig, stance) if mass is None else mass
    said(f"the robot weighs {weight:.3f} kg ({'by its joints at rest' if mass is None else 'told'})")
    stance = stance.trunk(weight, described)
    lines = list[SupportLine]()
    for turn in (0.0, TURN, -TURN) if tilt else (0.0,):
        if turn:
            said(f"trunk turned by {np.degrees(turn):.0f}° about the line")
        lines += [find_line(rig, stance, diagonal, how, turn=turn, said=said) for diagonal in stance.diagonals]
        com, _ = solve(stance, lines, zero_error, acc_bias)
        stance = stance.trunk(weight, com)  # a better belief makes the next trials better, and those that were
        lines = [line_of(stance, line.turn, line.trials, how.method, line.estimates) for line in lines]
    com, covariance = solve(stance.trunk(weight, described), lines, zero_error, acc_bias)
    legs_mass, legs = stance.legs(stance.nominal)
    trunk = (weight * com - legs) / (weight - legs_mass)
    return CentreOfMass(com, covariance, trunk, described, weight, mass is None, legs_mass, tuple(lines), tilt)


def weigh(rig: Rig, stance: QuadrupedStance) -> float:
    """kg, from the torques that the legs hold the robot up with; dry friction in the joints goes into it."""
    rig.stand()
    count = round(WEIGH * rig.rate)
    rest = at_rest(stance, follow(rig, stance, np.tile(stance.nominal, (count, 1))), count // 2)
    return float(np.sum(stance.forces(rest.q, rest.tau, rest.up) @ rest.up) / GRAVITY)


def solve(stance: QuadrupedStance, lines: list[SupportLine], zero_error: float, acc_bias: float) -> tuple[Array, Array]:
    """Centre of mass (3,) and covariance from planes n · c = d; the believed z holds what no line tells."""
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
    """(J + 3,) m: how the plane's offset moves with each joint's zero (a radian) and with the measured up (a unit)."""
    trial = line.trials[-1]
    q, up, step = trial.fall.q[0], trial.fall.up[0], 1e-5
    base = stance.lever(q, up, trial.diagonal)
    joints = [stance.lever(q + step * e, up, trial.diagonal) - base for e in np.eye(len(q))]
    ups = [stance.lever(q, (u := up + step * e) / np.linalg.norm(u), trial.diagonal) - base for e in np.eye(3)]
    return np.array([*joints, *ups]) / step


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
