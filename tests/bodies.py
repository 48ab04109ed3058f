"""Bodies and equations about them, without a robot: what tests of methods share."""

import numpy as np

from steelyard import inertia
from steelyard.compose import prior as priors
from steelyard.identify.method import Posed, method_type
from steelyard.information import Information
from steelyard.robot.model import Body
from tests.motions import physical

SIZE = 0.4
HALF = np.full(3, SIZE / np.sqrt(12))


def body(rng, name="b", parameters=None, half=HALF):
    """A body around its frame's origin, as some description has it."""
    p = physical(rng, 2.0, SIZE) if parameters is None else parameters
    return Body(name, (name,), 1, p, (-half, half), 2 * float(np.linalg.norm(half)))


def described(rng, count):
    return [body(rng, f"b{k}") for k in range(count)]


def measured(rng, bodies, rows=60, noise=0.3, truth=None):
    """Information of random equations about bodies that differ from their description, in units of their scale."""
    truth = np.concatenate([physical(rng, 2.0, SIZE) for _ in bodies]) if truth is None else truth
    Y = rng.normal(size=(rows, len(truth))) / priors.of_bodies(bodies).scale
    return Information.of(Y, Y @ truth + noise * rng.normal(size=rows))


def no_prior(bodies):
    """No belief at all: nothing is added to the data."""
    some = priors.of_bodies(bodies)
    return priors.Prior("none", some.mean, 0 * some.K, some.scale)


def objective(data, prior, theta):
    """Data and quadratic prior."""
    return 0.5 * data.cost(theta) + 0.5 * float(np.sum((prior.K @ (theta - prior.mean)) ** 2))


def consistent(theta, bodies):
    return [inertia.is_consistent(theta[10 * k : 10 * k + 10], b.size) for k, b in enumerate(bodies)]


def solve_bodies(data, bodies, prior, method):
    """A method's answer about bodies alone; by its name, or with its own options."""
    chosen = method_type(method)() if isinstance(method, str) else method
    return chosen.solve(Posed(data, prior, tuple(bodies)))
