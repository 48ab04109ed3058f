"""Information is a commutative monoid, equivalent to the samples, and can be marginalised to some parameters."""

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.information import Information

pytestmark = pytest.mark.numerical

N = 4
NUMBERS = st.floats(-10, 10, allow_subnormal=False)
THETA = arrays(float, N, elements=NUMBERS)


@st.composite
def samples(draw, least=1):
    rows = draw(st.integers(least, 9))  # fewer rows than parameters is a case, not an error
    A = draw(arrays(float, (rows, N + 1), elements=NUMBERS))
    return A[:, :N], A[:, N]


@st.composite
def subsets(draw):
    return np.array(sorted(draw(st.sets(st.integers(0, N - 1), min_size=1, max_size=N))))


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-8)


def residual(Y, tau, theta):
    return float(np.sum((Y @ theta - tau) ** 2))


@given(samples(), THETA)
def test_cost_equals_the_residual_of_the_samples(sample, theta):
    assert Information.of(*sample).cost(theta) == close(residual(*sample, theta))


@given(samples(), samples(), samples(), THETA)
def test_order_and_grouping_do_not_matter(a, b, c, theta):
    expected = close(sum(residual(*s, theta) for s in (a, b, c)))
    a, b, c = (Information.of(*s) for s in (a, b, c))
    assert ((a + b) + c).cost(theta) == expected
    assert (a + (b + c)).cost(theta) == expected
    assert (c + a + b).cost(theta) == expected
    assert (c + a + b).rows == (a + b + c).rows == a.rows + b.rows + c.rows


@given(samples(), samples())
def test_the_sum_is_the_same_triangle_in_either_order(a, b):
    """Where R has full rank its triangle is unique, so equality holds number by number."""
    a, b = (Information.of(np.vstack([Y, np.eye(N)]), np.append(t, np.ones(N))) for Y, t in (a, b))
    np.testing.assert_allclose((a + b).triangle[:N], (b + a).triangle[:N], atol=1e-9)
    assert np.all(np.diag((a + b).triangle) >= 0)
    np.testing.assert_array_equal((a + b).triangle, np.triu((a + b).triangle))


@given(samples(), THETA)
def test_nothing_is_the_neutral_element(sample, theta):
    a, zero = Information.of(*sample), Information.none(N)
    assert zero.cost(theta) == 0
    assert zero.rank() == 0
    assert (a + zero).cost(theta) == close(a.cost(theta))
    assert (zero + a).cost(theta) == close(a.cost(theta))
    assert (a + zero).rows == a.rows


@given(samples(), samples(), THETA)
def test_extending_is_adding(a, b, theta):
    extended, added = Information.of(*a).extend(*b), Information.of(*a) + Information.of(*b)
    assert extended.cost(theta) == close(added.cost(theta))
    assert extended.rows == added.rows
    assert extended.triangle.shape == (N + 1, N + 1)


@given(samples(), st.floats(0.01, 1.0), THETA)
def test_forgetting_scales_every_squared_residual(sample, factor, theta):
    info = Information.of(*sample)
    assert info.forget(factor).cost(theta) == close(factor * info.cost(theta))


@pytest.mark.parametrize("factor", [0.0, -0.5, 1.01])
def test_a_forgetting_factor_outside_its_range_is_refused(factor):
    with pytest.raises(ValueError, match="forgetting factor"):
        Information.none(2).forget(factor)


@given(samples(), subsets(), THETA)
def test_given_known_values_the_cost_of_the_others_is_that_of_all(sample, known, theta):
    info = Information.of(*sample)
    free = np.setdiff1d(np.arange(N), known)
    assert info.given(known, theta[known]).cost(theta[free]) == close(info.cost(theta))
    assert info.given(known, theta[known]).rows == info.rows


