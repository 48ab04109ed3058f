"""Ten parameters with a positive mass and no other constraint: most such bodies are not physically consistent."""

from __future__ import annotations

import numpy as np

from steelyard.compose.composition import Composition
from steelyard.compose.pseudo_inertia import mass_bound
from steelyard.robot.model import Body
from steelyard.spatial import Array


def composition(body: Body, scale: Array) -> Composition:
    """Return ten free parameters, the mass bounded from below."""
    return Composition(np.eye(10), body.parameters, scale, (), mass_bound(body), consistent=False)
