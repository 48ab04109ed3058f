"""A body's shapes in the robot description, as primitives; thin ones thickened until each is a consistent body."""

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


def described_shapes(body: Body) -> list[Primitive]:
    """Return the collision shapes of the body's links, else the visual ones, else its box."""
    shapes = [shape for link, placement in body.parts for shape in geometry.link_shapes(link, placement)]
    box = cuboid(body.box[1] - body.box[0], translation((body.box[0] + body.box[1]) / 2))
    return [to_primitive(shape) for shape in shapes] or [box]


def least_variance(body: Body) -> float:
    """Return the least eigenvalue of the density covariance that a shape of this body may have, m²."""
    return SOLVER_MARGIN * body.size**2


def cells(body: Body, count: int = 3) -> list[Solid]:
    """Return the body's box divided into count³ cuboids."""
    low, high = body.box
    edges = (high - low) / count
    corners = [low + edges * np.array(at) for at in np.ndindex(count, count, count)]
    return [_thicken_solid(cuboid(edges, translation(corner + edges / 2)), least_variance(body)) for corner in corners]


def to_primitive(shape: Shape) -> Primitive:
    """Return a shape of the description as a primitive; a mesh becomes its convex hull, a flat mesh its box."""
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


def thicken(shape: Primitive, least: float) -> Primitive:
    """Return the shape, enlarged where necessary so that every eigenvalue of its density covariance is ≥ ``least``."""
    match shape:
        case Solid():
            return _thicken_solid(shape, least)
        case Cluster():
            return Cluster(tuple(thicken(p, least) for p in shape.parts), shape.shares, shape.kind)
        case Polyhedron() if shape.thinnest < least:
            ends = [[shape.support(sign * axis) for axis in shape.axes.T] for sign in (-1.0, 1.0)]
            T = placement(shape.axes, shape.axes @ (np.subtract(ends[1], ends[0]) / 2))
            return _thicken_solid(cuboid(shape.widths, T), least)
    return shape


def _thicken_solid(solid: Solid, least: float) -> Solid:
    short = np.sqrt(1.001 * least / CANON[solid.kind].variance)
    return solid if np.all(solid.half >= short) else Solid(solid.kind, np.maximum(solid.half, short), solid.placement)
