"""From desired accelerations of trunk and feet to motor torques, by inverse dynamics of the described robot.

With the joint accelerations that move trunk and feet as desired, ``rnea(q, v, a) = Sᵀτ + Σ Jᵀf``: its first six rows
determine the sum of contact forces, the others the motor torques for given forces. Forces are sums of edges of friction
pyramids with coefficients λ ≥ 0, so to distribute them is a non-negative least-squares problem.

So is convex model-predictive control of a trunk on planned feet (Di Carlo et al., 2018): one rigid body,
``v̇ = g + Σ f/m``, ``I ω̇ = Σ r × f``. Over a horizon, forces are constant in each step, so positions and velocities are
fixed linear functions of the accelerations of all steps, and tracking a reference is ``min ½λᵀGλ − cᵀλ, λ ≥ 0``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from steelyard.experiment.simulate.legs import Feet, Legs
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.kernels import active_set
from steelyard.spatial import Array, cross

CONE = 0.4  # coefficient of friction that the controllers assume
EDGES = np.array(
    [[CONE, 0, 1], [-CONE, 0, 1], [0, CONE, 1], [0, -CONE, 1]]
).T  # (3, 4) of a pyramid, per N of normal force
HOLD = (60.0, 12.0)  # 1/s², 1/s: stiffness and damping of joints that belong to no leg
STEPS = 10  # of the horizon
COST = 1e-6  # regularisation of forces, relative to the mean diagonal of the problem


@dataclass(frozen=True)
class DesiredAccelerations:
    """Desired accelerations at one instant, world axes unless stated."""

    linear: Array  # (3,) m/s², of the base origin
    angular: Array  # (3,) rad/s², of the base, base axes
    feet: Array  # (F, 3) m/s², of the balls' centres


def required(legs: Legs, state: RobotState, feet: Feet, wish: DesiredAccelerations) -> Array:
    """(6 + J,) generalised forces that give the described robot these accelerations; base rows in base axes."""
    a = np.zeros(6 + len(legs.robot.joints))
    a[:3] = feet.rotation.T @ wish.linear - cross(state.angular_velocity, state.velocity)
    a[3:6] = wish.angular
    a[6:] = HOLD[0] * (legs.home - state.q) - HOLD[1] * state.v
    rest = wish.feet - feet.bias - feet.jacobian[:, :, :6] @ a[:6]
    A = np.take_along_axis(feet.jacobian, 6 + legs.joints[:, None, :], axis=2)  # (F, 3, 3)
    At = A.transpose(0, 2, 1)
    inner = A @ At + 1e-8 * np.eye(3)  # a straight knee stays finite
    a[6 + legs.joints] = (At @ np.linalg.solve(inner, rest[:, :, None]))[:, :, 0]
    return np.asarray(pin.rnea(legs.model, legs.data, state.configuration, state.motion, a))


def distribute(legs: Legs, feet: Feet, wrench: Array, standing: Array) -> Array:
    """(F, 3) N, forces in the friction pyramids of standing feet that come nearest to ``wrench`` (6,); world axes."""
    weight = 1 / np.array([1, 1, 1, legs.length / 2, legs.length / 2, legs.length / 2])
    used = np.flatnonzero(standing)
    A = np.concatenate([feet.contact[k, :, :6].T @ EDGES for k in used], axis=1) * weight[:, None]
    G = A.T @ A + 1e-4 * np.eye(A.shape[1])
    (x, _), _ = active_set.solve(np.ascontiguousarray(G), A.T @ (weight * wrench))
    forces = np.zeros((len(legs.feet), 3))
    forces[used] = x.reshape(-1, 4) @ EDGES.T
    return forces


def torques(legs: Legs, feet: Feet, forces_needed: Array, ground: Array) -> Array:
    """(J,) motor torques, from required generalised forces (6 + J,) and contact forces (F, 3)."""
    return np.asarray(forces_needed[6:] - np.einsum("kij,ki->j", feet.contact[:, :, 6:], ground))


@dataclass(frozen=True)
class Plan:
    """Reference over the horizon, world axes; attitude as a rotation vector from the present reference."""

    position: Array  # (N, 6) m and rad at the end of each step
    velocity: Array  # (N, 6) m/s and rad/s
    lever: Array  # (N, F, 3) m, from the centre of mass to the feet
    standing: Array  # (N, F) bool: in contact


class Predictive:
    """Model-predictive control of a rigid body with this mass (kg) and inertia (3, 3, base axes)."""

    def __init__(self, mass: float, inertia: Array, step: float, weights: tuple[Array, Array]) -> None:
        self.mass, self.inertia, self.step = mass, inertia, step
        i, j = np.arange(1, STEPS + 1)[:, None], np.arange(STEPS)[None]
        self.P = np.where(j < i, (i - j - 0.5) * step**2, 0.0)  # positions from accelerations
        self.V = np.where(j < i, step, 0.0)  # velocities from accelerations
        self.weights = weights  # (6,) of positions and of velocities: x y z, then about x y z
        p, v = weights
        self.H = np.einsum("k,ij->kij", p, self.P.T @ self.P) + np.einsum("k,ij->kij", v, self.V.T @ self.V)

    def forces(self, x: Array, v: Array, drift: Array, rotation: Array, plan: Plan) -> Array:
        """(F, 3) contact forces of the first step, from position, velocity and acceleration without contact (6,)."""
        F = plan.lever.shape[1]
        used = [(j, k) for j in range(STEPS) for k in range(F) if plan.standing[j, k]]
        step, foot = np.array(used).T
        r = plan.lever[step, foot]  # (U, 3)
        inverse = np.linalg.inv(rotation @ self.inertia @ rotation.T)
        turning = np.cross(r[:, :, None], EDGES[None], axisa=1, axisb=1, axisc=1)  # (U, 3, 4)
        B = np.concatenate([np.broadcast_to(EDGES / self.mass, turning.shape), inverse @ turning], axis=1)  # (U, 6, 4)
        n = 4 * len(used)
        S = np.zeros((6, STEPS, n))
        S[:, np.repeat(step, 4), np.arange(n)] = B.transpose(1, 0, 2).reshape(6, n)
        along = self.step * np.arange(1, STEPS + 1)[:, None]
        gap_x = plan.position - (x + along * v + 0.5 * along**2 * drift)
        gap_v = plan.velocity - (v + along * drift)
        p, w = self.weights
        pull = (self.P.T @ gap_x * p + self.V.T @ gap_v * w).T  # (6, N)
        G = np.einsum("kim,kin->mn", S, self.H @ S, optimize=True)
        c = np.einsum("kim,ki->m", S, pull)
        G[np.diag_indices(n)] += COST * np.trace(G) / n
        (y, _), _ = active_set.solve(np.ascontiguousarray(G), np.ascontiguousarray(c))
        out = np.zeros((F, 3))
        first = step == 0
        out[foot[first]] = y.reshape(-1, 4)[first] @ EDGES.T
        return out
