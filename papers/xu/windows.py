"""The base link in windows of 20 ms (case 1 of the paper, Table I, Figs 4 and 5): five methods on the same rows.

    python -m papers.xu.windows [--seeds 12] [--quick] [--json FILE] [--figures FOLDER]

A trot of 5 s is cut into windows of ten samples. Each window is solved on its own, and estimates are averaged by (17),
α = 0.5. Rows are contact-free, both sides smoothed at 10 Hz, channels weighted by their noise; the legs are as
described. The problem of a window is given as its triangle, and what is timed is solving it, each method by its own
solver: *shapes* and *points* by our compiled active set, *nonlinear* in log-Cholesky coordinates, *mata* by the conic
solver, *linear* in closed form. ``objective`` is the mean over windows of ½‖Y Φ − F‖² a row, in units of the noise.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.figure import Line, Panel, chart
from bench.windows import cuboids, grid, nonnegative
from papers.xu.trots import Trot, summary, trot
from steelyard import inertia
from steelyard.compose import prior as priors
from steelyard.compose import pseudo_inertia, shape_set
from steelyard.compose.positive_inertia import composition as mata_composition
from steelyard.equations.columns import Columns
from steelyard.equations.filters import Filter, lowpass
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import foot
from steelyard.information import Information
from steelyard.kernels import active_set
from steelyard.log.log import Log
from steelyard.robot.model import Body
from steelyard.solve import log_cholesky_newton
from steelyard.solve.problem import Cone, Problem
from steelyard.solve.solve import solve_certified
from steelyard.spatial import Array

Solver = Callable[[Information], Array]

WINDOW, ALPHA, CUTOFF = 10, 0.5, 10.0  # samples, (17), Hz
PAPER = {  # t_c ms, v_obj, e_p; simulation
    "nonlinear": (3.086, 0.6542, 0.0181), "linear": (0.032, 0.6566, 0.0218), "points": (0.483, 0.6956, 0.0838),
    "shapes": (0.045, 0.6518, 0.0147),
}  # fmt: skip


@dataclass(frozen=True)
class Windows:
    """Rows of each window about the base, and its time."""

    body: Body
    time: Array  # (W,) s, of the last sample
    rows: list[tuple[Array, Array]]  # (60, 10), (60,) in units of the noise
    truth: Array  # (10,)


def cut(of: Trot, log: Log, theta: Array | None = None) -> Windows:
    """The windows of one log; ``theta`` (10,): its residuals give the noise of the rows; by default the truth."""
    robot, body = of.robot, of.robot.bodies[0]
    (segment,), _ = prepare(robot, log, Filter(cutoff=CUTOFF).for_logs([log]), torques=True)
    columns = Columns(tuple(b.name for b in robot.bodies))
    blocks = list(Setup(robot, "contact-free", columns, tuple([foot(robot, f) for f in of.feet])).rows([segment]))
    Y, target = np.concatenate([b.Y for b in blocks]), np.concatenate([b.target for b in blocks])
    taps = lowpass(segment.rate, CUTOFF)
    Y, target = (np.apply_along_axis(np.convolve, 0, x, taps, "valid") for x in (Y, target))
    legs = np.concatenate([b.parameters for b in robot.bodies[1:]])
    target, Y = target - Y[:, :, 10:] @ legs, Y[:, :, :10]
    sigma = np.std(Y @ (of.truth if theta is None else theta) - target, axis=0)
    Y, target = Y / sigma[:, None], target / sigma
    half, count = len(taps) // 2, len(Y) // WINDOW
    cuts = [slice(k * WINDOW, (k + 1) * WINDOW) for k in range(count)]
    ends = segment.time[half + WINDOW - 1 :: WINDOW][:count]
    return Windows(body, ends, [(Y[c].reshape(-1, 10), target[c].ravel()) for c in cuts], of.truth)


def methods(body: Body) -> dict[str, tuple[Callable[[Information], Any], Solver, int]]:
    """Name → function that poses a window, the solver that is timed, and its number of unknowns."""
    K = priors.NEGLIGIBLE * priors.of_bodies([body]).K
    hint = Information.of(K, K @ body.parameters)
    scale, floor = np.maximum(np.abs(body.parameters), 1e-3), pseudo_inertia.mass_floor(body)
    log_cholesky = log_cholesky_newton.backend([pseudo_inertia.chart(body)])
    mata = mata_composition(body, scale)
    cone = Cone(0, pseudo_inertia.lmi(body))

    def masses(P: Array) -> tuple[Callable[[Information], Any], Solver, int]:
        def pose(window: Information) -> Any:
            R, z = nonnegative(window, P).information.R, nonnegative(window, P).information.z
            return np.ascontiguousarray(R.T @ R), R.T @ z

        return pose, lambda posed: P @ active_set.solve(*posed)[0][0], P.shape[1]

    def linear(posed: Any) -> Array:
        R, z = posed
        free = np.linalg.lstsq(R, z, rcond=None)[0]
        if free[0] > floor:
            return np.asarray(free)
        rest = np.linalg.lstsq(R[:, 1:], z - floor * R[:, 0], rcond=None)[0]
        return np.append(floor, rest)

    parts = np.column_stack([p.parameters for p in shape_set.complete(body).parts])
    return {
        "nonlinear": (
            lambda w: Problem(w + hint, scale, body.parameters, (cone,), {0: floor}),
            lambda problem: log_cholesky(problem).theta, 10,
        ),
        "mata": (
            lambda w: Problem(w + hint, mata.scale, mata.start, tuple(Cone(0, F) for F in mata.cones), {0: floor}),
            lambda problem: solve_certified(problem)[0].theta, 10,
        ),
        "linear": (lambda w: ((w + hint).R, (w + hint).z), linear, 10),
        "points": masses(grid(body.box, (6, 3, 3))),
        "shapes": masses(parts),
        "eleven cuboids": masses(cuboids(body.box, 11)),
    }  # fmt: skip


@dataclass(frozen=True)
class Course:
    """Estimates of a method, window by window."""

    theta: Array  # (W, 10) averaged by (17)
    microseconds: float  # a window, least of three rounds
    objective: float
    alone: Array  # (W, 10) each window by itself


def follow(windows: Windows, posing: Callable[[Information], Any], solver: Solver) -> Course:
    """One method on all windows."""
    posed = [posing(Information.of(Y, F)) for Y, F in windows.rows]
    solver(posed[0])  # loads what is compiled
    took, alone = np.inf, np.zeros((0, 10))
    for _ in range(3):
        start = time.perf_counter()
        alone = np.array([solver(p) for p in posed])
        took = min(took, time.perf_counter() - start)
    averaged = alone.copy()
    for k in range(1, len(averaged)):
        averaged[k] = ALPHA * alone[k] + (1 - ALPHA) * averaged[k - 1]
    objective = np.mean([0.5 * np.mean((Y @ x - F) ** 2) for (Y, F), x in zip(windows.rows, alone, strict=True)])
    return Course(averaged, 1e6 * took / len(posed), float(objective), alone)


def study(name: str = "a1", seeds: int = 12, noise: str = "mid") -> dict[str, Any]:
    """Method → unknowns, µs, objective, e_p averaged over windows, share of windows with a consistent estimate."""
    of = trot(name)
    body = of.robot.bodies[0]
    result: dict[str, list[dict[str, float]]] = {}
    tried = methods(body)
    for seed in range(seeds):
        windows = cut(of, of.measure(noise, seed) if noise != "none" else of.log)
        for method, (posing, solver, unknowns) in tried.items():
            course = follow(windows, posing, solver)
            result.setdefault(method, []).append({
                "unknowns": unknowns, "us": course.microseconds, "objective": course.objective,
                "e_p": float(np.mean(np.linalg.norm(course.theta - windows.truth, axis=1))),
                "consistent": float(np.mean([inertia.is_consistent(x, body.size) for x in course.alone])),
            })  # fmt: skip
    return {method: summary(rows) for method, rows in result.items()}


def table(result: dict[str, Any]) -> str:
    """As Markdown, the paper's figures behind ours."""
    lines = [
        "| method | unknowns | µs a window | objective | e_p | consistent | paper: µs | objective | e_p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for method, x in result.items():
        t, v, e = PAPER.get(method, (None, None, None))
        paper = [f"{1e3 * t:.0f}" if t else "–", f"{v}" if v else "–", f"{e}" if e else "–"]
        cells = [f"{x['unknowns']['worst']:.0f}", f"{x['us']['median']:.1f}", f"{x['objective']['median']:.4f}"]
        cells += [f"{x['e_p']['median']:.4f} ({x['e_p']['worst']:.4f})", f"{100 * x['consistent']['worst']:.1f} %"]
        lines.append(f"| {method} | {' | '.join([*cells, *paper])} |")
    return "\n".join(lines)


def figures(name: str = "a1", seed: int = 0) -> dict[str, str]:
    """Fig. 4, parameters over time, and Fig. 5, three projected forces by the last answer of each method."""
    of = trot(name)
    windows = cut(of, of.measure("mid", seed))
    courses = {m: follow(windows, *methods(windows.body)[m][:2]) for m in ("shapes", "points", "linear", "nonlinear")}
    shown = {0: "mass, kg", 1: "m·x, kg·m", 3: "m·z, kg·m", 4: "Ixx, kg·m²", 6: "Iyy, kg·m²", 9: "Izz, kg·m²"}
    panels = []
    for k, title in shown.items():
        lines = [Line(m, windows.time, c.theta[:, k]) for m, c in courses.items()]
        lines[0] = Line("shapes", windows.time, courses["shapes"].theta[:, k], level=float(windows.truth[k]))
        spread = 5 * float(np.std(courses["shapes"].theta[:, k]))
        about = (float(windows.truth[k]) - spread, float(windows.truth[k]) + spread)
        panels.append(Panel(title, lines, "s", "linear", "linear", about))
    fourth = chart(panels, "s", "Base of a trotting A1 in windows of 20 ms, averaged as (17); dashed: the truth")
    at = slice(len(windows.rows) // 2, len(windows.rows) // 2 + 50)
    fifth = []
    for row, title in enumerate(("first projected row", "second", "third")):
        Y = np.concatenate([Y[row::6] for Y, _ in windows.rows[at]])
        F = np.concatenate([F[row::6] for _, F in windows.rows[at]])
        t = np.arange(len(F)) / 500.0
        lines = [Line("measured", t, F)] + [Line(m, t, Y @ c.theta[-1]) for m, c in courses.items()]
        fifth.append(Panel(title, lines, "s", "linear", "linear"))
    caption = "Projected forces in units of their noise: measured, and by each method's last answer"
    return {"figure4.svg": fourth, "figure5.svg": chart(fifth, "s", caption)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figures", type=Path)
    options = parser.parse_args()
    result = study(seeds=1 if options.quick else options.seeds)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    if options.figures:
        options.figures.mkdir(parents=True, exist_ok=True)
        for name, text in figures().items():
            (options.figures / name).write_text(text, encoding="utf-8")
    print(table(result))


if __name__ == "__main__":
    main()
