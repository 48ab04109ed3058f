"""The size of a body and its contact points come from its shapes, also if these are many, odd or broken."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from steelyard import inertia
from steelyard.equations.unknown_forces import foot
from steelyard.robot import geometry
from steelyard.robot.model import Robot

LEG = """<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size=".2 .1 .05" mass="5"/>
<body name="shank" pos=".2 0 0"><joint name="knee" axis="0 1 0"/>{}</body></body></worldbody></mujoco>"""
CAPSULE = '<geom type="capsule" size=".015" fromto="0 0 0 0 0 -.2" mass=".2"/>'
BALL = '<geom type="sphere" size=".025" pos="0 0 -.22" mass=".05"/>'
PART = """<robot name="part"><link name="world"/><link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="3"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>
<joint name="j" type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.fixture
def part(tmp_path):
    """A body with a mesh file of these bytes."""

    def load(content, name="mesh.stl"):
        (tmp_path / name).write_bytes(content)
        shape = f'<collision><geometry><mesh filename="{name}"/></geometry></collision>'
        (tmp_path / "part.urdf").write_text(PART.format(shape))
        return Robot.load(tmp_path / "part.urdf").bodies[0]

    return load


def stl(points):
    """One triangle, as binary STL."""
    return b"\0" * 80 + struct.pack("<I", 1) + struct.pack("<12f", 0, 0, 1, *np.ravel(points)) + b"\0\0"


@pytest.mark.parametrize("order", [CAPSULE + BALL, BALL + CAPSULE])
def test_a_foot_of_a_capsule_and_a_ball_touches_with_the_ball(tmp_path, order):
    pytest.importorskip("mujoco")
    (tmp_path / "leg.xml").write_text(LEG.format(order))
    robot = Robot.load(tmp_path / "leg.xml", base="floating")
    contact = foot(robot, "shank")
    assert not contact.surface
    assert contact.radius == pytest.approx(0.025)
    np.testing.assert_allclose(contact.centre, [0, 0, -0.22], atol=1e-9)


def test_a_capsule_alone_has_no_ball(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "leg.xml").write_text(LEG.format(CAPSULE))
    assert foot(Robot.load(tmp_path / "leg.xml", base="floating"), "shank").radius == 0


def test_a_mesh_that_can_be_read_is_the_box(part):
    body = part(stl([[0, 0, 0], [1, 0, 0.5], [0, 2, 0]]))
    np.testing.assert_allclose(body.box, [[0, 0, 0], [1, 2, 0.5]], atol=1e-6)


@pytest.mark.parametrize("name", ["mesh.stl", "mesh.obj", "mesh.dae"])
@pytest.mark.parametrize("content", [b"", b"not a mesh at all", b"\0" * 84, b"\xff" * 200, b"solid x\nfacet"],
                         ids=["empty", "text", "zeros", "ones", "cut off"])  # fmt: skip
def test_the_box_of_a_body_with_a_broken_mesh_comes_from_its_inertia(part, name, content):
    body = part(content, name)
    np.testing.assert_allclose(body.box, geometry.inertia_box(body.parameters))
    assert body.size > 0


