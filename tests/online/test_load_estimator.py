"""A load on a quadruped's back, identified while it moves."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard import Options, UsageError
from steelyard.online import LoadEstimator
from tests.online.conftest import CUBE, FEET, table
from tests.refusals import refuses

pytestmark = pytest.mark.slow

AREA = (-0.12, 0.12, -0.09, 0.09, 0.05, 0.15)
OPTIONS = Options(method="shapes", feet=FEET)


@pytest.fixture(scope="module")
def estimator(dog):
    load = LoadEstimator("a1", dog.empty, "trunk", AREA, OPTIONS, known=dog.truth)
    values = table(dog.carrying, load.inputs)
    load.push_window(dog.carrying.time[:2000], values[:2000])
    return load


def test_a_cube_is_identified_by_division_of_one_cuboid_over_an_area(estimator):
    load = estimator.load()
    assert load.mass == pytest.approx(1.0, abs=0.03)
    assert load.com == pytest.approx(CUBE[1:4], abs=0.006)
    assert load.body.source.mass == "data"
    assert load.body.consistent
    assert np.linalg.eigvalsh(load.inertia)[0] > 0
    assert estimator.certificate.holds
    first, *_, last = load.divisions
    assert (first.k, first.shapes) == (0, 1)
    assert last.objective <= first.objective
    assert not load.changes


def test_dividing_brings_the_load_nearer_to_where_it_is(estimator):
    steps = estimator.load().divisions
    first, last = (np.array(s.body("(load)")["com"]) for s in (steps[0], steps[-1]))
    assert np.linalg.norm(last - CUBE[1:4]) < 0.5 * np.linalg.norm(first - CUBE[1:4])


def test_a_saved_load_estimator_resumes_to_the_last_bit(dog, tmp_path):
    values = None
    estimators = [LoadEstimator("a1", dog.empty, "trunk", AREA, OPTIONS, known=dog.truth) for _ in range(2)]
    values = table(dog.carrying, estimators[0].inputs)
    estimators[0].push_window(dog.carrying.time[:333], values[:333])
    estimators[0].save(tmp_path / "load.npz")
    estimators[1].restore(tmp_path / "load.npz")
    for one in estimators:
        one.push_window(dog.carrying.time[333:700], values[333:700])
    assert estimators[0].load().mass == estimators[1].load().mass


def test_an_area_that_is_not_a_cuboid_is_refused(dog):
    for area in ((0, 1, 0, 1), (0.1, 0.0, 0, 1, 0, 1), (0, np.nan, 0, 1, 0, 1)):
        with refuses(UsageError, "option-value", f"area={' '.join(f'{x:g}' for x in area)}"):
            LoadEstimator("a1", dog.empty, "trunk", area, OPTIONS)
