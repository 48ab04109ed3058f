"""Positive mass and positive definite inertia about the centre of mass, and no more (Ayusawa 8, Xu 6 and 7).

    [ I   [h]× ]
    [ [h]×ᵀ m1 ] ⪰ ε,    which is m > 0 and I_C = I + [h]×[h]×/m ≻ 0 by Schur's complement.

The triangle inequalities are not required, so such a body may not be physically consistent. For comparison.
"""

from __future__ import annotations

import numpy as np

from steelyard import inertia
from steelyard.compose.composition import Composition
from steelyard.compose.pseudo_inertia import mass_bound
from steelyard.inertia import SOLVER_MARGIN
from steelyard.robot.model import Body
from steelyard.spatial import Array, skew


def spatial(parameters: Array) -> Array:
    """Return the spatial inertia (6, 6), angular part first; linear in the parameters."""
    cross = skew(parameters[1:4])
    return np.block([[inertia.matrix(parameters[4:]), cross], [cross.T, parameters[0] * np.eye(3)]])


def composition(body: Body, scale: Array) -> Composition:
    """Return ten parameters of positive mass and positive definite inertia."""
    F = np.stack([spatial(e) for e in np.eye(10)])
    F[0, :3, :3] -= SOLVER_MARGIN * body.size**2 * np.eye(3)
    D = np.array([1 / body.size] * 3 + [1.0] * 3) / np.sqrt(body.parameters[0])
    return Composition(np.eye(10), body.parameters, scale, (F * np.outer(D, D),), mass_bound(body), consistent=False)
