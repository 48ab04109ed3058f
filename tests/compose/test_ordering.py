"""Who may be more costs less: the same information and prior, and what each method asks of a body."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Points, Shapes
from steelyard.compose import positive_inertia
from steelyard.compose import prior as priors
from steelyard.information import Information
from tests.bodies import body, consistent, described, measured, no_prior, objective, solve_bodies

pytestmark = pytest.mark.numerical

seeds = st.integers(0, 10_000)


@pytest.mark.slow
@settings(max_examples=20)
@given(seeds, st.floats(0.0, 10.0), st.integers(1, 80))
def test_linear_is_at_most_mata_and_mata_at_most_lmi_with_a_prior_or_none(seed, noise, rows):
    rng = np.random.default_rng(seed)
    bodies = described(rng, 2)
    data = measured(rng, bodies, rows, noise)
    for prior in [priors.of_bodies(bodies), priors.of_bodies(bodies, "none"), *[no_prior(bodies)] * (rows >= 20)]:
        solutions = [solve_bodies(data, bodies, prior, m) for m in ("linear", "mata", "lmi", "nonlinear")]
        cost = [objective(data, prior, f.theta) for f in solutions]
        floor = 1e-6 * data.cost(np.zeros(data.n))
        for less, more, f in zip(cost, cost[1:3], solutions[1:], strict=False):
            assert less <= more + (f.certificate.gap + 1e-13) * (more + floor)
        assert abs(cost[3] - cost[2]) <= 2e-6 * (cost[2] + floor)
        assert all(f.certificate.holds for f in solutions)
        assert all(consistent(solutions[2].theta, bodies))


@settings(max_examples=10)
@given(seeds, st.floats(0.0, 10.0), st.integers(1, 80))
def test_lmi_is_at_most_points_and_shapes_and_finer_ones_cost_less(seed, noise, rows):
    """Point masses and shapes are physically consistent; 5 points an edge include 3, divisions add members."""
    rng = np.random.default_rng(seed)
    bodies = described(rng, 2)
    data = measured(rng, bodies, rows, noise)
    for prior in [priors.of_bodies(bodies), *[no_prior(bodies)] * (rows >= 20)]:
        floor = 1e-6 * data.cost(np.zeros(data.n))

        def cost(method, prior=prior):
            solution = solve_bodies(data, bodies, prior, method)
            assert solution.certificate.holds
            assert all(consistent(solution.theta, bodies))
            return objective(data, prior, solution.theta), solution.certificate.gap

        least, _ = cost("lmi")
        for coarse, fine in [
            (cost(Points(ridge=0.0)), cost(Points(per_edge=5, ridge=0.0))),
            (cost(Shapes(divisions=0)), cost(Shapes(divisions=4))),
        ]:
            for value, gap in (coarse, fine):
                assert least <= value + (gap + 1e-12) * (value + floor)
            assert fine[0] <= coarse[0] + (fine[1] + 1e-12) * (coarse[0] + floor)


def test_each_inequality_is_strict_somewhere():
    rng = np.random.default_rng(1)
    bodies = described(rng, 3)
    data, prior = measured(rng, bodies, 31, 3.0), priors.of_bodies(bodies)
    solutions = {m: solve_bodies(data, bodies, prior, m) for m in ("linear", "mata", "lmi")}
    cost = {m: objective(data, prior, f.theta) for m, f in solutions.items()}
    assert cost["linear"] < 0.99 * cost["mata"] < 0.98 * cost["lmi"]
    assert not all(consistent(solutions["linear"].theta, bodies))
    assert not all(consistent(solutions["mata"].theta, bodies))
    assert all(consistent(solutions["lmi"].theta, bodies))
    for k in range(3):
        p = solutions["mata"].theta[10 * k : 10 * k + 10]
        assert np.linalg.eigvalsh(positive_inertia.spatial(p))[0] > -1e-9, "but mass and inertia are positive"


@given(seeds, st.floats(0.01, 10), st.floats(0, 10))
def test_matas_function_is_a_case_of_ayusawas(seed, first, second):
    """(8) = λ|Yφ − f|² + λ'|Zφ − φ̂_B|² is (16) with W_f = λ1 + λ'Y_B⁺ᵀY_B⁺ and W_ρ = 0, for every φ."""
    rng = np.random.default_rng(seed)
    Y_B, Z, f = rng.normal(size=(30, 7)), rng.normal(size=(7, 10)), rng.normal(size=30)
    Y, pseudo = Y_B @ Z, np.linalg.pinv(Y_B)
    W = first * np.eye(30) + second * pseudo.T @ pseudo
    root = np.linalg.cholesky(W).T
    weighted = Information.of(root @ Y, root @ f)  # what the solvers see: rows whitened by W_f
    extended = Information.of(np.sqrt(first) * Y, np.sqrt(first) * f).extend(
        np.sqrt(second) * Z, np.sqrt(second) * (pseudo @ f)
    )
    for phi in rng.normal(size=(3, 10)):
        eight = first * np.sum((Y @ phi - f) ** 2) + second * np.sum((Z @ phi - pseudo @ f) ** 2)
        assert weighted.cost(phi) == pytest.approx(eight, rel=1e-9)
        assert extended.cost(phi) == pytest.approx(eight, rel=1e-9), "or as rows Zφ = φ̂_B"


def test_minimising_matas_function_under_matas_conditions_needs_nothing_but_weighted_rows():
    rng = np.random.default_rng(3)
    b = body(rng)
    scale = priors.of_bodies([b]).scale
    Y_B, Z = rng.normal(size=(30, 7)), rng.normal(size=(7, 10)) / scale
    f = Y_B @ Z @ b.parameters + rng.normal(size=30)
    pseudo = np.linalg.pinv(Y_B)
    root = np.linalg.cholesky(np.eye(30) + 5.0 * pseudo.T @ pseudo).T
    solution = solve_bodies(Information.of(root @ Y_B @ Z, root @ f), [b], priors.of_bodies([b], "none"), "mata")
    assert solution.certificate.holds

    def eight(phi):
        return np.sum((Y_B @ Z @ phi - f) ** 2) + 5.0 * np.sum((Z @ phi - pseudo @ f) ** 2)

    best = eight(solution.theta)
    for _ in range(200):
        other = solution.theta + 0.05 * scale * rng.normal(size=10)
        if np.linalg.eigvalsh(positive_inertia.spatial(other))[0] > 0:
            assert eight(other) > best * (1 - 1e-6)
