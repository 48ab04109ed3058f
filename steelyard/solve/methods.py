"""The methods: what each makes of the same information, and the proof that goes with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard import inertia
from steelyard import prior as priors
from steelyard.certify import Certificate, certify
from steelyard.compose import COMPOSITIONS, points
from steelyard.compose.composition import Assembly, Composition, bounded
from steelyard.errors import Finding, UsageError
from steelyard.identifiable import Subspace, structural
from steelyard.information import Information
from steelyard.plan import Options, Plan
from steelyard.robot import Body
from steelyard.solve.certified import certified, least_squares
from steelyard.solve.problem import Entropy, Problem, Solution

Array = np.ndarray

SIGNED = ("offset", "gain")  # joint terms that may be negative
MOST = 2500  # unknowns of all bodies


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

    bodies = [robot.body(b) for b in columns.bodies if b in chosen]
    parts = [_composition(b, plan, prior, options) for b in bodies]
    _refuse_too_many(parts)
    rest = np.arange(10 * len(columns.bodies), columns.n)
    positive = [term not in SIGNED for _, term in columns.joint_terms] + [False] * len(columns.offsets)
    never = np.array(positive, bool)  # negative
    first = np.where(never, np.maximum(prior.mean[rest], 1e-3 * prior.scale[rest]), prior.mean[rest])
    assembly = Assembly((*parts, bounded(first, prior.scale[rest], np.where(never, 0.0, -np.inf))))
    entropies = []
    K = pull(plan, data, prior, options, free)
    if options.regularisation == "entropic":
        for k, body in enumerate(bodies):
            if body.carrier is None:
                reference = inertia.pseudo(prior.mean[columns.body(body.name)])
                entropies.append(Entropy(10 * k, reference, 1 / (2 * priors.RELATIVE**2)))
                K[10 * k : 10 * k + 10] *= priors.NEGLIGIBLE
    total = data + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, data.names)
    posed = total.through(assembly.map)
    if np.any(assembly.ridge):
        weight = assembly.ridge
        posed = posed + replace(Information.of(np.diag(weight), weight * assembly.reference), rows=0)
    problem = Problem(posed, assembly.scale, assembly.start, assembly.cones, assembly.lower, tuple(entropies))
    solution, proof = certified(problem, save=save)
    theta[free] = assembly.map @ solution.theta
    return theta, proof, free


def pull(plan: Plan, data: Information, prior: priors.Prior, options: Options, free: Array) -> Array:
    """(n, n) square root of the precision with which the prior pulls the free parameters; ``data`` is about them."""
    K: Array = prior.K[np.ix_(free, free)].copy()
    scale = prior.scale[free]
    if options.prior_space == "all":
        return K
    if options.null_space == "structure":
        possible = structural(plan.robot, plan.columns, plan.equations, prior.scale, plan.feet)
        space = Subspace.of(possible.R[:, free], scale)
    else:
        space = Subspace.of(data.R, scale)
        strong = space.values * priors.RELATIVE > 1.0
        space = Subspace(scale, space.values[strong], space.V[:, strong], space.R)
    return priors.unseen(K, space.null)


def _composition(body: Body, plan: Plan, prior: priors.Prior, options: Options) -> Composition:
    at = plan.columns.body(body.name)
    if options.method != "points":
        return COMPOSITIONS[options.method](body, prior.scale[at])
    return points.composition(
        body, prior.scale[at], count=options.points, within=options.points_in, ridge=options.point_ridge,
        prior=prior.mean[at],
    )  # fmt: skip


def _refuse_too_many(parts: list[Composition]) -> None:
    if (count := sum(p.size for p in parts)) > MOST:
        what = f"come to {count} masses, more than {MOST}, and take too long to weigh"
        raise UsageError(Finding("points", what, "Ask for fewer, or free fewer --links"))


def _certify_least_squares(data: Information, reference: Array, theta: Array, basis: Array) -> Certificate:
    """The same proof for the problem in the coordinates y of θ = reference + basis·y."""
    y = np.linalg.lstsq(basis, theta - reference, rcond=None)[0]
    posed = Problem(Information.of(data.R @ basis, data.z - data.R @ reference), np.ones(len(y)), np.zeros(len(y)))
    return certify(posed, Solution(y, (), {}, "least-squares", "solved"))
