"""Jovic et al. on simulated humanoids: Tables I to IV, Figures 4 and 5, a wrist joint too many, a known mass on a limb.

    steelyard reproduce jovic [--quick] [--logs DIR] [-o DIR]

As on the paper's HRP-2, 5 kg were added since the description was written: 4 kg in the torso, half a kilogram in each
hand; every other mass is off by up to 5 %, as cables are. Robots stand on their own soles in MuJoCo, with the noise of
``--noise humanoid``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bench.figure import Line, Panel, chart
from papers.humanoids import command, study
from papers.humanoids.source import Library
from papers.humanoids.truths import Motions
from papers.jovic.bars import bars
from steelyard import inertia
from steelyard.equations.rows import BASE_ROWS
from steelyard.equations.setup import Setup
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.truth import perturb_masses
from steelyard.identify.options import Options
from steelyard.identify.scoring import predict
from steelyard.log.log import Log
from steelyard.robot import geometry
from steelyard.robot.model import LOAD, Body, Robot
from steelyard.spatial import Array

MODIFIED = {  # the torso, then the hands
    "talos": ("torso_2_link", "arm_left_7_link", "arm_right_7_link"),
    "g1": ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link"),
    "hrp4": ("torso", "l_wrist", "r_wrist"),
    "jvrc1": ("WAIST_R_S", "L_WRIST_Y_S", "R_WRIST_Y_S"),
}
LEGS = {  # trunk and right leg, as in Table III
    "talos": ("base_link", "torso_1_link", "torso_2_link", *(f"leg_right_{k}_link" for k in range(1, 7))),
    "g1": ("pelvis", "waist_yaw_link", "torso_link", "right_hip_pitch_link", "right_hip_roll_link",
           "right_hip_yaw_link", "right_knee_link", "right_ankle_pitch_link", "right_ankle_roll_link"),
    "hrp4": ("base_link", "CHEST_P_LINK", "torso", "R_HIP_Y_LINK", "R_HIP_R_LINK", "R_HIP_P_LINK", "R_KNEE_P_LINK",
             "R_ANKLE_P_LINK", "R_ANKLE_R_LINK"),
    "jvrc1": ("base_link", "WAIST_Y_S", "WAIST_R_S", "R_HIP_P_S", "R_HIP_R_S", "R_HIP_Y_S", "R_KNEE_S", "R_ANKLE_R_S",
              "R_ANKLE_P_S"),
}  # fmt: skip
WRIST = {"talos": "arm_left_7_joint", "g1": "left_wrist_yaw_joint"}  # a joint that the description lacks
ADDED = (4.0, 0.5, 0.5)  # kg
KNOWN = 1.0  # kg, on the first hand
LOADED = 6  # motions played with it
BEST = 3  # motions a segment
WAY = "Jovic's programme"


def main(arguments: Sequence[str] | None = None) -> None:
    options = command.parser("jovic", __doc__.splitlines()[0]).parse_args(arguments)
    results, figures = {}, dict[str, str]()
    for name, library, motions in command.cases("Jovic et al.", options, 0 if options.quick else command.JUDGED):
        results[name], drawn = reproduce(name, library, motions)
        figures |= drawn
    command.write(options.out, results, figures)


def reproduce(name: str, library: Library, motions: Motions) -> tuple[dict[str, Any], dict[str, str]]:
    """All of one robot: printed as it comes, and returned."""
    robot, truth = library.robot, add_masses(library.robot, MODIFIED[name])
    logs = library.logs(motions.learned, truth, "modified")
    fitted = study.fit_logs(robot, logs)
    robot = fitted.setup.robot
    theta, notices = study.estimate_by(WAY, fitted)
    print(f"## {name}: Table I, condition numbers of sub-regressors\n", flush=True)
    chosen, conditions = compute_conditions(fitted.setup.robot, motions.learned)
    print(f"{len(chosen)} of {len(motions.learned)} motions, the best {BEST} of every segment\n")
    print(_columns("segment", list(conditions), {"condition": list(conditions.values())}, ".0f") + "\n", flush=True)
    cross = library.logs(motions.held, truth, "modified", seed=9)
    scores = {"direct": score_prediction(fitted, logs[0], theta), "cross": score_prediction(fitted, cross[0], theta)}
    print(f"## {name}: Tables II and IV, measured and predicted\n\n{_scores(scores)}\n", flush=True)
    print(f"## {name}: Table III, trunk and right leg\n\n{_inertias(robot, LEGS[name], theta)}\n", flush=True)
    masses = {b.name: float(theta[10 * k]) for k, b in enumerate(robot.bodies)}
    expected = {m: float(robot.body(m).parameters[0]) + a for m, a in zip(MODIFIED[name], ADDED, strict=True)}
    shown = ", ".join(
        f"{m} {masses[m]:.2f} (described {robot.body(m).parameters[0]:.2f}, expected {e:.2f})"
        for m, e in expected.items()
    )
    print(f"## {name}: Figure 5\n\n{shown}\n\n{'; '.join(map(str, notices))}\n", flush=True)
    result: dict[str, Any] = {
        "chosen": len(chosen), "conditions": conditions, "scores": scores, "masses": masses, "expected": expected,
        "inconsistent_bodies": study.count_inconsistent(fitted.setup, theta), "notices": [str(n) for n in notices],
    }  # fmt: skip
    result["known"] = estimate_known_mass(library, motions, truth, MODIFIED[name][1])
    k = result["known"]
    print(f"## {name}: a known mass on a limb\n\n{KNOWN:g} kg on {MODIFIED[name][1]}: fitted {k['mass']:.3f} ± "
          f"{1.96 * k['std']:.2g} kg, its centre {k['mm']:.1f} mm off\n", flush=True)  # fmt: skip
    if name in WRIST:
        result["wrist"] = fit_without_joint(fitted, library, motions, truth, WRIST[name])
        print(f"## {name}: one wrist joint more than described\n\n{_wrist(result['wrist'])}\n", flush=True)
    figures = {f"figure4-{name}.svg": figure4(fitted, cross[0], theta, name)}
    order = sorted(masses, key=lambda m: [b.name for b in robot.bodies].index(m))
    figures[f"figure5-{name}.svg"] = bars(
        order, [float(robot.body(m).parameters[0]) for m in order], [masses[m] for m in order], expected,
        f"{name}, masses of segments: steelyard reproduce jovic",
    )  # fmt: skip
    return result, figures


def add_masses(robot: Robot, where: Sequence[str]) -> dict[str, Array]:
    """The true robot: each added mass lies in the middle of its body's box."""
    truth = perturb_masses(robot, np.random.default_rng(7), share=0.05, extra=0.0)
    for name, mass in zip(where, ADDED, strict=True):
        truth[name] = truth[name] + _block(robot.body(name), mass)
    return truth


