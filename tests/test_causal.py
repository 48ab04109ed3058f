"""A filter that never looks ahead: exact on straight lines, consistent derivatives, a delay as stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Filter, LogError, Options, Robot, identify
from steelyard.equations.causal_filter import Lowpass
from steelyard.equations.prepare import inputs_of, prepare
from steelyard.log.log import Log
from tests.floating import floating_log

pytestmark = pytest.mark.numerical

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


@pytest.fixture(scope="module")
def low():
    return Lowpass(500.0, 40.0)


def test_a_straight_line_comes_out_as_that_line_late_by_the_stated_delay(low):
    t = np.arange(400) / low.rate
    line = (2.0 + 3.0 * t)[:, None]
    out = low.run(low.at_rest(line[0]), line)[low.settling :]
    assert out[:, 0, 0] == pytest.approx(2.0 + 3.0 * (t[low.settling :] - low.delay), abs=1e-9)
    assert out[:, 1, 0] == pytest.approx(3.0, abs=1e-6)
    assert np.abs(out[:, 2, 0]).max() < 1e-4


def test_the_derivatives_are_those_of_the_filtered_signal(low):
    t = np.arange(1500) / low.rate
    w = 2 * np.pi * 3.0
    wave = np.sin(w * t)[:, None]
    y, dy, ddy = low.run(low.at_rest(wave[0]), wave)[500:, :, 0].T
    z, dz, _ = low.run(low.at_rest(wave[0]), w * np.cos(w * t)[:, None])[500:, :, 0].T
    assert dy == pytest.approx(z, abs=1e-4 * w)  # filtering and differentiating commute
    assert ddy == pytest.approx(dz, abs=3e-4 * w**2)
    assert ddy == pytest.approx(-(w**2) * y, abs=1e-3 * w**2)


def test_what_sampling_costs_a_derivative_falls_with_the_fourth_power_of_the_rate():
    w, off = 2 * np.pi * 3.0, []
    for rate in (500.0, 1000.0, 2000.0):
        low, t = Lowpass(rate, 40.0), np.arange(int(3 * rate)) / rate
        wave = np.sin(w * t)[:, None]
        y, _, ddy = low.run(low.at_rest(wave[0]), wave)[int(rate) :, :, 0].T
        off.append(np.abs(ddy + w**2 * y).max())
    assert off[0] > 15 * off[1] > 15**2 * off[2]


def test_the_gain_at_the_cutoff_is_that_of_butterworth(low):
    t = np.arange(2000) / low.rate
    wave = np.sin(2 * np.pi * low.cutoff * t)[:, None]
    out = low.run(low.at_rest(wave[0]), wave)[1000:, 0, 0]
    straight = np.sinc(low.cutoff / low.rate) ** 2  # of a signal taken for straight lines
    assert np.sqrt(2 * np.mean(out**2)) == pytest.approx(straight / np.sqrt(2), rel=0.01)


def test_it_does_not_matter_how_samples_are_cut_into_runs(low):
    values = np.random.default_rng(0).normal(size=(300, 5))
    state, whole = low.at_rest(values[0]), low.run(low.at_rest(values[0]), values)
    parts = [low.run(state, part) for part in np.split(values, [1, 7, 150])]
    assert np.array_equal(np.concatenate(parts), whole)


def test_later_samples_change_no_earlier_output_of_a_causal_filter(a1_robot):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=2.0)
    filter = Filter(causal=True).for_logs([log])
    later = Log.from_columns(
        {"time": log.time, **{k: np.where(log.time < 1.5, x, 0.3) for k, x in log.columns.items()}}
    )
    (one,), _ = prepare(a1_robot, log, filter, torques=True)
    (other,), _ = prepare(a1_robot, later, filter, torques=True)
    until = int(np.searchsorted(one.time, 1.5 - Lowpass(500.0, filter.kinematics).delay - 1e-3))
    for name in ("q", "v", "a", "tau", "gyro", "alpha", "acc", "up"):
        assert np.array_equal(getattr(one, name)[:until], getattr(other, name)[:until])


@pytest.mark.slow
@pytest.mark.parametrize("upright", ["base.quaternion", "gravity"])
def test_a_log_filtered_causally_balances_as_one_filtered_symmetrically(a1_robot, upright):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=3.0, imu_frame="imu_link")
    if upright == "gravity":
        log = replace(log, columns={k: x for k, x in log.columns.items() if not k.startswith("base.")})
    result = identify("a1", [log], Options(feet=FEET, links=("trunk",), filter=Filter(causal=True)))
    limit = 1e-3 if upright == "base.quaternion" else 6e-2  # the contact point follows what is thought to be up
    assert result.estimate.fit.relative_filtered < limit
    assert "causal" in result.estimate.provenance["filter"]["kind"]


def test_jittered_stamps_are_resampled_before_a_causal_filter(a1_robot):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=2.0)
    keep = np.sort(np.random.default_rng(0).choice(len(log), 950, replace=False))
    thinned = Log.from_columns({"time": log.time[keep], **{k: x[keep] for k, x in log.columns.items()}})
    filter = Filter(causal=True).for_logs([log])
    (one,), _ = prepare(a1_robot, log, filter, torques=True)
    (other,), _ = prepare(a1_robot, thinned, filter, torques=True)
    at = np.searchsorted(one.time, other.time[200])
    assert np.abs(one.a[at] - other.a[200]).max() < 0.05 * np.abs(one.a).max()


def test_measured_velocities_and_currents_with_gains_are_used(a1_robot):
    robot = Robot.load("ur10")
    t = np.arange(400) / 100.0
    columns = {"time": t}
    for k, j in enumerate(robot.joints):
        columns |= {f"q.{j}": np.sin(t + k), f"v.{j}": np.cos(t + k), f"a.{j}": -np.sin(t + k), f"current.{j}": t}
    log = Log.from_columns(columns, {"gains": dict.fromkeys(robot.joints, 2.0)})
    filter = Filter(causal=True).for_logs([log])
    (segment,), _ = prepare(robot, log, filter, torques=True)
    assert segment.v[:, 0] == pytest.approx(np.cos(segment.time), abs=2e-3)
    assert segment.a[:, 0] == pytest.approx(-np.sin(segment.time), abs=2e-3)
    assert segment.tau[:, 0] == pytest.approx(2 * segment.time, abs=1e-6)
    bare = replace(log, metadata={})
    assert inputs_of(robot, bare, torques=True).unknown_gains == robot.joints


def test_a_causal_filter_needs_an_inertial_sensor_and_no_plates(a1_robot):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=1.0)
    columns = {k: x for k, x in log.columns.items() if not k.startswith("imu.acc")}
    columns |= {"plate.floor.fz": np.ones(len(log))}
    with pytest.raises(LogError) as refused:
        inputs_of(a1_robot, replace(log, columns=columns), torques=False)
    assert [(f.code, f.where) for f in refused.value.findings] == [
        ("imu-missing", f"{log.source}, imu.acc"),
        ("plate-unusable", log.source),
    ]
    assert all(f.remedy == {"causal": False} for f in refused.value.findings)
