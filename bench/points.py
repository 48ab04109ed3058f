"""Accuracy and cost of mass points against their number, beside the pseudo-inertia that they approach.

The equations are those of a random, rich motion (what structure and sensors allow to be seen), with white noise; the
truth is a robot that differs from its description. All methods get the same information and the same prior, no mass is
pulled by itself (λ_ρ = 0). Errors of base parameters are measured on another motion.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.figure import Line, Panel, chart
from steelyard import Points
from steelyard.compose import prior as priors
from steelyard.compose.mass_points import place
from steelyard.compose.points_cover import cover
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.method import MAX_UNKNOWNS
from steelyard.identify.options import Options
from steelyard.identify.scoring import base_error
from steelyard.identify.solving import solve
from steelyard.information import Information
from steelyard.robot.model import Robot

NOISE = 0.02  # of the root mean square of all rows
GRIDS = {"ur10": (2, 3, 4, 5, 6, 7), "talos": (2, 3, 4)}


@dataclass(frozen=True)
class Case:
    """A robot, a truth, noisy information about it, and a motion to judge by."""

    robot: Robot
    setup: Setup
    truth: np.ndarray  # (n,)
    information: Information
    yardstick: Subspace
    prior: priors.Prior

    @classmethod
    def make(cls, name: str, seed: int) -> Case:
        robot = Robot.load(name)
        columns = Columns(tuple(b.name for b in robot.bodies))
        equations = "base" if robot.floating else "joint"
        prior = priors.make(robot, columns)
        rng = np.random.default_rng(seed)
        truth = np.concatenate(list(perturbed(robot, rng).values()))
        seen, other = (
            Setup(robot, equations, columns).structure(prior.scale, seed=k) for k in (2 * seed + 1, 2 * seed + 2)
        )
        R = seen.R / (NOISE * np.sqrt(np.mean((seen.R @ truth) ** 2)))
        info = Information.of(R, R @ truth + rng.normal(size=len(R)), columns.names)
        return cls(robot, Setup(robot, equations, columns), truth, info, other, prior)

    def run(self, options: Options, prior: priors.Prior | None = None) -> dict[str, float]:
        """Solve once: time, objective, base-parameter error."""
        belief = prior or self.prior
        start = time.perf_counter()
        theta = solve(self.setup, self.information, belief, options).theta
        seconds = time.perf_counter() - start
        return {
            "seconds": seconds,
            "objective": 0.5 * (self.information.cost(theta) + belief.information.cost(theta)),
            "base_error": base_error(self.yardstick, theta, self.truth),
        }


def points(seeds: int = 5, robots: Sequence[str] = tuple(GRIDS)) -> dict[str, Any]:
    """The study: robot → a row for each grid, and one for the pseudo-inertia."""
    return {name: _study(name, seeds, GRIDS.get(name, (2, 3))) for name in robots}


def _study(name: str, seeds: int, grids: Sequence[int]) -> dict[str, Any]:
    cases = [Case.make(name, seed) for seed in range(seeds)]
    best = [case.run(Options()) for case in cases]
    bodies = cases[0].robot.bodies
    rows = []
    for n in (*grids, "auto"):
        covers = [cover(b, b.parameters, n) for b in bodies]
        if sum(c.count + 1 for c in covers) > MAX_UNKNOWNS:
            continue
        runs = [case.run(Options(method=Points(per_edge=n, ridge=0.0))) for case in cases]
        excess = [f["objective"] / b["objective"] - 1 for f, b in zip(runs, best, strict=True)]
        rows.append(
            {
                "points": n,
                "masses": sum(c.count for c in covers),
                "not_covered": sum(not c.inside for c in covers),
                "objective_excess": float(np.median(excess)),
                **_summary(runs),
            }
        )
    described = [base_error(c.yardstick, c.robot.prior, c.truth) for c in cases]
    shares = [place(b, b.parameters).blur for b in bodies]
    return {
        "bodies": len(bodies),
        "not_covered": {
            within: {n: sum(not cover(b, b.parameters, n, within).inside for b in bodies) for n in (3, 5)}
            for within in ("box", "hull")
        },
        "share_of_the_whole": [min(shares), max(shares)],
        "described": float(np.median(described)),
        "lmi": _summary(best),
        "points": rows,
    }


def _summary(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.median([f[key] for f in runs])) for key in ("base_error", "seconds")}


def figure(result: dict[str, Any], caption: str) -> str:
    """SVG: base-parameter error, objective above the pseudo-inertia's, and time, against masses a body."""
    error, excess, cost = [], [], []
    for name, study in result.items():
        rows = [r for r in study["points"] if r["points"] != "auto"]
        chosen = [r for r in study["points"] if r["points"] == "auto"]

        def line(key: str, unit: float, compared: bool, name=name, rows=rows, chosen=chosen, study=study) -> Line:
            spots = [(r["masses"] / study["bodies"], unit * r[key]) for r in (*rows, *chosen)]
            x, y = zip(*spots[: len(rows)], strict=True)
            level = unit * study["lmi"][key] if compared else None
            return Line(name, x, y, level, spots[-1] if chosen else None)

        error.append(line("base_error", 100, True))
        excess.append(line("objective_excess", 100, False))
        cost.append(line("seconds", 1, True))
    panels = (
        Panel("base-parameter error, %", error),
        Panel("objective above lmi's, %", excess),
        Panel("time to solve, s", cost),
    )
    return chart(panels, "masses a body", f"{caption}. Dashed: lmi; diamond: auto.")
