"""Searches reduce the prediction error, return physically consistent bodies, and resume exactly."""

from __future__ import annotations

import json

import numpy as np
import pytest

from steelyard import inertia
from steelyard.errors import UsageError
from steelyard.experiment.search import cobyla, combined
from steelyard.experiment.search.observability import base_parameter_error
from steelyard.experiment.search.prediction_engine import CompiledEngine
from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.search.run_search import ALGORITHMS, run_search
from steelyard.experiment.search.search_problem import REACH, SearchProblem, SearchSpace
from steelyard.experiment.search.windows import Windows

REDUCTION = {"cobyla": 100, "genetic": 300, "combined": 100, "gauss-newton": 1e15}


QUICK = "gauss-newton"  # converges in a few hundred evaluations; the others use up their budget
EACH = [a if a == QUICK else pytest.param(a, marks=pytest.mark.slow) for a in ALGORITHMS]


@pytest.fixture(scope="module", params=EACH)
def searched(request, puma):
    if request.param in ("cobyla", "combined"):
        pytest.importorskip("nlopt")
    problem = puma.problem()
    states = []
    optimum = run_search(problem, request.param, seed=1, evaluations=1500, watch=states.append)
    return problem, optimum, states


def test_the_error_decreases_within_the_budget(searched):
    problem, optimum, _ = searched
    assert optimum.reduction > REDUCTION[optimum.algorithm]
    assert optimum.evaluations == problem.evaluations <= 1500
    assert problem.gc_error(optimum.parameters) == pytest.approx(optimum.error, rel=1e-6)
    errors = [e for _, e in optimum.history]
    assert errors[0] == optimum.start
    assert errors[-1] == optimum.error


def test_the_optimum_is_physically_consistent(searched):
    problem, optimum, _ = searched
    for parameters, size in zip(optimum.parameters, problem.space.sizes, strict=True):
        assert inertia.is_consistent(parameters, size)


def test_bounds_and_the_total_mass_are_kept(searched):
    problem, optimum, states = searched
    if optimum.algorithm == "gauss-newton":
        assert optimum.parameters[:, 0].sum() == pytest.approx(problem.space.total, rel=1e-3)
        return
    assert np.abs([z for s in states for z in s["population"]]).max() <= REACH + 1e-9
    if optimum.algorithm == "cobyla":
        assert abs(optimum.parameters[:, 0].sum() - problem.space.total) < cobyla.TOLERANCE


class Stopped(Exception):
    """Interruption of a search."""


@pytest.mark.parametrize("algorithm", EACH)
def test_an_interrupted_search_resumes_and_ends_as_an_uninterrupted_one(algorithm, puma, tmp_path, monkeypatch):
    if algorithm in ("cobyla", "combined"):
        pytest.importorskip("nlopt")
    monkeypatch.setattr("steelyard.experiment.search.run_search.SAVE_EVERY", 0.0)
    monkeypatch.setattr(cobyla, "EACH", 60)
    path = tmp_path / "deep" / "checkpoint.json"

    def stop(text):
        if int(text.split(": ")[1].split()[0]) > 400:
            raise Stopped

    whole = run_search(puma.problem(count=16), algorithm, seed=2, evaluations=700)
    with pytest.raises(Stopped):
        run_search(puma.problem(count=16), algorithm, seed=2, evaluations=700, checkpoint=path, progress=stop)
    assert json.loads(path.read_text())["evaluations"] < 700
    resumed = run_search(puma.problem(count=16), algorithm, seed=2, evaluations=700, checkpoint=path, resume=True)
    assert np.array_equal(resumed.parameters, whole.parameters)
    assert resumed.history == whole.history
    again = run_search(puma.problem(count=16), algorithm, seed=2, evaluations=700, checkpoint=path, resume=True)
    assert again.history == whole.history  # it had converged, or used its budget


def findings(refused):
    return [(f.code, f.where) for f in refused.value.findings]


