"""Searches find robots that predict, can exist, and are the same however often they were stopped."""

from __future__ import annotations

import json

import numpy as np
import pytest

from steelyard import inertia
from steelyard.errors import UsageError
from steelyard.experiment.search import cobyla, combined
from steelyard.experiment.search.observability import base_distance
from steelyard.experiment.search.prediction_engine import Compiled
from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.search.run import ALGORITHMS, run
from steelyard.experiment.search.search_problem import REACH, SearchProblem, Space
from steelyard.experiment.search.windows import Windows

REDUCTION = {"cobyla": 100, "genetic": 300, "combined": 100, "gauss-newton": 1e15}


@pytest.fixture(scope="module", params=ALGORITHMS)
def searched(request, puma):
    if request.param in ("cobyla", "combined"):
        pytest.importorskip("nlopt")
    problem = puma.problem()
    states = []
    found = run(problem, request.param, seed=1, evaluations=1500, watch=states.append)
    return problem, found, states


def test_the_error_falls_and_the_budget_is_kept(searched):
    problem, found, _ = searched
    assert found.reduction > REDUCTION[found.algorithm]
    assert found.evaluations == problem.evaluations <= 1500
    assert problem.gc_error(found.parameters) == pytest.approx(found.error, rel=1e-6)
    errors = [e for _, e in found.history]
    assert errors[0] == found.start
    assert errors[-1] == found.error


def test_what_is_found_can_exist(searched):
    problem, found, _ = searched
    for parameters, size in zip(found.parameters, problem.space.sizes, strict=True):
        assert inertia.is_consistent(parameters, size)


def test_bounds_and_the_total_mass_are_kept(searched):
    problem, found, states = searched
    if found.algorithm == "gauss-newton":
        assert found.parameters[:, 0].sum() == pytest.approx(problem.space.total, rel=1e-3)
        return
    assert np.abs([z for s in states for z in s["population"]]).max() <= REACH + 1e-9
    if found.algorithm == "cobyla":
        assert abs(found.parameters[:, 0].sum() - problem.space.total) < cobyla.TOLERANCE


class Stopped(Exception):
    """Somebody pulled the plug."""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_search_that_was_stopped_and_resumed_ends_where_it_would_have(algorithm, puma, tmp_path, monkeypatch):
    if algorithm in ("cobyla", "combined"):
        pytest.importorskip("nlopt")
    monkeypatch.setattr("steelyard.experiment.search.run.SAVE_EVERY", 0.0)
    monkeypatch.setattr(cobyla, "EACH", 60)
    path = tmp_path / "deep" / "checkpoint.json"

    def stop(text):
        if int(text.split(": ")[1].split()[0]) > 400:
            raise Stopped

    whole = run(puma.problem(count=16), algorithm, seed=2, evaluations=700)
    with pytest.raises(Stopped):
        run(puma.problem(count=16), algorithm, seed=2, evaluations=700, checkpoint=path, progress=stop)
    assert json.loads(path.read_text())["evaluations"] < 700
    resumed = run(puma.problem(count=16), algorithm, seed=2, evaluations=700, checkpoint=path, resume=True)
    assert np.array_equal(resumed.parameters, whole.parameters)
    assert resumed.history == whole.history
    again = run(puma.problem(count=16), algorithm, seed=2, evaluations=700, checkpoint=path, resume=True)
    assert again.history == whole.history  # nothing was left to do


def test_the_checkpoint_of_another_search_is_refused(puma, tmp_path):
    path = tmp_path / "checkpoint.json"
    run(puma.problem(count=16), "genetic", seed=0, evaluations=150, checkpoint=path)
    for seed, horizon, different in ((1, 0.02, "seed"), (0, 0.03, "start")):
        with pytest.raises(UsageError, match=rf"of another search \(it differs in: {different}\)"):
            run(puma.problem(count=16, horizon=horizon), "genetic", seed=seed, checkpoint=path, resume=True)
    for text in ("{", "[]", "3", '{"about": 1}'):
        path.write_text(text)
        with pytest.raises(UsageError, match="is not a checkpoint of a search"):
            run(puma.problem(count=16), "genetic", checkpoint=path, resume=True)
    with pytest.raises(UsageError, match="--algorithm simplex: does not exist"):
        run(puma.problem(count=16), "simplex")


def test_seeds_repeat_and_differ(puma):
    a, b, c = (run(puma.problem(count=16), "genetic", seed=s, evaluations=300) for s in (5, 5, 6))
    assert a.history == b.history != c.history


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["genetic", "cobyla", "combined"])
def test_a_machine_that_rounds_otherwise_searches_the_same_way(algorithm, puma):
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
    here, there = (run(p, algorithm, seed=1, evaluations=900) for p in (one, other))
    assert here.history[-1][1] != there.history[-1][1]
    assert np.array(there.history) == pytest.approx(np.array(here.history), rel=1e-9)


def test_the_combination_covers_first_and_refines_then(puma):
    pytest.importorskip("nlopt")
    phases = []
    run(puma.problem(count=16), "combined", evaluations=600, watch=lambda s: phases.append(s["phase"]))
    change = phases.index("cobyla")
    assert set(phases[:change]) == {"genetic"}
    assert set(phases[change:]) == {"cobyla"}
    assert combined.SHARE < 1


def test_gauss_newton_finds_the_base_parameters_from_starts_that_cannot_exist_too(puma):
    for seed in (0, 5):
        found = run(puma.problem(seed, count=48), "gauss-newton", evaluations=5000)
        assert found.reduction > 1e12
        assert base_distance(puma.robot, found.parameters, puma.truth) < 1e-5
        assert np.all(found.parameters[:, 0] < 3 * puma.truth[:, 0] + 1)  # the prior decides what nothing shows


@pytest.mark.slow
def test_gauss_newton_bears_noise(puma):
    log = record_sines(puma.robot, puma.truth, seed=0, seconds=2.0, noise=1e-4, rate_noise=1e-3)
    windows = Windows.of(puma.robot, [log], horizon=0.03, count=100)
    space = Space.of(puma.robot, start=puma.start(3), total=float(puma.values[:, 0].sum()))
    problem = SearchProblem(space, (Compiled(puma.robot, windows),))
    found = run(problem, "gauss-newton", evaluations=4000)
    assert found.error < 1.05 * problem.gc_error(puma.truth)
    assert base_distance(puma.robot, found.parameters, puma.truth) < 0.04


def test_a_start_that_flies_apart_is_refused(puma):
    problem = puma.problem(count=16)
    broken = SearchProblem(problem.space, problem.engines, terms=np.full((4, 6), np.nan))
    with pytest.raises(UsageError, match="cannot be simulated over these windows"):
        run(broken, "genetic")
