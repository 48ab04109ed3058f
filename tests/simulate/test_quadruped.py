"""Logs of simulated quadrupeds: exact ones obey the equation of motion, measured ones find the trunk again."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Filter, Options, identify
from steelyard.equations.columns import Columns
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.prepare import EDGE, prepare
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import foot
from steelyard.errors import UsageError
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.sensors import LEVELS, Sensors, measure
from steelyard.experiment.simulate.simulate_quadruped import Gait, leg_friction, simulate_quadruped, true_robot
from steelyard.experiment.simulate.trot import TrotCommand
from steelyard.experiment.simulate.truth import Specimen
from steelyard.identify.estimate_json import estimate_json, estimate_text
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.spatial import rotation_from_quaternion
from tests.refusals import refuses
from tests.simulate.legged import QUADRUPEDS, quadruped

UNFILTERED = Filter(1000.0, 1000.0, 500.0)
FELT = Recording(wrenches=True)


def residual(robot, log, equations, feet=()):
    """(T, rows) of Steelyard's own regressor at the truth that the log names."""
    truth = log.metadata["truth"]
    terms = tuple((j, t) for j in truth["joints"] for t in ("viscous", "armature", "offset"))
    columns = Columns(tuple(b.name for b in robot.bodies), terms)
    theta = np.concatenate(
        [np.ravel([truth["parameters"][b] for b in columns.bodies]), [truth["joints"][j][t] for j, t in terms]]
    )
    (segment,), _ = prepare(robot, log, UNFILTERED, torques=True)
    rows = Setup(robot, equations, columns, tuple([foot(robot, f) for f in feet])).rows([segment])
    Y, target, _ = rows.raw(segment, None)
    return Y @ theta - target


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


@pytest.fixture(scope="module")
def trot():
    """A1 with another trunk, five seconds, exact."""
    return simulate_quadruped(quadruped("a1"), "trot", seconds=5.0, seed=2)


def distance(result, log):
    parameters = np.array(json.loads(estimate_text(estimate_json(result.estimate)))["links"]["base"]["parameters"])
    return np.linalg.norm(parameters - log.metadata["truth"]["parameters"]["base"])


@pytest.mark.slow
@pytest.mark.parametrize("name", QUADRUPEDS)
def test_the_equation_of_motion_holds_in_every_row_of_an_exact_log(name):
    robot = quadruped(name)
    load = Load.cuboid(robot.bodies[0].name, 0.05 * sum(b.parameters[0] for b in robot.bodies), (0.05, 0, 0.08))
    log = simulate_quadruped(robot, "trot", Specimen(perturb="all", loads=[load]), FELT, seconds=1.2, seed=1)
    feet = log.metadata["simulation"]["feet"]
    assert rms(residual(robot, log, "full")) < 1e-6
    assert rms(residual(robot, log, "contact-free", feet)) < 1e-6
    touching = np.array([log.columns[f"contact.{f.split(':')[0]}"] for f in feet])
    assert 0.5 < touching.mean() < 0.75
    no_forces = {k: v for k, v in log.columns.items() if not k.startswith(("wrench", "contact"))}
    blind = Log.from_columns({"time": log.time, **no_forces}, log.metadata)
    weight = 9.81 * sum(p[0] for p in log.metadata["truth"]["parameters"].values())
    assert rms(residual(robot, blind, "contact-free", feet)) < 1e-4 * weight  # feet sink in: the radius is not exact
    assert log.metadata["simulation"]["at_joint_limits"] == 0


@pytest.mark.slow
def test_the_equation_holds_with_friction_but_where_dry_friction_sticks():
    robot = quadruped("a1")
    friction = leg_friction(robot, "mid", np.random.default_rng(0))
    log = simulate_quadruped(robot, "multisine", Specimen(friction=friction), FELT, seconds=1.2, seed=1)
    rest = residual(robot, log, "full")
    assert rms(rest[:, :6]) < 1e-6
    moved = np.array([log.columns[f"v.{j}"] for j in robot.joints]).T[EDGE:-EDGE]
    dry = -rest[:, 6:]
    assert np.all(np.abs(dry) <= friction.coulomb + 1e-5)
    fast = np.abs(moved) > 0.2
    assert np.allclose((dry / (friction.coulomb * np.sign(moved)))[fast], 1.0, atol=1e-3)


