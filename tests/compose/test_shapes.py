"""A body of shapes is physically consistent, whatever their masses; operations on the shapes never change it."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import inertia
from steelyard.compose import shape_set
from steelyard.compose.described import cells, described_shapes, least_variance, thicken
from steelyard.compose.primitives import cuboid, polyhedron, sphere
from steelyard.compose.pseudo_inertia import mass_floor
from steelyard.inertia import SOLVER_MARGIN
from steelyard.robot.model import LOAD, Body, Robot
from tests.compose.bodies import KINDS, at, body_of, random_primitive
from tests.motions import ROBOTS, installed, load

pytestmark = pytest.mark.numerical

seeds = st.integers(0, 10**6)

PART = """<robot name="part"><link name="world"/><link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="3"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>
<joint name="j" type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 0 1"/></joint>{}</robot>"""
BOX = '<collision><origin xyz="0 0 {}"/><geometry><box size="0.4 0.2 0.1"/></geometry></collision>'
TIP = f"""<link name="tip"><visual><geometry><cylinder radius="0.03" length="0.2"/></geometry></visual></link>
<joint name="weld" type="fixed"><parent link="arm"/><child link="tip"/>
<origin xyz="0.3 0 0" rpy="0 {np.pi / 2} 0"/>
</joint>"""


def some_body(seed, thin=1e-4):
    """A body of one to five shapes, some as thin as paper."""
    rng = np.random.default_rng(seed)
    parts = [random_primitive(rng.choice(KINDS), rng, thin=thin) for _ in range(rng.integers(1, 6))]
    body = body_of(parts, 10 ** rng.uniform(-2, 2))
    return shape_set.initial(body, parts), rng


def some_masses(shapes, rng):
    """Most at the floor, some far above it."""
    grown = rng.random(len(shapes.parts)) < 0.5
    return shapes.floors + grown * 10 ** rng.uniform(-9, 3, len(shapes.parts)) * shapes.body.parameters[0]


def theta(shapes, masses):
    return shapes.map @ masses + shapes.removed_parameters


@settings(max_examples=80)
@given(seeds)
def test_whatever_the_masses_the_body_is_consistent_with_the_solvers_margin(seed):
    shapes, rng = some_body(seed)
    for _ in range(6):
        p = theta(shapes, some_masses(shapes, rng))
        assert inertia.is_consistent(p, shapes.body.size)
        assert inertia.min_eigenvalue(p) >= 0.999 * SOLVER_MARGIN * shapes.body.size**2
        shapes, _ = shapes.divide(shapes.floors, int(rng.integers(len(shapes.parts))), int(rng.integers(2, 9))) or (
            shapes,
            None,
        )


@settings(max_examples=40)
@given(seeds)
def test_the_floors_add_up_to_the_least_mass_of_the_body_and_children_share_their_parents(seed):
    shapes, rng = some_body(seed)
    least = mass_floor(shapes.body)
    assert shapes.floors.sum() == pytest.approx(least)
    volumes = np.array([p.volume for p in shapes.parts])
    np.testing.assert_allclose(shapes.floors / shapes.floors.sum(), volumes / volumes.sum())
    masses = some_masses(shapes, rng)
    for _ in range(5):
        index = int(rng.integers(len(shapes.parts)))
        floor, mass, count = shapes.floors[index], masses[index], len(shapes.parts)
        after = shapes.divide(masses, index)
        if after is None:
            continue
        shapes, masses = after
        assert np.all(masses >= shapes.floors * (1 - 1e-12)), "what the parent could be, the children can"
        assert shapes.floors[count - 1 :].sum() == pytest.approx(floor)
        assert masses[count - 1 :].sum() == pytest.approx(mass)
        assert shapes.floors.sum() == pytest.approx(least)


