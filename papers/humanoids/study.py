"""Errors of each method on the logs of a humanoid whose truth is known.

All methods get the same information: base rows (Ayusawa 33), weighted by the noise of their residuals. Errors are
computed on the exact kinematics of held-out motions, without noise:

    held  = ‖Y(θ̂ − θ)‖ / ‖Y(θ_CAD − θ)‖       wrench error, of that of the description,
    base  = ‖Y(θ̂ − θ)‖ / ‖Yθ‖                  base-parameter error,

in N and N·m, and both once more without the direction of the total mass (a mass at the base's origin), which outweighs
all others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard import Lmi, Points, inertia
from steelyard.equations.columns import Columns
from steelyard.equations.filters import Filter
from steelyard.equations.holdout import Training
from steelyard.equations.prepare import prepare
from steelyard.equations.rows import Rows
from steelyard.equations.setup import Setup
from steelyard.identify import bounds
from steelyard.identify.fit import Fit, build_prior, fit
from steelyard.identify.job import Job
from steelyard.identify.options import Options, RangeOptions
from steelyard.identify.solving import solve
from steelyard.inference.uncertainty import base_parameters
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

DESCRIPTION = "C, the description"
WAYS: dict[str, Options] = {
    "B, least squares": Options(method="least-squares"),
    "A, mass points": Options(method="points", prior_space="structure", prior_width="box"),
    "D, mass points, no prior": Options(method="points", prior="none"),
    "mass points, prior everywhere": Options(method=Points(per_edge="auto")),
    "Mata's programme": Options(method="mata"),
    "Jovic's programme": Options(method="constrained"),
    "log-Cholesky": Options(method="nonlinear"),
    "pseudo-inertia": Options(),
    "pseudo-inertia, entropic": Options(method=Lmi(regularisation="entropic")),
}
QUICK = ("B, least squares", "A, mass points", "D, mass points, no prior", "Jovic's programme", "pseudo-inertia")
UNFILTERED = 1e9  # Hz: beyond every signal
THIN = 10  # every tenth sample of held-out motions enters the errors


@dataclass(frozen=True)
class Yardstick:
    """Exact rows of held-out motions."""

    R: Array  # (n, n) their triangle, in N and N·m

    @classmethod
    def of(cls, robot: Robot, motions: Sequence[Log], setup: Setup) -> Yardstick:
        R = np.zeros((0, setup.columns.n))
        for motion in motions:
            segments, _ = prepare(robot, motion, Filter(UNFILTERED, UNFILTERED, rate=200.0), torques=False)
            parts = [s.part(slice(None, None, THIN)) for s in segments]
            Y = np.concatenate([b.Y for b in Setup(robot, "base", setup.columns).rows(parts)])
            R = np.linalg.qr(np.vstack([R, Y.reshape(-1, setup.columns.n)]), mode="r")
        return cls(R)

    def sizes(self, theta: Array) -> tuple[float, float]:
        """‖Yθ‖, and without its component along the wrench of a mass at the base's origin."""
        f, w = self.R @ theta, self.R[:, 0] / np.linalg.norm(self.R[:, 0])
        return float(np.linalg.norm(f)), float(np.linalg.norm(f - w * (w @ f)))


@dataclass(frozen=True)
class FittedLogs:
    """Equations and fit of the logs of one true robot."""

    setup: Setup
    rows: Sequence[Rows]  # of each log
    fit: Fit  # by the pseudo-inertia

    @property
    def blocks(self) -> list[Any]:
        """Rows of all logs."""
        return [block for rows in self.rows for block in rows]


def base_setup(robot: Robot) -> Setup:
    """Base rows of all bodies, whatever is logged."""
    return Setup(robot, "base", Columns(tuple(b.name for b in robot.bodies)))


def fit_logs(robot: Robot, logs: Sequence[Log], options: Options | None = None, load: str | None = None) -> FittedLogs:
    """Rows, their noise, and a fit; ``load`` is the link with the payload in logs that are loaded."""
    options = options or Options(equations="base")
    setup = Setup.of(robot.description, logs, options, load=load)
    segments = [setup.segments(log)[0] for log in logs]
    samples = sum(len(s.time) for each in segments for s in each)
    rows = [setup.rows(s, samples=samples) for s in segments]
    return FittedLogs(setup, rows, fit(setup, Training([(r, None) for r in rows]), options))


def rows_of(fitted: FittedLogs, logs: Sequence[Log]) -> list[Rows]:
    """Rows of other logs, filtered as those of the fit."""
    return [fitted.setup.rows(fitted.setup.segments(log)[0]) for log in logs]


def estimate_by(way: str, fitted: FittedLogs) -> tuple[Array, tuple[str, ...]]:
    """Parameters by one of the methods of ``WAYS``, and the notices of the method."""
    if way == DESCRIPTION:
        return fitted.setup.robot.prior, ()
    options, setup = replace(WAYS[way], equations=fitted.setup.equations), fitted.setup
    answer = solve(setup, fitted.fit.information, build_prior(setup, options), options)
    return answer.theta, answer.notices


