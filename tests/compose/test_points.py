"""Point masses: which bodies they represent, that these are consistent, and that more points never fit worse."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import Delaunay

from steelyard import Lmi, Options, Points, identify, inertia, weigh_load
from steelyard.cli.demonstration import reference_motion
from steelyard.compose import mass_points, pseudo_inertia
from steelyard.compose.points_cover import cover, cover_notices
from steelyard.compose.prior import body_root
from steelyard.equations.setup import Setup
from steelyard.errors import UsageError
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify import method
from steelyard.identify.scoring import base_error
from steelyard.identify.verdict import is_trusted
from steelyard.information import Information
from steelyard.robot import geometry
from steelyard.robot.model import Body, Robot
from steelyard.solve.problem import Cone
from tests.compose.battery import build, fitted, loose, noisy
from tests.floating import floating_log
from tests.motions import ROBOTS, installed, load

pytestmark = pytest.mark.numerical

NESTED = (2, 3, 5, 9)  # each grid has all points of the one before


def boxed(half, parameters=None, centre=(0.0, 0.0, 0.0)):
    """A body that fills its box evenly, or has other parameters."""
    half, centre = np.asarray(half, float), np.asarray(centre, float)
    box = (centre - half, centre + half)
    inside = geometry.box_inertia(2.0, box) if parameters is None else parameters
    return Body("b", ("b",), 1, inside, box, 2 * float(np.linalg.norm(half)))


def uniform(body, **options):
    """The composition without any pull on single masses."""
    return mass_points.composition(body, np.ones(10), ridge=0.0, **options)


@st.composite
def bodies(draw):
    """Boxes of all proportions, sheets and rods among them, near or far from the origin of their frame."""
    size = 10 ** draw(st.floats(-2, 0.5))
    half = size * np.array([10 ** draw(st.floats(-4, 0)) for _ in range(3)])
    return boxed(half, centre=size * np.array([draw(st.floats(-3, 3)) for _ in range(3)]))


def test_the_columns_are_the_parameters_of_point_masses():
    body = boxed([0.1, 0.2, 0.3], centre=[0.5, -0.1, 0.2])
    masses = mass_points.place(body, body.parameters)
    assert len(masses.points) == 27
    for r, column in zip(masses.points, masses.map[:, 1:].T, strict=True):
        alone = pin.Inertia(1.0, r, np.zeros((3, 3))).toDynamicParameters()
        expected = (1 - masses.blur) * alone + masses.blur * masses.whole
        np.testing.assert_allclose(column, expected, atol=1e-15)
    np.testing.assert_allclose(masses.map[:, 0], geometry.box_inertia(1.0, body.box), atol=1e-15)
    assert masses.blur < 1e-5, "a point is as good as one"


def test_the_grid_is_even_and_reaches_the_corners():
    body = boxed([0.1, 0.2, 0.3], centre=[0.5, -0.1, 0.2])
    for n in (3, 4, 6):
        points = mass_points.place(body, body.parameters, n).points
        assert len(points) == n**3
        for axis in range(3):
            np.testing.assert_allclose(
                np.unique(points[:, axis].round(12)), np.linspace(body.box[0][axis], body.box[1][axis], n), atol=1e-12
            )


@given(bodies(), st.sampled_from([2, 3, 4]))
@settings(max_examples=40)
def test_any_ten_parameters_can_be_reached_whatever_the_box(body, n):
    masses = mass_points.place(body, body.parameters, n)
    centre, half = masses.points.mean(axis=0), np.ptp(masses.points, axis=0) / 2
    assert mass_points.rank((masses.points - centre) / half) == 10
    assert np.linalg.matrix_rank(mass_points._natural(body.parameters, body.size) @ masses.map) == 10


def test_two_an_edge_leave_three_directions_out_so_the_centres_of_all_faces_are_added():
    """All corners have x² = d², so mass and moments are not distinguished. Three faces suffice, but lack symmetry."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, 8).T
    assert mass_points.rank(corners) == 7
    body = boxed([0.1, 0.2, 0.3])
    points = mass_points.place(body, body.parameters, 2).points / [0.1, 0.2, 0.3]
    np.testing.assert_allclose(points[:8], corners[np.lexsort(corners.T[::-1])], atol=1e-12)
    np.testing.assert_allclose(np.sort(np.abs(points[8:])), np.tile([0, 0, 1], (6, 1)), atol=1e-12)
    np.testing.assert_allclose(points[8:].sum(axis=0), 0, atol=1e-12)


