"""A log that does not match the robot, or is not in SI units, is reported; a good one never is."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard.check import units_base
from steelyard.check.units import unit_findings
from steelyard.equations.match import match
from steelyard.errors import LogError
from steelyard.log.log import Log
from steelyard.robot import index
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.robot.model import GRAVITY

installed = pytest.mark.skipif(not index._example_robot_data(), reason="example-robot-data is not installed")
DEGREES = 180 / np.pi
FLOATING = {"a1", "solo12"}
FEET = {"a1": ["FL_foot", "FR_foot", "RL_foot", "RR_foot"], "solo12": ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"]}

ROBOTS: dict = {}


def robot_called(name):
    if name not in ROBOTS:
        ROBOTS[name] = build(read_description(name), base="floating" if name in FLOATING else "fixed")
    return ROBOTS[name]


def fourier(time, rng, amplitude, harmonics=5, base=0.1):
    """A smooth periodic signal of this amplitude with its first two derivatives."""
    w = 2 * np.pi * base * np.arange(1, harmonics + 1)
    c, s = rng.normal(size=(2, harmonics)) / np.arange(1, harmonics + 1)
    value = np.cos(np.outer(time, w)) @ c + np.sin(np.outer(time, w)) @ s
    rate = -np.sin(np.outer(time, w)) @ (c * w) + np.cos(np.outer(time, w)) @ (s * w)
    second = -np.cos(np.outer(time, w)) @ (c * w**2) - np.sin(np.outer(time, w)) @ (s * w**2)
    return np.array([value, rate, second]) * amplitude / np.abs(value).max()


def good(name, seed=0, rate=200.0, duration=10.0, amplitude=0.6, noise=True):
    """A log of a smooth motion with the torques that it needs; of a floating robot, on its feet and with its IMU."""
    robot, rng = robot_called(name), np.random.default_rng(seed)
    model, data = robot.model, robot.model.createData()
    time = np.arange(int(duration * rate)) / rate
    q, v, a = (np.zeros((len(time), len(robot.joints))) for _ in range(3))
    for k, joint in enumerate(robot.description.joints[j] for j in robot.joints):
        low, high = np.clip([joint.lower, joint.upper], -np.pi, np.pi)
        swing = fourier(time, rng, amplitude * (high - low) / 2)
        q[:, k], v[:, k], a[:, k] = swing + np.array([[(low + high) / 2], [0], [0]])
    S = np.eye(len(robot.joints)) if robot.coupling is None else robot.coupling[-model.njoints + 1 :]
    columns = {"time": time}
    tau = np.zeros_like(q)
    if robot.floating:
        turn = np.array([fourier(time, rng, 0.2) for _ in range(3)])  # roll, pitch, yaw and their rates
        move = np.array([fourier(time, rng, 0.1) for _ in range(3)])
        place = [pin.SE3(pin.rpy.rpyToMatrix(turn[:, 0, t]), move[:, 0, t]) for t in range(len(time))]
        orientation = np.array([pin.SE3ToXYZQUAT(M)[3:] for M in place])
        spin = np.array([pin.rpy.rpyToMatrix(r).T @ pin.rpy.computeRpyJacobian(r, pin.WORLD) @ w
                         for r, w in zip(turn[:, 0].T, turn[:, 1].T, strict=True)])  # fmt: skip
        angular = np.gradient(spin, time, axis=0)
        proper = np.array(
            [M.rotation.T @ (x + GRAVITY * np.eye(3)[2]) for M, x in zip(place, move[:, 2].T, strict=True)]
        )
        columns |= {f"imu.gyro.{c}": spin[:, i] for i, c in enumerate("xyz")}
        columns |= {f"imu.acc.{c}": proper[:, i] for i, c in enumerate("xyz")}
        columns |= {f"base.quaternion.{c}": orientation[:, i] for i, c in enumerate("xyzw")}
        weight = sum(body.parameters[0] for body in robot.bodies) * GRAVITY
        for t, M in enumerate(place):
            state = np.concatenate([pin.SE3ToXYZQUAT(M), q[t]])
            linear = M.rotation.T @ move[:, 1, t]
            rate_t = np.concatenate([linear, spin[t], v[t]])
            change = np.concatenate([M.rotation.T @ move[:, 2, t] - np.cross(spin[t], linear), angular[t], a[t]])
            tau[t] = pin.rnea(model, data, state, rate_t, change)[6:]
            pin.computeJointJacobians(model, data, state)
            for foot in FEET[name]:
                frame = robot.frame(foot)
                J = pin.getJointJacobian(model, data, frame.joint, pin.LOCAL_WORLD_ALIGNED)
                arm = data.oMi[frame.joint].rotation @ frame.placement[:3, 3]
                J = J[:3] - pin.skew(arm) @ J[3:]
                tau[t] -= (J.T @ [0, 0, weight / 4])[6:]
    else:
        for t in range(len(time)):
            state = S @ q[t] + robot.mimic_offset
            tau[t] = S.T @ pin.rnea(model, data, state, S @ v[t], S @ a[t])
    if noise:
        q = q + rng.normal(scale=1e-4, size=q.shape)
        v = v + rng.normal(scale=0.02, size=v.shape)
        tau = tau * (1 + 0.05 * rng.normal(size=tau.shape)) + 0.3 * np.sign(v)
    for k, joint in enumerate(robot.joints):
        columns |= {f"q.{joint}": q[:, k], f"v.{joint}": v[:, k], f"a.{joint}": a[:, k], f"tau.{joint}": tau[:, k]}
    return columns


def log_of(columns):
    return Log.from_columns(columns, source="run.csv")


def reported(name, columns):
    """Column → its finding."""
    findings = unit_findings(robot_called(name), log_of(columns))
    assert all(finding.where.startswith("run.csv, ") for finding in findings)
    return {finding.where.removeprefix("run.csv, "): finding for finding in findings}


def in_unit(finding, unit, scale):
    """Whether a finding is that a column is in this unit, and must be multiplied by ``scale``."""
    column = finding.where.removeprefix("run.csv, ")
    remedy = {"column": column, "unit": unit, "scale": pytest.approx(scale)}
    return finding.code == "column-unit" and finding.remedy == remedy


def scaled(columns, factors):
    """``factors``: the beginning of a column's name → what it is multiplied with."""
    return {c: x * next((f for p, f in factors.items() if c.startswith(p)), 1.0) for c, x in columns.items()}


