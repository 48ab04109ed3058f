"""The methods: what each makes of the same information, and the proof that goes with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steelyard import inertia
from steelyard import prior as priors
from steelyard.certify import Certificate, certify
from steelyard.compose import COMPOSITIONS, shapes
from steelyard.compose.composition import Assembly, bounded
from steelyard.identifiable import Subspace, structural
from steelyard.information import Information
from steelyard.plan import Options, Plan
from steelyard.solve.certified import certified, least_squares
from steelyard.solve.dividing import Refined, refine
from steelyard.solve.problem import Entropy, Problem, Solution

Array = np.ndarray

SIGNED = ("offset", "gain")  # joint terms that may be negative


class Answer(NamedTuple):
    """What a method makes of the information."""

    theta: Array  # (n,)
    certificate: Certificate
    free: Array  # indices of θ that were free
    notices: tuple[str, ...] = ()
    refined: Refined | None = None  # of method shapes


def solve(plan: Plan, info: Information, prior: priors.Prior, options: Options, save: Path | None = None) -> Answer:
    """θ of a robot, and its certificate; bodies that are not asked for stay as described."""
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
        return Answer(theta, _certify_least_squares(data, before, theta[free], basis), free)

    bodies = [robot.body(b) for b in columns.bodies if b in chosen]
    rest = np.arange(10 * len(columns.bodies), columns.n)
    positive = [term not in SIGNED for _, term in columns.joint_terms] + [False] * len(columns.offsets)
    never = np.array(positive, bool)  # negative
    first = np.where(never, np.maximum(prior.mean[rest], 1e-3 * prior.scale[rest]), prior.mean[rest])
    others = bounded(first, prior.scale[rest], np.where(never, 0.0, -np.inf))
    entropies = []
    K = prior.K[np.ix_(free, free)].copy()
    if options.regularisation == "entropic":
        for k, body in enumerate(bodies):
            if body.carrier is None:
                reference = inertia.pseudo(prior.mean[columns.body(body.name)])
                entropies.append(Entropy(10 * k, reference, 1 / (2 * priors.RELATIVE**2)))
                K[10 * k : 10 * k + 10] *= priors.NEGLIGIBLE
    total = data + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, data.names)
    if options.method == "shapes":
        made = [shapes.initial(body, plan.shapes.get(body.name, ())) for body in bodies]
        refined = refine(total, made, others, options.rule, save=save)
        theta[free] = refined.theta
        width = K / priors.NEGLIGIBLE if prior.kind == "none" else K
        return Answer(theta, refined.proof, free, tuple(refined.notices(prior.mean[free], width)), refined)
    make = COMPOSITIONS[options.method]
    assembly = Assembly((*(make(b, prior.scale[columns.body(b.name)]) for b in bodies), others))
    posed = total.through(assembly.map)
    if np.any(assembly.ridge):
        posed = posed + replace(Information.of(np.diag(assembly.ridge), np.zeros(posed.n)), rows=0)
    problem = Problem(posed, assembly.scale, assembly.start, assembly.cones, assembly.lower, tuple(entropies))
    solution, proof = certified(problem, save=save)
    theta[free] = assembly.map @ solution.theta
    return Answer(theta, proof, free)


def _certify_least_squares(data: Information, reference: Array, theta: Array, basis: Array) -> Certificate:
    """The same proof for the problem in the coordinates y of θ = reference + basis·y."""
    y = np.linalg.lstsq(basis, theta - reference, rcond=None)[0]
    posed = Problem(Information.of(data.R @ basis, data.z - data.R @ reference), np.ones(len(y)), np.zeros(len(y)))
    return certify(posed, Solution(y, (), {}, "least-squares", "solved"))
