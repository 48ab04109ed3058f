"""Faults planted in good logs are found and named; good logs are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.diagnose.attitude import attitude_findings
from steelyard.diagnose.signals import signal_findings
from steelyard.diagnose.torques import delay
from steelyard.plan import Options, make_plan
from steelyard.read.table import read_log, write_log
from steelyard.samples import prepare
from steelyard.survey import survey
from tests.floating import floating_log

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


@pytest.fixture(scope="module")
def walking(a1_robot):
    robot = a1_robot
    truth = {b.name: b.parameters for b in robot.bodies}
    return robot, floating_log(robot, truth, FEET, seconds=3, noise=(3e-4, 0.005, 0.05, 0.2))


def changed(log, **columns):
    return replace(log, columns={**log.columns, **columns})


def found(arm, log, tmp_path):
    write_log(tmp_path / "log.parquet", log)
    return survey("demo_arm", tmp_path / "log.parquet")


def test_a_good_arm_log_has_no_findings_and_no_delay(arm, tmp_path):
    result = found(arm, read_log(arm.train), tmp_path)
    assert result.findings == ()
    assert result.facts["torque after motion"].startswith(("-0.", "0."))


def test_a_reversed_torque_is_named(arm, tmp_path):
    log = read_log(arm.train)
    result = found(arm, changed(log, **{"tau.elbow_joint": -log.columns["tau.elbow_joint"]}), tmp_path)
    assert [f.where.split(", ")[1] for f in result.findings] == ["tau.elbow_joint"]
    assert "sign is reversed" in result.findings[0].what


def test_a_motor_side_torque_is_named_with_its_gear_ratio(arm, tmp_path):
    log = read_log(arm.train)
    result = found(
        arm, changed(log, **{"tau.shoulder_lift_joint": log.columns["tau.shoulder_lift_joint"] / 100}), tmp_path
    )
    assert "tau.shoulder_lift_joint" in result.findings[0].where
    assert "gear ratio" in result.findings[0].fix


@pytest.mark.parametrize("seconds", [0.01, -0.015])
def test_a_delay_of_the_torque_is_measured(arm, seconds):
    log = read_log(arm.train)
    late = {c: np.interp(log.time - seconds, log.time, v) for c, v in log.columns.items() if c.startswith("tau.")}
    plan = make_plan(arm.robot.description, [log], Options(friction="all"))
    filter = Options().filter.for_logs([log])
    segments, _ = prepare(plan.robot, changed(log, **late), filter, torques=True)
    lag = delay(plan.robot, segments, plan.columns, filter)
    assert lag.seconds == pytest.approx(seconds, abs=max(4 * lag.std, 5e-4))


def test_a_frozen_channel_is_named_with_its_rows(arm):
    log = read_log(arm.train)
    tau = log.columns["tau.wrist_2_joint"].copy()
    tau[500:700] = tau[500]
    (finding,) = signal_findings(arm.robot, changed(log, **{"tau.wrist_2_joint": tau}))
    assert "tau.wrist_2_joint, rows 500 to 699" in finding.where
    assert "keeps the value" in finding.what


def test_a_clipped_channel_is_named_with_its_limit(arm):
    log = read_log(arm.train)
    tau = log.columns["tau.shoulder_pan_joint"]
    limit = float(np.quantile(np.abs(tau), 0.97))
    (finding,) = signal_findings(arm.robot, changed(log, **{"tau.shoulder_pan_joint": np.clip(tau, -limit, limit)}))
    assert "clipped" in finding.what


def test_rows_that_repeat_the_row_before_are_dropped_samples(arm):
    log = read_log(arm.train)
    held = np.repeat(np.arange(0, len(log), 2), 2)[: len(log)]
    (finding,) = signal_findings(arm.robot, replace(log, columns={c: v[held] for c, v in log.columns.items()}))
    assert "50 % of the rows repeat the row before" in finding.what


def test_a_good_walking_log_has_no_findings(walking):
    robot, log = walking
    assert attitude_findings(robot, log) == []
    assert signal_findings(robot, log) == []


def test_a_quaternion_in_the_other_order_is_told_by_the_gyro(walking):
    robot, log = walking
    x, y, z, w = (log.columns[f"base.quaternion.{c}"] for c in "xyzw")
    wrong = dict(zip((f"base.quaternion.{c}" for c in "xyzw"), (w, x, y, z), strict=True))
    (finding,) = attitude_findings(robot, changed(log, **wrong))
    assert "read as w, x, y, z" in finding.what


def test_an_inverse_rotation_is_told_by_the_gyro(walking):
    robot, log = walking
    wrong = {f"base.quaternion.{c}": -log.columns[f"base.quaternion.{c}"] for c in "xyz"}
    (finding,) = attitude_findings(robot, changed(log, **wrong))
    assert "negate x, y and z" in finding.fix


def test_an_unnormalised_quaternion_is_named_with_its_length(walking):
    robot, log = walking
    wrong = {f"base.quaternion.{c}": 2 * log.columns[f"base.quaternion.{c}"] for c in "xyzw"}
    assert "has length 2" in attitude_findings(robot, changed(log, **wrong))[0].what


def test_reversed_gravity_is_named_with_and_without_orientation(walking):
    robot, log = walking
    wrong = changed(log, **{f"imu.acc.{c}": -log.columns[f"imu.acc.{c}"] for c in "xyz"})
    bare = replace(wrong, columns={c: v for c, v in wrong.columns.items() if not c.startswith("base.")})
    for case in (wrong, bare):
        (finding,) = attitude_findings(robot, case)
        assert "the sign of gravity is reversed" in finding.what


def test_an_accelerometer_in_other_axes_is_named(walking):
    robot, log = walking
    x, y, z = (log.columns[f"imu.acc.{c}"] for c in "xyz")
    bare = {c: v for c, v in log.columns.items() if not c.startswith("base.")}
    (finding,) = attitude_findings(
        robot, replace(log, columns={**bare, "imu.acc.x": z, "imu.acc.y": y, "imu.acc.z": x})
    )
    assert "its axes are not the base's" in finding.what


def test_check_takes_the_feet_of_a_walking_robot(walking, steelyard, tmp_path):
    _, log = walking
    write_log(tmp_path / "walk.parquet", log)
    done = steelyard("check", "a1", tmp_path / "walk.parquet", "--feet", ",".join(FEET))
    assert done.code == 0
    assert "contact-free" in done.out
