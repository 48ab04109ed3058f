"""The methods: what each makes of the same information, and the proof that goes with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steelyard import inertia
from steelyard.compose import COMPOSITIONS, points, pseudo_inertia, realisable, shapes
from steelyard.compose import prior as priors
from steelyard.compose.composition import Assembly, Composition, bounded
from steelyard.compose.primitives import Primitive
from steelyard.equations.setup import Options, Plan
from steelyard.errors import Finding, UsageError
from steelyard.identify.methods import constrained
from steelyard.identify.methods.dividing import Refined, refine
from steelyard.inference.uncertainty import Subspace, structural
from steelyard.information import Information
from steelyard.robot.model import LOAD, Body
from steelyard.solve import nonlinear
from steelyard.solve.certify import Certificate, certify
from steelyard.solve.problem import Entropy, Linear, Problem, Solution
from steelyard.solve.solve import certified, least_squares

Array = np.ndarray

MOST = 5000  # unknowns of all bodies


class Answer(NamedTuple):
    """What a method makes of the information."""

    theta: Array  # (n,)
    certificate: Certificate
    free: Array  # indices of θ that were free
    notices: tuple[str, ...] = ()
    refined: Refined | None = None  # of method shapes


def solve(
    plan: Plan,
    info: Information,
    prior: priors.Prior,
    options: Options,
    save: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Answer:
    """θ of a robot, and its certificate; bodies that are not asked for stay as described."""
    start = time.perf_counter()
    way = _solve_placed if options.placed else _solve
    found = way(plan, info, prior, options, save, progress)
    return found._replace(certificate=replace(found.certificate, seconds=time.perf_counter() - start))


def _solve(
    plan: Plan,
    info: Information,
    prior: priors.Prior,
    options: Options,
    save: Path | None,
    progress: Callable[[str], None],
    fixed: Mapping[str, Array] | None = None,
) -> Answer:
    columns, robot = plan.columns, plan.robot
    chosen, known, theta = _held(plan, prior, options, fixed or {})
    free = np.setdiff1d(np.arange(columns.n), known)
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

    belief = replace(prior.about(free), K=pull(plan, data, prior, options, free))
    extra, notices = Linear(), tuple[str, ...]()
    if options.method == "constrained":
        data, extra, notices = constrained.asked(plan, data, known, free, theta, options)
    bodies = [robot.body(b) for b in columns.bodies if b in chosen]
    found = solve_bodies(data, bodies, belief, options, ~columns.signed, extra, plan.shapes, save, progress)
    theta[free] = found.theta
    return found._replace(theta=theta, free=free, notices=notices + found.notices)


def _solve_placed(
    plan: Plan,
    info: Information,
    prior: priors.Prior,
    options: Options,
    save: Path | None,
    progress: Callable[[str], None],
) -> Answer:
    """A load that lies in an area is made of the area's parts; the rest of the robot is solved for by the method.

    First the load, with the robot left free to fit: what is uncertain about the robot makes the load uncertain. Then
    the robot with that load.
    """
    columns, load = plan.columns, plan.robot.body(LOAD)
    _, known, theta = _held(plan, prior, options, {})
    free, at = np.setdiff1d(np.arange(columns.n), known), columns.body(LOAD)
    data = info.given(known, theta[known])
    K = pull(plan, data, prior, options, free)
    total = data + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, data.names)
    seen = total.marginal(np.searchsorted(free, np.arange(at.start, at.stop)))
    none = bounded(np.zeros(0), np.zeros(0), np.zeros(0))
    made = [shapes.initial(load, plan.shapes[LOAD])]
    refined = refine(seen, made, none, options.rule, save=save, progress=progress)
    theta[at] = refined.theta
    placed = Answer(theta, refined.proof, free, tuple(refined.notices(theta[at], np.zeros((10, 10)))), refined)
    if len(free) == 10:
        return placed
    robot = _solve(plan, info, prior, options, save, progress, {LOAD: theta[at]})
    proof = max(placed.certificate, robot.certificate, key=lambda proof: (not proof.holds, proof.gap))
    return placed._replace(theta=robot.theta, certificate=proof, notices=placed.notices + robot.notices)


def _held(
    plan: Plan, prior: priors.Prior, options: Options, fixed: Mapping[str, Array]
) -> tuple[set[str], Array, Array]:
    """Bodies that are free; the parameters that are not; and θ with those, of ``fixed`` or as described."""
    columns, robot = plan.columns, plan.robot
    chosen = ({robot.body(link).name for link in options.links} or set(columns.bodies)) - set(fixed)
    held = [b for b in columns.bodies if b not in chosen]
    known = np.array([i for b in held for i in range(columns.body(b).start, columns.body(b).stop)], int)
    theta = prior.mean.copy()
    theta[known] = np.concatenate([fixed.get(b, robot.body(b).parameters) for b in held]) if held else []
    return chosen, known, theta


def solve_bodies(
    data: Information,
    bodies: Sequence[Body],
    prior: priors.Prior,
    options: Options,
    never: Array | None = None,
    extra: Linear | None = None,
    given: Mapping[str, Sequence[Primitive]] | None = None,
    save: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Answer:
    """The same without a robot: ten parameters of each body, then others, of which some are ``never`` negative.

    ``extra`` are rows about all of them, for compositions whose unknowns are the ten parameters themselves. ``given``
    are shapes of bodies to begin with (method shapes).
    """
    rest = slice(10 * len(bodies), data.n)
    never = np.zeros(data.n - rest.start, bool) if never is None else never
    first = np.where(never, np.maximum(prior.mean[rest], 1e-3 * prior.scale[rest]), prior.mean[rest])
    others = bounded(first, prior.scale[rest], np.where(never, 0.0, -np.inf))
    entropies = []
    K = prior.K.copy()
    if options.regularisation == "entropic":
        for k, body in enumerate(bodies):
            if body.carrier is None:
                reference = inertia.pseudo(prior.mean[10 * k : 10 * k + 10])
                entropies.append(Entropy(10 * k, reference, prior.gamma))
                K[10 * k : 10 * k + 10] *= priors.NEGLIGIBLE
    total = data + Information(Information.of(K, K @ prior.mean).triangle, 0, data.names)
    if options.method == "shapes":
        made = [shapes.initial(body, (given or {}).get(body.name, ())) for body in bodies]
        refined = refine(total, made, others, options.rule, save=save, progress=progress)
        width = K / priors.NEGLIGIBLE if prior.kind == "none" else K
        said = tuple(refined.notices(prior.mean, width))
        return Answer(refined.theta, refined.proof, np.arange(data.n), said, refined)
    parts = [_composition(b, prior.about(np.arange(10 * k, 10 * k + 10)), options) for k, b in enumerate(bodies)]
    _refuse_too_many(parts)
    if options.realisable:
        parts = [p if b.carrier else realisable.inside(p, b) for p, b in zip(parts, bodies, strict=True)]
    assembly = Assembly((*parts, others))
    posed = total.through(assembly.map)
    if np.any(assembly.ridge):
        weight = assembly.ridge
        posed = posed + replace(Information.of(np.diag(weight), weight * assembly.reference), rows=0)
    rows = assembly.rows + (extra or Linear())
    problem = Problem(posed, assembly.scale, assembly.start, assembly.cones, assembly.lower, tuple(entropies), rows)
    if options.method == "constrained":
        theta, proof, repaired = constrained.solve(problem, bodies, save)
        return Answer(theta, proof, np.arange(data.n), constrained.notices(bodies, repaired))
    backends = (
        (nonlinear.backend([pseudo_inertia.chart(b) for b in bodies]),) if options.method == "nonlinear" else None
    )
    solution, proof = certified(problem, backends=backends, save=save)
    return Answer(np.asarray(assembly.map @ solution.theta), proof, np.arange(data.n), _outside(bodies, options))


def _outside(bodies: Sequence[Body], options: Options) -> tuple[str, ...]:
    """Described bodies that do not fit the ellipsoids that their estimates have to."""
    if not options.realisable:
        return ()
    out = [b.name for b in bodies if b.carrier is None and realisable.row(b) @ b.parameters < 0]
    return (f"as described, the mass of {', '.join(out)} reaches out of the ellipsoid around its box",) if out else ()


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


def _composition(body: Body, prior: priors.Prior, options: Options) -> Composition:
    """What a body may be; ``prior`` is about it alone."""
    if options.method != "points":
        return COMPOSITIONS[options.method](body, prior.scale)
    return points.composition(
        body, prior.scale, count=options.points, within=options.points_in, ridge=options.point_ridge, prior=prior.mean
    )


def _refuse_too_many(parts: list[Composition]) -> None:
    if (count := sum(p.size for p in parts)) > MOST:
        what = f"come to {count} masses, more than {MOST}, and take too long to weigh"
        raise UsageError(Finding("points", what, "Ask for fewer, or free fewer --links"))


def _certify_least_squares(data: Information, reference: Array, theta: Array, basis: Array) -> Certificate:
    """The same proof for the problem in the coordinates y of θ = reference + basis·y."""
    y = np.linalg.lstsq(basis, theta - reference, rcond=None)[0]
    posed = Problem(Information.of(data.R @ basis, data.z - data.R @ reference), np.ones(len(y)), np.zeros(len(y)))
    return replace(certify(posed, Solution(y, (), {}, "", "solved")), solver="least-squares", unknowns=len(y))
