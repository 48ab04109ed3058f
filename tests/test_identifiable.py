"""Base parameters are as many as mechanics predicts: seven a hinge, four a slide, ten for the base."""

import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.information import Information
from steelyard.robot import index
from steelyard.robot.model import Robot
from steelyard.solve.solve import least_squares
from tests.motions import FLOATING, installed, load, parameters, segment

pytestmark = pytest.mark.numerical

KINDS = ("revolute", "prismatic", "continuous")


def tree(kinds, parents, seed):
    """A floating robot of these joints; offsets, axes and inertias are random, so nothing lines up."""
    rng = np.random.default_rng(seed)
    body = """<link name="b{}"><inertial><origin xyz="{}"/><mass value="{}"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.025" iyz="0" izz="0.03"/></inertial></link>"""
    text = '<robot name="tree">'
    for k in range(len(kinds) + 1):
        text += body.format(k, " ".join(map(str, rng.normal(size=3) * 0.1)), 1 + rng.random())
    for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True), 1):
        xyz, rpy, axis = (" ".join(map(str, rng.normal(size=3))) for _ in range(3))
        text += f"""<joint name="j{k}" type="{kind}"><parent link="b{parent}"/><child link="b{k}"/>
<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.urdf"
        path.write_text(text + "</robot>")
        return Robot.load(path, base="floating")


@st.composite
def trees(draw):
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=0, max_size=5))
    parents = [draw(st.integers(0, k)) for k in range(len(kinds))]
    return tree(kinds, parents, draw(st.integers(0, 1000)))


def law(robot):
    kinds = [robot.description.joints[j].kind for j in robot.joints]
    return 10 + sum(4 if kind == "prismatic" else 7 for kind in kinds)


def columns(robot):
    return Columns(tuple(b.name for b in robot.bodies))


@lru_cache
def spaces_of(name):
    return spaces(load(name))


def spaces(robot):
    scale = priors.make(robot, columns(robot)).std
    return [Setup(robot, kind, columns(robot)).structure(scale) for kind in ("base", "full")]


def same_space(one, other):
    cosines = np.linalg.svd(one.V.T @ other.V, compute_uv=False)
    assert cosines.min() > 1 - 1e-12


@settings(max_examples=20, deadline=None)
@given(trees())
def test_base_parameters_of_a_random_floating_tree_are_ten_and_seven_a_hinge_and_four_a_slide(robot):
    base, full = spaces(robot)
    assert base.rank == full.rank == law(robot)
    same_space(base, full)


@installed
@pytest.mark.parametrize("name", FLOATING)
def test_base_rows_alone_excite_all_that_is_identifiable(name):
    """Ayusawa's theorem: the six equations of the base span what all equations span."""
    robot = load(name)
    base, full = spaces_of(name)
    assert base.rank == full.rank == law(robot) == 10 + 7 * len(robot.joints)
    same_space(base, full)


def every_floating_robot():
    names = [e.name for e in index.robots() if e.base == "floating" and e.path is not None and (e.joints or 0) <= 60]
    return names or ["demo_a1"]


def equal_spaces(robot):
    """In units that treat all bodies alike: masses of some descriptions differ by a factor of 1e6."""
    alike = np.tile([1.0] + 3 * [0.3] + 6 * [0.09], len(robot.bodies))
    return [Setup(robot, kind, columns(robot)).structure(alike) for kind in ("base", "full")]


@pytest.mark.slow
@pytest.mark.parametrize("name", every_floating_robot())
def test_base_rows_and_full_rows_have_the_same_row_space_on_every_floating_robot_without_mimic_joints(name):
    robot = Robot.load(name, repair=True)
    base, full = equal_spaces(robot)
    same_space(base, full)  # of those that do mimic, what base rows see is part of it
    if robot.coupling is None:
        assert base.rank == full.rank == law(robot)


@installed
def test_a_torque_that_drives_several_joints_excites_what_base_rows_do_not():
    """The theorem is about trees of independent joints: TALOS' two hands, seven joints a motor, each add one."""
    base, full = equal_spaces(load("talos_full"))
    assert full.rank == base.rank + 2


def test_a_joint_that_never_moves_leaves_unexcited_what_it_alone_could_excite():
    robot = tree(["revolute", "revolute"], [0, 1], 0)
    rng = np.random.default_rng(0)
    part = segment(robot, rng, samples=60)
    for still in (part.q, part.v, part.a):
        still[:, 1] = 0.0
    (block,) = Setup(robot, "base", columns(robot)).rows([part])
    R = Information.of(block.Y.reshape(-1, 30), block.target.ravel()).R
    assert Subspace.of(R, priors.make(robot, columns(robot)).std).rank == 17


