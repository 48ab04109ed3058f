"""Log-Cholesky coordinates cover what ``lmi`` allows, and descending in them finds the same optimum, from anywhere."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Options, identify, inertia
from steelyard.compose import prior as priors
from steelyard.compose import pseudo_inertia
from steelyard.compose.pseudo_inertia import chart as chart_of
from steelyard.information import Information
from steelyard.solve import log_cholesky_newton
from steelyard.solve.certify import certify
from steelyard.solve.log_cholesky import Chart
from steelyard.solve.problem import Cone, Problem
from steelyard.solve.solve import solve_certified
from tests import test_solve
from tests.bodies import SIZE, body, consistent, described, measured, no_prior, objective, solve_bodies
from tests.motions import physical, rotation

pytestmark = pytest.mark.numerical


def negative(p):
    """The same with data that ask for what would be a body of negative mass."""
    R = p.information.R
    return replace(p, information=Information.of(R, -R @ p.start))


CASES = {k: p for k, p in test_solve.CASES.items() if not p.entropies and not len(p.linear)} | {
    "one body": test_solve.problem(8, bodies=1, noise=0.01),
    "one body at its cone": test_solve.problem(13, bodies=1, noise=2.0, rows=12),
    "one body of the least mass": negative(test_solve.problem(10, bodies=1)),
}
seeds = st.integers(0, 10_000)


def charts(p):
    """Of the bodies that the problems of ``test_solve`` start with."""
    return [Chart(float(p.start[c.at]), p.lower[c.at], SIZE) for c in p.cones]


def somewhere(rng, chart=None):
    """A chart and a point of it, both at random."""
    chart = chart or replace(chart_of(body(rng)), axes=rotation(rng))
    return chart, chart.coordinates(physical(rng, 2.0, SIZE)) + 0.3 * rng.normal(size=10)


def differences(function, xi, step=1e-6):
    return np.stack([(function(xi + step * e) - function(xi - step * e)) / (2 * step) for e in np.eye(10)], axis=-1)


@given(seeds)
def test_every_point_of_a_chart_is_a_consistent_body_and_every_consistent_body_a_point(seed):
    rng = np.random.default_rng(seed)
    chart, xi = somewhere(rng)
    p = chart.parameters(xi)
    assert p[0] > chart.floor
    assert inertia.is_consistent(p, SIZE)
    np.testing.assert_allclose(chart.coordinates(p), xi, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("what", ["massless", "negative", "flat", "no body"])
def test_what_cannot_exist_has_coordinates_of_something_that_can(what):
    rng = np.random.default_rng(0)
    chart = chart_of(body(rng))
    p = {
        "massless": np.zeros(10),
        "negative": -physical(rng, 2.0, SIZE),
        "flat": inertia.pack(1.0, [0.1, 0, 0], np.diag([1.0, 1.0, 2.0])),
        "no body": inertia.pack(1.0, [0.1, 0, 0], np.diag([1.0, 1.0, 3.0])),
    }[what]
    assert inertia.is_consistent(chart.parameters(chart.coordinates(p)), SIZE)


def test_without_margin_and_floor_it_is_rucker_and_wensings():
    rng = np.random.default_rng(1)
    p = physical(rng, 2.0, SIZE)
    np.testing.assert_allclose(Chart(1.0, 0.0, 1.0, margin=0.0).coordinates(p), inertia.log_cholesky(p), atol=1e-12)


@given(seeds)
def test_the_jacobian_is_that_of_finite_differences(seed):
    chart, xi = somewhere(np.random.default_rng(seed))
    J = chart.jacobian(xi)
    np.testing.assert_allclose(J, differences(chart.parameters, xi), rtol=0, atol=1e-7 * np.abs(J).max())


@given(seeds)
def test_turning_a_chart_to_the_bodys_axes_changes_nothing_but_the_coordinates(seed):
    chart, xi = somewhere(np.random.default_rng(seed))
    aligned, aligned_xi = chart.align(xi)
    np.testing.assert_allclose(aligned.parameters(aligned_xi), chart.parameters(xi), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(aligned_xi[4:7], 0.0)
    assert np.all(np.diff(aligned_xi[1:4]) >= 0), "the thinnest axis first"


@given(seeds)
def test_the_barrier_is_log_det_of_the_cone_and_log_of_the_mass_above_its_floor(seed):
    rng = np.random.default_rng(seed)
    b = body(rng)
    chart, xi = somewhere(rng, replace(chart_of(b), axes=rotation(rng)))
    cone = Cone(0, pseudo_inertia.lmi(b))

    def phi(p):
        return np.linalg.slogdet(cone.value(p))[1] + np.log(p[0] - chart.floor)

    other = xi + 0.1 * rng.normal(size=10)
    change = chart.barrier(other) - chart.barrier(xi)
    assert change == pytest.approx(phi(chart.parameters(other)) - phi(chart.parameters(xi)), rel=1e-6, abs=1e-6)
    B, e = chart.barrier_model(xi)
    np.testing.assert_allclose(B.T @ e, differences(chart.barrier, xi), rtol=0, atol=1e-6)
    p, d = chart.parameters(xi), rng.normal(size=10)
    along, step = chart.jacobian(xi) @ d, 1e-3 / np.linalg.norm(B @ d)
    second = (phi(p + step * along) - 2 * phi(p) + phi(p - step * along)) / step**2
    assert second == pytest.approx(-np.sum((B @ d) ** 2), rel=1e-3)
    inverse, above = chart.inverse(xi)
    M = cone.value(p)
    np.testing.assert_allclose(inverse @ M, np.eye(4), atol=1e-6)
    assert above == pytest.approx(p[0] - chart.floor, rel=1e-9)


@given(seeds, st.floats(0.01, 0.99))
def test_a_straight_line_is_straight_and_ends_at_the_edge(seed, share):
    rng = np.random.default_rng(seed)
    b = body(rng)
    chart, xi = somewhere(rng, chart_of(b))
    change = chart.jacobian(xi) @ rng.normal(size=10)
    far, Y = chart.longest_step(xi, change)
    length = share * min(far, 1.0)
    p = chart.parameters(chart.advance(xi, change, Y, length))
    np.testing.assert_allclose(p, chart.parameters(xi) + length * change, rtol=1e-9, atol=1e-12)
    if far > 1e100:  # the change is itself a body: there is no edge that way
        assert np.linalg.eigvalsh(inertia.pseudo(change))[0] > 0
        return
    beyond = chart.parameters(xi) + 1.01 * far * change
    edge = min(np.linalg.eigvalsh(Cone(0, pseudo_inertia.lmi(b)).value(beyond))[0], beyond[0] - chart.floor)
    assert edge < 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_objective_is_that_of_lmi_and_the_certificate_is_of_the_same_problem(case):
    p = CASES[case]
    solution, best = log_cholesky_newton.solve(p, charts(p)), solve_certified(p)[0]
    proof = certify(p, solution)
    assert solution.status == "solved"
    assert proof.gap < 1e-6
    assert proof.least_eigenvalue > 0, "inside, always"
    assert p.objective(solution.theta) == pytest.approx(p.objective(best.theta), rel=1e-6)
    np.testing.assert_allclose(solution.theta / p.scale, best.theta / p.scale, rtol=0, atol=5e-3)


@pytest.mark.slow
@settings(max_examples=25)
@given(seeds, st.sampled_from(sorted(CASES)))
def test_however_far_off_it_starts_it_ends_at_the_same_optimum(seed, case):
    rng = np.random.default_rng(seed)
    p = CASES[case]
    start = p.start.copy()
    for cone in p.cones:
        mass, size = 10.0 ** rng.uniform(-4, 4), 10.0 ** rng.uniform(-4, 2)
        start[cone.at : cone.at + 10] = physical(rng, mass, size)
    solution = log_cholesky_newton.solve(p, charts(p), start)
    assert solution.status == "solved"
    assert p.objective(solution.theta) == pytest.approx(p.objective(solve_certified(p)[0].theta), rel=1e-6)


def alone(rng, noise, rows, thin):
    """One body and its problem; the truth has its spread along two axes made ``thin`` times as large."""
    b = body(rng)
    frame, truth = np.eye(4), inertia.unpack(physical(rng, 2.0, SIZE))
    frame[:3, :3] = rotation(rng)
    spread = np.diag([1.0, thin, thin**2]) * SIZE / 4
    flat = inertia.pack(truth[0], np.zeros(3), truth[0] * (np.trace(spread**2) * np.eye(3) - spread**2))
    frame[:3, 3] = 0.2 * SIZE * rng.normal(size=3)
    about = priors.of_bodies([b])
    data = measured(rng, [b], rows, noise, inertia.transform(flat, frame)) + about.information
    cone, low = Cone(0, pseudo_inertia.lmi(b)), {0: pseudo_inertia.mass_floor(b)}
    return b, Problem(data, about.scale, b.parameters, (cone,), low)


def start_of(rng, where, b):
    """As described, at another size altogether, or not a body at all."""
    if where == "described":
        return b.parameters
    if where == "far":
        return physical(rng, 10.0 ** rng.uniform(-4, 4), 10.0 ** rng.uniform(-4, 2))
    return rng.normal(size=10) * np.abs(b.parameters).max()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    seeds,
    st.floats(-4.0, 1.0),
    st.integers(1, 80),
    st.floats(-4.0, 0.0),
    st.sampled_from(["described", "far", "outside"]),
)
def test_one_body_compiled_ends_where_the_way_of_many_bodies_does(seed, noise, rows, thin, where):
    rng = np.random.default_rng(seed)
    b, p = alone(rng, 10.0**noise, rows, 10.0**thin)
    start = start_of(rng, where, b)
    solution = log_cholesky_newton.solve(p, [chart_of(b)], start)
    other = log_cholesky_newton.along_charts(p, [chart_of(b)], start)
    assert solution.status == other.status == "solved"
    assert certify(p, solution).holds
    np.testing.assert_allclose(solution.theta / p.scale, other.theta / p.scale, rtol=0, atol=1e-9)
    for mine, theirs in ((solution.duals[0], other.duals[0]), (solution.bound_duals[0], other.bound_duals[0])):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6 * np.max(np.abs(theirs)))


@pytest.mark.slow
@pytest.mark.parametrize(("case", "thin", "light"), [("one body", 0, 0), ("one body at its cone", 2, 0),
                                                     ("one body of the least mass", 0, 1)])  # fmt: skip
def test_one_body_inside_thin_or_of_the_least_mass_is_the_same_by_both_ways(case, thin, light):
    p = CASES[case]
    solution, other = log_cholesky_newton.solve(p, charts(p)), log_cholesky_newton.along_charts(p, charts(p), p.start)
    np.testing.assert_allclose(solution.theta / p.scale, other.theta / p.scale, rtol=0, atol=1e-9)
    covariance = inertia.density_covariance(solution.theta) / SIZE**2
    assert int(np.sum(np.linalg.eigvalsh(covariance) < 1e-6)) == thin
    assert int(solution.theta[0] < (1 + 1e-3) * p.lower[0]) == light


@pytest.mark.slow
def test_one_body_is_compiled_and_two_are_not(monkeypatch):
    monkeypatch.setattr(log_cholesky_newton, "along_charts", lambda *_: pytest.fail("not compiled"))
    assert log_cholesky_newton.solve(CASES["one body"], charts(CASES["one body"])).status == "solved"
    with pytest.raises(pytest.fail.Exception):
        log_cholesky_newton.solve(CASES["interior"], charts(CASES["interior"]))


def test_numbers_that_are_none_come_back_as_no_answer():
    triangle = CASES["one body"].information.triangle.copy()
    triangle[3, 10] = np.nan
    p = replace(CASES["one body"], information=Information(triangle, 1))
    solution = log_cholesky_newton.solve(p, charts(p))
    assert solution.status == "iteration limit"
    assert not certify(p, solution).holds


@pytest.mark.slow
@settings(max_examples=15)
@given(seeds, st.floats(0.0, 10.0), st.integers(1, 80))
def test_with_a_prior_or_none_it_is_as_good_as_lmi_and_every_body_is_consistent(seed, noise, rows):
    rng = np.random.default_rng(seed)
    bodies = described(rng, 2)
    data = measured(rng, bodies, rows, noise)
    for prior in [priors.of_bodies(bodies)] + [no_prior(bodies)] * (rows >= 20):
        one = solve_bodies(data, bodies, prior, "lmi")
        other = solve_bodies(data, bodies, prior, "nonlinear")
        assert other.certificate.holds
        assert all(consistent(other.theta, bodies))
        scale = objective(data, prior, one.theta) + 1e-6 * data.cost(prior.mean)
        assert abs(objective(data, prior, other.theta) - objective(data, prior, one.theta)) < 2e-6 * scale


@pytest.mark.parametrize("case", ["at the cones", "one body at its cone"])
def test_the_status_is_the_iteration_limit_when_it_runs_out_of_steps(case, monkeypatch):
    p = CASES[case]
    monkeypatch.setattr(log_cholesky_newton, "MOST", 3)
    solution = log_cholesky_newton.solve(p, charts(p))
    assert solution.status == "iteration limit"
    assert not certify(p, solution).holds


@pytest.mark.parametrize("case", ["entropic", "rows"])
def test_problems_that_have_no_log_cholesky_form_are_refused(case):
    p = test_solve.CASES[case]
    with pytest.raises(ValueError, match="log-Cholesky form"):
        log_cholesky_newton.solve(p, charts(p))


def test_a_log_gives_the_same_estimate_as_lmi_friction_included(arm):
    one, other = (
        identify("demo_arm", [arm.train], Options(method=method, friction="all")).estimate
        for method in ("lmi", "nonlinear")
    )
    assert other.certificate.holds
    assert other.consistent
    assert other.objective == pytest.approx(one.objective, rel=1e-6)
    for a, b in zip(one.bodies, other.bodies, strict=True):
        np.testing.assert_allclose(a.parameters, b.parameters, rtol=0, atol=1e-3 * np.abs(a.parameters).max())
