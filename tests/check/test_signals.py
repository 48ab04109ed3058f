"""Channels that are frozen for a while, or constant throughout."""

import numpy as np
import pytest

from steelyard.check.survey import survey
from steelyard.experiment.simulate.truth import perturbed
from tests.check.good_logs import FEET, MID, findings
from tests.floating import floating_log
from tests.planted import changed


def held(log, column, start, seconds):
    values = log.columns[column].copy()
    first, last = np.searchsorted(log.time, [start, start + seconds])
    values[first:last] = values[first]
    return changed(log, **{column: values})


@pytest.mark.parametrize("seconds", [0.15, 0.32, 1.0, 5.0])
@pytest.mark.parametrize("start", [3.0, 4.0, 6.3])
def test_a_position_that_is_frozen_in_motion_is_refused(good, seconds, start):
    (finding,) = findings(held(good, "q.elbow_joint", start, seconds))
    assert (finding.code, finding.severity) == ("position-frozen", "error")
    assert finding.remedy["column"] == "q.elbow_joint"
    first, last = finding.remedy["drop_rows"]
    assert good.time[first] == pytest.approx(start, abs=0.02)
    assert good.time[last] == pytest.approx(start + seconds, abs=0.02)


def test_a_frozen_position_is_reported_beside_a_longer_standstill(walking, a1_robot):
    bad = held(held(walking, "q.FR_calf_joint", 2.0, 0.4), "q.FL_calf_joint", 3.0, 0.2)
    columns = {f.remedy["column"] for f in findings(bad, "a1") if f.code == "position-frozen"}
    assert columns == {"q.FR_calf_joint", "q.FL_calf_joint"}


@pytest.mark.parametrize("resolution", [0.0, 1e-5, 1e-3])
def test_a_joint_that_slows_down_and_stops_for_a_second_is_not_frozen(good, resolution):
    log = good
    time = log.time
    progress = np.where(time < 4, time, np.where(time < 5, 4.0, time - 1))
    ramp = 0.4  # s, in which it slows down before and speeds up after
    for edge, sign in ((4.0, 1.0), (5.0, -1.0)):
        x = np.clip(sign * (edge - time) / ramp, 0, 1)
        near = (sign * (edge - time) >= 0) & (sign * (edge - time) < ramp)
        progress = np.where(near, 4.0 - sign * ramp * (x**3 - x**4 / 2), progress)
    q = 0.8 * np.sin(1.3 * progress)
    if resolution:
        q = resolution * np.round(q / resolution)
    result = findings(changed(log, **{"q.elbow_joint": q}))
    assert "position-frozen" not in {f.code for f in result}


def test_a_torque_below_its_resolution_is_not_frozen(good):
    coarse = {"tau.wrist_3_joint": 0.2 * np.round(good.columns["tau.wrist_3_joint"] / 0.2)}
    codes = {f.code for f in findings(changed(good, **coarse))}
    assert not codes & {"channel-frozen", "signal-constant"}


@pytest.mark.parametrize(("vector", "value"), [("imu.gyro", (0, 0, 0)), ("imu.acc", (0, 0, 9.81))])
def test_an_inertial_sensor_that_never_changes_is_refused(walking, vector, value):
    constant = {f"{vector}.{c}": np.full(len(walking), float(x)) for c, x in zip("xyz", value, strict=True)}
    finding = next(f for f in findings(changed(walking, **constant), "a1") if f.code == "signal-constant")
    assert finding.severity == "error"
    assert finding.remedy == {"column": vector}


def test_a_torque_that_never_changes_while_its_joint_moves_is_refused(good):
    (finding,) = findings(changed(good, **{"tau.elbow_joint": np.full(len(good), 2.0)}))
    assert (finding.code, finding.remedy) == ("signal-constant", {"column": "tau.elbow_joint"})


def test_a_foot_in_the_air_measures_no_force(a1_robot):
    truth = perturbed(a1_robot, np.random.default_rng(1))
    log = floating_log(a1_robot, truth, FEET[:3], seconds=8, rate=200, noise=MID, wrenches=True)
    zero = {f"wrench.RL_foot.{c}": np.zeros(len(log)) for c in ("fx", "fy", "fz", "mx", "my", "mz")}
    assert "signal-constant" not in {f.code for f in survey("a1", changed(log, **zero)).findings}
