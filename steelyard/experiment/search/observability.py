"""Observability of parameters by prediction: why Go and Hata's GC error falls and their parameter error does not.

With G the Jacobian of all predicted states by the parameters θ, q̈ = M⁻¹(τ − h) depends on θ only through the equations
of motion, so G has the null space of their regressor whatever the horizon: a longer one, or more motions, determine
each base parameter better, but no further one. Along the null space the GC error is constant and the parameter error
is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard import inertia
from steelyard.compose.prior import of_bodies
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.experiment.search.search_problem import SearchProblem
from steelyard.identify.scoring import base_error
from steelyard.inference.uncertainty import BodySource, Uncertainty, compute_uncertainty, judge_body
from steelyard.information import Information
from steelyard.robot.model import Robot
from steelyard.spatial import Array

RELATIVE_STEP = 1e-3  # of a parameter's scale; differences are of fourth order
RANK = 1e-9  # over the largest singular value: errors of the differences are a thousandth of that
ALONE, NEVER = 1e-5, 1 - 1e-6  # share of a parameter outside the row space
QUIET = 1e-12  # least noise, over the measured states


@dataclass(frozen=True)
class Observability:
    """Observability of the searched bodies' parameters in the windows of a problem."""

    bodies: tuple[str, ...]  # that are searched
    sizes: Array  # (bodies,) m
    parameters: Array  # (bodies, 10)
    described: Array  # (bodies, 10) by the description
    space: Subspace  # of the parameters that the prediction depends on
    unc: Uncertainty
    noise: float  # rms of the residuals, rad, m and per s

    @property
    def names(self) -> tuple[str, ...]:
        """``LINK.m`` … ``LINK.Izz`` about the frame's origin."""
        return tuple(f"{b}.{p}" for b in self.bodies for p in inertia.NAMES)

    @cached_property
    def sources(self) -> dict[str, BodySource]:
        """Source of each body's values by the rule of ``docs/design.md``."""
        values = zip(self.bodies, self.parameters, self.described, self.sizes, strict=True)
        return {
            name: judge_body(self.unc, slice(10 * k, 10 * k + 10), parameters, described, float(size))
            for k, (name, parameters, described, size) in enumerate(values)
        }

    @cached_property
    def dependence(self) -> dict[str, str]:
        """How the prediction depends on each parameter: ``alone``, ``combined`` with others, or ``never``."""
        shares = [self.space.outside(e) for e in np.eye(len(self.names))]
        words = ["alone" if s < ALONE else "never" if s > NEVER else "combined" for s in shares]
        return dict(zip(self.names, words, strict=True))


def compute_observability(problem: SearchProblem, robot: Robot, parameters: Array) -> Observability:
    """Observability at parameters (bodies, 10) of a robot."""
    searched = sorted({i for i, _ in problem.space.free})
    bodies = [robot.bodies[i] for i in searched]
    prior = of_bodies(bodies)
    G = theta_jacobian(problem, parameters, searched, prior.scale)
    r = problem.residuals(parameters[None])[0]
    ends = np.concatenate([np.ravel([e.windows.q_end, e.windows.v_end]) for e in problem.engines])
    noise = max(float(np.sqrt(np.mean(r**2))), QUIET * max(float(np.abs(ends).max()), 1.0))
    theta = parameters[searched].ravel()
    info = Information.of(G / noise, (G @ theta - r) / noise)
    space = Subspace.of(info.R, prior.scale, RANK)
    unc = compute_uncertainty(space, info, info.R.T @ info.R, prior.K)
    names = tuple(b.name for b in bodies)
    described = np.array([b.parameters for b in bodies])
    return Observability(names, problem.space.sizes[searched], parameters[searched], described, space, unc, noise)


def theta_jacobian(problem: SearchProblem, parameters: Array, searched: list[int], scale: Array) -> Array:
    """Jacobian (rows, 10·searched) of the residuals by the parameters of bodies, by fourth-order differences."""
    columns = []
    for k, h in enumerate(RELATIVE_STEP * scale):
        moved = np.tile(parameters, (4, 1, 1))
        moved[:, searched[k // 10], k % 10] += h * np.array([-2.0, -1.0, 1.0, 2.0])
        r = problem.residuals(moved)
        columns.append((r[0] - 8 * r[1] + 8 * r[2] - r[3]) / (12 * h))
    return np.array(columns).T


def base_parameter_error(robot: Robot, estimate: Array, truth: Array) -> float:
    """Base-parameter error ‖R_ref(θ̂ − θ)‖ / ‖R_ref θ‖ of (bodies, 10), R_ref of one fixed, exciting motion."""
    columns = Columns(tuple(b.name for b in robot.bodies))
    reference = Setup(robot, "joint" if not robot.floating else "full", columns).structure(
        of_bodies(robot.bodies).scale
    )
    return base_error(reference, estimate.ravel(), truth.ravel())