def elsewhere(body, T):
    """The same body written in another frame, whose axes are those of the body's, in any order and sense."""
    corners = np.array(body.box) @ T[:3, :3].T + T[:3, 3]
    return replace(
        body,
        parameters=inertia.transform(body.parameters, T),
        box=(corners.min(axis=0), corners.max(axis=0)),
        parts=tuple((link, T @ placement) for link, placement in body.parts),
    )


def frames(count):
    """Frames far away, turned by quarter turns."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        T = np.eye(4)
        T[:3, :3] = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
        T[0, :3] *= np.linalg.det(T[:3, :3])
        T[:3, 3] = rng.normal(size=3)
        yield T


def assert_the_same_points(one, other, size):
    assert len(one) == len(other)
    apart = np.linalg.norm(one[:, None] - other, axis=2)
    assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-9 * size


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ["demo_arm", "a1", "anymal", "talos"])
@pytest.mark.parametrize(("count", "within"), [(2, "box"), (2, "hull"), (3, "hull"), ("auto", "box")])
def test_points_are_the_same_whatever_frame_the_body_is_written_in(name, count, within):
    """Symmetric shapes have many points that tie, and rounding would choose between these in each frame anew."""
    for body in load(name).bodies:
        original = mass_points.place(body, body.parameters, count, within).points
        for T in frames(6):
            moved = elsewhere(body, T)
            transformed = mass_points.place(moved, moved.parameters, count, within).points
            assert_the_same_points(original @ T[:3, :3].T + T[:3, 3], transformed, body.size)


def test_legs_that_mirror_each_other_have_points_that_do(a1_robot):
    """The hips of A1 are cylinders, of which whole edges lie furthest: rounding must not choose between their ends."""
    mirror = np.diag([1.0, -1.0, 1.0])
    for count in (2, 3, 5):
        for one, other in (("FL_hip", "FR_hip"), ("RL_hip", "RR_hip")):
            left, right = (a1_robot.body(name) for name in (one, other))
            ours, theirs = (mass_points.place(b, b.parameters, count, "hull").points for b in (left, right))
            assert_the_same_points(ours @ mirror, theirs, left.size)


@given(bodies(), st.sampled_from([2, 3, 5]), st.integers(0, 10_000), st.floats(-6, 6), st.floats(0, 1))
@settings(max_examples=150)
def test_whatever_the_masses_the_body_is_consistent(body, n, seed, size, share):
    """One mass or many, a millionth or a million times the description's."""
    rng = np.random.default_rng(seed)
    c = uniform(body, count=n)
    few = rng.random(c.size) < share
    x = c.lower + body.parameters[0] * 10**size * few * rng.exponential(size=c.size) ** 4
    theta = c.map @ x
    assert inertia.is_consistent(theta, body.size)
    assert theta[0] >= pseudo_inertia.mass_floor(body) * (1 - 1e-12)


@given(arrays(float, 28, elements=st.floats(0, 1e3)))
def test_a_body_of_masses_lies_in_the_cone_of_all_bodies(extra):
    """With the solvers' margin: so no fit with masses can be better than one with the pseudo-inertia."""
    body = boxed([0.1, 0.02, 0.3])
    c = uniform(body)
    M = Cone(0, pseudo_inertia.lmi(body)).value(c.map @ (c.lower + extra))
    assert np.linalg.eigvalsh(M)[0] >= -1e-12 * np.abs(M).max()


def test_plain_points_would_not_be_bodies():
    """A mass at one point, at two, or in a plane has no extent in some direction: the cone of points is closed."""
    body = boxed([0.1, 0.2, 0.3])
    masses = replace(mass_points.place(body, body.parameters), blur=0.0)
    for count in (1, 2, 9):
        theta = masses.map[:, 1 : 1 + count].sum(axis=1)
        assert not inertia.is_consistent(theta, body.size)


