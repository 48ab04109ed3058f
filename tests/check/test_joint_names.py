"""Joints without columns: misspelt in the log, or assumed to be locked."""

from dataclasses import replace

import pytest

from steelyard.check.checks.joint_names import misspelt
from steelyard.check.survey import survey
from steelyard.log.table import read_log


def renamed(log, joint, name):
    return replace(log, columns={c.replace(joint, name): x for c, x in log.columns.items()})


@pytest.mark.parametrize("name", ["elbow", "elbow_jiont", "ElbowJoint", "arm/elbow_joint", "elbow-joint"])
def test_a_joint_whose_columns_are_misspelt_is_refused_with_the_names_to_change(arm, name):
    (finding,) = survey("demo_arm", renamed(read_log(arm.train), "elbow_joint", name)).findings
    assert (finding.code, finding.severity) == ("joint-misspelt", "error")
    assert finding.where.endswith(f", q.{name}")
    assert finding.remedy == {"rename": {f"{kind}.{name}": f"{kind}.elbow_joint" for kind in ("q", "tau")}}


@pytest.mark.parametrize("name", ["tool", "wrist_4_joint", "gripper"])
def test_a_joint_without_columns_or_a_near_name_is_an_assumption_and_no_error(arm, name):
    result = survey("demo_arm", renamed(read_log(arm.train), "wrist_3_joint", name))
    (finding,) = result.findings
    assert (finding.code, finding.severity) == ("joint-locked", "note")
    assert finding.remedy == {"lock": {"wrist_3_joint": 0.0}}
    assert not result.errors


def test_names_of_other_joints_are_not_misspellings():
    joints = ["l_hip_roll", "FL_hip_joint", "left_shoulder_pitch_joint", "j1", "upper_arm", "finger_joint1"]
    others = ["r_hip_roll", "l_hip_pitch", "FR_hip_joint", "right_shoulder_pitch_joint", "j2", "lower_arm"]
    assert misspelt(joints, [*others, "left_shoulder_roll_joint", "finger_joint2"]) == {}


def test_a_name_with_two_candidates_is_none_of_them():
    assert misspelt(["wrist_1_joint", "wrist_2_joint"], ["wrist"]) == {}
    assert misspelt(["wrist_2_joint"], ["wrist"]) == {"wrist": "wrist_2_joint"}
