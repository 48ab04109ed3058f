"""A whole-body trajectory: base and joints as one quintic spline, with exact derivatives.

Coordinates: position of the base (3), its roll, pitch and yaw (R = Rz Ry Rx), joints. Knots are ``STEP`` apart, at rest
at both ends. A spline lies within the hull of its coefficients, which thus bound position and speed between samples.
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
RATE = 200.0  # Hz at which a trajectory is checked and written
DEGREE = 5


@dataclass(frozen=True)
class Trajectory:
    """Base and joints over time."""

    robot: Robot
    spline: BSpline  # → (6 + J,)
    duration: float  # s

    @classmethod
    def through(cls, robot: Robot, values: Array, step: float = STEP) -> Trajectory:
        """Interpolate coordinates (N, 6 + J) that are ``step`` seconds apart, at rest at both ends."""
        time = np.arange(len(values)) * step
        zero = np.zeros(values.shape[1])
        rest: Any = [(order, zero) for order in (1, 2)]
        return cls(robot, make_interp_spline(time, values, k=DEGREE, bc_type=(rest, rest)), float(time[-1]))

    def at(self, time: Array) -> TrajectorySamples:
        """The trajectory at times (T,)."""
        x, v, a = (self.spline(time, nu) for nu in range(3))
        return TrajectorySamples(self.robot, time, x, v, a)

    def sampled(self, rate: float = RATE) -> TrajectorySamples:
        """The trajectory at a constant rate, Hz."""
        return self.at(np.arange(round(self.duration * rate) + 1) / rate)

    def log(self, standing: Mapping[str, Array], metadata: Mapping[str, Any], source: str, rate: float = RATE) -> Log:
        """As a log to play; ``standing`` is foot → whether it is on the ground at each sample."""
        s = self.sampled(rate)
        columns: dict[str, Array] = {"time": s.time}
        for kind, values in (("q", s.q), ("v", s.v), ("a", s.a)):
            columns |= {f"{kind}.{j}": values[:, k] for k, j in enumerate(self.robot.joints)}
        R = s.rotation
        vectors = {
            "base.position": s.base_position,
            "base.velocity": rotate_to_base(R, s.values_v[:, :3]),
            "base.angular_velocity": s.gyro,
            "base.acceleration": rotate_to_base(R, s.values_a[:, :3]),
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
    """A trajectory at some times, with its kinematics and inverse dynamics."""

    robot: Robot
    time: Array  # (T,) s
    values: Array  # (T, 6 + J) coordinates
    values_v: Array  # first derivatives
    values_a: Array  # second derivatives

    @property
    def base_position(self) -> Array:
        """Position (T, 3) of the base in the world, m."""
        return self.values[:, :3]

    @property
    def q(self) -> Array:
        """Joint positions (T, J), rad or m."""
        return self.values[:, 6:]

    @property
    def v(self) -> Array:
        """Joint velocities (T, J), rad/s or m/s."""
        return self.values_v[:, 6:]

    @property
    def a(self) -> Array:
        """Joint accelerations (T, J), rad/s² or m/s²."""
        return self.values_a[:, 6:]

    @cached_property
    def rotation(self) -> Array:
        """Rotation (T, 3, 3) from base to world axes."""
        return rotation_from_rpy(self.values[:, 3:6])

    @cached_property
    def gyro(self) -> Array:
        """Angular velocity (T, 3) of the base in base axes, rad/s."""
        return np.asarray(np.einsum("tij,tj->ti", _rates(self.values[:, 3:6]), self.values_v[:, 3:6]))

    @cached_property
    def alpha(self) -> Array:
        """Angular acceleration (T, 3) of the base in base axes, rad/s²."""
        angles, speed = self.values[:, 3:6], self.values_v[:, 3:6]
        E, change = _rates(angles), _rates_derivative(angles, speed)
        return np.asarray(np.einsum("tij,tj->ti", E, self.values_a[:, 3:6]) + np.einsum("tij,tj->ti", change, speed))

    @cached_property
    def segment(self) -> Segment:
        """As ``equations`` takes it: base axes, proper acceleration."""
        up = self.rotation[:, 2]
        g = float(np.linalg.norm(self.robot.gravity))
        acc = rotate_to_base(self.rotation, self.values_a[:, :3]) + g * up
        rate = 1 / (self.time[1] - self.time[0])
        return Segment(self.time, rate, self.q, self.v, self.a, None, {}, self.gyro, self.alpha, acc, up, {})

    @cached_property
    def kinematics(self) -> Kinematics:
        """Poses and Jacobians of the bodies, in the base frame."""
        return Kinematics(_tree(self.robot), self._states, len(self.time))

    @cached_property
    def _states(self) -> Array:
        return _tree(self.robot).states(self.segment)

    @cached_property
    def generalised_forces(self) -> Array:
        """Inverse dynamics (T, 6 + J) without contact: base wrench (base axes, about its origin), joint torques."""
        return generalised(_tree(self.robot), self._states, parameters_in_tree_order(self.robot))[: len(self.time)]

    @cached_property
    def ground_wrench(self) -> tuple[Array, Array]:
        """Force (T, 3), N, and moment (T, 3) about the world's origin, N·m, of the ground reaction, world axes."""
        R = self.rotation
        force, moment = (np.einsum("tij,tj->ti", R, self.generalised_forces[:, k : k + 3]) for k in (0, 3))
        return force, moment + np.cross(self.base_position, force)

    @cached_property
    def zmp(self) -> Array:
        """Zero-moment point (T, 2) on the plane z = 0, m."""
        force, moment = self.ground_wrench
        return np.asarray(np.column_stack([-moment[:, 1], moment[:, 0]]) / force[:, 2:])


def parameters_in_tree_order(robot: Robot) -> Array:
    """Inertial parameters (N, 10) of the bodies, in the order of the flat tree."""
    tree = _tree(robot)
    theta = np.zeros((tree.bodies, 10))
    for body in robot.bodies:
        theta[tree.nodes[body.name] - 1] += body.parameters
    return theta


def _tree(robot: Robot) -> FlatTree:
    assert robot.tree is not None
    return robot.tree


def rotate_to_base(R: Array, x: Array) -> Array:
    """World vectors x (T, 3) in base axes."""
    return np.asarray(np.einsum("tji,tj->ti", R, x))


def _rates(angles: Array) -> Array:
    """Matrix E (T, 3, 3) from the derivatives of roll, pitch, yaw to angular velocity in base axes."""
    (cr, cp, _), (sr, sp, _) = np.cos(angles).T, np.sin(angles).T
    one, zero = np.ones_like(cr), np.zeros_like(cr)
    return np.moveaxis(np.array([[one, zero, -sp], [zero, cr, sr * cp], [zero, -sr, cr * cp]]), 2, 0)


def _rates_derivative(angles: Array, speed: Array) -> Array:
    """dE/dt (T, 3, 3)."""
    (cr, cp, _), (sr, sp, _), (r, p, _) = np.cos(angles).T, np.sin(angles).T, speed.T
    zero = np.zeros_like(cr)
    rows = [
        [zero, zero, -cp * p],
        [zero, -sr * r, cr * r * cp - sr * sp * p],
        [zero, -cr * r, -sr * r * cp - cr * sp * p],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
