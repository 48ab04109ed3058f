"""The interior-point method finds what the other backends find, to more digits, whatever shapes the cones have."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.compose import positive_inertia
from steelyard.information import Information
from steelyard.solve import interior, nnls
from steelyard.solve.certify import certify
from steelyard.solve.face import settle_on_face
from steelyard.solve.problem import Cone, Problem
from steelyard.solve.solve import solve_certified
from tests import newton
from tests.bodies import body
from tests.cone_problems import CASES, problem

pytestmark = pytest.mark.numerical

QUADRATIC = {name: p for name, p in CASES.items() if not p.entropies and not np.any(p.linear.equal)}


@pytest.mark.parametrize("case", QUADRATIC)
def test_the_barrier_method_agrees_and_the_certificate_is_tighter_than_it_must_be(case):
    p = QUADRATIC[case]
    solution, other = interior.solve(p), newton.solve(p)
    proof = certify(p, solution)
    assert proof.kkt < 1e-10
    assert proof.gap < 1e-12
    assert proof.least_eigenvalue >= -1e-13
    assert p.objective(solution.theta) == pytest.approx(p.objective(other.theta), rel=1e-7)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(-3, 1), st.integers(1, 80), st.integers(0, 3))
def test_any_mixture_of_bodies_and_bounds_is_certified(seed, noise, rows, joints):
    p = problem(seed, bodies=3, joints=joints, noise=10**noise, rows=rows)
    assert certify(p, interior.solve(p)).holds


def test_cones_of_several_shapes_may_share_their_unknowns():
    """A consistent body has a positive definite inertia: the second cone changes nothing, the third does."""
    p = problem(1, bodies=1, noise=2.0, rows=25)
    b = body(np.random.default_rng(1))
    weaker = Cone(0, positive_inertia.composition(b, p.scale[:10]).cones[0])
    alone, both = interior.solve(p), interior.solve(replace(p, cones=(*p.cones, weaker)))
    np.testing.assert_allclose(both.theta / p.scale, alone.theta / p.scale, rtol=0, atol=1e-4)
    heavy = 1.5 * alone.theta[0]
    extra = np.zeros((10, 1, 1))
    extra[0], extra[1] = 1.0, 0.5 / b.size  # m + hₓ/(2s) ⪰ 0
    more = replace(p, cones=(*p.cones, weaker, Cone(0, extra)), lower={0: heavy}, start=2 * p.start)
    solution = interior.solve(more)
    assert certify(more, solution).holds
    assert solution.theta[0] == pytest.approx(heavy, rel=1e-6)
    assert solution.bound_duals[0] > 0


def test_with_bounds_alone_it_finds_what_the_active_set_finds():
    rng = np.random.default_rng(0)
    A, z = np.vstack([rng.normal(size=(10, 60)), 0.03 * np.eye(60)]), np.append(rng.normal(size=10), np.zeros(60))
    p = Problem(Information.of(A, z), np.ones(60), np.ones(60), (), dict.fromkeys(range(60), 0.0))
    one, other = interior.solve(p), nnls.solve(p)
    assert certify(p, one).holds
    assert p.objective(one.theta) == pytest.approx(p.objective(other.theta), rel=1e-8)
    np.testing.assert_allclose(one.theta, other.theta, rtol=0, atol=1e-4)


def test_directions_that_only_the_prior_determines_equal_it_however_large_the_objective_is():
    """Many rows about the first body, not one about the second: it stays where it was believed to be."""
    p = problem(3, bodies=2, noise=2.0, rows=4000)
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(4000, 10)) / p.scale[:10], np.diag(2 / p.scale[10:])
    believed = np.concatenate([p.start[:10], body(rng).parameters])
    Y, z = np.zeros((4010, 20)), np.concatenate([100 * rng.normal(size=4000), second @ believed[10:]])
    Y[:4000, :10], Y[4000:, 10:] = first, second
    p = replace(p, information=Information.of(Y, z))
    solution = interior.solve(p)
    assert np.linalg.eigvalsh(p.cones[0].value(solution.theta))[0] < 1e-12, "the first body is at the edge"
    assert certify(p, solution).gap < 1e-12
    np.testing.assert_allclose(solution.theta[10:] / p.scale[10:], believed[10:] / p.scale[10:], rtol=0, atol=1e-9)


def test_an_answer_that_does_not_settle_is_left_as_it_was():
    p = QUADRATIC["at the cones"]
    right = interior.solve(p)
    swapped = replace(right, duals=tuple(10 * np.eye(4) for _ in right.duals))  # as if every body were a point
    assert settle_on_face(p, swapped) is swapped
    again = settle_on_face(p, right)
    np.testing.assert_allclose(again.theta / p.scale, right.theta / p.scale, rtol=0, atol=1e-9)


def test_without_any_constraint_one_step_is_enough():
    p = replace(QUADRATIC["interior"], cones=(), lower={})
    solution = interior.solve(p)
    np.testing.assert_allclose(solution.theta / p.scale, p.information.solve() / p.scale, rtol=0, atol=1e-9)
    assert certify(p, solution).holds


def test_cones_go_to_the_quickest_entropies_and_equalities_to_those_that_know_them():
    assert solve_certified(QUADRATIC["at the cones"])[0].backend == "interior"
    for name in ("entropic", "rows and an equality"):
        assert solve_certified(CASES[name])[0].backend == "clarabel"
        with pytest.raises(ValueError, match="entropies"):
            interior.solve(CASES[name])


def test_what_no_row_sees_is_held_by_its_cone():
    p = QUADRATIC["at the cones"]
    blind = p.information.triangle.copy()
    blind[:, 3] = 0.0
    p = replace(p, information=Information.of(blind[:, :-1], blind[:, -1]))
    solution, proof = solve_certified(p)
    assert solution.backend == "interior"
    assert proof.holds
