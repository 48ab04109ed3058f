"""MuJoCo's robot is Pinocchio's robot: same mass matrix, same bias, same equation with feet on the ground."""

from __future__ import annotations

import sys

import numpy as np
import pinocchio as pin
import pytest

from steelyard import inertia
from steelyard.errors import UsageError
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.legs import find_feet
from steelyard.experiment.simulate.loads import Load, add_loads
from steelyard.experiment.simulate.simulate_arm import Friction
from steelyard.experiment.simulate.truth import perturbed
from steelyard.experiment.simulate.world import World
from steelyard.robot.model import Robot
from tests.refusals import refuses
from tests.simulate.legged import QUADRUPEDS, quadruped


def crouched(robot: Robot) -> np.ndarray:
    """Some posture inside all limits, knees bent."""
    middle = [np.clip(0.0, max(j.lower, -3), min(j.upper, 3)) for j in map(robot.description.joints.get, robot.joints)]
    bend = {"thigh": 0.8, "calf": -1.6, "HFE": 0.8, "KFE": -1.6}
    return np.array(
        [next((b for k, b in bend.items() if k in j), m) for j, m in zip(robot.joints, middle, strict=True)]
    )


def true_model(world: World) -> pin.Model:
    model = world.robot.model.copy()
    for body in world.robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(world.truth[body.name])
    return model


def random_state(robot: Robot, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Configuration inside the joints' limits, well above the ground, and velocities, as Pinocchio has them."""
    q = crouched(robot) + 0.1 * rng.uniform(-1, 1, len(robot.joints))
    limits = [robot.description.joints[j] for j in robot.joints]
    q = np.clip(q, [j.lower + 0.05 for j in limits], [j.upper - 0.05 for j in limits])
    quaternion = rng.normal(size=4)
    place = np.concatenate([rng.normal(size=2), [5.0], quaternion / np.linalg.norm(quaternion)])
    return np.concatenate([place, q]), rng.normal(size=6 + len(q))


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("name", QUADRUPEDS)
def test_mass_matrix_and_bias_are_those_of_pinocchio(name, loaded):
    import mujoco

    robot, rng = quadruped(name), np.random.default_rng(3)
    loads = [
        Load.cuboid(robot.bodies[0].name, 1.3, (0.05, -0.02, 0.1)),
        Load.cuboid(robot.bodies[-1].name, 0.2, (0,) * 3),
    ]
    world = World(robot, perturbed(robot, rng), loads=loads if loaded else ())
    model = true_model(world)
    data, n = model.createData(), model.nv
    for _ in range(3):
        q, v = random_state(robot, rng)
        world.place(q[:3], q[3:7], q[7:], v)
        state = world.state
        assert np.allclose(pin.rnea(model, data, q, v, state.accelerations), 0, atol=1e-9 * 9.81 * 30)
        R, turned = state.rotation, np.zeros((n, n))  # v_mujoco = turned · v_pinocchio
        turned[:3, :3], turned[3:6, 3:6] = R, np.eye(3)
        turned[world._v, 6 + np.arange(len(robot.joints))] = 1.0
        M = np.zeros((n, n))
        for k, unit in enumerate(np.eye(n)):
            mujoco.mj_mulM(world.model, world.data, M[k], unit)
        rest = pin.rnea(model, data, q, v, np.zeros(n))
        still = pin.rnea(model, data, q, np.zeros(n), np.zeros(n))
        expected = np.array([pin.rnea(model, data, q, np.zeros(n), unit) - still for unit in np.eye(n)])
        assert np.allclose(turned.T @ M @ turned, expected, atol=1e-9)
        turning = np.concatenate([R @ np.cross(v[3:6], v[:3]), np.zeros(n - 3)])
        assert np.allclose(turned.T @ (M @ turning + world.data.qfrc_bias), rest, atol=1e-9 * 9.81 * 30)


@pytest.mark.parametrize("name", QUADRUPEDS)
def test_the_equation_of_motion_holds_at_every_instant_with_feet_on_the_ground(name):
    robot, rng = quadruped(name), np.random.default_rng(1)
    J = len(robot.joints)
    friction = Friction(*(rng.uniform(0.01, 0.05, J) for _ in range(4)))
    friction = Friction(friction.viscous, 0 * friction.coulomb, friction.armature, friction.offset)
    world = World(robot, perturbed(robot, rng), friction=friction)
    model = true_model(world)
    data, q0, touched = model.createData(), crouched(robot), 0
    world.reset(q0, clearance=0.02)
    for k in range(400):
        state = world.state
        tau = 20 * (q0 - state.q) - 0.5 * state.v + 0.2 * np.sin(0.1 * k + np.arange(J))
        world.apply(tau)
        state, foot_contacts = world.state, world.foot_contacts
        left = pin.rnea(model, data, state.configuration, state.motion, state.accelerations)
        left[6:] += friction.torque(state.v, state.a)
        right = np.concatenate([np.zeros(6), tau])
        pin.computeJointJacobians(model, data, state.configuration)
        for foot, touch in zip(world.feet, foot_contacts, strict=True):
            point = data.oMi[foot.frame.joint].actInv(touch.point)
            at = pin.Frame("", foot.frame.joint, pin.SE3(np.eye(3), point), pin.OP_FRAME)
            Jf = pin.getJointJacobian(model, data, foot.frame.joint, pin.LOCAL)
            right += (at.placement.toActionMatrixInverse() @ Jf)[:3].T @ (
                data.oMi[foot.frame.joint].rotation.T @ touch.force
            )
            touched += touch.force[2] > 0
        assert np.allclose(left, right, atol=1e-8 * 9.81 * 30)
        world.step()
    assert touched > 400


def test_a_standing_robot_weighs_what_it_and_its_load_weigh():
    robot = quadruped("a1")
    world = World(robot, loads=[Load.cuboid("trunk", 2.0, (0, 0, 0.1))])
    q = crouched(robot)
    world.reset(q)
    for _ in range(4000):
        world.step(200 * (q - world.q) - 4 * world.v)
    total = sum(p[0] for p in world.truth.values())
    assert total == pytest.approx(sum(b.parameters[0] for b in robot.bodies) + 2.0)
    assert sum(t.force for t in world.foot_contacts) == pytest.approx([0, 0, 9.81 * total], abs=1e-3 * 9.81 * total)
    assert np.linalg.norm(world.state.acceleration) < 1e-2
    assert not world.fallen


def test_feet_sink_into_the_ground_by_less_than_a_third_of_a_millimetre():
    robot = quadruped("a1")
    world = World(robot)
    q = crouched(robot)
    world.reset(q)
    for _ in range(2000):
        world.step(200 * (q - world.q) - 4 * world.v)
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, world.state.configuration)
    for foot, touch in zip(world.feet, world.foot_contacts, strict=True):
        centre = data.oMi[foot.frame.joint].act(foot.centre)
        assert centre[2] - foot.radius == pytest.approx(0, abs=3e-4)
        assert touch.point == pytest.approx(centre - [0, 0, foot.radius], abs=3e-4)


