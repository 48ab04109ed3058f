"""Faults planted in the log of a real arm are reported; its good logs and those of another give no findings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from steelyard.check.checks.torques import torque_findings
from steelyard.log.table import read_log, write_log
from steelyard.robot.description import read_description
from tests.check.log_balance import slow_balance
from tests.planted import arm_faults, assert_reported, changed, frozen, late
from tests.real.measured_logs import JOINTS, guide_mapping

pytestmark = pytest.mark.slow

RUNS = {
    "ur-20_02_06-20sec_5harm.csv.gz": None,
    "ur-20_02_10-30sec_12harm.csv.gz": (635, 3510),
    "ur-20_02_12-40sec_12harm.csv.gz": (500, 4460),
    "ur-20_02_19_14harm50sec.csv.gz": (195, 4966),
    "ur-20_02_19_14harm50secLoad.csv.gz": (308, 5071),
}
TRAIN = "ur-20_02_10-30sec_12harm.csv.gz"


@pytest.fixture
def mapping(tmp_path):
    """The mapping of the guide, with the useful rows of all runs."""
    guide = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text()
    text = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[0]
    rows = "".join(f'"{name}" = {list(rows)}\n' for name, rows in RUNS.items() if rows)
    path = tmp_path / "ur10e.toml"
    path.write_text(re.sub(r'(\[table\.rows\][^\n]*\n)(".*?\n)+', rf"\1{rows}", text))
    return path


@pytest.fixture
def run(steelyard, measured, mapping, tmp_path):
    """A log of the arm with a fault, through ``steelyard check``: the whole JSON."""

    def checked(plant, *options, name=TRAIN):
        folder = measured("ur10e")
        write_log(tmp_path / "log.parquet", plant(read_log(folder / name, mapping)))
        done = steelyard("check", folder / "ur10e.urdf", tmp_path / "log.parquet", *options, "--json")
        survey = json.loads(done.out)
        severities = {f["severity"] for f in survey["findings"]}
        assert done.code == (3 if "error" in severities else 4 if "doubt" in severities else 0)
        return survey

    return checked


@pytest.mark.parametrize("name", list(RUNS))
def test_a_good_log_of_the_ur10e_has_no_findings_and_no_significant_delay(steelyard, measured, mapping, name):
    folder = measured("ur10e")
    done = steelyard("check", folder / "ur10e.urdf", folder / name, "--mapping", mapping, "--json")
    assert done.code == 0
    survey = json.loads(done.out)
    assert survey["findings"] == []
    lag = survey["delay"]
    assert abs(lag["seconds"]) < 5e-3
    assert abs(lag["drift"]) < 2 * lag["drift_std"]
    assert survey["excitation"]["strong"] >= 9


def test_the_good_log_of_the_tx40_has_no_findings_but_a_placeholder_in_its_description(steelyard, measured, tmp_path):
    folder = measured("tx40")
    (tmp_path / "tx40.toml").write_text(guide_mapping(), encoding="utf-8")
    log = folder / "pos_read_data.csv.gz"
    arguments = ("check", folder / "tx40_mdh_modified.urdf", log, "--mapping", tmp_path / "tx40.toml", "--json")
    done = steelyard(*arguments, "--repair-prior")
    assert done.code == 4
    assert [(f["code"], f["where"].split("'")[1]) for f in json.loads(done.out)["findings"]] == [
        ("inertial-placeholder", "link_5")
    ]
    refused = [f for f in json.loads(steelyard(*arguments).out)["findings"] if f["severity"] == "error"]
    assert [(f["code"], f["remedy"]) for f in refused] == [("inertia-not-positive-definite", {"repair_prior": True})]


@pytest.mark.parametrize(
    "fault",
    list(arm_faults(JOINTS, "current", loaded="elbow_joint", vertical="shoulder_pan_joint", rubbing="wrist_3_joint")),
    ids=str,
)
def test_a_fault_planted_in_the_log_of_the_ur10e_is_reported_with_its_column_and_remedy(run, fault):
    assert_reported(fault, run(fault.plant)["findings"])


@pytest.mark.parametrize("name", list(RUNS))
def test_a_reversed_current_is_reported_at_every_joint_of_every_run(measured, mapping, name):
    folder = measured("ur10e")
    log, description = read_log(folder / name, mapping), read_description(folder / "ur10e.urdf")
    assert torque_findings(slow_balance(description, log), log) == []
    for joint in JOINTS:
        column = f"current.{joint}"
        wrong = changed(log, **{column: -log.columns[column]})
        (finding,) = torque_findings(slow_balance(description, wrong), wrong)
        assert finding.where.endswith(f", {column}")
        assert (finding.code, finding.remedy) == ("sign-reversed", {"negate": column})


@pytest.mark.parametrize("name", list(RUNS)[1:])
@pytest.mark.parametrize("seconds", [0.02, 0.04])
def test_a_delay_is_measured_on_top_of_the_logs_own(run, name, seconds):
    own, planted = (run(late(s), name=name)["delay"]["seconds"] for s in (0.0, seconds))
    assert planted - own == pytest.approx(seconds, abs=1e-3)


def test_a_frozen_velocity_is_reported_with_its_rows(run):
    (finding,) = run(frozen("v.elbow_joint"))["findings"]
    assert finding["code"] == "channel-frozen"
    assert finding["remedy"]["column"] == "v.elbow_joint"
    first, last = finding["remedy"]["drop_rows"]
    assert finding["where"].endswith(f", v.elbow_joint, rows {first} to {last}")


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 9.81), (9.81, 0.0, 0.0), (0.0, -6.94, -6.94)])
def test_gravity_in_another_direction_than_described_is_reported(run, gravity):
    (finding,) = run(lambda log: log, "--gravity", *map(str, gravity))["findings"]
    assert finding["code"] == "gravity-direction"
    measured = np.array(finding["remedy"]["gravity"])
    assert np.degrees(np.arccos(-measured[2] / np.linalg.norm(measured))) < 10
