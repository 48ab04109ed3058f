"""A human on a force plate: three published solutions of one problem, each with its own pull towards the prior.

The data are a regressor, a right-hand side, a prior and an ellipsoid for each of 16 bodies (Lee, Wensing and Park): no
robot, so they test solvers alone. The Euclidean solution has a weight that is stored with it; the others are as near to
the prior as can be at the same weighted sum of squared errors, which is the same as some weight of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.optimize import brentq

from steelyard import Lmi, Nonlinear, inertia
from steelyard.compose import prior as priors
from steelyard.identify.method import Posed
from steelyard.information import Information
from steelyard.robot.model import Body

pytestmark = pytest.mark.slow

OURS = [0, 1, 2, 3, 4, 7, 5, 9, 8, 6]  # m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz from m, h, Ixx, Iyy, Izz, Ixy, Iyz, Ixz
CHANNELS = np.array([0.119, 0.216, 1.0])  # standard deviations


@dataclass(frozen=True)
class Human:
    data: Information
    bodies: list[Body]
    published: dict[str, np.ndarray]  # (160,)
    level: float  # weighted sum of squared errors of all three
    weight: float  # of the Euclidean distance

    def solve(self, regularisation: str, weight: float, realisable: bool = True):
        """Minimise squares + weight × squared distance, or 2·weight × divergence: theirs has no halves."""
        prior = priors.of_bodies(self.bodies, weight=weight / 2, regularisation=regularisation)
        method = Lmi(regularisation=regularisation, inside="ellipsoid" if realisable else None)
        return method.solve(Posed(self.data, prior, self.bodies))

    def euclidean(self, realisable: bool = True):
        prior = replace(priors.of_bodies(self.bodies), K=np.sqrt(self.weight) * np.eye(160))
        return Lmi(inside="ellipsoid" if realisable else None).solve(Posed(self.data, prior, self.bodies))

    def at_level(self, regularisation: str):
        """The weight at which the errors are those published, and the answer there."""

        def excess(log):
            return np.log(self.data.cost(self.solve(regularisation, np.exp(log)).theta) / self.level)

        weight = np.exp(brentq(excess, 10.0, 16.0, xtol=1e-8))
        return weight, self.solve(regularisation, weight)

    def apart(self, name: str, theta: np.ndarray) -> tuple[float, float, float]:
        """How far from the published solution: all parameters, worst body, worst parameter in units of its scale."""
        a, b = theta.reshape(16, 10), self.published[name].reshape(16, 10)
        scale = priors.of_bodies(self.bodies).scale.reshape(16, 10)
        bodies = np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)
        return (
            float(np.linalg.norm(a - b) / np.linalg.norm(b)),
            float(bodies.max()),
            float((np.abs(a - b) / scale).max()),
        )


@pytest.fixture(scope="module")
def human(measured) -> Human:
    folder = measured("human")
    train, result = loadmat(folder / "Train_data_human.mat"), loadmat(folder / "result.mat")
    weights = np.tile(1 / CHANNELS, len(train["b"]) // 3)
    A = train["A"].reshape(-1, 16, 10)[:, :, OURS].reshape(-1, 160)
    bodies = []
    for k, (phi, Q) in enumerate(zip(train["Phi_prior"].T[:, OURS], train["Q"][0], strict=True)):
        half = np.sqrt(-1 / np.diag(Q)[:3])
        assert np.abs(Q - np.diag(np.append(-1 / half**2, 1.0))).max() < 1e-9, (
            "ellipsoids about the origin, along the axes"
        )
        box = half / np.sqrt(3)  # the ellipsoid around it is the one given
        bodies.append(Body(f"body {k}", (f"body {k}",), 0, phi, (-box, box), 2 * float(np.linalg.norm(box))))
    published = {
        name: result[f"Params_{name}"][0, 0]["Phi"].T[:, OURS].ravel() for name in ("Euc", "pullback", "entropic")
    }
    data = Information.of(A * weights[:, None], train["b"][:, 0] * weights)
    return Human(data, bodies, published, float(result["c"][0, 0]), float(result["gamma"][0, 0]))


def test_the_published_errors_are_those_of_the_published_parameters_in_our_order(human):
    assert human.level == pytest.approx(1331878.4, rel=1e-7)
    for theta in human.published.values():
        assert human.data.cost(theta) == pytest.approx(human.level, rel=1e-6)
    assert human.data.cost(human.data.solve()) == pytest.approx(142197, rel=1e-5)


def test_the_euclidean_solution_is_the_published_one(human):
    found = human.euclidean()
    assert found.certificate.holds
    assert human.data.cost(found.theta) == pytest.approx(human.level, rel=1e-6)
    overall, body, parameter = human.apart("Euc", found.theta)
    assert overall < 1e-4
    assert body < 1e-3
    assert parameter < 1e-2


def test_ours_is_consistent_where_the_published_euclidean_solution_is_a_hair_outside(human):
    found = human.euclidean().theta.reshape(16, 10)
    theirs = human.published["Euc"].reshape(16, 10)
    assert all(inertia.is_consistent(p, b.size) for p, b in zip(found, human.bodies, strict=True))
    assert sum(inertia.min_eigenvalue(p) < 0 for p in theirs) >= 5


def test_the_ellipsoids_matter(human):
    free = human.euclidean(realisable=False)
    assert human.data.cost(free.theta) < 0.95 * human.level
    assert human.apart("Euc", free.theta)[1] > 0.05


@pytest.mark.parametrize("name", ["pullback", "entropic"])
def test_at_the_published_errors_the_parameters_are_the_published_ones(human, name):
    weight, found = human.at_level(name)
    assert found.certificate.holds
    assert human.data.cost(found.theta) == pytest.approx(human.level, rel=1e-6)
    overall, body, parameter = human.apart(name, found.theta)
    assert overall < 1e-4
    assert body < 1e-3
    assert parameter < 1e-2

    def distance(theta):
        pairs = zip(theta.reshape(16, 10), human.bodies, strict=True)
        if name == "pullback":
            return sum(np.sum((priors.pullback_root(b.parameters) @ (p - b.parameters)) ** 2) for p, b in pairs)
        ratios = [np.linalg.solve(inertia.pseudo(b.parameters), inertia.pseudo(p)) for p, b in pairs]
        return 2 * sum(np.trace(X) - np.linalg.slogdet(X)[1] - 4 for X in ratios)

    ours, theirs = (human.data.cost(t) + weight * distance(t) for t in (found.theta, human.published[name]))
    assert ours <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("weight", [1.0, 50.0])
def test_a_faint_entropic_pull_is_certified_too_though_bodies_are_as_thin_as_can_be(human, weight):
    found = human.solve("entropic", weight)
    assert found.certificate.holds
    assert all(inertia.is_consistent(p, b.size) for p, b in zip(found.theta.reshape(16, 10), human.bodies, strict=True))


def test_log_cholesky_coordinates_lead_to_the_same_parameters(human):
    prior = replace(priors.of_bodies(human.bodies), K=np.sqrt(human.weight) * np.eye(160))
    one, other = (m.solve(Posed(human.data, prior, human.bodies)) for m in (Lmi(), Nonlinear()))
    assert other.certificate.holds
    np.testing.assert_allclose(other.theta / prior.scale, one.theta / prior.scale, atol=5e-3)
