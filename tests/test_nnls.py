"""Least squares with bounds: right by enumeration, by another solver and by certificate, however degenerate."""

import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.information import Information
from steelyard.kernels import active_set as kernel
from steelyard.solve import clarabel_ as conic
from steelyard.solve import nnls
from steelyard.solve.certify import certify
from steelyard.solve.problem import Problem
from steelyard.solve.solve import solve_certified

pytestmark = pytest.mark.numerical


def best_by_enumeration(A, z, free=()):
    """Least ½‖Ax − z‖² over x ≥ 0 (``free`` unbounded): an optimum with independent columns always exists."""
    n = A.shape[1]
    bounded = [i for i in range(n) if i not in free]
    best = np.inf
    for size in range(len(bounded) + 1):
        for some in combinations(bounded, size):
            columns = [*free, *some]
            x = np.linalg.lstsq(A[:, columns], z, rcond=1e-12)[0] if columns else np.zeros(0)
            if np.all(x[len(free) :] >= -1e-12):
                best = min(best, 0.5 * float(np.sum((A[:, columns] @ x - z) ** 2)))
    return best


@st.composite
def small_integers(draw):
    """Few rows, many ties: zero and repeated columns, more columns than rows, right-hand sides that fit exactly."""
    m, n = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    numbers = st.integers(-2, 2)
    A = np.array(draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=m, max_size=m)), float)
    if draw(st.booleans()):
        A = A[:, draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))]
    if draw(st.booleans()):
        z = A @ np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), float)
    else:
        z = np.array(draw(st.lists(st.integers(-3, 3), min_size=m, max_size=m)), float)
    free = sorted(draw(st.sets(st.integers(0, n - 1), max_size=n))) if draw(st.booleans()) else []
    return A, z, free


def posed(A, z, free=(), lower=0.0):
    """The problem in the form that backends see; natural sizes from the columns."""
    length = np.linalg.norm(A, axis=0)
    scale = (1 + np.linalg.norm(z)) / np.where(length > 0, length, 1.0)
    bounds = {i: lower for i in range(A.shape[1]) if i not in free}
    return Problem(Information.of(A, z), scale, lower + scale, (), bounds)


@settings(max_examples=400)
@given(small_integers())
def test_small_integer_problems_have_the_optimum_that_enumeration_finds(problem):
    A, z, free = problem
    start = np.array(free, np.int64)
    (x, w), entries = kernel.solve(np.ascontiguousarray(A.T @ A), A.T @ z, start, len(free))
    bounded = np.setdiff1d(np.arange(len(x)), free)
    assert entries >= 0, "the kernel believes its own answer"
    np.testing.assert_allclose(w, A.T @ (z - A @ x), rtol=0, atol=1e-9)
    assert x[bounded].min(initial=0) >= 0
    assert w[bounded].max(initial=0) < 1e-9
    assert np.abs(w[x != 0]).max(initial=0) < 1e-9
    assert np.abs(w[free]).max(initial=0) < 1e-9
    assert 0.5 * np.sum((A @ x - z) ** 2) == pytest.approx(best_by_enumeration(A, z, free), rel=1e-9, abs=1e-9)


@settings(max_examples=200)
@given(small_integers())
def test_the_distance_from_a_cone_is_the_one_that_enumeration_finds(problem):
    A, z, _ = problem
    assert 0.5 * nnls.cone_distance(A, z) ** 2 == pytest.approx(best_by_enumeration(A, z), rel=1e-9, abs=1e-9)


@given(small_integers(), st.sampled_from([0.0, -1.5, 0.25]))
def test_degenerate_and_rank_deficient_problems_are_certified(problem, lower):
    A, z, free = problem
    p = posed(A, z, free, lower)
    solution = nnls.solve(p)
    proof = certify(p, solution)
    assert proof.holds, proof
    assert min((solution.theta[i] - low for i, low in p.lower.items()), default=0.0) >= 0
    shifted = z - A @ np.where(np.isin(np.arange(A.shape[1]), free), 0.0, lower)
    assert p.objective(solution.theta) == pytest.approx(best_by_enumeration(A, shifted, free), rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 40), st.floats(0.1, 3.0), st.floats(-4, 0))