def _block(body: Body, mass: float) -> Array:
    lower, upper = body.box
    middle, half = (lower + upper) / 2, (upper - lower) / 6
    return geometry.box_inertia(mass, (middle - half, middle + half))


def compute_conditions(robot: Robot, motions: Sequence[Log]) -> tuple[list[int], dict[str, float]]:
    """The motions that are best for some segment, and the condition numbers of all of them together, in SI units.

    Of a body whose ten columns are dependent in any motion it is that of their identifiable subspace.
    """
    setup = study.base_setup(robot)
    at = {b: setup.columns.body(b) for b in setup.columns.bodies}
    structure = Setup(robot, "base", setup.columns).structure(np.ones(setup.columns.n)).R
    rank = {b: int(np.linalg.matrix_rank(structure[:, k])) for b, k in at.items()}

    def conditions(R: Array) -> dict[str, float]:
        values = {b: np.linalg.svd(R[:, k], compute_uv=False) for b, k in at.items()}
        return {b: float(s[0] / max(s[rank[b] - 1], 1e-300)) for b, s in values.items()}

    roots = [study.Yardstick.of(robot, [motion], setup).R for motion in motions]
    each = [conditions(R) for R in roots]
    chosen = sorted({k for b in at for k in np.argsort([e[b] for e in each])[:BEST].tolist()})
    return chosen, conditions(np.linalg.qr(np.vstack([roots[k] for k in chosen]), mode="r"))


def score_prediction(fitted: study.FittedLogs, log: Log, theta: Array) -> dict[str, dict[str, dict[str, float | None]]]:
    """identified, described → rmse, correlation → row, against the measurement, not filtered."""
    (rows,) = study.rows_of(fitted, [log])
    scores = {model: predict(rows, x, log).score("validation")[0] for model, x in
              (("identified", theta), ("described", fitted.setup.robot.prior))}  # fmt: skip
    return {model: {"rmse": dict(s.rmse), "correlation": dict(s.correlation)} for model, s in scores.items()}


