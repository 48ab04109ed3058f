"""What is believed beforehand: how wide, how heavy, and where it may speak at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Options, identify, inertia
from steelyard.cli.demonstration import reference_motion
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.identify.scoring import base_error
from steelyard.identify.verdict import is_trusted
from steelyard.information import Information
from steelyard.robot import geometry
from steelyard.robot.model import Body, Robot

pytestmark = pytest.mark.numerical

HALF = np.array([0.1, 0.2, 0.3])


def boxed(mass=2.0, centre=(0.0, 0.0, 0.0), com=(0.0, 0.0, 0.0)):
    """A body of a box whose mass is a little cube somewhere in it."""
    centre = np.asarray(centre, float)
    cube = (centre + com - 0.05, centre + com + 0.05)
    return Body(
        "b", ("b",), 1, geometry.box_inertia(mass, cube), (centre - HALF, centre + HALF), 2 * np.linalg.norm(HALF)
    )


def test_widths_of_a_box_are_how_far_a_mass_in_it_can_be_off():
    """Ayusawa 19–22, in the frame of the box: 2 kg give or take 1, so 3 kg in the farthest corner."""
    body = boxed(com=[0.05, 0.0, -0.1])
    sigma = np.diag(priors.box_root(body.parameters, body))
    x, y, z = HALF
    m = body.parameters
    assert sigma[0] == pytest.approx(1.0)
    np.testing.assert_allclose(sigma[1:4], [3 * x + m[1], 3 * y, 3 * z - m[3]])
    np.testing.assert_allclose(sigma[4], max(3 * (y * y + z * z) - m[4], m[4]))
    np.testing.assert_allclose(sigma[5], 3 * x * y)
    np.testing.assert_allclose(sigma[7], 3 * x * z + abs(m[7]))


@pytest.mark.parametrize(("mass", "error"), [(0.5, 0.25), (4.0, 2.0), (20.0, 2.0)])
def test_a_mass_is_half_off_but_not_by_more_than_two_kilograms(mass, error):
    body = boxed(mass)
    assert priors.box_root(body.parameters, body)[0, 0] == pytest.approx(error)


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_no_mass_in_the_box_is_further_off_than_its_width(seed):
    """Whatever is spread over the box, with a mass inside its bounds, lies within σ of the mean in the box's frame."""
    rng = np.random.default_rng(seed)
    body = boxed(rng.uniform(0.2, 10), rng.normal(size=3), rng.uniform(-0.04, 0.04, 3))
    centre = (body.box[0] + body.box[1]) / 2
    error = min(0.5 * body.parameters[0], 2.0)
    mass = body.parameters[0] + error * rng.uniform(-1, 1)
    spots = centre + HALF * rng.uniform(-1, 1, (12, 3))
    shares = mass * rng.dirichlet(np.full(12, 0.2))
    theta = sum(inertia.pack(m, r, np.zeros((3, 3))) for m, r in zip(shares, spots, strict=True))
    off = np.linalg.solve(priors.box_root(body.parameters, body), theta - body.parameters)
    assert np.abs(off).max() <= 1 + 1e-9


def test_widths_from_a_box_are_transformed_to_the_body_frame():
    centred, shifted = boxed(com=[0.05, 0, 0]), boxed(com=[0.05, 0, 0], centre=[1.0, -2.0, 0.5])
    shift = np.eye(4)
    shift[:3, 3] = [1.0, -2.0, 0.5]
    B = inertia.transform_matrix(shift)
    np.testing.assert_allclose(
        priors.box_root(shifted.parameters, shifted), B @ priors.box_root(centred.parameters, centred), atol=1e-9
    )


def test_a_flat_box_still_leaves_room():
    flat = Body("b", ("b",), 1, boxed().parameters, (np.array([-0.1, -0.1, 0.0]), np.array([0.1, 0.1, 0.0])), 0.3)
    assert np.linalg.cond(priors.box_root(flat.parameters, flat)) < 1e6


def test_weight_multiplies_the_precision_of_bodies_and_of_nothing_else():
    robot = Robot.load("demo_arm")
    columns = Columns(tuple(b.name for b in robot.bodies), (("elbow_joint", "viscous"),))
    plain, heavy = priors.make(robot, columns), priors.make(robot, columns, weight=9.0)
    n = 10 * len(robot.bodies)
    np.testing.assert_allclose(heavy.K[:n, :n], 3 * plain.K[:n, :n], rtol=1e-9, atol=1e-12)
    assert heavy.K[n, n] == plain.K[n, n]
    np.testing.assert_array_equal(heavy.scale, plain.scale)
    wide = priors.make(robot, columns, width="box")
    np.testing.assert_array_equal(wide.scale, plain.scale)
    moments = np.arange(n) % 10 > 0
    assert np.all(wide.std[:n][moments] > plain.std[:n][moments])