@pytest.mark.parametrize("within", ["box", "hull"])
@pytest.mark.parametrize("link", [0, 1])
def test_a_finer_grid_has_the_points_of_the_coarser(within, link):
    body = Robot.load("demo_arm").bodies[link]
    grids = [mass_points.place(body, body.parameters, n, within) for n in NESTED]
    for coarse, fine in pairwise(grids):
        gap = np.linalg.norm(coarse.points[:, None] - fine.points, axis=2).min(axis=1)
        assert gap.max() < 1e-9
        assert (coarse.blur, coarse.within) == (fine.blur, fine.within) == (coarse.blur, within)
        np.testing.assert_array_equal(coarse.whole, fine.whole)


@pytest.mark.parametrize("seed", range(4))
def test_more_points_never_do_worse_and_none_do_better_than_any_mass_distribution(seed):
    body, data = noisy(seed)
    best = data.cost(fitted(build(pseudo_inertia.composition, body), data))
    costs = [data.cost(fitted(uniform(body, count=n), data)) for n in NESTED]
    slack = 1e-6 * costs[-1]
    assert all(after <= before + slack for before, after in pairwise(costs))
    assert costs[-1] >= best - slack
    assert costs[0] > best + slack, "or there was nothing to gain"


def test_with_many_points_the_fit_is_that_of_any_mass_distribution():
    """A body near an edge of its box, where a coarse grid has no points."""
    half = np.array([0.1, 0.2, 0.3])
    covariance = np.diag([0.02, 0.05, 0.06]) ** 2
    truth = inertia.pack(2.0, 0.45 * half, 2.0 * (np.trace(covariance) * np.eye(3) - covariance))
    body = boxed(half)
    Y = np.random.default_rng(0).normal(size=(40, 10)) @ np.linalg.inv(body_root(truth, body.size))
    data = Information.of(Y, Y @ truth + 1e-3 * np.random.default_rng(1).normal(size=40))
    free = data.cost(fitted(build(pseudo_inertia.composition, body), data))
    costs = [data.cost(fitted(uniform(body, count=n), data)) for n in (3, 5, 9)]
    assert costs[0] > 1e3 * free
    assert costs[2] == pytest.approx(free, rel=1e-3)


def test_in_a_hull_every_point_is_inside_it_and_its_ends_are_among_them():
    for body in Robot.load("demo_arm").bodies:
        vertices = geometry.hull_of_links(body.parts)
        masses = mass_points.place(body, body.parameters, 5, "hull")
        assert masses.within == "hull"
        centre = vertices.mean(axis=0)
        assert np.all(Delaunay(vertices).find_simplex(centre + (1 - 1e-6) * (masses.points - centre)) >= 0)
        np.testing.assert_allclose(masses.points.min(axis=0), vertices.min(axis=0), atol=1e-9)
        np.testing.assert_allclose(masses.points.max(axis=0), vertices.max(axis=0), atol=1e-9)


def test_a_body_without_a_hull_falls_back_to_its_box_with_a_notice():
    body = boxed([0.1, 0.2, 0.3])
    covered = cover(body, body.parameters, 3, "hull")
    assert covered.within == "box"
    (notice,) = cover_notices({"b": covered}, "hull")
    assert (notice.code, notice.where) == ("hull-missing", "b")
    assert cover_notices({"b": covered}, "box") == []


def test_a_flat_box_is_given_some_thickness():
    body = boxed([0.1, 0.2, 0.0], parameters=geometry.box_inertia(1.0, (-np.full(3, 0.1), np.full(3, 0.1))))
    points = mass_points.place(body, body.parameters).points
    assert np.ptp(points[:, 2]) / 2 == pytest.approx(0.02 * body.size)


