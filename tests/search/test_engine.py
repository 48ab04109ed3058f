"""The engines' forward dynamics equal Pinocchio's and MuJoCo's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard.equations.columns import COULOMB_SPEED
from steelyard.errors import UsageError
from steelyard.experiment.search.prediction_engine import CompiledEngine, MujocoEngine
from steelyard.experiment.search.windows import Windows
from steelyard.experiment.simulate.truth import perturbed
from steelyard.robot.model import Robot
from tests.motions import installed

pytestmark = pytest.mark.numerical


def shaken(robot, integrator="euler", steps=8, count=20, ramp=False):
    """Windows of random states and torques."""
    rng, J = np.random.default_rng(3), len(robot.joints)
    q, v = rng.uniform(-1, 1, (count, J)), rng.normal(size=(count, J))
    torques = rng.normal(size=(count, steps + 1, J)) * np.geomspace(20, 0.05, J)
    return Windows(q, v, torques, 0 * q, 0 * v, 1e-3, ramp, integrator, np.zeros(count))


def candidates(robot, count=2):
    batch = []
    for seed in range(count):
        truth = perturbed(robot, np.random.default_rng(seed))
        batch.append([truth[b.name] for b in robot.bodies])
    return np.array(batch)


@pytest.mark.parametrize("name", ["puma560", "demo_arm"])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_the_compiled_simulator_ends_where_mujoco_does(name, integrator):
    pytest.importorskip("mujoco")
    robot = Robot.load(name)
    windows, parameters = shaken(robot, integrator), candidates(robot)
    ours, theirs = CompiledEngine(robot, windows), MujocoEngine(robot, windows)
    assert np.abs(ours.residuals(parameters) - theirs.residuals(parameters)).max() < 1e-10
    damped = np.zeros((4, len(robot.joints)))
    damped[0], damped[2] = 0.5, 0.3  # viscous friction, taken implicitly by Euler's steps, and rotors
    assert np.abs(ours.residuals(parameters, damped) - theirs.residuals(parameters, damped)).max() < 1e-10
    assert np.abs(ours.residuals(parameters, damped) - ours.residuals(parameters)).max() > 1e-3


def test_mujoco_on_several_threads_ends_where_it_does_on_one(puma):
    pytest.importorskip("mujoco")
    windows, parameters = shaken(puma.robot), candidates(puma.robot)
    one, two = MujocoEngine(puma.robot, windows), MujocoEngine(puma.robot, windows, threads=2)
    assert np.array_equal(one.residuals(parameters), two.residuals(parameters))


@installed
@pytest.mark.parametrize("name", ["panda", "double_pendulum", "ur5_gripper"])
def test_one_step_is_the_acceleration_that_newton_and_euler_ask_for_also_of_coupled_joints(name):
    robot = Robot.load(name)
    windows = shaken(robot, steps=1)
    parameters = np.array([[b.parameters for b in robot.bodies]])
    last = CompiledEngine(robot, windows).final_states(parameters)[0]
    model, data = robot.model, robot.model.createData()
    S = np.eye(model.nv) if robot.coupling is None else robot.coupling
    for k in range(len(windows)):
        q, v, after = windows.q[k], windows.v[k], last[k, len(robot.joints) :]
        a = (after - v) / windows.step
        needed = S.T @ pin.rnea(model, data, robot.positions(q[None])[0], S @ v, S @ a)
        assert np.allclose(needed, windows.torques[k, 0], atol=1e-8 * (1 + np.abs(needed).max()))


def test_torques_on_a_ramp_are_what_ever_finer_steps_tend_to(puma):
    windows = shaken(puma.robot, "rk4", steps=4, ramp=True)
    fine = 8
    nodes = np.arange(4 * fine + 1) / fine
    low = np.minimum(nodes.astype(int), 3)
    share = (nodes - low)[None, :, None]
    torques = (1 - share) * windows.torques[:, low] + share * windows.torques[:, low + 1]
    finer = replace(windows, torques=torques, step=windows.step / fine)
    held = replace(windows, ramp=False)
    ends = [CompiledEngine(puma.robot, w).final_states(puma.truth[None]) for w in (windows, finer, held)]
    assert np.abs(ends[0] - ends[1]).max() < 1e-4 * np.abs(ends[2] - ends[1]).max()


def test_friction_and_an_offset_are_torques_against_the_motion(puma):
    windows = shaken(puma.robot, steps=1)
    terms = np.zeros((4, 6))
    terms[1], terms[3] = [3, 5, 2, 0.1, 0.1, 0.01], [2, 1, 0.5, 0.01, 0.01, 0.001]
    against = terms[3] + terms[1] * windows.v / (np.abs(windows.v) + COULOMB_SPEED)
    moved = CompiledEngine(puma.robot, replace(windows, torques=windows.torques - against[:, None]))
    engine = CompiledEngine(puma.robot, windows)
    assert np.allclose(engine.final_states(puma.truth[None], terms), moved.final_states(puma.truth[None]), atol=1e-12)


def test_a_floating_robot_is_simulated_with_its_feet_on_the_ground_and_predicts_its_own_motion():
    pytest.importorskip("mujoco")
    from steelyard.experiment.simulate.legs import find_feet
    from steelyard.experiment.simulate.world import World

    robot = Robot.load("demo_a1")
    feet = find_feet(robot)
    world = World(robot, feet=feet, timestep=1e-3)
    world.reset(np.tile([0.0, 0.8, -1.6], 4), clearance=0.002)
    rows = []
    for k in range(60):
        tau = np.tile([0.3, 2.0, -6.0], 4) * np.sin(k / 9)
        rows.append((world.state, tau))
        world.step(tau)
    base = np.array([np.concatenate([s.position, s.quaternion, s.velocity, s.angular_velocity]) for s, _ in rows])
    q, v, tau = (np.array(x) for x in ([s.q for s, _ in rows], [s.v for s, _ in rows], [t for _, t in rows]))
    begins = np.array([0, 20, 40])
    torques = np.array([tau[k : k + 11] for k in begins])
    windows = Windows(
        q[begins], v[begins], torques, q[begins + 10], v[begins + 10], 1e-3, False, "euler", np.zeros(3),
        base[begins], base[begins + 10],
    )  # fmt: skip
    engine = MujocoEngine(robot, windows, feet)
    true = np.array([b.parameters for b in robot.bodies])
    heavy = true.copy()
    heavy[0] *= 1.2
    r = engine.residuals(np.array([true, heavy]))
    assert r.shape == (2, 3, 36)
    assert np.abs(r[0]).max() < 1e-6  # contacts are solved iteratively
    assert np.abs(r[1]).max() > 1e-3


def test_robots_and_friction_that_an_engine_does_not_support_are_refused(puma):
    floating = Robot.load("demo_a1")
    with pytest.raises(UsageError) as refused:
        CompiledEngine(floating, shaken(floating))
    finding = refused.value.findings[0]
    assert (finding.code, finding.where, finding.remedy) == ("engine-unsupported", floating.name, {"engine": "mujoco"})
    pytest.importorskip("mujoco")
    engine = MujocoEngine(puma.robot, shaken(puma.robot))
    with pytest.raises(UsageError) as refused:
        engine.residuals(puma.truth[None], np.ones((4, 6)))
    finding = refused.value.findings[0]
    remedy = {"engine": "compiled"}
    assert (finding.code, finding.where, finding.remedy) == ("engine-unsupported", "engine=mujoco", remedy)


@installed
def test_coupled_joints_are_refused_by_mujocos_engine():
    pytest.importorskip("mujoco")
    robot = Robot.load("panda")
    with pytest.raises(UsageError) as refused:
        MujocoEngine(robot, shaken(robot))
    assert [(f.code, f.where) for f in refused.value.findings] == [("joints-coupled", "panda")]
