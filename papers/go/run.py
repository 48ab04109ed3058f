"""Go and Hata on a PUMA 560: both algorithms and two more, Figures 2 to 5, and which parameters predictions depend on.

    steelyard reproduce go [--quick] [-o DIR]

Ten fixed starts, every searched parameter off by up to 25 %; 10,000 evaluations each; one motion to identify from, two
held-out motions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bench.figure import Line, Panel, chart
from papers.workers import add_workers
from steelyard.experiment.search.observability import base_parameter_error, compute_observability
from steelyard.experiment.search.prediction_engine import CompiledEngine
from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.search.run_search import run_search
from steelyard.experiment.search.search_problem import (
    SearchProblem,
    SearchSpace,
    parameter_error,
    parameters_about_origin,
    values_about_com,
)
from steelyard.experiment.search.windows import Windows
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot

ROBOT = "puma560"
ALGORITHMS = ("cobyla", "genetic", "combined", "gauss-newton")
SPREAD, HORIZON, WINDOWS = 0.25, 0.02, 48
NOISE, RATE_NOISE = 1e-4, 1e-3  # rad, rad/s
NEAR = 0.02  # of the histogram: how far configurations are from the truth


@cache
def robot() -> Robot:
    return Robot.load(ROBOT)


@cache
def truth() -> np.ndarray:
    return np.array([b.parameters for b in robot().bodies])


@cache
def windows(
    motion: int, horizon: float = HORIZON, count: int = WINDOWS, noisy: bool = False, motions: int = 1
) -> Windows:
    noise: dict[str, float] = {"noise": NOISE, "rate_noise": RATE_NOISE} if noisy else {}
    logs = [record_sines(robot(), truth(), seed=motion + k, **noise) for k in range(motions)]
    return Windows.of(robot(), logs, horizon=horizon, count=count)


def start(seed: int, spread: float = SPREAD) -> np.ndarray:
    """(bodies, 10) values, each that is not zero off by up to ``spread``."""
    values = np.array([values_about_com(p) for p in truth()])
    i, k = np.array(SearchSpace.of(robot()).free).T
    values[i, k] *= 1 + np.random.default_rng([seed, 4]).uniform(-spread, spread, len(i))
    return values


def problem(seed: int, windows: Windows) -> SearchProblem:
    space = SearchSpace.of(robot(), start=start(seed), total=float(truth()[:, 0].sum()))
    return SearchProblem(space, (CompiledEngine(robot(), windows),))


def run_case(task: tuple[int, str, int, bool]) -> dict[str, Any]:
    """One search, and the parameter error of each of its states."""
    seed, algorithm, evaluations, noisy = task
    data = windows(0, 0.03, 400, noisy=True) if noisy else windows(0)
    searched = problem(seed, data)
    space, true = searched.space, np.array([values_about_com(p) for p in truth()])
    least: list[float] = []  # parameter error of the configuration of each state that is nearest to the truth
    best: list[float] = []  # and of the one with the least GC error

    def watch(state: dict[str, Any]) -> None:
        own = np.array([values_about_com(np.array(p)) for p in state["best"]])
        best.append(parameter_error(space, own, true)["relative"])
        others = [space.configurations(np.array([z]))[0] for z in state["population"]]
        least.append(min([parameter_error(space, v, true)["relative"] for v in others] or [best[-1]]))

    result = run_search(searched, algorithm, seed=seed, evaluations=evaluations, watch=watch)  # type: ignore[arg-type]
    first = parameters_about_origin(space.values)
    others = []
    for motion in (1, 2):
        other = SearchProblem(space, (CompiledEngine(robot(), windows(motion)),))
        others.append((other.gc_error(first), other.gc_error(result.parameters)))
    return {
        "start": result.start, "error": result.error, "reduction": result.reduction, "evaluations": result.evaluations,
        "history": result.history, "others": others,
        "parameter_start": parameter_error(space, space.values, true)["relative"],
        "parameter_final": best[-1], "parameter_best": best, "parameter_least": least,
        "base_start": base_parameter_error(robot(), first, truth()),
        "base_final": base_parameter_error(robot(), result.parameters, truth()),
    }  # fmt: skip


def measure_observability(task: tuple[float, int]) -> dict[str, Any]:
    """Rank and condition of the GC Jacobian at the truth."""
    horizon, motions = task
    count = WINDOWS if motions else 4
    searched = SearchProblem(
        SearchSpace.of(robot()), (CompiledEngine(robot(), windows(0, horizon, count, motions=max(motions, 1))),)
    )
    observed = compute_observability(searched, robot(), truth())
    return {
        "horizon": horizon, "motions": max(motions, 1), "windows": sum(len(e.windows) for e in searched.engines),
        "rank": observed.space.rank, "of": len(observed.names), "condition": observed.space.condition,
        "dependence": observed.dependence,
    }  # fmt: skip


def histogram(count: int) -> list[float]:
    """GC errors of configurations within 2 % of the truth."""
    searched = SearchProblem(SearchSpace.of(robot()), (CompiledEngine(robot(), windows(0)),))
    values = np.array([start(1000 + k, NEAR) for k in range(count)])
    return [float(e) for e in (searched.gc_error(parameters_about_origin(v)) for v in values)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="steelyard reproduce go", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one start, few evaluations")
    parser.add_argument("-o", "--out", type=Path, help="folder for results.json and the figures")
    add_workers(parser)
    options = parser.parse_args(arguments)
    quick = options.quick
    starts, evaluations = (1, 1500) if quick else (10, 10_000)
    versions = ", ".join(f"{name} {version(name)}" for name in ("nlopt", "mujoco", "numba", "numpy"))
    print(f"Go and Hata, {ROBOT}; {datetime.now(UTC):%Y-%m-%d}; {versions}\n", flush=True)
    with Workers.of(options.workers, options.scheduler) as workers:
        runs = {a: workers.map(run_case, [(s, a, evaluations, False) for s in range(starts)]) for a in ALGORITHMS}
        noisy = workers.map(run_case, [(s, "gauss-newton", evaluations, True) for s in range(0 if quick else starts)])
        settings = [(0.005, 1), (0.02, 1), (0.1, 1), (0.02, 3), (0.02, 0)]
        views = workers.map(measure_observability, settings[1:2] if quick else settings)
    near = histogram(50 if quick else 1000)
    _table(runs, noisy, evaluations)
    _others(runs)
    _histogram(near, runs)
    _observability(views)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        result = {"runs": runs, "noisy": noisy, "histogram": near, "observability": views}
        (options.out / "results.json").write_text(json.dumps(result) + "\n", encoding="utf-8")
        for name, text in _figures(runs, near).items():
            (options.out / name).write_text(text, encoding="utf-8")
        print(f"written: {options.out}")


def _median(rows: Sequence[dict[str, Any]], key: str) -> float:
    return float(np.median([r[key] for r in rows]))


def _table(runs: dict[str, list[dict[str, Any]]], noisy: list[dict[str, Any]], evaluations: int) -> None:
    print(f"Median of {len(runs['cobyla'])} starts within ±25 %, {evaluations} evaluations; in brackets: at the start")
    print(
        "| | GC reduction | worst | parameter error (1) | base-parameter error | worst | evaluations |\n"
        + "|---" * 7
        + "|"
    )
    named = runs | ({f"gauss-newton, noise {NOISE:g} rad": noisy} if noisy else {})
    for name, rows in named.items():
        print(f"| {name} | {_median(rows, 'reduction'):.1e} | {min(r['reduction'] for r in rows):.1e} "
              f"| {_median(rows, 'parameter_final'):.2f} ({_median(rows, 'parameter_start'):.2f}) "
              f"| {_median(rows, 'base_final'):.1e} ({_median(rows, 'base_start'):.2f}) "
              f"| {max(r['base_final'] for r in rows):.1e} | {_median(rows, 'evaluations'):.0f} |")  # fmt: skip
    print()


def _others(runs: dict[str, list[dict[str, Any]]]) -> None:
    print("Figure 3: GC error on two held-out motions, at the start and at the optimum, medians")
    print("| | motion 1 | motion 2 |\n|---|---|---|")
    for name, rows in runs.items():
        pairs = np.median([r["others"] for r in rows], axis=0)
        print(f"| {name} | " + " | ".join(f"{a:.2e} → {b:.2e}" for a, b in pairs) + " |")
    print()


def _histogram(near: list[float], runs: dict[str, list[dict[str, Any]]]) -> None:
    print(
        f"Figure 4: of {len(near)} configurations within 2 % of the truth, GC error {np.median(near):.2e} in the median"
    )
    for name, rows in runs.items():
        share = float(np.mean(np.array(near) < _median(rows, "error")))
        print(f"  {name}: {_median(rows, 'error'):.1e}, {100 * share:.1f} % of them predict better")
    print()


def _observability(views: list[dict[str, Any]]) -> None:
    print("Observability of all ten parameters of six links: rank of the GC Jacobian at the truth")
    print("| horizon, s | motions | windows | rank | of | condition |\n" + "|---" * 6 + "|")
    for v in views:
        cells = [f"{v[key]:g}" for key in ("horizon", "motions", "windows", "rank", "of")]
        print(f"| {' | '.join(cells)} | {v['condition']:.1e} |")
    dependence = views[0]["dependence"]
    for how in ("never", "alone"):
        print(f"{how}: {', '.join(name for name, dependent in dependence.items() if dependent == how)}")
    print()


def _figures(runs: dict[str, list[dict[str, Any]]], near: list[float]) -> dict[str, str]:
    both = {"cobyla": "COBYLA", "genetic": "genetic"}
    caption = f"steelyard reproduce go, {datetime.now(UTC):%Y-%m-%d}"

    def lines(key: str) -> list[Panel]:
        panels = []
        for name, title in both.items():
            drawn = []
            for k, row in enumerate(runs[name][:4]):
                x = [e for e, _ in row["history"]]
                y = [e for _, e in row["history"]] if key == "history" else row[key]
                drawn.append(Line(f"start {k}", x[-len(y) :], y))
            panels.append(Panel(title, drawn))
        return panels

    edges = np.geomspace(min(near), max(near), 25)
    counts = np.histogram(near, edges)[0]
    steps = Line("configurations", [float(x) for x in np.sqrt(edges[1:] * edges[:-1])], [float(c) for c in counts])
    moved = [
        Panel(f"{title}, motion {m + 1}", [
            Line(name, [float(k + 1) for k in range(len(runs[key]))], [r["others"][m][side] for r in runs[key]])
            for side, name in enumerate(("start", "optimum"))
        ], x_scale="linear")
        for key, title in both.items() for m in (0, 1)
    ]  # fmt: skip
    parameter = [
        Panel(title, [
            Line(label, [e for e, _ in row["history"]][-len(row[key]) :], row[key])
            for label, key in (("least GC error", "parameter_best"), ("least parameter error", "parameter_least"))
        ], y_scale="linear")
        for name, title in both.items() for row in runs[name][:1]
    ]  # fmt: skip
    return {
        "figure2.svg": chart(lines("history"), "evaluations", f"Figure 2: GC error. {caption}"),
        "figure3.svg": chart(moved, "start", f"Figure 3: GC error on other motions. {caption}"),
        "figure4.svg": chart([Panel("within 2 % of the truth", [steps], y_scale="linear")], "GC error",
                             f"Figure 4. {caption}"),
        "figure5.svg": chart(parameter, "evaluations", f"Figure 5: parameter error (1). {caption}"),
    }  # fmt: skip


if __name__ == "__main__":
    main()
