"""Eliminating point feet leg by leg keeps what the projection of the whole keeps."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.equations.columns import Columns
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import FreeRows, foot, point_feet
from steelyard.kernels.panels import Panels
from steelyard.kernels.tree import LANES, REGULAR
from steelyard.robot.flat_tree import flat_tree
from tests.motions import installed, load, smooth

pytestmark = pytest.mark.numerical

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
BASE = FreeRows(12, tuple(range(6)))


def prepared(samples=64, symmetric=True):
    robot = load("a1")
    standing = [{"calf": -1.4, "thigh": 0.7}.get(joint.split("_")[1], 0.0) for joint in robot.joints]
    part = smooth(robot, 0, samples=samples, around=np.array(standing), amplitude=0.15)
    feet = [foot(robot, f) for f in FEET]
    tree = flat_tree(robot)
    return robot, part, feet, point_feet(tree, feet, symmetric)


@installed
@pytest.mark.parametrize("symmetric", [True, False])
def test_contact_free_panels_have_the_gram_of_the_projected_rows(symmetric):
    robot, part, feet, points = prepared(symmetric=symmetric)
    panels, states = Panels(points.tree, 32), points.tree.states(part, 32)
    eliminated = points.eliminate(states)
    assert not points.singular(eliminated).any()
    target = points.target(eliminated, np.zeros((64, 6)), part.tau + 1.0)
    G, c = np.zeros((130, 130)), np.zeros(130)
    for first in range(0, len(states), 2):
        points.fill(panels, states, eliminated, first)
        G += panels.base @ panels.base.T
        c += panels.base @ panels.columns(target[first * LANES : (first + 2) * LANES])
    order = sorted(robot.bodies, key=lambda b: points.tree.nodes[b.name])
    part = replace(part, tau=part.tau + 1.0)
    (block,) = Setup(robot, "contact-free", Columns(tuple(b.name for b in order)), tuple(feet)).rows([part])
    np.testing.assert_allclose(G, np.einsum("tci,tcj->ij", block.Y, block.Y), rtol=0, atol=1e-12 * np.abs(G).max())
    expected = np.einsum("tci,tc->i", block.Y, block.target)
    np.testing.assert_allclose(c, expected, rtol=0, atol=1e-12 * np.abs(c).max())


@installed
def test_contact_free_panels_are_the_projected_rows_themselves():
    robot, part, feet, points = prepared(samples=16)
    panels, states = Panels(points.tree, 16), points.tree.states(part)
    points.fill(panels, states, points.eliminate(states))
    order = sorted(robot.bodies, key=lambda b: points.tree.nodes[b.name])
    (block,) = Setup(robot, "contact-free", Columns(tuple(b.name for b in order)), tuple(feet)).rows([part])
    found = panels.base.reshape(-1, 6, 16).transpose(2, 1, 0)
    np.testing.assert_allclose(found, block.Y, rtol=0, atol=1e-12 * np.abs(found).max())
    panels.fill(states)
    fresh = Panels(points.tree, 16)
    fresh.fill(states)
    np.testing.assert_array_equal(panels.buffer, fresh.buffer)


@installed
def test_the_basis_is_that_of_the_whole_jacobian():
    robot, part, feet, points = prepared()
    N, turned = points.basis(points.eliminate(points.tree.states(part)), 64)
    expected, whole = BASE.basis(Dynamics(robot, part).contact_jacobian(feet))
    assert turned == whole == 64
    np.testing.assert_allclose(N, expected, rtol=0, atol=1e-12)


@installed
def test_a_straight_knee_is_left_out_of_panels_and_named():
    robot, part, feet, points = prepared(samples=300)
    q = part.q.copy()
    q[:, robot.joints.index("FR_calf_joint")] = -0.4 + 0.8 * np.sin(np.pi * part.time)
    q[:, robot.joints.index("FR_thigh_joint")] = 0.3
    q[7, robot.joints.index("FR_calf_joint")] = 0.0  # exactly straight
    part = replace(part, q=q)
    states = points.tree.states(part)
    eliminated = points.eliminate(states)
    singular = points.singular(eliminated)[:300]
    assert singular[7]
    assert 5 < singular.sum() < 250
    panels = Panels(points.tree, 16)
    for first in range(len(states)):
        points.fill(panels, states, eliminated, first)
        lanes = panels.base.reshape(-1, 6, LANES)
        assert np.isfinite(lanes).all()
        for lane in range(min(LANES, 300 - LANES * first)):
            assert lanes[:, :, lane].any() != singular[LANES * first + lane]
    J = Dynamics(robot, part).contact_jacobian(feet)
    B = np.linalg.svd(J)[2][:, 12:, :6]
    least = np.linalg.svd(B)[1].min(axis=1)
    assert np.all(singular[least <= REGULAR]), "what FreeRows calls singular is"
    assert not singular[least > 6**0.25 * REGULAR].any(), "and little else"


@installed
@pytest.mark.parametrize(
    ("name", "feet"),
    [
        ("a1", ("FR_foot:surface", "FL_foot")),
        ("a1", ("FR_foot", "FR_calf:point")),
        ("a1", ("FR_thigh:point",)),
        ("talos", ("left_sole_link:point",)),
        ("panda", ("panda_hand:point",)),
    ],
)
def test_feet_of_another_kind_are_not_eliminated_leg_by_leg(name, feet):
    robot = load(name)
    assert point_feet(flat_tree(robot), [foot(robot, f) for f in feet]) is None
