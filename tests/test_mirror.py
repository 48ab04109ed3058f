"""Left–right pairs are searched by name, and used only where the bodies are mirror images."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard import inertia
from steelyard.errors import UsageError
from steelyard.robot.symmetry import _other_side, find_mirrored_pairs
from tests.motions import installed, load, physical

pytestmark = pytest.mark.numerical

COUNTS = {"a1": 6, "go2": 6, "anymal": 6, "talos": 14, "g1": 13}  # every body but base, torso and head


@installed
@pytest.mark.parametrize("name", COUNTS)
def test_every_limb_of_a_legged_robot_has_its_mirror_image(name):
    mirrored, remarks = find_mirrored_pairs(load(name), ["auto"])
    assert len(mirrored) == COUNTS[name]
    assert remarks == ()
    for pair in mirrored:
        assert np.linalg.det(pair.reflection[:3, :3]) == pytest.approx(-1.0)


@installed
def test_a_reflected_body_is_symmetric_and_most_descriptions_nearly_are():
    robot = load("a1")
    rng = np.random.default_rng(0)
    for pair in find_mirrored_pairs(robot, ["auto"])[0]:
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
def test_a_name_of_the_left_side_gives_that_of_the_right(name, other):
    assert other in list(_other_side(name))


def test_a_name_without_a_side_has_no_other():
    assert list(_other_side("torso")) == []


@installed
@pytest.mark.parametrize(
    ("asked", "code", "where"),
    [
        ("FL_thigh", "option-value", "symmetric=FL_thigh"),
        ("=FL_thigh", "option-value", "symmetric==FL_thigh"),
        ("FL_thigh=FL_thigh", "pair-of-one-body", "symmetric=FL_thigh=FL_thigh"),
        ("FL_thigh=FL_leg", "name-unknown", "link 'FL_leg'"),
        ("FL_thigh=FR_calf", "pair-not-mirrored", "symmetric=FL_thigh=FR_calf"),
    ],
)
def test_bodies_that_are_not_a_mirrored_pair_are_refused(asked, code, where):
    finding = refusal("a1", asked)
    assert (finding.code, finding.where) == (code, where)


def test_a_robot_without_sides_has_no_pairs():
    finding = refusal("demo_arm", "auto")
    assert (finding.code, finding.where) == ("pairs-missing", "symmetric=auto")


def refusal(name, asked):
    with pytest.raises(UsageError) as error:
        find_mirrored_pairs(load(name), [asked])
    (finding,) = error.value.findings
    return finding


@installed
def test_bodies_that_are_named_like_a_pair_but_not_mirrored_are_not_paired_with_a_remark():
    """A bent description: one thigh is mounted where its mirror image is not."""
    robot = load("a1")
    model = robot.model.copy()
    joint = robot.body("FL_thigh").joint
    placement = model.jointPlacements[joint].copy()
    placement.translation = placement.translation + np.array([0.0, 0.0, 0.1])
    model.jointPlacements[joint] = placement
    mirrored, (remark,) = find_mirrored_pairs(replace(robot, model=model), ["auto"])
    assert len(mirrored) == 4, "the calf below it is not mirrored either"
    assert "FL_thigh and FR_thigh" in remark.where