def without(columns, *beginnings):
    return {c: x for c, x in columns.items() if not c.startswith(beginnings)}


@installed
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["ur10", "panda", "z1", "a1", "solo12"])
def test_a_good_log_has_no_findings(name, seed):
    columns = good(name, seed)
    assert reported(name, columns) == {}
    assert reported(name, without(columns, "v.", "a.", "base.")) == {}


@installed
@pytest.mark.parametrize("name", ["ur10", "a1"])
@pytest.mark.parametrize(
    "options",
    [
        {"rate": 50.0},
        {"rate": 1000.0, "duration": 3.0},
        {"amplitude": 0.02},
        {"amplitude": 1.0},
        {"noise": False},
    ],
    ids=str,
)
def test_slow_fast_small_large_and_clean_logs_have_no_findings(name, options):
    assert reported(name, good(name, 7, **options)) == {}


@installed
@pytest.mark.parametrize("name", ["ur10", "a1"])
def test_a_log_of_standing_still_has_no_findings(name):
    columns = {c: np.linspace(0, 5, 500) if c == "time" else np.full(500, x[0]) for c, x in good(name).items()}
    assert reported(name, columns) == {}


@installed
def test_jitter_gaps_and_a_late_start_have_no_findings():
    columns = good("ur10", rate=500.0)
    rng = np.random.default_rng(1)
    keep = np.flatnonzero((rng.random(5000) > 0.02) & (np.abs(columns["time"] - 4) > 0.7))
    columns = {c: x[keep] for c, x in columns.items()}
    columns["time"] = columns["time"] + 1.7e9 + rng.uniform(0, 5e-4, keep.size)
    assert reported("ur10", columns) == {}


