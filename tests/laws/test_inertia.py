"""Ten parameters, (mass, CoM, inertia), pseudo-inertia and log-Cholesky coordinates are equivalent."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import sqrtm

from steelyard import inertia
from steelyard.inertia import MARGIN

pytestmark = pytest.mark.numerical

EPS = np.finfo(float).eps
NUMBERS = st.floats(-1, 1, allow_subnormal=False)
LENGTHS = st.floats(1e-3, 1.0)


@st.composite
def rotations(draw):
    """From a quaternion that is nowhere near zero."""
    q = draw(arrays(float, 4, elements=NUMBERS)) + np.array([2, 0, 0, 0])
    return pin.Quaternion(q / np.linalg.norm(q)).toRotationMatrix()


@st.composite
def placements(draw):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = draw(rotations()), draw(arrays(float, 3, elements=NUMBERS))
    return T


@st.composite
def bodies(draw, thin=False, reach=1.0, least=1e-3):
    """(mass, CoM, density covariance); a thin one is a rod, a plate or a point."""
    edges = np.array([draw(st.floats(least, 1.0)) for _ in range(3)])
    if thin:
        edges[: draw(st.integers(1, 3))] = 0.0
    R = draw(rotations())
    mass = draw(st.floats(1e-3, 100.0))
    com = reach * draw(arrays(float, 3, elements=NUMBERS))
    return mass, com, R @ np.diag(edges**2 / 12) @ R.T


def pack(body):
    mass, com, covariance = body
    return inertia.pack(mass, com, mass * (np.trace(covariance) * np.eye(3) - covariance))


def rounding(parameters):
    """What rounding may do: a little of the largest moment."""
    return 64 * EPS * np.abs(parameters).max()


@given(bodies())
def test_mass_com_and_inertia_come_back_from_ten_parameters(body):
    mass, com, covariance = body
    p = pack(body)
    m, c, inertia_com = inertia.unpack(p)
    assert m == mass
    np.testing.assert_allclose(c, com, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(inertia_com, mass * (np.trace(covariance) * np.eye(3) - covariance), atol=rounding(p))
    np.testing.assert_allclose(inertia.density_covariance(p), covariance, atol=rounding(p) / mass)


@given(arrays(float, 10, elements=NUMBERS))
def test_pseudo_inertia_is_linear_and_comes_back_for_any_ten_numbers(p):
    np.testing.assert_allclose(inertia.from_pseudo(inertia.pseudo(p)), p, rtol=0, atol=8 * EPS)
    np.testing.assert_allclose(np.tensordot(p, inertia.PSEUDO_BASIS, axes=1), inertia.pseudo(p), rtol=0, atol=8 * EPS)


@given(arrays(float, 10, elements=NUMBERS), arrays(float, 10, elements=NUMBERS))
def test_a_gradient_by_the_parameters_is_one_by_the_pseudo_inertia(slope, p):
    G = inertia.pseudo_gradient(slope)
    np.testing.assert_array_equal(G, G.T)
    assert np.sum(G * inertia.pseudo(p)) == pytest.approx(slope @ p, rel=0, abs=64 * EPS)


@given(bodies())
def test_pseudo_inertia_is_the_second_moment_of_the_mass(body):
    """Of eight equal points at c ± √λᵢ eᵢ-like corners, which have exactly this covariance."""
    mass, com, covariance = body
    w, V = np.linalg.eigh(covariance)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, 8)
    x = np.vstack([com[:, None] + V @ (np.sqrt(np.maximum(w, 0))[:, None] * signs), np.ones(8)])
    p = pack(body)
    np.testing.assert_allclose(inertia.pseudo(p), mass / 8 * x @ x.T, atol=rounding(p))


@given(bodies())
def test_log_cholesky_comes_back(body):
    p = pack(body)
    np.testing.assert_allclose(inertia.from_log_cholesky(inertia.log_cholesky(p)), p, rtol=1e-12, atol=rounding(p))


@given(bodies(thin=True, reach=0.0))
def test_rods_plates_and_points_come_back_from_log_cholesky(body):
    p = pack(body)
    again = inertia.from_log_cholesky(inertia.log_cholesky(p))
    np.testing.assert_allclose(again, p, atol=1e-12 * np.abs(p[4:]).max() + 1e-300, rtol=1e-14)


@given(bodies(reach=1e3))
def test_a_far_off_centre_of_mass_costs_only_the_digits_the_ten_parameters_have_lost(body):
    """At 1 km a moment about the origin holds m·c² beside the body's own: what is lost is lost in the ten."""
    p = pack(body)
    mass, com, covariance = body
    lost = 64 * EPS * mass * max(1.0, com @ com)
    if np.linalg.eigvalsh(covariance)[0] > 4 * lost / mass:
        np.testing.assert_allclose(inertia.from_log_cholesky(inertia.log_cholesky(p)), p, rtol=1e-13, atol=lost)


