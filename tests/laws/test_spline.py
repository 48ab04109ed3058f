"""Splines are those of SciPy, and polynomials of their degree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import make_interp_spline

from steelyard.equations.spline import Spline

pytestmark = pytest.mark.numerical


def stamps(rng, count):
    return np.cumsum(rng.uniform(0.5, 1.5, count)) / 100


@given(st.integers(0, 10_000), st.sampled_from([3, 5]), st.integers(8, 60), st.integers(0, 2))
def test_a_spline_is_the_one_that_scipy_has(seed, degree, count, order):
    rng = np.random.default_rng(seed)
    x, y = stamps(rng, count), rng.normal(size=(count, 3))
    at = np.linspace(x[0] - 0.002, x[-1] + 0.002, 70)
    expected = make_interp_spline(x, y, k=degree)(at, order)
    np.testing.assert_allclose(Spline.through(x, y, degree)(at, order), expected, atol=1e-8 * np.abs(expected).max())


@given(st.integers(0, 10_000), st.sampled_from([3, 5]))
def test_a_polynomial_of_its_degree_is_met_everywhere_with_its_derivatives(seed, degree):
    rng = np.random.default_rng(seed)
    x, p = stamps(rng, 30), np.polynomial.Polynomial(rng.normal(size=degree + 1), domain=(0, 0.3))
    at = np.linspace(x[0], x[-1], 50)
    for order in range(3):
        values, expected = Spline.through(x, p(x), degree)(at, order), p.deriv(order)(at) if order else p(at)
        np.testing.assert_allclose(values, expected, atol=1e-8 * np.abs(expected).max() + 1e-9 * 100**order)


@pytest.mark.parametrize("degree", [3, 5])
def test_values_are_met_where_they_were_given(degree):
    rng = np.random.default_rng(0)
    x, y = stamps(rng, 40), rng.normal(size=40)
    np.testing.assert_allclose(Spline.through(x, y, degree)(x), y, atol=1e-12)
