"""Random primitives of every kind, and bodies made of them."""

from __future__ import annotations

import numpy as np

from steelyard import inertia
from steelyard.compose.primitives import capsule, combine, cuboid, cylinder, ellipsoid, polyhedron, sphere
from steelyard.robot.model import Body
from tests.motions import rotation

KINDS = ("cuboid", "cylinder", "ellipsoid", "sphere", "capsule", "cap", "polyhedron")


def pose(rng, far=0.5):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(rng), rng.normal(size=3) * far
    return T


def at(*position):
    T = np.eye(4)
    T[:3, 3] = position
    return T


def random_primitive(kind, rng, size=0.3, thin=0.1):
    """Of this kind, somewhere, its measures between ``thin``·size and size."""
    x, y, z = size * thin ** rng.uniform(0, 1, 3)
    T = pose(rng, size)
    match kind:
        case "cuboid":
            return cuboid([x, y, z], T)
        case "cylinder":
            return cylinder(x, y, T)
        case "ellipsoid":
            return ellipsoid([x, y, z], T)
        case "sphere":
            return sphere(x, T)
        case "capsule":
            return capsule(x, y, T)
        case "cap":
            return capsule(x, y, T).parts[rng.integers(1, 3)]
    return polyhedron(rng.normal(size=(rng.integers(4, 30), 3)) * [x, y, z], T)


def body_of(parts, mass=2.0, name="b", weights=None):
    """A body that its description has made of these, one density or these masses."""
    whole = combine(parts, weights)
    lower, upper = whole.box
    size = float(np.linalg.norm(upper - lower))
    parameters = inertia.nearest_consistent(mass * whole.parameters, size)
    return Body(name, (name,), 1, parameters, (lower, upper), size)