@given(arrays(float, 10, elements=st.floats(-3, 3)))
def test_any_log_cholesky_coordinates_are_a_physical_body(x):
    p = inertia.from_log_cholesky(x)
    assert p[0] > 0
    assert inertia.min_eigenvalue(p) >= -rounding(p) / p[0]


@pytest.mark.parametrize(
    ("covariance", "thin"),
    [(np.diag([0.0, 0.0, 0.1]), [True, True, False]), (np.diag([0.0, 0.2, 0.1]), [True, False, False]),
     (np.zeros((3, 3)), [True, True, True])],
    ids=["rod", "plate", "point"],
)  # fmt: skip
def test_a_thin_body_has_minus_infinity_where_it_is_thin(covariance, thin):
    d = inertia.log_cholesky(pack((2.0, np.zeros(3), covariance)))[1:4]
    assert np.isneginf(d).tolist() == thin


def test_log_cholesky_refuses_what_is_no_body():
    with pytest.raises(ValueError, match="mass"):
        inertia.log_cholesky(np.zeros(10))
    with pytest.raises(ValueError, match="covariance"):
        inertia.log_cholesky(inertia.pack(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])))


@given(bodies(), placements(), placements())
def test_frame_change_is_a_matrix_and_composes(body, A, B):
    p = pack(body)
    close = {"rtol": 1e-12, "atol": 64 * rounding(p)}
    np.testing.assert_allclose(inertia.transform_matrix(A) @ p, inertia.transform(p, A), **close)
    np.testing.assert_allclose(inertia.transform(inertia.transform(p, A), B), inertia.transform(p, B @ A), **close)
    np.testing.assert_allclose(inertia.transform(inertia.transform(p, A), np.linalg.inv(A)), p, **close)


@given(bodies(), placements())
def test_frame_change_moves_the_centre_of_mass_and_turns_the_inertia(body, T):
    mass, com, covariance = body
    p = inertia.transform(pack(body), T)
    m, c, _ = inertia.unpack(p)
    assert m == pytest.approx(mass, rel=1e-14)
    np.testing.assert_allclose(c, T[:3, :3] @ com + T[:3, 3], atol=1e-13)
    expected = T[:3, :3] @ covariance @ T[:3, :3].T
    np.testing.assert_allclose(inertia.density_covariance(p), expected, atol=8 * rounding(p) / mass)


@given(bodies(), bodies())
def test_parameters_of_two_bodies_add_up(a, b):
    total = pin.Inertia.FromDynamicParameters(pack(a)) + pin.Inertia.FromDynamicParameters(pack(b))
    p = pack(a) + pack(b)
    np.testing.assert_allclose(p, total.toDynamicParameters(), rtol=1e-12, atol=4 * rounding(p))


@given(bodies())
def test_pinocchio_agrees_on_every_form(body):
    mass, com, covariance = body
    p = pack(body)
    close = {"rtol": 1e-10, "atol": 4 * rounding(p)}
    theirs = pin.Inertia(mass, com, mass * (np.trace(covariance) * np.eye(3) - covariance))
    np.testing.assert_allclose(p, theirs.toDynamicParameters(), **close)
    np.testing.assert_allclose(inertia.pseudo(p), theirs.toPseudoInertia().toMatrix(), **close)
    logs = pin.LogCholeskyParameters(inertia.log_cholesky(p))
    np.testing.assert_allclose(logs.toDynamicParameters(), p, **close)


