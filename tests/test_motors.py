"""What a coupled motor adds is the generalised force of a rotor and of friction at the motor's own speed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.compose import prior as priors
from steelyard.equations.columns import COULOMB_SPEED, FRICTION, Columns
from steelyard.equations.coupled_motors import LAWS, Motor, coupled, motor_terms
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import foot
from steelyard.errors import LogError
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.output.mjcf_writer import to_mjcf
from steelyard.robot.model import Robot
from tests.motions import installed, load, segment, smooth

WRISTS = ("wrist_1_joint", "wrist_2_joint", "wrist_3_joint")


def columns(robot, *motors, laws=LAWS, joints=()):
    terms = [(j, law) for j in joints for law in laws] + motor_terms(motors, laws)
    return Columns(tuple(b.name for b in robot.bodies), tuple(terms), motors=motors)


def stacked(robot, part, chosen, kind="full"):
    """(T, rows, terms) of the columns after the bodies'."""
    return np.concatenate([b.Y for b in Setup(robot, kind, chosen).rows([part])])[:, :, 10 * len(chosen.bodies) :]


def log_with(joints, matrix):
    """A log with nothing but a transmission."""
    return Log.from_columns({"time": np.arange(4.0)}, {"transmission": {"joints": list(joints), "matrix": matrix}})


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_joints_give_exactly_the_power_that_the_motor_takes(seed, count):
    """vᵀ(column) = u f: friction takes |u| and u², the rotor what its energy ½u² gains."""
    rng = np.random.default_rng(seed)
    robot = load("demo_arm")
    turned = rng.choice(robot.joints, count, replace=False)
    motor = Motor(str(turned[0]), {str(j): float(r) for j, r in zip(turned, rng.normal(size=count), strict=True)})
    part = segment(robot, rng)
    r = motor.vector(robot.joints)
    u, du = part.v @ r, part.a @ r
    power = np.einsum("tj,tjk->tk", part.v, stacked(robot, part, columns(robot, motor)))
    np.testing.assert_allclose(power[:, 0], u * u, rtol=1e-12)
    np.testing.assert_allclose(power[:, 1], np.abs(u) * np.abs(u) / (np.abs(u) + COULOMB_SPEED), rtol=1e-12)
    np.testing.assert_allclose(power[:, 2], u * du, rtol=1e-9, atol=1e-12)


def test_the_energy_of_a_rotor_is_the_work_that_went_in():
    robot = load("demo_arm")
    motor = Motor("wrist_3_joint", {"wrist_2_joint": 0.7, "wrist_3_joint": 1.0})
    part = smooth(robot, 1, samples=2001, rate=1000.0)
    column = stacked(robot, part, columns(robot, motor, laws=("armature",)))[:, :, 0]
    work = np.trapezoid(np.einsum("tj,tj->t", part.v, column), part.time)
    u = part.v @ motor.vector(robot.joints)
    assert work == pytest.approx(0.5 * (u[-1] ** 2 - u[0] ** 2), rel=1e-5)