def estimate_known_mass(library: Library, motions: Motions, truth: Mapping[str, Array], hand: str) -> dict[str, float]:
    """Estimate a known payload, present in some motions, from the same rows."""
    load = Load("", _block(library.robot.body(hand), KNOWN))
    heavier = {**truth, hand: truth[hand] + load.parameters}
    count = min(LOADED, len(motions.learned) // 2)
    logs = library.logs(motions.learned[:-count], truth, "modified", seed=3)
    logs += [replace(log, loaded=True) for log in library.logs(motions.learned[-count:], heavier, "loaded", seed=4)]
    fitted = study.fit_logs(library.robot, logs, Options(equations="base"), load=hand)
    at = fitted.setup.columns.body(LOAD)
    unit = np.eye(fitted.setup.columns.n)[at.start]
    mass, com, _ = inertia.unpack(fitted.fit.theta[at])
    _, true, _ = inertia.unpack(load.parameters)
    return {
        "mass": float(mass),
        "std": fitted.fit.uncertainty.std(unit),
        "mm": 1e3 * float(np.linalg.norm(com - true)),
    }


def fit_without_joint(
    fitted: study.FittedLogs, library: Library, motions: Motions, truth: Mapping[str, Array], joint: str
) -> dict[str, dict[str, float]]:
    """The same logs with a description that lacks a joint of the wrist: root mean squares of a held-out motion."""
    logs = library.logs(motions.learned, truth, "modified")
    held = library.logs(motions.held, truth, "modified", seed=9)
    less = study.fit_logs(library.robot, [_without(log, joint) for log in logs])
    result = {}
    for model, each, cut in (("as it is", fitted, False), ("one joint less", less, True)):
        theta, _ = study.estimate_by("pseudo-inertia", each)
        (rows,) = study.rows_of(each, [_without(held[0], joint) if cut else held[0]])
        p = predict(rows, theta, held[0])
        result[model] = dict(
            zip(BASE_ROWS, np.sqrt(np.mean((p.smoothed[0] - p.smoothed[1]) ** 2, axis=0)), strict=True)
        )
        result[model] = {k: float(v) for k, v in result[model].items()}
    return result


def _without(log: Log, joint: str) -> Log:
    return replace(log, columns={c: x for c, x in log.columns.items() if c not in (f"q.{joint}", f"tau.{joint}")})


def figure4(fitted: study.FittedLogs, log: Log, theta: Array, name: str) -> str:
    """Ground reaction forces and moments of a held-out motion."""
    (rows,) = study.rows_of(fitted, [log])
    identified, described = (predict(rows, x, log) for x in (theta, fitted.setup.robot.prior))
    step = max(1, len(identified.grid) // 300)
    time = identified.grid[::step].tolist()
    panels = []
    for k, row in enumerate(("Fx, N", "Fy, N", "Fz, N", "Nx, N·m", "Ny, N·m", "Nz, N·m")):
        lines = [
            Line(label, time, values[::step, k].tolist())
            for label, values in (
                ("described", described.smoothed[0]), ("measured", identified.smoothed[1]),
                ("identified", identified.smoothed[0]),
            )
        ]  # fmt: skip
        panels.append(Panel(row, lines, x_scale="linear", y_scale="linear"))
    return chart(panels, "s", f"{name}, a held-out walk: steelyard reproduce jovic")


def _scores(scores: Mapping[str, Any]) -> str:
    lines = ["| | axis | | force: identified | described | moment: identified | described |", "|" + "---|" * 7]
    for trial, model in scores.items():
        for axis in "xyz":
            for key, form in (("rmse", ".1f"), ("correlation", ".3f")):
                shown = [model[w][key][f"base.{kind}{axis}"] for kind in "fm" for w in ("identified", "described")]
                cells = " | ".join("–" if x is None else f"{x:{form}}" for x in shown)
                lines.append(f"| {trial} | {axis} | {'RMSE' if key == 'rmse' else 'CC'} | {cells} |")
    return "\n".join(lines)


def _inertias(robot: Robot, links: Sequence[str], theta: Array) -> str:
    order = [b.name for b in robot.bodies]
    rows: dict[str, list[float]] = {}
    for link in links:
        k = order.index(robot.body(link).name)
        _, com, I = inertia.unpack(theta[10 * k : 10 * k + 10])
        for a, x in zip("xyz", com, strict=True):
            rows.setdefault(f"c_{a}, m", []).append(float(x))
        for a, b in ("xx", "yy", "zz", "xy", "xz", "yz"):
            rows.setdefault(f"I_{a}{b}, kg·m²", []).append(float(I["xyz".index(a), "xyz".index(b)]))
    return _columns("", links, rows, ".4f")


def _columns(corner: str, names: Sequence[str], rows: Mapping[str, Sequence[float]], form: str) -> str:
    lines = [f"| {corner} | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]
    return "\n".join(lines + [f"| {k} | " + " | ".join(f"{x:{form}}" for x in v) + " |" for k, v in rows.items()])


def _wrist(result: Mapping[str, Mapping[str, float]]) -> str:
    lines = ["| | " + " | ".join(BASE_ROWS) + " |", "|" + "---|" * 7]
    return "\n".join(
        lines
        + [f"| {model} | " + " | ".join(f"{rms[r]:.2f}" for r in BASE_ROWS) + " |" for model, rms in result.items()]
    )


if __name__ == "__main__":
    main()