@given(bodies(), placements())
def test_pinocchio_agrees_on_frame_changes(body, T):
    p = pack(body)
    theirs = pin.Inertia.FromDynamicParameters(p).se3Action(pin.SE3(T)).toDynamicParameters()
    np.testing.assert_allclose(inertia.transform(p, T), theirs, rtol=1e-10, atol=64 * rounding(p))


@given(bodies())
def test_a_solid_body_is_consistent_at_its_own_size(body):
    _, _, covariance = body
    size = 2 * np.sqrt(3 * np.linalg.eigvalsh(covariance)[-1])
    thinnest = np.linalg.eigvalsh(covariance)[0]
    if thinnest > 2 * MARGIN * size**2:
        assert inertia.is_consistent(pack(body), size)


COUNTEREXAMPLES = {
    "mass negative": inertia.pack(-1.0, np.zeros(3), np.eye(3)),
    "mass zero": inertia.pack(0.0, np.zeros(3), np.eye(3)),
    "inertia not positive definite": inertia.pack(1.0, np.zeros(3), np.diag([1.0, 1.0, -0.1])),
    "triangle xx > yy + zz": inertia.pack(1.0, np.zeros(3), np.diag([2.01, 1.0, 1.0])),
    "triangle yy > zz + xx": inertia.pack(1.0, np.zeros(3), np.diag([1.0, 2.01, 1.0])),
    "triangle zz > xx + yy": inertia.pack(1.0, np.zeros(3), np.diag([1.0, 1.0, 2.01])),
    "triangle off the axes": inertia.pack(1.0, np.zeros(3), np.array([[1.5, 0.51, 0], [0.51, 1.5, 0], [0, 0, 1]])),
    "no extent": inertia.pack(1.0, np.zeros(3), np.diag([1.0, 1.0, 2.0])),
    "not finite": np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, np.nan]),
    "moments about a far-off centre": np.array([1.0, 1.0, 0, 0, 1, 0, 1, 0, 0, 1]),
}


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_each_inequality_alone_makes_a_body_inconsistent(name):
    assert inertia.is_consistent(inertia.pack(1.0, np.zeros(3), np.eye(3)), 1.0)
    assert not inertia.is_consistent(COUNTEREXAMPLES[name], 1.0)


def test_the_margin_grows_with_the_square_of_the_size():
    p = inertia.from_log_cholesky([0, np.log(1e-4), 0, 0, 0, 0, 0, 0, 0, 0])  # thinnest: (1e-4 m)²
    assert inertia.min_eigenvalue(p) == pytest.approx(1e-8, rel=1e-6)
    assert inertia.is_consistent(p, 0.99)
    assert not inertia.is_consistent(p, 1.01)


@given(arrays(float, 10, elements=NUMBERS), LENGTHS)
def test_nearest_consistent_is_consistent_and_keeps_mass_and_centre(p, size):
    p[0] = np.copysign(max(abs(p[0]), 1e-2), p[0])  # lighter, and its centre is so far that no digits are left
    p[1:4] *= min(1.0, size)
    q = inertia.nearest_consistent(p, size)
    assert inertia.is_consistent(q, size)
    if p[0] > 0:
        np.testing.assert_allclose(q[:4], p[:4], rtol=1e-14)


@given(bodies(), LENGTHS)
def test_nearest_consistent_leaves_a_consistent_body_alone(body, size):
    p = pack(body)
    if inertia.is_consistent(p, size):
        np.testing.assert_allclose(inertia.nearest_consistent(p, size), p, rtol=1e-14, atol=rounding(p))


@given(bodies())
def test_nearest_consistent_is_nearest_among_random_consistent_ones(body):
    mass, com, covariance = body
    bad = covariance - 2 * np.linalg.eigvalsh(covariance)[0] * np.eye(3)
    near = inertia.density_covariance(inertia.nearest_consistent(pack((mass, com, bad)), 0.1, margin=1e-6))
    rng = np.random.default_rng(0)
    for _ in range(5):
        A = rng.normal(size=(3, 3))
        other = near + 0.1 * np.linalg.norm(bad) * (A @ A.T)
        assert np.linalg.norm(near - bad) <= np.linalg.norm(other - bad) * (1 + 1e-6) + 1e-9


