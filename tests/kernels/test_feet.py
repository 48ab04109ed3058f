"""Eliminating point feet leg by leg keeps what the projection of the whole keeps."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.equations.dynamics import Dynamics
from steelyard.equations.unknown_forces import FreeRows, foot, point_feet
from steelyard.kernels.tree import REGULAR
from steelyard.robot.flat_tree import flat_tree
from tests.motions import installed, load, smooth

pytestmark = pytest.mark.numerical

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
BASE = FreeRows(12, tuple(range(6)))


def prepared(samples=64):
    robot = load("a1")
    standing = [{"calf": -1.4, "thigh": 0.7}.get(joint.split("_")[1], 0.0) for joint in robot.joints]
    part = smooth(robot, 0, samples=samples, around=np.array(standing), amplitude=0.15)
    feet = [foot(robot, f) for f in FEET]
    return robot, part, feet, point_feet(flat_tree(robot), feet)


@installed
def test_eliminated_rows_are_weighted_by_the_inverse_root():
    _, part, _, points = prepared()
    X, W = points.parts(points.eliminate(points.tree.states(part)), 64)
    M = np.eye(6) + X @ X.transpose(0, 2, 1)
    np.testing.assert_allclose(W @ M @ W, np.broadcast_to(np.eye(6), M.shape), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(W, W.transpose(0, 2, 1))


@installed
def test_the_basis_is_that_of_the_whole_jacobian():
    robot, part, feet, points = prepared()
    N, turned = points.basis(points.eliminate(points.tree.states(part)), 64)
    expected, whole = BASE.basis(Dynamics(robot, part).contact_jacobian(feet))
    assert turned == whole == 64
    np.testing.assert_allclose(N, expected, rtol=0, atol=1e-12)


@installed
def test_a_straight_knee_is_left_out_and_named():
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
    X, W = points.parts(eliminated, 300)
    assert np.isfinite(W).all()
    np.testing.assert_array_equal(W.any(axis=(1, 2)), ~singular)
    M = np.eye(6) + X[~singular] @ X[~singular].transpose(0, 2, 1)
    assert np.abs(W[~singular] @ M @ W[~singular] - np.eye(6)).max() < 1e-9, "others in the same tile are not disturbed"
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
