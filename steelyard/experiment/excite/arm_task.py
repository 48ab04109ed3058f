"""What is asked of an arm's exciting motion: limits, noise and the base parameters that it should tell.

``ArmTask`` gives what a motion tells (the root of its information) and, for an optimiser, a criterion of sampled states
with its gradient. One batch of rows gives all derivatives: rows are affine in accelerations and quadratic in
velocities, so that differences are exact there, and central differences in positions are to 1e-8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from steelyard.compose import prior as priors
from steelyard.equations.columns import FRICTION, Columns
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.errors import Finding, UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.fourier import Fourier
from steelyard.experiment.excite.motion_request import Criterion
from steelyard.robot.model import Robot
from steelyard.spatial import Array

TURN = np.pi  # rad to either side: joints that turn on and on are kept within
SPEED, EFFORT = 2.0, 50.0  # rad/s or m/s, and N·m or N, of a joint that has no limits
NOISE = 0.01  # of the effort limit: what a joint's torque is taken to be wrong by
RATE = 100.0  # rows a second whose noise is independent
STEP = 1e-4  # rad, rad/s: for differences
COMPILED = 10**9  # samples: rows by compiled kernels


class Limits(NamedTuple):
    """What a motion keeps within; (J,) each."""

    lower: Array  # rad or m
    upper: Array
    speed: Array  # per s
    acceleration: Array  # per s²; inf where nobody gave one
    effort: Array  # N·m or N

    @classmethod
    def of(
        cls,
        robot: Robot,
        speed: float = 0.8,
        margin: float = 0.05,
        effort: float = 0.8,
        acceleration: Mapping[str, float] | None = None,
    ) -> Limits:
        """Shares ``speed`` and ``effort`` of the description's limits, and ``margin`` of the range kept at each end."""
        shares = {"speed": speed, "effort": effort, "margin": margin}
        bad = [
            Finding(
                "todo",
                f"--{k} {x}",
                "is no share",
                "Give a number above 0, at most 1" if k != "margin" else "Give a number from 0 to below 0.5",
            )
            for k, x in shares.items()
            if not (0 <= x < 0.5 if k == "margin" else 0 < x <= 1)
        ]
        bad += [
            Finding("todo", f"joint {j!r}", f"is not in {robot.name}", f"Joints: {', '.join(robot.joints)}")
            for j in acceleration or {}
            if j not in robot.joints
        ]
        if bad:
            raise UsageError(bad)
        joints = [robot.description.joints[j] for j in robot.joints]
        low, high = (np.clip([getattr(j, side) for j in joints], -TURN, TURN) for side in ("lower", "upper"))
        room = margin * (high - low)
        fast = np.array([j.velocity if 0 < j.velocity < np.inf else SPEED for j in joints])
        strong = np.array([j.effort if 0 < j.effort < np.inf else EFFORT for j in joints])
        quick = np.array([(acceleration or {}).get(j, np.inf) for j in robot.joints])
        return cls(low + room, high - room, speed * fast, quick, effort * strong)


class Excess(NamedTuple):
    """How far a motion uses its limits at any time: shares, 1 is at the limit."""

    position: float
    speed: float
    acceleration: float
    torque: float

    @property
    def most(self) -> float:
        """The largest."""
        return max(self)


class Slope(NamedTuple):
    """A criterion to be made small, and torques, at sampled states, with their derivatives."""

    value: float
    q: Array  # (T, J) derivative of the value
    v: Array
    a: Array
    torque: Array  # (T, J) N·m or N
    torque_q: Array  # (T, J of the torque, J of the position)
    torque_v: Array
    torque_a: Array


