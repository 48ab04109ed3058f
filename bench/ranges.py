"""Do guaranteed ranges hold the truth, and how much wider are they than the interval where the data decide?

Every problem draws another true robot and other noise. ``demo_arm``: exact motion, white torque noise through the
default filter, the noise model estimated anew from its residuals, friction along. The others: random states, white
noise of known size (``bench/problems.py``), all bodies free, or the base alone. A quantity is *decided* where the data
alone know it to a tenth of its natural size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bench.coverage import Arm
from bench.problems import LEVELS, setting
from steelyard import inertia
from steelyard.equations.subspace import Subspace
from steelyard.inference.feasible_set import Allowed, Evidence
from steelyard.inference.quantity_ranges import Range, Ranges, Which, find_ranges
from steelyard.inference.uncertainty import CERTAIN, Uncertainty, compute_uncertainty, long_run_covariance
from steelyard.information import Information
from steelyard.spatial import Array

Drawn = tuple[Array, Evidence, Allowed, Uncertainty, Array]  # truth, data, what is allowed, what they know, estimate


CASES: dict[str, tuple[str, tuple[str, ...], Which]] = {  # robot, free bodies (none named: all), which ranges
    "demo_arm": ("demo_arm", (), "all"),
    "ur10": ("ur10", (), "com"),
    "a1": ("a1", (), "masses"),
    "a1 base": ("a1", ("base",), "all"),
    "talos": ("talos", (), "com"),
    "g1": ("g1", (), "com"),
}
USUAL = ("demo_arm", "ur10", "a1", "a1 base")  # the humanoids take minutes a problem


def ranges(problems: int, cases: Sequence[str] = USUAL) -> dict[str, Any]:
    """Share of ranges that hold the truth, by case, each on its own and all masses of a robot together."""
    return {case: _study(case, problems) for case in cases}


def _study(case: str, problems: int) -> dict[str, Any]:
    name, links, which = CASES[case]
    held: dict[str, list[bool]] = {}
    decided, widths, all_held, open_ended, seconds = [], [], [], [], []
    for truth, data, allowed, unc, estimate in _arm(problems) if name == "demo_arm" else _drawn(name, links, problems):
        start = time.perf_counter()
        ranges_of = find_ranges(data, allowed, which)
        seconds.append(time.perf_counter() - start)
        together = find_ranges(data, allowed, "masses", together=True)
        all_held.append(all(_holds(together.bodies[b.name].mass, truth[10 * k]) for k, b in enumerate(allowed.bodies)))
        open_ended += [ranges_of.bodies[b.name].mass[1] is None for b in allowed.bodies]
        for what, end, value, gradient, size in _quantities(ranges_of, allowed, estimate):
            held.setdefault(what, []).append(_holds(end, value(truth)))
            std = None if gradient is None else unc.std_data(gradient)
            if std is not None and std < CERTAIN * size:
                decided.append(held[what][-1])
                widths.append((_above(end) - _below(end)) / (2 * 1.96 * std))
    return {
        "problems": problems,
        "held": {what: float(np.mean(values)) for what, values in held.items()},
        "ranges": sum(map(len, held.values())),
        "all masses held together": float(np.mean(all_held)),
        "decided": len(decided),
        "decided, held": float(np.mean(decided)) if decided else None,
        "decided, width over interval": [float(np.percentile(widths, q)) for q in (5, 50, 95)] if decided else None,
        "masses without upper limit": float(np.mean(open_ended)),
        "seconds": float(np.median(seconds)),
    }


Quantity = tuple[str, Range, Callable[[Array], float], Array | None, float]  # kind, range, of a θ, gradient, size


def _quantities(ranges_of: Ranges, allowed: Allowed, estimate: Array) -> Iterator[Quantity]:
    E = np.eye(len(estimate))
    masses = E[0 : 10 * len(allowed.bodies) : 10].sum(axis=0)
    yield "total", ranges_of.total, lambda theta: float(masses @ theta), masses, allowed.mass
    for k, body in enumerate(allowed.bodies):
        at, got, p = 10 * k, ranges_of.bodies[body.name], estimate[10 * k : 10 * k + 10]
        mass = max(float(p[0]), 1e-9)
        yield "mass", got.mass, lambda theta, at=at: float(theta[at]), E[at], mass
        for j, end in enumerate(got.com or (), at + 1):
            gradient = (E[j] - p[j - at] / mass * E[at]) / mass
            yield "com", end, lambda theta, j=j, at=at: float(theta[j] / theta[at]), gradient, body.size / 2
        for j, end in enumerate(got.inertia or (), at + 4):
            size = float(np.trace(inertia.matrix(p[4:])))
            yield "inertia", end, lambda theta, j=j: float(theta[j]), E[j], size
        if got.trace is not None:
            yield "trace", got.trace, lambda theta, at=at: _trace(theta[at : at + 10]), None, 1.0


def _trace(parameters: Array) -> float:
    return float(np.trace(inertia.unpack(parameters)[2]))


def _below(ends: Range) -> float:
    return -np.inf if ends[0] is None else ends[0]


def _above(ends: Range) -> float:
    return np.inf if ends[1] is None else ends[1]


def _holds(ends: Range, value: float) -> bool:
    return _below(ends) <= value <= _above(ends)


def _arm(problems: int) -> Iterator[Drawn]:
    arm = Arm.prepare(seconds=12.0)
    columns, robot = arm.setup.columns, arm.setup.robot
    bodies = 10 * len(columns.bodies)
    lowest = {bodies + k: 0.0 for k, (_, term) in enumerate(columns.joint_terms) if term != "offset"}
    others = np.maximum(arm.prior.mean[bodies:], 1e-3 * arm.prior.scale[bodies:])
    mass, length = sum(float(b.parameters[0]) for b in robot.bodies), max(b.size for b in robot.bodies)
    allowed = Allowed(robot.bodies, lowest, arm.prior.scale, others, mass, length)
    for seed in range(problems):
        theta, blocks = arm.draw(np.random.default_rng([seed, 3]), another=True)
        model, info = arm.weight(blocks)
        estimate = info.solve()
        space = Subspace.of(info.R, arm.prior.scale)
        score_covariance = long_run_covariance(blocks, model, estimate, space)
        yield (
            theta,
            Evidence.of(space, info, score_covariance),
            allowed,
            compute_uncertainty(space, info, score_covariance, arm.prior.K),
            estimate,
        )


def _drawn(name: str, links: tuple[str, ...], problems: int) -> Iterator[Drawn]:
    posed = setting(name, links)
    robot, columns = posed.setup.robot, posed.setup.columns
    bodies = tuple(b for b in robot.bodies if not links or b.name in links)
    free = np.concatenate([np.arange(columns.n)[columns.body(b.name)] for b in bodies])
    known = np.setdiff1d(np.arange(columns.n), free)
    K, scale = posed.prior.K[np.ix_(free, free)], posed.prior.scale[free]
    mass, length = sum(float(b.parameters[0]) for b in robot.bodies), max(b.size for b in robot.bodies)
    allowed = Allowed(bodies, {}, scale, np.zeros(0), mass, length)
    for k in range(problems):
        theta, info = posed.draw(np.random.default_rng([k, 11]), LEVELS[k % 3])
        info = info.given(known, theta[known])
        space, score_covariance = Subspace.of(info.R, scale), info.R.T @ info.R
        unc = compute_uncertainty(space, info, score_covariance, K)
        guess = (info + Information.of(K, K @ posed.prior.mean[free])).solve()
        yield theta[free], Evidence.of(space, info, score_covariance), allowed, unc, guess
