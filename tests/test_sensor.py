"""Force–torque sensors: a cut changes nothing, readings are what mechanics says, tools and offsets come back."""

import itertools
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Options, identify, inertia
from steelyard.log import WRENCH, Log
from steelyard.read.description import read_description
from steelyard.regressor import Columns, Rows
from steelyard.robot import Robot
from steelyard.samples import Segment
from tests.motions import installed, parameters, physical, segment

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
    rows = Rows(robot, [part], columns, equations)
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
def test_a_cut_leaves_the_equations_of_base_and_joints_as_they_were(name):
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
def test_a_cut_shares_the_links_of_a_body_and_loses_none(name):
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
        found = ours[t, [names.index(row) for row in sensor.rows]]
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


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
    """An arm of MuJoCo's with a tilted sensor site between hand and tool; MuJoCo tells the wrench on the tool."""
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


def test_a_tool_is_weighed_by_a_wrist_sensor_of_mujoco_that_has_offsets(wrist):
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
    found = estimate.body("tool")
    assert found.verdict.worst == "identified"
    np.testing.assert_allclose(found.parameters, tool, rtol=0.02, atol=2e-5)
    error = np.abs(np.array(estimate.sensors["wrist"].offset) - offset)
    assert error[:3].max() < 0.02  # N
    assert error[3:].max() < 0.002  # N·m
    assert set(estimate.sensors["wrist"].verdicts) == {"identified"}
    assert {estimate.body(b).verdict.worst for b in ("upper", "fore", "hand")} == {"prior"}