@st.composite
def definite(draw, n=4):
    A = draw(arrays(float, (n, n), elements=NUMBERS))
    return A @ A.T + 0.1 * np.eye(n)


@given(definite(), definite())
def test_the_mean_solves_its_equation_and_is_the_textbook_one(A, B):
    X = inertia.inverse_mean(A, B)
    np.testing.assert_allclose(X @ A @ X, B, atol=1e-11)
    np.testing.assert_allclose(X, X.T, atol=1e-12)
    assert np.linalg.eigvalsh(X)[0] > 0
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(X, inverse @ np.real(sqrtm(A @ B)), atol=1e-8)  # A⁻¹ # B = A⁻¹ (A B)^½


@given(definite())
def test_the_mean_of_an_inverse_and_itself_is_one(A):
    np.testing.assert_allclose(inertia.inverse_mean(A, A), np.eye(len(A)), atol=1e-12)


def lowest(p):
    """Least eigenvalue of the pseudo-inertia with lengths in units of the body's radius of gyration."""
    J = inertia.pseudo(p)
    d = np.sqrt([np.trace(J[:3, :3]) + 1e-300] * 3 + [J[3, 3]])
    return np.linalg.eigvalsh(J / np.outer(d, d))[0]


@given(st.lists(bodies(), min_size=1, max_size=4), bodies(), st.integers(0, 2), bodies(thin=True))
def test_split_sums_exactly_and_positive_parts_stay_positive(solids, whole, massless, thin):
    parts = [pack(b) for b in (*solids, thin)] + [np.zeros(10)] * massless
    total = pack(whole)
    shares = inertia.split(total, parts)
    np.testing.assert_allclose(np.sum(shares, axis=0), total, rtol=1e-13, atol=rounding(total))
    for part, share in zip(parts, shares, strict=True):
        if not part.any():
            np.testing.assert_array_equal(share, 0.0)
            continue
        assert share[0] > 0
        assert lowest(share) > -1e-9  # as positive as rounding lets a thin one be
        if lowest(part) > 1e-6:
            assert lowest(share) > 0


@given(st.lists(bodies(), min_size=1, max_size=4))
def test_split_of_the_same_total_changes_nothing(solids):
    parts = [pack(b) for b in solids]
    for part, share in zip(parts, inertia.split(np.sum(parts, axis=0), parts), strict=True):
        np.testing.assert_allclose(share, part, rtol=0, atol=1e-10 * np.abs(np.sum(parts, axis=0)).max())


@given(st.lists(bodies(), min_size=1, max_size=4), st.floats(0.1, 10.0))
def test_a_body_that_is_heavier_throughout_has_heavier_parts(solids, factor):
    parts = [pack(b) for b in solids]
    total = np.sum(parts, axis=0)
    for part, share in zip(parts, inertia.split(factor * total, parts), strict=True):
        np.testing.assert_allclose(share, factor * part, rtol=0, atol=1e-10 * factor * np.abs(total).max())


def test_a_part_that_is_no_body_becomes_one():
    """As in ANYmal's description: a millionth of a kilogram with moments that break the triangle inequality."""
    odd = inertia.pack(1e-6, np.zeros(3), np.diag([3e-6, 0.0, 0.0]))
    assert lowest(odd) < 0
    parts = [odd, inertia.pack(16.0, [0, 0, 0.05], np.diag([0.6, 0.6, 0.2]))]
    total = inertia.pack(20.0, [0.1, 0, 0.05], np.diag([0.5, 0.7, 0.3]))
    shares = inertia.split(total, parts)
    np.testing.assert_allclose(np.sum(shares, axis=0), total, rtol=1e-13, atol=1e-14)
    for share in shares:
        assert share[0] > 0
        assert lowest(share) > -1e-12


def test_an_unphysical_total_goes_to_the_heaviest_part():
    parts = [inertia.pack(m, [0, 0, m], np.eye(3)) for m in (1.0, 5.0, 2.0)]
    total = np.sum(parts, axis=0)
    total[4] = -10.0
    shares = inertia.split(total, parts)
    np.testing.assert_array_equal(shares[0], parts[0])
    np.testing.assert_array_equal(shares[2], parts[2])
    np.testing.assert_allclose(np.sum(shares, axis=0), total, rtol=1e-15)