@installed
def test_wheels_may_turn_as_far_as_they_like(tmp_path):
    robot = _slider(tmp_path, "continuous", "")
    time = np.linspace(0, 10, 1000)
    log = log_of({"time": time, "q.j": 200 * time + np.sin(time), "v.j": 200 + np.cos(time)})
    assert unit_findings(robot, log) == []


UR = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint"]


@installed
def test_positions_in_degrees_are_inferred_from_the_velocities():
    findings = reported("ur10", scaled(good("ur10", amplitude=0.02, noise=False), {"q.": DEGREES}))
    assert set(findings) == {f"q.{j}" for j in UR}
    assert in_unit(findings["q.elbow_joint"], "deg", 1 / DEGREES)


@installed
def test_velocities_in_degrees_are_inferred_from_the_positions():
    findings = reported("ur10", scaled(good("ur10"), {"v.": DEGREES}))
    assert set(findings) == {f"v.{j}" for j in UR}
    assert in_unit(findings["v.elbow_joint"], "deg/s", 1 / DEGREES)


@installed
def test_accelerations_in_degrees_are_inferred_from_the_velocities():
    findings = reported("ur10", scaled(good("ur10", noise=False), {"a.": DEGREES}))
    assert set(findings) == {f"a.{j}" for j in UR}
    assert in_unit(findings["a.elbow_joint"], "deg/s^2", 1 / DEGREES)


@installed
def test_velocities_and_accelerations_in_degrees_are_reported_together():
    findings = reported("ur10", scaled(good("ur10", noise=False), {"v.": DEGREES, "a.": DEGREES}))
    assert set(findings) == {f"{k}.{j}" for k in "va" for j in UR}
    assert in_unit(findings["a.elbow_joint"], "deg/s^2", 1 / DEGREES)


@installed
def test_positions_in_degrees_are_inferred_from_the_limits():
    findings = reported("ur10", scaled(without(good("ur10"), "v.", "a."), {"q.": DEGREES}))
    assert set(findings) == {f"q.{j}" for j in UR}
    assert all(in_unit(finding, "deg", 1 / DEGREES) for finding in findings.values())


@installed
def test_a_log_in_degrees_throughout_is_reported_in_every_column():
    findings = reported("ur10", scaled(good("ur10", noise=False), {"q.": DEGREES, "v.": DEGREES, "a.": DEGREES}))
    assert set(findings) == {f"{k}.{j}" for k in "qva" for j in UR}
    for column, finding in findings.items():
        assert in_unit(finding, {"q": "deg", "v": "deg/s", "a": "deg/s^2"}[column[0]], 1 / DEGREES)


@installed
def test_a_joint_that_hardly_moves_has_the_unit_of_the_others():
    columns = scaled(without(good("ur10"), "v.", "a."), {"q.": DEGREES})
    columns["q.elbow_joint"] = columns["q.elbow_joint"] / 100
    assert in_unit(reported("ur10", columns)["q.elbow_joint"], "deg", 1 / DEGREES)


@installed
def test_velocities_in_thousandths_are_reported():
    findings = reported("ur10", scaled(good("ur10"), {"v.": 1000.0}))
    assert in_unit(findings["v.elbow_joint"], "mrad/s", 1e-3)


def _slider(folder, kind="prismatic", limit='<limit lower="0" upper="0.5" effort="100" velocity="1"/>'):
    inertial = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    (folder / "s.urdf").write_text(
        f'<robot name="s"><link name="world"/><link name="b">{inertial}</link><joint name="j" type="{kind}">'
        f'<parent link="world"/><child link="b"/><axis xyz="0 0 1"/>{limit}</joint></robot>'
    )
    return build(read_description(folder / "s.urdf"), base="fixed")


