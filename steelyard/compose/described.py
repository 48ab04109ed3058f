"""The shapes that a description gives a body, as primitives thick enough to be a body by themselves."""

from __future__ import annotations

import numpy as np

from steelyard.compose.primitives import (
    CANON,
    Cluster,
    Polyhedron,
    Primitive,
    Solid,
    capsule,
    cuboid,
    cylinder,
    ellipsoid,
    polyhedron,
    sphere,
)
from steelyard.inertia import SOLVER_MARGIN
from steelyard.robot import geometry
from steelyard.robot.description import Shape
from steelyard.robot.model import Body
from steelyard.spatial import placement, translation


def described(body: Body) -> list[Primitive]:
    """Collision shapes of its links, else visual ones; its box where it has none."""
    shapes = [shape for link, placement in body.parts for shape in geometry.link_shapes(link, placement)]
    box = cuboid(body.box[1] - body.box[0], translation((body.box[0] + body.box[1]) / 2))
    return [primitive(shape) for shape in shapes] or [box]


def thickness(body: Body) -> float:
    """Least eigenvalue of the density covariance that a shape of this body may have, m²."""
    return SOLVER_MARGIN * body.size**2


def cells(body: Body, count: int = 3) -> list[Solid]:
    """The body's box in count³ cuboids."""
    low, high = body.box
    edges = (high - low) / count
    corners = [low + edges * np.array(at) for at in np.ndindex(count, count, count)]
    return [_thick(cuboid(edges, translation(corner + edges / 2)), thickness(body)) for corner in corners]


def primitive(shape: Shape) -> Primitive:
    """A description's shape; a mesh is its convex hull, or its box where it is flat."""
    size, T = shape.size, shape.placement
    match shape.kind:
        case "box":
            return cuboid(size, T)
        case "sphere":
            return sphere(size[0], T)
        case "ellipsoid":
            return ellipsoid(size, T)
        case "cylinder":
            return cylinder(size[0], size[1], T)
        case "capsule":
            return capsule(size[0], size[1], T) if size[1] > 0 else sphere(size[0], T)
    corners = None if shape.mesh is None else geometry.mesh_corners(shape.mesh)
    assert corners is not None, "geometry.link_shapes keeps only meshes that can be read"
    points = corners * np.asarray(size)
    try:
        return polyhedron(points, T)
    except ValueError:
        low, high = points.min(axis=0), points.max(axis=0)
        return cuboid(high - low, T @ translation((low + high) / 2))


def thickened(shape: Primitive, least: float) -> Primitive:
    """The shape itself where its density covariance is at least this in every direction, else one that is."""
    match shape:
        case Solid():
            return _thick(shape, least)
        case Cluster():
            return Cluster(tuple(thickened(p, least) for p in shape.parts), shape.shares, shape.kind)
        case Polyhedron() if shape.thinnest < least:
            ends = [[shape.reach(sign * axis) for axis in shape.axes.T] for sign in (-1.0, 1.0)]
            T = placement(shape.axes, shape.axes @ (np.subtract(ends[1], ends[0]) / 2))
            return _thick(cuboid(shape.widths, T), least)
    return shape


def _thick(solid: Solid, least: float) -> Solid:
    short = np.sqrt(1.001 * least / CANON[solid.kind].variance)
    return solid if np.all(solid.half >= short) else Solid(solid.kind, np.maximum(solid.half, short), solid.placement)
