"""On the boundary of physical consistency an interval follows the cone; elsewhere it is the Gaussian one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.intervals import study
from steelyard import Lmi, Options, identify, inertia
from steelyard.compose import pseudo_inertia
from steelyard.equations.subspace import Subspace
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.identify.estimate_json import estimate_json, estimate_text
from steelyard.identify.sentence import mass_interval
from steelyard.inference.profile_likelihood import Profile, is_on_boundary
from steelyard.inference.uncertainty import compute_uncertainty
from steelyard.information import Information
from steelyard.robot.model import Body, Robot
from steelyard.solve import clarabel_ as conic
from steelyard.solve.problem import Cone, Problem
from tests.motions import physical

pytestmark = pytest.mark.numerical

SIZE = 0.4


def posed(truth, noise, seed=0, rows=30):
    """One body that is described as twenty percent heavier, and noisy equations about it."""
    rng = np.random.default_rng(seed)
    body = Body("b", ("b",), 1, 1.2 * physical(rng, 2.0, SIZE), (np.full(3, -0.1), np.full(3, 0.1)), SIZE)
    scale = np.array([2.0, *[0.4] * 3, *[0.08] * 6])
    Y = rng.normal(size=(rows, 10)) / scale / noise
    data = Information.of(Y, Y @ truth + rng.normal(size=rows))
    K = np.diag(1 / scale)
    total = data + Information.of(K, K @ body.parameters)
    unc = compute_uncertainty(Subspace.of(data.R, scale), data, data.R.T @ data.R, K)
    problem = Problem(total, scale, body.parameters, (Cone(0, pseudo_inertia.lmi(body)),))
    return body, total, unc, scale, conic.solve(problem).theta


def test_away_from_the_edge_the_interval_is_the_gaussian_one():
    truth = physical(np.random.default_rng(5), 2.0, SIZE)
    body, total, unc, scale, theta = posed(truth, 0.01)
    assert not is_on_boundary(theta, body)
    assert Profile.of(total, theta, scale, [(body, 0)], {}) is None
    profile = Profile((body,), np.arange(10), total, theta, scale, np.zeros(0))
    interval = profile.intervals(unc, total)["b"]
    half = 1.96 * unc.std(np.eye(10)[0])
    np.testing.assert_allclose(interval.mass, [theta[0] - half, theta[0] + half], atol=0.01 * half)
    for k, (low, high) in enumerate(interval.com):
        c = theta[1 + k] / theta[0]
        half = 1.96 * unc.std((np.eye(10)[1 + k] - c * np.eye(10)[0]) / theta[0])
        np.testing.assert_allclose([low, high], [c - half, c + half], atol=0.01 * half)


def flat(mass=0.1):
    """A sheet: all its mass in a plane."""
    covariance = np.diag([0.01, 0.01, 0.0])
    return inertia.pack(mass, [0.05, 0.0, 0.1], mass * (np.trace(covariance) * np.eye(3) - covariance))


def test_at_the_edge_the_interval_stays_physical_and_holds_the_estimate():
    below = 0
    for seed in range(6):
        body, total, unc, scale, theta = posed(flat(), 0.5, seed)
        profile = Profile.of(total, theta, scale, [(body, 0)], {})
        assert profile is not None
        low, high = profile.intervals(unc, total)["b"].mass
        assert 0 <= low <= theta[0] <= high
        below += theta[0] - 1.96 * unc.std(np.eye(10)[0]) < 0
    assert below > 0, "the Gaussian interval would have had a negative mass in it"


def test_no_body_of_the_cone_within_the_quantile_lies_outside():
    body, total, unc, scale, theta = posed(flat(0.5), 0.2, 3)
    profile = Profile.of(total, theta, scale, [(body, 0)], {})
    interval = profile.intervals(unc, total)["b"]
    best, rng = total.cost(theta), np.random.default_rng(0)
    root = np.linalg.inv(total.R)
    masses = []
    for _ in range(20000):
        other = theta + root @ rng.normal(size=10) * rng.uniform(0, 2)
        if inertia.is_consistent(other, SIZE) and total.cost(other) < best + 3.84:
            masses.append(other[0])
    assert len(masses) > 100
    assert interval.mass[0] <= min(masses) <= max(masses) <= interval.mass[1]


def test_a_friction_at_zero_is_kept_at_its_bound():
    """A number at its lowest value is one more constraint that the profile must respect."""
    body, total, _, scale, theta = posed(flat(), 0.5)
    wide = np.zeros((11, 11))
    wide[:10, :10] = total.R
    wide[10, 10] = 1.0
    z = np.append(total.z, -0.5)  # the data would have it negative
    both = Information.of(wide, z)
    profile = Profile.of(both, np.append(theta, 0.0), np.append(scale, 1.0), [(body, 0)], {10: 0.0})
    assert list(profile.keep) == list(range(11))
    assert profile.lowest == [0.0]
    free = Profile.of(both, np.append(theta, 0.3), np.append(scale, 1.0), [(body, 0)], {10: 0.0})
    assert list(free.keep) == list(range(10))


@pytest.mark.slow
def test_by_simulation_profiles_hold_the_truth_where_gauss_promises_too_much():
    """The full study is ``python -m bench intervals``."""
    coverage = study(120, 0.5, 4, 0.1)
    assert coverage["at the edge"] > 30
    assert min(coverage["profile"].values()) >= 0.93
    assert np.mean(list(coverage["profile"].values())) >= np.mean(list(coverage["gauss"].values()))


@pytest.fixture(scope="module")
def estimate(arm):
    return identify("demo_arm", [arm.train], Options(friction="all")).estimate


def test_bodies_at_the_edge_and_no_others_get_such_an_interval(estimate, arm):
    thin = [b.name for b in estimate.bodies if b.interval is not None]
    assert thin
    (notice,) = (n for n in estimate.notices if n.code == "consistent-barely")
    assert notice.where.split(", ") == thin
    for b in estimate.bodies:
        entry = json.loads(estimate_text(estimate_json(estimate)))["links"][b.name]["interval"]
        if b.interval is None:
            assert entry is None
            assert "±" in mass_interval(b, ".3f")
            continue
        assert entry["mass"][0] < b.mass < entry["mass"][1]
        assert len(entry["com"]) == 3
        assert "±" not in mass_interval(b, ".3f")
        for c, (low, high) in zip(b.parameters[1:4] / b.mass, entry["com"], strict=True):
            assert low <= c <= high


def test_methods_without_the_cone_have_no_profile(arm):
    for options in (
        Options(friction="all", method="least-squares"),
        Options(method=Lmi(regularisation="entropic"), friction="all"),
    ):
        estimate = identify("demo_arm", [arm.train], options).estimate
        assert all(b.interval is None for b in estimate.bodies)


def test_an_indefinite_score_covariance_does_not_claim_certainty():
    """A short log's autocorrelation can make the long-run covariance negative in some direction."""
    rng = np.random.default_rng(0)
    info = Information.of(rng.normal(size=(30, 3)), rng.normal(size=30))
    space = Subspace.of(info.R, np.ones(3))
    A = info.R.T @ info.R
    w, Q = np.linalg.eigh(A)
    indefinite = A - 2 * w[0] * np.outer(Q[:, 0], Q[:, 0])
    plain, short = (compute_uncertainty(space, info, B, np.eye(3)) for B in (A, indefinite))
    assert np.linalg.eigvalsh(short.posterior).min() > 0
    np.testing.assert_allclose(short.posterior, plain.posterior, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(short.std_data(Q[:, 0]), plain.std_data(Q[:, 0]), rtol=1e-9)


def test_a_log_of_four_seconds_gets_its_intervals():
    robot = Robot.load("demo_arm")
    log = simulate_arm(robot, {b.name: 1.1 * b.parameters for b in robot.bodies}, seed=1, seconds=4)
    estimate = identify("demo_arm", log).estimate
    assert all(np.isfinite(body.std).all() and (body.std > 0).all() for body in estimate.bodies)