@settings(max_examples=60)
@given(seeds)
def test_nothing_that_is_done_to_shapes_changes_the_body(seed):
    shapes, rng = some_body(seed, thin=0.05)
    masses = some_masses(shapes, rng)
    before = theta(shapes, masses)
    for _ in range(12):
        index = int(rng.integers(len(shapes.parts)))
        match rng.integers(5):
            case 0:
                shapes, masses = shapes.divide(masses, index, int(rng.integers(2, 5))) or (shapes, masses)
            case 1:
                shapes, masses = shapes.prune(masses)
            case 2:
                shapes, masses = shapes.add(random_primitive("cuboid", rng), masses)
            case 3 if shapes.removed:
                shapes, masses = shapes.restore(shapes.removed[int(rng.integers(len(shapes.removed)))], masses)
            case 4:
                shapes, masses = shapes.merge_alike(masses)
        assert len(masses) == len(shapes.parts) == len(shapes.floors)
        assert np.all(masses >= shapes.floors * (1 - 1e-12))
        np.testing.assert_allclose(theta(shapes, masses), before, rtol=0, atol=1e-11 * np.linalg.norm(before))


@settings(max_examples=30)
@given(seeds)
def test_at_most_ten_shapes_are_needed_and_the_empty_ones_are_removed(seed):
    """Carathéodory: ten parameters are a mixture of ten."""
    shapes, rng = some_body(seed, thin=0.05)
    masses = shapes.floors + rng.uniform(0.1, 1, len(shapes.parts))
    while len(shapes.parts) < 30:
        shapes, masses = shapes.divide(masses, int(rng.integers(len(shapes.parts)))) or (shapes, masses)
    before = theta(shapes, masses)
    few, left = shapes.prune(masses)
    assert len(few.parts) <= 10
    assert len(few.parts) + len(few.removed) == len(shapes.parts)
    assert few.removed_masses.sum() < 1e-3 * shapes.body.parameters[0]
    np.testing.assert_allclose(theta(few, left), before, rtol=0, atol=1e-10 * np.linalg.norm(before))


def test_a_body_that_is_all_empty_keeps_its_shapes():
    shapes, _ = some_body(3)
    same, masses = shapes.prune(shapes.floors)
    assert same is shapes
    np.testing.assert_array_equal(masses, shapes.floors)


def test_a_removed_shape_can_be_restored():
    parts = [cuboid([0.1, 0.1, 0.1], at(x, 0, 0)) for x in (-0.2, 0, 0.2)]
    shapes = shape_set.initial(body_of(parts), parts)
    masses = shapes.floors + np.array([1.0, 0.0, 1.0])
    shapes, masses = shapes.prune(masses)
    assert shapes.removed == (parts[1],)
    again, masses = shapes.restore(parts[1], masses)
    assert again.removed == ()
    assert again.parts[-1] is parts[1]
    assert again.floors.sum() == pytest.approx(mass_floor(shapes.body))


def test_neighbours_of_one_density_become_one_and_others_do_not():
    x = 0.1
    row = [cuboid([x, x, x], at(k * x, 0, 0)) for k in range(4)] + [cuboid([x, x, x], at(1.0, 0, 0))]
    shapes = shape_set.initial(body_of(row), row)
    merged, masses = shapes.merge_alike(np.array([1.0, 1.01, 2.0, 2.0, 1.0]))
    assert len(merged.parts) == 3, "two pairs that touch; the far one stays alone"
    assert sorted(masses) == pytest.approx([1.0, 2.01, 4.0])
    pair = max(merged.parts, key=lambda p: p.parameters[1] if p.kind == "cluster" else -1)
    np.testing.assert_allclose(pair.parameters, cuboid([2 * x, x, x], at(2.5 * x, 0, 0)).parameters, atol=1e-15)
    apart, masses = merged.divide(masses, merged.parts.index(pair))
    assert {row[2], row[3]} <= set(apart.parts), "and can be divided again"