def test_the_checkpoint_of_another_search_is_refused(puma, tmp_path):
    path = tmp_path / "checkpoint.json"
    run_search(puma.problem(count=16), "genetic", seed=0, evaluations=150, checkpoint=path)
    for seed, horizon, different in ((1, 0.02, "seed"), (0, 0.03, "start")):
        with pytest.raises(UsageError) as refused:
            run_search(puma.problem(count=16, horizon=horizon), "genetic", seed=seed, checkpoint=path, resume=True)
        assert findings(refused) == [("checkpoint-mismatch", f"{path}, {different}")]
    for text in ("{", "[]", "3", '{"about": 1}'):
        path.write_text(text)
        with pytest.raises(UsageError) as refused:
            run_search(puma.problem(count=16), "genetic", checkpoint=path, resume=True)
        assert findings(refused) == [("checkpoint-unreadable", str(path))]
    with pytest.raises(UsageError) as refused:
        run_search(puma.problem(count=16), "simplex")
    assert findings(refused) == [("option-unknown-choice", "algorithm=simplex")]


def test_searches_of_one_seed_are_equal_and_of_others_differ(puma):
    a, b, c = (run_search(puma.problem(count=16), "genetic", seed=s, evaluations=300) for s in (5, 5, 6))
    assert a.history == b.history != c.history


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["genetic", "cobyla", "combined"])
def test_rounding_differences_do_not_change_the_path_of_a_search(algorithm, puma):
    if algorithm != "genetic":
        pytest.importorskip("nlopt")
    rng = np.random.default_rng(0)

    class Otherwise(SearchProblem):
        def evaluate(self, z):
            return super().evaluate(z) * (1 + 1e-15 * rng.normal(size=len(z)))

        def residuals(self, parameters):
            r = super().residuals(parameters)
            return r * (1 + 1e-15 * rng.normal(size=r.shape))

    one = puma.problem()
    other = Otherwise(one.space, one.engines)
    exact, rounded = (run_search(p, algorithm, seed=1, evaluations=900) for p in (one, other))
    assert exact.history[-1][1] != rounded.history[-1][1]
    assert np.array(rounded.history) == pytest.approx(np.array(exact.history), rel=1e-9)


def test_the_combined_search_runs_the_genetic_algorithm_before_cobyla(puma):
    pytest.importorskip("nlopt")
    phases = []
    run_search(puma.problem(count=16), "combined", evaluations=600, watch=lambda s: phases.append(s["phase"]))
    change = phases.index("cobyla")
    assert set(phases[:change]) == {"genetic"}
    assert set(phases[change:]) == {"cobyla"}
    assert combined.SHARE < 1


def test_gauss_newton_identifies_the_base_parameters_from_inconsistent_starts_too(puma):
    for seed in (0, 5):
        optimum = run_search(puma.problem(seed, count=48), "gauss-newton", evaluations=5000)
        assert optimum.reduction > 1e12
        assert base_parameter_error(puma.robot, optimum.parameters, puma.truth) < 1e-5
        assert np.all(
            optimum.parameters[:, 0] < 3 * puma.truth[:, 0] + 1
        )  # the prior determines unobservable directions


@pytest.mark.slow
def test_gauss_newton_with_noise_reaches_the_error_of_the_truth(puma):
    log = record_sines(puma.robot, puma.truth, seed=0, seconds=2.0, noise=1e-4, rate_noise=1e-3)
    windows = Windows.of(puma.robot, [log], horizon=0.03, count=100)
    space = SearchSpace.of(puma.robot, start=puma.start(3), total=float(puma.values[:, 0].sum()))
    problem = SearchProblem(space, (CompiledEngine(puma.robot, windows),))
    optimum = run_search(problem, "gauss-newton", evaluations=4000)
    assert optimum.error < 1.05 * problem.gc_error(puma.truth)
    assert base_parameter_error(puma.robot, optimum.parameters, puma.truth) < 0.04


def test_a_start_whose_simulation_diverges_is_refused(puma):
    problem = puma.problem(count=16)
    broken = SearchProblem(problem.space, problem.engines, terms=np.full((4, 6), np.nan))
    with pytest.raises(UsageError) as refused:
        run_search(broken, "genetic")
    assert [f.code for f in refused.value.findings] == ["simulation-diverged"]
