"""A body made of shapes can exist, whatever their masses; what is done to the shapes never changes it."""

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


def some_masses(made, rng):
    """Most at the floor, some far above it."""
    grown = rng.random(len(made.parts)) < 0.5
    return made.floors + grown * 10 ** rng.uniform(-9, 3, len(made.parts)) * made.body.parameters[0]


def theta(made, masses):
    return made.map @ masses + made.removed_parameters


@settings(max_examples=80)
@given(seeds)
def test_whatever_the_masses_the_body_is_consistent_with_the_solvers_margin(seed):
    made, rng = some_body(seed)
    for _ in range(6):
        p = theta(made, some_masses(made, rng))
        assert inertia.is_consistent(p, made.body.size)
        assert inertia.min_eigenvalue(p) >= 0.999 * SOLVER_MARGIN * made.body.size**2
        made, _ = made.divide(made.floors, int(rng.integers(len(made.parts))), int(rng.integers(2, 9))) or (made, None)


@settings(max_examples=40)
@given(seeds)
def test_the_floors_add_up_to_the_least_mass_of_the_body_and_children_share_their_parents(seed):
    made, rng = some_body(seed)
    least = mass_floor(made.body)
    assert made.floors.sum() == pytest.approx(least)
    volumes = np.array([p.volume for p in made.parts])
    np.testing.assert_allclose(made.floors / made.floors.sum(), volumes / volumes.sum())
    masses = some_masses(made, rng)
    for _ in range(5):
        index = int(rng.integers(len(made.parts)))
        floor, mass, count = made.floors[index], masses[index], len(made.parts)
        after = made.divide(masses, index)
        if after is None:
            continue
        made, masses = after
        assert np.all(masses >= made.floors * (1 - 1e-12)), "what the parent could be, the children can"
        assert made.floors[count - 1 :].sum() == pytest.approx(floor)
        assert masses[count - 1 :].sum() == pytest.approx(mass)
        assert made.floors.sum() == pytest.approx(least)


@settings(max_examples=60)
@given(seeds)
def test_nothing_that_is_done_to_shapes_changes_the_body(seed):
    made, rng = some_body(seed, thin=0.05)
    masses = some_masses(made, rng)
    before = theta(made, masses)
    for _ in range(12):
        index = int(rng.integers(len(made.parts)))
        match rng.integers(5):
            case 0:
                made, masses = made.divide(masses, index, int(rng.integers(2, 5))) or (made, masses)
            case 1:
                made, masses = made.prune(masses)
            case 2:
                made, masses = made.add(random_primitive("cuboid", rng), masses)
            case 3 if made.removed:
                made, masses = made.restore(made.removed[int(rng.integers(len(made.removed)))], masses)
            case 4:
                made, masses = made.merge_alike(masses)
        assert len(masses) == len(made.parts) == len(made.floors)
        assert np.all(masses >= made.floors * (1 - 1e-12))
        np.testing.assert_allclose(theta(made, masses), before, rtol=0, atol=1e-11 * np.linalg.norm(before))


@settings(max_examples=30)
@given(seeds)
def test_at_most_ten_shapes_are_needed_and_the_empty_ones_are_swept_aside(seed):
    """Carathéodory: ten parameters are a mixture of ten."""
    made, rng = some_body(seed, thin=0.05)
    masses = made.floors + rng.uniform(0.1, 1, len(made.parts))
    while len(made.parts) < 30:
        made, masses = made.divide(masses, int(rng.integers(len(made.parts)))) or (made, masses)
    before = theta(made, masses)
    few, left = made.prune(masses)
    assert len(few.parts) <= 10
    assert len(few.parts) + len(few.removed) == len(made.parts)
    assert few.removed_masses.sum() < 1e-3 * made.body.parameters[0]
    np.testing.assert_allclose(theta(few, left), before, rtol=0, atol=1e-10 * np.linalg.norm(before))


def test_a_body_that_is_all_empty_keeps_its_shapes():
    made, _ = some_body(3)
    same, masses = made.prune(made.floors)
    assert same is made
    np.testing.assert_array_equal(masses, made.floors)


