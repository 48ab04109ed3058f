"""The viewer is served to this machine only, and shows the robot of the scene."""

import shutil
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from steelyard import Shapes
from steelyard.errors import SteelyardError
from steelyard.identify.identification import identify
from steelyard.identify.options import Options
from steelyard.output.results import write_results
from steelyard.output.scene_file import read_scene
from steelyard.output.viewer import link_poses, serve
from steelyard.robot.model import Robot
from tests.refusals import refuses


@pytest.fixture(scope="module")
def folder(arm, tmp_path_factory):
    out = tmp_path_factory.mktemp("view")
    write_results(identify("demo_arm", [arm.train], Options(method=Shapes(divisions=3))), out)
    return out


@pytest.mark.slow
def test_the_page_is_served_on_loopback_by_the_command(folder):
    command = [sys.executable, "-m", "steelyard", "view", str(folder), "--no-browser", "--port", "8917"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            url = process.stdout.readline().split()[0]
            assert url.startswith("http://127.0.0.1:")
            page = urllib.request.urlopen(url).read()
            assert b"<html" in page
        finally:
            process.terminate()


def test_a_slider_at_its_start_leaves_every_body_where_the_scene_has_it(folder):
    scene = read_scene(folder)
    robot = Robot.load(folder / "robot.urdf", base="fixed")
    poses = link_poses(robot, list(scene["bodies"]))(np.array([scene["posture"][j] for j in robot.joints]))
    for pose, entry in zip(poses, scene["bodies"].values(), strict=True):
        np.testing.assert_allclose(pose, entry["pose"], atol=1e-6)


def test_a_folder_without_a_readable_robot_is_shown_without_joints(folder, tmp_path):
    for name in ("estimate.json", "scene.json"):
        shutil.copy(folder / name, tmp_path)
    server = serve(tmp_path, 8930)
    try:
        assert urllib.request.urlopen(f"http://127.0.0.1:{server.get_port()}").status == 200
    finally:
        server.stop()


def test_a_folder_without_a_scene_cannot_be_viewed(folder, tmp_path):
    shutil.copy(folder / "estimate.json", tmp_path)
    with refuses(SteelyardError, "file-missing", "scene.json"):
        serve(tmp_path)


def test_a_missing_viser_is_a_finding_with_its_remedy(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with refuses(SteelyardError, "package-missing", "view", {"install": "steelyard[report]"}):
        serve(folder)
