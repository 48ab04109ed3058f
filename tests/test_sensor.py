"""Force–torque sensors: a cut changes no equation, readings obey mechanics, tools and offsets are identified."""

import itertools
import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Options, identify, inertia
from steelyard.compose.prior import make
from steelyard.equations.columns import Columns
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import Foot, foot
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.estimate_json import estimate_json
from steelyard.identify.scoring import base_error
from steelyard.identify.sentence import sentence
from steelyard.identify.verdict import is_trusted
from steelyard.log.log import Log
from steelyard.log.table import write_log
from steelyard.robot import index
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH
from tests.floating import floating_log
from tests.motions import installed, parameters, physical, segment
from tests.refusals import noted

# robot → sensors in it: feet, arms with joints below them, a wrist, one below another, under an arm
CASES = {
    "icub": ("l_foot_ft_sensor", "r_arm_ft_sensor"),
    "a1": ("FR_foot", "RL_foot_fixed"),
    "talos": ("wrist_left_ft_joint", "gripper_left_base_link"),
    "panda": ("panda_hand_joint",),
    "ur10": ("world_joint",),
}


@lru_cache
def cut(name):
    return Robot.load(name, sensors=CASES[name], repair=name in ("icub", "talos"))


@lru_cache
def uncut(name):
    return Robot.load(name, repair=name in ("icub", "talos"))


def stacked(robot, part, equations, offsets=()):
    columns = Columns(tuple(b.name for b in robot.bodies), (), offsets)
    rows = Setup(robot, equations, columns).rows([part])
    (block,) = rows
    return rows.names, block


def whole(robot, cut_robot, values):
    """Parameters of the bodies of the uncut robot, summed over its parts."""
    sums = {}
    for body in robot.bodies:
        sums[body.name] = np.zeros(10)
    for part in cut_robot.bodies:
        frame = robot.frames[part.name]
        if frame.joint:  # else it stands on the world
            sums[robot.body(part.name).name] += inertia.transform(values[part.name], frame.placement)
    return np.concatenate([sums[b.name] for b in robot.bodies])