@st.composite
def beliefs(draw):
    """A square root of a precision whose units differ wildly, and a null space."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, d = 8, draw(st.integers(1, 6))
    units = 10 ** rng.uniform(-2, 2, n)
    return rng.normal(size=(n, n)) / units, np.linalg.qr(units[:, None] * rng.normal(size=(n, d)))[0], rng


@given(beliefs())
def test_in_the_null_space_the_prior_is_all_it_was_and_elsewhere_next_to_nothing(case):
    K, null, rng = case
    pull = priors.null_space_root(K, null)
    v = null @ rng.normal(size=null.shape[1])
    assert np.linalg.norm(pull @ v) == pytest.approx(np.linalg.norm(K @ v), rel=1e-6)
    u = rng.normal(size=len(K))
    likeliest = u - null @ np.linalg.lstsq(K @ null, K @ u)[0]  # same base parameters, nearest to the mean
    assert np.linalg.norm(pull @ likeliest) == pytest.approx(
        priors.NEGLIGIBLE * np.linalg.norm(K @ likeliest), rel=1e-3
    )


@given(beliefs())
def test_without_constraints_the_base_parameters_are_those_of_least_squares(case):
    """Ayusawa 30–32: the data alone decide what they see, the prior all else, whatever the prior's strength."""
    K, null, rng = case
    n = len(K)
    seen = np.linalg.svd(null.T)[2][null.shape[1] :]  # rows that the null space does not change
    Y = 10 * rng.normal(size=(30, len(seen))) @ seen * np.linalg.norm(K) / np.linalg.norm(seen)
    data = Information.of(Y, rng.normal(size=30))
    mean = rng.normal(size=n)
    pull = priors.null_space_root(K, null)
    theta = (data + Information.of(pull, pull @ mean)).solve()
    np.testing.assert_allclose(Y @ theta, Y @ data.solve(), atol=1e-5 * np.abs(Y @ mean).max())
    left = K @ (theta - mean)
    np.testing.assert_allclose(left @ (K @ null), 0, atol=1e-4 * np.linalg.norm(left) * np.linalg.norm(K @ null))


@pytest.fixture(scope="module")
def in_the_null_space(arm):
    """The same log with the prior everywhere and in the null space alone, by method."""
    return {
        (method, space): identify("demo_arm", [arm.train], Options(method=method, friction="all", prior_space=space))
        for method in ("lmi", "points")
        for space in ("all", "structure")
    }


@pytest.mark.parametrize("method", ["lmi", "points"])
def test_a_prior_on_the_null_space_alone_leaves_physical_bodies_and_good_base_parameters(
    in_the_null_space, arm, method
):
    result = in_the_null_space[method, "structure"]
    assert is_trusted(result.estimate)
    exact = np.concatenate([arm.truth[b.name] for b in arm.robot.bodies])
    yardstick = reference_motion(arm.robot, result.columns)
    assert base_error(yardstick, result.theta[: len(exact)], exact) < 0.2 * base_error(
        yardstick, arm.robot.prior, exact
    )


def test_a_prior_that_does_not_regularise_does_not_narrow_either(in_the_null_space):
    def narrowed(result):
        return [s / d for b in result.estimate.bodies for s, d in zip(b.std, b.std_data, strict=True) if d is not None]

    assert min(narrowed(in_the_null_space["lmi", "all"])) < 0.9
    assert min(narrowed(in_the_null_space["lmi", "structure"])) > 0.99


def test_a_null_space_taken_from_the_data_keeps_what_the_prior_knows_better(arm):
    """Less is left to noise: nearer to the prior than with the structure's null space, in units of its widths."""
    results = {
        kind: identify("demo_arm", [arm.train], Options(friction="all", prior_space=kind))
        for kind in ("structure", "data")
    }
    prior = priors.make(arm.robot, results["data"].columns)
    off = {kind: np.linalg.norm(prior.K @ (result.theta - prior.mean)) for kind, result in results.items()}
    assert off["data"] < 0.95 * off["structure"]