def test_a_sum_of_point_masses_has_no_distance_from_their_cone():
    body = boxed([0.1, 0.2, 0.3], centre=[1.0, 0.0, -2.0])
    assert cover(body, body.parameters).inside
    c = uniform(body)
    rng = np.random.default_rng(0)
    for _ in range(10):
        theta = c.map @ (c.lower + rng.exponential(size=c.size) * (rng.random(c.size) < 0.3))
        assert mass_points.distance(c.map, body, theta) < 1e-9


@pytest.mark.slow
@given(st.floats(1.05, 3.0))
@settings(max_examples=20)
def test_a_body_larger_than_its_box_is_the_further_off_the_larger_it_is(factor):
    half = np.array([0.1, 0.2, 0.3])
    edge = boxed(half, parameters=geometry.box_inertia(2.0, (-np.sqrt(3) * half, np.sqrt(3) * half)))
    assert cover(edge, edge.parameters, 9).prior_distance < 1e-4, "all its mass at the corners: as large as can be"
    grown = np.sqrt(3) * factor * half
    larger, largest = (
        cover(edge, geometry.box_inertia(2.0, (-k * grown, k * grown)), 9).prior_distance for k in (1.0, 1.1)
    )
    assert 0.01 < larger < largest < 1


def test_distance_does_not_depend_on_units_or_on_the_frames_origin():
    half = np.array([0.1, 0.2, 0.3])
    wide = geometry.box_inertia(2.0, (-3 * half, 3 * half))
    expected = cover(boxed(half, wide), wide).prior_distance
    shift = np.eye(4)
    shift[:3, 3] = [1.0, 2.0, -0.5]
    moved = inertia.transform(wide, shift)
    assert cover(boxed(half, moved, shift[:3, 3]), moved).prior_distance == pytest.approx(expected, rel=1e-6)
    heavy = 1e3 * wide
    assert cover(boxed(half, heavy), heavy).prior_distance == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_auto_covers_every_described_body(name):
    robot = load(name)
    covers = {b.name: cover(b, b.parameters, "auto") for b in robot.bodies}
    assert all(c.inside for c in covers.values())
    coarse = {b.name: cover(b, b.parameters) for b in robot.bodies}
    assert all(covers[b] == c for b, c in coarse.items() if c.inside), "no more points than it takes"


@installed
def test_of_taloss_33_links_27_points_miss_12_and_125_miss_4():
    robot = load("talos")
    missed = [sum(not cover(b, b.parameters, n).inside for b in robot.bodies) for n in (3, 5)]
    assert (len(robot.bodies), *missed) == (33, 12, 4)


