"""The command ``steelyard search``."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.simulate.truth import perturbed
from steelyard.log.table import write_log
from steelyard.robot.index import find_description
from steelyard.robot.model import Robot


@pytest.fixture(scope="module")
def logs(puma, tmp_path_factory):
    folder = tmp_path_factory.mktemp("puma")
    perturbation = perturbed(puma.robot, np.random.default_rng(3))
    truth = np.array([perturbation[b.name] for b in puma.robot.bodies])
    paths = [folder / "train.parquet", folder / "test.parquet"]
    for seed, path in enumerate(paths):
        write_log(path, record_sines(puma.robot, truth, seed=seed, seconds=1.5))
    return truth, *paths


def test_a_search_prints_the_source_of_each_parameter_and_writes_a_robot(steelyard, logs, tmp_path):
    _, train, test = logs
    done = steelyard("search", "puma560", train, "--validate", test, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "link, parameter" not in done.err
    assert "evaluations, best GC error" in done.err
    assert "source" in done.out
    assert "36 of 60 directions" in done.out
    result = json.loads((tmp_path / "out" / "search.json").read_text(), parse_constant=pytest.fail)
    assert " ".join(done.out.split()).endswith(result["verdict"])
    assert result["gc_error"]["reduction"] > 1e12
    assert result["truth"]["base_error"]["found"] < 1e-4 < result["truth"]["base_error"]["start"]
    assert all(link["consistent"] and link["sources"]["mass"] != "data" for link in result["links"].values())
    other = result["held_out"][str(test)]
    assert other["found"] < 1e-9 * other["start"]
    written = Robot.load(tmp_path / "out" / "robot.urdf")
    optimum = np.array([result["links"][b.name]["parameters"] for b in written.bodies])
    assert np.allclose([b.parameters for b in written.bodies], optimum, rtol=1e-9, atol=1e-12)
    again = steelyard("search", "puma560", train, "-o", tmp_path / "out", "--resume", "--json")
    assert json.loads(again.out)["history"] == result["history"]


def test_links_that_are_not_searched_stay_as_described(steelyard, logs):
    _, train, _ = logs
    done = steelyard(
        "search", "puma560", train, "--links", "link5,link6", "--model", "ten", "--algorithm", "genetic",
        "--evaluations", 200, "--horizon", 0.01, "--horizon", 0.03, "--windows", 16, "--total-mass", 40, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    result = json.loads(done.out)
    puma = Robot.load("puma560")
    for body in puma.bodies[:4]:
        assert np.allclose(result["links"][body.name]["parameters"], body.parameters)
        assert result["links"][body.name]["sources"] is None
    assert [w["horizon"] for w in result["windows"]] == pytest.approx([0.01, 0.03])
    assert len(result["searched"]) == 20
    assert result["evaluations"] <= 200


@pytest.mark.slow
def test_the_trunk_mass_of_a_legged_robot_is_identified_through_its_contacts(steelyard, tmp_path):
    pytest.importorskip("mujoco")
    log, feet = tmp_path / "stand.parquet", "FR_foot,FL_foot,RR_foot,RL_foot"
    steelyard("simulate", "demo_a1", "--motion", "stand", "--seconds", 1, "--noise", "none", "-o", log)
    done = steelyard(
        "search", "demo_a1", log, "--links", "trunk", "--feet", feet, "--windows", 4, "--evaluations", 200, "--json"
    )  # fmt: skip
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["gc_error"]["reduction"] > 1e5
    assert result["links"]["trunk"]["sources"]["mass"] == "data"
    assert result["truth"]["base_error"]["found"] < 0.1 * result["truth"]["base_error"]["start"]


def test_usage_errors_are_reported_together(steelyard, logs, tmp_path):
    _, train, _ = logs
    done = steelyard("search", "puma560", train, "--evaluations", 0, "--resume")
    assert done.code == 2
    assert "--evaluations 0: " in done.err
    assert "[option-value]" in done.err
    assert "--resume: " in done.err
    assert "[option-conflict]" in done.err
    assert steelyard("search", "puma560", train, "--links", "elbow").code == 2
    write_log(tmp_path / "search.json.parquet", record_sines(Robot.load("puma560"), logs[0], seed=0, seconds=0.01))
    done = steelyard("search", "puma560", tmp_path / "search.json.parquet", "--horizon", 1)
    assert done.code == 3
    assert "[log-too-short]" in done.err


def test_cobyla_without_nlopt_is_refused(steelyard, logs, monkeypatch):
    monkeypatch.setitem(sys.modules, "nlopt", None)
    done = steelyard("search", "puma560", logs[1], "--algorithm", "cobyla", "--windows", 8)
    assert done.code == 2
    assert "[package-missing]" in done.err


def test_the_description_of_the_puma_documents_the_inconsistencies_of_its_sources():
    text = find_description("puma560").read_text()
    assert "m1 = 0" in text
    assert "triangle inequality" in text
    puma = Robot.load("puma560")
    assert puma.joints == tuple(f"joint{k}" for k in range(1, 7))
    assert [round(float(b.parameters[0]), 3) for b in puma.bodies] == [13.0, 17.4, 4.8, 0.82, 0.34, 0.09]
