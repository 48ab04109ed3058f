"""Rows times parameters are the forces that two independent engines compute, whatever the parameters."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard.equations import rows as regressor
from steelyard.equations.columns import COULOMB_SPEED, FRICTION, Columns
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.filters import Filter, lowpass
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import foot
from steelyard.output.mjcf_writer import to_mjcf
from tests.motions import FLOATING, ROBOTS, installed, load, parameters, rotation, segment, smooth

pytestmark = pytest.mark.numerical


def columns(robot, *terms):
    return Columns(tuple(b.name for b in robot.bodies), tuple(terms))


def vector(robot, values):
    return np.concatenate([values[b.name] for b in robot.bodies])


def stacked(rows):
    blocks = list(rows)
    return np.concatenate([b.Y for b in blocks]), np.concatenate([b.target for b in blocks])


def equal(ours, theirs, tolerance=1e-9):
    """To a share of the largest generalised force of the sample."""
    error = np.abs(ours - theirs).max(axis=1) / np.abs(theirs).max(axis=1)
    assert error.max() < tolerance, error


def world_states(robot, part, rng):
    """Poses, positions and velocities of the base, freely chosen: none of them may matter."""
    for t in range(len(part.time)):
        yield t, rotation(rng), rng.normal(size=3), rng.normal(size=3)


def pinocchio_forces(robot, values, part, rng, external=None):
    """RNEA with gravity and the base somewhere, turned, moving; forces on the base in base axes."""
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(values[body.name])
    data = model.createData()
    S = np.eye(model.nv) if robot.coupling is None else robot.coupling
    lead = 6 if robot.floating else 0
    out = []
    for t, R, p, v in world_states(robot, part, rng):
        q, dq, ddq = (S[lead:, lead:] @ x[t] for x in (part.q, part.v, part.a))
        q = q + robot.mimic_offset
        if robot.floating:
            acceleration = (
                part.acc[t] + R.T @ model.gravity.linear - np.cross(part.gyro[t], v)
            )  # spatial, v in base axes
            q = np.concatenate([p, pin.Quaternion(R).coeffs(), q])
            dq = np.concatenate([v, part.gyro[t], dq])
            ddq = np.concatenate([acceleration, part.alpha[t], ddq])
        forces = pin.StdVec_Force()
        for _ in range(model.njoints):
            forces.append(pin.Force.Zero())
        for name, wrench in (external or {}).items():
            frame = robot.frame(name)
            forces[frame.joint] += pin.SE3(frame.placement).act(pin.Force(wrench[t]))
        out.append(S.T @ pin.rnea(model, data, q, dq, ddq, forces))
    return np.array(out)


@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_rows_times_random_physical_parameters_are_pinocchios_inverse_dynamics(name):
    """Proper acceleration, no gravity, no pose and no velocity against a base anywhere in a world with gravity."""
    robot, rng = load(name), np.random.default_rng(0)
    values, part = parameters(robot, rng), segment(robot, rng)
    Y, _ = stacked(Setup(robot, "full", columns(robot)).rows([part]))
    equal(Y @ vector(robot, values), pinocchio_forces(robot, values, part, rng), 1e-11)


@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_rows_times_random_physical_parameters_are_mujocos_inverse_dynamics(name):
    """MuJoCo: quaternion wxyz; linear motion and force of the free joint in world axes, angular in base axes."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the second engine")
    robot, rng = load(name), np.random.default_rng(1)
    values, part = parameters(robot, rng), segment(robot, rng)
    text = to_mjcf(robot.description, robot.inertials(values), base=robot.base, comment="test")
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.gravity[:] = robot.gravity
    data = mujoco.MjData(model)
    names = list(robot.model.names)[2 if robot.floating else 1 :]
    lead = 6 if robot.floating else 0
    S = np.eye(lead + len(names)) if robot.coupling is None else robot.coupling
    expected = []
    for t, R, p, v in world_states(robot, part, rng):
        if robot.floating:
            x, y, z, w = pin.Quaternion(R).coeffs()
            data.qpos[:7] = [*p, w, x, y, z]
            data.qvel[:6] = [*v, *part.gyro[t]]
            data.qacc[:6] = [*(R @ part.acc[t] + robot.gravity), *part.alpha[t]]
        q, dq, ddq = (S[lead:, lead:] @ x[t] for x in (part.q, part.v, part.a))
        for k, joint in enumerate(names):
            at = model.joint(joint)
            data.qpos[at.qposadr[0]], data.qvel[at.dofadr[0]] = q[k] + robot.mimic_offset[k], dq[k]
            data.qacc[at.dofadr[0]] = ddq[k]
        mujoco.mj_inverse(model, data)
        force = [data.qfrc_inverse[model.joint(joint).dofadr[0]] for joint in names]
        base = [*(R.T @ data.qfrc_inverse[:3]), *data.qfrc_inverse[3:6]] if robot.floating else []
        expected.append(S.T @ np.array(base + force))
    Y, _ = stacked(Setup(robot, "full", columns(robot)).rows([part]))
    equal(Y @ vector(robot, values), np.array(expected), 1e-9)


