"""Convex model-predictive control of a trunk on planned feet (Di Carlo et al., 2018), as non-negative least squares.

The robot is one rigid body: ``v̇ = g + Σ f/m``, ``I ω̇ = Σ r × f``. Over a horizon, forces are constant in each step, so
positions and velocities are fixed linear functions of the accelerations of all steps. With forces as sums λ ≥ 0 of
edges of friction pyramids, tracking a reference is ``min ½λᵀGλ − cᵀλ, λ ≥ 0``: no other constraint is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.experiment.simulate.force_distribution import EDGES
from steelyard.kernels import nnls

Array = np.ndarray

STEPS = 10  # of a horizon
COST = 1e-6  # of a force, (m/s²)⁻² relative to what it accelerates


@dataclass(frozen=True)
class Plan:
    """What the horizon should look like; world axes; attitude as a rotation vector away from the reference of now."""

    position: Array  # (N, 6) wanted m and rad at the end of each step
    velocity: Array  # (N, 6) wanted m/s and rad/s
    lever: Array  # (N, F, 3) m, from the centre of mass to the feet
    standing: Array  # (N, F) whether a foot may push


class Predictive:
    """Forces for the step to come, of a body with this mass (kg) and inertia (3, 3, base axes)."""

    def __init__(self, mass: float, inertia: Array, step: float, weights: tuple[Array, Array]) -> None:
        self.mass, self.inertia, self.step = mass, inertia, step
        i, j = np.arange(1, STEPS + 1)[:, None], np.arange(STEPS)[None]
        self.P = np.where(j < i, (i - j - 0.5) * step**2, 0.0)  # positions from accelerations
        self.V = np.where(j < i, step, 0.0)  # velocities from accelerations
        self.weights = weights  # (6,) of positions and of velocities: x y z, then about x y z
        p, v = weights
        self.H = np.einsum("k,ij->kij", p, self.P.T @ self.P) + np.einsum("k,ij->kij", v, self.V.T @ self.V)

    def forces(self, x: Array, v: Array, drift: Array, rotation: Array, plan: Plan) -> Array:
        """(F, 3) for the first step, from positions, velocities, and accelerations (6,) that are there anyway."""
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
        (y, _), _ = nnls.solve(np.ascontiguousarray(G), np.ascontiguousarray(c))
        out = np.zeros((F, 3))
        first = step == 0
        out[foot[first]] = y.reshape(-1, 4)[first] @ EDGES.T
        return out
