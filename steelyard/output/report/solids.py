"""Triangle meshes of the shapes in JSON; entries that are not shapes give none.

All shapes are convex, so that each is the hull of a few points: corners, or points on a round solid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from steelyard import inertia
from steelyard.robot.geometry import convex_hull, extreme_points
from steelyard.spatial import Array

CORNERS = 32  # most vertices of a polyhedron
SHARP = np.cos(np.radians(25))  # edges with a larger angle between their faces are drawn

_AROUND = 2 * np.pi * np.arange(16) / 16
_CIRCLE = np.column_stack([np.cos(_AROUND), np.sin(_AROUND)])
_UP = np.radians([-90, -60, -30, 0, 30, 60, 90])
_BALL = np.vstack([np.column_stack([np.cos(a) * _CIRCLE, np.full(16, np.sin(a))]) for a in _UP])
_CANON = {
    "cuboid": np.array(list(product((-1.0, 1.0), repeat=3))),
    "cylinder": np.vstack([np.column_stack([_CIRCLE, np.full(16, z)]) for z in (-1.0, 1.0)]),
    "ellipsoid": _BALL,
    "cap": _BALL[_BALL[:, 2] > -1e-9],
}
_HALF_AXES = {"cuboid": 3.0, "ellipsoid": 5.0}  # squared, over the variance of the density


@dataclass(frozen=True)
class Mesh:
    """Triangles, counter-clockwise seen from outside."""

    vertices: Array  # (v, 3) m
    triangles: Array  # (t, 3) indices

    def placed(self, pose: Array) -> Mesh:
        """The mesh transformed by a pose (4, 4)."""
        return Mesh(self.vertices @ pose[:3, :3].T + pose[:3, 3], self.triangles)

    @property
    def edges(self) -> Array:
        """(e, 2) indices of the sharp edges."""
        corners = self.vertices[self.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        sides: dict[tuple[int, int], list[int]] = {}
        for t, (a, b, c) in enumerate(self.triangles.tolist()):
            for edge in ((a, b), (b, c), (c, a)):
                sides.setdefault((min(edge), max(edge)), []).append(t)
        sharp = [e for e, of in sides.items() if len(of) != 2 or normals[of[0]] @ normals[of[1]] < SHARP]
        return np.array(sharp, int).reshape(-1, 2)

    def outline(self, across: int, up: int) -> Array:
        """(n, 2) outline of its projection along the third axis, in order."""
        flat = self.vertices[:, [across, up]]
        try:
            return np.asarray(flat[convex_hull(flat).vertices])
        except ValueError:
            return np.zeros((0, 2))


def meshes(shape: Any, corners: int = CORNERS) -> list[Mesh]:
    """Meshes of a shape: one, or one for each part of a cluster; polyhedra with at most ``corners`` vertices."""
    if not isinstance(shape, Mapping):
        return []
    if isinstance(parts := shape.get("parts"), list):
        single = [part for part in parts if isinstance(part, Mapping) and "parts" not in part]
        return [mesh for part in single for mesh in meshes(part, corners)]
    points = _points(shape, corners)
    return [] if points is None else hull(points)


def merged(several: Iterable[Mesh]) -> Mesh:
    """The union of several meshes."""
    vertices, triangles, count = [np.zeros((0, 3))], [np.zeros((0, 3), int)], 0
    for mesh in several:
        vertices.append(mesh.vertices)
        triangles.append(mesh.triangles + count)
        count += len(mesh.vertices)
    return Mesh(np.vstack(vertices), np.vstack(triangles))


def uniform_solid(parameters: Any, kind: Literal["cuboid", "ellipsoid"]) -> list[Mesh]:
    """The uniform solid with these ten parameters; empty where there is none."""
    p = matrix(parameters, (10,))
    if p is None or p[0] <= 0:
        return []
    covariance = inertia.density_covariance(p)
    if kind == "cuboid":  # rounding must not rotate the axes of a cube
        covariance = np.where(np.abs(covariance) < 1e-6 * np.trace(covariance), 0.0, covariance)
    w, V = np.linalg.eigh(covariance)
    if w[0] <= 0:
        return []
    return hull(p[1:4] / p[0] + (_CANON[kind] * np.sqrt(_HALF_AXES[kind] * w)) @ V.T)


def lines(several: Iterable[Mesh]) -> Iterator[list[float] | None]:
    """End points of all edges, with None after each pair, as Plotly separates lines."""
    for mesh in several:
        for a, b in mesh.edges:
            yield mesh.vertices[a].tolist()
            yield mesh.vertices[b].tolist()
            yield None


def matrix(value: Any, shape: tuple[int, ...]) -> Array | None:
    """An array of finite numbers of this shape; -1 is any length; else None."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        return None
    fits = array.ndim == len(shape) and all(n in (m, -1) for m, n in zip(array.shape, shape, strict=True))
    return array if fits and np.isfinite(array).all() else None


def _points(shape: Mapping[str, Any], most: int) -> Array | None:
    if "corners" in shape:
        corners = matrix(shape["corners"], (-1, 3))
        return None if corners is None else extreme_points(corners, most)
    canon = _CANON.get(str(shape.get("kind")))
    half, position = matrix(shape.get("half"), (3,)), matrix(shape.get("position"), (3,))
    rotation = matrix(shape.get("rotation"), (3, 3))
    if canon is None or half is None or position is None or rotation is None:
        return None
    return np.asarray((canon * half) @ rotation.T + position)


def hull(points: Array) -> list[Mesh]:
    """The convex hull of points (n, 3); empty where they span no volume."""
    try:
        solid = convex_hull(points)
    except ValueError:
        return []
    number = np.zeros(len(points), int)
    number[solid.vertices] = np.arange(len(solid.vertices))
    corners = points[solid.simplices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ti,ti->t", normal, solid.equations[:, :3]) < 0
    triangles = number[solid.simplices]
    triangles[inward] = triangles[inward][:, ::-1]
    return [Mesh(np.asarray(points[solid.vertices]), triangles)]