def test_merging_what_was_merged_keeps_one_level():
    row = [cuboid([0.1] * 3, at(0.1 * k, 0, 0)) for k in range(3)]
    shapes = shape_set.initial(body_of(row), row)
    shapes, masses = shapes.merge(np.array([1.0, 2.0, 3.0]), [0, 1])
    shapes, masses = shapes.merge(masses, [0, 1])
    (whole,) = shapes.parts
    assert set(whole.parts) == set(row)
    assert masses == pytest.approx([6.0])


def test_a_shape_is_not_divided_into_what_is_too_thin():
    body = body_of([cuboid([1.0, 1.0, 1.0])])
    thin = np.sqrt(12 * least_variance(body))
    shapes = shape_set.initial(body, [cuboid([1.9 * thin] * 3), cuboid([2.1 * thin, 1.5 * thin, 1.5 * thin])])
    masses = shapes.composition.start
    assert shapes.divide(masses, 0) is None
    assert shapes.divide(masses, 1) is not None


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=seeds)
def test_too_thin_a_shape_is_thickened_as_needed_and_no_other_is_changed(kind, seed):
    shape = random_primitive(kind, np.random.default_rng(seed), thin=1e-3)
    assert thicken(shape, 0.5 * least_part(shape)) == shape or kind == "capsule"
    for least in (1e-6, 1e-3):
        thick = thicken(shape, least)
        assert least_part(thick) >= least
        np.testing.assert_allclose(thick.mean, shape.mean, atol=0.1 + np.sqrt(least))


def least_part(shape):
    return min(p.thinnest for p in getattr(shape, "parts", (shape,)))


def test_a_flat_polyhedron_becomes_the_box_around_it():
    flat = polyhedron(np.random.default_rng(0).normal(size=(20, 3)) * [1, 1, 1e-6], at(0.3, 0, 0))
    thick = thicken(flat, 1e-4)
    assert thick.kind == "cuboid"
    np.testing.assert_allclose(thick.box[0][:2], flat.box[0][:2], atol=1e-12)
    np.testing.assert_allclose(thick.box[1][:2], flat.box[1][:2], atol=1e-12)
    assert thick.thinnest >= 1e-4


def test_the_distance_of_a_belief_is_zero_inside_and_its_widths_away_outside():
    parts = [cuboid([0.2, 0.1, 0.1], at(x, 0, 0)) for x in (-0.2, 0.2)]
    shapes = shape_set.initial(body_of(parts), parts)
    root = np.diag(1 / np.array([0.5] + [0.1] * 3 + [0.05] * 6))
    assert shapes.distance(shapes.map @ [1.0, 2.0], root) == pytest.approx(0, abs=1e-9)
    beside = shapes.map @ [1.0, 1.0]
    beside[2] += 0.3  # m·y: no shape has any
    assert shapes.distance(beside, root) == pytest.approx(3.0, rel=1e-9)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_bodies_of_real_robots_have_the_shapes_of_their_links_welded_ones_included(name):
    for body in load(name).bodies:
        shapes = shape_set.initial(body)
        for part in shapes.parts:
            low, high = part.box
            reach = 2e-3 * body.size  # what thickening adds
            assert np.all(low >= body.box[0] - reach)
            assert np.all(high <= body.box[1] + reach)
        composition = shape_set.composition(body, np.ones(10))
        assert np.all(composition.start > composition.lower)
        assert inertia.is_consistent(composition.map @ composition.start, body.size)


@installed
def test_the_trunk_of_a_quadruped_has_the_boxes_of_its_welded_links():
    kinds = [p.as_json() for p in shape_set.initial(load("a1").body("trunk")).parts]
    assert [k["kind"] for k in kinds] == ["cuboid"] * 3
    np.testing.assert_allclose(2 * np.array(kinds[1]["half"]), [0.267, 0.194, 0.114])  # m, of the description


def part(tmp_path, geometry="", more=""):
    path = tmp_path / "part.urdf"
    path.write_text(PART.format(geometry, more))
    return Robot.load(path).bodies[0]