def test_clarabel_finds_the_same_optimum(seed, n, tall, ridge):
    """Points on a few moments: more columns than rank, and a ridge that decides between them."""
    rng = np.random.default_rng(seed)
    m = max(1, int(tall * n))
    Y = rng.normal(size=(m, min(10, n))) @ rng.uniform(0, 1, (min(10, n), n))
    A = np.vstack([Y, 10**ridge * np.eye(n)])
    z = np.append(Y @ np.maximum(rng.normal(size=n), 0) + 0.1 * rng.normal(size=m), np.zeros(n))
    free = list(rng.permutation(n)[: rng.integers(0, n // 2 + 1)])
    p = posed(A, z, free)
    own, other = nnls.solve(p), conic.solve(p)
    assert certify(p, own).holds
    assert p.objective(own.theta) <= p.objective(other.theta) * (1 + 1e-9) + 1e-12
    assert p.objective(own.theta) == pytest.approx(p.objective(other.theta), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("apart", [1e-3, 1e-5])
def test_nearly_equal_columns_are_distinguished_on_R_where_the_gram_matrix_cannot(apart):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 4))[:, [0, 1, 2, 3, 0, 1, 2, 3]]
    A[:, 4:] += apart * rng.normal(size=(30, 4))
    true = np.array([1.0, 0.0, 2.0, 0.5, 3.0, 1.0, 0.0, 0.5])
    p = posed(A, A @ true)
    solution = nnls.solve(p)
    assert certify(p, solution).holds
    np.testing.assert_allclose(solution.theta, true, rtol=0, atol=1e-14 / apart)
    (x, _), _ = kernel.solve(np.ascontiguousarray(A.T @ A), A.T @ (A @ true))
    gram_error = np.abs(x - true).max()
    assert gram_error > 10 * np.abs(solution.theta - true).max(), "else there was nothing to refine"


def test_every_answer_is_reached_from_any_start():
    rng = np.random.default_rng(1)
    for _ in range(50):
        A, z = rng.normal(size=(12, 9)), rng.normal(size=12)
        G, c = np.ascontiguousarray(A.T @ A), A.T @ z
        (cold, _), _ = kernel.solve(G, c)
        start = rng.permutation(9)[: rng.integers(0, 10)]
        (warm, _), entries = kernel.solve(G, c, start)
        assert entries >= 0
        np.testing.assert_allclose(warm, cold, rtol=0, atol=1e-10)
        _, entries = kernel.solve(G, c, np.flatnonzero(cold))
        assert entries == 0, "the right start needs no step"


@pytest.mark.parametrize(("G", "c"), [
    ([[1.0, -1.0], [-1.0, 1.0]], [1.0, 1.0]),
    ([[0.0]], [1.0]),
])  # fmt: skip
def test_a_problem_without_an_optimum_is_not_called_solved(G, c):
    """Falls for ever along (1, 1), and along 1: no least-squares problem does."""
    _, entries = kernel.solve(np.array(G), np.array(c))
    assert entries < 0


def test_columns_of_very_different_size_do_not_matter():
    rng = np.random.default_rng(2)
    A, z = rng.normal(size=(20, 12)), rng.normal(size=20)
    size = 10.0 ** rng.integers(-6, 7, 12)
    plain, sized = nnls.solve(posed(A, z)), nnls.solve(posed(A * size, z))
    np.testing.assert_allclose(sized.theta * size, plain.theta, rtol=0, atol=1e-12)
    assert certify(posed(A * size, z), sized).holds


def test_without_bounds_the_answer_is_least_squares():
    rng = np.random.default_rng(3)
    A, z = rng.normal(size=(20, 6)), rng.normal(size=20)
    p = replace(posed(A, z), lower={})
    solution = nnls.solve(p)
    assert certify(p, solution).holds
    np.testing.assert_allclose(solution.theta, np.linalg.lstsq(A, z, rcond=None)[0], rtol=0, atol=1e-12)


def test_what_no_row_sees_stays_where_it_was():
    A = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    p = Problem(Information.of(A, np.array([3.0, -4.0])), np.ones(3), np.array([1.0, 7.0, 1.0]), (), {0: 0.5, 2: 0.5})
    solution = nnls.solve(p)
    np.testing.assert_allclose(solution.theta, [3.0, 7.0, 0.5])
    assert certify(p, solution).holds


@pytest.mark.parametrize("multiplier", [1e-3, 1.0, 1e3])
def test_a_multiplier_that_nothing_opposes_is_no_proof(multiplier):
    """The bound of an unknown that no row sees cannot push."""
    A = np.array([[1.0, 0.0], [1.0, 0.0]])
    p = Problem(Information.of(A, np.array([1.0, 2.0])), np.ones(2), np.ones(2), (), {0: 0.0, 1: 0.0})
    right = nnls.solve(p)
    assert certify(p, right).holds
    assert not certify(p, replace(right, bound_duals={0: 0.0, 1: multiplier})).holds


def test_bounds_alone_go_to_the_active_set():
    rng = np.random.default_rng(4)
    solution, proof = solve_certified(posed(rng.normal(size=(20, 6)), rng.normal(size=20)))
    assert solution.backend == "nnls"
    assert proof.holds


def test_a_problem_with_cones_is_refused_by_the_active_set():
    from tests.cone_problems import CASES

    with pytest.raises(ValueError, match="bounds"):
        nnls.solve(CASES["interior"])


def test_solvers_load_numba_only_when_a_kernel_is_called():
    code = "import sys, steelyard, steelyard.identify.solving, steelyard.solve.nnls; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_after_warming_up_nothing_is_left_to_compile():
    kernel.warm_up()
    before = len(kernel.active_set_in.signatures)
    kernel.solve(np.eye(3), np.ones(3))
    kernel.solve(np.eye(3), np.ones(3), np.array([1]), 1)
    assert len(kernel.active_set_in.signatures) == before >= 1  # the online step may have brought its own
