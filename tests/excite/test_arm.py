"""An arm's exciting motion tells more than random ones, and keeps every limit at every time."""

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Options, identify
from steelyard.errors import UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.arm_task import ArmTask, Limits
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.excite_arm import ArmCandidate, Search, excite_arm
from steelyard.experiment.excite.fourier import Fourier
from steelyard.experiment.excite.kept import Kept
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.robot.model import Robot


@pytest.fixture(scope="module")
def search():
    robot = Robot.load("demo_arm")
    return Search(ArmTask.of(robot, Limits.of(robot)), Collisions.of(robot), harmonics=3, rounds=3)


@pytest.fixture(scope="module")
def found(search):
    return excite_arm(search, seed=1, screened=3, restarts=1)


@pytest.mark.parametrize("criterion", ["determinant", "condition"])
def test_slopes_are_the_finite_differences_of_the_criterion_and_of_torques(search, criterion):
    rng, task = np.random.default_rng(0), search.task
    states = [s * rng.normal(size=(60, len(task.robot.joints))) for s in (1, 1, 3)]
    slope = task.slope(*states, criterion)
    for k, (by, torque_by) in enumerate(zip(slope[1:4], (slope.torque_q, slope.torque_v, slope.torque_a), strict=True)):
        t, j, ends = 7, 2, []
        for step in (1e-5, -1e-5):
            moved = [x.copy() for x in states]
            moved[k][t, j] += step
            ends.append(task.slope(*moved, criterion))
        assert (ends[0].value - ends[1].value) / 2e-5 == pytest.approx(by[t, j], rel=1e-4, abs=1e-7)
        np.testing.assert_allclose((ends[0].torque - ends[1].torque)[t] / 2e-5, torque_by[t, :, j], atol=1e-4)


def test_the_value_is_that_of_the_root(search):
    task = search.task
    rng = np.random.default_rng(1)
    states = [rng.normal(size=(60, len(task.robot.joints))) for _ in range(3)]
    M = criteria.base_root(task.information(*states, 0.6), task.possible)  # 60 samples at 100 Hz
    assert task.slope(*states, "determinant").value == pytest.approx(-criteria.log_det(M) / 2)
    assert task.slope(*states, "condition").value == pytest.approx(np.log(criteria.condition(M)))


@pytest.mark.slow
def test_an_improved_motion_tells_more_than_every_random_one(search, found):
    best, start = found
    assert best.log_det > start.log_det + 10
    drawn = [search.random(np.random.default_rng([5, k])) for k in range(5)]
    assert best.log_det > max(c.log_det for c in drawn)
    assert best.condition < np.median([c.condition for c in drawn])


def test_every_limit_is_kept_at_every_time_by_an_independent_count(search, found):
    best, limits, robot = found[0], search.task.limits, search.task.robot
    assert best.used.most <= 1
    t = np.linspace(0, best.motion.period, 20_001)
    q, v, a = best.motion.at(t)
    assert np.all(q <= limits.upper)
    assert np.all(q >= limits.lower)
    assert np.all(np.abs(v) <= limits.speed)
    data = robot.model.createData()
    tau = np.array([pin.rnea(robot.model, data, *state) for state in zip(q[::5], v[::5], a[::5], strict=True)])
    assert np.all(np.abs(tau) <= limits.effort)
    assert search.collisions.first(robot.positions(q[::20])) is None
    assert np.abs(v[[0, -1]]).max() < 1e-9


def test_acceleration_limits_and_friction_columns_are_kept_in_mind(search):
    robot = search.task.robot
    slow = Limits.of(robot, acceleration=dict.fromkeys(robot.joints, 1.0))
    task = ArmTask.of(robot, slow, "coulomb")
    assert task.possible.rank > search.task.possible.rank
    best, _ = excite_arm(replace(search, task=task, rounds=1), seed=0, screened=1, restarts=1)
    assert best.used.acceleration <= 1
    assert best.motion.bounds().acceleration.max() <= 1.0


def test_a_motion_is_never_made_worse_and_work_that_was_kept_is_not_done_again(search, found):
    best, start = found
    again = ArmCandidate.from_json(json.loads(json.dumps(best.as_json())))
    assert again.log_det == best.log_det

    class Full(Kept):
        def add(self, *_):
            raise AssertionError("this was done before")

    done = Full(None, {}, ArmCandidate)
    done.done["0"] = again
    kept, _ = excite_arm(search, seed=1, screened=3, restarts=1, kept=done)
    assert kept is again
    assert not start.better(best, "determinant")


def test_what_cannot_be_fitted_in_is_left_out(search):
    still = Limits.of(search.task.robot)._replace(effort=np.full(len(search.task.robot.joints), 1e-6))
    with pytest.raises(UsageError, match="no motion"):
        excite_arm(replace(search, task=replace(search.task, limits=still)), screened=1, restarts=1)


def test_shares_and_joints_that_make_no_sense_are_refused_together(search):
    robot = search.task.robot
    with pytest.raises(UsageError) as refused:
        Limits.of(robot, speed=0, margin=0.7, effort=2, acceleration={"nose": 1.0})
    assert [f.where for f in refused.value.findings] == ["--speed 0", "--effort 2", "--margin 0.7", "joint 'nose'"]


def test_a_robot_that_floats_is_refused():
    robot = Robot.load("demo_a1", base="floating")
    with pytest.raises(UsageError, match="floating base"):
        ArmTask.of(robot, Limits.of(robot))


@pytest.mark.slow
def test_an_arm_is_identified_better_on_it_than_on_random_motions(search, found, tmp_path):
    """The same length, the same noise in N·m, the base parameters' error in units of a fixed reference motion."""
    robot, task = search.task.robot, search.task
    truth = perturbed(robot, np.random.default_rng(3))
    theta = np.concatenate([truth[b.name] for b in robot.bodies])
    reference = task.information(*search.random(np.random.default_rng(99)).motion.at(np.arange(1000) / 100), 10.0)

    def error(motion: Fourier, seed: int) -> float:
        t = np.arange(2001) / 200
        states = motion.at(t)
        log = simulate_arm(robot, truth, seed=seed, noise="none", motion=(t, *states))
        rng = np.random.default_rng(seed)
        noisy = {f"tau.{j}": log.columns[f"tau.{j}"] + s * rng.normal(size=len(t))
                 for j, s in zip(robot.joints, 0.3 * task.noise, strict=True)}  # fmt: skip
        log = replace(log, columns={**log.columns, **noisy})
        result = identify(robot.description, [log], options=Options(method="least-squares"))
        estimate = np.concatenate([b.parameters for b in result.estimate.bodies])
        return float(np.linalg.norm(reference @ (estimate - theta)) / np.linalg.norm(reference @ theta))

    ours = np.median([error(found[0].motion, k) for k in range(3)])
    others = [error(search.random(np.random.default_rng([5, k])).motion, k) for k in range(3)]
    assert ours < min(others)
