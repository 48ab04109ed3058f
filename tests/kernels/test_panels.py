"""Panels, forces and places: laws that need no second engine, and Pinocchio and MuJoCo where they do."""

import numpy as np
import pinocchio as pin
import pytest

from steelyard.equations.dynamics import Dynamics
from steelyard.kernels import forces, warm_up
from steelyard.kernels import kinematics as lanes
from steelyard.kernels.dense import regressor as dense
from steelyard.kernels.panels import Panels
from steelyard.kernels.tree import LANES, aligned
from steelyard.output.mjcf_writer import to_mjcf
from steelyard.robot.flat_tree import flat_tree
from steelyard.robot.model import Robot
from tests.motions import installed, load, parameters, segment

pytestmark = pytest.mark.numerical

SOME = ("a1", "talos", "g1", "panda", "ur10", "pr2")


def rows(robot, tree, part):
    """(T, 6 + joints, 10·N) of all nodes, from the panels alone."""
    states, panels, T = tree.states(part, 32), Panels(tree, 32), len(part.time)
    Y = np.zeros((len(states) * LANES, 6 + len(tree.rows), 10 * tree.bodies))
    for t in range(0, len(Y), 32):
        panels.fill(states, t // LANES)
        if tree.floating:
            Y[t : t + 32, :6] = panels.base.reshape(-1, 2, 6, LANES).transpose(1, 3, 2, 0).reshape(32, 6, -1)
        for j, panel in enumerate(panels.joint):
            Y[t : t + 32, 6 + j, panels.at(j)] = panel.T
    assert not Y[T:].any(), "what fills up a batch makes rows of zeros"
    return Y[:T]


@installed
@pytest.mark.parametrize("name", SOME)
def test_panels_have_the_layout_they_are_documented_with(name):
    robot = load(name)
    tree, part = flat_tree(robot), segment(robot, np.random.default_rng(0), samples=50)
    dynamics = Dynamics(robot, part)
    order = sorted((node, joint) for joint, node in tree.joints.items() if joint)
    at = np.concatenate([10 * (joint - 1) + np.arange(10) for _, joint in order])
    Y = rows(robot, tree, part)[:, 0 if robot.floating else 6 :]
    for t, state in enumerate(zip(*dynamics.states, strict=True)):
        expected = pin.computeJointTorqueRegressor(dynamics.model, dynamics.data, *state)[:, at]
        np.testing.assert_allclose(Y[t], expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@installed
@pytest.mark.parametrize("name", SOME)
def test_grams_of_panels_add_up_to_that_of_all_rows(name):
    robot = load(name)
    tree, part = flat_tree(robot), segment(robot, np.random.default_rng(1), samples=64)
    Y, target = rows(robot, tree, part), np.random.default_rng(2).normal(size=(64, 6 + len(tree.rows)))
    panels = Panels(tree, 64)
    panels.fill(tree.states(part, 64))
    G, c = panels.base @ panels.base.T, panels.base @ panels.columns(target[:, :6])
    if not tree.floating:
        G, c = np.zeros((10 * tree.bodies,) * 2), np.zeros(10 * tree.bodies)
        target[:, :6] = 0
    for j, panel in enumerate(panels.joint):
        at = panels.at(j)
        G[at, at] += panel @ panel.T
        c[at] += panel @ target[:, 6 + j]
    np.testing.assert_allclose(G, np.einsum("tci,tcj->ij", Y, Y), rtol=0, atol=1e-12 * np.abs(G).max())
    np.testing.assert_allclose(c, np.einsum("tci,tc->i", Y, target), rtol=0, atol=1e-12 * np.abs(c).max())


@installed
@pytest.mark.parametrize("name", SOME)
def test_forces_of_known_bodies_are_panels_times_parameters_and_pinocchios(name):
    robot, rng = load(name), np.random.default_rng(3)
    tree, part, values = flat_tree(robot), segment(robot, rng, samples=40), parameters(robot, rng)
    theta = np.zeros((tree.bodies, 10))
    model = robot.model.copy()
    for body in robot.bodies:
        theta[tree.nodes[body.name] - 1] = values[body.name]
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(values[body.name])
    computed = forces.generalised(tree, tree.states(part), theta)[:40]
    Y = rows(robot, tree, part)
    expected = Y @ theta.ravel()
    first = 0 if robot.floating else 6
    np.testing.assert_allclose(computed[:, first:], expected[:, first:], rtol=0, atol=1e-12 * np.abs(expected).max())
    dynamics = Dynamics(robot, part)
    model.gravity.linear = dynamics.model.gravity.linear
    data = model.createData()
    rnea = np.array([pin.rnea(model, data, *state) for state in zip(*dynamics.states, strict=True)])
    np.testing.assert_allclose(computed[:, first:], rnea, rtol=0, atol=1e-12 * np.abs(rnea).max())


@installed
@pytest.mark.parametrize("name", ["ur10", "z1"])
def test_forces_of_arms_are_mujocos_inverse_dynamics(name):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the second engine")
    robot, rng = load(name), np.random.default_rng(4)
    tree, part, values = flat_tree(robot), segment(robot, rng, samples=10), parameters(robot, rng)
    model = mujoco.MjModel.from_xml_string(
        to_mjcf(robot.description, robot.inertials(values), base="fixed", comment="test")
    )
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_armature[:] = model.dof_damping[:] = model.dof_frictionloss[:] = 0
    data = mujoco.MjData(model)
    theta = np.zeros((tree.bodies, 10))
    for body in robot.bodies:
        theta[tree.nodes[body.name] - 1] = values[body.name]
    computed = forces.generalised(tree, tree.states(part), theta)[:10, 6:]
    order = [model.joint(j).dofadr[0] for j in robot.joints]
    for t in range(10):
        data.qpos[order], data.qvel[order], data.qacc[order] = part.q[t], part.v[t], part.a[t]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(computed[t], data.qfrc_inverse[order], rtol=0, atol=1e-9 * np.abs(computed[t]).max())


@installed
@pytest.mark.parametrize("name", ["a1", "panda"])
def test_jacobians_are_how_placed_points_move(name):
    """A step along each coordinate, by poses alone."""
    robot, rng = load(name), np.random.default_rng(5)
    tree, part = flat_tree(robot), segment(robot, rng, samples=3)
    frame = robot.frames[robot.bodies[-1].name]
    motion = forces.Kinematics(tree, tree.states(part), 3)
    x, J = motion.pose(frame.joint, frame.placement)[1], motion.jacobian(frame.joint)
    lead = 6 if robot.floating else 0
    linear = J[:, :3] + np.cross(J[:, 3:], x[:, :, None], axis=1)
    for k in range(len(robot.joints)):
        ends = []
        for step in (1e-6, -1e-6):
            q = part.q.copy()
            q[:, k] += step
            states = tree.states(
                segment(robot, np.random.default_rng(5), samples=3).__class__(**{**vars(part), "q": q})
            )
            ends.append(forces.Kinematics(tree, states, 3).pose(frame.joint, frame.placement)[1])
        np.testing.assert_allclose(linear[:, :, lead + k], (ends[0] - ends[1]) / 2e-6, rtol=0, atol=1e-8)


def test_sine_and_cosine_are_exact_after_many_turns():
    q = aligned(LANES)
    out = aligned(2 * LANES)
    rng = np.random.default_rng(6)
    for size in (1e-300, 1e-9, 1.0, 10.0, 1e3, 1e6):
        for _ in range(200):
            q[:] = size * rng.uniform(-1, 1, LANES)
            lanes._sincos(q, out)
            np.testing.assert_allclose(out[:LANES], np.sin(q), rtol=0, atol=5e-16)
            np.testing.assert_allclose(1 - out[LANES:], np.cos(q), rtol=0, atol=5e-16)
    q[:4] = 0.0, np.pi, -np.pi / 2, 2 * np.pi
    lanes._sincos(q, out)
    np.testing.assert_allclose(out[:4], np.sin(q[:4]), rtol=0, atol=2e-16)


@installed
def test_a_sample_that_is_no_number_spoils_its_own_lane_alone():
    robot = load("a1")
    tree, part = flat_tree(robot), segment(robot, np.random.default_rng(7), samples=16)
    clean, panels = Panels(tree, 16), Panels(tree, 16)
    clean.fill(tree.states(part))
    part.q[5] = np.nan
    panels.fill(tree.states(part))
    others = [t for t in range(16) if t != 5]
    for ours, theirs in zip(panels.joint, clean.joint, strict=True):
        np.testing.assert_array_equal(ours[:, others], theirs[:, others])
        assert np.isnan(ours[:, 5]).any()


@pytest.mark.slow
def test_warm_up_leaves_nothing_to_compile():
    from steelyard.kernels import dense as spreading
    from steelyard.kernels import leg_elimination, panels

    warm_up()
    kernels = (panels.fill, forces.forces, forces.places, leg_elimination.eliminate, spreading.spread)
    before = [len(k.signatures) for k in kernels]
    robot = load("demo_arm")
    tree, part = flat_tree(robot), segment(robot, np.random.default_rng(8), samples=5)
    dense(tree, tree.states(part, 64), [b.name for b in robot.bodies], np.zeros((5, 6, 60)))
    forces.generalised(tree, tree.states(part), np.zeros((tree.bodies, 10)))
    assert [len(k.signatures) for k in kernels] == before == [1] * 5


@installed
def test_a_body_without_mass_of_its_own_has_its_place_in_the_panels():
    robot = Robot.load("ur10")
    tree = flat_tree(robot)
    assert set(tree.nodes) == {b.name for b in robot.bodies}
    assert tree.table[0].tolist() == [1, 6, 0]
