"""Pairs of left and right are found by name, believed only where they mirror each other, and refused otherwise."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard import inertia
from steelyard.errors import UsageError
from steelyard.robot.symmetry import _other_side, pairs
from tests.motions import installed, load, physical

pytestmark = pytest.mark.numerical

COUNTS = {"a1": 6, "go2": 6, "anymal": 6, "talos": 14, "g1": 13}  # every body but base, torso and head


@installed
@pytest.mark.parametrize("name", COUNTS)
def test_every_limb_of_a_legged_robot_has_its_mirror_image(name):
    found, remarks = pairs(load(name), ["auto"])
    assert len(found) == COUNTS[name]
    assert remarks == ()
    for pair in found:
        assert np.linalg.det(pair.reflection[:3, :3]) == pytest.approx(-1.0)


@installed
def test_a_body_carried_over_by_the_reflection_is_symmetric_and_most_descriptions_nearly_are():
    robot = load("a1")
    rng = np.random.default_rng(0)
    for pair in pairs(robot, ["auto"])[0]:
        right = physical(rng, 1.0, 0.2)
        left = inertia.transform(right, pair.reflection)
        a, b = pair.rows
        np.testing.assert_allclose(a @ left + b @ right, 0.0, atol=1e-12)
        described = [robot.body(name).parameters for name in (pair.left, pair.right)]
        np.testing.assert_allclose(a @ described[0] + b @ described[1], 0.0, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("left_hip_link", "right_hip_link"),
        ("leg_left_1_link", "leg_right_1_link"),
        ("LeftFoot", "RightFoot"),
        ("ARM_LEFT", "ARM_RIGHT"),
        ("l_shank", "r_shank"),
        ("shank_l", "shank_r"),
        ("FL_thigh", "FR_thigh"),
        ("LF_HIP", "RF_HIP"),
        ("LARM_LINK1", "RARM_LINK1"),
    ],
)
def test_names_of_the_left_side_tell_that_of_the_right(name, other):
    assert other in list(_other_side(name))


def test_a_name_without_a_side_has_no_other():
    assert list(_other_side("torso")) == []


@installed
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("FL_thigh", "is no pair. Say LEFT=RIGHT, or auto"),
        ("=FL_thigh", "is no pair"),
        ("FL_thigh=FL_thigh", "names one body twice"),
        ("FL_thigh=FL_leg", "is not in"),
        ("FL_thigh=FR_calf", "do not mirror each other in the zero posture: their frames are"),
    ],
)
def test_what_is_no_pair_is_refused(asked, message):
    with pytest.raises(UsageError, match=message):
        pairs(load("a1"), [asked])


def test_a_robot_without_sides_has_no_pairs_to_find():
    with pytest.raises(UsageError, match=r"finds no two bodies of .* called left and right"):
        pairs(load("demo_arm"), ["auto"])


@installed
def test_bodies_that_are_named_like_a_pair_and_are_none_are_left_alone_and_said():
    """A bent description: one thigh is mounted where its mirror image is not."""
    robot = load("a1")
    model = robot.model.copy()
    joint = robot.body("FL_thigh").joint
    placement = model.jointPlacements[joint].copy()
    placement.translation = placement.translation + np.array([0.0, 0.0, 0.1])
    model.jointPlacements[joint] = placement
    found, (remark,) = pairs(replace(robot, model=model), ["auto"])
    assert len(found) == 4, "what hangs on it is not mirrored either"
    assert remark.startswith("named like a pair, but not mirrored in the zero posture")
    assert "FL_thigh and FR_thigh" in remark
