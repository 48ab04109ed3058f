"""A population that workers simulate goes where one process takes it."""

import numpy as np
import pytest

from steelyard.experiment.search.prediction_search import search
from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.search.search_options import SearchOptions
from steelyard.experiment.search.search_problem import Space, problem_of, spread
from steelyard.experiment.search.windows import Windows
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot

pytest.importorskip("distributed")

SAME = 1e-9


@pytest.fixture(scope="module")
def recorded():
    robot = Robot.load("puma560")
    truth = np.array([b.parameters for b in robot.bodies]) * np.linspace(0.9, 1.1, 10)
    return robot, record_sines(robot, truth, seed=0, seconds=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "evaluations"), [("genetic", 120), ("cobyla", 1300)])
def test_searches_do_not_depend_on_who_simulates(recorded, pair, algorithm, evaluations):
    if algorithm == "cobyla":
        pytest.importorskip("nlopt")
    asked = SearchOptions(algorithm=algorithm, windows=8, evaluations=evaluations, seed=3)
    one, two = (search("puma560", [recorded[1]], asked, workers=w) for w in (Workers(), pair))
    assert len(one.found.history) > 3  # equal to the last bit where matrix libraries round alike
    assert np.array(two.found.history) == pytest.approx(np.array(one.found.history), rel=SAME)
    assert two.found.parameters == pytest.approx(one.found.parameters, rel=SAME)
    assert one.problem.evaluations == two.problem.evaluations
    assert one.sight.seen == two.sight.seen


def test_mujoco_simulates_on_workers_what_it_simulates_here(recorded, pair):
    robot, log = recorded
    given = robot, Space.of(robot), (Windows.of(robot, [log], horizon=0.01, count=4),), "mujoco"
    alone = problem_of(*given)
    shared = spread(pair, alone, *given)
    Z = 0.2 * np.random.default_rng(0).normal(size=(9, alone.space.n))
    assert np.array_equal(shared.evaluate(Z), alone.evaluate(Z))
    parameters = alone.space.parameters(Z)
    assert np.array_equal(shared.residuals(parameters), alone.residuals(parameters))
    assert shared.evaluations == alone.evaluations == 36


@pytest.mark.study
def test_starts_of_a_study_do_not_depend_on_who_searches_from_them(pair):
    from papers.go.run import case

    starts = [(k, "genetic", 90, False) for k in range(2)]
    for one, other in zip(Workers().map(case, starts), pair.map(case, starts), strict=True):
        assert np.array(other["history"]) == pytest.approx(np.array(one["history"]), rel=SAME)
        assert other["base_found"] == pytest.approx(one["base_found"], rel=SAME)
        assert other["others"] == [pytest.approx(x, rel=SAME) for x in one["others"]]
