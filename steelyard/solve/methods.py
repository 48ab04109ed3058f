"""The methods: what each makes of the same information, and the proof that goes with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steelyard import inertia
from steelyard import prior as priors
from steelyard.certify import Certificate, certify
from steelyard.compose import pseudo_inertia
from steelyard.identifiable import Subspace, structural
from steelyard.information import Information
from steelyard.plan import Options, Plan
from steelyard.solve.certified import certified, least_squares
from steelyard.solve.problem import Cone, Entropy, Problem, Solution

Array = np.ndarray


def solve(
    plan: Plan, info: Information, prior: priors.Prior, options: Options, save: Path | None = None
) -> tuple[Array, Certificate, Array]:
    """θ, its certificate, and the indices that were free."""
    columns, robot = plan.columns, plan.robot
    chosen = {robot.body(link).name for link in options.links} or set(columns.bodies)
    held = [b for b in columns.bodies if b not in chosen]
    known = np.array([i for b in held for i in range(columns.body(b).start, columns.body(b).stop)], int)
    free = np.setdiff1d(np.arange(columns.n), known)
    theta = prior.mean.copy()
    theta[known] = np.concatenate([robot.body(b).parameters for b in held]) if held else []
    data = info.given(known, theta[known])
    scale = prior.scale[free]
    if options.method == "least-squares":
        if options.null_space == "structure":
            possible = structural(robot, columns, plan.equations, prior.scale, plan.feet)
            basis = Subspace.of(possible.R[:, free], scale).seen
        else:
            space = Subspace.of(data.R, scale)
            strong = space.values * priors.RELATIVE > 1.0  # directions that the data know better than the prior
            basis = scale[:, None] * space.V[:, strong]
        before = theta[free]
        theta[free] = least_squares(data, before, basis)
        return theta, _certify_least_squares(data, before, theta[free], basis), free

    where = {int(i): k for k, i in enumerate(free)}
    cones, lower, entropies = [], dict[int, float](), []
    start = prior.mean.copy()
    start[: 10 * len(columns.bodies)] = robot.prior
    start = start[free]
    for name in columns.bodies:
        if name not in chosen:
            continue
        body, at = robot.body(name), where[columns.body(name).start]
        cones.append(Cone(at, pseudo_inertia.lmi(body)))
        lower[at] = pseudo_inertia.mass_floor(body)
        if options.regularisation == "entropic" and body.carrier is None:
            entropies.append(Entropy(at, inertia.pseudo(prior.mean[columns.body(name)]), 1 / (2 * priors.RELATIVE**2)))
    for k, (_, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies)):
        if term not in ("offset", "gain"):
            lower[where[k]] = 0.0
            start[where[k]] = max(prior.mean[k], 1e-3 * prior.scale[k])
    K = prior.K[np.ix_(free, free)]
    if options.regularisation == "entropic":
        K = K.copy()
        for e in entropies:
            K[e.at : e.at + 10, e.at : e.at + 10] *= priors.NEGLIGIBLE
    total = data + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, data.names)
    problem = Problem(total, scale, start, tuple(cones), lower, tuple(entropies))
    solution, proof = certified(problem, save=save)
    theta[free] = solution.theta
    return theta, proof, free


def _certify_least_squares(data: Information, reference: Array, theta: Array, basis: Array) -> Certificate:
    """The same proof for the problem in the coordinates y of θ = reference + basis·y."""
    y = np.linalg.lstsq(basis, theta - reference, rcond=None)[0]
    posed = Problem(Information.of(data.R @ basis, data.z - data.R @ reference), np.ones(len(y)), np.zeros(len(y)))
    return certify(posed, Solution(y, (), {}, "least-squares", "solved"))
