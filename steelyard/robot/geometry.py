"""How big a body is and where it lies: boxes and convex hulls of links from their shapes, or from their inertia."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard import inertia
from steelyard.robot.description import Link, Shape
from steelyard.spatial import Array

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

Box = tuple[Array, Array]  # lower and upper corner, (3,) m each

DENSEST = 7850.0  # kg/m³, steel: a body without shapes is at least as large as its mass in it

_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_AROUND = 2 * np.pi * np.arange(16) / 16
_CIRCLE = np.column_stack([np.cos(_AROUND), np.sin(_AROUND)])  # a cylinder's rim
_BALL = np.vstack(
    [np.column_stack([np.cos(a) * _CIRCLE, np.full(16, np.sin(a))]) for a in np.linspace(-np.pi / 2, np.pi / 2, 9)]
)


def link_box(link: Link, placement: Array) -> Box | None:
    """Box of a link's shapes in the frame where the link has the pose ``placement`` (4, 4).

    Collision shapes are preferred to visual ones; None where the link has neither, or only missing meshes.
    """
    points = _points(link, placement, _corners)
    return None if points is None else (points.min(axis=0), points.max(axis=0))


def outline(parts: Iterable[tuple[Link, Array]]) -> Array | None:
    """(v, 3) vertices of the convex hull of all shapes of some links, each at its pose (4, 4).

    Round shapes are inscribed polyhedra. Collision shapes are preferred to visual ones, as for ``link_box``; None
    where there is no shape of any extent in three directions.
    """
    found = [points for link, at in parts if (points := _points(link, at, _vertices)) is not None]
    return hull_vertices(np.vstack(found)) if found else None


def convex_hull(points: Array) -> ConvexHull:
    """The hull of points (·, d), by Qhull; ValueError where they are too few, flat or not finite."""
    from scipy.spatial import ConvexHull, QhullError  # takes as long to import as a fit

    try:
        return ConvexHull(points)
    except QhullError as error:
        raise ValueError("the points span no volume") from error


def hull_vertices(points: Array) -> Array | None:
    """(v, 3) those of the points (·, 3) that are corners of their convex hull; None where that is flat."""
    try:
        return np.asarray(points[convex_hull(points).vertices])
    except ValueError:
        return None


def fewer(points: Array, most: int = 32) -> Array:
    """(≤ most, 3) of the points (·, 3): those farthest in directions spread evenly over a ball."""
    if len(points) <= most:
        return points
    k = np.arange(most) + 0.5
    z, turn = 1 - 2 * k / most, np.pi * (1 + 5**0.5) * k  # a spiral by the golden angle
    directions = np.column_stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z])
    around = (points - points.mean(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-9)  # so that long ones keep sides
    return np.asarray(points[np.unique(np.argmax(around @ directions.T, axis=0))])


def solid(vertices: Array) -> Array:
    """Ten parameters of the convex hull of these vertices (v, 3), evenly filled with a mass of one.

    Summed over tetrahedra of a facet each and a point inside: ∫xxᵀ = V/20·(Σvvᵀ + ssᵀ), s = Σv over their corners.
    """
    inside = vertices.mean(axis=0)
    facets = (vertices - inside)[convex_hull(vertices).simplices]  # (f, 3, 3); the fourth corner is the origin
    volume = np.abs(np.linalg.det(facets)) / 6
    s = facets.sum(axis=1)
    J = np.empty((4, 4))
    J[:3, :3] = (np.einsum("f,fai,faj->ij", volume, facets, facets) + np.einsum("f,fi,fj->ij", volume, s, s)) / 20
    J[:3, 3] = J[3, :3] = volume @ s / 4
    J[3, 3] = volume.sum()
    T = np.eye(4)
    T[:3, 3] = inside
    return inertia.from_pseudo(T @ (J / J[3, 3]) @ T.T)


def link_shapes(link: Link, placement: Array) -> tuple[Shape, ...]:
    """The shapes that ``link_box`` is the box of, in the frame where the link has the pose ``placement``."""
    for shapes in (link.collision, link.visual):
        if usable := [shape for shape in shapes if _corners(shape) is not None]:
            return tuple(replace(shape, placement=placement @ shape.placement) for shape in usable)
    return ()


def inertia_box(parameters: Array) -> Box:
    """Box around the uniform cuboid that has these ten parameters, in the body's axes.

    Where that is smaller than the body could be (no inertia was filled in) it is a cube of its mass in steel.
    """
    mass, com, _ = inertia.unpack(parameters)
    w, V = np.linalg.eigh(inertia.density_covariance(parameters))
    half = np.abs(V) @ np.sqrt(3 * np.maximum(w, 0))
    least = np.full(3, 0.5 * np.cbrt(mass / DENSEST))
    half = half if np.linalg.norm(half) > np.linalg.norm(least) else least
    return com - half, com + half


def join(boxes: list[Box]) -> Box:
    """The smallest box around several."""
    lower, upper = zip(*boxes, strict=True)
    return np.min(lower, axis=0), np.max(upper, axis=0)


def box_inertia(mass: float, box: Box) -> Array:
    """Ten parameters of a uniform cuboid."""
    edges = box[1] - box[0]
    covariance = np.diag(edges**2) / 12
    return inertia.pack(mass, (box[0] + box[1]) / 2, mass * (np.trace(covariance) * np.eye(3) - covariance))


def _points(link: Link, placement: Array, points_of: Callable[[Shape], Array | None]) -> Array | None:
    """(·, 3) of all collision shapes of a link, else of its visual ones, in the frame where it has this pose."""
    for shapes in (link.collision, link.visual):
        if found := [points for shape in shapes if (points := points_of(shape)) is not None]:
            return np.asarray(np.vstack(found) @ placement[:3, :3].T + placement[:3, 3])
    return None


def _corners(shape: Shape) -> Array | None:
    """(8, 3) corners, in the link frame, of the box that holds a shape in the shape's own axes; None: no mesh."""
    size = np.asarray(shape.size, float)
    centre = np.zeros(3)
    match shape.kind:
        case "box":
            half = size / 2
        case "sphere":
            half = np.full(3, size[0])
        case "ellipsoid":
            half = size
        case "cylinder":
            half = np.array([size[0], size[0], size[1] / 2])
        case "capsule":
            half = np.array([size[0], size[0], size[1] / 2 + size[0]])
        case _:
            extent = None if shape.mesh is None else _mesh_extent(shape.mesh)
            if extent is None:
                return None
            lower, upper = extent
            ends = np.sort(np.stack([lower * size, upper * size]), axis=0)
            centre, half = ends.mean(axis=0), (ends[1] - ends[0]) / 2
    local = centre + _CORNERS * half
    return np.asarray(local @ shape.placement[:3, :3].T + shape.placement[:3, 3])


