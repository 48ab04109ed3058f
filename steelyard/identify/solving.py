"""From information and prior to the parameters of a robot, by the chosen method."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from steelyard.compose import prior as priors
from steelyard.compose.composition import bounded
from steelyard.compose.prior import Prior
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.identify.job import Job
from steelyard.identify.method import Answer, Posed, Source
from steelyard.identify.options import Options
from steelyard.identify.unknown_load import UnknownLoad
from steelyard.information import Information
from steelyard.robot.model import LOAD
from steelyard.spatial import Array


def solve(setup: Setup, info: Information, prior: Prior, options: Options, job: Job | None = None) -> Answer:
    """θ (n,) of a robot and its certificate; bodies that are not free are held at the description."""
    start, job = time.perf_counter(), job or Job()
    theta = initial_parameters(setup, prior)
    if job.load is not None and job.load.has_region:
        answer = _solve_load_in_region(setup, info, prior, options, job, job.load)
    else:
        answer = _solve(setup, info, prior, options, job, theta)
    return answer._replace(certificate=replace(answer.certificate, seconds=time.perf_counter() - start))


def initial_parameters(setup: Setup, prior: Prior) -> Array:
    """(n,) the prior's mean; of bodies that are held, the description."""
    theta = prior.mean.copy()
    for name in setup.columns.bodies:
        if name not in setup.free_bodies:
            theta[setup.columns.body(name)] = setup.robot.body(name).parameters
    return theta


def pose(setup: Setup, info: Information, prior: Prior, options: Options, theta: Array) -> Posed:
    """The problem that a method solves: of the free parameters, the others held at θ."""
    free, known = setup.free, setup.known
    data = info.given(known, theta[known])
    return Posed(
        data,
        replace(prior.about(free), K=prior_root(setup, data, prior, options)),
        tuple(setup.robot.body(b) for b in setup.free_bodies),
        ~setup.columns.signed,
        setup,
        theta,
        options.total_mass,
    )


def _solve(setup: Setup, info: Information, prior: Prior, options: Options, job: Job, theta: Array) -> Answer:
    posed = replace(pose(setup, info, prior, options, theta), save=job.save_problem, progress=job.progress)
    answer = options.solver.solve(posed)
    theta = theta.copy()
    theta[setup.free] = answer.theta
    return answer._replace(theta=theta)


def _solve_load_in_region(
    setup: Setup, info: Information, prior: Prior, options: Options, job: Job, load: UnknownLoad
) -> Answer:
    """A load in a given region is composed of the region's cells; the rest of the robot is estimated by the method.

    First the load, with the robot's parameters marginalised: their uncertainty is in the load's. Then the robot with
    that load.
    """
    from steelyard.compose import shape_set
    from steelyard.identify.division.dividing import refine

    theta, free, at = initial_parameters(setup, prior), setup.free, setup.columns.body(LOAD)
    data = info.given(setup.known, theta[setup.known])
    K = prior_root(setup, data, prior, options)
    total = data + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, data.names)
    seen = total.marginal(np.searchsorted(free, np.arange(at.start, at.stop)))
    none = bounded(np.zeros(0), np.zeros(0), np.zeros(0))
    shapes = [shape_set.initial(setup.robot.body(LOAD), load.start(setup.robot))]
    refined = refine(seen, shapes, none, load.rule, save=job.save_problem, progress=job.progress)
    theta[at] = refined.theta
    placed = Answer(theta, refined.proof, tuple(refined.notices(theta[at], np.zeros((10, 10)))), refined)
    if len(free) == 10:
        return placed
    robot = _solve(setup.holding(LOAD), info, prior, options, job, theta)
    proof = max(placed.certificate, robot.certificate, key=lambda proof: (not proof.holds, proof.gap))
    return placed._replace(theta=robot.theta, certificate=proof, notices=placed.notices + robot.notices)


def prior_root(setup: Setup, data: Information, prior: Prior, options: Options) -> Array:
    """(f, f) square root of the prior's precision on the free parameters, within the ``prior_space`` of the options."""
    free = setup.free
    K: Array = prior.K[np.ix_(free, free)].copy()
    if options.prior_space == "all":
        return K
    return priors.null_space_root(K, excited_subspace(setup, data, prior.scale[free], options.prior_space).null)


def excited_subspace(setup: Setup, data: Information, scale: Array, source: Source) -> Subspace:
    """Subspace of the free parameters that any motion excites, or that these data determine better than the prior."""
    if source == "structure":
        return Subspace.of(setup.possible[:, setup.free], scale)
    space = Subspace.of(data.R, scale)
    strong = space.values * priors.RELATIVE > 1.0  # directions in which the data are more precise than the prior
    return Subspace(scale, space.values[strong], space.V[:, strong], space.R)