@dataclass(frozen=True, eq=False)
class ArmTask:
    """An arm, its limits, and what its motion should tell."""

    robot: Robot
    limits: Limits
    columns: Columns
    noise: Array  # (J,) N·m or N

    @classmethod
    def of(cls, robot: Robot, limits: Limits, friction: str = "none", noise: Sequence[float] | None = None) -> ArmTask:
        """``friction``: which joint terms are to be told, too; ``noise`` (J,) of torques, a hundredth of the effort."""
        if robot.floating:
            what = "has a floating base, and this motion would throw it over"
            raise UsageError(Finding("todo", robot.name, what, "Give an arm, or --base fixed"))
        terms = tuple((joint, term) for joint in robot.joints for term in FRICTION[friction])
        columns = Columns(tuple(b.name for b in robot.bodies), terms)
        efforts = [robot.description.joints[j].effort for j in robot.joints]
        usual = np.array([NOISE * (e if 0 < e < np.inf else EFFORT) for e in efforts])
        return cls(robot, limits, columns, usual if noise is None else np.asarray(noise, float))

    @cached_property
    def possible(self) -> Subspace:
        """What joint torques of any motion could tell."""
        scale = priors.make(self.robot, self.columns).scale
        return Setup(self.robot, "joint", self.columns).structure(scale)

    @cached_property
    def basis(self) -> Array:
        """(n, r) D·V: what rows are multiplied by to be those of the base parameters."""
        return np.asarray(self.possible.scale[:, None] * self.possible.V)

    @cached_property
    def believed(self) -> Array:
        """(n,) parameters that torques are foreseen by: the description's, no friction."""
        return np.concatenate([self.robot.prior, np.zeros(self.columns.n - len(self.robot.prior))])

    def rows(self, q: Array, v: Array, a: Array) -> Array:
        """(T, J, n) equations of the joints' torques, not weighed."""
        none = None
        segment = Segment(np.arange(len(q)) / RATE, RATE, q, v, a, np.zeros_like(q), {}, none, none, none, none, {})
        made = Setup(self.robot, "joint", self.columns).rows([segment], samples=COMPILED)
        return made.raw(segment, None)[0][:, : len(self.robot.joints)]

    def information(self, q: Array, v: Array, a: Array, seconds: float) -> Array:
        """(n, n) R of rows at these samples, weighed as if they were all there are in so many ``seconds``."""
        Y = self.rows(q, v, a) / self.noise[:, None] * np.sqrt(seconds * RATE / len(q))
        return np.asarray(np.linalg.qr(Y.reshape(-1, self.columns.n), mode="r"))

    def root(self, motion: Fourier, seconds: float) -> Array:
        """(r, r) root of the base parameters' information in so many seconds of a motion."""
        t = np.arange(round(seconds * RATE)) / RATE
        return criteria.triangle(self.information(*motion.at(t), seconds) @ self.basis)

    def used(self, motion: Fourier) -> Excess:
        """Shares of the limits that it uses: bounds that hold at all times, torques to second order between samples."""
        b, limits = motion.bounds(), self.limits
        middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
        far = np.maximum(np.abs(b.upper - middle), np.abs(b.lower - middle)) / half
        tau = np.abs(self.torque_bound(motion)) / limits.effort
        return Excess(
            *(float(x.max()) for x in (far, b.speed / limits.speed, b.acceleration / limits.acceleration, tau))
        )

    def torque_bound(self, motion: Fourier) -> Array:
        """(J,) the largest torque of the samples, and a quarter of the largest second difference of neighbours.

        A parabola through three samples rises at most an eighth of that above them; the margin is twice as much.
        """
        tau = self.rows(*motion.at(motion.samples())) @ self.believed
        bend = np.roll(tau, 1, axis=0) + np.roll(tau, -1, axis=0) - 2 * tau
        return np.asarray(np.abs(tau).max(axis=0) + np.abs(bend).max(axis=0) / 4)

    def slope(self, q: Array, v: Array, a: Array, criterion: Criterion) -> Slope:
        """Of −½ log det, or of log condition; nats."""
        T, J = q.shape
        D = STEP * np.eye(J)
        states = [(q, v, a)]
        states += [(q + s * d, v, a) for d in D for s in (1, -1)] + [(q, v + s * d, a) for d in D for s in (1, -1)]
        states += [(q, v, a + d) for d in D / STEP]
        stacked = (np.vstack([s[k] for s in states]) for k in range(3))
        Y = self.rows(*stacked).reshape(len(states), T, J, -1)
        M = (Y[0] / self.noise[:, None]).reshape(T * J, -1) @ self.basis
        value, G = _criterion(M, criterion)
        G = (G @ self.basis.T).reshape(T, J, -1) / self.noise[:, None]
        along = np.einsum("stjn,tjn->st", Y, G)
        tau = Y @ self.believed  # (states, T, J)
        found = []
        for x in (along, tau):
            by_q, by_v = ((x[k : k + 2 * J : 2] - x[k + 1 : k + 2 * J : 2]) / (2 * STEP) for k in (1, 1 + 2 * J))
            found.append([by_q, by_v, x[1 + 4 * J :] - x[0]])
        (q1, v1, a1), (q2, v2, a2) = ([np.moveaxis(x, 0, -1) for x in part] for part in found)
        return Slope(value, q1, v1, a1, tau[0], q2, v2, a2)


def _criterion(M: Array, criterion: Criterion) -> tuple[float, Array]:
    """Its value, to be made small, and its gradient (m, r)."""
    U, s, Wt = np.linalg.svd(M, full_matrices=False)
    if criterion == "determinant":
        return -float(np.sum(np.log(s))), -(U / s) @ Wt
    G = np.outer(U[:, 0], Wt[0]) / s[0] - np.outer(U[:, -1], Wt[-1]) / s[-1]
    return float(np.log(s[0] / s[-1])), G
