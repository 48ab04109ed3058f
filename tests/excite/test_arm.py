"""An arm's exciting motion is more informative than random ones, and within every limit at all times."""

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Options, identify
from steelyard.errors import UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.arm_task import ArmTask, Limits
from steelyard.experiment.excite.candidate_cache import CandidateCache
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.excite_arm import ArmCandidate, ArmSearch, excite_arm
from steelyard.experiment.excite.fourier import Fourier
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.robot.model import Robot


@pytest.fixture(scope="module")
def search():
    robot = Robot.load("demo_arm")
    return ArmSearch(ArmTask.of(robot, Limits.of(robot)), Collisions.of(robot), harmonics=3, rounds=3)


@pytest.fixture(scope="module")
def optimum(search):
    return excite_arm(search, seed=1, candidates=3, restarts=1)


@pytest.mark.parametrize("criterion", ["determinant", "condition"])
def test_gradients_are_the_finite_differences_of_the_criterion_and_of_torques(search, criterion):
    rng, task = np.random.default_rng(0), search.task
    states = [s * rng.normal(size=(60, len(task.robot.joints))) for s in (1, 1, 3)]
    slope = task.differentiate(*states, criterion)
    for k, (by, torque_by) in enumerate(zip(slope[1:4], (slope.torque_q, slope.torque_v, slope.torque_a), strict=True)):
        t, j, ends = 7, 2, []
        for step in (1e-5, -1e-5):
            moved = [x.copy() for x in states]
            moved[k][t, j] += step
            ends.append(task.differentiate(*moved, criterion))
        assert (ends[0].value - ends[1].value) / 2e-5 == pytest.approx(by[t, j], rel=1e-4, abs=1e-7)
        np.testing.assert_allclose((ends[0].torque - ends[1].torque)[t] / 2e-5, torque_by[t, :, j], atol=1e-4)


def test_the_value_is_that_of_the_root(search):
    task = search.task
    rng = np.random.default_rng(1)
    states = [rng.normal(size=(60, len(task.robot.joints))) for _ in range(3)]
    M = criteria.base_root(task.information(*states, 0.6), task.identifiable)  # 60 samples at 100 Hz
    assert task.differentiate(*states, "determinant").value == pytest.approx(-criteria.log_det(M) / 2)
    assert task.differentiate(*states, "condition").value == pytest.approx(np.log(criteria.condition(M)))


@pytest.mark.slow
def test_the_optimum_is_more_informative_than_every_random_motion(search, optimum):
    best, start = optimum
    assert best.log_det > start.log_det + 10
    drawn = [search.draw_feasible(np.random.default_rng([5, k])) for k in range(5)]
    assert best.log_det > max(c.log_det for c in drawn)
    assert best.condition < np.median([c.condition for c in drawn])


def test_every_limit_holds_between_samples_by_an_independent_check(search, optimum):
    best, limits, robot = optimum[0], search.task.limits, search.task.robot
    assert best.limit_usage.peak <= 1
    t = np.linspace(0, best.motion.period, 20_001)
    q, v, a = best.motion.at(t)
    assert np.all(q <= limits.upper)
    assert np.all(q >= limits.lower)
    assert np.all(np.abs(v) <= limits.speed)
    data = robot.model.createData()
    tau = np.array([pin.rnea(robot.model, data, *state) for state in zip(q[::5], v[::5], a[::5], strict=True)])
    assert np.all(np.abs(tau) <= limits.effort)
    assert search.collisions.first_collision(robot.positions(q[::20])) is None
    assert np.abs(v[[0, -1]]).max() < 1e-9


def test_acceleration_limits_hold_and_friction_columns_are_excited(search):
    robot = search.task.robot
    slow = Limits.of(robot, acceleration=dict.fromkeys(robot.joints, 1.0))
    task = ArmTask.of(robot, slow, "coulomb")
    assert task.identifiable.rank > search.task.identifiable.rank
    best, _ = excite_arm(replace(search, task=task, rounds=1), seed=0, candidates=1, restarts=1)
    assert best.limit_usage.acceleration <= 1
    assert best.motion.bounds().acceleration.max() <= 1.0


def test_cached_motions_are_not_optimised_again_and_none_gets_worse(search, optimum):
    best, start = optimum
    again = ArmCandidate.from_json(json.loads(json.dumps(best.as_json())))
    assert again.log_det == best.log_det

    class Full(CandidateCache):
        def add(self, *_):
            raise AssertionError("it is in the cache")

    cache = Full(None, {}, ArmCandidate)
    cache.entries["0"] = again
    kept, _ = excite_arm(search, seed=1, candidates=3, restarts=1, cache=cache)
    assert kept is again
    assert not start.is_better(best, "determinant")


def test_an_arm_too_weak_for_any_motion_is_refused(search):
    still = Limits.of(search.task.robot)._replace(effort=np.full(len(search.task.robot.joints), 1e-6))
    with pytest.raises(UsageError) as refused:
        excite_arm(replace(search, task=replace(search.task, limits=still)), candidates=1, restarts=1)
    assert [f.code for f in refused.value.findings] == ["motion-infeasible"]
    assert set(refused.value.findings[0].remedy) == {"speed", "effort", "clearance"}


def test_shares_out_of_range_and_unknown_joints_are_refused_together(search):
    robot = search.task.robot
    with pytest.raises(UsageError) as refused:
        Limits.of(robot, speed=0, margin=0.7, effort=2, acceleration={"nose": 1.0})
    assert [(f.code, f.where) for f in refused.value.findings] == [
        ("option-value", "speed=0"),
        ("option-value", "effort=2"),
        ("option-value", "margin=0.7"),
        ("name-unknown", "joint 'nose'"),
    ]


def test_a_floating_base_is_refused():
    robot = Robot.load("demo_a1", base="floating")
    with pytest.raises(UsageError) as refused:
        ArmTask.of(robot, Limits.of(robot))
    assert [(f.code, f.remedy) for f in refused.value.findings] == [("base-floating", {"base": "fixed"})]


@pytest.mark.slow
def test_an_arm_is_identified_better_from_it_than_from_random_motions(search, optimum, tmp_path):
    """The same duration, the same noise in N·m; base-parameter error with a fixed reference motion."""
    robot, task = search.task.robot, search.task
    truth = perturbed(robot, np.random.default_rng(3))
    theta = np.concatenate([truth[b.name] for b in robot.bodies])
    reference = task.information(
        *search.draw_feasible(np.random.default_rng(99)).motion.at(np.arange(1000) / 100), 10.0
    )

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

    ours = np.median([error(optimum[0].motion, k) for k in range(3)])
    others = [error(search.draw_feasible(np.random.default_rng([5, k])).motion, k) for k in range(3)]
    assert ours < min(others)
