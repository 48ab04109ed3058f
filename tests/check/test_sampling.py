"""Lost samples, repeated rows, wrong stamps, and time that runs at a wrong rate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from steelyard.check.checks.sampling import stamp_jitter
from steelyard.experiment.simulate.simulate_arm import NOISE, simulate_arm
from tests.check.good_logs import findings
from tests.planted import lossy


def repeated(log, share):
    """Rows that hold the one before, at random."""
    source = np.arange(len(log))
    for k in np.flatnonzero(np.random.default_rng(0).random(len(log)) < share):
        source[k] = source[max(k - 1, 0)]
    return replace(log, columns={c: x[source] for c, x in log.columns.items()})


def sampled_late(log, sigma):
    """Samples that were taken at other times than their stamps."""
    at = log.time + sigma * np.random.default_rng(1).normal(size=len(log)).clip(-2, 2)
    return replace(log, columns={c: CubicSpline(log.time, x)(at) for c, x in log.columns.items()})


def stamped(log, row, steps):
    time = log.time.copy()
    time[row] += steps * (time[1] - time[0])
    return replace(log, time=time)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.6])
def test_lost_samples_are_doubtful_even_where_most_steps_are_multiples_of_the_grid(good, share):
    (finding,) = findings(lossy(share)(good))
    assert (finding.code, finding.severity) == ("samples-lost", "doubt")
    assert finding.remedy["lost"] == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(("share", "severity"), [(0.01, "doubt"), (0.05, "doubt"), (0.2, "error")])
def test_repeated_rows_are_reported_with_their_share(good, share, severity):
    (finding,) = findings(repeated(good, share))
    assert (finding.code, finding.severity) == ("rows-repeated", severity)
    assert finding.remedy["share"] == pytest.approx(share, rel=0.35)


def test_rows_of_an_arm_that_stands_still_may_be_equal(good):
    rest = good.cut(0, 1)
    columns = {c: np.concatenate([np.repeat(rest.columns[c], 400), x]) for c, x in good.columns.items()}
    time = np.concatenate([good.time[0] - 5e-3 * np.arange(400, 0, -1), good.time])
    assert not [f for f in findings(replace(good, time=time, columns=columns)) if f.code == "rows-repeated"]


@pytest.mark.parametrize("steps", [0.3, 0.6, -0.9])
def test_one_wrong_stamp_among_regular_ones_is_named(good, steps):
    (finding,) = findings(stamped(good, 900, steps))
    assert (finding.code, finding.severity) == ("stamp-outlier", "doubt")
    assert finding.remedy["drop_rows"] == [900]


@pytest.mark.parametrize(("row", "steps"), [(-1, 1e5), pytest.param(0, -1e6, marks=pytest.mark.slow)])
def test_a_stamp_alone_beyond_a_gap_is_named(good, row, steps):
    (finding,) = findings(stamped(good, row, steps))
    assert (finding.code, finding.severity) == ("stamp-outlier", "doubt")
    assert finding.remedy["drop_rows"] == [row % len(good)]


@pytest.mark.parametrize(("sigma", "severity"), [(7e-4, "doubt"), (2e-3, "doubt"), (4e-3, "error")])
def test_hidden_errors_of_the_stamps_are_measured(good, sigma, severity):
    (finding,) = findings(sampled_late(good, sigma))
    assert (finding.code, finding.severity) == ("stamp-jitter", severity)
    assert finding.remedy["jitter"] == pytest.approx(sigma, rel=0.25)


@pytest.mark.slow
def test_hidden_errors_of_the_stamps_are_measured_on_a_quadruped(walking, a1_robot):
    assert findings(walking, "a1") == ()
    std, error = stamp_jitter(a1_robot, sampled_late(walking, 1e-3))
    assert std == pytest.approx(1e-3, rel=0.25)
    assert error < 1e-4
    assert {f.code for f in findings(sampled_late(walking, 1e-3), "a1")} == {"stamp-jitter"}


def test_jitter_that_the_stamps_show_is_good(good):
    at = good.time + 1e-3 * np.random.default_rng(1).normal(size=len(good)).clip(-2, 2)
    columns = {c: CubicSpline(good.time, x)(at) for c, x in good.columns.items()}
    assert findings(replace(good, time=at, columns=columns)) == ()


@pytest.mark.parametrize("noise", list(NOISE))
def test_noise_of_the_encoders_is_no_jitter(arm, noise):
    log = simulate_arm(arm.robot, arm.truth, seed=3, seconds=12.0, noise=noise, friction=arm.friction)
    std, error = stamp_jitter(arm.robot, log)
    assert std < 4e-4 + 4 * error


@pytest.mark.parametrize("factor", [2.0, 0.5, 1.5, 0.7])
def test_time_at_a_wrong_rate_shows_in_the_ratio_of_gravity_and_inertia(good, factor):
    (finding,) = findings(replace(good, time=factor * good.time))
    assert (finding.code, finding.severity) == ("time-scale", "error")
    assert finding.remedy["scale"] == pytest.approx(1 / factor, rel=0.1)
