"""Files of real arms, straight from their loggers: a mapping gives the same numbers as a conversion by hand."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from steelyard import Options, identify
from steelyard.log.draft import draft_mapping
from steelyard.log.mapping import read_mapping
from steelyard.log.table import read_log
from tests.real.measured_logs import GAINS, JOINTS, guide_mapping, ur10e_log

pytestmark = pytest.mark.slow

RUNS = {"ur-20_02_10-30sec_12harm.csv.gz": (635, 3510), "ur-20_02_12-40sec_12harm.csv.gz": (500, 4460)}


@pytest.fixture
def ur10e_mapping(tmp_path):
    """The mapping of the guide, word by word."""
    guide = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text()
    path = tmp_path / "ur10e.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[0])
    return path


def test_ur10e_reads_from_its_headerless_files_as_by_hand(measured, ur10e_mapping):
    for name, (first, last) in RUNS.items():
        path = measured("ur10e") / name
        log, by_hand = read_log(path, ur10e_mapping), ur10e_log(path, first, last)
        np.testing.assert_array_equal(log.time, by_hand.time)
        for k, joint in enumerate(JOINTS):
            for kind in "qv":
                np.testing.assert_array_equal(log.columns[f"{kind}.{joint}"], by_hand.columns[f"{kind}.{joint}"])
            torque = log.metadata["gains"][joint] * log.columns[f"current.{joint}"]
            np.testing.assert_array_equal(torque, by_hand.columns[f"tau.{joint}"])
            assert log.metadata["gains"][joint] == GAINS[k]
        assert log.ignored == tuple(f"{what}{k}" for what in ("id", "td") for k in range(1, 7))
        assert log.notices == ()


def test_ur10e_is_identified_from_its_headerless_files(measured, ur10e_mapping):
    folder = measured("ur10e")
    train, test = (folder / name for name in RUNS)
    options = Options(friction="all")
    estimate = identify(folder / "ur10e.urdf", [train], options, validate=[test], mapping=ur10e_mapping).estimate
    by_hand = [ur10e_log(path, *RUNS[path.name]) for path in (train, test)]
    same = identify(folder / "ur10e.urdf", by_hand[:1], options, validate=by_hand[1:]).estimate
    (ours,), (theirs,) = estimate.validation.values(), same.validation.values()
    assert estimate.consistent
    assert ours.relative == pytest.approx(theirs.relative, rel=1e-6)
    assert ours.relative <= 0.048  # 4.76 % (docs/how-to-ur10e.md), rounded up
    assert {Path(p).name for p in estimate.provenance["inputs"]} == {"ur10e.urdf", *RUNS, "ur10e.toml"}


def test_a_truncated_last_line_of_a_ur10e_file_is_dropped(measured, ur10e_mapping, tmp_path):
    text = gzip.decompress((measured("ur10e") / "ur-20_02_19_14harm50sec.csv.gz").read_bytes())
    (tmp_path / "cut.csv").write_bytes(text[:-40])
    log = read_log(tmp_path / "cut.csv", ur10e_mapping)
    assert len(log) == len(text.splitlines()) - 1
    assert log.notices[0].code == "line-incomplete"


def test_a_draft_for_ur10e_finds_time_positions_and_velocities(measured, tmp_path):
    draft = draft_mapping(measured("ur10e") / "ur-20_02_19_14harm50sec.csv.gz", JOINTS)
    (tmp_path / "draft.toml").write_text(draft)
    assert read_mapping(tmp_path / "draft.toml").columns == {}
    assert '# time = { name = "c1" }' in draft
    for k, joint in enumerate(JOINTS):
        assert f'# "q.{joint}" = "c{2 + k}"' in draft
        assert f'# "v.{joint}" = "c{8 + k}"' in draft


def test_tx40_reads_from_two_files_with_its_coupled_wrist_as_by_hand(measured, tmp_path):
    folder = measured("tx40")
    (tmp_path / "tx40.toml").write_text(guide_mapping(), encoding="utf-8")
    log = read_log(folder / "pos_read_data.csv.gz", tmp_path / "tx40.toml")
    position, current = (
        np.genfromtxt(folder / f"{name}.csv.gz", delimiter=",", skip_header=1)
        for name in ("pos_read_data", "curr_data")
    )
    ratios = [32, 32, 45, -48, 45, 32]
    R = np.diag(ratios).astype(float)
    R[5, 4] = 32
    Rt = np.diag(ratios).astype(float)
    Rt[4, 5] = 32
    q = position @ np.linalg.inv(R).T
    q[:, 1] -= np.pi / 2
    q[:, 2] += np.pi / 2
    tau = current @ Rt.T
    time = np.arange(len(q)) / 5000
    kept = (time >= 0.1 - 1e-9) & (time <= 7.5 + 1e-9)
    np.testing.assert_allclose(log.time, time[kept], rtol=0, atol=1e-12)
    for k in range(6):
        np.testing.assert_allclose(log.columns[f"q.joint_{k + 1}"], q[kept, k], rtol=0, atol=1e-12)
        np.testing.assert_allclose(log.columns[f"tau.joint_{k + 1}"], tau[kept, k], rtol=0, atol=1e-12)
    assert log.metadata["transmission"] == {"joints": [f"joint_{k}" for k in range(1, 7)], "matrix": R.tolist()}
    assert [Path(f).name for f in log.files] == ["pos_read_data.csv.gz", "tx40.toml", "curr_data.csv.gz"]