def errors(setup: Setup, yardstick: Yardstick, theta: Array, truth: Array) -> dict[str, float]:
    """Errors of θ: of base parameters, wrenches, total mass and centre of mass, and inconsistent bodies."""
    (off, off_rest), (cad, cad_rest), (size, size_rest) = (
        yardstick.sizes(x) for x in (theta - truth, setup.robot.prior - truth, truth)
    )
    mass, com = centre(setup.robot, theta)
    true_mass, true_com = centre(setup.robot, truth)
    return {
        "base": off / size,
        "base_rest": off_rest / size_rest,
        "held": off / cad,
        "held_rest": off_rest / cad_rest,
        "mass_kg": abs(mass - true_mass),
        "com_mm": 1e3 * float(np.linalg.norm(com - true_com)),
        **count_inconsistent(setup, theta),
    }


def count_inconsistent(setup: Setup, theta: Array) -> dict[str, int]:
    """Number of inconsistent bodies, and of those of which not even the inertia is positive definite."""
    bodies = [(theta[setup.columns.body(b.name)], b.size) for b in setup.robot.bodies]
    definite = [p[0] > 0 and np.linalg.eigvalsh(inertia.unpack(p)[2])[0] > 0 for p, _ in bodies]
    return {
        "inconsistent": sum(not inertia.is_consistent(p, size) for p, size in bodies),
        "not_definite": sum(not good for good in definite),
    }


def centre(robot: Robot, theta: Array) -> tuple[float, Array]:
    """Mass of the whole, kg, and its centre at the neutral posture, m in base axes."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, pin.neutral(robot.model))
    moment, mass = np.zeros(3), 0.0
    for k, body in enumerate(robot.bodies):
        p, place = theta[10 * k : 10 * k + 10], data.oMi[body.joint]
        moment, mass = moment + place.rotation @ p[1:4] + p[0] * place.translation, mass + p[0]
    return float(mass), moment / mass


def as_vector(setup: Setup, truth: Mapping[str, Array]) -> Array:
    """True parameters in the order of the columns."""
    return np.concatenate([truth[name] for name in setup.columns.bodies])


def check_intervals(fitted: FittedLogs, truth: Array) -> dict[str, list[bool]]:
    """Whether 95 % intervals of base parameters of source data hold the truth.

    ``data``: of least squares, ± 1.96 standard deviations by the data alone. ``posterior``: of the pseudo-inertia,
    ± 1.96 posterior ones. ``total``: of the total mass, the same.
    """
    setup, result = fitted.setup, fitted.fit
    masses = np.zeros(setup.columns.n)
    masses[::10] = 1.0
    plain, _ = estimate_by("B, least squares", fitted)
    base = base_parameters(
        result.space,
        result.uncertainty,
        result.theta,
        result.prior.mean,
        setup.columns.names,
        setup.columns.kinds,
        [masses],
    )
    at = {name: k for k, name in enumerate(setup.columns.names)}
    held: dict[str, list[bool]] = {"data": [], "posterior": []}
    for p in base:
        if p.source == "data":
            z = np.zeros(setup.columns.n)
            z[[at[name] for name in p.terms]] = list(p.terms.values())
            held["data"].append(bool(abs(z @ (plain - truth)) < 1.96 * p.std))
            held["posterior"].append(bool(abs(z @ (result.theta - truth)) < 1.96 * result.uncertainty.std(z)))
    total = abs(masses @ (result.theta - truth)) < 1.96 * result.uncertainty.std(masses)
    return {**held, "total": [bool(total)]}


def check_ranges(fitted: FittedLogs, truth: Array) -> list[bool]:
    """Whether guaranteed ranges of masses (``--ranges masses``) hold the truth: of every body, and of the whole."""
    setup = fitted.setup
    ranges = bounds.compute_ranges(setup, fitted.fit, Job(ranges=RangeOptions("masses")))
    assert ranges is not None
    ends = [(ranges.bodies[b].mass, truth[setup.columns.body(b).start]) for b in setup.columns.bodies]
    every = [*ends, (ranges.total, truth[::10].sum())]
    return [bool((low is None or low <= m) and (high is None or m <= high)) for (low, high), m in every]


def compare(
    fitted: FittedLogs, yardstick: Yardstick, truth: Array, ways: Sequence[str] = tuple(WAYS)
) -> dict[str, dict[str, float]]:
    """Way → errors, of one truth."""
    result = {}
    for way in (DESCRIPTION, *ways):
        start = time.perf_counter()
        theta, notices = estimate_by(way, fitted)
        result[way] = {**errors(fitted.setup, yardstick, theta, truth), "seconds": time.perf_counter() - start}
        result[way]["repaired"] = sum(len(n.remedy["bodies"]) for n in notices if n.code == "solution-repaired")
    return result
