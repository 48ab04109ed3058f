"""How noisy rows are is read from residuals: across channels, in time, with outliers, and in bounded memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from steelyard import Options, identify
from steelyard.equations.columns import Columns
from steelyard.equations.filters import Filter, lowpass
from steelyard.equations.rows import Block, Rows
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify import fit
from steelyard.inference import noise
from steelyard.inference.uncertainty import compute_uncertainty, long_run_covariance
from steelyard.information import Information
from steelyard.robot.model import Robot
from tests.floating import floating_log
from tests.motions import installed, smooth

pytestmark = pytest.mark.numerical

MIX = np.array([[1.0, 0.0, 0.0], [0.9, 0.3, 0.0], [-1.6, 0.4, 0.5]])  # of white noise into three channels
NAMES = ("a", "b", "c", "d")
NOTHING = Information.none(len(NAMES))
THETA = np.array([1.0, -2.0, 0.5, 3.0])
FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


def blocks(seed=0, samples=3000, outliers=0.0, pieces=3):
    """Rows of three channels with the noise of MIX; ``outliers``: share of samples that are 100 times as far off."""
    rng = np.random.default_rng(seed)
    Y, e = rng.normal(size=(samples, 3, 4)), rng.normal(size=(samples, 3)) @ MIX.T
    hit = rng.random((samples, 3)) < outliers
    e = np.where(hit, 100 * np.std(e, axis=0) * np.sign(e), e)
    parts = np.array_split(np.arange(samples), pieces)
    return [Block(p / 10, Y[p], Y[p] @ THETA + e[p], first=k == 0) for k, p in enumerate(parts)]


def test_correlated_channels_are_decorrelated():
    model, info = noise.estimate_noise(blocks(), NAMES, NOTHING, full=True)
    covariance = model.root @ MIX @ MIX.T @ model.root.T
    np.testing.assert_allclose(covariance, np.eye(3), atol=0.1)
    apart, alone = noise.estimate_noise(blocks(), NAMES, NOTHING)
    np.testing.assert_array_equal(apart.root, np.diag(np.diag(apart.root)))
    np.testing.assert_allclose(np.diag(apart.root), 1 / np.sqrt(np.diag(MIX @ MIX.T)), rtol=0.05)
    assert np.linalg.norm(info.solve() - THETA) < np.linalg.norm(alone.solve() - THETA)


def test_knowing_how_channels_correlate_is_worth_much():
    """The third channel is nearly a combination of the others: errors fall well below those of separate weights."""
    errors = dict.fromkeys((True, False), 0.0)
    for seed in range(20):
        for full in errors:
            _, info = noise.estimate_noise(blocks(seed, 200), NAMES, NOTHING, full=full)
            errors[full] += float(np.sum((info.solve() - THETA) ** 2))
    assert errors[True] < 0.6 * errors[False]


@installed
def test_contact_free_rows_are_weighted_across_channels_and_others_are_not(monkeypatch):
    robot = Robot.load("a1")
    truth = {b.name: b.parameters for b in robot.bodies} | {"base": perturbed(robot, np.random.default_rng(2))["base"]}
    log = floating_log(robot, truth, FEET, seconds=3, rate=200, wrenches=True, noise=(3e-4, 0.005, 0.05, 0.2))
    estimates = []
    original = noise.estimate_noise

    def recorded(*arguments, **options):
        estimates.append(original(*arguments, **options))
        return estimates[-1]

    monkeypatch.setattr(noise, "estimate_noise", recorded)
    identify(robot.description, [log], Options(links=("base",), feet=FEET))
    identify(robot.description, [log], Options(links=("base",)))
    across, separate = (model.root for model, _ in estimates)
    assert np.abs(np.tril(across / np.diag(across), -1)).max() > 0.1
    assert np.abs(separate - np.diag(np.diag(separate))).max() == 0


def spread(rows, robust):
    """Estimate and standard deviations of the four parameters."""
    model, info = noise.estimate_noise(rows, NAMES, NOTHING, robust=robust)
    theta = info.solve()
    space = Subspace.of(info.R, np.ones(4))
    score_covariance = long_run_covariance(rows, model, theta, space, robust)
    unc = compute_uncertainty(space, info, score_covariance, 1e-6 * np.eye(4))
    return theta, np.array([unc.std(g) for g in np.eye(4)])


@pytest.mark.parametrize("seed", range(4))
def test_one_in_a_hundred_gross_outliers_hardly_widens_robust_intervals(seed):
    _, clean = spread(blocks(seed), False)
    theta, std = spread(blocks(seed, outliers=0.01), True)
    assert np.all(std < 3 * clean)
    assert np.all(std > clean / 3)
    assert np.all(np.abs(theta - THETA) < 5 * std)
    _, plain = spread(blocks(seed, outliers=0.01), False)
    assert np.all(plain > 3 * clean), "without a robust loss they do"


def test_autocorrelated_noise_reduces_the_effective_number_of_samples():
    rows = blocks(0, 6000)
    taps = np.ones(5) / np.sqrt(5)
    target = np.concatenate([b.target - b.Y @ THETA for b in rows])
    slow = np.apply_along_axis(np.convolve, 0, target, taps, "same")
    parts = np.split(slow, np.cumsum([len(b.time) for b in rows])[:-1])
    dull = [replace(b, target=b.Y @ THETA + e) for b, e in zip(rows, parts, strict=True)]
    white, _ = noise.estimate_noise(rows, NAMES, NOTHING)
    model, _ = noise.estimate_noise(dull, NAMES, NOTHING)
    np.testing.assert_allclose(white.factor, 1.0, atol=0.3)
    np.testing.assert_allclose(model.factor, 5.0, rtol=0.25)  # a moving average of five: five samples count as one
    np.testing.assert_allclose(model.correlation[1], 0.8, atol=0.05)  # neighbours share four of five samples


class Streamed:
    """Blocks made anew at every pass: 20 MB in all, 0.1 MB at a time."""

    def __init__(self, count=200):
        self.count = count

    def __iter__(self):
        for k in range(self.count):
            rng = np.random.default_rng(k)
            Y = rng.normal(size=(50, 6, 40))
            yield Block(50.0 * k + np.arange(50), Y, Y.sum(axis=2) + rng.normal(size=(50, 6)), first=k == 0)


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
def test_weighting_streamed_rows_never_stores_them_all(full):
    names = tuple(f"p{k}" for k in range(40))
    tracemalloc.start()
    try:
        model, info = noise.estimate_noise(Streamed(), names, Information.none(40), full=full, passes=2)
        space = Subspace.of(info.R, np.ones(40))
        long_run_covariance(Streamed(), model, info.solve(), space)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert info.rows == 200 * 50 * 6
    assert peak < 5e6


def rows_of(robot, samples=3000):
    part = smooth(robot, 0, samples=samples)
    return Setup(robot, "joint", Columns(tuple(b.name for b in robot.bodies)), filter=Filter(10.0, 20.0, 200.0)).rows(
        [part]
    )


def test_rows_are_kept_only_where_they_fit(arm, monkeypatch):
    rows = rows_of(arm.robot)
    monkeypatch.setattr(fit, "CACHE_BYTES", 1e12)
    kept = fit._cached(rows)
    assert isinstance(kept, list)
    monkeypatch.setattr(fit, "CACHE_BYTES", sum(b.Y.nbytes for b in kept) / 2)
    assert fit._cached(rows) is rows


def test_a_chunk_is_never_shorter_than_the_overlap_that_the_filter_costs(arm, monkeypatch):
    """However little memory is allowed, at most half of what is computed is computed twice."""
    rows = rows_of(arm.robot)
    monkeypatch.setattr("steelyard.equations.rows.CHUNK_BYTES", 1.0)
    computed = []
    original = Rows.raw

    def counted(self, part, before):
        computed.append(len(part.time))
        return original(self, part, before)

    monkeypatch.setattr(Rows, "raw", counted)
    chunks = list(rows)
    overlap = len(lowpass(200.0, 10.0)) - 1
    assert len(chunks) > 10
    assert all(block.time[-1] - block.time[0] >= (overlap - 10) / 200 for block in chunks[:-1])
    assert sum(computed) < 2.3 * 3000  # 3000 samples, each at most twice, and the last chunk's overlap


@pytest.mark.parametrize("full", [False, True])
def test_runs_shorter_than_the_autocorrelation_of_the_noise_are_used_as_they_are(full):
    """A log in pieces, some of a single row: the noise is estimated from all of them together."""
    rng = np.random.default_rng(6)
    lengths = [400, 3, 1, 7, 2, 60, 1]
    theta = rng.normal(size=4)
    blocks = []
    for length in lengths:
        Y = rng.normal(size=(length, 2, 4))
        blocks.append(Block(np.arange(float(length)), Y, Y @ theta + [0.1, 0.5] * rng.normal(size=(length, 2)), True))
    model, info = noise.estimate_noise(blocks, tuple("abcd"), Information.none(4), full=full)
    assert info.rows == 2 * sum(lengths)
    assert len(model.correlation) > 10, "more lags than some runs have rows"
    np.testing.assert_allclose(1 / np.diag(model.root), [0.1, 0.5], rtol=0.15)
    np.testing.assert_allclose(info.solve(), theta, atol=0.05)