def test_a_push_accelerates_a_robot_in_free_fall_by_force_over_mass():
    robot = quadruped("a1")
    world = World(robot)
    world.reset(crouched(robot), clearance=1.0)
    mass = sum(b.parameters[0] for b in robot.bodies)
    model, data = true_model(world), robot.model.createData()
    world.push("trunk", np.array([3.0, -1.0, 2.0]), at=(0.1, 0.0, 0.05))
    state = world.state
    pin.centerOfMass(model, data, state.configuration, state.motion, state.accelerations)
    assert data.acom[0] == pytest.approx(np.array([3.0, -1.0, 2.0]) / mass + [0, 0, -9.81], abs=1e-9)
    world.release()
    state = world.state
    pin.centerOfMass(model, data, state.configuration, state.motion, state.accelerations)
    assert data.acom[0] == pytest.approx([0, 0, -9.81], abs=1e-9)


def test_velocities_come_back_as_they_were_placed():
    robot, rng = quadruped("a1"), np.random.default_rng(4)
    world = World(robot)
    q, v = random_state(robot, rng)
    world.place(q[:3], q[3:7], q[7:], v)
    assert np.allclose(world.state.configuration, q)
    assert np.allclose(world.state.motion, v)


def test_a_robot_that_drops_its_torques_falls_on_its_trunk():
    robot = quadruped("a1")
    world = World(robot)
    world.reset(crouched(robot))
    assert not world.fallen
    world.step(np.zeros(12), count=3000)
    assert world.fallen


