"""Criteria agree with their definitions, whether they are given rows or a triangle."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.experiment.excite import criteria
from tests.motions import installed, load, segment

pytestmark = pytest.mark.numerical


def rows(seed, m, r=6):
    return np.random.default_rng(seed).normal(size=(m, r)) * np.logspace(0, 2, r)


@given(st.integers(0, 10**6), st.integers(6, 30))
def test_log_det_is_the_determinants_logarithm_and_condition_that_of_the_rows(seed, m):
    Y = rows(seed, m)
    for M in (Y, criteria.triangle(Y)):
        assert criteria.log_det(M) == pytest.approx(np.linalg.slogdet(Y.T @ Y)[1], rel=1e-9)
        assert criteria.condition(M) == pytest.approx(np.linalg.cond(Y), rel=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 20))
def test_gain_is_what_log_det_grows_by(seed, k):
    M, A = criteria.triangle(rows(seed, 12)), rows(seed + 1, k)
    grown = criteria.log_det(criteria.combine(M, A)) - criteria.log_det(M)
    assert criteria.gain(M, A) == pytest.approx(grown, rel=1e-8, abs=1e-10)
    assert criteria.gain(M, A) >= 0


@given(st.integers(0, 10**6))
def test_a_motion_adds_less_the_more_is_known(seed):
    M, A, B = (criteria.triangle(rows(seed + k, 12)) for k in range(3))
    assert criteria.gain(criteria.combine(M, B), A) <= criteria.gain(M, A) + 1e-12


@pytest.mark.parametrize("Y", [rows(0, 4), rows(0, 12) * [1, 1, 0, 1, 1, 1]], ids=["too few rows", "a dead column"])
def test_rows_that_do_not_excite_a_parameter_are_infinitely_bad(Y):
    assert criteria.condition(Y) == np.inf
    assert criteria.log_det(Y) == -np.inf


def test_greedy_selection_takes_the_best_of_the_remaining_ones_at_each_step():
    roots = [rows(k, 3) * np.random.default_rng(k).uniform(0.1, 3, 6) for k in range(15)]
    known = criteria.natural_prior(6)
    naive, so_far = [], known
    for _ in range(7):
        remaining = [k for k in range(15) if k not in naive]
        naive.append(max(remaining, key=lambda k: criteria.gain(so_far, roots[k])))
        so_far = criteria.combine(so_far, roots[naive[-1]])
    assert criteria.select_greedily(roots, 7, known) == naive
    assert sorted(criteria.select_greedily(roots, 99, known)) == list(range(15))


def test_greedy_selection_reaches_the_share_of_the_optimum_that_submodularity_guarantees():
    roots, known = [rows(k, 3) for k in range(8)], criteria.natural_prior(6)

    def worth(chosen):
        return criteria.log_det(criteria.combine(known, *(roots[k] for k in chosen)))

    best = max(worth(c) for c in itertools.combinations(range(8), 3))
    assert worth(criteria.select_greedily(roots, 3, known)) >= (1 - 1 / np.e) * best


@installed
def test_base_parameters_of_an_arm_have_a_regular_root_and_their_own_deviations():
    robot = load("ur10")
    columns = Columns(tuple(b.name for b in robot.bodies))
    scale = priors.make(robot, columns).scale
    identifiable = Setup(robot, "joint", columns).structure(scale)
    Y = np.concatenate(
        [b.Y for b in Setup(robot, "joint", columns).rows([segment(robot, np.random.default_rng(1), 200)])]
    )
    R = np.linalg.qr(Y.reshape(-1, columns.n), mode="r")
    M = criteria.base_root(R, identifiable)
    assert M.shape == (36, 36)
    assert criteria.condition(M) < 1e5
    Z = identifiable.composition[1]
    std = np.sqrt(np.diag(Z @ np.linalg.pinv(R.T @ R, rcond=1e-13, hermitian=True) @ Z.T))
    assert criteria.deviations(M, identifiable) == pytest.approx(std / np.linalg.norm(Z * scale, axis=1), rel=1e-4)
    assert np.all(np.isinf(criteria.deviations(0 * M, identifiable)))


@installed
def test_a_links_condition_is_that_of_its_structurally_identifiable_columns():
    robot = load("ur10")
    columns = Columns(tuple(b.name for b in robot.bodies))
    scale = priors.make(robot, columns).scale
    identifiable = Setup(robot, "joint", columns).structure(scale)
    Y = np.concatenate(
        [b.Y for b in Setup(robot, "joint", columns).rows([segment(robot, np.random.default_rng(1), 200)])]
    )
    R = np.linalg.qr(Y.reshape(-1, columns.n), mode="r")
    conditions = criteria.link_conditions(R, identifiable, columns)
    assert set(conditions) == set(columns.bodies)
    assert conditions[columns.bodies[0]] == pytest.approx(1)  # it turns about one axis: one moment of inertia
    last = columns.body(columns.bodies[-1])
    assert conditions[columns.bodies[-1]] == pytest.approx(np.linalg.cond(R[:, last] * scale[last]), rel=1e-6)
    still = R.copy()
    still[:, last] = 0
    assert criteria.link_conditions(still, identifiable, columns)[columns.bodies[-1]] == np.inf