def test_carriers_have_exactly_the_parameters_they_were_placed_for():
    half = np.array([0.1, 0.2, 0.3])
    rng = np.random.default_rng(3)
    shift = np.eye(4)
    shift[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    shift[:3, 3] = [0.0, 0.5, 0.0]
    outside = inertia.transform(geometry.box_inertia(2.0, (-half, half)), shift)
    covered = cover(boxed(half, outside), outside, "auto")
    assert (covered.carriers, covered.count) == (7, 34)
    assert covered.inside
    assert cover(boxed(half, outside), outside, 5).prior_distance > 0.1
    assert [(n.code, n.where) for n in cover_notices({"b": covered}, "box")] == [("points-added", "b")]


@pytest.mark.parametrize("extent", [(3.0, 3.0, 3.0), (3.0, 3.0, 5.0), (2.0, 4.0, 4.0)])
def test_carriers_of_a_ball_or_a_bar_do_not_depend_on_which_axes_rounding_calls_principal(extent):
    half = np.array([0.1, 0.1, 0.1])
    wide = np.array(extent) * half
    turn = np.eye(4)
    turn[:3, :3] = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    for oblique in (np.eye(4), turn):
        body = boxed(half, inertia.transform(geometry.box_inertia(2.0, (-wide, wide)), oblique))
        original = mass_points.place(body, body.parameters, "auto")
        assert original.carriers == 7
        assert cover(body, body.parameters, "auto").inside
        for T in frames(6):
            moved = elsewhere(body, T)
            transformed = mass_points.place(moved, moved.parameters, "auto")
            assert_the_same_points(original.points @ T[:3, :3].T + T[:3, 3], transformed.points, body.size)


def test_the_ridge_pulls_towards_the_shortest_masses_that_make_the_prior():
    body = loose(np.random.default_rng(0), 0.3)
    c = mass_points.composition(body, np.ones(10))
    np.testing.assert_allclose(c.map @ c.reference, body.parameters, atol=1e-12)
    np.testing.assert_allclose(c.reference, np.linalg.pinv(c.map) @ body.parameters, atol=1e-9)
    assert c.ridge**2 == pytest.approx(np.full(c.size, 1e-3 / (0.5 * body.parameters[0]) ** 2))
    assert uniform(body).ridge.size == 0
    other = 1.5 * body.parameters
    elsewhere = mass_points.composition(body, np.ones(10), prior=other)
    np.testing.assert_allclose(elsewhere.reference, 1.5 * c.reference, atol=1e-9)


def test_a_grid_does_not_turn_with_its_frame():
    """Boxes are aligned with the axes of their frame: turned by 45°, another grid fits the same data otherwise."""
    body, data = noisy(3)
    turn = np.eye(4)
    turn[:2, :2] = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    B = inertia.transform_matrix(turn)
    turned = boxed((body.box[1] - body.box[0]) / 2, B @ body.parameters, turn[:3, :3] @ (body.box[0] + body.box[1]) / 2)
    original, transformed = data, data.through(np.linalg.inv(B))
    grid = original.cost(fitted(uniform(body), original)), transformed.cost(fitted(uniform(turned), transformed))
    free = (
        original.cost(fitted(build(pseudo_inertia.composition, body), original)),
        transformed.cost(fitted(build(pseudo_inertia.composition, turned), transformed)),
    )
    assert free[0] == pytest.approx(free[1], rel=1e-5)
    assert abs(grid[0] - grid[1]) > 1e-3 * grid[0]


def test_an_arm_of_masses_is_nearer_to_the_truth_than_its_description_and_predicts(arm):
    result = identify("demo_arm", [arm.train], Options(method="points", friction="all"), validate=[arm.test])
    exact = np.concatenate([arm.truth[b.name] for b in arm.robot.bodies])
    yardstick = reference_motion(arm.robot, result.columns)
    assert base_error(yardstick, result.theta[: len(exact)], exact) < 0.2 * base_error(
        yardstick, arm.robot.prior, exact
    )
    assert is_trusted(result.estimate)
    assert result.estimate.validation[str(arm.test)].relative < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"prior": "none"}, {"prior_space": "structure", "prior_width": "box"}])
def test_a_walking_robot_of_masses_has_its_base_parameters(a1_robot, options):
    """Ayusawa's cases: with the prior everywhere, without (D), and in the null space with the widths of boxes (A)."""
    truth = perturbed(a1_robot, np.random.default_rng(4), spread=0.05)
    feet = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
    log = floating_log(a1_robot, truth, feet, wrenches=True, seconds=8, rate=200)
    result = identify(a1_robot.description, [log], Options(method=Points(per_edge="auto"), equations="full", **options))
    exact = np.concatenate([truth[b.name] for b in a1_robot.bodies])
    space = Setup(a1_robot, "full", result.columns).structure(np.ones(result.columns.n))
    assert result.estimate.consistent
    assert base_error(space, result.theta, exact) < 0.1 * base_error(space, a1_robot.prior, exact)


@pytest.mark.slow
@installed
def test_links_of_a_humanoid_are_identified_while_the_others_stay():
    robot = load("talos", base="floating")
    free = ("torso_2_link", "leg_left_4_link", "arm_right_4_link")
    truth = {b.name: b.parameters for b in robot.bodies}
    truth |= {name: p for name, p in perturbed(robot, np.random.default_rng(1), spread=0.05).items() if name in free}
    soles, noise = ("left_sole_link", "right_sole_link"), (1e-5, 0.001, 0.01, 0.05)
    log = floating_log(robot, truth, soles, wrenches=True, seconds=5, rate=200, noise=noise)
    result = identify(robot.description, [log], Options(method=Points(per_edge="auto"), links=free))
    exact = np.concatenate([truth[b.name] for b in robot.bodies])
    space = Setup(robot, "full", result.columns).structure(np.ones(result.columns.n))
    assert base_error(space, result.theta, exact) < 0.1 * base_error(space, robot.prior, exact)
    assert set(result.estimate.points) == set(free)


