"""Bounds alone: an answer is proved however near to singular its problem is, and a wrong one never."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steelyard.information import Information
from steelyard.solve import clarabel_ as conic
from steelyard.solve import nnls
from steelyard.solve.certify import _by_tangent, certify
from steelyard.solve.problem import Cone, Problem

pytestmark = pytest.mark.numerical

seeds = st.integers(0, 10**6)


def problem(seed, n=12, rank=6, near=1e-11, free=2):
    """Positive columns that are nearly combinations of a few; a few unknowns without bounds."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(0.1, 1, (30, rank)) @ rng.uniform(0.1, 1, (rank, n)) + near * rng.normal(size=(30, n))
    truth = np.maximum(rng.normal(size=n), 0)
    A[:, n - free :] = rng.normal(size=(30, free))
    b = A @ truth + 0.3 * rng.normal(size=30)
    lower = {i: float(low) for i, low in enumerate(rng.uniform(0, 0.01, n - free))}
    return Problem(Information.of(A, b), np.ones(n), np.ones(n), (), lower)


@settings(max_examples=60)
@given(seeds, st.sampled_from([0.0, 1e-14, 1e-11, 1e-9, 1e-6, 1e-2]))
def test_an_answer_is_proved_however_near_to_singular_the_problem(seed, near):
    p = problem(seed, near=near)
    assert certify(p, nnls.solve(p)).holds


@settings(max_examples=60)
@given(seeds, st.floats(1e-3, 1.0), st.booleans())
def test_the_tangent_bounds_what_an_answer_is_off_by(seed, size, heavier):
    """Against the optimum of well-posed problems, at points that are feasible but not optimal."""
    p = problem(seed, near=0.1)
    best = nnls.solve(p)
    low = best.theta.copy()
    low[list(p.lower)] = list(p.lower.values())
    off = np.abs(np.random.default_rng(seed).normal(size=12)) if heavier else low - best.theta
    wrong = replace(best, theta=best.theta + size * off)
    proof = certify(p, wrong)
    multipliers = np.zeros(12)
    multipliers[list(p.lower)] = list(best.bound_duals.values())
    scale = p.objective(wrong.theta)
    tangent = _by_tangent(p, wrong.theta, multipliers, scale, proof)
    assume(tangent is not proof)  # no bound on how far x may be
    assert tangent.gap * scale >= (p.objective(wrong.theta) - p.objective(best.theta)) * (1 - 1e-9)
    assert not tangent.holds


WRONG = {
    "a point beside the optimum": lambda s: replace(s, theta=s.theta + 1e-2),
    "an unbounded one off": lambda s: replace(s, theta=s.theta + 1e-2 * (np.arange(12) == 11)),
    "below a bound": lambda s: replace(s, theta=s.theta - 1e-3),
    "no multipliers": lambda s: replace(s, bound_duals=dict.fromkeys(s.bound_duals, 0.0)),
    "multipliers twice too big": lambda s: replace(s, bound_duals={i: 2 * m for i, m in s.bound_duals.items()}),
    "a negative multiplier": lambda s: replace(s, bound_duals={i: m - 1.0 for i, m in s.bound_duals.items()}),
    "not a number": lambda s: replace(s, theta=np.full(12, np.nan)),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_has_no_proof_near_a_singular_problem_either(what):
    p = problem(3)
    right = nnls.solve(p)
    assert certify(p, right).holds
    assert sum(m > 1e-3 for m in right.bound_duals.values()) >= 3
    assert not certify(p, WRONG[what](right)).holds


def test_nothing_is_proved_by_the_tangent_where_unknowns_may_grow_without_end():
    """x₀ − x₁ is all that is seen: both may grow for ever at the same cost."""
    p = Problem(Information.of(np.array([[1.0, -1.0]]), np.array([0.5])), np.ones(2), np.ones(2), (), {0: 0.0, 1: 0.0})
    classical = certify(p, nnls.solve(p))
    assert _by_tangent(p, np.array([0.5, 0.0]), np.zeros(2), 1.0, classical) is classical


@settings(max_examples=30)
@given(seeds)
def test_bounds_alone_have_the_optimum_that_a_conic_solver_finds(seed):
    p = problem(seed, near=0.1)
    one, other = nnls.solve(p), conic.solve(p)
    assert p.objective(one.theta) <= p.objective(other.theta) * (1 + 1e-9)
    assert p.objective(one.theta) == pytest.approx(p.objective(other.theta), rel=1e-6)
    assert all(one.theta[i] >= low for i, low in p.lower.items())


def test_cones_are_not_for_the_solver_of_bounds():
    p = problem(0)
    with pytest.raises(ValueError, match="bounds"):
        nnls.solve(replace(p, cones=(Cone(0, np.ones((1, 1, 1))),)))
