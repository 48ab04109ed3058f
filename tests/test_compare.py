"""An estimate and the robot that was exported with it are the same robot."""

from __future__ import annotations

import json

import numpy as np
import pytest

from steelyard import Options, identify
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.log.table import read_log, write_log
from steelyard.output.comparison import compare
from steelyard.output.results import write_results
from steelyard.robot.model import Robot
from tests.motions import installed


def assert_same(differences, bodies, close=1e-6):
    assert [d.body for d in differences] == bodies
    for d in differences:
        assert d.mass[0] == pytest.approx(d.mass[1], rel=1e-9)
        assert d.com_distance < 1e-9
        assert d.inertia_distance < close
        assert d.deviations < 1e3 * close


def write(result, folder):
    write_results(result, folder)
    return folder, folder / "robot.urdf", [b.name for b in result.estimate.bodies]


def test_an_estimate_agrees_with_the_robot_that_was_exported_with_it(arm, tmp_path):
    folder, urdf, bodies = write(identify("demo_arm", [arm.train], Options(friction="all")), tmp_path / "out")
    assert_same(compare(folder, urdf), bodies)
    assert_same(compare(urdf, folder / "estimate.json"), bodies)
    assert max(d.deviations for d in compare(folder, arm.robot.description.path)) > 1


def test_they_agree_where_a_joint_without_columns_was_locked(steelyard, arm, tmp_path):
    log = read_log(arm.train)
    columns = {k: v for k, v in log.columns.items() if "wrist_3" not in k}
    write_log(tmp_path / "five.npz", type(log)(log.time, columns))
    out = tmp_path / "out"
    steelyard("identify", "demo_arm", tmp_path / "five.npz", "-o", out, "--friction", "all")
    assert_same(compare(out, out / "robot.urdf"), [b.name for b in arm.robot.bodies[:-1]])
    done = steelyard("compare", out, out / "robot.urdf")
    assert done.code == 0
    assert "5 of 5 bodies agree" in done.out


@installed
def test_they_agree_where_a_hand_is_locked(tmp_path):
    free = Robot.load("panda")
    fingers = {joint: 0.0 for joint in free.joints if "finger" in joint}
    assert fingers
    robot = Robot.load("panda", lock=fingers)
    log = simulate_arm(robot, perturbed(robot, np.random.default_rng(1)), seed=1, seconds=6)
    folder, urdf, bodies = write(identify("panda", [log]), tmp_path / "out")
    assert len(bodies) == 7
    assert_same(compare(folder, urdf), bodies, close=2e-5)  # bodies at the limit of consistency are repaired on reading


def test_a_joint_locked_at_a_value_is_locked_at_it_in_the_comparison_too(steelyard, arm, tmp_path):
    out = tmp_path / "out"
    steelyard("identify", "demo_arm", arm.train, "-o", out, "--lock", "wrist_3_joint=0.7")
    apart = json.loads(steelyard("compare", out, out / "robot.urdf", "--json").out)
    assert max(d["com_distance"] for d in apart) < 1e-6
    assert max(d["deviations"] for d in apart) < 1e-3
