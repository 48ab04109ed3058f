"""Boxes and convex hulls of links, from their shapes or, where these are missing, from their inertia."""

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

DENSEST = 7850.0  # kg/m³, steel: a body without shapes is at least as large as a cube of this density

_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_AROUND = 2 * np.pi * np.arange(16) / 16
_CIRCLE = np.column_stack([np.cos(_AROUND), np.sin(_AROUND)])  # rim of a cylinder
_BALL = np.vstack(
    [np.column_stack([np.cos(a) * _CIRCLE, np.full(16, np.sin(a))]) for a in np.linspace(-np.pi / 2, np.pi / 2, 9)]
)


def link_box(link: Link, placement: Array) -> Box | None:
    """Return the box of a link's shapes in the frame in which the link has the pose ``placement`` (4, 4).

    Collision shapes are preferred to visual ones; None if the link has neither, or only missing meshes.
    """
    points = _points(link, placement, _corners)
    return None if points is None else (points.min(axis=0), points.max(axis=0))


def hull_of_links(parts: Iterable[tuple[Link, Array]], visual: bool = False) -> Array | None:
    """Return the vertices (v, 3) of the convex hull of all shapes of some links, each at its pose (4, 4).

    Round shapes are approximated by inscribed polyhedra. Collision shapes are preferred to visual ones, as for
    ``link_box``, unless ``visual`` asks for both; None if the shapes have no volume.
    """
    if visual:
        parts = [(replace(link, collision=link.collision + link.visual), at) for link, at in parts]
    clouds = [points for link, at in parts if (points := _points(link, at, _vertices)) is not None]
    return hull_vertices(np.vstack(clouds)) if clouds else None


def convex_hull(points: Array) -> ConvexHull:
    """Compute the convex hull of points (·, d) by Qhull; ValueError if they are too few, flat or not finite."""
    from scipy.spatial import ConvexHull, QhullError  # its import takes as long as a fit

    try:
        return ConvexHull(points)
    except QhullError as error:
        raise ValueError("the points span no volume") from error


def hull_vertices(points: Array) -> Array | None:
    """Return the points (v, 3) that are vertices of the convex hull of points (·, 3); None if it is flat."""
    try:
        return np.asarray(points[convex_hull(points).vertices])
    except ValueError:
        return None


def extreme_points(points: Array, most: int = 32) -> Array:
    """Return at most ``most`` of the points (·, 3): the farthest in directions spread evenly over a sphere."""
    if len(points) <= most:
        return points
    k = np.arange(most) + 0.5
    z, turn = 1 - 2 * k / most, np.pi * (1 + 5**0.5) * k  # a spiral by the golden angle
    directions = np.column_stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z])
    # Normalised by their extent, so that long bodies keep points on all sides.
    around = (points - points.mean(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-9)
    return np.asarray(points[np.unique(np.argmax(around @ directions.T, axis=0))])


def hull_inertia(vertices: Array) -> Array:
    """Return the ten parameters of the convex hull of vertices (v, 3), of uniform density and unit mass.

    Summed over tetrahedra of a facet and an inner point: ∫xxᵀ = V/20·(Σvvᵀ + ssᵀ), s = Σv over their corners.
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
    """Return the shapes that ``link_box`` encloses, in the frame in which the link has the pose ``placement``."""
    for shapes in (link.collision, link.visual):
        if usable := [shape for shape in shapes if _corners(shape) is not None]:
            return tuple(replace(shape, placement=placement @ shape.placement) for shape in usable)
    return ()


def inertia_box(parameters: Array) -> Box:
    """Return the box around the uniform cuboid that has these ten parameters, in the body's axes.

    It is at least a cube of the body's mass in steel: an inertia of zero gives no size.
    """
    mass, com, _ = inertia.unpack(parameters)
    w, V = np.linalg.eigh(inertia.density_covariance(parameters))
    half = np.abs(V) @ np.sqrt(3 * np.maximum(w, 0))
    least = np.full(3, 0.5 * np.cbrt(mass / DENSEST))
    half = half if np.linalg.norm(half) > np.linalg.norm(least) else least
    return com - half, com + half


def enclosing_box(boxes: list[Box]) -> Box:
    """Return the smallest box around several."""
    lower, upper = zip(*boxes, strict=True)
    return np.min(lower, axis=0), np.max(upper, axis=0)


def box_inertia(mass: float, box: Box) -> Array:
    """Return the ten parameters of a uniform cuboid."""
    edges = box[1] - box[0]
    covariance = np.diag(edges**2) / 12
    return inertia.pack(mass, (box[0] + box[1]) / 2, mass * (np.trace(covariance) * np.eye(3) - covariance))


def _points(link: Link, placement: Array, points_of: Callable[[Shape], Array | None]) -> Array | None:
    """Points (·, 3) of all collision shapes of a link, else of its visual ones, in the frame of ``placement``."""
    for shapes in (link.collision, link.visual):
        if clouds := [points for shape in shapes if (points := points_of(shape)) is not None]:
            return np.asarray(np.vstack(clouds) @ placement[:3, :3].T + placement[:3, 3])
    return None


def _corners(shape: Shape) -> Array | None:
    """Corners (8, 3), in the link frame, of a shape's box in its own axes; None if its mesh is missing."""
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
    """Vertices (v, 3), in the link frame, of a shape or its inscribed polyhedron; None if its mesh is missing."""
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
    """Return the vertices (v, 3) of a mesh's convex hull, or all if it is flat; None if it cannot be read."""
    if (mesh := _load_mesh(path)) is None:
        return None
    vertices = np.array(mesh.vertices(), float)
    if not len(vertices) or not np.isfinite(vertices).all():
        return None
    corners = hull_vertices(vertices)
    return vertices if corners is None else corners


def _load_mesh(path: Path) -> Any:
    """Coal's mesh of a file; None if it cannot be read."""
    import coal

    try:
        return coal.MeshLoader().load(str(path), np.ones(3))
    except (ValueError, RuntimeError):
        return None