def data(robot, rng, samples=80, kind="full"):
    """Information of noise-free, excited rows, and the θ that made them."""
    theta = np.concatenate([parameters(robot, rng)[b.name] for b in robot.bodies])
    part = segment(robot, rng, samples)
    (block,) = Setup(robot, kind, columns(robot)).rows([part])
    Y = block.Y.reshape(-1, len(theta))
    return Y, Information.of(Y, Y @ theta), theta


@installed
@pytest.mark.parametrize(("name", "kind"), [("a1", "base"), ("a1", "full"), ("ur10", "joint"), ("panda", "joint")])
def test_composition_reproduces_the_rows(name, kind):
    """Y = Y_independent Z (Ayusawa 5): base parameters Zθ are all that the rows depend on."""
    robot = load(name)
    Y, info, _ = data(robot, np.random.default_rng(1), kind=kind)
    space = Subspace.of(info.R, priors.make(robot, columns(robot)).std)
    pivots, Z = space.composition
    assert Z.shape == (space.rank, columns(robot).n)
    np.testing.assert_array_equal(Z[:, pivots], np.eye(space.rank))
    np.testing.assert_allclose(Y[:, pivots] @ Z, Y, rtol=0, atol=1e-9 * np.abs(Y).max())


@installed
@pytest.mark.parametrize("name", ["a1", "ur10", "panda", "anymal"])
@pytest.mark.parametrize("source", ["structure", "data"])
def test_least_squares_recovers_base_parameters_and_leaves_the_rest_at_the_prior(name, source):
    robot = load(name)
    _, info, theta = data(robot, np.random.default_rng(2))
    scale = priors.make(robot, columns(robot)).std
    kind = "full" if robot.floating else "joint"
    space = Setup(robot, kind, columns(robot)).structure(scale) if source == "structure" else Subspace.of(info.R, scale)
    reference = robot.prior
    estimate = least_squares(info, reference, space.seen)
    _, Z = space.composition
    truth = Z @ theta
    assert np.linalg.norm(Z @ (estimate - theta)) < 1e-8 * np.linalg.norm(truth)
    np.testing.assert_allclose(Z @ estimate, truth, rtol=1e-8, atol=1e-8 * np.abs(truth).max())
    np.testing.assert_allclose(space.null.T @ (estimate - reference), 0, atol=1e-12)  # exactly where the prior has it
    assert np.linalg.norm(estimate - theta) > 1e-3, (
        "single parameters are not identifiable, and are not meant to come out"
    )


@installed
def test_least_squares_returns_a_reference_that_fits_already():
    robot = load("a1")
    _, info, theta = data(robot, np.random.default_rng(3))
    space = Subspace.of(info.R, priors.make(robot, columns(robot)).std)
    reference = theta + space.null @ np.random.default_rng(4).normal(size=space.null.shape[1])
    np.testing.assert_allclose(least_squares(info, reference, space.seen), reference, rtol=0, atol=1e-9)


@installed
def test_row_space_and_null_space_split_all_directions_and_no_row_excites_the_latter():
    robot = load("a1")
    Y, info, _ = data(robot, np.random.default_rng(5))
    space = Subspace.of(info.R, priors.make(robot, columns(robot)).std)
    both = np.hstack([space.seen, space.null])
    np.testing.assert_allclose(both.T @ both, np.eye(columns(robot).n), rtol=0, atol=1e-12)
    assert np.abs(Y @ space.null).max() < 1e-9 * np.abs(Y).max()
    assert space.outside(Y[7]) < 1e-9
    far = space.null[:, 0] / space.scale**2  # orthogonal, in scaled coordinates, to the row space
    assert space.outside(far) == pytest.approx(1, abs=1e-9)
    assert space.outside(np.zeros(columns(robot).n)) == 1.0
    assert space.condition == pytest.approx(space.values[0] / space.values[-1])


@installed
def test_the_total_mass_is_identifiable_and_that_of_a_leg_is_not():
    robot = load("a1")
    base, _ = spaces_of("a1")
    total = np.tile(np.eye(10)[0], len(robot.bodies))
    assert base.outside(total) < 1e-9
    single = np.zeros_like(total)
    single[30] = 1.0
    assert base.outside(single) > 1e-3
