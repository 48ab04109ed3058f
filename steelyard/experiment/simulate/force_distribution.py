"""From wanted accelerations of trunk and feet to motor torques, by the described robot's inverse dynamics.

With joint accelerations that move trunk and feet as wanted, ``rnea(q, v, a) = Sᵀτ + Σ Jᵀf``: its first six rows say
what the ground has to do, the others what motors do for given forces. Forces are sums of edges of friction pyramids
with coefficients λ ≥ 0, so to distribute them is a non-negative least-squares problem, as is the model-predictive one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.experiment.simulate.legs import Feet, Legs
from steelyard.experiment.simulate.state import State
from steelyard.kernels import nnls
from steelyard.spatial import cross

Array = np.ndarray

CONE = 0.4  # friction that a controller counts on
EDGES = np.array(
    [[CONE, 0, 1], [-CONE, 0, 1], [0, CONE, 1], [0, -CONE, 1]]
).T  # (3, 4) of a pyramid, per N of normal force
HOLD = (60.0, 12.0)  # 1/s², 1/s: how joints that belong to no leg are held


@dataclass(frozen=True)
class Wish:
    """Accelerations wanted at one instant, world axes unless said."""

    linear: Array  # (3,) m/s², of the base origin
    angular: Array  # (3,) rad/s², of the base, base axes
    feet: Array  # (F, 3) m/s², of the balls' centres


def required(legs: Legs, state: State, feet: Feet, wish: Wish) -> Array:
    """(6 + J,) generalised forces that make the described robot accelerate as wished; base rows in base axes."""
    import pinocchio as pin

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
    """(F, 3) forces in friction pyramids of the standing feet that come nearest to the base rows (6,), world axes."""
    weight = 1 / np.array([1, 1, 1, legs.length / 2, legs.length / 2, legs.length / 2])
    used = np.flatnonzero(standing)
    A = np.concatenate([feet.contact[k, :, :6].T @ EDGES for k in used], axis=1) * weight[:, None]
    G = A.T @ A + 1e-4 * np.eye(A.shape[1])
    (x, _), _ = nnls.solve(np.ascontiguousarray(G), A.T @ (weight * wrench))
    forces = np.zeros((len(legs.feet), 3))
    forces[used] = x.reshape(-1, 4) @ EDGES.T
    return forces


def torques(legs: Legs, feet: Feet, forces_needed: Array, ground: Array) -> Array:
    """(J,) motor torques, given what is required (6 + J,) and what the ground does to the feet (F, 3)."""
    return np.asarray(forces_needed[6:] - np.einsum("kij,ki->j", feet.contact[:, :, 6:], ground))