def _slide(scale_q=1.0, scale_v=1.0, velocity=True):
    time = np.linspace(0, 5, 1000)
    q, v = 0.25 + 0.1 * np.sin(time), 0.1 * np.cos(time)
    columns = {"time": time, "q.j": scale_q * q, "tau.j": np.full(1000, 2 * GRAVITY)}
    return log_of(columns | ({"v.j": scale_v * v} if velocity else {}))


def test_a_prismatic_joint_in_millimetres_is_reported(tmp_path):
    robot = _slider(tmp_path)
    assert unit_findings(robot, _slide()) == []
    (by_limit,) = unit_findings(robot, _slide(scale_q=1000, velocity=False))
    assert by_limit.where == "run.csv, q.j"
    assert in_unit(by_limit, "mm", 1e-3)
    (by_rate,) = unit_findings(robot, _slide(scale_v=1000))
    assert by_rate.where == "run.csv, v.j"
    assert in_unit(by_rate, "mm/s", 1e-3)
    assert len(unit_findings(robot, _slide(scale_q=1000, scale_v=1000))) == 2


@installed
@pytest.mark.parametrize(("factor", "unit"), [(1e3, "ms"), (1e6, "us"), (1e9, "ns")])
@pytest.mark.parametrize("rate", [20.0, 500.0, 2000.0])
def test_time_in_fractions_of_a_second_is_reported_and_nothing_else(factor, unit, rate):
    columns = good("ur10", rate=rate, duration=2000 / rate)
    columns["time"] = columns["time"] * factor
    (finding,) = reported("ur10", columns).values()
    assert finding.where == "run.csv, time"
    assert in_unit(finding, unit, 1 / factor)


@installed
def test_time_in_some_larger_unit_is_reported_without_a_scale():
    columns = good("ur10")
    columns["time"] = columns["time"] / 3600
    (finding,) = reported("ur10", columns).values()
    assert (finding.code, finding.remedy) == ("column-unit", {"column": "time", "scale": None})


@installed
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["ur10", "panda", "z1"])
def test_torques_in_newton_millimetres_are_reported_on_a_fixed_base(name, seed):
    (finding,) = reported(name, scaled(good(name, seed), {"tau.": 1000.0})).values()
    assert finding.where == "run.csv, tau"
    assert in_unit(finding, "N·mm", 1e-3)


@installed
@pytest.mark.parametrize("name", ["a1", "solo12"])
def test_torques_in_newton_millimetres_are_reported_on_a_floating_base(name):
    (finding,) = reported(name, scaled(good(name), {"tau.": 1000.0})).values()
    assert finding.where == "run.csv, tau"
    assert in_unit(finding, "N·mm", 1e-3)


@installed
def test_torques_without_gravity_or_on_the_motor_side_are_reported():
    (finding,) = reported("ur10", scaled(good("ur10", noise=False), {"tau.": 1e-3})).values()
    assert (finding.code, finding.where) == ("torque-too-small", "run.csv, tau")


@installed
@pytest.mark.parametrize(
    ("factor", "remedy"),
    [
        (1 / GRAVITY, {"unit": "g", "scale": GRAVITY}),
        (1000 / GRAVITY, {"unit": "mg", "scale": GRAVITY / 1000}),
        (1000.0, {"unit": "mm/s^2", "scale": 1e-3}),
        (16384.0, {"scale": None}),
    ],
)
def test_an_accelerometer_in_another_unit_is_reported(factor, remedy):
    (finding,) = reported("a1", scaled(good("a1"), {"imu.acc": factor})).values()
    assert finding.where == "run.csv, imu.acc"
    assert (finding.code, finding.remedy) == ("column-unit", {"column": "imu.acc", **remedy})


@installed
@pytest.mark.parametrize("median", [0.1, 1.0, 3.0])
def test_an_accelerometer_without_gravity_is_reported_and_not_taken_for_units_of_g(median):
    columns = good("a1")
    shaking = np.gradient([columns[f"imu.acc.{c}"] for c in "xyz"], axis=1)
    shaking *= median / np.median(np.linalg.norm(shaking, axis=0))
    columns |= {f"imu.acc.{c}": x for c, x in zip("xyz", shaking, strict=True)}
    (finding,) = reported("a1", columns).values()
    assert finding.where == "run.csv, imu.acc"
    assert finding.code == "gravity-removed"


