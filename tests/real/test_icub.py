"""A real humanoid: iCub with vertical foot forces alone. The right answer is what it weighs, and little else."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard import identify
from steelyard.errors import LogError
from steelyard.identify.verdict import exit_code
from steelyard.log.table import read_log
from tests.refusals import refuses

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MEASURED = {"walking": 33.58, "com-sinusoid": 34.14}  # kg: both feet's mean vertical force over g


@pytest.fixture(scope="module")
def icub(measured, tmp_path_factory):
    """The robot, and a folder of logs that the example made of its files."""
    folder, out = measured("icub"), tmp_path_factory.mktemp("icub")
    pytest.importorskip("h5py")
    command = [sys.executable, "examples/icub.py", str(folder), str(out)]
    subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    return folder / "model.urdf", out


@pytest.mark.parametrize("run", MEASURED)
def test_the_total_mass_is_identified_and_no_single_mass_is(icub, run):
    robot, logs = icub
    estimate = identify(robot, [logs / f"{run}.parquet"]).estimate
    assert estimate.equations == "base"
    assert estimate.total.mass == pytest.approx(MEASURED[run], abs=0.1)
    assert estimate.total.source == "data"
    assert 0.01 < 1.96 * estimate.total.std < 0.5
    assert abs(estimate.total.mass - MEASURED[run]) < 1.96 * estimate.total.std
    assert "data" not in {v for b in estimate.bodies for v in (b.source.mass, b.source.com, b.source.inertia)}
    assert estimate.count_base("body")[0] == 1
    assert estimate.consistent
    assert estimate.certificate.holds
    assert exit_code(estimate) == 0
    assert estimate.blind == "vertical force alone"


def test_a_newcomer_gets_an_answer_from_the_command_line(icub, steelyard, tmp_path):
    robot, logs = icub
    done = steelyard("identify", robot, logs / "walking.parquet", "--repair-prior", "-o", tmp_path / "out")
    assert done.code == 0
    last = done.out.rstrip().splitlines()[-1]
    (mass,) = re.findall(r"^Trusted.* ([\d.]+) ± 0\.\d+ kg \(data\);", last)
    assert float(mass) == pytest.approx(33.58, abs=0.1)


def test_samples_with_nearly_equal_stamps_are_averaged(icub):
    robot, logs = icub
    notices = identify(robot, logs / "walking.parquet").estimate.notices
    (notice,) = (n for n in notices if n.code == "samples-averaged")
    assert notice.remedy == {"samples": 24, "within": pytest.approx(2.5e-3, abs=5e-5)}


@pytest.mark.parametrize("run", MEASURED)
def test_check_finds_nothing_to_correct(icub, steelyard, run):
    robot, logs = icub
    looked = steelyard("check", robot, logs / f"{run}.parquet")
    assert looked.code == 0
    assert "to correct" not in looked.out
    assert "base parameters: 56 possible" in looked.out
    assert "Usable: " in looked.out


def test_a_log_of_feet_in_another_frame_is_refused(icub):
    """The z of l_foot points down: what pushes up along it pulls the robot down."""
    robot, logs = icub
    log = read_log(logs / "walking.parquet")
    columns = {name.replace("_sole.", "_foot."): values for name, values in log.columns.items()}
    with refuses(LogError, "sign-reversed", ", wrench", {"negate": "wrench"}):
        identify(robot, [replace(log, columns=columns)])