@pytest.mark.slow
def test_the_trunk_is_identified_to_a_millionth_where_the_contact_points_are_known():
    """Contact-free rows of single samples, each ball's radius shortened by as much as it sinks in; no force is used."""
    robot = quadruped("a1")
    log = simulate_quadruped(robot, "trot", recording=FELT, seconds=2.0, seed=3)
    (segment,), _ = prepare(robot, log, UNFILTERED, torques=True)
    bodies = tuple(b.name for b in robot.bodies)
    truth = log.metadata["truth"]["parameters"]
    rows, targets = [], []
    for t in range(0, len(segment.time), 5):
        part = replace(segment.part(slice(t, t + 1)), wrench={})
        feet = []
        for name in log.metadata["simulation"]["feet"]:
            f = foot(robot, name)
            R = robot_rotation(robot, part, f)
            force, moment = segment.wrench[name][t].reshape(2, 3)  # at the ball's centre, in its axes
            arm = np.cross(-R.T @ part.up[0], force)
            depth = moment @ arm / (arm @ arm) if arm @ arm > 1e-12 else f.radius
            feet.append(replace(f, radius=depth))
        dynamics = Dynamics(robot, part)
        J = dynamics.contact_jacobian(feet)[0]
        N = np.linalg.svd(J)[2][len(J) :]
        Y, tau = N @ dynamics.regressor(bodies)[0], N @ dynamics.applied()[0]
        rows.append(Y[:, :10])
        targets.append(tau - Y[:, 10:] @ np.ravel([truth[b] for b in bodies[1:]]))
    parameters = np.linalg.lstsq(np.concatenate(rows), np.concatenate(targets), rcond=None)[0]
    assert np.linalg.norm(parameters - truth["base"]) < 1e-6


