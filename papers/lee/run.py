"""Lee and Manchester on a simulated A1: Table I, Figure 3, Monte Carlo, errors of joints, balance on two feet.

    steelyard reproduce lee [--quick] [-o DIR]

Every simulated robot has a trunk that is not as described and, but in Table I, a load that its description lacks.
Sensors are those of level ``mid``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from papers.lee.charts import Series, chart
from papers.workers import add_workers
from steelyard import inertia
from steelyard.experiment.calibrate.balance import balance_on
from steelyard.experiment.calibrate.bisection import Bisection
from steelyard.experiment.calibrate.com import CentreOfMass, find_com
from steelyard.experiment.calibrate.composite import find_inertia, frozen
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.simulated import SimulatedRig, simulated_rig, true_stance
from steelyard.experiment.calibrate.sinusoid import AXES, effective_of
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.sensors import level
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot

ROBOT = "a1"
ERRORS = (-15, -12, -9, -7, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 9, 12, 15)  # mm


def loaded_rig(seed: int, zero_error: float = 0.0, load: bool = True) -> SimulatedRig:
    """A1 with another trunk and 0.5 to 3 kg anywhere on it."""
    robot, rng = Robot.load(ROBOT), np.random.default_rng([seed, 9])
    low, high = robot.body("trunk").box
    half = (high - low) / 2
    place = (low + high) / 2 + rng.uniform(-1, 1, 3) * half
    place[2] = high[2] + rng.uniform(0.0, 0.1)
    loads = [Load.cuboid("trunk", rng.uniform(0.5, 3), place, (0.1, 0.1, 0.1))] if load else []
    return simulated_rig(robot, seed=seed, loads=loads, noise=level("mid").but({"q_bias": zero_error}))


def errors_by_trial(measured: CentreOfMass, true: np.ndarray, count: int) -> list[float]:
    """Errors in x and y, mm, of the estimate after 1 to ``count`` trials on each diagonal."""
    lines = [line for line in measured.lines if line.turn == 0]
    A = np.array([line.normal for line in lines])
    errors = []
    for k in range(count):
        shift = np.array([line.estimates[min(k, len(line.estimates) - 1)] for line in lines])
        d = shift + A @ measured.described - A[:, 2] * true[2]
        errors.append(1e3 * float(np.linalg.norm(np.linalg.solve(A[:, :2], d) - true[:2])))
    return errors


def com_case(task: tuple[int, str, bool, float]) -> dict[str, Any]:
    seed, method, tilt, zero_error = task
    rig = loaded_rig(seed, zero_error)
    exact = true_stance(rig)
    true = exact.com(exact.nominal)
    measured = find_com(rig, Bisection(method), tilt=tilt, zero_error=zero_error)  # type: ignore[arg-type]
    off = 1e3 * (measured.com - true)
    return {
        "xy": float(np.hypot(*off[:2])), "z": abs(float(off[2])), "sigmas": np.abs(off / (1e3 * measured.std)).tolist(),
        "described": 1e3 * float(np.linalg.norm((true - measured.described)[:2])),
        "after": errors_by_trial(measured, true, 6),
        "trials": max(len(line.trials) for line in measured.lines), "mass": measured.mass - exact.mass,
    }  # fmt: skip


def inertia_case(task: tuple[int, bool]) -> dict[str, Any]:
    seed, load = task
    rig = loaded_rig(seed, load=load)
    exact = true_stance(rig)
    measured = find_inertia(rig)
    effective = np.array([effective_of(exact.model, exact, axis) for axis in AXES])
    whole = np.diag(inertia.unpack(frozen(exact, rig.world.truth))[2])
    return {
        "effective": effective.tolist(), "measured": [one.inertia for one in measured.effective],
        "std": [one.std for one in measured.effective], "composite": whole.tolist(),
        "composite_measured": np.diag(measured.composite.inertia).tolist(),
        "composite_std": measured.composite.std.tolist(),
    }  # fmt: skip


def table_one(seed: int) -> dict[str, Any]:
    case = inertia_case((seed, False))
    rig = loaded_rig(seed, load=False)
    exact = true_stance(rig)
    measured = find_com(rig, tilt=True)
    return case | {
        "true": exact.com(exact.nominal).tolist(),
        "com": measured.com.tolist(),
        "com_std": measured.std.tolist(),
    }


def balance_case(task: tuple[int, int, float]) -> tuple[float, bool, float]:
    seed, which, error = task
    rig = loaded_rig(seed)
    exact = true_stance(rig)
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    diagonal = stance.diagonals[which]
    _, n = stance.line(stance.nominal, np.array([0.0, 0.0, 1.0]), diagonal)
    com = exact.com(exact.nominal) + 1e-3 * error * n
    done = balance_on(rig, stance.with_mass_and_com(exact.mass, com), diagonal)
    return error, done.stood, done.seconds


def balance_estimates(seed: int) -> list[bool]:
    """Whether it balances with the centre of mass of the bisection search, and with the described one."""
    rig = loaded_rig(seed)
    measured = find_com(rig, tilt=True)
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    models = (
        stance.with_mass_and_com(measured.mass, measured.com),
        stance.with_mass_and_com(measured.mass, measured.described),
    )
    return [balance_on(rig, b, d).stood for b in models for d in stance.diagonals]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="steelyard reproduce lee", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few cases of each")
    parser.add_argument("-o", "--out", type=Path, help="folder for the figures")
    add_workers(parser)
    options = parser.parse_args(arguments)
    quick, now = options.quick, datetime.now(UTC).strftime("%Y-%m-%d")
    versions = ", ".join(f"{name} {version(name)}" for name in ("mujoco", "pin", "numpy"))
    print(f"Lee and Manchester, {ROBOT}; {now}; {versions}\n", flush=True)
    loads = 1 if quick else 24
    figures: dict[str, str] = {}
    with Workers.of(options.workers, options.scheduler) as workers:
        run: Callable[..., list[Any]] = workers.map
        _table_one(run(table_one, [0])[0])
        tilted = run(com_case, [(k, "momentum", True, 0.0) for k in range(loads)])
        halved = run(com_case, [(k, "halving", False, 0.0) for k in range(loads)])
        _monte_carlo({"momentum, with z": tilted, "halving, as in the paper": halved})
        figures["figure3.svg"] = _figure_three(tilted, halved)
        _inertias(run(inertia_case, [(k, True) for k in range(1 if quick else 12)]))
        sigmas = (0.0, 5e-3) if quick else (0.0, 2e-3, 5e-3, 1e-2)
        seeds = range(1 if quick else 6)
        rows = [run(com_case, [(k, "momentum", True, sigma) for k in seeds]) for sigma in sigmas]
        figures["joints.svg"] = _joints(sigmas, rows)
        errors = (0, 9) if quick else ERRORS
        tasks = [
            (seed, d, float(e))
            for e in errors
            for d in ((0,) if quick else (0, 1))
            for seed in range(1 if quick else 2)
        ]
        figures["balance.svg"] = _balance(run(balance_case, tasks))
        _balance_estimates(run(balance_estimates, range(1 if quick else 6)))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, text in figures.items():
            (options.out / name).write_text(text, encoding="utf-8")
        print(f"written: {', '.join(str(options.out / name) for name in figures)}")


def _table_one(case: dict[str, Any]) -> None:
    print("Table I: an A1 whose trunk is not as described, no load; effective inertia kg·m², centre of mass m")
    names = [*(f"I_{a}" for a in AXES), "p_x", "p_y", "p_z"]
    print("| | " + " | ".join(names) + " |\n|---" * 1 + "|---" * len(names) + "|")
    true, measured = [*case["effective"], *case["true"]], [*case["measured"], *case["com"]]
    std = [*case["std"], *case["com_std"]]
    print("| simulated | " + " | ".join(f"{x:.5f}" for x in true) + " |")
    print(
        "| estimated | " + " | ".join(f"{x:.5f} ± {1.96 * s:.5f}" for x, s in zip(measured, std, strict=True)) + " |\n"
    )


def _monte_carlo(cases: dict[str, list[dict[str, Any]]]) -> None:
    print("Monte Carlo over loads: distance from the truth, mm")
    print("| | loads | described off by | x, y mean | x, y worst | z median | z worst | trials a diagonal at most |")
    print("|---|---|---|---|---|---|---|---|")
    for name, rows in cases.items():
        xy, z, off = (np.array([r[k] for r in rows]) for k in ("xy", "z", "described"))
        depth = f"{np.median(z):.2f} | {z.max():.2f}" if "z" in name else "— | —"
        most = max(r["trials"] for r in rows)
        print(f"| {name} | {len(rows)} | {off.mean():.1f} | {xy.mean():.2f} | {xy.max():.2f} | {depth} | {most} |")
    sigmas = np.array([r["sigmas"] for r in cases["momentum, with z"]])
    print(f"\nWithin 1.96 standard deviations, momentum: {100 * np.mean(sigmas < 1.96):.0f} % of coordinates.\n")


def _figure_three(tilted: list[dict[str, Any]], halved: list[dict[str, Any]]) -> str:
    print("Figure 3: mm off in x and y after so many trials a diagonal, mean (worst) over the loads")
    print("| | " + " | ".join(str(k) for k in range(1, 7)) + " |\n|---|---|---|---|---|---|---|")
    series = []
    for name, rows in (("halving, as in the paper", halved), ("momentum", tilted)):
        E = np.array([r["after"] for r in rows])
        cells = " | ".join(f"{a:.1f} ({b:.1f})" for a, b in zip(E.mean(axis=0), E.max(axis=0), strict=True))
        print(f"| {name} | {cells} |")
        series.append(Series(name, range(1, 7), E.mean(axis=0).tolist()))
    print()
    return chart("Centre of mass in x and y: mm from the truth", "trials a diagonal", series, level=5.0)


def _inertias(rows: list[dict[str, Any]]) -> None:
    print(f"Inertia over {len(rows)} loads: off by %, median (worst)")
    print("| | x | y | z |\n|---|---|---|---|")
    for name, got, true in (("effective", "measured", "effective"), ("composite", "composite_measured", "composite")):
        E = 100 * np.abs(np.array([r[got] for r in rows]) / np.array([r[true] for r in rows]) - 1)
        cells = " | ".join(f"{a:.2f} ({b:.2f})" for a, b in zip(np.median(E, axis=0), E.max(axis=0), strict=True))
        print(f"| {name} | {cells} |")
    E = np.array([r["effective"] for r in rows]) / np.array([r["composite"] for r in rows]) - 1
    print(
        "| effective less than composite by | " + " | ".join(f"{-100 * x:.0f} %" for x in np.median(E, axis=0)) + " |\n"
    )


def _joints(sigmas: Sequence[float], rows: list[list[dict[str, Any]]]) -> str:
    print("Error against joints' zero error, mm in x and y: rms")
    rms = [float(np.sqrt(np.mean([r["xy"] ** 2 for r in row]))) for row in rows]
    for sigma, value in zip(sigmas, rms, strict=True):
        print(f"  {1e3 * sigma:4.0f} mrad  {value:.2f} mm")
    x, y = 1e3 * np.array(sigmas), np.array(rms)
    slope = float(x @ np.sqrt(np.maximum(y**2 - y[0] ** 2, 0)) / (x @ x))
    print(f"  a line of {slope:.2f} mm a mrad\n")
    fit = Series(f"{slope:.2f} mm a mrad", x.tolist(), (slope * x).tolist())
    return chart("Error of the centre of mass, mm", "error of each joint's zero, mrad",
                 [Series("measured, rms", x.tolist(), rms, joined=False), fit])  # fmt: skip


def _balance(rows: list[tuple[float, bool, float]]) -> str:
    print("Balance on two diagonal feet for 5 s, against an error of the assumed centre of mass across the line")
    print("| error, mm | balanced | of | seconds, median |\n|---|---|---|---|")
    errors = sorted({e for e, _, _ in rows})
    shares = []
    for e in errors:
        stood, seconds = [s for x, s, _ in rows if x == e], [t for x, _, t in rows if x == e]
        shares.append(100 * float(np.mean(stood)))
        print(f"| {e:g} | {sum(stood)} | {len(stood)} | {np.median(seconds):.2f} |")
    print()
    return chart("Balanced on two feet for 5 s, %", "error of the assumed centre of mass, mm",
                 [Series("", errors, shares)])  # fmt: skip


def _balance_estimates(rows: list[list[bool]]) -> None:
    table = np.array(rows)
    print(f"With the estimated centre of mass: {table[:, :2].sum()} of {table[:, :2].size} balance; "
          f"with the described one: {table[:, 2:].sum()} of {table[:, 2:].size}.\n")  # fmt: skip


if __name__ == "__main__":
    main()