@installed
@pytest.mark.parametrize("name", ["a1", "panda"])
def test_each_kind_of_equations_takes_its_rows_of_the_full_ones(name):
    robot = load(name)
    part = segment(robot, np.random.default_rng(2))
    everything = Setup(robot, "full", columns(robot)).rows([part])
    Y, target = stacked(everything)
    lead = 6 if robot.floating else 0
    for kind, take in (("joint", slice(lead, None)), ("base", slice(lead))):
        rows = Setup(robot, kind, columns(robot)).rows([part])
        assert rows.names == everything.names[take]
        np.testing.assert_array_equal(stacked(rows)[0], Y[:, take])
        np.testing.assert_array_equal(stacked(rows)[1], target[:, take])
    assert everything.names[lead:] == robot.joints


@installed
@pytest.mark.parametrize("name", FLOATING)
def test_wrenches_of_the_world_enter_as_external_forces(name):
    """RNEA with external forces equals rows minus the targets of the same wrenches."""
    robot, rng = load(name), np.random.default_rng(3)
    values, part = parameters(robot, rng), segment(robot, rng)
    links = [robot.bodies[0].links[-1], robot.bodies[3].links[-1], robot.bodies[-1].name]
    wrench = {link: rng.normal(size=(len(part.time), 6)) * 50 for link in links}
    part = replace(part, wrench=wrench, tau=np.zeros_like(part.tau))
    Y, target = stacked(Setup(robot, "full", columns(robot)).rows([part]))
    equal(Y @ vector(robot, values) - target, pinocchio_forces(robot, values, part, rng, wrench), 1e-11)


@installed
def test_wrenches_of_the_world_reach_the_independent_joints_of_a_coupled_hand():
    robot, rng = load("panda"), np.random.default_rng(4)
    values, part = parameters(robot, rng), segment(robot, rng)
    wrench = {"panda_rightfinger": rng.normal(size=(len(part.time), 6)) * 50}
    part = replace(part, wrench=wrench, tau=np.zeros_like(part.tau))
    Y, target = stacked(Setup(robot, "joint", columns(robot)).rows([part]))
    equal(Y @ vector(robot, values) - target, pinocchio_forces(robot, values, part, rng, wrench), 1e-11)


@installed
def test_measured_torques_are_the_targets():
    robot = load("ur10")
    part = segment(robot, np.random.default_rng(5))
    np.testing.assert_array_equal(stacked(Setup(robot, "joint", columns(robot)).rows([part]))[1], part.tau)


