"""A score compares a prediction with the measurement as it came: for every kind of row, and over several logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import LeastSquares, Options, identify
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.identify.scoring import pooled, score
from tests.floating import floating_log
from tests.motions import installed, load

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
KINDS = {
    "contact-free": Options(feet=FEET),
    "full": Options(),
    "base": Options(equations="base"),
    "joint": Options(equations="joint", base="floating"),  # torques and the feet's wrenches together
}


@pytest.fixture(scope="module")
def walks():
    """Two exact logs of an A1 that is as described, with the wrenches at its feet."""
    robot = load("a1")
    truth = {b.name: b.parameters for b in robot.bodies}
    return [floating_log(robot, truth, FEET, seed=k, seconds=2.5 + k, rate=200, wrenches=True) for k in (0, 1)]


def rows_of(kind, *logs):
    description = load("a1").description
    setup = Setup.of(description, logs, KINDS[kind])
    assert setup.equations == kind
    filter = KINDS[kind].filter.for_logs(logs)
    segments = [s for log in logs for s in prepare(setup.robot, log, filter, torques=kind != "base")[0]]
    return Setup(setup.robot, setup.equations, setup.columns, tuple(setup.unknown), filter).rows(segments)


@installed
@pytest.mark.parametrize("kind", KINDS)
def test_parameters_a_tenth_too_large_predict_forces_a_tenth_too_large(walks, kind):
    """On an exact log ``relative`` is known without any regressor: that of the truth is 0, of nothing 1."""
    rows = rows_of(kind, walks[0])
    truth = load("a1").prior
    for factor, expected in ((1.0, 0.0), (1.1, 0.1), (0.7, 0.3), (0.0, 1.0)):
        result, series = score(rows, factor * truth, walks[0], "fit")
        assert result.relative == pytest.approx(expected, abs=0.01)
        assert result.relative_filtered == pytest.approx(expected, abs=0.003)
        off = series.predicted - series.measured
        assert result.relative == pytest.approx(np.linalg.norm(off) / np.linalg.norm(series.measured))
        rmse = np.sqrt(np.mean(off**2, axis=0))
        np.testing.assert_allclose([result.rmse[name] for name in rows.names], rmse, rtol=1e-9)


@installed
@pytest.mark.parametrize(("kind", "column"), [
    ("contact-free", "tau."), ("full", "tau."), ("full", "wrench."), ("base", "wrench."), ("joint", "wrench."),
])  # fmt: skip
def test_no_filter_flatters_the_relative_error(walks, kind, column):
    """White noise in what is measured is all in ``relative``, and mostly filtered away in ``relative_filtered``."""
    rng = np.random.default_rng(0)
    noisy = {
        name: values + 2.0 * rng.normal(size=len(values)) if name.startswith(column) else values
        for name, values in walks[0].columns.items()
    }
    log = replace(walks[0], columns=noisy)
    result, _ = score(rows_of(kind, log), load("a1").prior, log, "fit")
    exact, _ = score(rows_of(kind, walks[0]), load("a1").prior, walks[0], "fit")
    assert result.relative > 0.01 + exact.relative
    assert result.relative_filtered < 0.7 * result.relative


@installed
@pytest.mark.parametrize("kind", ["contact-free", "full", "base"])
def test_scores_of_two_logs_pool_to_the_score_of_both(walks, kind):
    rng = np.random.default_rng(1)
    theta = load("a1").prior * rng.uniform(0.8, 1.2, len(load("a1").prior))
    rows = rows_of(kind, *walks)
    each = [rows.setup.rows([s], free=rows.free) for s in rows.segments]
    together = pooled([score(r, theta, log, "fit")[0] for r, log in zip(each, walks, strict=True)])
    both, _ = score(rows, theta, walks[0], "fit")
    assert together.rows == both.rows
    assert together.relative == pytest.approx(both.relative, rel=1e-9)
    assert together.relative_filtered == pytest.approx(both.relative_filtered, rel=1e-9)
    assert together.rmse == pytest.approx(both.rmse, rel=1e-9)
    assert together.squares == pytest.approx(both.squares, rel=1e-9)
    assert together.squares_filtered == pytest.approx(both.squares_filtered, rel=1e-9)


def test_the_fit_of_two_logs_is_the_error_over_the_torque_of_both(arm):
    result = identify("demo_arm", [arm.train, arm.test], Options(friction="all"))
    first, second = result.series
    assert {first.role, second.role} == {"fit"}
    error = np.vstack([s.predicted - s.measured for s in (first, second)])
    torque = np.vstack([s.measured for s in (first, second)])
    fit = result.estimate.fit
    assert fit.relative == pytest.approx(np.linalg.norm(error) / np.linalg.norm(torque), rel=1e-12)
    for k, name in enumerate(first.rows):
        assert fit.rmse[name] == pytest.approx(np.sqrt(np.mean(error[:, k] ** 2)), rel=1e-3)
    assert fit.rows == error.size
    assert 0 < fit.relative_filtered < fit.relative


@installed
def test_the_fit_of_an_estimate_is_the_score_of_its_own_parameters(walks):
    shaken = {k: v + 3 * np.sin(5 * walks[0].time) if k.startswith("tau.") else v for k, v in walks[0].columns.items()}
    wrong = replace(walks[0], columns=shaken)
    result = identify(load("a1").description, [wrong], Options(links=("base",), feet=FEET), validate=[walks[1]])
    rows = rows_of("contact-free", wrong)
    again, _ = score(rows, result.theta, wrong, "fit")
    assert result.estimate.fit.relative == pytest.approx(again.relative)
    (held,) = result.estimate.validation.values()
    assert again.relative > 0.01, "one body does not explain motors that sway together"
    other, _ = score(rows_of("contact-free", walks[1]), result.theta, walks[1], "validation")
    assert held.relative == pytest.approx(other.relative, rel=0.05)


def test_least_squares_in_the_space_of_the_data_predicts_held_out_torque(arm):
    options = Options(method=LeastSquares(null_space="data"), friction="all")
    result = identify("demo_arm", [arm.train], options, validate=[arm.test])
    (held,) = result.estimate.validation.values()
    assert held.relative < 0.04
    assert result.estimate.certificate.holds
