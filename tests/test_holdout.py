"""Every third block of a log is predicted and never learned from: no torque inside one reaches the estimate."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Filter, Options, identify
from steelyard.equations.columns import Columns
from steelyard.equations.holdout import HoldOut, Training
from steelyard.equations.setup import Setup
from steelyard.errors import UsageError
from steelyard.identify.scoring import predict
from steelyard.log.table import read_log
from tests.currents import GAIN, currents
from tests.floating import floating_log
from tests.motions import installed, smooth
from tests.refusals import refuses

lengths = st.floats(0.05, 20.0)


@given(lengths, st.floats(-1e3, 1e3), st.integers(0, 60))
def test_of_three_blocks_the_third_is_held_out(seconds, start, block):
    hold = HoldOut("log", start, seconds)
    inside = start + (block + np.array([0.0, 0.01, 0.5, 0.99])) * seconds
    assert np.all(hold.held(inside) == (block % 3 == 2))
    np.testing.assert_array_equal(hold.training(inside), ~hold.held(inside))


@given(lengths, st.floats(0.0, 2.5), st.integers(0, 2**32 - 1))
def test_a_window_is_clear_when_it_touches_no_held_out_block(seconds, share, seed):
    """Against the definition, sample by sample; the log begins at its first stamp, so nothing is held out before."""
    hold, reach = HoldOut("log", 3.0, seconds), share * seconds
    rng = np.random.default_rng(seed)
    time = 3.0 + seconds * rng.uniform(0, 15, 20)
    for t, clear in zip(time, hold.clear(time, reach), strict=True):
        window = np.linspace(max(t - reach, 3.0), t + reach, 2001)
        nearly = np.min(np.abs(((window[[0, -1]] - 3.0) / seconds + 0.5) % 1 - 0.5)) < 2e-3  # ends on an edge
        assert clear == (not hold.held(window).any()) or nearly


def rows_of(robot, samples=2400):
    part = smooth(robot, 0, samples=samples)
    part = replace(part, tau=np.random.default_rng(0).normal(size=part.q.shape))
    return Setup(robot, "joint", Columns(tuple(b.name for b in robot.bodies)), filter=Filter(10.0, 20.0, 200.0)).rows(
        [part]
    )


@pytest.mark.parametrize("memory", [48e6, 1.0])
def test_rows_that_are_kept_come_in_runs_whatever_the_chunks(arm, monkeypatch, memory):
    """Twelve seconds in blocks of one: runs of two blocks, less what the filter sees of their neighbours."""
    monkeypatch.setattr("steelyard.equations.rows.CHUNK_BYTES", memory)
    rows = rows_of(arm.robot)
    hold = HoldOut("log", 0.0, 1.0)
    kept = list(Training([(rows, hold)]))
    runs = [[]]
    for block in kept:
        if block.first:
            runs.append([])
        runs[-1].append(block.time)
    spans = [(times[0], times[-1]) for times in (np.concatenate(run) for run in runs if run)]
    assert rows.reach == pytest.approx(0.15)  # s, half the low-pass of 10 Hz at 200 Hz
    # two blocks of 1 s in three, less the reach at each end, on a grid of rows of 25 ms
    np.testing.assert_allclose(spans, [(0.15, 1.825), (3.15, 4.825), (6.15, 7.825), (9.15, 10.825)], atol=0.03)
    everything = list(rows)
    time, Y = np.concatenate([b.time for b in everything]), np.concatenate([b.Y for b in everything])
    where = np.isin(time, np.concatenate([b.time for b in kept]))
    np.testing.assert_array_equal(np.concatenate([b.Y for b in kept]), Y[where])
    np.testing.assert_array_equal(where, hold.clear(time, rows.reach))


def test_a_log_without_held_out_blocks_is_used_for_training_as_a_whole(arm):
    rows = rows_of(arm.robot)
    assert sum(len(b.time) for b in Training([(rows, None)])) == sum(len(b.time) for b in rows)


@pytest.fixture(scope="module")
def log(arm):
    return read_log(arm.train)


def spoiled(log, hold, kind="tau."):
    """Torques inside the held-out blocks replaced by a large sine."""
    wrong = {
        name: np.where(hold.held(log.time), 20 * np.sin(40 * log.time), values) if name.startswith(kind) else values
        for name, values in log.columns.items()
    }
    return replace(log, columns=wrong)


@pytest.mark.parametrize("options", [
    Options(friction="all"), Options(friction="all", method="least-squares"), Options(friction="all", robust=True),
], ids=["lmi", "least-squares", "robust"])  # fmt: skip
def test_no_torque_of_a_held_out_block_reaches_the_estimate(log, options):
    options = replace(options, hold_out=1.0, despite=("torque-delayed", "delay-beyond-range", "clock-drift"))
    hold = HoldOut.of(log, 1.0)
    clean, wrong = (identify("demo_arm", [one], options) for one in (log, spoiled(log, hold)))
    np.testing.assert_array_equal(clean.theta, wrong.theta)
    np.testing.assert_array_equal(clean.information.triangle, wrong.information.triangle)
    held, spoilt = (next(iter(r.estimate.validation.values())) for r in (clean, wrong))
    assert held.relative < 0.05
    assert spoilt.relative > 0.5
    assert clean.estimate.fit.relative == wrong.estimate.fit.relative


def test_nor_does_a_current_reach_a_drive_gain(log):
    hold, amps = HoldOut.of(log, 1.0), currents(log)
    options = Options(friction="all", hold_out=1.0)
    clean, wrong = (identify("demo_arm", [one], options).estimate for one in (amps, spoiled(amps, hold, "current.")))
    assert clean.joints == wrong.joints
    assert clean.joints["elbow_joint"]["gain"].value == pytest.approx(GAIN, rel=0.5)


@installed
def test_nor_does_a_torque_reach_rows_without_contact_forces(a1_robot):
    feet = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    walk = floating_log(a1_robot, truth, feet, seconds=4.0, rate=200)
    options = Options(links=("base",), feet=feet, hold_out=0.6)
    clean, wrong = (
        identify(a1_robot.description, [one], options) for one in (walk, spoiled(walk, HoldOut.of(walk, 0.6)))
    )
    assert clean.estimate.equations == "contact-free"
    np.testing.assert_array_equal(clean.theta, wrong.theta)
    (held,), (spoilt,) = (r.estimate.validation.values() for r in (clean, wrong))
    assert held.relative < 0.02 < 0.2 < spoilt.relative


def test_training_and_validation_blocks_make_up_the_log(log):
    result = identify("demo_arm", [log], Options(friction="all", hold_out=1.0))
    fit, held = result.series
    name = f"{log.source}, every third 1 s"
    assert (fit.log, fit.role, held.log, held.role) == (log.source, "fit", name, "validation")
    assert list(result.estimate.validation) == [name]
    hold = HoldOut.of(log, 1.0)
    assert hold.held(held.time).all()
    assert not hold.held(fit.time).any()
    plain = identify("demo_arm", [log], Options(friction="all")).series[0]
    np.testing.assert_array_equal(np.sort(np.concatenate([fit.time, held.time])), plain.time)
    score = result.estimate.validation[name]
    error = np.linalg.norm(held.predicted - held.measured) / np.linalg.norm(held.measured)
    assert score.relative == pytest.approx(error, rel=1e-12)
    assert result.estimate.provenance["options"]["hold_out"] == 1.0


def test_a_held_out_block_is_predicted_about_as_well_as_another_log(arm, log):
    options = Options(friction="all", hold_out=1.0)
    estimate = identify("demo_arm", [log], options, validate=[arm.test]).estimate
    own, other = estimate.validation[f"{log.source}, every third 1 s"], estimate.validation[str(arm.test)]
    assert own.relative_filtered == pytest.approx(other.relative_filtered, rel=0.5)
    assert estimate.fit.relative_filtered < own.relative_filtered


def test_each_of_several_logs_has_blocks_of_its_own(arm, log):
    second = replace(read_log(arm.test), source="second")
    estimate = identify("demo_arm", [log, second], Options(friction="all", hold_out=1.5)).estimate
    assert list(estimate.validation) == [f"{log.source}, every third 1.5 s", "second, every third 1.5 s"]


def test_parts_of_a_prediction_add_up(arm, log):
    result = identify("demo_arm", [log], Options(friction="all"))
    rows = rows_of(arm.robot)
    whole = predict(rows, result.theta[: rows.columns.n], replace(log, time=rows.segments[0].time, columns={
        f"tau.{j}": rows.segments[0].tau[:, k] for k, j in enumerate(arm.robot.joints)}))  # fmt: skip
    hold = HoldOut("log", 0.0, 1.0)
    scores = [whole.part("part", inside).score("fit")[0] for inside in (hold.held, hold.training)]
    for kind in ("squares", "squares_filtered"):
        total = np.sum([getattr(s, kind) for s in scores], axis=0)
        np.testing.assert_allclose(total, getattr(whole.score("fit")[0], kind), rtol=1e-12)


@pytest.mark.parametrize("given", [0.0, -1.0, float("nan"), float("inf")])
def test_a_block_without_a_positive_length_is_refused(given):
    with refuses(UsageError, "option-value", f"hold_out={given}"):
        Options(hold_out=given)


def test_blocks_that_leave_no_training_or_no_validation_are_refused(steelyard, arm, tmp_path):
    long = steelyard("identify", "demo_arm", arm.train, "--hold-out", 7, "-o", tmp_path / "out")
    assert long.code == 2
    assert "--hold-out 7: " in long.err
    assert "[hold-out-leaves-no-validation]" in long.err
    short = steelyard("identify", "demo_arm", arm.train, "--hold-out", 0.1, "-o", tmp_path / "out")
    assert short.code == 2
    assert "--hold-out 0.1: " in short.err
    assert "[hold-out-leaves-no-training]" in short.err
    assert not (tmp_path / "out").exists()


def test_the_command_shows_what_was_held_out_everywhere(steelyard, arm, tmp_path):
    done = steelyard("identify", "demo_arm", arm.train, "--friction", "all", "--hold-out", 1, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    name = f"{arm.train}, every third 1 s"
    assert f"held out {name}: relative error" in done.out
    relative = json.loads((tmp_path / "out" / "estimate.json").read_text())["validation"][name]["relative"]
    assert f"the validation error is {100 * relative:.2g} %" in done.out
    content = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert set(content["validation"][name]) == {
        "rmse",
        "correlation",
        "relative",
        "relative_filtered",
        "unexplained",
        "description",
    }
    page = (tmp_path / "out" / "report.html").read_text()
    assert name in page
    assert "No log was held out" not in page
