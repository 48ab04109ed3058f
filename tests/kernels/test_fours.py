"""Factors and steps of one body's matrix, against NumPy's, and the length of a step against trying all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.compose import pseudo_inertia
from steelyard.compose.pseudo_inertia import chart as chart_of
from steelyard.inertia import SOLVER_MARGIN
from steelyard.kernels import chol4 as fours
from steelyard.kernels import one_body_newton
from steelyard.solve.problem import Cone
from tests.bodies import body
from tests.motions import physical

pytestmark = pytest.mark.numerical

seeds = st.integers(0, 10_000)


def symmetric(rng, size=1.0):
    X = size * rng.normal(size=(4, 4))
    return (X + X.T) / 2


def upper(rng):
    return np.triu(rng.normal(size=(4, 4)), 1) + np.diag(rng.uniform(0.1, 2.0, 4))


def ten(Y):
    return np.array([Y[i, j] * (1 if i == j else np.sqrt(2)) for j in range(4) for i in range(j + 1)])


@pytest.mark.slow
@given(seeds)
def test_the_factor_of_parameters_is_that_of_their_cone_and_gives_them_back(seed):
    rng = np.random.default_rng(seed)
    b = body(rng)
    theta, U, chart = physical(rng, 2.0, b.size), np.empty((4, 4)), chart_of(b)
    numbers = np.array([chart.mass, chart.floor, chart.size, chart.margin])
    above = fours.root(theta, numbers, U)
    np.testing.assert_array_equal(U, np.triu(U))
    np.testing.assert_allclose(U @ U.T, Cone(0, pseudo_inertia.lmi(b)).value(theta), rtol=0, atol=1e-12)
    assert np.isclose(above, (theta[0] - chart.floor) / chart.mass)
    other, other_above = chart.factor(theta)
    np.testing.assert_allclose(U, other, rtol=0, atol=1e-9)
    assert np.isclose(above, other_above)
    x, back = np.empty(10), np.empty(10)
    fours.entries(U, x)
    fours.parameters(x, numbers, back)
    np.testing.assert_allclose(back, theta, rtol=0, atol=1e-12)


def test_what_is_outside_or_at_the_edge_has_no_factor_of_its_own():
    rng = np.random.default_rng(0)
    b = body(rng)
    numbers = np.array([b.parameters[0], pseudo_inertia.mass_floor(b), b.size, SOLVER_MARGIN])
    light = numbers[1] / b.parameters[0] * b.parameters
    for theta in (-b.parameters, light, np.append(1.0, np.zeros(9)), np.full(10, np.nan)):
        assert fours.root(theta, numbers, np.empty((4, 4))) == 0.0


@pytest.mark.slow
@given(seeds, st.floats(0.0, 1.0))
def test_a_step_multiplies_the_factor_and_one_out_of_the_cone_is_not_taken(seed, t):
    rng = np.random.default_rng(seed)
    U, Y = upper(rng), symmetric(rng)
    moved, back = U.copy(), np.empty((4, 4))
    taken = fours.advance(moved, Y, t, np.empty((4, 4)))
    assert taken == (np.linalg.eigvalsh(np.eye(4) + t * Y)[0] > 0)
    after = U @ (np.eye(4) + t * Y) @ U.T if taken else U @ U.T
    np.testing.assert_allclose(moved @ moved.T, after, rtol=0, atol=1e-12)
    fours.matrix(ten(Y), back)
    np.testing.assert_allclose(back, Y, rtol=0, atol=1e-15)
    C = np.zeros((4, 4))
    fours.invert(U, C)
    np.testing.assert_allclose(C @ U, np.eye(4), rtol=0, atol=1e-9)


@given(seeds, st.floats(-8.0, 8.0))
def test_eigenvalues_are_good_to_six_digits_of_the_largest(seed, size):
    Y, w = symmetric(np.random.default_rng(seed), 10.0**size), np.empty(4)
    expected = np.linalg.eigvalsh(Y)
    fours.eigenvalues(Y.copy(), w)
    np.testing.assert_allclose(np.sort(w), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@settings(max_examples=50)
@given(seeds, st.floats(-3.0, 1.0), st.floats(0.0, 3.0))
def test_the_length_of_a_step_is_that_of_the_least_value_along_it(seed, size, more):
    """With f ½‖r + tAy‖², Newton's y has slope −λ² at t = 0, of which Σλᵢ² is the barrier's share of the bend."""
    rng = np.random.default_rng(seed)
    w = 10.0**size * rng.normal(size=5)
    data = 10.0**more * np.sum(w**2)  # the rest of the bend is f's
    square = float(np.sum(w**2) + data)

    def value(t):
        return (np.sum(w) - square) * t + 0.5 * data * t**2 - np.sum(np.log1p(t * w))

    edge = 1 / max(-w.min(), 1e-300)
    length = one_body_newton._length(w, square)
    assert 0 < length < edge
    tried = np.linspace(0, min(one_body_newton.NEARLY * edge, 4 * length), 2000)
    best = min(value(t) for t in tried)
    assert value(length) - best < 0.02 * -best


@pytest.mark.slow
def test_warming_up_compiles_what_a_body_needs():
    one_body_newton.warm_up()
    assert one_body_newton.minimise.signatures
    assert fours.root.signatures
