"""Optimisation task of an arm's exciting motion: limits, noise and the base parameters to be excited.

``ArmTask`` gives the root of a motion's information and, for an optimiser, a criterion of sampled states with its
gradient. One batch of regressor rows gives all derivatives: rows are affine in accelerations and quadratic in
velocities, where differences are exact; central differences in positions are accurate to 1e-8.
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
from steelyard.errors import Finding, UsageError, unknown_name
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.fourier import Fourier
from steelyard.experiment.excite.motion_request import Criterion
from steelyard.robot.model import Robot
from steelyard.spatial import Array

TURN = np.pi  # rad to either side: range of a continuous joint
SPEED, EFFORT = 2.0, 50.0  # rad/s or m/s, and N·m or N: limits of a joint that has none
NOISE = 0.01  # standard deviation of a joint's torque, as a share of its effort limit
RATE = 100.0  # Hz, rows whose noise counts as independent
STEP = 1e-4  # rad, rad/s: for finite differences
COMPILED = 10**9  # samples: selects the compiled kernels


class Limits(NamedTuple):
    """Limits of a motion; (J,) each."""

    lower: Array  # rad or m
    upper: Array
    speed: Array  # per s
    acceleration: Array  # per s²; inf where none is given
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
        """Shares of the description's limits.

        Args:
            robot: Its joints' limits; ``TURN``, ``SPEED`` and ``EFFORT`` stand in for missing ones.
            speed: Share of the velocity limits that may be used.
            margin: Share of a joint's range that is left free at each end.
            effort: Share of the effort limits that may be used.
            acceleration: Joint → largest acceleration, rad/s² or m/s².
        """
        shares = {"speed": speed, "effort": effort, "margin": margin}
        findings = [
            Finding(
                "option-value",
                f"{k}={x}",
                "must be ≥ 0 and < 0.5" if k == "margin" else "must be > 0 and ≤ 1",
                "Give a share of the joint's range" if k == "margin" else "Give a share of the limit",
            )
            for k, x in shares.items()
            if not (0 <= x < 0.5 if k == "margin" else 0 < x <= 1)
        ]
        findings += [
            unknown_name(
                f"joint {j!r}", f"is not in {robot.name}", j, robot.joints, f"Joints: {', '.join(robot.joints)}"
            )
            for j in acceleration or {}
            if j not in robot.joints
        ]
        if findings:
            raise UsageError(findings)
        joints = [robot.description.joints[j] for j in robot.joints]
        low, high = (np.clip([getattr(j, side) for j in joints], -TURN, TURN) for side in ("lower", "upper"))
        room = margin * (high - low)
        speeds = np.array([j.velocity if 0 < j.velocity < np.inf else SPEED for j in joints])
        efforts = np.array([j.effort if 0 < j.effort < np.inf else EFFORT for j in joints])
        accelerations = np.array([(acceleration or {}).get(j, np.inf) for j in robot.joints])
        return cls(low + room, high - room, speed * speeds, accelerations, effort * efforts)


class LimitUsage(NamedTuple):
    """Largest share of each kind of limit that a motion uses at any time; 1 is at the limit."""

    position: float
    speed: float
    acceleration: float
    torque: float

    @property
    def peak(self) -> float:
        """The largest of the shares; at most 1 where the motion is feasible."""
        return max(self)


class CriterionGradient(NamedTuple):
    """A criterion to be minimised, and torques, at sampled states, with their derivatives."""

    value: float  # nats
    q: Array  # (T, J) derivative of the value
    v: Array
    a: Array
    torque: Array  # (T, J) N·m or N
    torque_q: Array  # (T, J of the torque, J of the position)
    torque_v: Array
    torque_a: Array


@dataclass(frozen=True, eq=False)
class ArmTask:
    """An arm, its limits, and the parameters that its motion should excite."""

    robot: Robot
    limits: Limits
    columns: Columns
    noise: Array  # (J,) N·m or N

    @classmethod
    def of(cls, robot: Robot, limits: Limits, friction: str = "none", noise: Sequence[float] | None = None) -> ArmTask:
        """The task of a fixed-base robot.

        Args:
            robot: An arm.
            limits: Of its motion.
            friction: Joint terms to be excited, too.
            noise: Standard deviations (J,) of torques, N·m or N; ``NOISE`` of the effort limits where not given.
        """
        if robot.floating:
            what = "has a floating base: a periodic motion of an arm would tip it over"
            fix = 'Give an arm, or load it with base="fixed"'
            raise UsageError(Finding("base-floating", robot.name, what, fix, {"base": "fixed"}))
        terms = tuple((joint, term) for joint in robot.joints for term in FRICTION[friction])
        columns = Columns(tuple(b.name for b in robot.bodies), terms)
        efforts = [robot.description.joints[j].effort for j in robot.joints]
        usual = np.array([NOISE * (e if 0 < e < np.inf else EFFORT) for e in efforts])
        return cls(robot, limits, columns, usual if noise is None else np.asarray(noise, float))

    @cached_property
    def identifiable(self) -> Subspace:
        """Structurally identifiable subspace of the joint equations."""
        scale = priors.make(self.robot, self.columns).scale
        return Setup(self.robot, "joint", self.columns).structure(scale)

    @cached_property
    def basis(self) -> Array:
        """Map D·V (n, r) from columns of all parameters to those of the base parameters in natural units."""
        return np.asarray(self.identifiable.scale[:, None] * self.identifiable.V)

    @cached_property
    def prior_parameters(self) -> Array:
        """Parameters (n,) that predict the torques: the description's, without friction."""
        return np.concatenate([self.robot.prior, np.zeros(self.columns.n - len(self.robot.prior))])

    def rows(self, q: Array, v: Array, a: Array) -> Array:
        """Regressor rows (T, J, n) of the joint torques, not weighted."""
        none = None
        segment = Segment(np.arange(len(q)) / RATE, RATE, q, v, a, np.zeros_like(q), {}, none, none, none, none, {})
        rows = Setup(self.robot, "joint", self.columns).rows([segment], samples=COMPILED)
        return rows.raw(segment, None)[0][:, : len(self.robot.joints)]

    def information(self, q: Array, v: Array, a: Array, seconds: float) -> Array:
        """Triangle R (n, n) of the rows at samples of a motion of ``seconds``, scaled to ``RATE`` rows a second."""
        Y = self.rows(q, v, a) / self.noise[:, None] * np.sqrt(seconds * RATE / len(q))
        return np.asarray(np.linalg.qr(Y.reshape(-1, self.columns.n), mode="r"))

    def root(self, motion: Fourier, seconds: float) -> Array:
        """Root (r, r) of the base parameters' information in ``seconds`` of a motion."""
        t = np.arange(round(seconds * RATE)) / RATE
        return criteria.triangle(self.information(*motion.at(t), seconds) @ self.basis)

    def limit_usage(self, motion: Fourier) -> LimitUsage:
        """Shares of the limits that a motion uses, between samples too: certified, but torques to second order."""
        b, limits = motion.bounds(), self.limits
        middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
        far = np.maximum(np.abs(b.upper - middle), np.abs(b.lower - middle)) / half
        tau = np.abs(self.torque_bound(motion)) / limits.effort
        return LimitUsage(
            *(float(x.max()) for x in (far, b.speed / limits.speed, b.acceleration / limits.acceleration, tau))
        )

    def torque_bound(self, motion: Fourier) -> Array:
        """Bound (J,) of torques: the largest of the samples, plus a quarter of the largest second difference.

        A parabola through three samples rises at most an eighth of that above them; the margin is twice as much.
        """
        tau = self.rows(*motion.at(motion.samples())) @ self.prior_parameters
        bend = np.roll(tau, 1, axis=0) + np.roll(tau, -1, axis=0) - 2 * tau
        return np.asarray(np.abs(tau).max(axis=0) + np.abs(bend).max(axis=0) / 4)

    def differentiate(self, q: Array, v: Array, a: Array, criterion: Criterion) -> CriterionGradient:
        """Value and derivatives of −½ log det, or of log condition, in nats, at states (T, J)."""
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
        tau = Y @ self.prior_parameters  # (states, T, J)
        derivatives = []
        for x in (along, tau):
            by_q, by_v = ((x[k : k + 2 * J : 2] - x[k + 1 : k + 2 * J : 2]) / (2 * STEP) for k in (1, 1 + 2 * J))
            derivatives.append([by_q, by_v, x[1 + 4 * J :] - x[0]])
        (q1, v1, a1), (q2, v2, a2) = ([np.moveaxis(x, 0, -1) for x in part] for part in derivatives)
        return CriterionGradient(value, q1, v1, a1, tau[0], q2, v2, a2)


def _criterion(M: Array, criterion: Criterion) -> tuple[float, Array]:
    """Value of a criterion, to be minimised, and its gradient (m, r) by the root M."""
    U, s, Wt = np.linalg.svd(M, full_matrices=False)
    if criterion == "determinant":
        return -float(np.sum(np.log(s))), -(U / s) @ Wt
    G = np.outer(U[:, 0], Wt[0]) / s[0] - np.outer(U[:, -1], Wt[-1]) / s[-1]
    return float(np.log(s[0] / s[-1])), G
