"""Faults planted in good logs are reported with column and remedy; good logs give no findings."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard.check.checks.attitude import attitude_findings
from steelyard.check.checks.sampling import Timing
from steelyard.check.delay import TWO_SIDED_95, estimate_delay
from steelyard.check.survey import LABELS
from steelyard.check.torque_balance import slowed, spread, thinned
from steelyard.cli.finding_text import finding_text
from steelyard.equations.setup import Setup
from steelyard.errors import Finding
from steelyard.experiment.simulate.simulate_arm import NOISE, Friction, fourier_motion, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log
from steelyard.robot.model import Frame
from tests.check.log_balance import slow_balance
from tests.floating import floating_log
from tests.planted import arm_faults, assert_reported, changed, floating_faults, late, lossy, scaled

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
ARM = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]
LEGS = [f"{leg}_{part}_joint" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")]
CALM = np.diag([0.15] * 3 + [0.6] * 3 + [1.0] * 12)  # the base moves as one that walks does, not as one that jumps
MID = (3e-4, 0.005, 0.05, 0.2)  # noise of q, gyro, acc and tau


@pytest.fixture(scope="module")
def walking(a1_robot):
    """A log of a quadruped that differs from its description and pushes the ground as it must."""
    truth = perturbed(a1_robot, np.random.default_rng(4))
    log = floating_log(a1_robot, truth, FEET, seconds=10, rate=200, noise=MID, mix=CALM)
    sway = {f"base.position.{c}": 0.03 * np.sin(k * log.time) for k, c in enumerate("xyz", 2)}
    return a1_robot, changed(log, **sway)


@pytest.fixture
def check(steelyard, tmp_path):
    """Findings of ``steelyard check --json``, and the whole of it."""

    def run(robot, log, *options):
        write_log(tmp_path / "log.parquet", log)
        done = steelyard("check", robot, tmp_path / "log.parquet", *options, "--json")
        data = json.loads(done.out)
        severities = {f["severity"] for f in data["findings"]}
        assert done.code == (3 if "error" in severities else 4 if "doubt" in severities else 0)
        return data["findings"], data

    return run


@pytest.mark.parametrize(
    "fault",
    list(arm_faults(ARM, "tau", loaded="elbow_joint", vertical="shoulder_pan_joint", rubbing="wrist_3_joint")),
    ids=str,
)
def test_a_fault_planted_in_a_log_of_an_arm_is_reported_with_its_column_and_remedy(arm, check, fault):
    findings, _ = check("demo_arm", fault.plant(read_log(arm.train)))
    assert_reported(fault, findings)


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(floating_faults("FR_calf_joint", LEGS)), ids=str)
def test_a_fault_planted_in_a_log_of_a_walking_robot_is_reported_with_its_column_and_remedy(walking, check, fault):
    _, log = walking
    findings, _ = check("a1", fault.plant(log), "--feet", ",".join(FEET))
    assert_reported(fault, findings)


def test_the_text_has_every_finding_and_quantity_of_the_json(arm, check, steelyard, tmp_path):
    log = read_log(arm.train)
    for case in (log, scaled("tau.", -1.0)(log), late(0.03)(log), lossy(0.15)(log)):
        findings, data = check("demo_arm", case)
        shown = steelyard("check", "demo_arm", tmp_path / "log.parquet")
        severities = {f["severity"] for f in findings}
        assert shown.code == (3 if "error" in severities else 4 if "doubt" in severities else 0)
        lines = [line for line in shown.out.splitlines() if line.startswith(tuple(LABELS.values()))]
        expected = [f"{LABELS[f['severity']]}: {finding_text(Finding(**f), 'check')}" for f in findings]
        assert [line for line in lines if line.endswith("]")] == expected
        assert shown.out.splitlines()[-1] == data["verdict"]
        for name, value in data["facts"].items():
            assert f"{name}: {value}" in shown.out


@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize("rubbing", [True, False])
def test_a_good_log_of_an_arm_has_no_findings(arm, check, noise, rubbing):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        truth, friction = perturbed(arm.robot, rng), Friction.random(arm.robot, rng) if rubbing else None
        log = simulate_arm(arm.robot, truth, seed=seed, seconds=12.0, noise=noise, friction=friction)
        assert check("demo_arm", log)[0] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_good_log_of_a_walking_robot_has_no_findings(a1_robot, check, seed):
    truth = perturbed(a1_robot, np.random.default_rng(seed))
    log = floating_log(a1_robot, truth, FEET, seed=seed, seconds=8, rate=200, noise=MID, imu_frame="imu_link")
    assert check("a1", log, "--feet", ",".join(FEET))[0] == []


@pytest.mark.slow
def test_a_good_log_with_wrenches_has_no_findings_and_its_delay_is_measured_without_them(a1_robot, check):
    truth = perturbed(a1_robot, np.random.default_rng(1))
    log = floating_log(a1_robot, truth, FEET, seconds=8, rate=200, noise=MID, wrenches=True)
    findings, data = check("a1", log)
    assert findings == []
    assert abs(data["delay"]["seconds"]) < 1e-3
    (finding, *_), _ = check("a1", late(0.02)(log))
    assert (finding["code"], finding["remedy"]) == ("torque-delayed", {"delay": 0.02})


def test_a_compensated_delay_is_no_finding(arm, check):
    log = late(0.03)(read_log(arm.train))
    assert check("demo_arm", log)[0] != []
    assert check("demo_arm", log, "--delay", "0.03")[0] == []
    (finding,) = check("demo_arm", log, "--delay", "-0.02")[0]
    assert finding["code"] == "torque-delayed"
    assert finding["remedy"]["delay"] == pytest.approx(0.03, abs=5e-3)


def test_a_delay_beyond_the_search_range_has_a_code_of_its_own(arm, check):
    (finding,) = check("demo_arm", late(0.25)(read_log(arm.train)))[0]
    assert (finding["code"], finding["remedy"]) == ("delay-beyond-range", {})


@pytest.mark.parametrize("seconds", [0.01, -0.015, 0.04])
def test_the_delay_of_an_arm_is_measured_within_its_interval(arm, seconds):
    lag = estimate_delay(slow_balance(arm.robot.description, late(seconds)(read_log(arm.train))))
    assert abs(lag.seconds - seconds) < TWO_SIDED_95 * lag.std < 6e-3
    assert abs(lag.change[0]) < lag.change[1] < 6e-3


@pytest.mark.parametrize("seconds", [0.003, -0.03])
def test_the_delay_of_a_walking_robot_is_measured_to_a_millisecond(walking, seconds):
    robot, log = walking
    lag = estimate_delay(slow_balance(robot.description, late(seconds)(log), Options(feet=FEET)))
    assert lag.seconds == pytest.approx(seconds, abs=1e-3)
    assert abs(lag.seconds - seconds) < TWO_SIDED_95 * lag.std
    assert set(lag.joints) == set(robot.joints)


def spring_friction(robot, log, friction, way):
    """The same log with dry friction that changes sign over a distance after a reversal, as presliding gears have."""
    torques = {}
    for k, joint in enumerate(robot.joints):
        q = log.columns[f"q.{joint}"]
        spring, dry = np.zeros(len(q)), np.sign(np.gradient(q))
        for t in range(1, len(q)):
            spring[t] = dry[t] + (spring[t - 1] - dry[t]) * np.exp(-abs(q[t] - q[t - 1]) / way)
        torques[f"tau.{joint}"] = log.columns[f"tau.{joint}"] + friction.coulomb[k] * (spring - dry)
    return changed(log, **torques)


@pytest.mark.parametrize("way", [1e-3, 5e-3, 2e-2])
def test_presliding_friction_is_not_taken_for_a_delay(arm, way):
    smooth = simulate_arm(arm.robot, arm.truth, seed=3, seconds=12.0, noise="none", friction=arm.friction)
    log = spring_friction(arm.robot, smooth, arm.friction, way)
    lag = estimate_delay(slow_balance(arm.robot.description, log))
    assert abs(lag.seconds) < 5e-3
    assert abs(lag.seconds) < TWO_SIDED_95 * lag.std + 2e-3


def test_a_short_log_has_no_delay_and_a_very_short_one_no_balance(arm):
    log = read_log(arm.train)
    assert estimate_delay(slow_balance(arm.robot.description, log.cut(0, 700))) is None
    assert slow_balance(arm.robot.description, log.cut(0, 400)) is None


@pytest.mark.parametrize("options", [Options(feet=FEET), Options(equations="full")], ids=["contact-free", "full"])
def test_the_shares_of_all_joints_sum_to_the_measured_side(walking, options):
    robot, log = walking
    both = slow_balance(robot.description, log, options)
    setup = Setup.of(robot.description, [log], options)
    thin, filter = thinned(log, slowed(setup.filter, log))
    slow = replace(setup, filter=filter)
    rows = list(slow.rows(slow.segments(thin)[0]))
    np.testing.assert_allclose(both.measured.sum(axis=2), np.concatenate([b.target for b in rows]), atol=1e-9)
    np.testing.assert_allclose(both.time, np.concatenate([b.time for b in rows]))


def test_pieces_of_a_long_log_span_it_from_start_to_end(arm):
    log = read_log(arm.train)
    (segment,), _ = Setup.of(arm.robot.description, [log], Options()).segments(log)
    pieces = spread([segment] * 4, most=2000)
    assert sum(len(p.time) for p in pieces) <= 2000
    assert (pieces[0].time[0], pieces[-1].time[-1]) == (segment.time[0], segment.time[-1])
    assert spread([segment], most=10**6) == [segment]


def hung(robot, gravity, seed=3):
    """A log of the demonstration arm under another gravity."""
    other = replace(robot, model=robot.model.copy())
    other.model.gravity.linear = np.asarray(gravity, float)
    rng = np.random.default_rng(seed)
    return simulate_arm(other, perturbed(robot, rng), seed=seed, seconds=12.0, friction=Friction.random(robot, rng))


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 9.81), (9.81, 0.0, 0.0), (0.0, -9.81, 0.0)])
def test_an_arm_mounted_in_another_direction_is_reported_with_its_gravity(arm, check, gravity):
    log = hung(arm.robot, gravity)
    (finding,) = check("demo_arm", log)[0]
    assert finding["code"] == "gravity-direction"
    assert np.degrees(np.arccos(np.dot(finding["remedy"]["gravity"], gravity) / 9.81**2)) < 15
    assert check("demo_arm", log, "--gravity", *map(str, gravity))[0] == []


@pytest.mark.slow
def test_reversed_currents_are_reported_whether_their_gain_is_known_or_not(arm, check):
    log = read_log(arm.train)
    gains = dict.fromkeys(arm.robot.joints, 10.0)
    currents = {f"current.{j}": log.columns[f"tau.{j}"] / 10 for j in arm.robot.joints}
    columns = {c: x for c, x in log.columns.items() if not c.startswith("tau.")} | currents
    for metadata in ({}, {"gains": gains}):
        good = Log(log.time, columns, metadata, log.source)
        assert check("demo_arm", good)[0] == []
        (finding,) = check("demo_arm", scaled("current.elbow_joint", -1.0)(good))[0]
        assert finding["where"].endswith(", current.elbow_joint")
        assert (finding["code"], finding["remedy"]) == ("sign-reversed", {"negate": "current.elbow_joint"})
    (finding,) = check("demo_arm", scaled("current.elbow_joint", 0.01)(good))[0]
    assert (finding["code"], finding["remedy"]["column"]) == ("torque-too-small", "current.elbow_joint")
    assert finding["remedy"]["scale"] == pytest.approx(100, rel=0.5)


def moved(arm, **scales):
    """A log of the arm in which some joints move less than the others: joint → share of its motion."""
    robot, rng = arm.robot, np.random.default_rng(8)
    t, *motion = fourier_motion(robot, rng, 12.0, 200.0)
    share = np.array([scales.get(joint, 1.0) for joint in robot.joints])
    middle = motion[0].mean(axis=0)
    q, v, a = middle + share * (motion[0] - middle), share * motion[1], share * motion[2]
    data = robot.model.createData()
    tau = np.array([pin.rnea(robot.model, data, *x) for x in zip(q, v, a, strict=True)])
    columns = {"time": t} | {f"q.{j}": q[:, k] for k, j in enumerate(robot.joints)}
    return Log.from_columns(columns | {f"tau.{j}": tau[:, k] for k, j in enumerate(robot.joints)})


@pytest.mark.parametrize("joint", ["elbow_joint", "wrist_1_joint", "shoulder_lift_joint"])
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_the_advice_is_to_move_a_joint_that_hardly_moves(arm, check, joint, share):
    findings, data = check("demo_arm", moved(arm, **{joint: share}))
    assert findings == []
    assert share > 0 or joint in data["facts"]["hardly moving"]
    assert data["excitation"]["advice"][0]["mover"] == joint
    assert f"move {joint} " in data["verdict"]
    helped = [w for w in data["excitation"]["weak"] if w["joint"] == joint]
    assert len(helped) > len(data["excitation"]["weak"]) / 4
    assert all(w["help"].startswith(f"move {joint} ") for w in helped)


def test_more_motion_excites_more_parameters_strongly(arm, check):
    still, lively = (check("demo_arm", moved(arm, elbow_joint=s))[1]["excitation"] for s in (0.0, 1.0))
    assert still["possible"] == lively["possible"]
    assert still["excited"] < lively["excited"] <= lively["possible"]
    assert still["strong"] < lively["strong"]
    assert len(still["weak"]) > len(lively["weak"])


@pytest.mark.slow
def test_the_advice_is_to_rotate_a_base_that_hardly_rotates(a1_robot, check):
    quiet = np.diag([1.0] * 3 + [0.02] * 3 + [1.0] * 12)
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=6, rate=200, noise=MID, mix=quiet)
    _, data = check("a1", log, "--feet", ",".join(FEET))
    asked = {w["help"] for w in data["excitation"]["weak"] if w["joint"] == "base"}
    assert any("rotate the base" in text for text in asked)


def test_lost_samples_are_counted_and_a_few_are_no_finding(arm, check):
    log = read_log(arm.train)
    few = lossy(0.03)(log)
    findings, data = check("demo_arm", few)
    assert findings == []
    assert data["timing"]["dropped"] == pytest.approx(len(log) - len(few), abs=2)
    assert data["timing"]["lost"] == pytest.approx(0.03, abs=0.01)
    assert data["facts"]["dropped"].startswith(f"{data['timing']['dropped']} samples")
    assert Timing.of(log).dropped == 0


def test_a_logger_that_catches_up_in_a_burst_has_lost_nothing(arm):
    log = read_log(arm.train)
    time = log.time.copy()
    for k in range(100, len(time), 100):
        time[k - 20 : k] = time[k] - 1e-5 * np.arange(20, 0, -1)
    assert Timing.of(replace(log, time=time)).dropped == 0


def test_samples_are_not_lost_in_a_pause(arm):
    log = read_log(arm.train)
    kept = np.abs(log.time - 6) > 1
    timing = Timing.of(replace(log, time=log.time[kept], columns={c: x[kept] for c, x in log.columns.items()}))
    assert (timing.gaps, timing.dropped) == (1, 0)
    assert timing.widest == pytest.approx(2, abs=0.02)


def test_a_joint_that_stops_is_not_frozen(arm, check):
    log = moved(arm, elbow_joint=0.0)
    assert np.ptp(log.columns["q.elbow_joint"]) == 0
    assert check("demo_arm", log)[0] == []


@pytest.mark.parametrize("key", ["imu_frame", "quaternion_frame"])
def test_the_frame_of_a_sensor_must_be_on_the_base(walking, check, key):
    _, log = walking
    feet = ("--feet", ",".join(FEET))
    (missing,) = check("a1", replace(log, metadata={key: "imu_lnk"}), *feet)[0]
    assert missing["where"].endswith(f", {key}")
    assert (missing["code"], missing["remedy"]) == ("name-unknown", {"name": "imu_link"})
    (elsewhere,) = check("a1", replace(log, metadata={key: "FR_foot"}), *feet)[0]
    assert elsewhere["where"].endswith(f", {key}")
    assert elsewhere["code"] == "frame-not-on-base"


@pytest.mark.parametrize("keys", [("imu_frame", "quaternion_frame"), ("quaternion_frame",), ("imu_frame",)])
def test_an_orientation_of_the_sensor_itself_is_compared_in_the_axes_of_the_base(walking, keys):
    robot, log = walking
    mounting = pin.rpy.rpyToMatrix(0.4, -0.7, 2.0)
    place = np.eye(4)
    place[:3, :3] = mounting
    robot = replace(robot, frames={**robot.frames, "sensor": Frame("sensor", 1, "base", place)})
    columns = {}
    if "imu_frame" in keys:
        for name in ("imu.gyro", "imu.acc"):
            columns |= zip((f"{name}.{c}" for c in "xyz"), mounting.T @ log.vector(name).T, strict=True)
    if "quaternion_frame" in keys:
        base = log.vector("base.quaternion", "xyzw")
        turned = [pin.Quaternion(*q[[3, 0, 1, 2]]) * pin.Quaternion(mounting) for q in base]
        columns |= zip((f"base.quaternion.{c}" for c in "xyzw"), np.array([q.coeffs() for q in turned]).T, strict=True)
    mounted = replace(changed(log, **columns), metadata=dict.fromkeys(keys, "sensor"))
    assert attitude_findings(robot, mounted) == []
    unmounted = attitude_findings(robot, replace(mounted, metadata={}))
    assert (unmounted == []) == (len(keys) == 2), "a rotation of both is a rotation of the base"
