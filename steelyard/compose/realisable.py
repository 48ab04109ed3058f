"""Density realisability: all mass lies inside the smallest ellipsoid around the body's box.

With [x; 1]ᵀ Q [x; 1] ≥ 0 inside the ellipsoid and < 0 outside, J ≻ 0 is the second moment of a density inside it
exactly when

    tr(J Q) = ∫ [x; 1]ᵀ Q [x; 1] ρ(x) dx ≥ 0    (Wensing, Kim and Slotine),

one more linear inequality. The smallest ellipsoid around a box has √3 times its half edges.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard import inertia
from steelyard.compose.composition import Composition
from steelyard.robot import geometry
from steelyard.robot.model import Body
from steelyard.spatial import Array, translation

ROOM = 1e-3  # of the mass: least slack of a start


def quadric(box: geometry.Box) -> Array:
    """Return Q (4, 4) of the smallest ellipsoid around a box."""
    centre, half = (box[0] + box[1]) / 2, (box[1] - box[0]) / 2
    T = translation(-centre)
    return np.asarray(T.T @ np.diag(np.append(-1 / (3 * half**2), 1.0)) @ T)


def ellipsoid_row(body: Body) -> Array:
    """Return the row (10,) of tr(J Q) as a function of the ten parameters, kg."""
    return np.asarray(np.einsum("kij,ij->k", inertia.PSEUDO_BASIS, quadric(body.mass_box)))


def confine(part: Composition, body: Body) -> Composition:
    """Return the composition confined to the ellipsoid around the body's box; a start outside moves into the box."""
    q, start = ellipsoid_row(body), part.start
    if q @ (part.map @ start) < ROOM * body.parameters[0]:
        start = np.linalg.lstsq(part.map, geometry.box_inertia(body.parameters[0], body.mass_box), rcond=None)[0]
    rows = (q @ part.map)[None]
    return replace(part, start=start, rows=np.vstack([part.rows, rows]) if part.rows.size else rows)