@installed
@pytest.mark.parametrize(("factor", "unit"), [(DEGREES, "deg/s"), (1000.0, "mrad/s")])
def test_a_gyro_in_another_unit_is_inferred_from_the_orientation(factor, unit):
    (finding,) = reported("a1", scaled(good("a1"), {"imu.gyro": factor})).values()
    assert finding.where == "run.csv, imu.gyro"
    assert in_unit(finding, unit, 1 / factor)


@installed
def test_a_gyro_without_orientation_is_reported_only_where_no_base_rotates_as_fast():
    columns = without(good("a1"), "base.")
    size = np.sqrt(np.mean(sum(columns[f"imu.gyro.{c}"] ** 2 for c in "xyz")))
    assert reported("a1", scaled(columns, {"imu.gyro": 0.9 * units_base.SPINNING / size})) == {}
    (finding,) = reported("a1", scaled(columns, {"imu.gyro": 1.1 * units_base.SPINNING / size})).values()
    assert in_unit(finding, "deg/s", 1 / DEGREES)


@installed
def test_a_torque_of_one_joint_in_newton_millimetres_is_reported_alone():
    for name, joint in (("ur10", "shoulder_lift_joint"), ("a1", "FR_calf_joint")):
        findings = reported(name, scaled(good(name), {f"tau.{joint}": 1000.0}))
        assert set(findings) == {f"tau.{joint}"}
        assert in_unit(findings[f"tau.{joint}"], "N·mm", 1e-3)


@installed
def test_currents_in_milliamperes_are_reported_where_their_gains_are_known():
    columns = good("ur10")
    columns |= {f"current.{j}": columns.pop(f"tau.{j}") / 12 for j in UR}
    gains = {"gains": dict.fromkeys(UR, 12.0)}
    for factor, metadata in ((1.0, gains), (1e3, {})):
        log = Log.from_columns(scaled(columns, {"current.": factor}), metadata, "run.csv")
        assert unit_findings(robot_called("ur10"), log) == []
    (finding,) = unit_findings(
        robot_called("ur10"), Log.from_columns(scaled(columns, {"current.": 1e3}), gains, "run.csv")
    )
    assert finding.where == "run.csv, current"
    assert in_unit(finding, "mA", 1e-3)


def _sway(seconds=10.0, rate=200.0):
    """Position, velocity and acceleration of a base that sways by 2 cm."""
    t = np.arange(int(seconds * rate)) / rate
    w = np.array([1.0, 2.0, 3.0])
    motion = 0.02 * np.sin(w * t[:, None]), 0.02 * w * np.cos(w * t[:, None]), -0.02 * w**2 * np.sin(w * t[:, None])
    names = ("base.position", "base.velocity", "base.acceleration")
    return {f"{n}.{c}": x[:, k] for n, x in zip(names, motion, strict=True) for k, c in enumerate("xyz")}


@installed
@pytest.mark.parametrize(
    ("column", "unit"), [("base.position", "mm"), ("base.velocity", "mm/s"), ("base.acceleration", "mm/s^2")]
)
def test_motion_of_the_base_in_millimetres_is_reported(column, unit):
    columns = good("a1") | _sway()
    assert reported("a1", columns) == {}
    (finding,) = reported("a1", scaled(columns, {column: 1000.0})).values()
    assert finding.where == f"run.csv, {column}"
    assert in_unit(finding, unit, 1e-3)


@installed
def test_a_position_whose_stamps_come_in_bursts_has_no_findings():
    columns = good("a1") | _sway()
    for k in range(100, len(columns["time"]), 100):
        columns["time"][k - 20 : k] = columns["time"][k] - 1e-5 * np.arange(20, 0, -1)
    assert not any(where.startswith("base.") for where in reported("a1", columns))


