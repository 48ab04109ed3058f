"""Fourier motions rest where they should, are their own derivatives, and never exceed their bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.experiment.excite.fourier import Fourier, designs

pytestmark = pytest.mark.numerical


@st.composite
def motions(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    K, J = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    return Fourier.of(draw(st.floats(1, 20)), rng.normal(size=J), rng.normal(size=(2 * K - 2, J)))


@given(motions())
def test_a_motion_begins_and_ends_at_rest(motion):
    q, v, a = motion.at(np.array([0.0, motion.period]))
    size = np.abs(motion.at(motion.samples())[2]).max()
    np.testing.assert_allclose(q[0], q[1], atol=1e-9)
    assert np.abs(v).max() < 1e-9 * max(size * motion.period, 1)
    assert np.abs(a).max() < 1e-8 * max(size, 1)


@given(motions())
def test_velocity_and_acceleration_are_derivatives(motion):
    t, h = np.linspace(0.1, 0.9, 7) * motion.period, 1e-5 * motion.period
    (q1, v1, _), (q0, v0, _), (_, v, a) = motion.at(t + h), motion.at(t - h), motion.at(t)
    np.testing.assert_allclose((q1 - q0) / (2 * h), v, atol=1e-4 * np.abs(v).max())
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=1e-4 * np.abs(a).max())


@given(motions(), st.floats(0, 1))
def test_no_instant_is_beyond_the_bounds_and_none_is_far_within(motion, phase):
    bounds = motion.bounds()
    q, v, a = motion.at((np.arange(5000) + phase) / 5000 * motion.period)
    assert np.all(q <= bounds.upper)
    assert np.all(q >= bounds.lower)
    assert np.all(np.abs(v) <= bounds.speed)
    assert np.all(np.abs(a) <= bounds.acceleration)
    assert np.all(np.abs(v).max(axis=0) > 0.99 * bounds.speed)


@given(motions())
def test_designs_are_the_same_motion(motion):
    rng = np.random.default_rng(0)
    K = motion.harmonics
    free = rng.normal(size=(2 * K - 2, 2))
    other, t = Fourier.of(motion.period, np.array([0.3, -1.0]), free), rng.uniform(0, 9, 11)
    Q, V, A = designs(K, motion.period, t)
    for mapped, expected in zip((Q @ free + other.centre, V @ free, A @ free), other.at(t), strict=True):
        np.testing.assert_allclose(mapped, expected, atol=1e-9 * (1 + np.abs(expected).max()))


@given(motions(), st.floats(0.1, 5))
def test_scaling_scales_and_slower_is_slower(motion, factor):
    t = np.linspace(0, motion.period, 9)
    q, v, _ = motion.at(t)
    np.testing.assert_allclose(motion.scaled(factor).at(t)[0] - motion.centre, factor * (q - motion.centre), atol=1e-9)
    np.testing.assert_allclose(motion.slower(factor).at(factor * t)[1], v / factor, atol=1e-9 + 1e-9 * np.abs(v).max())
    again = Fourier.from_json(motion.as_json())
    assert np.array_equal(again.at(t)[0], q)
    assert again.period == pytest.approx(motion.period, abs=0)