@installed
@pytest.mark.parametrize("name", ["ur10", "a1"])
def test_friction_columns_act_on_their_own_joint_alone(name):
    robot = load(name)
    part = segment(robot, np.random.default_rng(6))
    lead = 6 if robot.floating else 0
    terms = [(joint, term) for joint in robot.joints for term in FRICTION["all"]]
    chosen = columns(robot, *terms)
    Y, _ = stacked(Setup(robot, "full", chosen).rows([part]))
    v = part.v
    expected = {"viscous": v, "coulomb": v / (np.abs(v) + COULOMB_SPEED), "armature": part.a, "offset": np.ones_like(v)}
    assert chosen.names[10 * len(robot.bodies) :] == tuple(".".join(t) for t in terms)
    for k, (joint, term) in enumerate(terms, 10 * len(robot.bodies)):
        j = robot.joints.index(joint)
        np.testing.assert_array_equal(Y[:, lead + j, k], expected[term][:, j])
        assert not np.delete(Y[:, :, k], lead + j, axis=1).any()


@installed
def test_coulomb_friction_opposes_motion_and_is_nearly_whole_at_working_speed():
    robot = load("ur10")
    joint = robot.joints[0]
    part = segment(robot, np.random.default_rng(7), samples=4)
    v = np.zeros((4, len(robot.joints)))
    v[:, 0] = -1.0, 0.0, 1.0, COULOMB_SPEED
    Y, _ = stacked(Setup(robot, "joint", columns(robot, (joint, "coulomb"))).rows([replace(part, v=v)]))
    np.testing.assert_allclose(Y[:, 0, -1], [-1, 0, 1, 0.5], rtol=0.005)


@installed
def test_an_unknown_drive_gain_is_a_column_and_torque_is_gain_times_current():
    robot, rng = load("ur10"), np.random.default_rng(8)
    joint = robot.joints[2]
    part, values = segment(robot, rng), parameters(robot, rng)
    tau = pinocchio_forces(robot, values, part, rng)
    gain = 13.7
    measured = tau.copy()
    measured[:, 2] = 0.0  # this joint only has a current
    part = replace(part, tau=measured, current={joint: tau[:, 2] / gain})
    Y, target = stacked(Setup(robot, "joint", columns(robot, (joint, "gain"))).rows([part]))
    np.testing.assert_allclose(
        Y @ np.append(vector(robot, values), gain), target, rtol=0, atol=1e-10 * np.abs(tau).max()
    )


@installed
def test_coupled_joints_do_the_same_work_as_all_joints_of_the_chain():
    """Power of the independent torques equals power of all torques: vᵀτ = (Sv)ᵀτ_model."""
    robot, rng = load("panda"), np.random.default_rng(9)
    part, values = segment(robot, rng), parameters(robot, rng)
    Y, _ = stacked(Setup(robot, "joint", columns(robot)).rows([part]))
    model, S = robot.model.copy(), robot.coupling
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(values[body.name])
    for t in range(len(part.time)):
        q, v, a = S @ part.q[t] + robot.mimic_offset, S @ part.v[t], S @ part.a[t]
        power = v @ pin.rnea(model, model.createData(), q, v, a)
        assert part.v[t] @ (Y[t] @ vector(robot, values)) == pytest.approx(power, rel=1e-10)


@installed
@pytest.mark.parametrize(("name", "kind"), [("ur10", "joint"), ("a1", "full"), ("a1", "contact-free")])
def test_both_sides_pass_the_same_filter(name, kind):
    """Noise-free torques: filtered rows times θ are filtered torques, to rounding and not only approximately."""
    robot, rng = load(name), np.random.default_rng(10)
    values = parameters(robot, rng)
    part = smooth(robot, 10, samples=300, rate=100.0)
    feet = [foot(robot, f) for f in robot.frames if f.endswith("_foot")] if kind == "contact-free" else []
    forces = pinocchio_forces(robot, values, part, rng)
    lead = 6 if robot.floating else 0
    part = replace(part, tau=forces[:, lead:], wrench={robot.bodies[0].name: forces[:, :6]} if lead else {})
    rows = Setup(robot, kind, columns(robot), tuple(feet), Filter(5.0, 20.0, 100.0)).rows([part])
    Y, target = stacked(rows)
    scale = np.abs(target).max()
    assert np.abs(target).max() > 1
    np.testing.assert_allclose(Y @ vector(robot, values), target, rtol=0, atol=1e-10 * scale)
    if kind != "contact-free":
        taps = lowpass(100.0, 5.0)
        filtered = np.apply_along_axis(np.convolve, 0, forces[:, lead if kind == "joint" else 0 :], taps, "valid")
        np.testing.assert_allclose(target, filtered[::5], rtol=0, atol=1e-11 * scale)  # 100 / (4 × 5 Hz): every fifth
        half = len(taps) // 2
        times = np.concatenate([b.time for b in rows])
        np.testing.assert_array_equal(times, part.time[half : len(part.time) - half : 5])