def test_what_was_swept_aside_can_grow_again():
    parts = [cuboid([0.1, 0.1, 0.1], at(x, 0, 0)) for x in (-0.2, 0, 0.2)]
    made = shape_set.initial(body_of(parts), parts)
    masses = made.floors + np.array([1.0, 0.0, 1.0])
    made, masses = made.prune(masses)
    assert made.removed == (parts[1],)
    again, masses = made.restore(parts[1], masses)
    assert again.removed == ()
    assert again.parts[-1] is parts[1]
    assert again.floors.sum() == pytest.approx(mass_floor(made.body))


def test_neighbours_of_one_density_become_one_and_others_do_not():
    x = 0.1
    row = [cuboid([x, x, x], at(k * x, 0, 0)) for k in range(4)] + [cuboid([x, x, x], at(1.0, 0, 0))]
    made = shape_set.initial(body_of(row), row)
    merged, masses = made.merge_alike(np.array([1.0, 1.01, 2.0, 2.0, 1.0]))
    assert len(merged.parts) == 3, "two pairs that touch; the far one stays alone"
    assert sorted(masses) == pytest.approx([1.0, 2.01, 4.0])
    pair = max(merged.parts, key=lambda p: p.parameters[1] if p.kind == "cluster" else -1)
    np.testing.assert_allclose(pair.parameters, cuboid([2 * x, x, x], at(2.5 * x, 0, 0)).parameters, atol=1e-15)
    apart, masses = merged.divide(masses, merged.parts.index(pair))
    assert {row[2], row[3]} <= set(apart.parts), "and can be divided again"


def test_merging_what_was_merged_keeps_one_level():
    row = [cuboid([0.1] * 3, at(0.1 * k, 0, 0)) for k in range(3)]
    made = shape_set.initial(body_of(row), row)
    made, masses = made.merge(np.array([1.0, 2.0, 3.0]), [0, 1])
    made, masses = made.merge(masses, [0, 1])
    (whole,) = made.parts
    assert set(whole.parts) == set(row)
    assert masses == pytest.approx([6.0])


def test_a_shape_is_not_divided_into_what_is_too_thin():
    body = body_of([cuboid([1.0, 1.0, 1.0])])
    thin = np.sqrt(12 * least_variance(body))
    made = shape_set.initial(body, [cuboid([1.9 * thin] * 3), cuboid([2.1 * thin, 1.5 * thin, 1.5 * thin])])
    masses = made.composition.start
    assert made.divide(masses, 0) is None
    assert made.divide(masses, 1) is not None


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=seeds)
def test_too_thin_a_shape_is_made_as_thick_as_needed_and_no_other_is_touched(kind, seed):
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
    made = shape_set.initial(body_of(parts), parts)
    root = np.diag(1 / np.array([0.5] + [0.1] * 3 + [0.05] * 6))
    assert made.distance(made.map @ [1.0, 2.0], root) == pytest.approx(0, abs=1e-9)
    beside = made.map @ [1.0, 1.0]
    beside[2] += 0.3  # m·y: no shape has any
    assert made.distance(beside, root) == pytest.approx(3.0, rel=1e-9)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_bodies_of_real_robots_are_made_of_their_geometry_welded_links_included(name):
    for body in load(name).bodies:
        made = shape_set.initial(body)
        for part in made.parts:
            low, high = part.box
            reach = 2e-3 * body.size  # what thickening adds
            assert np.all(low >= body.box[0] - reach)
            assert np.all(high <= body.box[1] + reach)
        composition = shape_set.composition(body, np.ones(10))
        assert np.all(composition.start > composition.lower)
        assert inertia.is_consistent(composition.map @ composition.start, body.size)


@installed
def test_the_trunk_of_a_quadruped_is_made_of_the_boxes_of_its_welded_links():
    kinds = [p.as_json() for p in shape_set.initial(load("a1").body("trunk")).parts]
    assert [k["kind"] for k in kinds] == ["cuboid"] * 3
    np.testing.assert_allclose(2 * np.array(kinds[1]["half"]), [0.267, 0.194, 0.114])


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


def test_a_body_without_geometry_is_made_of_its_box(tmp_path):
    body = part(tmp_path)
    (box,) = described_shapes(body)
    np.testing.assert_allclose(box.box, body.box, atol=1e-12)


def test_a_load_is_made_of_the_box_it_is_thought_in():
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
    found = cells(body, 2)
    assert len(found) == 8
    assert sum(c.volume for c in found) == pytest.approx(0.4 * 0.1 * 0.3)
    mean = np.mean([c.mean for c in found], axis=0)
    np.testing.assert_allclose(mean, [0.1, 0.05, 0.35])
