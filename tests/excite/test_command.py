"""``steelyard excite`` writes a motion that can be played and its excitation, and resumes where it was interrupted."""

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
    request = ArmRequest(6.0, 3.0, 3, clearance=0.0, candidates=1, restarts=1)
    result = find_arm_motion(Robot.load("demo_arm"), request, out)
    write_arm_motion(result, out)
    return out, result


def test_the_log_can_be_played_simulated_and_identified(folder, steelyard, tmp_path):
    out, result = folder
    log = read_log(out / "motion.parquet")
    assert log.time[-1] == pytest.approx(6.0)
    for joint in result.task.robot.joints:
        q, v, a = (log.columns[f"{kind}.{joint}"] for kind in "qva")
        np.testing.assert_allclose(np.gradient(q, log.time)[5:-5], v[5:-5], atol=2e-3 * np.abs(v).max())
        np.testing.assert_allclose(np.gradient(v, log.time)[5:-5], a[5:-5], atol=5e-3 * np.abs(a).max())
        assert max(abs(v[0]), abs(v[-1])) < 1e-9
    assert np.array_equal(read_log(out / "motion.csv").time, log.time)
    ran = steelyard("simulate", "demo_arm", "--play", out / "motion.parquet", "-o", tmp_path / "log.parquet")
    assert ran.code == 0, ran.err
    played = read_log(tmp_path / "log.parquet")
    joint = result.task.robot.joints[2]
    assert np.abs(played.columns[f"q.{joint}"] - log.columns[f"q.{joint}"]).max() < 1e-3
    done = steelyard("identify", "demo_arm", tmp_path / "log.parquet", "-o", tmp_path / "found")
    assert done.code == 0, done.err


def test_the_json_file_agrees_with_the_result(folder):
    out, result = folder
    written = json.loads((out / "excite.json").read_text())
    assert written["schema"] == 1
    assert written["base_parameters"]["count"] == 36
    assert written["base_parameters"]["log_det"] >= written["random"]["log_det"]
    assert max(written["used"].values()) <= 1
    assert set(written["links"]) == {b.name for b in result.task.robot.bodies}
    log = read_log(out / "motion.parquet")
    assert written["start"] == pytest.approx({j: log.columns[f"q.{j}"][0] for j in result.task.robot.joints})
    drawn = ElementTree.parse(out / "motion.svg").getroot()
    assert len(drawn.findall(".//{*}rect")) == 1 + 2 * len(result.task.robot.joints)
    assert written["weakest"][0]["std"] == max(w["std"] for w in written["weakest"])


def test_the_command_resumes_from_its_cache_and_ends_with_a_sentence(folder, steelyard):
    out, result = folder
    kept = json.loads((out / "candidates.json").read_text())
    kept["done"]["0"]["gradients"] = 12345
    (out / "candidates.json").write_text(json.dumps(kept))
    ran = steelyard("excite", "demo_arm", "-o", out, *FEW, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["base_parameters"]["log_det"] == result.best.log_det
    assert json.loads((out / "candidates.json").read_text())["done"]["0"]["gradients"] == 12345  # not done again
    ran = steelyard("excite", "demo_arm", "-o", out, *FEW)
    assert " ".join(ran.out.split()).endswith(result.sentence())
    assert "--clearance is 0" in ran.out
    (out / "candidates.json").write_text("not ours")
    from steelyard.experiment.excite.candidate_cache import CandidateCache
    from steelyard.experiment.excite.excite_arm import ArmCandidate

    assert CandidateCache(out / "candidates.json", {}, ArmCandidate).entries == {}


def test_options_out_of_range_are_refused_with_every_reason(steelyard, tmp_path):
    ran = steelyard("excite", "demo_arm", "-o", tmp_path, "--harmonics", 1, "--restarts", 0, "--duration", -1,
                    "--clearance", -1)  # fmt: skip
    assert ran.code == 2
    for part in ("--harmonics 1", "--restarts 0", "--duration -1", "--clearance -1"):
        assert part in ran.err
    assert ran.err.count("[option-value]") == 4
    ran = steelyard("excite", "demo_arm", "-o", tmp_path, "--duration", 10, "--period", 4)
    assert "[option-conflict]" in ran.err
    assert "--duration 10" in ran.err
    ran = steelyard("excite", "demo_a1", "--base", "floating", "-o", tmp_path)
    assert ran.code == 2
    assert "[soles-missing]" in ran.err


def test_a_log_without_the_motion_cannot_be_played(steelyard, arm, tmp_path):
    ran = steelyard("simulate", "demo_arm", "--play", arm.train, "-o", tmp_path / "x.parquet")
    assert ran.code == 3
    assert "train.parquet" in ran.err