@installed
@pytest.mark.parametrize("filter", [None, Filter(5.0, 20.0, 100.0)], ids=["raw", "filtered"])
@pytest.mark.parametrize(("name", "kind"), [("a1", "contact-free"), ("a1", "base"), ("panda", "joint")])
def test_rows_do_not_depend_on_how_many_are_in_memory_at_once(name, kind, filter, monkeypatch):
    robot = load(name)
    # A1's knees pass through straight, where the basis is handed from sample to sample.
    parts = [smooth(robot, seed, samples=200, rate=100.0, around=0.8) for seed in (0, 1)]
    feet = [foot(robot, f) for f in robot.frames if f.endswith("_foot")] if kind == "contact-free" else []
    rows = Setup(robot, kind, columns(robot), tuple(feet), filter).rows(parts)
    Y, target = stacked(rows)
    few = len(list(rows))
    monkeypatch.setattr(regressor, "CHUNK_BYTES", 1e6)
    blocks = list(rows)
    assert len(blocks) > few == 2
    assert [b.first for b in blocks].count(True) == 2
    np.testing.assert_allclose(np.concatenate([b.Y for b in blocks]), Y, rtol=0, atol=1e-12 * np.abs(Y).max())
    np.testing.assert_allclose(np.concatenate([b.target for b in blocks]), target, rtol=0, atol=1e-12)


@installed
def test_rows_stay_within_their_memory(monkeypatch):
    robot = load("a1")
    part = smooth(robot, 2, samples=2000, rate=100.0)
    monkeypatch.setattr(regressor, "CHUNK_BYTES", 4e6)
    largest = max(b.Y.nbytes for b in Setup(robot, "full", columns(robot)).rows([part]))
    assert 1e5 < largest < 4e6


@installed
def test_only_the_bodies_asked_for_have_columns():
    robot, rng = load("a1"), np.random.default_rng(11)
    part = segment(robot, rng)
    Y, _ = stacked(Setup(robot, "full", columns(robot)).rows([part]))
    some = Columns((robot.bodies[4].name, robot.bodies[0].name))
    np.testing.assert_array_equal(
        stacked(Setup(robot, "full", some).rows([part]))[0], np.dstack([Y[:, :, 40:50], Y[:, :, :10]])
    )


@installed
@pytest.mark.parametrize("name", ["a1", "g1"])
def test_base_rows_need_no_torque(name):
    robot = load(name)
    part = replace(segment(robot, np.random.default_rng(12)), tau=None)
    Y, target = stacked(Setup(robot, "base", columns(robot)).rows([part]))
    assert Y.shape[1] == 6
    assert not target.any()
    assert Dynamics(robot, part).applied().shape == (len(part.time), 6 + len(robot.joints))


@installed
@pytest.mark.parametrize("compiled", [True, False])
def test_generalised_forces_equal_regressor_times_parameters(compiled):
    robot, rng = load("g1"), np.random.default_rng(4)
    theta = np.concatenate(list(parameters(robot, rng).values()))
    part = segment(robot, rng, samples=70)
    columns = Columns(tuple(b.name for b in robot.bodies))
    for equations in ("base", "full"):
        rows = Setup(robot, equations, columns).rows([part], samples=10**9 if compiled else 0)
        assert (rows.tree is not None) == compiled
        time, needed, measured = rows.forces(part, theta)
        (block,) = Setup(robot, equations, columns).rows([part], samples=0)
        np.testing.assert_allclose(needed, block.Y @ theta, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(time, block.time)
        np.testing.assert_allclose(measured, block.target, rtol=1e-9, atol=1e-9)