def test_collision_shapes_come_first_then_visual_ones_each_where_its_link_is(tmp_path):
    both = BOX.format(0.2) + BOX.format(0.5).replace("collision", "visual")
    first, second = described_shapes(part(tmp_path, both, TIP))
    np.testing.assert_allclose(first.mean, [0, 0, 0.2])
    np.testing.assert_allclose(first.widths, [0.4, 0.2, 0.1])
    assert second.kind == "cylinder"
    np.testing.assert_allclose(second.box, [[0.2, -0.03, -0.03], [0.4, 0.03, 0.03]], atol=1e-12)


def test_a_body_without_geometry_has_its_box_as_shape(tmp_path):
    body = part(tmp_path)
    (box,) = described_shapes(body)
    np.testing.assert_allclose(box.box, body.box, atol=1e-12)


def test_the_shape_of_a_load_is_the_box_of_its_area():
    robot = Robot.load("demo_arm").with_load("tool0")
    (box,) = shape_set.initial(robot.body(LOAD)).parts
    np.testing.assert_allclose(box.box, robot.body(LOAD).box)


def stl(triangles):
    body = b"".join(struct.pack("<12f", 0, 0, 1, *np.ravel(t)) + b"\0\0" for t in triangles)
    return b"\0" * 80 + struct.pack("<I", len(triangles)) + body


def test_a_mesh_is_its_convex_hull_at_its_scale_and_a_flat_one_its_box(tmp_path):
    corners = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32)
    (tmp_path / "a.stl").write_bytes(stl(corners.reshape(4, 3, 3)))
    (tmp_path / "b.stl").write_bytes(stl([[[0, 0, 0], [1, 0, 0], [0, 2, 0]]]))
    mesh = '<collision><origin xyz="0 1 0"/><geometry><mesh filename="{}" scale="0.1 0.2 -0.1"/></geometry></collision>'
    body = part(tmp_path, mesh.format("a.stl") + mesh.format("b.stl"))
    hull, flat = described_shapes(body)
    expected = polyhedron(corners.astype(float) * [0.1, 0.2, -0.1] + [0, 1, 0])
    np.testing.assert_allclose(hull.parameters, expected.parameters, atol=1e-12)
    assert flat.kind == "cuboid"
    np.testing.assert_allclose(flat.box, [[0, 1, 0], [0.1, 1.4, 0]], atol=1e-12)
    assert min(p.thinnest for p in shape_set.initial(body).parts) >= least_variance(body)


@pytest.mark.parametrize(("kind", "volume"), [
    ('type="capsule" size=".1 .2"', np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 1e-3),
    ('type="ellipsoid" size=".1 .2 .3"', 4 / 3 * np.pi * 0.006),
    ('type="sphere" size=".1"', 4 / 3 * np.pi * 1e-3),
])  # fmt: skip
def test_shapes_that_only_mjcf_knows_are_read_too(tmp_path, kind, volume):
    pytest.importorskip("mujoco")
    path = tmp_path / "one.xml"
    path.write_text(
        f'<mujoco><worldbody><body><freejoint/><geom {kind} pos="1 0 0" mass="2"/></body></worldbody></mujoco>'
    )
    body = Robot.load(path, base="floating").bodies[0]
    (shape,) = described_shapes(body)
    assert shape.volume == pytest.approx(volume)
    np.testing.assert_allclose(2 * shape.parameters, body.parameters, atol=1e-9, err_msg="as MuJoCo integrates it")


def test_the_cells_of_a_body_fill_its_box():
    body = Body("b", (), 1, sphere(0.1).parameters, (np.array([-0.1, 0, 0.2]), np.array([0.3, 0.1, 0.5])), 0.51)
    cuboids = cells(body, 2)
    assert len(cuboids) == 8
    assert sum(c.volume for c in cuboids) == pytest.approx(0.4 * 0.1 * 0.3)
    mean = np.mean([c.mean for c in cuboids], axis=0)
    np.testing.assert_allclose(mean, [0.1, 0.05, 0.35])
