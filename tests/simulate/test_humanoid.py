"""Humanoids that differ from their description stand on their soles, play motions, and write true logs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Filter
from steelyard.equations.columns import Columns
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.errors import UsageError
from steelyard.experiment.excite.candidate_pool import CandidatePool
from steelyard.experiment.excite.excite_humanoid import as_log
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.sensors import LEVELS, measure
from steelyard.experiment.simulate.simulate_humanoid import simulate_humanoid
from steelyard.experiment.simulate.truth import Specimen, perturb_masses
from steelyard.experiment.simulate.world import World
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import WRENCH
from tests.refusals import refuses
from tests.simulate.humanoids import Stance, humanoid

pytestmark = pytest.mark.slow

ROBOTS = ("talos", "g1")


@cache
def walk(name: str) -> Log:
    """A walk that is possible for the described robot."""
    pool = CandidatePool.of(humanoid(name))
    return as_log(next(b for seed in range(9) if (b := pool.attempt("walk", seed)[1]) is not None), 0)


def residuals(robot: Robot, log: Log) -> np.ndarray:
    """(T, 6 + J) of the equation of motion, by Pinocchio, with the true parameters."""
    model, soles = robot.model.copy(), find_soles(robot)
    for body in robot.bodies:
        true = np.array(log.metadata["truth"]["parameters"][body.name])
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(true)
    data, joints = model.createData(), robot.joints

    def columns(kind: str) -> np.ndarray:
        return np.column_stack([log.columns[f"{kind}.{j}"] for j in joints])

    velocity, spin = log.vector("base.velocity"), log.vector("base.angular_velocity")
    Q = np.hstack([log.vector("base.position"), log.vector("base.quaternion", "xyzw"), columns("q")])
    V = np.hstack([velocity, spin, columns("v")])
    linear = log.vector("base.acceleration") - np.cross(spin, velocity)
    A = np.hstack([linear, log.vector("base.angular_acceleration"), columns("a")])
    feet = [log.vector(f"wrench.{s.name}", WRENCH) for s in soles]
    tau, out = columns("tau"), np.zeros(V.shape)
    for k, (q, v, a) in enumerate(zip(Q, V, A, strict=True)):
        out[k] = pin.rnea(model, data, q, v, a)
        out[k, 6:] -= tau[k]
        pin.computeJointJacobians(model, data, q)
        for s, w in zip(soles, feet, strict=True):
            out[k] -= pin.getJointJacobian(model, data, s.joint, pin.LOCAL).T @ w[k]
    return out


def of_regressor(robot: Robot, log: Log, equations: str) -> np.ndarray:
    """(T, rows) of Steelyard's own rows at the truth."""
    columns = Columns(tuple(b.name for b in robot.bodies), ())
    theta = np.ravel([log.metadata["truth"]["parameters"][b] for b in columns.bodies])
    (segment,), _ = prepare(robot, log, Filter(1000.0, 1000.0, 200.0), torques=equations == "full")
    Y, target, _ = Setup(robot, equations, columns, ()).rows([segment]).raw(segment, None)
    return Y @ theta - target


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


@pytest.fixture(scope="module", params=ROBOTS)
def swayed(request):
    """A humanoid, a motion on both feet, and the exact log of a true one that played it."""
    robot = humanoid(request.param)
    motion = Stance(robot).motion(2.5, arms=0.2)
    truth = perturb_masses(robot, np.random.default_rng(1))
    return robot, motion, simulate_humanoid(robot, motion, Specimen(truth), seed=4)


def test_every_equation_of_an_exact_log_holds_by_pinocchio_and_by_our_own_rows(swayed):
    robot, _, log = swayed
    assert rms(residuals(robot, log)) < 1e-5
    assert rms(of_regressor(robot, log, "base")) < 1e-5
    assert rms(of_regressor(robot, log, "full")) < 1e-5


def test_a_humanoid_that_differs_from_its_description_tracks_the_motion(swayed):
    robot, motion, log = swayed
    assert log.metadata["simulation"]["fell"] is None
    assert len(log) == len(motion)
    for joint in robot.joints:
        assert np.abs(log.columns[f"q.{joint}"] - motion.columns[f"q.{joint}"]).max() < 0.05
    assert np.abs(log.vector("base.position") - motion.vector("base.position")).max() < 0.03
    assert all(log.columns[f"contact.{s.name}"].all() for s in find_soles(robot))


def test_foot_wrenches_carry_the_weight_of_the_true_robot(swayed):
    robot, _, log = swayed
    mass = sum(p[0] for p in log.metadata["truth"]["parameters"].values())
    assert abs(mass - sum(b.parameters[0] for b in robot.bodies)) > 0.5
    assert sum(log.columns[f"wrench.{s.name}.fz"][0] for s in find_soles(robot)) == pytest.approx(9.81 * mass, rel=0.01)


def test_force_sensors_have_the_noise_of_their_level(swayed):
    robot, _, log = swayed
    noisy, s = measure(log, "humanoid", 5), LEVELS["humanoid"]
    name = find_soles(robot)[0].name
    for component, level in (("fx", s.force), ("fz", s.force_z), ("my", s.moment)):
        column = f"wrench.{name}.{component}"
        assert np.std(noisy.columns[column] - log.columns[column]) == pytest.approx(level, rel=0.15)
    assert not noisy.names("contact")
    assert not measure(log, "mid", 5).names("wrench"), "other levels have no sensors on the feet"


