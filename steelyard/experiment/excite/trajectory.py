"""A whole-body motion in time: base and joints as one spline of fifth degree, so that derivatives are derivatives.

Coordinates: place of the base (3), its roll, pitch and yaw (R = Rz Ry Rx), joints. Knots are ``STEP`` apart, at rest at
both ends. A spline lies within the hull of its coefficients, so with finer knots they bound position and speed between
all samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from steelyard.equations.segment import Segment
from steelyard.kernels.forces import Kinematics, generalised
from steelyard.kernels.tree import FlatTree
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import XYZ, Array, quaternion_from_rpy, rotation_from_rpy

STEP = 0.02  # s between knots
RATE = 200.0  # Hz at which a motion is checked and written
DEGREE = 5


@dataclass(frozen=True)
class Trajectory:
    """Base and joints over time."""

    robot: Robot
    spline: BSpline  # → (6 + J,)
    duration: float  # s

    @classmethod
    def through(cls, robot: Robot, values: Array, step: float = STEP) -> Trajectory:
        """Through values (N, 6 + J) a step apart, at rest at both ends."""
        time = np.arange(len(values)) * step
        zero = np.zeros(values.shape[1])
        rest: Any = [(order, zero) for order in (1, 2)]
        return cls(robot, make_interp_spline(time, values, k=DEGREE, bc_type=(rest, rest)), float(time[-1]))

    def at(self, time: Array) -> TrajectorySamples:
        """The motion at these times."""
        x, v, a = (self.spline(time, nu) for nu in range(3))
        return TrajectorySamples(self.robot, time, x, v, a)

    def sampled(self, rate: float = RATE) -> TrajectorySamples:
        """The motion at a steady rate."""
        return self.at(np.arange(round(self.duration * rate) + 1) / rate)

    def log(self, standing: Mapping[str, Array], metadata: Mapping[str, Any], source: str, rate: float = RATE) -> Log:
        """As a log to be played; ``standing``: by foot, whether it is on the ground at each sample."""
        s = self.sampled(rate)
        columns: dict[str, Array] = {"time": s.time}
        for kind, values in (("q", s.q), ("v", s.v), ("a", s.a)):
            columns |= {f"{kind}.{j}": values[:, k] for k, j in enumerate(self.robot.joints)}
        R = s.rotation
        vectors = {
            "base.position": s.place,
            "base.velocity": turned_back(R, s.values_v[:, :3]),
            "base.angular_velocity": s.gyro,
            "base.acceleration": turned_back(R, s.values_a[:, :3]),
            "base.angular_acceleration": s.alpha,
        }
        for name, vector in vectors.items():
            columns |= {f"{name}.{c}": vector[:, k] for k, c in enumerate(XYZ)}
        columns |= {
            f"base.quaternion.{c}": x for c, x in zip("xyzw", quaternion_from_rpy(s.values[:, 3:6]).T, strict=True)
        }
        columns |= {f"contact.{name}": values.astype(float) for name, values in standing.items()}
        return Log.from_columns(columns, metadata, source)


@dataclass(frozen=True)
class TrajectorySamples:
    """A motion at some times, and what it takes."""

    robot: Robot
    time: Array  # (T,) s
    values: Array  # (T, 6 + J)
    values_v: Array  # their first derivatives
    values_a: Array  # and second

    @property
    def place(self) -> Array:
        """(T, 3) m, of the base in the world."""
        return self.values[:, :3]

    @property
    def q(self) -> Array:
        """(T, J) rad or m."""
        return self.values[:, 6:]

    @property
    def v(self) -> Array:
        """(T, J) rad/s or m/s."""
        return self.values_v[:, 6:]

    @property
    def a(self) -> Array:
        """(T, J) rad/s² or m/s²."""
        return self.values_a[:, 6:]

    @cached_property
    def rotation(self) -> Array:
        """(T, 3, 3) of the base."""
        return rotation_from_rpy(self.values[:, 3:6])

    @cached_property
    def gyro(self) -> Array:
        """(T, 3) rad/s, base axes."""
        return np.asarray(np.einsum("tij,tj->ti", _rates(self.values[:, 3:6]), self.values_v[:, 3:6]))

    @cached_property
    def alpha(self) -> Array:
        """(T, 3) rad/s², base axes."""
        angles, speed = self.values[:, 3:6], self.values_v[:, 3:6]
        E, change = _rates(angles), _rates_change(angles, speed)
        return np.asarray(np.einsum("tij,tj->ti", E, self.values_a[:, 3:6]) + np.einsum("tij,tj->ti", change, speed))

    @cached_property
    def segment(self) -> Segment:
        """As equations take them: base axes, proper acceleration."""
        up = self.rotation[:, 2]
        g = float(np.linalg.norm(self.robot.gravity))
        acc = turned_back(self.rotation, self.values_a[:, :3]) + g * up
        rate = 1 / (self.time[1] - self.time[0])
        return Segment(self.time, rate, self.q, self.v, self.a, None, {}, self.gyro, self.alpha, acc, up, {})

    @cached_property
    def places(self) -> Kinematics:
        """Where bodies are and how joints move them, in the base's frame."""
        return Kinematics(_tree(self.robot), self._states, len(self.time))

    @cached_property
    def _states(self) -> Array:
        return _tree(self.robot).states(self.segment)

    @cached_property
    def forces(self) -> Array:
        """(T, 6 + J) what base (its axes, about its origin) and joints need, the ground not yet taken off."""
        return generalised(_tree(self.robot), self._states, ordered(self.robot))[: len(self.time)]

    @cached_property
    def wrench(self) -> tuple[Array, Array]:
        """(T, 3) N and (T, 3) N·m about the world's origin: what the ground must do, world axes."""
        R = self.rotation
        force, moment = (np.einsum("tij,tj->ti", R, x) for x in (self.forces[:, :3], self.forces[:, 3:6]))
        return force, moment + np.cross(self.place, force)

    @cached_property
    def zmp(self) -> Array:
        """(T, 2) m, where the ground's force acts on the plane z = 0."""
        force, moment = self.wrench
        return np.asarray(np.column_stack([-moment[:, 1], moment[:, 0]]) / force[:, 2:])


def ordered(robot: Robot) -> Array:
    """(N, 10) parameters in the tree's order."""
    tree = _tree(robot)
    theta = np.zeros((tree.bodies, 10))
    for body in robot.bodies:
        theta[tree.nodes[body.name] - 1] += body.parameters
    return theta


def _tree(robot: Robot) -> FlatTree:
    assert robot.tree is not None
    return robot.tree


def turned_back(R: Array, x: Array) -> Array:
    """(T, 3) vectors in base axes."""
    return np.asarray(np.einsum("tji,tj->ti", R, x))


def _rates(angles: Array) -> Array:
    """(T, 3, 3) E: angular velocity in base axes is E times the derivatives of roll, pitch, yaw."""
    (cr, cp, _), (sr, sp, _) = np.cos(angles).T, np.sin(angles).T
    one, zero = np.ones_like(cr), np.zeros_like(cr)
    return np.moveaxis(np.array([[one, zero, -sp], [zero, cr, sr * cp], [zero, -sr, cr * cp]]), 2, 0)


def _rates_change(angles: Array, speed: Array) -> Array:
    (cr, cp, _), (sr, sp, _), (r, p, _) = np.cos(angles).T, np.sin(angles).T, speed.T
    zero = np.zeros_like(cr)
    rows = [
        [zero, zero, -cp * p],
        [zero, -sr * r, cr * r * cp - sr * sp * p],
        [zero, -cr * r, -sr * r * cp - cr * sp * p],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
