"""Any ten numbers whose mass is positive: what textbooks call a constrained fit. Most such bodies cannot exist."""

from __future__ import annotations

import numpy as np

from steelyard.compose.composition import Composition
from steelyard.compose.pseudo_inertia import mass_floor
from steelyard.robot.model import Body

Array = np.ndarray


def composition(body: Body, scale: Array) -> Composition:
    """Ten free parameters, the mass bounded from below."""
    lower = np.full(10, -np.inf)
    lower[0] = mass_floor(body)
    return Composition(np.eye(10), body.parameters, scale, (), lower, consistent=False)