@given(samples(), subsets(), THETA)
def test_marginal_cost_is_the_least_cost_over_the_others(sample, keep, theta):
    Y, tau = sample
    rest = np.setdiff1d(np.arange(N), keep)
    left = tau - Y[:, keep] @ theta[keep]
    if len(rest):
        s = np.linalg.svd(Y[:, rest], compute_uv=False)
        if np.any((s > 0) & (s < 1e-5 * max(s[0], 1.0))):
            return  # neither here nor there: whether such a direction explains anything is rounding
        left = left - Y[:, rest] @ np.linalg.lstsq(Y[:, rest], left, rcond=1e-9)[0]
    marginal = Information.of(Y, tau).marginal(keep)
    assert marginal.cost(theta[keep]) == pytest.approx(left @ left, rel=1e-7, abs=1e-6)


@given(samples(), samples(), THETA)
def test_what_was_marginalised_is_free_in_the_sum_of_parts_that_do_not_share_it(a, b, theta):
    """Each log may have its own nuisance parameter: marginals then add like the logs themselves."""
    (Ya, ta), (Yb, tb) = a, b
    nuisance = np.ones((len(ta), 1)), np.ones((len(tb), 1))
    keep = np.arange(N)
    parts = Information.of(np.hstack([Ya, nuisance[0]]), ta).marginal(keep) + Information.of(
        np.hstack([Yb, nuisance[1]]), tb
    ).marginal(keep)
    ea, eb = Ya @ theta - ta, Yb @ theta - tb
    expected = np.sum((ea - ea.mean()) ** 2) + np.sum((eb - eb.mean()) ** 2)
    assert parts.cost(theta) == pytest.approx(expected, rel=1e-8, abs=1e-7)


@given(st.integers(0, N), st.integers(0, 100))
def test_rank_counts_the_excited_directions_whatever_the_units(rank, seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(30, rank)) @ rng.normal(size=(rank, N)) * 10.0 ** rng.uniform(-6, 6, N)
    assert Information.of(Y, Y.sum(axis=1)).rank() == rank


def test_unexcited_direction_lowers_the_rank():
    Y = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1.0, 0.0]
    assert Information.of(Y, Y.sum(axis=1)).rank() == 2


@given(samples(least=6), st.integers(0, 99))
def test_solve_is_a_least_squares_minimum_of_least_norm(sample, seed):
    Y, tau = sample
    info = Information.of(Y, tau)
    theta = info.solve()
    step = np.random.default_rng(seed).normal(size=N)
    assert info.cost(theta) <= info.cost(theta + step) * (1 + 1e-7) + 1e-6


