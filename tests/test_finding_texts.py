"""Sentences of findings: short, and with the column and the flag. No other test looks at them; at most 20 do here."""

from __future__ import annotations

import json

import pytest

from steelyard.errors import Finding, note
from steelyard.log.table import read_log, write_log
from tests.planted import arm_faults, late

ARM = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]
FAULTS = list(arm_faults(ARM, "tau", loaded="elbow_joint", vertical="shoulder_pan_joint", rubbing="wrist_3_joint"))


def assert_reads_well(finding: Finding) -> None:
    """``where: what. Fix.`` on one line: a predicate, then an imperative."""
    assert finding.what[0].islower() or finding.what[0].isdigit()
    assert finding.fix[0].isupper()
    assert not finding.what.endswith(".")
    assert not finding.fix.endswith(".")
    assert "\n" not in str(finding)
    assert "--" not in finding.what + finding.fix, "flags are the command line's"
    assert len(finding.what) < 160
    assert len(finding.fix) < 120


@pytest.mark.slow
def test_findings_of_check_read_well(arm, steelyard, tmp_path):
    log = read_log(arm.train)
    for fault in FAULTS:
        write_log(tmp_path / "log.parquet", fault.plant(log))
        survey = json.loads(steelyard("check", "demo_arm", tmp_path / "log.parquet", "--json").out)
        for finding in survey["findings"]:
            assert_reads_well(Finding(**finding))


def test_a_delay_is_reported_with_its_size_and_the_flag_that_compensates_it(arm, steelyard, tmp_path):
    write_log(tmp_path / "log.parquet", late(0.03)(read_log(arm.train)))
    (line,) = [x for x in steelyard("check", "demo_arm", tmp_path / "log.parquet").out.splitlines() if "doubtful:" in x]
    assert " ms behind the motion. Compensate with --delay 0.0" in line
    assert line.endswith("[torque-delayed]")
    assert line.count("--delay") == 1


def test_a_refusal_counts_its_findings_and_lists_each_on_a_line(arm, steelyard, tmp_path):
    log = read_log(arm.train)
    columns = {k: v for k, v in log.columns.items() if k not in ("q.elbow_joint", "tau.wrist_1_joint")}
    write_log(tmp_path / "bad.csv", type(log)(log.time, columns))
    done = steelyard("identify", "demo_arm", tmp_path / "bad.csv", "-o", tmp_path / "out")
    lines = done.err.splitlines()
    at = lines.index("steelyard: 2 things to correct:")
    assert [line.startswith(f"  {tmp_path / 'bad.csv'}, ") for line in lines[at + 1 :]] == [True, True]


def test_a_notice_is_its_sentence_alone():
    assert str(note("log-split", "run.csv", "run.csv: split at 1 gaps", gaps=1)) == "run.csv: split at 1 gaps"
