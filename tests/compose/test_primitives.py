"""Closed forms are the integrals they stand for, wherever the shape lies."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from steelyard import inertia
from steelyard.compose.primitives import (
    Solid,
    capsule,
    combine,
    cuboid,
    cylinder,
    ellipsoid,
    polyhedron,
    sphere,
)
from tests.compose.bodies import KINDS, pose, random_primitive

pytestmark = pytest.mark.numerical

NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
AROUND = 2 * np.pi * np.arange(8) / 8  # exact for the low harmonics of second moments

seeds = st.integers(0, 10**6)


def gauss(a, b):
    return (a + b) / 2 + (b - a) / 2 * NODES, (b - a) / 2 * WEIGHTS


def product(*axes):
    """Points (n, d) and weights (n,) of a product rule."""
    points = np.stack([g.ravel() for g in np.meshgrid(*(p for p, _ in axes), indexing="ij")], axis=1)
    weights = np.prod([g.ravel() for g in np.meshgrid(*(w for _, w in axes), indexing="ij")], axis=0)
    return points, weights


def turned():
    return AROUND, np.full(8, 2 * np.pi / 8)


def over_disc(radius, z, weights):
    """Discs of these radii at these heights."""
    (u, phi), w = (lambda p, w: (p.T, w))(*product(gauss(0, 1), turned()))
    r = np.outer(radius, u)
    points = np.stack([r * np.cos(phi), r * np.sin(phi), np.broadcast_to(z[:, None], r.shape)], axis=-1)
    return points.reshape(-1, 3), (weights[:, None] * r * radius[:, None] * w).ravel()


def over_ball(half, lowest=-1.0):
    """An ellipsoid in spherical coordinates, cos of the polar angle from ``lowest`` on."""
    points, weights = product(gauss(0, 1), gauss(lowest, 1), turned())
    r, c, phi = points.T
    s = np.sqrt(1 - c**2)
    x = np.stack([r * s * np.cos(phi), r * s * np.sin(phi), r * c], axis=1) * half
    return x, weights * r**2 * np.prod(half)


def over_tetrahedra(points):
    """A convex hull by Delaunay's tetrahedra, each by Duffy's map of the cube."""
    unit, weights = product(gauss(0, 1), gauss(0, 1), gauss(0, 1))
    a, b, c = unit.T
    barycentric = np.stack([1 - a, a * (1 - b), a * b * (1 - c), a * b * c], axis=1)
    points_inside, measure = [], []
    for corners in points[Delaunay(points).simplices]:
        volume = abs(np.linalg.det(corners[1:] - corners[0])) / 6
        points_inside.append(barycentric @ corners)
        measure.append(weights * 6 * volume * a**2 * b)
    return np.concatenate(points_inside), np.concatenate(measure)


def integrated(points, weights, T):
    """Volume, and ten parameters of unit mass, of a density on points in the frame T."""
    x = np.column_stack([points @ T[:3, :3].T + T[:3, 3], np.ones(len(points))])
    J = (x.T * weights) @ x
    return J[3, 3], inertia.from_pseudo(J / J[3, 3])


def make(kind, rng):
    """A primitive, and a quadrature of the same."""
    x, y, z = rng.uniform(0.02, 0.5, 3)
    T = pose(rng)
    match kind:
        case "cuboid":
            return cuboid([2 * x, 2 * y, 2 * z], T), product(gauss(-x, x), gauss(-y, y), gauss(-z, z)), T
        case "cylinder":
            h, w = gauss(-y, y)
            return cylinder(x, 2 * y, T), over_disc(np.full(6, x), h, w), T
        case "ellipsoid":
            return ellipsoid([x, y, z], T), over_ball(np.array([x, y, z])), T
        case "sphere":
            return sphere(x, T), over_ball(np.full(3, x)), T
        case "cap":
            return Solid("cap", np.array([x, y, z]), T), over_ball(np.array([x, y, z]), 0.0), T
        case "capsule":
            pieces = []
            for low, high, middle in ((-y - x, -y, -y), (-y, y, None), (y, y + x, y)):
                h, w = gauss(low, high)
                radius = np.full(6, x) if middle is None else np.sqrt(x**2 - (h - middle) ** 2)
                pieces.append(over_disc(radius, h, w))
            return capsule(x, 2 * y, T), tuple(np.concatenate(p) for p in zip(*pieces, strict=True)), T
    points = rng.normal(size=(rng.integers(4, 40), 3)) * [x, y, z]
    return polyhedron(points, T), over_tetrahedra(points), T


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(seed=seeds)
def test_volume_and_ten_parameters_are_the_integrals(kind, seed):
    shape, (points, weights), T = make(kind, np.random.default_rng(seed))
    volume, parameters = integrated(points, weights, T)
    assert shape.volume == pytest.approx(volume, rel=1e-10)
    np.testing.assert_allclose(shape.parameters, parameters, rtol=0, atol=1e-10 * np.abs(parameters).max())
    np.testing.assert_allclose(
        shape.covariance, inertia.density_covariance(parameters), rtol=0, atol=1e-10 * np.trace(shape.covariance)
    )
    assert shape.parameters[0] == 1.0


def coal_shapes(x, y, z):
    import coal

    return {
        "cuboid": (cuboid([x, y, z]), coal.Box(x, y, z)),
        "cylinder": (cylinder(x, z), coal.Cylinder(x, z)),
        "ellipsoid": (ellipsoid([x, y, z]), coal.Ellipsoid(x, y, z)),
        "sphere": (sphere(x), coal.Sphere(x)),
        "capsule": (capsule(x, z), coal.Capsule(x, z)),
    }


@pytest.mark.parametrize("kind", ["cuboid", "cylinder", "ellipsoid", "sphere", "capsule"])
def test_a_collision_library_knows_the_same_moments(kind):
    ours, theirs = coal_shapes(0.3, 0.2, 0.5)[kind]
    assert ours.volume == pytest.approx(theirs.computeVolume(), rel=1e-12)
    about_centre = inertia.unpack(ours.parameters)[2]
    np.testing.assert_allclose(about_centre, theirs.computeMomentofInertia() / theirs.computeVolume(), atol=1e-12)


@settings(max_examples=20)
@given(seeds)
def test_a_mesh_library_knows_the_same_moments_of_a_polyhedron(seed):
    trimesh = pytest.importorskip("trimesh")
    points = np.random.default_rng(seed).normal(size=(60, 3))
    ours, theirs = polyhedron(points), trimesh.convex.convex_hull(points)
    assert ours.volume == pytest.approx(theirs.volume, rel=1e-10)
    np.testing.assert_allclose(ours.mean, theirs.center_mass, atol=1e-10)
    np.testing.assert_allclose(inertia.unpack(ours.parameters)[2], theirs.moment_inertia / theirs.volume, atol=1e-10)


def test_a_box_is_a_box_by_any_name():
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.3, 0.3)])
    T = pose(np.random.default_rng(1))
    box, hull = cuboid([0.2, 0.4, 0.6], T), polyhedron(corners, T)
    np.testing.assert_allclose(hull.parameters, box.parameters, atol=1e-14)
    np.testing.assert_allclose(hull.widths, box.widths, atol=1e-14)
    np.testing.assert_allclose(hull.box, box.box, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=seeds)
def test_moving_a_shape_moves_its_parameters(kind, seed):
    rng = np.random.default_rng(seed)
    shape, T = random_primitive(kind, rng), pose(rng)
    moved = shape.placed(T)
    np.testing.assert_allclose(moved.parameters, inertia.transform(shape.parameters, T), atol=1e-13)
    assert moved.volume == pytest.approx(shape.volume, rel=1e-13)
    direction = rng.normal(size=3)
    expected = shape.support(T[:3, :3].T @ direction) + T[:3, 3] @ direction
    assert moved.support(direction) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=seeds)
def test_reach_is_where_the_farthest_point_is(kind, seed):
    """Support functions against many points of the same shape: none beyond, some near."""
    rng = np.random.default_rng(seed)
    shape, (points, _), T = make(kind, rng)
    inside = points @ T[:3, :3].T + T[:3, 3]
    directions = rng.normal(size=(20, 3))
    farthest = np.max(inside @ directions.T, axis=0)
    reach = np.array([shape.support(d) for d in directions])
    assert np.all(farthest <= reach + 1e-12)
    spread = reach + [shape.support(-d) for d in directions]
    assert np.all(farthest > reach - 0.25 * spread), "quadrature nodes stop short of the surface, but not by much"
    lower, upper = shape.box
    assert np.all((inside >= lower - 1e-12) & (inside <= upper + 1e-12))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=seeds)
def test_its_points_lie_inside_a_shape_and_reach_towards_its_ends(kind, seed):
    rng = np.random.default_rng(seed)
    shape = random_primitive(kind, rng)
    for d in rng.normal(size=(20, 3)):
        far = np.max(shape.points @ d)
        assert far <= shape.support(d) + 1e-12
        assert far > shape.mean @ d + 0.4 * (shape.support(d) - shape.mean @ d)


def test_shapes_together_have_the_sum_of_their_parameters():
    rng = np.random.default_rng(3)
    parts = [random_primitive(kind, rng) for kind in KINDS]
    masses = rng.uniform(0.1, 2.0, len(parts))
    whole = combine(parts, masses)
    expected = sum(m * p.parameters for m, p in zip(masses, parts, strict=True)) / masses.sum()
    np.testing.assert_allclose(whole.parameters, expected, atol=1e-14)
    assert whole.volume == pytest.approx(sum(p.volume for p in parts))
    direction = rng.normal(size=3)
    assert whole.support(direction) == max(p.support(direction) for p in parts)


def test_a_capsule_of_no_length_would_be_a_ball():
    np.testing.assert_allclose(capsule(0.2, 1e-9).parameters, sphere(0.2).parameters, atol=1e-9)


@pytest.mark.parametrize(
    "points", [np.eye(3), np.zeros((5, 3)), np.random.default_rng(0).normal(size=(9, 3)) * [1, 1, 0]]
)
def test_points_in_a_plane_are_no_polyhedron(points):
    with pytest.raises(ValueError, match="no volume"):
        polyhedron(points)


@pytest.mark.parametrize("kind", KINDS)
def test_what_json_has_of_a_shape_is_the_shape(kind):
    shape = random_primitive(kind, np.random.default_rng(8))
    text = json.loads(json.dumps(shape.as_json(), allow_nan=False))
    np.testing.assert_allclose(again(text).parameters, shape.parameters, atol=1e-14)


def again(text):
    if "parts" in text:
        return combine([again(p) for p in text["parts"]], [p["share"] for p in text["parts"]])
    if "corners" in text:
        return polyhedron(text["corners"])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = text["rotation"], text["position"]
    return Solid(text["kind"], np.array(text["half"]), T)