@given(samples())
def test_save_and_load_are_inverse(sample):
    info = Information.of(*sample, names=("a.m", "b.m", "ü", "j.viscous"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "information.npz"
        info.save(path)
        again = Information.load(path)
    np.testing.assert_array_equal(again.triangle, info.triangle)
    assert (again.rows, again.names) == (info.rows, info.names)


def test_information_about_different_parameters_cannot_be_added():
    a, b = Information.none(2, ("a.m", "b.m")), Information.none(2, ("b.m", "a.m"))
    with pytest.raises(ValueError, match="different parameters"):
        a + b
    assert (a + Information.none(2)).names == a.names == (Information.none(2) + a).names


def test_names_follow_their_parameters():
    info = Information.of(np.eye(3), np.ones(3), names=("a", "b", "c"))
    assert info.given(np.array([1]), np.zeros(1)).names == ("a", "c")
    assert info.marginal(np.array([2, 0])).names == ("c", "a")


def digits(theta, certified):
    """Correct digits of the worst coefficient, NIST's log relative error."""
    error = np.abs(theta - certified) / np.abs(certified)
    return float(-np.log10(np.maximum(error, 1e-16)).max())


def split_in_five(Y, y):
    parts = zip(np.array_split(Y, 5), np.array_split(y, 5), strict=True)
    return sum((Information.of(*part) for part in parts), Information.none(Y.shape[1]))


def test_wampler1_keeps_eight_digits_when_split_in_five():
    """NIST StRD Wampler1, certified coefficients all 1 (condition number 6e6): 9.3 digits, 6.4 from YᵀY."""
    Y = np.vander(np.arange(21.0), 6, increasing=True)
    y = Y.sum(axis=1)
    assert digits(split_in_five(Y, y).solve(), np.ones(6)) >= 8
    gram = np.linalg.solve(Y.T @ Y, Y.T @ y)
    assert digits(gram, np.ones(6)) < 8, "the data are too easy to show why R is kept and not its square"


LONGLEY_TEXT = """
    60323 83 234289 2356 1590 107608 1947
    61122 88.5 259426 2325 1456 108632 1948
    60171 88.2 258054 3682 1616 109773 1949
    61187 89.5 284599 3351 1650 110929 1950
    63221 96.2 328975 2099 3099 112075 1951
    63639 98.1 346999 1932 3594 113270 1952
    64989 99 365385 1870 3547 115094 1953
    63761 100 363112 3578 3350 116219 1954
    66019 101.2 397469 2904 3048 117388 1955
    67857 104.6 419180 2822 2857 118734 1956
    68169 108.4 442769 2936 2798 120445 1957
    66513 110.8 444546 4681 2637 121950 1958
    68655 112.6 482704 3813 2552 123366 1959
    69564 114.2 502601 3931 2514 125368 1960
    69331 115.7 518173 4806 2572 127852 1961
    70551 116.9 554894 4007 2827 130081 1962
"""
LONGLEY = np.array([float(x) for x in LONGLEY_TEXT.split()]).reshape(16, 7)
LONGLEY_CERTIFIED = np.array(
    [-3482258.63459582, 15.0618722713733, -0.358191792925910e-01, -2.02022980381683, -1.03322686717359,
     -0.511041056535807e-01, 1829.15146461355]
)  # fmt: skip


def test_longley_keeps_ten_digits_when_split_in_five():
    """NIST StRD Longley, condition number 5e9, 4e4 with columns scaled; 11.3 digits were measured."""
    Y = np.column_stack([np.ones(16), LONGLEY[:, 1:]])
    info = split_in_five(Y, LONGLEY[:, 0])
    assert digits(info.solve(), LONGLEY_CERTIFIED) >= 10
    deviation = np.sqrt(info.cost(info.solve()) / (16 - 7))
    assert deviation == pytest.approx(304.854073561965, rel=1e-9)  # NIST's certified residual deviation; as above


FILIP_TEXT = """
    0.8116 -6.860120914  0.9072 -4.324130045  0.9052 -4.358625055  0.9039 -4.358426747  0.8053 -6.955852379
    0.8377 -6.661145254  0.8667 -6.355462942  0.8809 -6.118102026  0.7975 -7.115148017  0.8162 -6.815308569
    0.8515 -6.519993057  0.8766 -6.204119983  0.8885 -5.853871964  0.8859 -6.109523091  0.8959 -5.79832982
    0.8913 -5.482672118  0.8959 -5.171791386  0.8971 -4.851705903  0.9021 -4.517126416  0.909 -4.143573228
    0.9139 -3.709075441  0.9199 -3.499489089  0.8692 -6.300769497  0.8872 -5.953504836  0.89 -5.642065153
    0.891 -5.031376979  0.8977 -4.680685696  0.9035 -4.329846955  0.9078 -3.928486195  0.7675 -8.56735134
    0.7705 -8.363211311  0.7713 -8.107682739  0.7736 -7.823908741  0.7775 -7.522878745  0.7841 -7.218819279
    0.7971 -6.920818754  0.8329 -6.628932138  0.8641 -6.323946875  0.8804 -5.991399828  0.7668 -8.781464495
    0.7633 -8.663140179  0.7678 -8.473531488  0.7697 -8.247337057  0.77 -7.971428747  0.7749 -7.676129393
    0.7796 -7.352812702  0.7897 -7.072065318  0.8131 -6.774174009  0.8498 -6.478861916  0.8741 -6.159517513
    0.8061 -6.835647144  0.846 -6.53165267  0.8751 -6.224098421  0.8856 -5.910094889  0.8919 -5.598599459
    0.8934 -5.290645224  0.894 -4.974284616  0.8957 -4.64454848  0.9047 -4.290560426  0.9129 -3.885055584
    0.9209 -3.408378962  0.9219 -3.13200249  0.7739 -8.726767166  0.7681 -8.66695597  0.7665 -8.511026475
    0.7703 -8.165388579  0.7702 -7.886056648  0.7761 -7.588043762  0.7809 -7.283412422  0.7961 -6.995678626
    0.8253 -6.691862621  0.8602 -6.392544977  0.8809 -6.067374056  0.8301 -6.684029655  0.8664 -6.378719832
    0.8834 -6.065855188  0.8898 -5.752272167  0.8964 -5.132414673  0.8963 -4.811352704  0.9074 -4.098269308
    0.9119 -3.66174277  0.9228 -3.2644011
"""
FILIP = np.array([float(x) for x in FILIP_TEXT.split()]).reshape(82, 2)
FILIP_CERTIFIED = np.array(
    [-1467.48961422980, -2772.17959193342, -2316.37108160893, -1127.97394098372, -354.478233703349,
     -75.1242017393757, -10.8753180355343, -1.06221498588947, -0.670191154593408e-01, -0.246781078275479e-02,
     -0.402962525080404e-04]
)  # fmt: skip


def filip():
    """Powers rounded once from exact products, so that the digits lost are those of the factorisation."""
    y, x = FILIP.T
    Y = np.array([[float(Fraction(value) ** k) for k in range(11)] for value in x])
    return Y, y


def test_filip_keeps_six_digits_when_split_in_five():
    """NIST StRD Filip, degree ten, condition number 5e9 with columns scaled: 6.9 digits in five, 7.9 in one."""
    Y, y = filip()
    info = split_in_five(Y, y)
    assert digits(info.solve(), FILIP_CERTIFIED) >= 6
    deviation = np.sqrt(info.cost(info.solve()) / (82 - 11))
    assert deviation == pytest.approx(0.334801051324544e-02, rel=1e-6)  # NIST's certified residual deviation; as above


def test_columns_of_rounding_errors_are_ignored():
    """A column that should be zero and is 1e-17 must not be scaled up to one: it has no direction and no solution."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(50, N))
    Y[:, 1] = 1e-17 * rng.normal(size=50)
    info = Information.of(Y, Y @ [1.0, 1.0, -2.0, 3.0])
    assert info.rank() == N - 1
    np.testing.assert_allclose(info.solve(), [1.0, 0.0, -2.0, 3.0], atol=1e-12)
    small = Y * [1.0, 1.0, 1e-9, 1.0]
    small[:, 1] = rng.normal(size=50) * 1e-9
    assert Information.of(small, small.sum(axis=1)).rank() == N, "a column in a small unit is not negligible"
    np.testing.assert_allclose(Information.of(small, small.sum(axis=1)).solve(), 1.0, rtol=1e-6)


@given(samples(), st.integers(1, 9), st.integers(0, 1000))
def test_information_about_unknowns_of_which_the_parameters_are_a_linear_map(sample, k, seed):
    """However many unknowns there are, the cost is that of the parameters they make, and R gains no row."""
    rng = np.random.default_rng(seed)
    P, x = rng.normal(size=(N, k)), rng.normal(size=k)
    info = Information.of(*sample)
    through = info.through(P)
    assert through.cost(x) == close(info.cost(P @ x))
    assert np.all(np.tril(through.triangle, -1) == 0)
    assert np.sum(np.any(through.R != 0, axis=1)) <= min(N, k)
    assert through.rows == info.rows


def test_the_least_squares_solution_has_least_norm_with_more_unknowns_than_rows():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(N, 7))
    P /= np.linalg.norm(P, axis=0)
    info = Information.of(np.eye(N), np.arange(1.0, N + 1)).through(P)
    np.testing.assert_allclose(info.solve(), np.linalg.pinv(P) @ np.arange(1.0, N + 1), atol=1e-9)
