"""What a link may be made of, one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from steelyard.compose import boxed, linear, mata, points, pseudo_inertia, shapes
from steelyard.compose.composition import Composition
from steelyard.robot.model import Body

Make = Callable[[Body, np.ndarray], Composition]
"""Makes the composition of a body, given the natural size of its ten parameters."""

COMPOSITIONS: Mapping[str, Make] = {
    "linear": linear.composition,
    "mata": mata.composition,
    "lmi": pseudo_inertia.composition,
    "nonlinear": pseudo_inertia.composition,  # the same bodies, found in other coordinates
    "constrained": boxed.composition,
    "points": points.composition,
    "shapes": shapes.composition,
}
