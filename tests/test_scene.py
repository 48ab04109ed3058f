"""Scenes: poses of bodies agree with forward kinematics, and the file is read back."""

import json

import numpy as np
import pinocchio as pin

from steelyard.errors import SteelyardError
from steelyard.identify.identification import identify
from steelyard.identify.options import Options
from steelyard.log.table import read_log
from steelyard.output.report.solids import meshes
from steelyard.output.results import write_results
from steelyard.output.scene_file import make_scene, read_scene, scene_text
from steelyard.robot.model import LOAD, Robot
from tests.refusals import refuses


def test_bodies_stand_where_pinocchio_puts_their_links(a1_robot):
    q = np.random.default_rng(1).uniform(-1, 1, 12)
    scene = make_scene(a1_robot, q)
    model = pin.buildModelFromUrdf(str(a1_robot.description.path))  # the base stays at the origin
    data = model.createData()
    full = np.zeros(model.nq)
    for name, value in zip(a1_robot.joints, q, strict=True):
        full[model.joints[model.getJointId(name)].idx_q] = value
    pin.framesForwardKinematics(model, data, full)
    for name, entry in scene["bodies"].items():
        expected = data.oMf[model.getFrameId(name)].homogeneous
        np.testing.assert_allclose(entry["pose"], expected, atol=1e-6)
    assert scene["posture"] == dict(zip(a1_robot.joints, q, strict=True))
    assert scene["fixed"] == []


def test_every_body_of_every_kind_of_robot_has_something_to_draw(a1_robot):
    for robot in (a1_robot, Robot.load("demo_arm")):
        scene = make_scene(robot)
        assert list(scene["bodies"]) == [b.name for b in robot.bodies]
        assert all(meshes(shape) for entry in scene["bodies"].values() for shape in entry["shapes"])
        assert all(entry["shapes"] for entry in scene["bodies"].values())
        assert bool(scene["fixed"]) == (robot.base == "fixed")


def test_a_load_stands_in_the_frame_of_the_link_that_carries_it(a1_robot):
    scene = make_scene(a1_robot.with_load("FR_foot"))
    calf = np.array(scene["bodies"]["FR_calf"]["pose"])
    np.testing.assert_allclose(scene["bodies"][LOAD]["pose"], calf @ a1_robot.frames["FR_foot"].placement, atol=1e-6)
    assert scene["bodies"][LOAD]["shapes"] == []


def test_results_have_a_scene_in_the_posture_of_the_first_sample(arm, tmp_path, steelyard):
    result = identify("demo_arm", [arm.train], Options(friction="all"))
    write_results(result, tmp_path)
    scene = read_scene(tmp_path)
    log = read_log(arm.train)
    first = [log.columns[f"q.{joint}"][:200] for joint in scene["posture"]]  # the filter drops some at the start
    for value, samples in zip(scene["posture"].values(), first, strict=True):
        assert samples.min() - 0.01 <= value <= samples.max() + 0.01
    assert max(map(abs, scene["posture"].values())) > 0.01
    before = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="robot"' in before
    assert steelyard("report", tmp_path).code == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == before


def test_a_folder_without_a_scene_has_none_and_a_broken_one_is_refused(tmp_path):
    assert read_scene(tmp_path) is None
    (tmp_path / "scene.json").write_text("{", encoding="utf-8")
    with refuses(SteelyardError, "file-unreadable", "scene.json"):
        read_scene(tmp_path)
    (tmp_path / "scene.json").write_text(json.dumps({"schema": 2}), encoding="utf-8")
    with refuses(SteelyardError, "schema-unsupported", "scene.json"):
        read_scene(tmp_path)
    (tmp_path / "scene.json").write_text(scene_text({"schema": 1}), encoding="utf-8")
    assert read_scene(tmp_path) == {"schema": 1}
