"""``steelyard excite`` writes a motion that plays, says what it tells, and goes on where it was broken off."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from steelyard.log.table import read_log

pytestmark = pytest.mark.slow

FEW = ("--harmonics", 3, "--candidates", 1, "--restarts", 1, "--duration", 6, "--period", 3, "--clearance", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from steelyard.experiment.excite.arm_motion import find_arm_motion
    from steelyard.experiment.excite.motion_request import ArmRequest
    from steelyard.output.arm_motion_files import write_arm_motion
    from steelyard.robot.model import Robot

    out = tmp_path_factory.mktemp("excite")
    asked = ArmRequest(6.0, 3.0, 3, clearance=0.0, screened=1, restarts=1)
    found = find_arm_motion(Robot.load("demo_arm"), asked, out)
    write_arm_motion(found, out)
    return out, found


def test_the_log_can_be_played_simulated_and_identified(folder, steelyard, tmp_path):
    out, found = folder
    log = read_log(out / "motion.parquet")
    assert log.time[-1] == pytest.approx(6.0)
    for joint in found.task.robot.joints:
        q, v, a = (log.columns[f"{kind}.{joint}"] for kind in "qva")
        np.testing.assert_allclose(np.gradient(q, log.time)[5:-5], v[5:-5], atol=2e-3 * np.abs(v).max())
        np.testing.assert_allclose(np.gradient(v, log.time)[5:-5], a[5:-5], atol=5e-3 * np.abs(a).max())
        assert max(abs(v[0]), abs(v[-1])) < 1e-9
    assert np.array_equal(read_log(out / "motion.csv").time, log.time)
    ran = steelyard("simulate", "demo_arm", "--play", out / "motion.parquet", "-o", tmp_path / "log.parquet")
    assert ran.code == 0, ran.err
    played = read_log(tmp_path / "log.parquet")
    joint = found.task.robot.joints[2]
    assert np.abs(played.columns[f"q.{joint}"] - log.columns[f"q.{joint}"]).max() < 1e-3
    done = steelyard("identify", "demo_arm", tmp_path / "log.parquet", "-o", tmp_path / "found")
    assert done.code == 0, done.err


def test_what_is_said_is_what_was_found(folder):
    out, found = folder
    said = json.loads((out / "excite.json").read_text())
    assert said["schema"] == 1
    assert said["base_parameters"]["count"] == 36
    assert said["base_parameters"]["log_det"] >= said["random"]["log_det"]
    assert max(said["used"].values()) <= 1
    assert set(said["links"]) == {b.name for b in found.task.robot.bodies}
    log = read_log(out / "motion.parquet")
    assert said["start"] == pytest.approx({j: log.columns[f"q.{j}"][0] for j in found.task.robot.joints})
    drawn = ElementTree.parse(out / "motion.svg").getroot()
    assert len(drawn.findall(".//{*}rect")) == 1 + 2 * len(found.task.robot.joints)
    assert said["weakest"][0]["std"] == max(w["std"] for w in said["weakest"])


def test_the_command_goes_on_with_what_is_there_and_ends_with_a_sentence(folder, steelyard):
    out, found = folder
    kept = json.loads((out / "candidates.json").read_text())
    kept["done"]["0"]["gradients"] = 12345
    (out / "candidates.json").write_text(json.dumps(kept))
    ran = steelyard("excite", "demo_arm", "-o", out, *FEW, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["base_parameters"]["log_det"] == found.best.log_det
    assert json.loads((out / "candidates.json").read_text())["done"]["0"]["gradients"] == 12345  # not done again
    ran = steelyard("excite", "demo_arm", "-o", out, *FEW)
    assert "Ready to play" in ran.out.splitlines()[-2] + ran.out.splitlines()[-1]
    assert "kept apart: none, --clearance is 0" in ran.out
    (out / "candidates.json").write_text("not ours")
    from steelyard.experiment.excite.excite_arm import ArmCandidate
    from steelyard.experiment.excite.kept import Kept

    assert Kept(out / "candidates.json", {}, ArmCandidate).done == {}


def test_what_makes_no_sense_is_refused_with_every_reason(steelyard, tmp_path):
    ran = steelyard("excite", "demo_arm", "-o", tmp_path, "--harmonics", 1, "--restarts", 0, "--duration", -1,
                    "--clearance", -1)  # fmt: skip
    assert ran.code == 2
    for part in ("--harmonics 1", "--restarts 0", "--duration -1", "--clearance -1"):
        assert part in ran.err
    ran = steelyard("excite", "demo_arm", "-o", tmp_path, "--duration", 10, "--period", 4)
    assert "is no whole number of periods" in ran.err
    ran = steelyard("excite", "demo_a1", "--base", "floating", "-o", tmp_path)
    assert ran.code == 2
    assert "soles of demo_a1" in ran.err


def test_a_log_without_the_motion_cannot_be_played(steelyard, arm, tmp_path):
    ran = steelyard("simulate", "demo_arm", "--play", arm.train, "-o", tmp_path / "x.parquet")
    assert ran.code == 3
    assert "has no column v." in ran.err
