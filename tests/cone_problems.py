"""Problems with a known kind of optimum, inside and at the edge of the constraints: what tests of solvers share."""

from dataclasses import replace

import numpy as np

from steelyard import inertia
from steelyard.compose import pseudo_inertia
from steelyard.information import Information
from steelyard.solve.problem import Cone, Entropy, LinearConstraints, Problem
from steelyard.solve.solve import solve_certified
from tests.bodies import SIZE, body
from tests.motions import physical


def problem(seed=0, bodies=2, joints=0, noise=0.3, rows=60, entropic=False, true=None):
    """Noisy random equations about some bodies and some quantities that must not be negative, with a weak prior.

    ``joints`` quantities have the true values ``true``; a negative one makes its bound active.
    """
    rng = np.random.default_rng(seed)
    described = [body(rng) for _ in range(bodies)]
    n = 10 * bodies + joints
    truth = np.concatenate(
        [physical(rng, 2.0, SIZE) for _ in described] + [np.asarray(true if true is not None else np.ones(joints))]
    )
    scale = np.concatenate([np.tile([1, *[SIZE / 2] * 3, *[SIZE**2 / 4] * 6], bodies), np.ones(joints)])
    Y = rng.normal(size=(rows, n)) / scale
    data = Information.of(Y, Y @ truth + noise * rng.normal(size=rows))
    start = np.concatenate([*(b.parameters for b in described), np.full(joints, 1e-2)])
    weight = (1e-4 if entropic else 0.3) / scale
    prior = Information.of(np.diag(weight), weight * start)
    cones = tuple(Cone(10 * k, pseudo_inertia.lmi(b)) for k, b in enumerate(described))
    lower = {10 * k: pseudo_inertia.mass_floor(b) for k, b in enumerate(described)}
    lower |= {10 * bodies + j: 0.0 for j in range(joints)}
    entropies = (
        tuple(Entropy(10 * k, inertia.pseudo(b.parameters), 2.0) for k, b in enumerate(described)) if entropic else ()
    )
    return Problem(data + prior, scale, start, cones, lower, entropies)


def rows(p, total_mass=False, pull=0.0):
    """A bound on the centre of mass of the first body, against the data, and optionally a given total mass.

    ``pull`` moves the bound beyond the unconstrained optimum, so that it is active if positive.
    """
    best = solve_certified(p)[0].theta
    wanted = best[1] - best[0] * p.start[1] / p.start[0]  # the first moment about where the start has its centre
    sign = np.sign(wanted)
    A = np.zeros((1, len(p.scale)))
    A[0, [0, 1]] = -sign * np.array([-p.start[1] / p.start[0], 1.0])  # −sign·(h − c₀m) ≥ −limit
    constraints = LinearConstraints.of(A, -(1 - pull) * abs(wanted))
    if total_mass:
        E = np.zeros((1, len(p.scale)))
        E[0, [0, 10]] = 1.0
        constraints = constraints + LinearConstraints.of(E, E @ p.start, equal=True)
    return replace(p, linear=constraints)


CASES = {
    "interior": problem(0, noise=0.01),
    "at the cones": problem(1, noise=2.0, rows=25),
    "few rows": problem(2, rows=5),
    "friction": problem(3, joints=4, true=[0.5, 0.0, -0.5, -2.0]),
    "entropic": problem(4, entropic=True),
    "entropic, at the cones": problem(5, noise=2.0, rows=25, entropic=True),
    "entropic with friction": problem(6, joints=2, true=[1.0, -1.0], entropic=True),
    "many bodies": problem(7, bodies=8, rows=150, noise=1.0),
}


CASES |= {
    "rows": rows(CASES["at the cones"], pull=0.5),
    "rows that do not matter": rows(CASES["interior"], pull=-0.5),
    "rows and an equality": rows(CASES["friction"], pull=0.5, total_mass=True),
    "rows, an equality and entropies": rows(CASES["entropic with friction"], pull=0.5, total_mass=True),
}