def test_a_mesh_that_claims_too_many_triangles_is_ignored(part):
    """The header claims four thousand million triangles; the file has one."""
    content = bytearray(stl([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
    content[80:84] = b"\xff\xff\xff\xff"
    body = part(bytes(content))
    assert np.isfinite(body.size)


def test_a_mass_point_is_no_smaller_than_a_cube_of_steel():
    box = geometry.inertia_box(inertia.pack(7850 * 0.03**3, [0.1, 0.2, 0.3], np.zeros((3, 3))))
    np.testing.assert_allclose(box, [[0.085, 0.185, 0.285], [0.115, 0.215, 0.315]])


def test_box_and_inertia_are_inverse_for_a_uniform_box():
    box = np.array([-0.1, 0.0, 0.2]), np.array([0.3, 0.1, 0.5])
    parameters = geometry.box_inertia(2.5, box)
    assert inertia.is_consistent(parameters, 0.5)
    np.testing.assert_allclose(geometry.inertia_box(parameters), box, atol=1e-12)


SHAPES = """<mujoco><worldbody><body name="part" pos="0 0 1"><freejoint/>{}</body></worldbody></mujoco>"""


def outline_of(tmp_path, geoms):
    pytest.importorskip("mujoco")
    (tmp_path / "part.xml").write_text(SHAPES.format(geoms))
    return geometry.hull_of_links(Robot.load(tmp_path / "part.xml", base="floating").bodies[0].parts)


@pytest.mark.parametrize(
    ("geom", "volume", "share"),
    [
        ('<geom type="box" size=".2 .1 .05" pos=".3 0 0" mass="5"/>', 8 * 0.2 * 0.1 * 0.05, 1e-9),
        ('<geom type="sphere" size=".1" mass="5"/>', 4 / 3 * np.pi * 0.1**3, 0.1),
        ('<geom type="ellipsoid" size=".1 .2 .3" mass="5"/>', 4 / 3 * np.pi * 0.1 * 0.2 * 0.3, 0.1),
        ('<geom type="cylinder" size=".1 .2" mass="5"/>', np.pi * 0.1**2 * 0.4, 0.03),
        ('<geom type="capsule" size=".1 .2" mass="5"/>', np.pi * 0.1**2 * 0.4 + 4 / 3 * np.pi * 0.1**3, 0.06),
    ],
)
def test_the_hull_of_a_shape_lies_in_it_and_nearly_fills_it(tmp_path, geom, volume, share):
    from scipy.spatial import ConvexHull

    inscribed = ConvexHull(outline_of(tmp_path, geom)).volume
    assert (1 - share) * volume <= inscribed * (1 + 1e-9)
    assert inscribed <= volume * (1 + 1e-9)


def test_the_hull_of_several_shapes_reaches_as_far_as_their_box(tmp_path):
    vertices = outline_of(tmp_path, CAPSULE + BALL)
    np.testing.assert_allclose(vertices.min(axis=0), [-0.025, -0.025, -0.245], atol=1e-9)
    np.testing.assert_allclose(vertices.max(axis=0), [0.025, 0.025, 0.015], atol=1e-9)


def test_a_mesh_is_the_hull_of_its_vertices_and_a_flat_one_has_none(part):
    flat = part(stl([[0, 0, 0], [1, 0, 0.5], [0, 2, 0]]))
    assert geometry.hull_of_links(flat.parts) is None
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = [corners[list(f)] for f in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))]
    content = b"\0" * 80 + struct.pack("<I", 4)
    content += b"".join(struct.pack("<12f", 0, 0, 1, *np.ravel(f)) + b"\0\0" for f in faces)
    solid = part(content, "tetrahedron.stl")
    hull = geometry.hull_of_links(solid.parts)
    np.testing.assert_allclose(hull[np.lexsort(hull.T)], corners[np.lexsort(corners.T)], atol=1e-6)


def test_broken_meshes_have_no_hull(part):
    assert geometry.hull_of_links(part(b"not a mesh at all", "broken.stl").parts) is None


def test_an_evenly_filled_hull_has_the_moments_of_samples_in_it():
    """Box: closed form. Any hull: points drawn evenly from it."""
    from scipy.spatial import Delaunay

    lower, upper = np.array([-0.1, 0.0, 0.2]), np.array([0.3, 0.1, 0.5])
    corners = lower + (upper - lower) * (geometry._CORNERS + 1) / 2
    np.testing.assert_allclose(geometry.hull_inertia(corners), geometry.box_inertia(1.0, (lower, upper)), atol=1e-15)

    rng = np.random.default_rng(0)
    vertices = geometry.hull_vertices(rng.normal(size=(20, 3)))
    drawn = rng.uniform(vertices.min(axis=0), vertices.max(axis=0), (400_000, 3))
    drawn = drawn[Delaunay(vertices).find_simplex(drawn) >= 0]
    ones = np.column_stack([drawn, np.ones(len(drawn))])
    np.testing.assert_allclose(inertia.pseudo(geometry.hull_inertia(vertices)), ones.T @ ones / len(drawn), atol=0.01)