@pytest.mark.parametrize("ratios", [
    {"wrist_2_joint": 1.0, "wrist_3_joint": 1.0}, {"shoulder_lift_joint": -0.4, "elbow_joint": 1.0, WRISTS[2]: 2.5},
])  # fmt: skip
def test_a_motor_is_a_tendon_with_inertia_and_damping_in_mujoco(ratios):
    """A second engine: a fixed tendon of length Σ r q, with armature and damping, in inverse dynamics."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the second engine")
    robot, rng = load("demo_arm"), np.random.default_rng(2)
    motor, part = Motor("elbow_joint", ratios), segment(robot, rng)
    joints = "".join(f'<joint joint="{j}" coef="{r}"/>' for j, r in ratios.items())
    tendon = f'<tendon><fixed name="rotor" armature="0.03" damping="0.6">{joints}</fixed></tendon>'
    text = to_mjcf(
        robot.description, robot.inertials({b.name: b.parameters for b in robot.bodies}), base="fixed", comment="test"
    )
    plain, with_motor = (
        mujoco.MjModel.from_xml_string(text.replace("</mujoco>", extra + "</mujoco>")) for extra in ("", tendon)
    )
    difference = []
    for model in (plain, with_motor):
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        data = mujoco.MjData(model)
        at = [model.joint(j).dofadr[0] for j in robot.joints]
        forces = []
        for t in range(len(part.time)):
            data.qpos[at], data.qvel[at], data.qacc[at] = part.q[t], part.v[t], part.a[t]
            mujoco.mj_inverse(model, data)
            forces.append(data.qfrc_inverse[at].copy())
        difference.append(np.array(forces))
    Y = stacked(robot, part, columns(robot, motor, laws=("viscous", "armature")))
    np.testing.assert_allclose(Y @ [0.6, 0.03], difference[1] - difference[0], atol=1e-9)


def test_columns_of_the_joints_stay_as_they_are():
    robot = load("demo_arm")
    motor = Motor("wrist_3_joint", {"wrist_2_joint": 1.0, "wrist_3_joint": 1.0})
    part = segment(robot, np.random.default_rng(3))
    both = stacked(robot, part, columns(robot, motor, joints=robot.joints))
    alone = stacked(robot, part, columns(robot, joints=robot.joints))
    np.testing.assert_array_equal(both[:, :, : alone.shape[2]], alone)
    assert columns(robot, motor).names[-3:] == tuple(f"wrist_3_joint.motor.{law}" for law in LAWS)


@installed
def test_rows_without_contact_forces_are_the_projection_of_full_rows_motors_included():
    robot, rng = load("a1"), np.random.default_rng(4)
    motor = Motor("FR_calf_joint", {"FR_thigh_joint": 1.0, "FR_calf_joint": 1.0})
    part, chosen = segment(robot, rng), columns(robot, motor)
    feet = [foot(robot, f) for f in ("FR_foot", "FL_foot", "RR_foot", "RL_foot")]
    full = np.concatenate([b.Y for b in Setup(robot, "full", chosen).rows([part])])
    assert not full[:, :6, -3:].any(), "a motor inside the robot does not push the base"
    rows = Setup(robot, "contact-free", chosen, tuple(feet)).rows([part])
    N, _ = rows.free.basis(Dynamics(robot, part).contact_jacobian(feet))
    np.testing.assert_allclose(np.concatenate([b.Y for b in rows]), N @ full, atol=1e-9)
    assert np.abs(N @ full[:, :, -3:]).max() > 1e-3


def test_a_motor_is_coupled_when_it_turns_with_two_moving_joints():
    robot = load("demo_arm")
    matrix = [[-48, 0, 0], [0, 45, 0], [0, 32, -64]]
    (motor,) = coupled(robot, log_with(WRISTS, matrix))
    assert motor == Motor("wrist_3_joint", {"wrist_2_joint": -0.5, "wrist_3_joint": 1.0})
    locked = Robot.load("demo_arm", lock={"wrist_2_joint": 0.0})
    assert coupled(locked, log_with(WRISTS, matrix)) == ()
    assert coupled(robot, log_with(("a", "b"), [[1, 0], [1, 1]])) == (), "joints that the robot does not have"
    assert coupled(robot, replace(log_with(WRISTS, matrix), metadata={})) == ()


def test_a_motor_that_does_not_turn_with_its_own_joint_is_seen_at_the_one_it_turns_with_most():
    matrix = [[0, 10, 20], [10, 0, 0], [0, 0, 10]]
    (motor,) = coupled(load("demo_arm"), log_with(WRISTS, matrix))
    assert motor == Motor("wrist_1_joint", {"wrist_2_joint": 0.5, "wrist_3_joint": 1.0})


def rank(robot, chosen):
    return Setup(robot, "joint", chosen).structure(priors.make(robot, chosen).scale).rank


def test_a_wrist_coupled_one_way_identifies_all_of_its_motors_friction_and_inertia():
    robot = load("demo_arm")
    motor = Motor("wrist_3_joint", {"wrist_2_joint": 1.0, "wrist_3_joint": 1.0})
    alone, both = (columns(robot, *motors, joints=robot.joints) for motors in ((), (motor,)))
    assert rank(robot, both) == rank(robot, alone) + 3


def test_a_differential_wrist_hides_one_viscous_and_one_inertial_combination():
    """Two motors at v₂ + v₃ and v₂ − v₃, two joints: four numbers for a symmetric 2 × 2 matrix, which has three."""
    robot = load("demo_arm")
    motors = (Motor("wrist_2_joint", {"wrist_2_joint": 1.0, "wrist_3_joint": 1.0}),
              Motor("wrist_3_joint", {"wrist_2_joint": -1.0, "wrist_3_joint": 1.0}))  # fmt: skip
    alone, both = (columns(robot, *motors, joints=robot.joints) for motors in ((), motors))
    assert rank(robot, both) == rank(robot, alone) + 6 - 2


@pytest.mark.parametrize("friction", FRICTION)
def test_friction_decides_which_columns_a_motor_gets_and_its_scale_is_the_joints(arm, friction):
    robot = arm.robot
    log = replace(read_log(arm.train), metadata=log_with(WRISTS[1:], [[45, 0], [32, 32]]).metadata)
    chosen = Setup.of(robot.description, [log], Options(friction=friction)).columns
    terms = [term for joint, term in chosen.joint_terms if joint == "wrist_3_joint"]
    laws = FRICTION[friction]
    assert terms == [*laws, *(f"motor.{law}" for law in laws if law != "offset")]
    scale = dict(zip(chosen.names, priors.make(robot, chosen).scale, strict=True))
    for law in set(laws) - {"offset"}:
        assert scale[f"wrist_3_joint.motor.{law}"] == scale[f"wrist_3_joint.{law}"]


def test_logs_of_one_command_share_one_transmission(arm):
    log = read_log(arm.train)
    mine = {"joints": list(WRISTS[1:]), "matrix": [[45, 0], [32, 32]]}
    other = {"joints": list(WRISTS[1:]), "matrix": [[45, 0], [32, 64]]}
    first, second, plain = (
        replace(log, metadata=metadata, source=name)
        for name, metadata in (("a", {"transmission": mine}), ("b", {"transmission": other}), ("c", {}))
    )
    with pytest.raises(LogError) as error:
        Setup.of(arm.robot.description, [first, first, second, plain], Options())
    assert [(f.code, f.where) for f in error.value.findings] == [
        ("logs-differ", "b, transmission"),
        ("logs-differ", "c, transmission"),
    ]
    double = {"joints": list(WRISTS[1:]), "matrix": [[90, 0], [64, 64]]}
    Setup.of(arm.robot.description, [first, replace(first, metadata={"transmission": double})], Options())


@pytest.mark.parametrize(("given", "part"), [
    ("belts", "joints"), ({"joints": "ab", "matrix": [[1]]}, "joints"),
    ({"joints": ["a", "a"], "matrix": [[1, 0], [0, 1]]}, "joints"),
    ({"joints": ["a", "b"], "matrix": [[1, 0]]}, "matrix"), ({"joints": ["a"], "matrix": [["x"]]}, "matrix"),
    ({"joints": ["a"], "matrix": [[0]]}, "matrix"), ({"joints": ["a"]}, "matrix"),
])  # fmt: skip
def test_an_invalid_transmission_is_refused(given, part):
    with pytest.raises(LogError) as error:
        Log.from_columns({"time": np.arange(4.0)}, {"transmission": given})
    (finding,) = error.value.findings
    assert (finding.code, finding.where) == ("metadata-invalid", f"log, metadata, transmission, {part}")
