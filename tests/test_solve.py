"""Two backends find the same optimum, and an independent certificate distinguishes right solutions from wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import inertia
from steelyard.compose import pseudo_inertia
from steelyard.errors import SolveError
from steelyard.information import Information
from steelyard.solve import clarabel_ as conic
from steelyard.solve.certify import certify
from steelyard.solve.polish import polish_solution
from steelyard.solve.problem import Cone, Entropy, LinearConstraints, Problem, Solution
from steelyard.solve.solve import solve_certified
from tests import newton
from tests.bodies import SIZE, body
from tests.cone_problems import CASES, problem
from tests.motions import physical

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize("case", CASES)
def test_both_backends_find_the_same_optimum_and_it_is_certified(case):
    p = CASES[case]
    one, other = conic.solve(p), newton.solve(p)
    for solution in (one, other):
        proof = certify(p, solution)
        assert proof.holds, proof
    f, g = p.objective(one.theta), p.objective(other.theta)
    assert f == pytest.approx(g, rel=1e-5)
    np.testing.assert_allclose(one.theta / p.scale, other.theta / p.scale, rtol=0, atol=2e-3)


@pytest.mark.parametrize("case", CASES)
def test_no_feasible_point_nearby_is_better(case):
    """The optimum of a convex problem, without a word about duals."""
    p = CASES[case]
    solution, _ = solve_certified(p)
    best = p.objective(solution.theta)
    rng = np.random.default_rng(0)
    tried = 0
    for size in (1e-3, 1e-2, 0.1, 0.5):
        for _ in range(50):
            towards = p.start + rng.uniform(0.1, 1) * (solution.theta - p.start)  # inside, where there is room
            other = towards + size * p.scale * rng.normal(size=len(p.scale))
            equal = p.linear.equal
            if np.any(equal):
                E = p.linear.A[equal] * p.scale
                other = other - p.scale * (np.linalg.pinv(E) @ p.linear.slack(other)[equal])
            if (
                all(np.linalg.eigvalsh(c.value(other))[0] >= 0 for c in p.cones)
                and all(other[i] >= b for i, b in p.lower.items())
                and np.all(p.linear.slack(other)[~equal] >= 0)
            ):
                tried += 1
                assert p.objective(other) >= best * (1 - 1e-7)
    assert tried > 20


def masses(seed, unknowns, rows=10, noise=0.3):
    """More masses than anything is known about: only ``rows`` combinations of them are seen."""
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(rows, unknowns))
    P[0] = 1.0  # one of them is the sum of all, so no mass can grow without being noticed
    known = Information.of(rng.normal(size=(3 * rows, rows)), noise * rng.normal(size=3 * rows) + 1.0)
    lower = {k: 0.01 * (k % 3) for k in range(unknowns)}
    return Problem(known.through(P), np.ones(unknowns), np.ones(unknowns), (), lower)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(11, 40))
def test_more_unknowns_than_rows_are_solved_alike_by_both_backends(seed, unknowns):
    p = masses(seed, unknowns)
    assert p.root.shape == (10, unknowns)
    one, other = conic.solve(p), newton.solve(p)
    assert certify(p, one).holds, certify(p, one)
    proof = certify(p, other)  # along flat directions a barrier leaves a little slope, worth nothing
    assert max(1e3 * proof.gap, proof.kkt) < 1e-3
    assert proof.least_eigenvalue >= 0
    assert p.objective(one.theta) == pytest.approx(p.objective(other.theta), rel=1e-5, abs=1e-9)
    assert min(one.theta[k] - b for k, b in p.lower.items()) > -1e-9


def test_where_nothing_is_known_everything_that_is_allowed_is_right():
    p = Problem(Information.none(2), np.ones(2), np.ones(2), (), {0: 0.5})
    assert certify(p, Solution(p.start, (), {0: 0.0}, "test", "solved")).holds
    assert not certify(p, Solution(0 * p.start, (), {0: 0.0}, "test", "solved")).holds
    assert conic.solve(p).theta[0] >= 0.5
    assert p.root.shape == (0, 2)
    assert p.null.shape == (2, 2)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 3))
def test_seen_and_unseen_directions_make_up_all_unknowns(seed, unknowns, lost):
    """W and N reach every θ: θ = W Rθ + N v; R N = 0; with rank to spare or not."""
    rng = np.random.default_rng(seed)
    rows = max(unknowns - lost, 1)
    p = Problem(
        Information.of(rng.normal(size=(rows, unknowns)), rng.normal(size=rows)), np.ones(unknowns), np.ones(unknowns)
    )
    W, N, R = p.inverse, p.null, p.root
    assert N.shape[1] == unknowns - rows
    np.testing.assert_allclose(R @ N, 0, atol=1e-9 * np.abs(R).max() * max(np.abs(N).max(initial=0), 1))
    np.testing.assert_allclose(p.seen @ N, 0, atol=1e-9)
    theta = rng.normal(size=unknowns)
    left = theta - W @ (R @ theta)
    v = np.linalg.lstsq(N, left)[0] if N.size else np.zeros(0)
    np.testing.assert_allclose(N @ v, left, atol=1e-7)


def test_without_constraints_the_answer_is_least_squares():
    p = replace(CASES["interior"], cones=(), lower={})
    expected = p.information.solve()
    for backend in (conic.solve, newton.solve):
        solution = backend(p)
        assert certify(p, solution).holds
        np.testing.assert_allclose(solution.theta / p.scale, expected / p.scale, rtol=0, atol=1e-6)


def test_quantities_that_must_not_be_negative_stop_at_zero_and_pay_for_it():
    p = CASES["friction"]
    solution, proof = solve_certified(p)
    friction = solution.theta[20:]
    np.testing.assert_allclose(friction[0], 0.5, atol=0.6)
    assert np.all(friction >= -1e-9)
    np.testing.assert_allclose(friction[2:], 0.0, atol=1e-5)
    assert solution.bound_duals[22] > 0.1
    assert solution.bound_duals[23] > 0.1
    assert solution.bound_duals[20] < 1e-3
    assert proof.least_eigenvalue > -1e-9
    free = replace(p, lower={i: b for i, b in p.lower.items() if i < 20})
    assert solve_certified(free)[0].theta[23] < -1, "without the bound the data would have it negative"


def test_an_equality_is_kept_to_the_last_digit_and_an_active_row_pays_for_itself():
    p = CASES["rows and an equality"]
    for backend in (conic.solve, newton.solve):
        solution = backend(p)
        assert solution.theta[0] + solution.theta[10] == pytest.approx(p.start[0] + p.start[10], rel=1e-12)
        assert p.linear.slack(solution.theta)[0] == pytest.approx(0.0, abs=1e-5)
        assert solution.linear_duals[0] > 1e-2
    better = replace(p, linear=LinearConstraints.of(p.linear.A[1:], p.linear.b[1:], equal=True))
    best = solve_certified(p)[0].theta
    assert p.objective(solve_certified(better)[0].theta) < p.objective(best)
    heavier = replace(p, linear=replace(p.linear, b=np.add(p.linear.b, [0.0, 1e-3])))
    slope = (p.objective(solve_certified(heavier)[0].theta) - p.objective(best)) / 1e-3
    multiplier = solve_certified(p)[0].linear_duals[1]
    assert slope == pytest.approx(multiplier, rel=0.02), "a multiplier is the price of its row"


def test_rows_that_contradict_each_other_have_no_answer():
    p = CASES["interior"]
    A = np.eye(20)[:1]
    with pytest.raises(SolveError) as error:
        solve_certified(replace(p, linear=LinearConstraints.of(A, 3.0) + LinearConstraints.of(-A, -2.0)))
    (finding,) = error.value.findings
    assert (finding.code, finding.where) == ("constraints-infeasible", "solver interior, clarabel")


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.floats(0.0, 10.0), st.integers(1, 40))
def test_every_body_is_consistent_however_noisy_and_few_the_rows(seed, noise, rows):
    p = problem(seed, bodies=2, noise=noise, rows=rows)
    solution, _ = solve_certified(p)
    for k in range(2):
        assert inertia.is_consistent(solution.theta[10 * k : 10 * k + 10], SIZE)


WRONG = {
    "a point beside the optimum": lambda s, p: replace(s, theta=s.theta + 1e-2 * p.scale),
    "one parameter a little off": lambda s, p: replace(
        s, theta=s.theta + 3e-3 * p.scale * (np.arange(len(p.scale)) == 3)
    ),
    "the starting point": lambda s, p: replace(s, theta=p.start),
    "no multipliers": lambda s, p: replace(s, duals=tuple(0 * Z for Z in s.duals)),
    "multipliers of the other sign": lambda s, p: replace(s, duals=tuple(-Z for Z in s.duals)),
    "multipliers twice too big": lambda s, p: replace(s, duals=tuple(2 * Z for Z in s.duals)),
    "a negative bound multiplier": lambda s, p: replace(s, bound_duals={i: m - 1.0 for i, m in s.bound_duals.items()}),
    "a body of negative mass": lambda s, p: replace(s, theta=-s.theta),
    "not a number": lambda s, p: replace(s, theta=np.full_like(s.theta, np.nan)),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_has_no_certificate(what):
    p = CASES["at the cones"]
    right = conic.solve(p)
    assert certify(p, right).holds
    assert max(np.abs(Z).max() for Z in right.duals) > 1e-3, "a cone has to be active for its multipliers to matter"
    assert not certify(p, WRONG[what](right, p)).holds


WRONG_ROWS = {
    "a point beside the equality": lambda s, p: replace(s, theta=s.theta + 1e-7 * (np.arange(len(p.scale)) == 10)),
    "a point beyond the row": lambda s, p: replace(s, theta=s.theta + 1e-4 * p.linear.b[0] * p.linear.A[0]),
    "no multipliers of rows": lambda s, p: replace(s, linear_duals=np.zeros(0)),
    "no multiplier of the equality": lambda s, p: replace(s, linear_duals=s.linear_duals * [1, 0]),
    "a multiplier of the other sign": lambda s, p: replace(s, linear_duals=s.linear_duals * [-1, 1]),
    "multipliers of rows twice too big": lambda s, p: replace(s, linear_duals=2 * s.linear_duals),
    "the answer without the rows": lambda s, p: replace(
        solve_certified(replace(p, linear=LinearConstraints()))[0], linear_duals=np.zeros(2)
    ),
}


@pytest.mark.parametrize("what", WRONG_ROWS)
def test_a_wrong_answer_to_a_problem_with_rows_has_no_certificate(what):
    p = CASES["rows and an equality"]
    right = conic.solve(p)
    assert certify(p, right).holds
    assert not certify(p, WRONG_ROWS[what](right, p)).holds


@pytest.mark.parametrize("what", [w for w in WRONG if "multiplier" not in w or "bound" in w])
def test_a_wrong_answer_to_an_entropic_problem_has_no_certificate(what):
    p = CASES["entropic"]
    right = newton.solve(p)
    assert certify(p, right).holds
    assert not certify(p, WRONG[what](right, p)).holds


def test_the_least_squares_answer_is_no_answer_where_it_is_no_body():
    p = CASES["at the cones"]
    theta = p.information.solve()
    free = Solution(theta, tuple(np.zeros((4, 4)) for _ in p.cones), dict.fromkeys(p.lower, 0.0), "test", "solved")
    proof = certify(p, free)
    assert proof.kkt < 1e-9, "stationary"
    assert proof.least_eigenvalue < -1e-3, "but not feasible"
    assert not proof.holds


def test_the_gap_bounds_what_an_answer_is_off_by():
    """Scaling f and moving along it: certified gap ≥ true gap, for points that are feasible but not optimal."""
    p = CASES["at the cones"]
    best = conic.solve(p)
    f = p.objective(best.theta)
    floor = 1e-6 * 0.5 * float(p.information.z @ p.information.z)
    for share in (1e-3, 1e-2, 0.1):
        theta = best.theta + share * (p.start - best.theta)
        proof = certify(p, replace(best, theta=theta))
        off = (p.objective(theta) - f) / (p.objective(theta) + floor)
        assert proof.gap >= 0.99 * off > 0


def test_a_second_backend_is_tried_when_the_first_is_wrong():
    p = CASES["interior"]

    def crashing(problem):
        raise ArithmeticError("singular")

    def lying(problem):
        return Solution(
            problem.start, tuple(np.eye(4) for _ in problem.cones), dict.fromkeys(problem.lower, 1.0), "liar", "solved"
        )

    solution, proof = solve_certified(p, backends=(crashing, lying, newton.solve))
    assert solution.backend == "newton"
    assert proof.holds


NEARLY = {
    "a hair outside its cones": ("at the cones", lambda s, p: replace(s, theta=s.theta - 3e-9 * p.start)),
    "a hair below its bounds": (
        "friction",
        lambda s, p: replace(s, theta=np.where(p.scale == 1, s.theta - 1e-8, s.theta)),
    ),
    "a hair beyond its rows": (
        "rows and an equality",
        lambda s, p: replace(s, theta=s.theta - 1e-8 * p.linear.A[0] / np.sum(p.linear.A[0] ** 2)),
    ),
    "multipliers a little off": (
        "at the cones",
        lambda s, p: replace(s, duals=tuple(Z * (1 + 1e-4) + 1e-4 * np.eye(4) for Z in s.duals)),
    ),
}


@pytest.mark.parametrize("what", NEARLY)
def test_an_answer_that_is_nearly_right_is_polished_until_it_can_be_proved(what):
    name, spoil = NEARLY[what]
    p = CASES[name]

    def nearly(problem):
        return spoil(conic.solve(problem), problem)

    assert not certify(p, nearly(p)).holds
    solution, proof = solve_certified(p, backends=(nearly,))
    assert proof.holds
    assert proof.least_eigenvalue > -1e-12
    np.testing.assert_allclose(solution.theta / p.scale, conic.solve(p).theta / p.scale, rtol=0, atol=1e-6)


def test_a_solution_that_is_not_finite_is_not_polished():
    p = CASES["interior"]
    right = conic.solve(p)
    assert list(polish_solution(p, replace(right, theta=np.full_like(right.theta, np.nan)))) == []


def test_when_every_backend_is_broken_the_problem_is_saved_and_can_be_solved_later(tmp_path):
    p = CASES["rows, an equality and entropies"]

    def crashing(problem):
        raise ValueError("out of luck")

    def lying(problem):
        return Solution(
            problem.start, tuple(np.eye(4) for _ in problem.cones), dict.fromkeys(problem.lower, 1.0), "liar", "solved"
        )

    path = tmp_path / "problem.npz"
    with pytest.raises(SolveError) as error:
        solve_certified(p, backends=(crashing, lying), save=path)
    (finding,) = error.value.findings
    where = f"solver test_solve, liar, problem saved as {path}"
    assert (finding.code, finding.where) == ("solution-not-certified", where)
    again = Problem.load(path)
    np.testing.assert_array_equal(again.information.triangle, p.information.triangle)
    assert again.lower == p.lower
    np.testing.assert_array_equal(again.linear.A, p.linear.A)
    np.testing.assert_array_equal(solve_certified(again)[0].theta, solve_certified(p)[0].theta)


def test_a_problem_without_cones_can_be_saved_too(tmp_path):
    p = replace(CASES["interior"], cones=(), lower={})
    p.save(tmp_path / "p.npz")
    again = Problem.load(tmp_path / "p.npz")
    assert (again.cones, again.lower, again.entropies) == ((), {}, ())


def test_a_problem_need_not_be_saved_when_it_cannot_be_solved():
    with pytest.raises(SolveError) as error:
        solve_certified(CASES["interior"], backends=())
    (finding,) = error.value.findings
    assert (finding.code, finding.where) == ("solution-not-certified", "solver")


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_entropy_has_the_gradient_and_hessian_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    entropy = Entropy(3, inertia.pseudo(physical(rng, 2.0, 0.4)), 1.7)
    theta = rng.normal(size=15)
    theta[3:13] = physical(rng, 2.0, 0.4)
    scale = np.abs(theta[3:13]).max() * 1e-6 * np.array([1, *[0.1] * 3, *[0.01] * 6])
    gradient, hessian = np.empty(10), np.empty((10, 10))
    for k in range(10):
        step = np.zeros(15)
        step[3 + k] = scale[k]
        gradient[k] = (entropy.value(theta + step) - entropy.value(theta - step)) / (2 * scale[k])
        hessian[k] = (entropy.gradient(theta + step) - entropy.gradient(theta - step)) / (2 * scale[k])
    expected = newton.entropy_hessian(entropy, theta)
    d = 1 / np.sqrt(np.diag(expected))
    np.testing.assert_allclose(gradient * d, entropy.gradient(theta) * d, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(hessian * np.outer(d, d), expected * np.outer(d, d), rtol=0, atol=1e-4)


def test_entropy_is_zero_at_its_reference_positive_elsewhere_and_infinite_outside():
    rng = np.random.default_rng(0)
    p = physical(rng, 2.0, 0.4)
    entropy = Entropy(0, inertia.pseudo(p), 3.0)
    assert entropy.value(p) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(entropy.gradient(p), 0, atol=1e-9)
    for _ in range(20):
        assert entropy.value(physical(rng, 2.0, 0.4)) > 0
    outside = p.copy()
    outside[0] = 0.5 * (p[1:4] @ np.linalg.solve(inertia.pseudo(p)[:3, :3], p[1:4]))  # beyond Schur's complement
    assert entropy.value(outside) == np.inf


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_entropy_does_not_depend_on_the_frame(seed):
    rng = np.random.default_rng(seed)
    a, b = physical(rng, 2.0, 0.4), physical(rng, 2.0, 0.4)
    T = np.eye(4)
    T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    T[:3, 3] = rng.normal(size=3)
    original = Entropy(0, inertia.pseudo(a), 1.0).value(b)
    transformed = Entropy(0, inertia.pseudo(inertia.transform(a, T)), 1.0).value(inertia.transform(b, T))
    assert original == pytest.approx(transformed, rel=1e-6)


def test_the_cone_is_consistency_with_the_solvers_margin():
    """M(θ) ⪰ 0 exactly where the density covariance is at least the margin: Schur's complement."""
    rng = np.random.default_rng(1)
    b = body(rng)
    cone = Cone(0, pseudo_inertia.lmi(b))
    margin = inertia.SOLVER_MARGIN * SIZE**2
    for factor, inside in ((0.5, False), (0.99, False), (1.01, True), (2.0, True)):
        thin = np.log(np.sqrt(factor * margin))
        p = inertia.from_log_cholesky([0.1, thin, -2, -2, 0.0, 0.0, 0.0, 0, 0, 0])
        assert bool(np.linalg.eigvalsh(cone.value(p))[0] >= 0) is inside
    assert inertia.SOLVER_MARGIN > inertia.MARGIN


def test_adjoint_is_the_transpose_of_value():
    rng = np.random.default_rng(2)
    cone = Cone(2, pseudo_inertia.lmi(body(rng)))
    theta, Z = rng.normal(size=14), rng.normal(size=(4, 4))
    assert theta[2:12] @ cone.adjoint(Z) == pytest.approx(np.sum(Z * cone.value(theta)), rel=1e-12)