def test_rough_ground_is_level_at_the_origin_and_as_high_as_asked_for():
    ground = Ground(height=0.04, seed=2)
    heights = ground.heights()
    assert heights.min() == pytest.approx(0)
    assert heights.max() == pytest.approx(0.04)
    assert np.ptp(heights[115:126, 115:126]) < 1e-12
    robot = quadruped("a1")
    world = World(robot, ground=ground)
    q = crouched(robot)
    world.reset(q)
    for _ in range(1000):
        world.step(200 * (q - world.q) - 4 * world.v)
    assert world.state.position[2] == pytest.approx(World(robot).ground.level + 0.27, abs=0.05)
    # weight of the A1 that is simulated, 13.741 kg by its description; 2 % for motion that remains
    assert sum(t.force[2] for t in world.foot_contacts) == pytest.approx(9.81 * 13.741, rel=0.02)


def test_a_load_adds_its_own_parameters_to_its_carrier_alone():
    robot = quadruped("a1")
    load = Load.parse("1.5@imu_link:0.1,0,0.2:0.08,0.06,0.04")
    total = add_loads(robot, {}, [load])
    share = total["base"] - robot.body("base").parameters
    mass, com, I = inertia.unpack(share)
    assert mass == pytest.approx(1.5)
    assert com == pytest.approx([0.1, 0, 0.2])
    assert np.diag(I) == pytest.approx(1.5 / 12 * np.array([0.06**2 + 0.04**2, 0.08**2 + 0.04**2, 0.08**2 + 0.06**2]))
    assert all(np.array_equal(total[b.name], b.parameters) for b in robot.bodies if b.name != "base")
    same = Load.body("imu_link", 1.5, (0.1, 0, 0.2), I)
    assert same.parameters == pytest.approx(load.parameters)


@pytest.mark.parametrize("text", ["1kg@trunk:0,0,0", "1@trunk", "-1@trunk:0,0,0", "1@trunk:0,0", "1@trunk:0,0,0:1,1,0"])
def test_a_malformed_load_is_refused(text):
    with refuses(UsageError, "option-value", f"load={text}"):
        Load.parse(text)


def test_feet_are_balls_or_links_called_so():
    assert set(find_feet(quadruped("a1"))) == {"FL_foot", "FR_foot", "RL_foot", "RR_foot"}
    assert find_feet(quadruped("solo12"))[0] == "FL_FOOT:point:0.0160"
    assert find_feet(Robot.load("demo_arm")) == ()


def test_a_robot_that_cannot_be_simulated_is_refused_with_every_reason(monkeypatch):
    with refuses(UsageError, "base-fixed", remedy={"motion": "fourier"}):
        World(Robot.load("demo_arm"))
    with refuses(UsageError, "feet-missing", remedy={"feet": None}):
        World(Robot.load("demo_arm", base="floating", repair=True))
    with pytest.raises(UsageError) as refused:
        World(quadruped("a1"), feet=["FL_foot:surface", "FR_calf", "RR_foot"])
    findings = [(f.code, f.where) for f in refused.value.findings]
    assert findings == [("foot-not-ball", "feet=FL_foot:surface"), ("foot-not-ball", "feet=FR_calf")]
    with refuses(UsageError, "joints-coupled"):
        World(Robot.load("a1", sensors=["FR_foot_fixed"]))
    with refuses(UsageError, "option-value", "height -0.1 m"):
        Ground(height=-0.1)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with refuses(UsageError, "package-missing", "mujoco", {"install": "steelyard[sim]"}):
        World(quadruped("a1"))


def test_dry_friction_holds_a_joint_until_the_torque_exceeds_it():
    robot = quadruped("a1")
    J = len(robot.joints)
    friction = Friction(np.zeros(J), np.full(J, 0.5), np.zeros(J), np.zeros(J))
    world = World(Robot.load("a1", gravity=(0, 0, 0)), friction=friction)
    for torque, moves in ((0.4, False), (0.8, True)):
        world.reset(crouched(robot), clearance=1.0)
        tau = np.zeros(J)
        tau[robot.joints.index("FL_calf_joint")] = torque
        world.step(tau, count=100)
        speed = abs(world.v[robot.joints.index("FL_calf_joint")])
        assert (speed > 0.1) == moves
        assert moves or speed < 0.01
