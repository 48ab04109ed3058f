"""Positive mass, centre of mass in the body's box, inertia positive along some directions (Jovic 4): all linear.

    m ≥ m₁,    lower·m ≤ h ≤ upper·m,    vᵀ(I − ε m s² 1)v ≥ 0    for the given directions v.

I is the inertia about the frame's origin, which is linear in the parameters, as in the paper. Positive along nine
directions is not positive definite, and positive definite is not yet physically consistent: the caller checks the
result and adds directions (``identify/methods/constrained.py``).
"""

from __future__ import annotations

import itertools

import numpy as np

from steelyard import inertia
from steelyard.compose.composition import Composition
from steelyard.compose.pseudo_inertia import mass_bound
from steelyard.inertia import SOLVER_MARGIN
from steelyard.robot import geometry
from steelyard.robot.model import Body
from steelyard.spatial import Array

DIRECTIONS = np.array(
    [*np.eye(3), *(np.eye(3)[i] + s * np.eye(3)[j] for i, j in itertools.combinations(range(3), 2) for s in (1, -1))]
)  # axes and diagonals: I_ii ≥ 0 and |I_ij| ≤ (I_ii + I_jj)/2


def composition(body: Body, scale: Array) -> Composition:
    """Return ten parameters under linear inequalities; a load has no box."""
    start, rows = body.parameters, np.stack([direction_row(body, v) for v in DIRECTIONS])
    if body.carrier is None:
        start, rows = geometry.box_inertia(start[0], body.mass_box), np.vstack([com_rows(body), rows])
    return Composition(np.eye(10), start, scale, (), mass_bound(body), rows=rows, consistent=False)


def com_rows(body: Body) -> Array:
    """Return rows (6, 10) whose products with θ are non-negative exactly if the CoM is in the body's box."""
    least, most = body.mass_box
    rows = np.zeros((6, 10))
    rows[:3, 0], rows[:3, 1:4] = -least, np.eye(3)
    rows[3:, 0], rows[3:, 1:4] = most, -np.eye(3)
    return rows


def direction_row(body: Body, direction: Array) -> Array:
    """Return the row (10,) of vᵀ(I − ε m s² 1)v, which is linear in θ; v is normalised."""
    v = direction / np.linalg.norm(direction)
    twice = np.where(np.array([0, 1, 0, 1, 1, 0], bool), 2.0, 1.0)
    return np.concatenate([[-SOLVER_MARGIN * body.size**2], np.zeros(3), twice * inertia.six(np.outer(v, v))])
