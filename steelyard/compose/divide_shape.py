"""Division of a shape into smaller ones with the same total parameters (Xu III-D): refining only enlarges the cone.

Along an axis of symmetry with half axis a and second moment a²/k, p equal children of half axis b, evenly spaced
between the parent's ends, have the parent's second moment if

    b²/k + (a − b)² g = a²/k,    g = (p + 1)/(3(p − 1)),    so    b/a = (gk − 1)/(gk + 1).

Other axes stay as they are, and so do all ten parameters. Where k = 3 (a cuboid, a cylinder along its axis) this is b =
a/p: a cut into slices. Elsewhere (k = 4 across a cylinder, 5 for an ellipsoid) it is not a partition of the volume but
serves as well: motion depends on the moments alone. For p = 2 the children have b = a(k − 1)/(k + 1), at
±2a/(k + 1). A cap is not symmetric along its axis: there a is the distance from its centre of mass to the nearer end.

Polyhedra are cut by planes. A cluster, such as a capsule, is divided into its parts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from steelyard.compose.primitives import CANON, Cluster, Polyhedron, Primitive, Solid
from steelyard.spatial import Array

MOST_PARTS = 8  # a cap along its axis has k = 2.37: more children than this would need a negative size


class Child(NamedTuple):
    """One part of a divided shape, and its share of the parent's mass."""

    share: float
    shape: Primitive


def longest_axis(shape: Solid | Polyhedron) -> int:
    """Return the axis along which a shape extends farthest; the first of equals."""
    return int(np.argmax(shape.widths > (1 - 1e-9) * np.max(shape.widths)))


@lru_cache(maxsize=4096)
def divide(shape: Primitive, parts: int = 2, axis: int | None = None) -> tuple[Child, ...]:
    """Return children whose parameters sum exactly to the parent's; ``axis`` defaults to the longest."""
    if not 2 <= parts <= MOST_PARTS:
        raise ValueError(f"parts must lie in 2 … {MOST_PARTS} (got {parts})")
    if isinstance(shape, Cluster):
        return tuple(Child(float(s), p) for s, p in zip(shape.shares, shape.parts, strict=True) if s > 0)
    assert isinstance(shape, Solid | Polyhedron)
    along = longest_axis(shape) if axis is None else axis
    return _split(shape, parts, along) if isinstance(shape, Solid) else _slices(shape, parts, along)


def criterion(mass: float, volume: float, k1: float, k2: float) -> float:
    """Return v = k₁ m V + k₂ m/V (Xu 16), large for heavy shapes of great volume or great density."""
    return k1 * mass * volume + k2 * mass / volume


def _split(solid: Solid, parts: int, axis: int) -> tuple[Child, ...]:
    canon = CANON[solid.kind]
    end = min(1 - canon.mean[axis], canon.mean[axis] - canon.lower[axis])  # a in units of the half axis
    gk = (parts + 1) / (3 * (parts - 1)) * end**2 / canon.variance[axis]
    smaller = (gk - 1) / (gk + 1)
    half = solid.half.copy()
    half[axis] *= smaller
    pieces = []
    for place in np.linspace(-1.0, 1.0, parts):
        # The mean moves by place·(a − b); for a cap, whose mean is not its origin, the origin moves by the difference.
        shift = solid.half[axis] * (1 - smaller) * (place * end + canon.mean[axis])
        T = solid.placement.copy()
        T[:3, 3] += shift * solid.axes[:, axis]
        pieces.append(Child(1 / parts, Solid(solid.kind, half, T)))
    return tuple(pieces)


def _slices(whole: Polyhedron, parts: int, axis: int) -> tuple[Child, ...]:
    normal = whole.axes[:, axis]
    low, high = -whole.support(-normal), whole.support(normal)
    pieces, rest = [], whole
    for k in range(1, parts):
        below, rest = cut(rest, normal, low + (high - low) * k / parts)
        pieces.append(below)
    volumes = [p.volume for p in (*pieces, rest)]
    return tuple(Child(v / sum(volumes), p) for v, p in zip(volumes, (*pieces, rest), strict=True))


def cut(whole: Polyhedron, normal: Array, offset: float) -> tuple[Polyhedron, Polyhedron]:
    """Return the parts below and above the plane normal·x = offset, which must intersect the interior.

    Triangles across the plane are cut in three; the section is closed by a fan about its middle, the same for both.
    """
    height = whole.triangles @ normal - offset  # (t, 3)
    above = height >= 0
    count = above.sum(axis=1)
    crossing = (count == 1) | (count == 2)
    lone_above = count[crossing] == 1
    lone = np.where(lone_above, np.argmax(above[crossing], axis=1), np.argmin(above[crossing], axis=1))
    turn = (lone[:, None] + np.arange(3)) % 3  # the corner that is alone comes first
    corners = np.take_along_axis(whole.triangles[crossing], turn[:, :, None], axis=1)
    h = np.take_along_axis(height[crossing], turn, axis=1)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    p = a + (b - a) * (h[:, 0] / (h[:, 0] - h[:, 1]))[:, None]
    q = a + (c - a) * (h[:, 0] / (h[:, 0] - h[:, 2]))[:, None]
    tip = np.stack([a, p, q], axis=1)
    trunk = np.stack([np.stack([p, b, c], axis=1), np.stack([p, c, q], axis=1)], axis=1)  # (n, 2, 3, 3)
    middle = np.broadcast_to(np.concatenate([p, q]).mean(axis=0), p.shape)
    on_tip, on_trunk = np.stack([middle, q, p], axis=1), np.stack([middle, p, q], axis=1)
    halves = []
    for upper in (False, True):
        whole_triangles = whole.triangles[count == (3 if upper else 0)]
        tips = lone_above == upper
        parts = [whole_triangles, tip[tips], on_tip[tips], trunk[~tips].reshape(-1, 3, 3), on_trunk[~tips]]
        halves.append(Polyhedron(_without_slivers(np.concatenate(parts)), whole.axes))
    return halves[0], halves[1]


def _without_slivers(triangles: Array) -> Array:
    """Remove degenerate triangles (two equal corners), which a plane through a corner produces."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    same = (a == b).all(axis=1) | (b == c).all(axis=1) | (a == c).all(axis=1)
    return np.asarray(triangles[~same])