@installed
def test_several_wrong_units_are_reported_at_once():
    columns = scaled(good("a1"), {"imu.gyro": DEGREES, "imu.acc": 1 / GRAVITY, "time": 1e3, "tau.": 1e3, "v.": DEGREES})
    findings = reported("a1", columns)
    assert {"time", "tau", "imu.acc", "imu.gyro"} <= set(findings)
    assert sum(where.startswith("v.") for where in findings) == 12
    assert len(findings) == 16, "the accelerations are right"


def matched(columns, name="ur10", lock=None, torques=True):
    return match(robot_called(name).description, log_of(columns), lock or {}, torques=torques)


def refused(*args, **options):
    with pytest.raises(LogError) as error:
        matched(*args, **options)
    return error.value.findings


TINY = {"time": np.arange(3.0)}
ZERO = np.zeros(3)


@installed
def test_joints_are_matched_by_name_and_those_without_columns_are_locked():
    columns = TINY | {f"{k}.{j}": ZERO for j in reversed(UR[:4]) for k in ("tau", "q")}
    match = matched(columns)
    assert match.joints == tuple(UR[:4])
    assert match.locked == tuple(UR[4:])
    (notice,) = match.notices
    assert (notice.code, notice.where) == ("joint-locked", "run.csv")
    assert notice.remedy == {"lock": {"wrist_2_joint": 0.0, "wrist_3_joint": 0.0}}


@installed
def test_a_joint_with_some_but_not_all_columns_is_refused_with_every_reason():
    columns = TINY | {"q.elbow_joint": ZERO, "tau.wrist_1_joint": ZERO, "v.wrist_2_joint": ZERO}
    missing = ("tau.elbow_joint", "q.wrist_1_joint", "q.wrist_2_joint", "tau.wrist_2_joint")
    assert [(f.code, f.where) for f in refused(columns)] == [("column-missing", f"run.csv, {c}") for c in missing]
    assert len(refused(columns, torques=False)) == 2
    assert len(refused(columns, lock={"wrist_2_joint": 0.0})) == 2


@installed
def test_a_current_stands_for_a_torque():
    assert matched(TINY | {"q.elbow_joint": ZERO, "current.elbow_joint": ZERO}).joints == ("elbow_joint",)


@installed
def test_a_log_of_another_robot_is_refused():
    (finding,) = refused(TINY | {"q.hip": ZERO, "tau.hip": ZERO})
    assert (finding.code, finding.where, finding.remedy) == ("joints-unmatched", "run.csv", {"mapping": None})


@installed
def test_a_log_with_a_mapping_is_not_asked_for_another():
    log = replace(log_of(TINY | {"q.hip": ZERO, "tau.hip": ZERO}), files=("robot.toml",))
    with pytest.raises(LogError) as error:
        match(robot_called("ur10").description, log, {}, torques=True)
    (finding,) = error.value.findings
    assert (finding.code, finding.remedy) == ("joints-unmatched", {})


@installed
def test_a_log_without_joints_is_refused():
    for columns in (TINY | {"elbow_joint": ZERO, "note": ZERO}, TINY):
        (finding,) = refused(columns)
        assert (finding.code, finding.where) == ("joints-unmatched", "run.csv")


@installed
def test_a_log_of_a_robot_whose_joints_are_all_locked_matches():
    assert matched(TINY, lock=dict.fromkeys(UR, 0.0)).joints == ()


@installed
def test_unused_columns_are_notices_and_never_fatal():
    columns = TINY | {"q.panda_joint1": ZERO, "tau.panda_joint1": ZERO, "q.panda_joint22": ZERO}
    columns |= {"q.panda_finger_joint2": ZERO, "battery": ZERO}
    notices = {n.code: (n.where, n.remedy) for n in matched(columns, "panda").notices}
    assert notices["name-unknown"] == ("run.csv, panda_joint22", {"name": "panda_joint2"})
    assert notices["columns-ignored"] == ("run.csv", {"columns": ("battery",)})
    assert notices["joint-not-independent"] == ("run.csv", {"joints": ["panda_finger_joint2"]})