@installed
@pytest.mark.parametrize("name", CASES)
def test_a_cut_does_not_change_the_equations_of_base_and_joints(name):
    parted, robot = cut(name), uncut(name)
    rng = np.random.default_rng(0)
    values, part = parameters(parted, rng), segment(parted, rng)
    names, block = stacked(robot, part, "full")
    more, longer = stacked(parted, part, "full")
    assert more == names + parted.readings
    assert len(parted.readings) == 6 * len(CASES[name])
    assert parted.joints == robot.joints
    expected = block.Y @ whole(robot, parted, values)
    ours = longer.Y @ np.concatenate([values[b.name] for b in parted.bodies])
    np.testing.assert_allclose(ours[:, : len(names)], expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@installed
@pytest.mark.parametrize("name", CASES)
def test_a_cut_splits_the_links_of_a_body_and_loses_none(name):
    parted, robot = cut(name), uncut(name)
    for sensor in parted.sensors:
        below = parted.body(sensor.link)
        assert below.name == sensor.link
        assert below.joint == sensor.joint
    links = sorted(k for b in parted.bodies for k in b.links)
    on_world = {k for k in robot.description.links if robot.frames[k].joint == 0 and parted.frames[k].joint}
    assert links == sorted({k for b in robot.bodies for k in b.links} | on_world)
    values = parameters(parted, np.random.default_rng(1))
    for body in parted.bodies:  # what is written to the links of each part adds up to it, in its own frame
        shared = parted.inertials({body.name: values[body.name]})
        total = sum(inertia.transform(inertia.pack(*x), parted.frames[k].placement) for k, x in shared.items())
        np.testing.assert_allclose(total, values[body.name], rtol=1e-9, atol=1e-12)


def path(robot, part, t):
    """Positions of the model as a function of the seconds after sample t."""

    def q(x):
        moved = robot.positions((part.q[t] + x * part.v[t] + x * x * part.a[t] / 2)[None])[0]
        if not robot.floating:
            return moved
        turn = x * part.gyro[t] + x * x * part.alpha[t] / 2  # the base only turns about its origin
        return pin.integrate(robot.model, moved, np.concatenate([np.zeros(3), turn, np.zeros(robot.model.nv - 6)]))

    return q


def momentum(robot, values, below, q, when, h=1e-4):
    """Momentum of bodies, (6,) about the world's origin, by positions a moment before and after."""
    places, data = [], robot.model.createData()
    for state in (q(when - h), q(when + h)):
        pin.forwardKinematics(robot.model, data, state)
        places.append([data.oMi[robot.frames[b].joint] * pin.SE3(robot.frames[b].placement) for b in below])
    total = np.zeros(6)
    for body, early, late in zip(below, *places, strict=True):
        mass, com, I = inertia.unpack(values[body])
        p0, p1 = early.act(com), late.act(com)
        linear = mass * (p1 - p0) / (2 * h)
        middle = early.rotation @ pin.exp3(pin.log3(early.rotation.T @ late.rotation) / 2)
        spin = middle @ I @ middle.T @ pin.log3(late.rotation @ early.rotation.T) / (2 * h)
        total += np.concatenate([linear, spin + np.cross((p0 + p1) / 2, linear)])
    return total


@installed
@pytest.mark.parametrize("name", ["icub", "panda", "ur10"])
def test_a_reading_is_gravity_less_the_change_of_momentum_of_all_that_is_below(name):
    """Newton and Euler by positions alone: no cut, no velocity, no regressor."""
    parted, robot = cut(name), uncut(name)
    rng = np.random.default_rng(2)
    values, part = parameters(parted, rng), segment(parted, rng, samples=3)
    if robot.floating:
        part = replace(part, acc=np.tile([0, 0, 9.81], (3, 1)))
    names, block = stacked(parted, part, "full")
    ours = block.Y @ np.concatenate([values[b.name] for b in parted.bodies])
    data, h = robot.model.createData(), 1e-3
    for sensor, t in itertools.product(parted.sensors, range(3)):
        below = [b.name for b in parted.bodies if b.joint in list(parted.model.subtrees[sensor.joint])]
        q = path(robot, part, t)
        late, early = (momentum(robot, values, below, q, when) for when in (h, -h))
        pin.forwardKinematics(robot.model, data, q(0.0))
        gravity = np.zeros(6)
        for body in below:
            mass, com, _ = inertia.unpack(values[body])
            place = data.oMi[robot.frames[body].joint] * pin.SE3(robot.frames[body].placement)
            gravity += np.concatenate([mass * robot.gravity, np.cross(place.act(com), mass * robot.gravity)])
        at = robot.frames[sensor.link]
        on_above = pin.Force(gravity - (late - early) / (2 * h))
        expected = (data.oMi[at.joint] * pin.SE3(at.placement)).actInv(on_above).vector
        reading = ours[t, [names.index(row) for row in sensor.rows]]
        np.testing.assert_allclose(reading, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


MJCF = """<mujoco model="arm"><compiler angle="radian"/><option timestep="0.001" integrator="Euler"/>
<worldbody><body name="pedestal"><geom type="box" size=".1 .1 .05" mass="3"/>
 <body name="upper" pos="0 0 .2"><joint name="pan" axis="0 0 1"/>
  <geom type="capsule" size=".05 .1" mass="2"/>
  <body name="fore" pos="0 0 .2" euler="0 .3 0"><joint name="lift" axis="0 1 0"/>
   <geom type="capsule" size=".04 .1" pos=".05 0 .1" mass="1.5"/>
   <body name="hand" pos=".1 0 .2" euler=".2 0 .4"><joint name="roll" axis="1 0 0"/>
    <geom type="box" size=".03 .04 .05" mass=".6"/>
    <body name="tool" pos=".02 .01 .06" euler=".5 -.4 .3">
     <inertial pos=".01 -.02 .05" mass=".8" fullinertia=".004 .005 .003 .0005 -.0004 .0003"/>
     <site name="wrist" pos=".01 .02 -.01" euler=".7 .2 -.5"/>
 </body></body></body></body></body></worldbody>
<actuator><motor joint="pan"/><motor joint="lift"/><motor joint="roll"/></actuator>
<sensor><force site="wrist"/><torque site="wrist"/></sensor></mujoco>"""


@pytest.fixture
def wrist(tmp_path):
    """An arm of MuJoCo's with a tilted sensor site between hand and tool; MuJoCo measures the wrench on the tool."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the other engine")
    path = tmp_path / "arm.xml"
    path.write_text(MJCF)
    return mujoco, mujoco.MjModel.from_xml_string(MJCF), path


def test_a_reading_is_what_mujoco_reads_at_a_site(wrist):
    mujoco, model, path = wrist
    data = mujoco.MjData(model)
    robot = Robot.load(path, base="fixed", sensors=["wrist"])
    rng = np.random.default_rng(3)
    (q, v, a), readings = rng.normal(size=(3, 4, 3)), []
    for t in range(4):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[t], v[t], a[t]
        mujoco.mj_inverse(model, data)
        mujoco.mj_sensorAcc(model, data)
        readings.append(data.sensordata.copy())
    assert robot.joints == ("pan", "lift", "roll")
    part = Segment(np.arange(4.0), 1.0, q, v, a, None, {}, None, None, None, None, {})
    _, block = stacked(robot, part, "base")
    assert np.abs(readings).max() > 5
    np.testing.assert_allclose(block.Y @ robot.prior, -np.array(readings), rtol=0, atol=1e-9)


def test_a_tool_is_identified_from_a_wrist_sensor_of_mujoco_with_offsets(wrist):
    """Forward simulation under torques; the log has positions and the biased sensor, no torque."""
    mujoco, model, path = wrist
    rng = np.random.default_rng(4)
    tool = physical(rng, 1.5, 0.1)
    described = read_description(path)
    true = Robot.load(path, base="fixed", sensors=["wrist"]).inertials({"tool": tool})["tool"]
    b = model.body("tool").id
    w, V = np.linalg.eigh(true[2])
    V *= np.sign(np.linalg.det(V))
    model.body_mass[b], model.body_ipos[b], model.body_inertia[b] = true[0], true[1], w
    model.body_iquat[b] = np.roll(pin.Quaternion(V).coeffs(), 1)
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)
    offset, log = np.array([4.0, -3.0, 6.0, 0.2, -0.1, 0.3]), {"time": []}
    phase = rng.uniform(0, 6, (4, 3))
    for k in range(8000):
        t = k * model.opt.timestep
        frequency = np.array([0.5, 0.8, 1.3, 1.9])[:, None]
        goal = 0.5 * np.sum(np.sin(frequency * t * 3 + phase), axis=0)
        data.ctrl[:] = 60 * (goal - data.qpos) - 8 * data.qvel
        mujoco.mj_forward(model, data)
        log["time"].append(data.time)
        for j, name in enumerate(("pan", "lift", "roll")):
            log.setdefault(f"q.{name}", []).append(data.qpos[j])
        for c, x in zip(WRENCH, offset - data.sensordata, strict=True):
            log.setdefault(f"sensor.wrist.{c}", []).append(x)
        mujoco.mj_step(model, data)
    columns = {name: np.array(values)[1000:] for name, values in log.items()}
    result = identify(described, [Log.from_columns(columns, source="wrist")], Options(base="fixed"))
    estimate = result.estimate
    assert estimate.equations == "base"
    identified = estimate.body("tool")
    assert identified.source.worst == "data"
    np.testing.assert_allclose(identified.parameters, tool, rtol=0.02, atol=2e-5)
    error = np.abs(np.array(estimate.sensors["wrist"].offset) - offset)
    assert error[:3].max() < 0.02  # N
    assert error[3:].max() < 0.002  # N·m
    assert set(estimate.sensors["wrist"].sources) == {"data"}
    assert "data" not in {estimate.body(b).source.worst for b in ("upper", "fore", "hand")}


def test_two_sensors_in_one_weld_measure_the_same_wrench_in_their_own_axes(wrist):
    _, _, path = wrist
    robot = Robot.load(path, base="fixed", sensors=["wrist", "tool.weld"])
    assert robot.sensors[0].joint == robot.sensors[1].joint
    assert len(robot.bodies) == 4
    _, block = stacked(robot, segment(robot, np.random.default_rng(0)), "base")
    at = pin.SE3(robot.sensors[0].placement)
    for tilted, plain in (np.split(x, 2) for x in block.Y @ robot.prior):
        np.testing.assert_allclose(at.act(pin.Force(tilted)).vector, plain, rtol=0, atol=1e-12)


GUESS = """<link name="tool0"><inertial><origin xyz="0 0 0.05"/><mass value="1"/>
  <inertia ixx="0.002" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
OFFSET = np.array([4.0, -3.0, 6.0, 0.2, -0.1, 0.3])


@pytest.fixture(scope="module")
def tooled(tmp_path_factory):
    """The demonstration arm with a tool below a sensor, its truth, and a maker of logs."""
    path = tmp_path_factory.mktemp("tool") / "arm.urdf"
    path.write_text(index.find_description("demo_arm").read_text().replace('<link name="tool0"/>', GUESS))
    robot = Robot.load(path, sensors=["tool_joint"])
    truth = perturbed(robot, np.random.default_rng(1))

    def log(seed, drop=(), noise="low", source="run"):
        run = simulate_arm(robot, truth, seed=seed, seconds=8.0, noise=noise, source=source)
        columns = {name: x for name, x in run.columns.items() if not name.startswith(tuple(drop))}
        for row, x in zip(robot.readings, OFFSET, strict=True):
            if f"sensor.{row}" in columns:
                columns[f"sensor.{row}"] = columns[f"sensor.{row}"] + x
        return replace(run, columns=columns)

    return path, robot, truth, log


def test_torques_and_a_wrist_sensor_are_fitted_and_validated_together(tooled):
    path, robot, truth, log = tooled
    estimate = identify(path, [log(2)], validate=[log(3, source="other")]).estimate
    assert estimate.equations == "joint"
    assert list(estimate.fit.rmse) == [*robot.joints, *robot.readings]
    assert estimate.validation["other"].relative < 0.01
    np.testing.assert_allclose(estimate.sensors["tool_joint"].offset, OFFSET, atol=0.01)
    assert estimate.body("tool0").source.worst == "data"
    assert estimate.body("tool0").mass == pytest.approx(truth["tool0"][0], rel=1e-3)


def test_a_component_that_is_not_measured_has_no_row(tooled):
    path, _, truth, log = tooled
    drop = ("tau.", "sensor.tool_joint.mz", "sensor.tool_joint.fx")
    estimate = identify(path, [log(2, drop)]).estimate
    assert list(estimate.fit.rmse) == [f"tool_joint.{c}" for c in ("fy", "fz", "mx", "my")]
    sensor = estimate.sensors["tool_joint"]
    assert [x is None for x in sensor.offset] == [True, False, False, False, False, True]
    assert estimate_json(estimate)["sensors"]["tool_joint"]["offset"][0] is None
    assert estimate.body("tool0").mass == pytest.approx(truth["tool0"][0], rel=1e-3)


def test_measured_torques_need_not_be_used(tooled):
    path, _, truth, log = tooled
    estimate = identify(path, [log(2)], Options(equations="base")).estimate
    assert estimate.equations == "base"
    assert "torques-unused" in [n.code for n in estimate.notices]
    assert estimate.body("tool0").mass == pytest.approx(truth["tool0"][0], rel=1e-3)


def test_motor_currents_and_a_wrist_sensor_are_used_together(tooled):
    path, robot, truth, log = tooled
    run = log(2)
    columns = {n.replace("tau.", "current."): x / 12.0 if n.startswith("tau.") else x for n, x in run.columns.items()}
    estimate = identify(path, [replace(run, columns=columns)]).estimate
    assert set(estimate.joints) == set(robot.joints)
    assert estimate.body("tool0").mass == pytest.approx(truth["tool0"][0], rel=1e-2)


def test_the_command_line_shows_offsets_and_writes_each_part_to_its_own_links(tooled, steelyard, tmp_path):
    path, _, truth, log = tooled
    write_log(tmp_path / "log.parquet", log(2, ("tau.",)))
    looked = steelyard("check", path, tmp_path / "log.parquet")
    assert looked.code == 0, looked.out
    assert "sensors: tool_joint (fx fy fz mx my mz)" in looked.out
    assert "16 possible, 16 excited" in looked.out
    done = steelyard("identify", path, tmp_path / "log.parquet", "-o", tmp_path / "out")
    assert done.code == 0
    (row,) = [line for line in done.out.splitlines() if line.strip().startswith("tool_joint ")]
    assert float(row.split()[1]) == pytest.approx(OFFSET[0], abs=0.01)
    assert "±" in row
    written, described = (read_description(p).links for p in (tmp_path / "out" / "robot.urdf", path))
    assert written["tool0"].mass == pytest.approx(truth["tool0"][0], rel=1e-3)
    assert written["wrist_3_link"].mass == pytest.approx(described["wrist_3_link"].mass, rel=1e-6)
    saved = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert saved["sensors"]["tool_joint"]["offset"][2] == pytest.approx(OFFSET[2], abs=0.01)
    assert saved["sensors"]["tool_joint"]["sources"] == ["data"] * 6
    assert "Sensor offsets" in (tmp_path / "out" / "report.html").read_text()


def test_weight_and_offset_of_a_sensor_that_never_rotates_are_not_separated(tooled):
    """Under an arm gravity has one direction: only moving parts are identified, as the verdicts show."""
    path, _, _, _ = tooled
    heavy = path.with_name("base.urdf")
    heavy.write_text(path.read_text().replace('<link name="base_link">', '<link name="base_link">' + GUESS[19:-7]))
    robot = Robot.load(heavy, sensors=["world_joint"])
    truth = perturbed(robot, np.random.default_rng(1))
    run = simulate_arm(robot, truth, seed=2, seconds=8.0, noise="low")
    estimate = identify(heavy, [replace(run, columns=without(run, "tau."))]).estimate
    verdicts = dict(zip(WRENCH, estimate.sensors["world_joint"].sources, strict=True))
    assert verdicts["fz"] == verdicts["mx"] == verdicts["my"] == "prior"
    assert verdicts["fx"] == verdicts["fy"] == verdicts["mz"] == "data"
    assert estimate.body("base_link").source.mass == "prior"
    assert "base_link" in estimate.hidden
    assert is_trusted(estimate)
    assert estimate.count_base("body")[0] > 20, "what turns above the sensor shows its moments"


def without(log, *prefixes):
    return {name: x for name, x in log.columns.items() if not name.startswith(prefixes)}


A1_FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


@pytest.fixture(scope="module")
def walker():
    """An A1 with a sensor in every foot, its truth, offsets, and an exact log."""
    robot = Robot.load("a1", sensors=A1_FEET)
    rng = np.random.default_rng(0)
    truth = perturbed(robot, rng)
    offsets = {s: rng.normal(size=6) * [3, 3, 3, 0.2, 0.2, 0.2] for s in A1_FEET}
    log = floating_log(robot, truth, A1_FEET, rate=200.0, offsets=offsets, wrenches=True)
    return robot, truth, offsets, log


def missed(walker, result, feet):
    """Base-parameter error, offsets included, by what motion can show with these unknown forces."""
    robot, truth, offsets, _ = walker
    exact = np.concatenate([*(truth[b] for b in result.columns.bodies), *(offsets[s] for s in A1_FEET)])
    scale = make(robot, result.columns).scale
    return base_error(
        Setup(robot, result.estimate.equations, result.columns, tuple(feet)).structure(scale), result.theta, exact
    )


@pytest.mark.slow
@installed
@pytest.mark.parametrize(("drop", "equations"), [(("tau.", "wrench."), "base"), (("wrench.",), "contact-free")])
def test_sensors_in_the_feet_replace_contact_forces(walker, drop, equations):
    """Base parameters of all above the sensors and every offset come out; the feet below them never do."""
    robot, truth, offsets, log = walker
    result = identify(robot.description, [replace(log, columns=without(log, *drop))])
    estimate = result.estimate
    assert estimate.equations == equations
    assert ("feet-assumed", "FR_foot, FL_foot, RR_foot, RL_foot") in noted(estimate.notices)
    feet = tuple(Foot(robot.frames[s.link], True, 0.0, np.zeros(3)) for s in robot.sensors)
    assert missed(walker, result, feet) < 1e-4
    for sensor, offset in offsets.items():
        np.testing.assert_allclose(estimate.sensors[sensor].offset, offset, atol=2e-3)
    assert "data" not in {estimate.body(f).source.worst for f in A1_FEET}
    assert set(A1_FEET) <= set(estimate.hidden)
    for f in A1_FEET:
        np.testing.assert_allclose(estimate.body(f).parameters, robot.body(f).parameters, rtol=1e-6, atol=1e-9)
    total = estimate.total
    assert total.source == "prior"
    assert total.above.source == "data"
    assert total.above.mass == pytest.approx(sum(truth[b][0] for b in truth if b not in A1_FEET), abs=1e-4)
    assert "kg (data) above the sensors" in sentence(estimate)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("drop", [("tau.", "wrench."), ("wrench.",)], ids=["base", "contact-free"])
def test_a_point_foot_that_is_named_leaves_moments_that_show_the_foot_too(walker, drop):
    robot, truth, _, log = walker
    columns = without(log, *drop)
    result = identify(robot.description, [replace(log, columns=columns)], Options(feet=A1_FEET))
    assert missed(walker, result, [foot(robot, f) for f in A1_FEET]) < 1e-4
    assert result.estimate.total.source == "data"
    assert result.estimate.total.above is None
    assert result.estimate.body("FR_foot").mass == pytest.approx(truth["FR_foot"][0], rel=0.02)
    flags = {f"contact.{f}": np.ones(len(log)) for f in A1_FEET}
    flagged = identify(robot.description, [replace(log, columns=columns | flags)])
    np.testing.assert_allclose(flagged.theta, result.theta)
    assert ("feet-from-contacts", "FR_foot, FL_foot, RR_foot, RL_foot") in noted(flagged.estimate.notices)


@pytest.mark.slow
@installed
def test_check_finds_feet_whose_sensors_have_the_wrong_sign(walker, steelyard, tmp_path):
    _, _, _, log = walker
    for sign, code in ((1, 0), (-1, 3)):
        columns = {n: sign * x if n.startswith("sensor.") else x for n, x in without(log, "tau.", "wrench.").items()}
        write_log(tmp_path / "log.parquet", replace(log, columns=columns))
        done = steelyard("check", "a1", tmp_path / "log.parquet", "--json")
        assert done.code == code, done.out
        reversed_sign = [("sign-reversed", {"negate": "sensor"})] if sign < 0 else []
        assert [(f["code"], f["remedy"]) for f in json.loads(done.out)["findings"]] == reversed_sign


@pytest.mark.slow
@installed
def test_a_wrench_below_a_sensor_leaves_nothing_unknown(walker):
    robot, truth, _, log = walker
    result = identify(robot.description, [log])
    assert result.estimate.equations == "full"
    assert "feet-assumed" not in [n.code for n in result.estimate.notices]
    assert list(result.estimate.fit.rmse)[-24:] == list(robot.readings)
    assert missed(walker, result, ()) < 1e-4
    assert result.estimate.body("FR_foot").mass == pytest.approx(truth["FR_foot"][0], rel=0.01)


@installed
def test_an_imu_on_a_part_below_a_cut_is_still_on_the_base():
    """A cut is no joint: what is welded stays where it is."""
    robot, parted = uncut("a1"), Robot.load("a1", sensors=["imu_joint"])
    assert parted.frames["imu_link"].joint != 1
    np.testing.assert_allclose(parted.on_base(parted.frames["imu_link"]), robot.frames["imu_link"].placement)
    assert parted.on_base(parted.frames["FR_calf"]) is None
    assert robot.joints_above(robot.frames["FR_foot"].joint) == ["FR_calf_joint", "FR_thigh_joint", "FR_hip_joint"]
    foot_cut = Robot.load("a1", sensors=["FR_foot"])
    assert foot_cut.joints_above(foot_cut.frames["FR_foot"].joint) == [
        "FR_calf_joint",
        "FR_thigh_joint",
        "FR_hip_joint",
    ]