def test_the_command_reports_the_distance_of_priors_that_the_masses_cannot_represent(steelyard, arm, tmp_path):
    done = steelyard(
        "identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--method", "points", "--points", "2", "--friction",
        "all",
    )  # fmt: skip
    assert done.code == 0
    estimate = json.loads((tmp_path / "out" / "estimate.json").read_text())
    (notice,) = cover_notices({b.name: cover(b, b.parameters, 2) for b in arm.robot.bodies}, "box")
    assert notice.code == "prior-not-represented"
    assert set(notice.where.split(", ")) == {b.name for b in arm.robot.bodies}
    assert str(notice) in estimate["notices"]
    assert f"note: {notice}" in done.out
    assert estimate["method"] == "points"
    assert set(estimate["points"]) == {b.name for b in arm.robot.bodies}
    for entry in estimate["points"].values():
        assert entry["prior_inside"] is False
        assert 0 < entry["prior_distance"] < 1
        assert (entry["count"], entry["per_axis"], entry["within"], entry["carriers"]) == (14, 2, "box", 0)
    chosen = estimate["provenance"]["options"]
    assert (chosen["points"], chosen["points_in"], chosen["point_ridge"]) == (2, "box", 1e-3)


@pytest.mark.slow
def test_three_an_edge_are_enough_for_the_arm_and_auto_takes_no_more(steelyard, arm, tmp_path):
    for count in ("3", "auto"):
        out = tmp_path / count
        done = steelyard(
            "identify", "demo_arm", arm.train, "-o", out, "--friction", "all", "--method", "points", "--points", count,
            "--points-in", "hull", "--point-ridge", "0", "--prior-space", "structure", "--prior-width", "box",
            "--prior-weight", "2",
        )  # fmt: skip
        assert done.code == 0
        estimate = json.loads((out / "estimate.json").read_text())
        assert all(e["prior_inside"] and e["per_axis"] == 3 for e in estimate["points"].values())
        covers = {b.name: cover(b, b.parameters, 3 if count == "3" else "auto", "hull") for b in arm.robot.bodies}
        assert cover_notices(covers, "hull") == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("--points 1", "option-value"),
        ("--points 10", "option-value"),
        ("--points -3", "option-value"),
        ("--points many", "option-value"),
        ("--point-ridge -1.0", "option-value"),
        ("--prior-weight 0.0", "option-value"),
        ("--regularisation entropic", "option-conflict"),
    ],
)
def test_options_of_point_masses_are_checked(steelyard, arm, tmp_path, arguments, code):
    done = steelyard(
        "identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--method", "points", *arguments.split()
    )
    assert done.code == 2
    assert f"{arguments}: " in done.err
    assert f"[{code}]" in done.err
    assert not (tmp_path / "out").exists()


def test_an_entropic_prior_acts_on_whole_bodies_not_on_the_null_space():
    with pytest.raises(UsageError) as error:
        Options(method=Lmi(regularisation="entropic"), prior_space="structure")
    assert [(f.code, f.where) for f in error.value.findings] == [("option-conflict", "prior_space=structure")]


def test_point_masses_are_not_for_loads_whose_place_is_unknown(arm):
    with pytest.raises(UsageError) as error:
        weigh_load("demo_arm", [arm.train], "tool0", Options(method="points"))
    (finding,) = error.value.findings
    assert (finding.code, finding.where, finding.remedy) == ("method-not-for-loads", "method=points", {"method": "lmi"})


def test_more_point_masses_than_the_limit_are_refused(arm, monkeypatch):
    monkeypatch.setattr(method, "MAX_UNKNOWNS", 4000)
    with pytest.raises(UsageError) as error:
        identify("demo_arm", [arm.train], Options(method=Points(per_edge=9)))
    assert [(f.code, f.where) for f in error.value.findings] == [("problem-too-large", "method=points")]
