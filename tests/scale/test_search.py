"""Searches whose candidates workers simulate equal those of one process."""

import numpy as np
import pytest

from steelyard.experiment.search.prediction_search import search
from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.search.search_options import SearchOptions
from steelyard.experiment.search.search_problem import SearchSpace, distribute, make_problem
from steelyard.experiment.search.windows import Windows
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")

SAME = 1e-9


@pytest.fixture(scope="module")
def recorded():
    robot = Robot.load("puma560")
    truth = np.array([b.parameters for b in robot.bodies]) * np.linspace(0.9, 1.1, 10)
    return robot, record_sines(robot, truth, seed=0, seconds=0.5)


@pytest.mark.parametrize(("algorithm", "evaluations"), [("genetic", 120), ("cobyla", 1300)])
def test_searches_do_not_depend_on_the_workers(recorded, pair, algorithm, evaluations):
    if algorithm == "cobyla":
        pytest.importorskip("nlopt")
    options = SearchOptions(algorithm=algorithm, windows=8, evaluations=evaluations, seed=3)
    one, two = (search("puma560", [recorded[1]], options, workers=w) for w in (Workers(), pair))
    assert len(one.optimum.history) > 3  # equal to the last bit where matrix libraries round alike
    assert np.array(two.optimum.history) == pytest.approx(np.array(one.optimum.history), rel=SAME)
    assert two.optimum.parameters == pytest.approx(one.optimum.parameters, rel=SAME)
    assert one.problem.evaluations == two.problem.evaluations
    assert one.observability.dependence == two.observability.dependence


def test_mujoco_on_workers_equals_mujoco_in_this_process(recorded, pair):
    robot, log = recorded
    given = robot, SearchSpace.of(robot), (Windows.of(robot, [log], horizon=0.01, count=4),), "mujoco"
    alone = make_problem(*given)
    shared = distribute(pair, alone, *given)
    Z = 0.2 * np.random.default_rng(0).normal(size=(9, alone.space.n))
    assert np.array_equal(shared.evaluate(Z), alone.evaluate(Z))
    parameters = alone.space.parameters(Z)
    assert np.array_equal(shared.residuals(parameters), alone.residuals(parameters))
    assert shared.evaluations == alone.evaluations == 36


def test_studies_do_not_depend_on_the_workers(pair):
    from papers.go.run import run_case

    starts = [(k, "genetic", 90, False) for k in range(2)]
    for one, other in zip(Workers().map(run_case, starts), pair.map(run_case, starts), strict=True):
        assert np.array(other["history"]) == pytest.approx(np.array(one["history"]), rel=SAME)
        assert other["base_final"] == pytest.approx(one["base_final"], rel=SAME)
        assert other["others"] == [pytest.approx(x, rel=SAME) for x in one["others"]]
