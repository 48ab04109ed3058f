"""Many logs read once: the fit of their sums equals that of their rows, and unusable logs are reported."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from steelyard import Filter, LogError, Options, UsageError, identify
from steelyard.equations.holdout import Training
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.fleet import FleetOptions, gather_logs, identify_many
from steelyard.fleet.checkpoint import Checkpoint
from steelyard.fleet.locations import expand_logs
from steelyard.fleet.log_stream import stream_log, stream_pieces
from steelyard.fleet.workers import Workers
from steelyard.identify.estimate_json import estimate_json
from steelyard.identify.fit import fit
from steelyard.inference.noise import LAGS
from steelyard.log.pieces import read_pieces
from steelyard.log.table import read_log, write_log
from tests.floating import floating_log
from tests.scale.conftest import ASKED, OPTIONS

FEW = 12


@pytest.fixture
def few(fleet):
    return fleet.names[:FEW]


def rows_and_sums(description, log, options, tmp_path, piece_bytes):
    """The rows of a log in memory, and its sums when it is streamed in pieces."""
    write_log(tmp_path / "log.parquet", log)
    setup = Setup.of(description, [log], options)
    segments, _ = prepare(setup.robot, log, setup.filter, torques=setup.torques)
    rows = setup.rows(segments)
    pieces = read_pieces(tmp_path / "log.parquet", piece_bytes)
    return setup, rows, stream_pieces(setup, rows.free, pieces)[0]


def with_a_gap(log):
    late = log.time > log.time[len(log) // 2]
    return replace(log, time=log.time + 3.0 * late)


def assert_the_same_covariance(one, other):
    """Equal to rounding, in units of standard deviations: an entry near zero has no relative accuracy of its own.

    Summing n × n products of scaled rows and inverting the sum each lose up to n κ ε of the inverse, κ the condition of
    the correlations, and both ways do both: 4 n κ ε. Here κ is 1.4e6, which makes 1e-7; they differ by up to 9e-9.
    """
    unit = np.sqrt(np.outer(np.diag(one), np.diag(one)))
    most = 4 * len(one) * np.linalg.cond(one / unit) * np.finfo(float).eps
    assert most < 1e-6
    assert np.abs((one - other) / unit).max() <= most


@pytest.mark.numerical
@pytest.mark.parametrize("piece_bytes", [8_000_000, 20_000])
def test_the_fit_of_sums_equals_that_of_rows(arm, tmp_path, piece_bytes):
    setup, rows, sums = rows_and_sums(
        arm.robot.description, with_a_gap(read_log(arm.train)), Options(friction="all"), tmp_path, piece_bytes
    )
    one, other = fit(setup, Training([(rows, None)]), Options()), fit(setup, sums, Options())
    assert np.linalg.norm(one.theta - other.theta) <= 1e-9 * np.linalg.norm(one.theta)
    assert one.noise.correlation == pytest.approx(other.noise.correlation, abs=1e-7)
    assert_the_same_covariance(one.uncertainty.posterior, other.uncertainty.posterior)
    assert one.score_covariance == pytest.approx(
        other.score_covariance, rel=1e-6, abs=1e-6 * np.abs(one.score_covariance).max()
    )


@pytest.mark.numerical
@pytest.mark.parametrize("equations", ["full", "contact-free"])
def test_lagged_products_are_those_of_the_rows_for_every_equation(a1_robot, tmp_path, equations):
    feet = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, feet, seconds=4.0, rate=100.0, wrenches=equations == "full")
    options = Options(equations=equations, feet=feet if equations == "contact-free" else (), friction="viscous")
    setup, rows, sums = rows_and_sums(a1_robot.description, with_a_gap(log), options, tmp_path, 60_000)
    theta = np.random.default_rng(0).normal(size=setup.columns.n)
    runs = [[b.target - b.Y @ theta for b in rows.at(s, rows.centres(s))] for s in rows.segments]
    runs = [np.concatenate(run) for run in runs]
    assert sums.longest == max(len(e) for e in runs)
    assert len(runs) == 2
    x = np.append(sums.structure.parameters(False) @ theta, -1.0)
    for e, (columns, products) in enumerate(zip(sums.structure.blocks, sums.lagged[False], strict=True)):
        i, j = np.triu_indices(len(columns))
        twice = np.where(i == j, 1.0, 2.0) * x[columns][i] * x[columns][j]
        direct = [sum(run[:-lag, e] @ run[lag:, e] for run in runs) for lag in range(1, LAGS + 1)]
        scale = sum(run[:, e] @ run[:, e] for run in runs)
        assert products @ twice == pytest.approx(np.array(direct), abs=1e-8 * scale)


@pytest.mark.slow
@pytest.mark.numerical
def test_many_logs_read_once_give_the_estimate_of_logs_in_memory(few, fleet):
    held = fleet.names[-1]
    once = identify_many("demo_arm", few, replace(OPTIONS, method="lmi"), validate=[held])
    whole = identify("demo_arm", few, replace(OPTIONS, method="lmi"), validate=[held])
    assert np.linalg.norm(once.theta - whole.theta) <= 1e-8 * np.linalg.norm(whole.theta)
    for one, other in zip(once.estimate.bodies, whole.estimate.bodies, strict=True):
        assert one.std == pytest.approx(other.std, rel=1e-4)
        assert one.source == other.source
    score, other = once.estimate.validation[held], whole.estimate.validation[held]
    assert score.relative == pytest.approx(other.relative, rel=1e-6)
    assert once.estimate.fit.relative_filtered == pytest.approx(whole.estimate.fit.relative_filtered, rel=0.1)
    assert once.estimate.fit.relative is None
    assert once.estimate.provenance["inputs"] == whole.estimate.provenance["inputs"]
    assert once.estimate.truth.keys() == whole.estimate.truth.keys()


@pytest.mark.slow
def test_the_command_takes_patterns_lists_and_urls(few, fleet, steelyard, tmp_path):
    pytest.importorskip("fsspec")
    listed = tmp_path / "logs.txt"
    listed.write_text("\n".join(f"file://{name}" for name in few[1:]))
    pattern = fleet.folder / "000.par*"
    outcome = steelyard("identify", "demo_arm", pattern, "--logs", listed, *ASKED, "-o", tmp_path / "out", "--json")
    estimate = json.loads(outcome.out)
    names = set(estimate["provenance"]["inputs"])
    assert names >= {few[0], *(f"file://{name}" for name in few[1:])}
    direct = estimate_json(identify_many("demo_arm", few, OPTIONS).estimate)
    assert estimate["links"] == direct["links"]
    assert f"{FEW} of {FEW} logs" in outcome.err


def test_patterns_are_expanded_without_workers_too(few, fleet, steelyard, tmp_path):
    outcome = steelyard("identify", "demo_arm", fleet.folder / "00[0-2].parquet", *ASKED, "-o", tmp_path / "out")
    inputs = json.loads((tmp_path / "out" / "estimate.json").read_text())["provenance"]["inputs"]
    assert outcome.code in (0, 4)
    assert [name for name in inputs if name.endswith(".parquet")] == few[:3]


@pytest.mark.slow
def test_a_log_at_a_url_equals_the_log_on_disk_and_leaves_no_copy(few, tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    names = [f"memory://fleet/{Path(name).name}" for name in few]
    for name, url in zip(few, names, strict=True):
        with fsspec.open(url, "wb") as file:
            file.write(Path(name).read_bytes())
    remote, direct = gather_logs("demo_arm", names, OPTIONS), gather_logs("demo_arm", few, OPTIONS)
    assert list(remote.inputs.values()) == list(direct.inputs.values())
    assert all(
        np.array_equal(a, b)
        for a, b in zip(remote.channels.factors[False], direct.channels.factors[False], strict=True)
    )
    assert expand_logs(["memory://fleet/*.parquet"]) == [f"memory:///fleet/{Path(name).name}" for name in few]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LogError) as caught:
        gather_logs("demo_arm", ["memory://fleet/none.parquet"], OPTIONS)
    assert findings(caught) == [("file-unreadable", "memory://fleet/none.parquet")]
    with pytest.raises(LogError) as caught:
        expand_logs(["nosuch://bucket/*.parquet"])
    assert findings(caught) == [("file-unreadable", "nosuch://bucket/*.parquet")]
    monkeypatch.setitem(sys.modules, "fsspec", None)  # as where it is not installed
    with pytest.raises(LogError) as caught:
        gather_logs("demo_arm", names, OPTIONS)
    assert findings(caught) == [("package-missing", name) for name in names]
    assert caught.value.findings[0].remedy == {"install": "steelyard[scale]"}


def findings(caught):
    return [(f.code, f.where) for f in caught.value.findings]


def test_patterns_without_matches_and_repeated_logs_are_refused(few, tmp_path):
    with pytest.raises(UsageError) as caught:
        expand_logs([few[0], str(tmp_path / "*.parquet"), few[0]])
    assert findings(caught) == [("file-missing", str(tmp_path / "*.parquet")), ("log-repeated", few[0])]
    with pytest.raises(UsageError) as caught:
        expand_logs([], tmp_path / "none.txt")
    assert findings(caught) == [("file-unreadable", f"logs={tmp_path / 'none.txt'}")]
    with pytest.raises(UsageError) as caught:
        expand_logs([])
    assert findings(caught) == [("logs-missing", "logs")]


def test_all_unusable_logs_are_reported_with_their_findings(few, tmp_path):
    log = read_log(few[1])
    joint = "wrist_3_joint"
    fewer = {k: v for k, v in log.columns.items() if not k.endswith(joint)}
    write_log(tmp_path / "fewer.parquet", replace(log, columns=fewer))
    write_log(tmp_path / "short.parquet", log.cut(0, 30))
    (tmp_path / "torn.csv").write_text("time,q.shoulder_pan_joint\n0,one\n")
    shutil.copy(few[2], tmp_path / "twin.parquet")
    bad = [str(tmp_path / name) for name in ("fewer.parquet", "short.parquet", "torn.csv", "none.parquet")]
    with pytest.raises(LogError) as caught:
        gather_logs("demo_arm", [bad[2], *few[:3], *bad[:2], bad[3]], OPTIONS)
    assert [f.code for f in caught.value.findings] == [
        "cell-not-number",
        "logs-differ",
        "log-too-short",
        "file-missing",
    ]
    assert caught.value.findings[0].where.startswith(f"{bad[2]}, ")
    assert [f.where for f in caught.value.findings[1:]] == [bad[0], bad[1], bad[3]]
    gathered = gather_logs(
        "demo_arm", [*few[:3], *bad, str(tmp_path / "twin.parquet")], OPTIONS, FleetOptions(skip=True)
    )
    assert list(gathered.skipped) == bad
    assert ("log-repeated", f"{few[2]} and {tmp_path / 'twin.parquet'}") in [
        (n.code, n.where) for n in gathered.notices
    ]
    assert [n.remedy for n in gathered.notices if n.code == "logs-skipped"] == [{"logs": bad}]
    with pytest.raises(LogError) as caught:
        gather_logs("demo_arm", [bad[3]], OPTIONS, FleetOptions(skip=True))
    assert findings(caught) == [("file-missing", bad[3])]


@pytest.mark.slow
def test_sums_of_a_log_are_reused_only_where_nothing_changed(few, tmp_path):
    logs = [str(tmp_path / Path(name).name) for name in few]
    for name, copy in zip(few, logs, strict=True):
        shutil.copy(name, copy)
    shelf = tmp_path / "shelf"

    def again(options=OPTIONS):
        return gather_logs("demo_arm", logs, options, FleetOptions(checkpoint=shelf))

    first, second = again(), again()
    assert (first.cached, second.cached) == (0, FEW)
    pairs = zip(first.channels.lagged[False], second.channels.lagged[False], strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    assert again(replace(OPTIONS, filter=Filter(cutoff=8.0, kinematics=10.0))).cached == 0
    assert again(replace(OPTIONS, friction="none")).cached == 0
    assert again(replace(OPTIONS, gravity=(0.0, 0.0, -9.8))).cached == 0
    shutil.copy(few[1], logs[0])
    assert again().cached == FEW  # logs are known by their bytes
    write_log(logs[0], read_log(few[0]).cut(0, 150))
    files = sorted(shelf.glob("*.npz"))
    assert again().cached == FEW - 1
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert again().cached == 1  # all but the last one are damaged, and count as absent
    (shelf / "mine.txt").write_text("not the checkpoint's")
    Checkpoint(str(shelf)).clear()
    assert [file.name for file in shelf.iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_a_checkpoint_that_workers_cannot_read_is_reported(few, pair):
    options = FleetOptions(checkpoint="memory://shelf")  # each process has a memory of its own
    gathered = gather_logs("demo_arm", few[:3], OPTIONS, replace(options, workers=pair))
    (notice,) = (n for n in gathered.notices if n.code == "checkpoint-not-shared")
    assert (notice.where, notice.remedy) == ("memory://shelf", {"logs": 3})
    assert gather_logs("demo_arm", few[:3], OPTIONS, options).cached == 0
    assert gather_logs("demo_arm", few[:3], OPTIONS, options).cached == 3


@pytest.mark.slow
def test_an_earlier_estimate_is_updated_by_new_logs(few, steelyard, tmp_path):
    def masses(out, names, *more):
        assert steelyard("identify", "demo_arm", *names, *ASKED[:-2], "-o", tmp_path / out, *more).code == 0
        links = json.loads((tmp_path / out / "estimate.json").read_text())["links"]
        return [b["mass"] for b in links.values()]

    once = "--workers", 1
    before = masses("some", few[:8], *once)
    after = masses("once", few[8:], *once, "--from", tmp_path / "some")
    assert after == pytest.approx(masses("memory", few[8:], "--from", tmp_path / "some"), rel=1e-6)
    assert after != pytest.approx(before, rel=1e-6)


def test_options_that_need_the_rows_again_are_refused(few, arm, steelyard, tmp_path):
    with pytest.raises(UsageError) as caught:
        gather_logs("demo_arm", few, replace(OPTIONS, robust=True, hold_out=1.0))
    assert findings(caught) == [("option-conflict", "robust=True"), ("option-conflict", "hold_out=1.0")]
    log = read_log(few[0])
    currents = {k.replace("tau.", "current."): v for k, v in log.columns.items()}
    write_log(tmp_path / "currents.parquet", replace(log, columns=currents))
    with pytest.raises(LogError) as caught:
        gather_logs("demo_arm", [str(tmp_path / "currents.parquet")], OPTIONS)
    assert findings(caught) == [("gains-missing", str(tmp_path / "currents.parquet"))]
    with pytest.raises(UsageError) as caught:
        identify_many("demo_arm", few, OPTIONS, validate=[few[3]])
    assert findings(caught) == [("validation-log-in-training", f"validate={few[3]}")]
    outcome = steelyard(
        "identify", "demo_arm", few[0], "--workers", 2, "--scheduler", "tcp://h:1", "-o", tmp_path / "o"
    )
    assert outcome.code == 2
    assert "--workers 2: " in outcome.err
    assert "[option-conflict]" in outcome.err


@pytest.mark.slow
def test_workers_gather_the_sums_that_one_process_streams(few, pair, steelyard, tmp_path):
    from steelyard.fleet.gathering import stream_many
    from steelyard.information import Information

    alone = stream_log("demo_arm", few, OPTIONS)
    one, two = (stream_many("demo_arm", few, OPTIONS, workers) for workers in (Workers(), pair))
    assert alone.seconds == pytest.approx(one.seconds)
    theta = np.random.default_rng(0).normal(size=one.setup.columns.n)
    for other in (alone, two):
        assert other.channels.squares(theta) == pytest.approx(one.channels.squares(theta), rel=1e-9)
        assert other.weights() == pytest.approx(one.weights(), rel=1e-6)
    arguments = ("gather", "demo_arm", *few, *ASKED[:-2], "-o", tmp_path / "i.npz")
    assert steelyard(*arguments, "--workers", 2).code == 0
    assert Information.load(tmp_path / "i.npz").rows == one.information().rows
    refused = steelyard(*arguments, "--workers", 2, "--threads", 2)
    assert refused.code == 2
    assert "--threads 2: " in refused.err
    assert "[option-conflict]" in refused.err
