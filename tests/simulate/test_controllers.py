"""Quadrupeds stand, sway and trot on controllers that know the description alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard.errors import UsageError
from steelyard.experiment.simulate.force_distribution import CONE, EDGES, STEPS, Plan, Predictive, distribute
from steelyard.experiment.simulate.legs import Legs
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.reference import AXES, each_axis, multisine, reach, sine
from steelyard.experiment.simulate.stand import Stand
from steelyard.experiment.simulate.trot import Trot, TrotCommand, effective_inertia, pairs
from steelyard.experiment.simulate.truth import perturbed
from steelyard.experiment.simulate.world import World
from steelyard.kernels import active_set
from steelyard.robot.build import build
from steelyard.robot.model import Robot
from tests.refusals import refuses
from tests.simulate.legged import QUADRUPEDS, quadruped

pytestmark = pytest.mark.slow


def run(world, controller, posture, seconds, period=0.002):
    """States at every control period, torques ramping from one command to the next."""
    world.reset(posture)
    tau, states, count = controller.torque(world.state), [], round(period / world.timestep)
    for _ in range(round(seconds / period)):
        states.append(world.state)
        wanted = controller.torque(states[-1])
        for i in range(count):
            world.step(tau + (wanted - tau) * i / count)
        tau = wanted
        assert not world.fallen, f"fell at {world.time:.2f} s"
    return states


def laden(robot, seed=1):
    """A robot of which nothing is as described, with a tenth of its mass off its middle."""
    mass = sum(b.parameters[0] for b in robot.bodies)
    load = Load.cuboid(robot.bodies[0].name, min(0.12 * mass, 2.0), (0.05, 0.02, 0.1))
    return World(robot, perturbed(robot, np.random.default_rng(seed)), loads=[load])


@pytest.mark.parametrize("name", QUADRUPEDS)
def test_legs_crouch_with_every_foot_below_its_hip(name):
    robot = quadruped(name)
    world = World(robot)
    legs = Legs(robot, world.feet)
    world.reset(legs.home)
    feet = legs.feet_at(world.state)
    below = (feet.centre - world.state.position) @ world.state.rotation
    assert np.allclose(below, legs.hips - [0, 0, legs.depth], atol=1e-8)
    assert np.allclose(feet.centre[:, 2], legs.radius, atol=1e-8)
    assert world.at_limits == 0


def test_velocities_and_accelerations_of_feet_follow_from_jacobians_and_bias():
    robot, rng = quadruped("a1"), np.random.default_rng(0)
    world, h = World(robot), 1e-5
    legs = Legs(robot, world.feet)
    v, a = rng.normal(size=18), rng.normal(size=18)
    q = np.concatenate([[0, 0, 1], [0, 0, 0, 1], legs.home])
    at = []
    for t in (-h, 0, h):
        now, speed = pin.integrate(robot.model, q, t * v + 0.5 * t**2 * a), v + t * a
        world.place(now[:3], now[3:7], now[7:], speed)
        at.append(legs.feet_at(world.state))
    assert np.allclose((at[2].centre - at[0].centre) / (2 * h), at[1].velocity, atol=1e-6)
    expected = at[1].jacobian @ a + at[1].bias
    assert np.allclose((at[2].velocity - at[0].velocity) / (2 * h), expected, atol=1e-5)


def test_forces_lie_in_their_friction_pyramids_and_sum_to_the_wrench():
    robot = quadruped("a1")
    world = World(robot)
    legs = Legs(robot, world.feet)
    world.reset(legs.home)
    feet = legs.feet_at(world.state)
    wrench = np.array([10.0, -5.0, 140.0, 1.0, -2.0, 0.5])
    f = distribute(legs, feet, wrench, np.ones(4, bool))
    assert np.allclose(sum(feet.contact[k, :, :6].T @ f[k] for k in range(4)), wrench, atol=0.05)
    assert np.all(np.abs(f[:, 0]) + np.abs(f[:, 1]) <= CONE * f[:, 2] + 1e-9)
    lame = distribute(legs, feet, wrench, np.array([True, False, True, True]))
    assert np.array_equal(lame[1], np.zeros(3))


def test_predicted_forces_are_those_of_the_same_problem_written_out():
    """Positions and velocities of a double integrator, stepped; friction pyramids; the same weights."""
    rng = np.random.default_rng(2)
    p, w = rng.uniform(1, 5, 6), rng.uniform(0.1, 1, 6)
    I, step, mass = np.diag([0.05, 0.2, 0.25]), 0.04, 12.0
    mpc = Predictive(mass, I, step, (p, w))
    plan = Plan(
        0.05 * rng.normal(size=(STEPS, 6)), 0.1 * rng.normal(size=(STEPS, 6)),
        rng.uniform(-0.2, 0.2, (STEPS, 4, 3)) - [0, 0, 0.3], rng.uniform(size=(STEPS, 4)) < 0.7,
    )  # fmt: skip
    x, v, drift = 0.02 * rng.normal(size=6), 0.1 * rng.normal(size=6), np.array([0, 0, -9.81, 0.1, -0.2, 0])
    first = mpc.forces(x, v, drift, np.eye(3), plan)

    def residual(forces):  # (N, 4, 4) λ → weighted errors
        at, speed, out = x.copy(), v.copy(), []
        for j in range(STEPS):
            f = np.where(plan.standing[j][:, None], forces[j] @ EDGES.T, 0)
            moment = np.cross(plan.lever[j], f).sum(axis=0)
            a = drift + np.concatenate([f.sum(axis=0) / mass, np.linalg.solve(I, moment)])
            at, speed = at + step * speed + 0.5 * step**2 * a, speed + step * a
            out += [np.sqrt(p) * (at - plan.position[j]), np.sqrt(w) * (speed - plan.velocity[j])]
        return np.concatenate(out)

    n = STEPS * 16
    zero = residual(np.zeros((STEPS, 4, 4)))
    A = np.column_stack([residual(e.reshape(STEPS, 4, 4)) - zero for e in np.eye(n)])
    G = A.T @ A
    used = np.flatnonzero(np.repeat(plan.standing.ravel(), 4))
    G = G[np.ix_(used, used)]
    ridge = 1e-6 * np.trace(G) / len(used) * np.eye(len(used))
    y, _ = active_set.solve(np.ascontiguousarray(G + ridge), np.ascontiguousarray(-(A.T @ zero)[used]))
    expected = np.zeros(n)
    expected[used] = y[0]
    assert np.allclose(first, expected.reshape(STEPS, 4, 4)[0] @ EDGES.T, atol=1e-5)


def test_motions_are_consistent_with_their_derivatives():
    h = 1e-5
    for motion in (each_axis(0.4, 6.0), multisine(0.4, np.random.default_rng(0)), sine("roll", 0.1, 2.0)):
        for t in (0.2, 0.7, 1.3, 2.9):
            before, now, after = motion(t - h), motion(t), motion(t + h)
            assert np.allclose((after.offset - before.offset) / (2 * h), now.rate, atol=1e-6)
            assert np.allclose((after.rate - before.rate) / (2 * h), now.acceleration, atol=1e-5)
    assert not motion(0.0).rate.any()
    alone = [np.flatnonzero(each_axis(0.4, 6.0)(k + 0.4).offset) for k in range(len(AXES))]
    assert [list(a) for a in alone] == [[k] for k in range(len(AXES))]
    assert np.all(reach(0.4, 3.0) <= reach(0.4, 0.5))


def test_an_unknown_load_neither_sinks_nor_tilts_a_standing_robot_for_long():
    robot = quadruped("a1")
    world = laden(robot)
    legs = Legs(robot, world.feet)
    last = run(world, Stand(legs, period=0.002), legs.home, 4.0)[-1]
    assert np.linalg.norm(pin.log3(last.rotation)) < np.radians(0.2)
    assert last.position[2] == pytest.approx(legs.depth + 0.02, abs=1e-3)
    assert np.linalg.norm(last.velocity) < 1e-3


@pytest.mark.parametrize("name", QUADRUPEDS)
def test_a_laden_robot_follows_sways_of_its_trunk_with_all_feet_on_the_ground(name):
    robot = quadruped(name)
    world = laden(robot)
    legs = Legs(robot, world.feet)
    motion = each_axis(legs.length, 3.0, 2.0)
    controller = Stand(legs, motion, period=0.002, start=1.5)
    states = run(world, controller, legs.home, 4.5)
    off = [s.position - controller.origin - motion(s.time - 1.5).offset[:3] for s in states[750:]]
    assert np.sqrt(np.mean(np.square(off))) < 0.01 * legs.length
    assert world.at_limits == 0


@pytest.mark.parametrize("name", QUADRUPEDS)
def test_a_laden_robot_trots_at_the_commanded_speed(name):
    robot = quadruped(name)
    world = laden(robot)
    legs = Legs(robot, world.feet)
    sway = multisine(legs.length, np.random.default_rng(1), 0.8)
    states = run(world, Trot(legs, TrotCommand(0.4), sway, period=0.002, start=1.0), legs.home, 4.0)
    late = states[1000:]
    assert np.mean([(s.rotation @ s.velocity)[0] for s in late]) == pytest.approx(0.4, abs=0.06)
    assert min(s.rotation[2, 2] for s in late) > np.cos(0.5)
    height = legs.depth + legs.radius.mean() - legs.hips[:, 2].mean()
    assert np.mean([s.position[2] for s in late]) == pytest.approx(height, abs=0.05 * legs.length)


@pytest.mark.parametrize(
    ("command", "seconds"), [(TrotCommand(0.5), 10.0), (TrotCommand(0.0), 3.0), (TrotCommand(0.2, 0.1, 0.5), 3.0)]
)
def test_a_trot_follows_its_command(command, seconds):
    robot = quadruped("a1")
    world = World(robot)
    legs = Legs(robot, world.feet)
    states = run(world, Trot(legs, command, period=0.002, start=0.5), legs.home, 0.5 + seconds)
    seconds = states[-1].time - states[500].time
    turned = pin.log3(states[500].rotation.T @ states[750].rotation)[2]
    assert turned == pytest.approx(command.turn * 0.5, abs=0.05)
    way = np.linalg.norm([s.velocity[:2] for s in states[500:]], axis=1).sum() * 0.002
    asked = np.hypot(command.forward, command.left) * seconds
    assert way == pytest.approx(asked, abs=0.1 * asked + 0.06 * seconds)


def test_a_trot_survives_bumps_and_slippery_ground():
    from steelyard.experiment.simulate.ground import Ground

    robot = quadruped("a1")
    for ground in (Ground(height=0.04, seed=1), Ground(grip=0.45)):
        world = World(robot, ground=ground)
        legs = Legs(robot, world.feet)
        states = run(world, Trot(legs, TrotCommand(0.3), period=0.002, start=0.5), legs.home, 4.0)
        assert states[-1].position[0] > 0.7


def test_the_effective_inertia_is_less_than_the_composite_one():
    robot = quadruped("a1")
    legs = Legs(robot, World(robot).feet)
    I, com = effective_inertia(legs)
    q = np.concatenate([np.zeros(6), [1.0], legs.home])
    data = robot.model.createData()
    pin.ccrba(legs.model, data, q, np.zeros(18))
    assert np.allclose(com, pin.centerOfMass(legs.model, data, q), atol=1e-12)
    assert np.all(np.linalg.eigvalsh(I) > 0)
    whole = np.zeros((3, 3))
    pin.forwardKinematics(robot.model, data, q)
    for body in robot.bodies:
        whole += data.oMi[body.joint].act(robot.model.inertias[body.joint]).matrix()[3:, 3:]
    mass = legs.mass
    whole -= mass * (com @ com * np.eye(3) - np.outer(com, com))
    assert np.linalg.eigvalsh(whole - I)[0] > 0


def test_diagonal_legs_step_together():
    hips = np.array([[0.2, 0.1], [0.2, -0.1], [-0.2, 0.1], [-0.2, -0.1]])
    assert list(pairs(hips)) == [0.0, 0.5, 0.5, 0.0]


def test_legs_that_cannot_trot_are_refused():
    robot = quadruped("a1")
    world = World(robot)
    with refuses(UsageError, "leg-unsuitable", "legs of a1"):
        Legs(robot, world.feet[:2])
    short = Robot.load("a1", lock={"FL_calf_joint": -1.5})
    with refuses(UsageError, "leg-unsuitable", "legs of a1"):
        Legs(short, World(short).feet)
    knee = replace(robot.description.joints["FL_calf_joint"], lower=-0.93)
    joints = {**robot.description.joints, knee.name: knee}
    stiff = build(replace(robot.description, joints=joints), base="floating")
    with refuses(UsageError, "posture-unreachable", "leg FL_foot of a1"):
        _ = Legs(stiff, World(stiff).feet).home
