"""How a prior pulls, what depends on frames and units and what does not, and mass that stays inside an ellipsoid."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Lmi, Options, identify, inertia
from steelyard.compose import prior as priors
from steelyard.compose import pseudo_inertia, realisable
from steelyard.identify.verdict import exit_code
from steelyard.information import Information
from steelyard.robot.model import Body
from steelyard.solve.problem import Entropy
from tests.bodies import SIZE, body, consistent, described, measured, no_prior, objective, solve_bodies
from tests.motions import physical, rotation
from tests.refusals import noted

pytestmark = pytest.mark.numerical

seeds = st.integers(0, 10_000)


@given(seeds)
def test_pullback_is_the_squared_length_of_a_change_in_the_geometry_of_pseudo_inertias(seed):
    rng = np.random.default_rng(seed)
    p, change = physical(rng, 2.0, SIZE), 0.1 * physical(rng, 2.0, SIZE)
    X = np.linalg.solve(inertia.pseudo(p), inertia.pseudo(change))
    assert np.sum((priors.pullback_root(p) @ change) ** 2) == pytest.approx(np.trace(X @ X), rel=1e-9)


@given(seeds)
def test_pullback_is_the_entropic_divergence_to_second_order(seed):
    rng = np.random.default_rng(seed)
    b = body(rng)
    prior = priors.of_bodies([b], regularisation="pullback")
    change = 1e-6 * (physical(rng, 2.0, SIZE) - b.parameters)
    entropic = Entropy(0, inertia.pseudo(b.parameters), prior.gamma).value(b.parameters + change)
    assert 0.5 * np.sum((prior.K @ change) ** 2) == pytest.approx(entropic, rel=0.05)


def test_a_load_has_no_geometry_to_be_pulled_by():
    rng = np.random.default_rng(0)
    load = replace(body(rng), carrier="anything but nothing")
    plain, pulled = (priors.of_bodies([load], regularisation=r) for r in ("quadratic", "pullback"))
    np.testing.assert_array_equal(plain.K, pulled.K)
    assert not np.any(pulled.mean)


class Units:
    """The same problem in other frames and units: θ' = B θ, body by body."""

    def __init__(self, rng, count, kilogram=1.0, metre=1.0, still=False):
        self.placements, self.kilogram, self.metre = [], kilogram, metre
        for _ in range(count):
            T = np.eye(4)
            if not still:
                T[:3, :3], T[:3, 3] = rotation(rng), rng.normal(size=3)
            T[:3] *= metre  # also scales the axes: lengths are numbers of other units
            self.placements.append(T)

    def matrix(self):
        B = np.zeros((10 * len(self.placements),) * 2)
        for k, T in enumerate(self.placements):
            B[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = self.kilogram * inertia.transform_matrix(T)
        return B

    def bodies(self, bodies):
        B = self.matrix()
        return [
            Body(b.name, b.links, b.joint, B[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] @ b.parameters,
                 tuple(self.metre * corner for corner in b.box), self.metre * b.size)
            for k, b in enumerate(bodies)
        ]  # fmt: skip


OTHERS = {
    "frames": {},
    "kilograms": {"kilogram": 1000.0, "still": True},
    "metres": {"metre": 1000.0, "still": True},
    "frames and units": {"kilogram": 0.01, "metre": 39.37},
}
PULLS = {
    "no prior": (no_prior, Lmi()),
    "entropic": (
        lambda b: priors.of_bodies(b, regularisation="entropic"),
        Lmi(regularisation="entropic"),
    ),
    "pullback": (
        lambda b: priors.of_bodies(b, regularisation="pullback"),
        Lmi(regularisation="pullback"),
    ),
}


def both_ways(seed, other, pull, bodies=None, rows=30, noise=1.0):
    """The answer carried over to other frames and units, and the answer there; both in the first ones."""
    make, method = pull
    rng = np.random.default_rng(seed)
    bodies = bodies or described(rng, 2)
    data = measured(rng, bodies, rows, noise)
    units = Units(rng, len(bodies), **OTHERS[other])
    transformed = units.bodies(bodies)
    B = units.matrix()
    original = solve_bodies(data, bodies, make(bodies), method).theta
    moved = solve_bodies(data.through(np.linalg.inv(B)), transformed, make(transformed), method).theta
    scale = priors.of_bodies(bodies).scale
    return original / scale, np.linalg.solve(B, moved) / scale, bodies


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("pull", PULLS)
@settings(max_examples=4)
@given(seed=seeds)
def test_lmi_without_a_prior_entropic_and_pullback_know_no_frames_and_no_units(pull, other, seed):
    original, transformed, _ = both_ways(seed, other, PULLS[pull])
    np.testing.assert_allclose(transformed, original, rtol=0, atol=2e-3)


def euclidean(bodies):
    some = priors.of_bodies(bodies)
    return replace(some, K=np.eye(len(some.mean)))


@pytest.mark.parametrize("other", OTHERS)
def test_a_plain_euclidean_distance_to_the_prior_depends_on_frames_and_units(other):
    original, transformed, _ = both_ways(0, other, (euclidean, Lmi()), rows=5)
    assert np.abs(transformed - original).max() > 0.02


def test_the_quadratic_prior_knows_no_frames_where_principal_axes_are_distinct_and_does_where_they_are_not():
    quadratic = (priors.of_bodies, Lmi())
    for other in OTHERS:
        original, transformed, _ = both_ways(1, other, quadratic, rows=5)
        np.testing.assert_allclose(transformed, original, rtol=0, atol=2e-3)
    ball = inertia.pack(2.0, np.zeros(3), 0.01 * np.eye(3))
    bodies = [body(np.random.default_rng(0), parameters=ball)]
    original, transformed, _ = both_ways(1, "frames", quadratic, bodies, rows=3)
    off = np.abs(transformed - original).max()
    assert off > 0.02, "of a ball any axes are principal, and the widths are set along some"


def test_an_ellipsoid_does_depend_on_the_axes_that_its_box_is_along():
    pull = (no_prior, Lmi(inside="ellipsoid"))
    original, transformed, _ = both_ways(3, "frames", pull)
    assert np.abs(transformed - original).max() > 0.02
    original, transformed, _ = both_ways(3, "metres", pull)
    np.testing.assert_allclose(transformed, original, rtol=0, atol=2e-3)


@given(seeds)
def test_the_ellipsoid_goes_through_the_corners_of_its_box(seed):
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=3)
    upper = lower + rng.uniform(0.1, 2, 3)
    Q = realisable.quadric((lower, upper))
    for corner in np.stack(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T:
        x = np.append(corner, 1.0)
        assert x @ Q @ x == pytest.approx(0.0, abs=1e-9)
    assert np.append((lower + upper) / 2, 1.0) @ Q @ np.append((lower + upper) / 2, 1.0) == pytest.approx(1.0)


def points_inside(J, Q):
    """(4, k) columns √mass·[x; 1] with J = sum of their squares, each inside the ellipsoid (Sturm and Zhang)."""
    X = np.linalg.cholesky(J)
    share = np.sum(J * Q) / X.shape[1]
    for _ in range(50):
        q = np.einsum("ik,ij,jk->k", X, Q, X) - share
        i, j = int(np.argmin(q)), int(np.argmax(q))
        if q[j] - q[i] < 1e-9:
            break
        a, b = X[:, i], X[:, j]
        roots = np.roots([q[j], 2 * a @ Q @ b, q[i]])  # of (a + r b)'Q(a + r b) = share·(1 + r²)
        r = float(np.real(roots[0]))
        X[:, i], X[:, j] = (a + r * b) / np.hypot(1, r), (b - r * a) / np.hypot(1, r)
    return X


@given(seeds)
def test_a_body_is_realisable_exactly_when_it_is_a_sum_of_point_masses_inside_the_ellipsoid(seed):
    rng = np.random.default_rng(seed)
    b = body(rng, half=rng.uniform(0.05, 0.5, 3))
    Q, q = realisable.quadric(b.mass_box), realisable.ellipsoid_row(b)
    x = rng.normal(size=(6, 3))
    x *= (rng.uniform(0, 1, 6) ** (1 / 3) / np.linalg.norm(x, axis=1))[:, None] * np.sqrt(3) * b.box[1]
    parameters = sum(m * inertia.pack(1.0, c, np.zeros((3, 3))) for m, c in zip(rng.uniform(0, 1, 6), x, strict=True))
    assert q @ parameters >= 0
    p = physical(rng, 2.0, 2 * b.box[1].min())
    if q @ p >= 0:
        X = points_inside(inertia.pseudo(p), Q)
        np.testing.assert_allclose(X @ X.T, inertia.pseudo(p), atol=1e-9)
        assert np.all(np.einsum("ik,ij,jk->k", X, Q, X) >= -1e-8), "every point inside"
    far = inertia.pack(1.0, 3 * b.box[1], np.diag([1e-6] * 3))
    assert q @ far < 0


def test_mass_stays_inside_where_it_is_asked_to_and_pays_for_it():
    rng = np.random.default_rng(4)
    bodies = described(rng, 3)
    data, prior = measured(rng, bodies, 25, 1.0), priors.of_bodies(bodies)
    free = solve_bodies(data, bodies, prior, Lmi())
    kept = solve_bodies(data, bodies, prior, Lmi(inside="ellipsoid"))
    rows = [realisable.ellipsoid_row(b) for b in bodies]
    out = [q @ free.theta[10 * k : 10 * k + 10] for k, q in enumerate(rows)]
    inside = [q @ kept.theta[10 * k : 10 * k + 10] for k, q in enumerate(rows)]
    assert min(out) < -0.1
    assert min(inside) > -1e-8
    assert kept.certificate.holds
    assert all(consistent(kept.theta, bodies))
    assert objective(data, prior, kept.theta) > objective(data, prior, free.theta)
    named = [b.name for k, b in enumerate(bodies) if rows[k] @ b.parameters < 0]
    assert named
    assert noted(kept.notices) == [("mass-outside-ellipsoid", ", ".join(named))]


def test_a_load_may_be_anywhere():
    rng = np.random.default_rng(4)
    load = replace(body(rng), carrier="anything but nothing")
    data, prior = measured(rng, [load], 25, 0.1), priors.of_bodies([load])
    free = solve_bodies(data, [load], prior, Lmi())
    kept = solve_bodies(data, [load], prior, Lmi(inside="ellipsoid"))
    assert realisable.ellipsoid_row(load) @ free.theta < 0
    np.testing.assert_array_equal(kept.theta, free.theta)


def test_a_sheet_has_room_for_its_mass():
    rng = np.random.default_rng(0)
    sheet = body(rng, half=np.array([0.2, 0.1, 0.0]))
    part = realisable.confine(pseudo_inertia.composition(sheet, np.ones(10)), sheet)
    assert np.all(part.rows @ part.start > 0)
    assert inertia.is_consistent(part.start, sheet.size)


@given(seeds, st.floats(0, 0.5))
def test_a_supporting_function_of_the_entropy_is_nowhere_above_it(seed, off):
    """What the certificate rests on: any slope that it accepts bounds the entropy from below, everywhere."""
    rng = np.random.default_rng(seed)
    entropy = Entropy(0, inertia.pseudo(physical(rng, 2.0, SIZE)), 2.0)
    p = physical(rng, 2.0, SIZE)
    gradient = entropy.gradient(p)
    asked = gradient * (1 + off * rng.normal(size=10))
    slope, cost = entropy.supported(p, asked)
    assert cost >= 0
    for _ in range(5):
        other = physical(rng, 2.0 * 10 ** rng.uniform(-2, 2), SIZE)
        bound = entropy.value(p) - cost + slope @ (other - p)
        assert entropy.value(other) >= bound - 1e-9 * abs(bound)
    assert np.array_equal(slope, asked) or np.array_equal(slope, gradient)


@pytest.mark.parametrize("seed", [0, 2, 6, 8])
def test_a_faint_entropic_pull_on_bodies_that_data_press_flat_is_certified_all_the_same(seed):
    """Where a body is thin its entropy has a gradient that is mostly rounding; the certificate does not need it."""
    rng = np.random.default_rng(seed)
    bodies = described(rng, 3)
    truth, Q = np.concatenate([physical(rng, 2.0, SIZE) for _ in bodies]), np.linalg.qr(rng.normal(size=(30, 30)))[0]
    Y = rng.normal(size=(60, 30)) @ (Q * 10 ** rng.uniform(0, 2, 30)) @ Q.T / priors.of_bodies(bodies).scale
    data = Information.of(Y, Y @ truth + np.abs(Y @ truth).max() * rng.normal(size=60))
    prior = priors.of_bodies(bodies, weight=0.5)
    assert prior.gamma == pytest.approx(1.0)
    solution = solve_bodies(data, bodies, prior, Lmi(regularisation="entropic", inside="ellipsoid"))
    assert solution.certificate.holds
    assert all(consistent(solution.theta, bodies))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (Lmi(regularisation="pullback"), {"regularisation": "pullback"}),
        (Lmi(regularisation="entropic"), {"regularisation": "entropic"}),
        (Lmi(inside="ellipsoid"), {"realisable": True}),
    ],
)
def test_a_log_can_be_identified_with_each_of_them(arm, method, options):
    estimate = identify("demo_arm", [arm.train], Options(method=method, friction="all")).estimate
    assert exit_code(estimate) == 0
    assert estimate.fit.relative < 0.02
    assert estimate.provenance["options"].items() >= options.items()
    if "regularisation" in options:
        b = estimate.body("forearm_link")
        expected = np.linalg.norm(np.linalg.inv(priors.pullback_root(b.prior)), axis=1) / np.sqrt(2)
        np.testing.assert_allclose(b.prior_std, expected, rtol=1e-6)
