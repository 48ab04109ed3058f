"""Triangles of shapes: closed, turned outwards, and of the volume that the shape has."""

import numpy as np
import pytest

from steelyard import inertia
from steelyard.compose.divide_shape import divide
from steelyard.compose.primitives import capsule, cuboid, cylinder, polyhedron, sphere
from steelyard.compose.primitives import ellipsoid as ellipsoid_shape
from steelyard.output.report.solids import hull, merged, meshes, uniform_solid
from steelyard.robot.geometry import extreme_points


def pose(seed):
    rng = np.random.default_rng(seed)
    T = np.eye(4)
    T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    T[:3, :3] *= np.sign(np.linalg.det(T[:3, :3]))
    T[:3, 3] = rng.normal(size=3)
    return T


def volume(mesh):
    return np.linalg.det(mesh.vertices[mesh.triangles]).sum() / 6


SHAPES = {
    "cuboid": (cuboid([0.4, 0.2, 0.04], pose(1)), 1e-9),
    "cylinder": (cylinder(0.05, 0.3, pose(2)), 0.03),
    "ellipsoid": (ellipsoid_shape([0.1, 0.05, 0.2], pose(3)), 0.14),
    "sphere": (sphere(0.1, pose(4)), 0.14),
    "capsule": (capsule(0.05, 0.2, pose(5)), 0.1),
    "polyhedron": (polyhedron(np.random.default_rng(0).normal(size=(20, 3)), pose(6)), 1e-9),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_mesh_is_closed_turned_outwards_and_as_large_as_the_shape(name):
    shape, inscribed = SHAPES[name]
    drawn = meshes(shape.as_json())
    for mesh in drawn:
        ends = np.vstack([mesh.triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
        assert {tuple(e) for e in ends} == {tuple(e[::-1]) for e in ends}, (
            "each edge is passed once in either direction"
        )
    total = sum(volume(mesh) for mesh in drawn)
    assert (1 - inscribed) * shape.volume <= total <= (1 + 1e-9) * shape.volume


def test_children_of_a_cuboid_fill_it():
    whole = cuboid([0.4, 0.2, 0.04], pose(1))
    parts = [mesh for piece in divide(whole, 3) for mesh in meshes(piece.shape.as_json())]
    assert volume(merged(parts)) == pytest.approx(whole.volume)


def test_of_a_box_twelve_edges_are_drawn_and_of_a_ball_none_but_round_it():
    (box,) = meshes(cuboid([1, 2, 3]).as_json())
    assert len(box.edges) == 12
    (tube,) = meshes(cylinder(1, 2).as_json())
    assert len(tube.edges) == 32, "two rims of sixteen"


def test_the_projection_of_a_box_is_its_rectangle():
    (box,) = meshes(cuboid([0.4, 0.2, 0.04]).as_json())
    assert {tuple(np.abs(corner).round(9)) for corner in box.outline(0, 1)} == {(0.2, 0.1)}
    assert {tuple(np.abs(corner).round(9)) for corner in box.outline(0, 2)} == {(0.2, 0.02)}


def test_the_equal_ellipsoid_has_the_centre_and_the_half_axes_of_the_parameters():
    truth = ellipsoid_shape([0.1, 0.05, 0.2])
    (mesh,) = uniform_solid(2.5 * truth.parameters, "ellipsoid")
    np.testing.assert_allclose(mesh.vertices.max(axis=0), [0.1, 0.05, 0.2], rtol=0.08)
    np.testing.assert_allclose(mesh.vertices.mean(axis=0), 0, atol=1e-12)
    assert uniform_solid(inertia.pack(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])), "ellipsoid") == []
    assert uniform_solid(np.zeros(10), "ellipsoid") == []


@pytest.mark.parametrize(
    "shape",
    [
        None, "cuboid", {}, {"kind": "cuboid"}, {"kind": "cuboid", "half": [1, 2], "position": [0, 0, 0]},
        {"kind": "cuboid", "half": [1, 1, None], "position": [0, 0, 0], "rotation": np.eye(3).tolist()},
        {"kind": "cuboid", "half": [1, 1, 0], "position": [0, 0, 0], "rotation": np.eye(3).tolist()},
        {"kind": "polyhedron", "corners": [[0, 0, 0], [1, 0, 0]]}, {"kind": "polyhedron", "corners": "abc"},
        {"kind": "cluster", "parts": [{"kind": "cluster", "parts": []}, 3]},
    ],
)  # fmt: skip
def test_an_invalid_shape_has_no_mesh(shape):
    assert meshes(shape) == []


def test_fewer_corners_stay_corners_and_keep_most_of_the_volume():
    points = np.random.default_rng(3).normal(size=(4000, 3)) * [1.0, 0.2, 0.1]
    few = extreme_points(points, 32)
    assert len(few) <= 32
    assert {tuple(p) for p in few} <= {tuple(p) for p in points}
    assert volume(hull(few)[0]) > 0.7 * volume(hull(points)[0])
    assert extreme_points(points[:5], 32) is not None