def robot_rotation(robot, part, at):
    """(3, 3) from the axes of a foot's frame to base axes at the first sample."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, robot.positions(part.q)[0])
    return data.oMi[at.frame.joint].rotation @ at.frame.placement[:3, :3]


@pytest.mark.slow
def test_the_trunk_is_identified_from_joints_and_imu(trot):
    feet = tuple(trot.metadata["simulation"]["feet"])
    described = np.linalg.norm(quadruped("a1").body("base").parameters - trot.metadata["truth"]["parameters"]["base"])
    exact = identify("a1", [measure(trot, Sensors(), 0)], Options(links=("base",), feet=feet))
    noisy = identify("a1", [measure(trot, "mid", 0)], Options(links=("base",), feet=feet))
    assert described > 0.1
    assert distance(exact, trot) < 0.007  # e_p; the contact point is not below the foot
    assert distance(noisy, trot) < 0.02  # 0.0162, worst of twelve seeds in papers/xu


@pytest.mark.slow
def test_the_imu_sees_what_its_mount_does():
    """Against a rigid body's velocities, differentiated: the mount's own acceleration less gravity, in its axes."""
    robot = quadruped("anymal")
    log = simulate_quadruped(robot, "multisine", recording=Recording(rate=1000.0), seconds=0.8, seed=2)
    assert log.metadata["imu_frame"] == "imu_link"
    mount = robot.on_base(robot.frame("imu_link"))
    R = rotation_from_quaternion(log.vector("base.quaternion", "xyzw"))
    w = log.vector("base.angular_velocity")
    velocity = np.einsum("tij,tj->ti", R, log.vector("base.velocity") + np.cross(w, mount[:3, 3]))
    proper = np.gradient(velocity, log.time, axis=0)[1:-1] - robot.gravity
    acc = np.einsum("tij,tj->ti", R @ mount[:3, :3], log.vector("imu.acc"))[1:-1]
    assert rms(acc - proper) < 0.03
    assert np.allclose(log.vector("imu.gyro") @ mount[:3, :3].T, w)
    assert np.linalg.norm(mount[:3, 3]) > 0.1


@pytest.mark.slow
def test_the_same_seed_gives_the_same_log_and_another_noise_the_same_motion(trot):
    again = simulate_quadruped(quadruped("a1"), "trot", seconds=0.3, seed=2)
    assert all(np.array_equal(again.columns[k], v[:150]) for k, v in trot.columns.items())
    one, other = measure(trot, "mid", 1), measure(trot, "mid", 2)
    assert all(np.array_equal(one.columns[k], measure(trot, "mid", 1).columns[k]) for k in one.columns)
    assert not np.array_equal(one.columns["imu.acc.x"], other.columns["imu.acc.x"])
    assert one.metadata["truth"] == other.metadata["truth"]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["low", "mid", "high"])
def test_sensors_add_the_noise_of_their_level_and_nothing_else(trot, level):
    log = measure(trot, level, 5)
    s = LEVELS[level]
    for prefix, sigma in (("q.", s.q), ("imu.gyro.", s.gyro), ("imu.acc.", s.acc), ("tau.", s.tau)):
        error = np.array([log.columns[k] - trot.columns[k] for k in log.columns if k.startswith(prefix)])
        assert error.std() == pytest.approx(sigma, rel=0.05)
        assert abs(error.mean()) < 4 * sigma / np.sqrt(error.size)
    assert not [k for k in log.columns if k.startswith(("v.", "a.", "base.", "wrench."))]
    assert log.metadata["simulation"]["noise"] == level


def test_sensors_are_biased_late_stepped_and_wrongly_scaled_as_asked():
    trot = simulate_quadruped(quadruped("a1"), "trot", seconds=1.0, seed=2)
    tau, q, gyro = "tau.FL_calf_joint", "q.FL_calf_joint", "imu.gyro.y"
    gain = measure(trot, Sensors(tau_gain=0.02), 0)
    assert np.allclose(gain.columns[tau], 1.02 * trot.columns[tau])
    late = measure(trot, Sensors(tau_late=0.004, imu_late=0.002), 0)
    assert np.allclose(late.columns[tau][2:], trot.columns[tau][:-2])
    assert np.allclose(late.columns[gyro][1:], trot.columns[gyro][:-1])
    assert np.array_equal(late.columns[q], trot.columns[q])
    half, exact = measure(trot, Sensors(imu_late=0.001), 0).columns[gyro], trot.columns[gyro]
    assert np.std(half[1:] - 0.5 * (exact[1:] + exact[:-1])) < 0.1 * np.std(np.diff(exact))
    stepped = measure(trot, Sensors(q_step=1e-3, tau_step=0.1), 0)
    assert np.allclose(stepped.columns[q] / 1e-3, np.round(stepped.columns[q] / 1e-3))
    assert np.abs(stepped.columns[tau] - trot.columns[tau]).max() <= 0.05 + 1e-12
    biased = measure(trot, Sensors(acc_bias=0.05, q_bias=0.01), 0)
    shift = biased.columns["imu.acc.x"] - trot.columns["imu.acc.x"]
    assert np.ptp(shift) < 1e-9
    assert 1e-4 < abs(shift[0]) < 0.25


def test_perturbing_the_base_leaves_the_legs_as_described():
    robot = quadruped("a1")
    base, every = (true_robot(robot, kind, np.random.default_rng(1)) for kind in ("base", "all"))
    assert np.array_equal(base["base"], every["base"])
    for body in robot.bodies[1:]:
        assert np.array_equal(base[body.name], body.parameters)
        assert not np.allclose(every[body.name], body.parameters, rtol=0.01)


def test_metadata_has_the_truth_with_and_without_the_load():
    robot = quadruped("a1")
    load = Load.cuboid("trunk", 1.0, (0.05, 0, 0.1), (0.08, 0.08, 0.04))
    specimen = Specimen(perturb="none", loads=[load], friction="low", ground=Ground(grip=0.7))
    log = simulate_quadruped(robot, "stand", specimen, seconds=0.2)
    truth = log.metadata["truth"]
    assert truth["parameters"]["base"][0] == pytest.approx(robot.body("base").parameters[0] + 1.0)
    assert truth["loads"][0]["mass"] == pytest.approx(1.0)
    assert truth["loads"][0]["com"] == pytest.approx([0.05, 0, 0.1])
    assert set(truth["joints"]["FL_calf_joint"]) == {"viscous", "coulomb", "armature", "offset"}
    assert log.metadata["simulation"]["ground"]["grip"] == 0.7
    json.dumps(dict(log.metadata))


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        ({"gait": "gallop"}, "option-unknown-choice", "motion=gallop"),
        ({"recording": Recording(noise="loud")}, "option-unknown-choice", "noise=loud"),
        ({"specimen": Specimen(perturb="legs")}, "option-unknown-choice", "perturb=legs"),
        ({"specimen": Specimen(friction="some")}, "option-unknown-choice", "friction=some"),
        ({"recording": Recording(rate=333.0)}, "option-value", "rate=333"),
        ({"seconds": 0.0}, "option-value", "seconds=0"),
        ({"recording": Recording(imu_frame="FL_foot")}, "frame-not-on-base", "FL_foot"),
        ({"specimen": Specimen(loads=[Load.cuboid("lid", 1.0, (0, 0, 0))])}, "name-unknown", "lid"),
    ],
    ids=str,
)
def test_what_cannot_be_simulated_is_refused(change, code, where):
    with refuses(UsageError, code, where):
        simulate_quadruped(quadruped("a1"), **{"seconds": 0.1, **change})


def test_sensor_errors_have_names_and_signs():
    with refuses(UsageError, "name-unknown", "sensor=tau_gian", {"name": "tau_gain"}):
        Sensors().but({"tau_gian": 1.0})
    with refuses(UsageError, "option-value", "sensor=acc=-1"):
        Sensors(acc=-1.0)
    assert Sensors(tau_gain=-0.02).tau_gain == -0.02


@pytest.mark.slow
def test_a_robot_that_falls_is_not_logged():
    robot = quadruped("a1")
    with refuses(UsageError, "robot-fell", "a1 at "):
        simulate_quadruped(robot, Gait("trot", TrotCommand(6.0)), seconds=4.0)


@pytest.mark.slow
def test_the_command_writes_a_log_that_identify_reads(steelyard, tmp_path):
    quadruped("a1")
    path = tmp_path / "walk.parquet"
    done = steelyard(
        "simulate", "a1", "--motion", "trot", "--seconds", 2, "--noise", "low", "--seed", 3, "--load",
        "0.5@trunk:0.05,0,0.1", "--friction", "low", "--sensor", "tau_gain=0.01", "-o", path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert str(path) in done.out
    log = read_log(path)
    assert len(log) == 1000
    assert log.metadata["simulation"]["sensors"]["tau_gain"] == 0.01
    assert "--feet FR_foot,FL_foot,RR_foot,RL_foot" in done.out
    assert log.metadata["truth"]["loads"][0]["mass"] == pytest.approx(0.5)


def test_the_command_simulates_an_arm_on_a_fourier_motion(steelyard, tmp_path):
    path = tmp_path / "arm.csv"
    done = steelyard("simulate", "demo_arm", "--motion", "fourier", "--seconds", 2, "--noise", "low", "-o", path)
    assert done.code == 0, done.err
    assert len(read_log(path)) == 400
    assert read_log(path).metadata["truth"]["joints"] == {}


@pytest.mark.parametrize(
    ("arguments", "place", "code"),
    [
        (["a1", "--motion", "fourier"], "--motion fourier:", "option-conflict"),
        (["demo_arm", "--motion", "trot"], "demo_arm:", "base-fixed"),
        (["a1", "--load", "heavy"], "--load heavy:", "option-value"),
        (["a1", "--sensor", "tau=loud"], "--sensor tau=loud:", "option-value"),
        (["a1", "--terrain", "moon"], "--terrain moon:", "option-value"),
        (["demo_arm", "--motion", "fourier", "--load", "1@base:0,0,0"], "--load 1@base:0,0,0:", "option-conflict"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_command_names_the_option_and_the_code_of_a_fault(steelyard, tmp_path, arguments, place, code):
    quadruped("a1")
    done = steelyard("simulate", *arguments, "--seconds", 0.1, "-o", tmp_path / "log.parquet")
    assert done.code == 2
    assert place in done.err
    assert f"[{code}]" in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_documentation_shows_the_levels_of_noise_and_code_that_runs():
    quadruped("a1")
    text = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")
    for name, s in LEVELS.items():
        row = re.search(rf"\| `{name}` \|([^\n]*)\|\n", text)
        assert row is not None
        assert [float(x) for x in row[1].split("|")] == [s.q, s.gyro, s.acc, s.tau]
    for name in vars(Sensors()):
        assert f"`{name}`" in text
    code = text.split("```python\n")[1].split("```")[0].replace("seconds=5", "seconds=0.5")
    scope: dict = {}
    exec(code, scope)
    assert len(scope["logs"]) == 12
    assert len(scope["late"]) == 250