@pytest.mark.parametrize("name", ROBOTS)
def test_a_true_robot_steps_as_planned_and_its_feet_leave_the_ground_when_they_should(name):
    robot, motion = humanoid(name), walk(name)
    log = simulate_humanoid(robot, motion, Specimen(perturb_masses(robot, np.random.default_rng(2))))
    assert rms(residuals(robot, log)) < 1e-4, "a foot that lands is a blow"
    for sole in find_soles(robot):
        planned, touching = motion.columns[f"contact.{sole.name}"], log.columns[f"contact.{sole.name}"]
        assert not planned.all()
        assert np.mean(planned != touching) < 0.06


def test_motions_in_sequence_start_at_the_final_pose_of_the_one_before():
    robot, one = humanoid("g1"), walk("g1")
    shift = one.vector("base.position")[-1, :2] - one.vector("base.position")[0, :2]
    assert np.linalg.norm(shift) > 0.1
    log = simulate_humanoid(robot, [one, one])
    assert len(log) == 2 * len(one) - 1
    way = log.vector("base.position")[-1, :2] - log.vector("base.position")[0, :2]
    assert way == pytest.approx(2 * shift, abs=0.03)
    columns = {**one.columns, "q.left_elbow_joint": one.columns["q.left_elbow_joint"] + 0.2}
    with refuses(UsageError, "motion-discontinuous"):
        simulate_humanoid(robot, [one, Log(one.time, columns)])


def test_a_robot_that_falls_is_refused_or_its_log_ends_with_the_fall():
    robot = humanoid("g1")
    stance = Stance(robot)
    motion = stance.motion(1.5, arms=0.0)
    far = dict(motion.columns)
    lean = 0.3 * np.clip(motion.time / 1.0, 0, 1)
    far["base.position.x"] = far["base.position.x"] + lean
    away = Log(motion.time, far, motion.metadata, "away")
    with refuses(UsageError, "robot-fell", " s"):
        simulate_humanoid(robot, away)
    log = simulate_humanoid(robot, away, may_fall=True)
    fell = log.metadata["simulation"]["fell"]
    assert 0 < fell < 1.6
    assert log.time[-1] == pytest.approx(fell, abs=0.02)
    heavy = Specimen(loads=[Load.cuboid("torso_link", 60.0, (0.5, 0, 0.2))])
    with refuses(UsageError, "robot-fell", robot.name):
        simulate_humanoid(robot, motion, heavy, may_fall=True)


def test_what_lies_on_the_ground_has_fallen_and_what_stands_on_its_soles_has_not():
    robot = humanoid("g1")
    stance = Stance(robot)
    world = World(robot, soles=stance.soles)
    world.reset(stance.q[7:])
    assert not world.fallen
    world.step(count=200)
    assert sum(contact.force[2] for contact in world.foot_contacts) > 0
    world.step(np.zeros(29), count=4000)
    assert world.fallen


def test_a_motion_that_cannot_be_tracked_is_refused_with_every_reason():
    robot = humanoid("g1")
    motion = Stance(robot).motion(0.5)
    lacking = {k: v for k, v in motion.columns.items() if k not in ("a.left_elbow_joint", "base.velocity.x")}
    with refuses(UsageError, "columns-missing", remedy={"columns": ["base.velocity.x", "a.left_elbow_joint"]}):
        simulate_humanoid(robot, Log(motion.time, lacking))
    with refuses(UsageError, "rows-too-few"):
        simulate_humanoid(robot, motion.cut(0, 1))
    with refuses(UsageError, "option-value", "rate=300", {"rate": 800 / 3}):
        simulate_humanoid(robot, motion, recording=Recording(rate=300.0))
    with refuses(UsageError, "frame-not-on-base", "torso_link"):
        simulate_humanoid(robot, motion, recording=Recording(imu_frame="torso_link"))


def test_the_command_tracks_a_motion_and_prints_how_to_identify(steelyard, tmp_path):
    robot = humanoid("g1")
    motion = Stance(robot).motion(1.0, arms=0.1)
    write_log(tmp_path / "motion.parquet", motion)
    done = steelyard(
        "simulate", "g1", "--play", tmp_path / "motion.parquet", "--noise", "humanoid", "--perturb", "base",
        "-o", tmp_path / "log.parquet",
    )  # fmt: skip
    assert done.code == 0
    assert "--equations base" in done.out
    log = read_log(tmp_path / "log.parquet")
    assert len(log.names("wrench")) == 2
    extra = sum(p[0] for p in log.metadata["truth"]["parameters"].values()) - sum(b.parameters[0] for b in robot.bodies)
    assert extra == pytest.approx(5.0)
    refused = steelyard("simulate", "ur5", "--motion", "fourier", "--noise", "humanoid", "-o", tmp_path / "no.parquet")
    assert refused.code == 2
    assert "[option-unknown-choice]" in refused.err