def _vertices(shape: Shape) -> Array | None:
    """(v, 3) corners, in the link frame, of a shape, or of a polyhedron in a round one; None: no mesh."""
    size = np.asarray(shape.size, float)
    match shape.kind:
        case "sphere" | "ellipsoid":
            local = _BALL * size
        case "cylinder":
            local = np.vstack(
                [np.column_stack([size[0] * _CIRCLE, np.full(16, z)]) for z in (-size[1] / 2, size[1] / 2)]
            )
        case "capsule":
            local = np.vstack([size[0] * _BALL + [0, 0, z] for z in (-size[1] / 2, size[1] / 2)])
        case "mesh":
            corners = None if shape.mesh is None else mesh_corners(shape.mesh)
            if corners is None:
                return None
            local = corners * size
        case _:
            return _corners(shape)
    return np.asarray(local @ shape.placement[:3, :3].T + shape.placement[:3, 3])


@lru_cache(maxsize=256)
def _mesh_extent(path: Path) -> Box | None:
    if (mesh := _load_mesh(path)) is None:
        return None
    mesh.computeLocalAABB()
    return np.array(mesh.aabb_local.min_), np.array(mesh.aabb_local.max_)


@lru_cache(maxsize=256)
def mesh_corners(path: Path) -> Array | None:
    """(v, 3) corners of a mesh's convex hull, all its vertices where that is flat; None where it cannot be read."""
    if (mesh := _load_mesh(path)) is None:
        return None
    vertices = np.array(mesh.vertices(), float)
    if not len(vertices) or not np.isfinite(vertices).all():
        return None
    corners = hull_vertices(vertices)
    return vertices if corners is None else corners


def _load_mesh(path: Path) -> Any:
    """Of coal; None where it cannot be read."""
    import coal

    try:
        return coal.MeshLoader().load(str(path), np.ones(3))
    except (ValueError, RuntimeError):
        return None
