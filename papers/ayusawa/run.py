"""Ayusawa and Nakamura on simulated humanoids: Tables I to V and Figure 3, and all methods over several true robots.

    steelyard reproduce ayusawa [--quick] [--logs DIR] [-o DIR]

The paper's robot is not public; ours are TALOS and G1 (HRP-4 and JVRC-1 where their descriptions are present), with
5 kg on the torso and all masses off by up to 30 %, in MuJoCo on their own soles, with noise ``--noise humanoid``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.figure import Line, Panel, chart
from papers.humanoids import command, study, truths
from papers.humanoids.source import Library
from papers.humanoids.truths import Motions
from steelyard import inertia
from steelyard.equations.rows import BASE_ROWS
from steelyard.identify.scoring import predict
from steelyard.robot.model import Body, Robot
from steelyard.spatial import Array

CASES = {"A": "A, mass points", "B": "B, least squares", "C": study.DESCRIPTION, "D": "D, mass points, no prior"}
LINKS = {  # as in the paper: upper trunk, lower trunk, right thigh, right foot, left upper arm, left hand
    "talos": ("torso_2_link", "base_link", "leg_right_3_link", "leg_right_6_link", "arm_left_3_link",
              "arm_left_7_link"),
    "g1": ("torso_link", "pelvis", "right_hip_yaw_link", "right_ankle_roll_link", "left_shoulder_yaw_link",
           "left_wrist_yaw_link"),
    "hrp4": ("torso", "base_link", "R_HIP_P_LINK", "R_ANKLE_R_LINK", "L_SHOULDER_Y_LINK", "l_wrist"),
    "jvrc1": ("WAIST_R_S", "base_link", "R_HIP_Y_S", "R_ANKLE_P_S", "L_SHOULDER_Y_S", "L_WRIST_Y_S"),
}  # fmt: skip
SIX = ("xx", "yy", "zz", "yz", "zx", "xy")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command.parser("ayusawa", __doc__.splitlines()[0])
    parser.add_argument("--truths", type=int, default=5, help="true robots")
    options = parser.parse_args(arguments)
    results, figures = {}, {}
    for name, library, motions in command.cases(
        "Ayusawa and Nakamura", options, 2 if options.quick else command.JUDGED
    ):
        count = 1 if options.quick else options.truths
        results[name], figures[f"figure3-{name}.svg"] = reproduce(name, library, motions, count)
    print("## 95 % intervals of base parameters called identified\n")
    print(truths.coverage_table({name: r["study"] for name, r in results.items()}) + "\n")
    command.write(options.out, results, figures)


def reproduce(name: str, library: Library, motions: Motions, count: int) -> tuple[dict[str, Any], str]:
    """All of one robot: printed as it comes, and returned."""
    fitted, truth = truths.fit_truth(library, motions, 0)
    robot, links = fitted.setup.robot, LINKS[name]
    thetas = {case: study.estimate_by(way, fitted)[0] for case, way in CASES.items()}
    print(f"## {name}: Tables I to IV, one truth\n", flush=True)
    for case, theta in (*thetas.items(), ("the truth", truth)):
        print(f"{case} ({', '.join(links)})\n\n{standard(robot, links, theta)}\n", flush=True)
    bad = {case: study.count_inconsistent(fitted.setup, theta) for case, theta in thetas.items()}
    for case, each in bad.items():
        print(f"{case}: {each['not_definite']} of {len(robot.bodies)} inertia matrices are not positive definite, "
              f"{each['inconsistent']} bodies are inconsistent")  # fmt: skip
    rms = table5(fitted, {**thetas, "the truth": truth})
    print(f"\n## {name}: Table V, root mean squares of the base's equations\n\n{_rms_table(rms)}\n", flush=True)
    shown, cross = figure3(library, motions, fitted, thetas, name)
    print(f"## {name}: Figure 3, a held-out walk\n\n{_rms_table(cross)}\n", flush=True)
    print(f"## {name}: all methods, median of {count} truth{'s' if count > 1 else ''} (worst)\n", flush=True)
    everything = (
        truths.study(library, motions, count) if count > 1 else truths.study(library, motions, 1, 1, study.QUICK)
    )
    print(truths.table(everything) + "\n", flush=True)
    return {"inconsistent_bodies": bad, "table5": rms, "figure3": cross, "study": everything}, shown


def standard(robot: Robot, links: Sequence[str], theta: Array) -> str:
    """Parameters of typical links as the paper's tables have them."""
    total = float(theta[::10].sum())
    columns = [_relative(robot.body(link), theta[10 * k : 10 * k + 10], total) for link, k in _places(robot, links)]
    names = ("m/M", "s_x", "s_y", "s_z", *(f"I_c{i}/m" for i in SIX))
    lines = ["| | " + " | ".join(f"L{k + 1}" for k in range(len(links))) + " |", "|" + "---|" * (len(links) + 1)]
    for name, row in zip(names, np.transpose(columns), strict=True):
        lines.append(f"| {name} | " + " | ".join(f"{x:.3f}" for x in row) + " |")
    return "\n".join(lines)


def _places(robot: Robot, links: Sequence[str]) -> list[tuple[str, int]]:
    order = [b.name for b in robot.bodies]
    return [(link, order.index(robot.body(link).name)) for link in links]


def _relative(body: Body, p: Array, total: float) -> Array:
    """Mass of the whole; centre of mass from the box's centre in half edges; inertia about it over the mass."""
    mass, com, I = inertia.unpack(p)
    lower, upper = body.box
    s = (com - (lower + upper) / 2) / np.maximum((upper - lower) / 2, 1e-6)
    six = [I["xyz".index(a), "xyz".index(b)] / mass for a, b in SIX]
    return np.array([mass / total, *s, *six])


def table5(fitted: study.FittedLogs, thetas: Mapping[str, Array]) -> dict[str, dict[str, float]]:
    """Case → row → root mean square of the residuals of the fit, N and N·m."""
    blocks = fitted.blocks
    squares = {case: np.concatenate([b.target - b.Y @ theta for b in blocks]) ** 2 for case, theta in thetas.items()}
    return {case: dict(zip(BASE_ROWS, np.sqrt(e.mean(axis=0)).tolist(), strict=True)) for case, e in squares.items()}


def _rms_table(rms: Mapping[str, Mapping[str, float]]) -> str:
    names = ("Fx", "Fy", "Fz", "Nx", "Ny", "Nz")
    lines = ["| | " + " | ".join(names) + " |", "|" + "---|" * 7]
    return "\n".join(
        lines + [f"| {case} | " + " | ".join(f"{row[r]:.2f}" for r in BASE_ROWS) + " |" for case, row in rms.items()]
    )


def figure3(
    library: Library, motions: Motions, fitted: study.FittedLogs, thetas: Mapping[str, Array], name: str
) -> tuple[str, dict[str, dict[str, float]]]:
    """The walk, measured and as the proposed method and least squares predict it; errors of all cases."""
    walk = motions.held[0]
    (log,) = library.logs([walk], truths.truth_of(library, 0), "truth-0", seed=77)
    (rows,) = study.rows_of(fitted, [log])
    seen = {case: predict(rows, theta, log) for case, theta in thetas.items()}
    errors = {
        case: dict(zip(BASE_ROWS, np.sqrt(np.mean((p.smoothed[0] - p.smoothed[1]) ** 2, axis=0)).tolist(), strict=True))
        for case, p in seen.items()
    }
    step = max(1, len(seen["A"].grid) // 300)
    time, measured = seen["A"].grid[::step].tolist(), seen["A"].smoothed[1][::step]
    panels = []
    for k, row in enumerate(("Fx, N", "Fy, N", "Fz, N", "Nx, N·m", "Ny, N·m", "Nz, N·m")):
        lines = [Line("measured", time, measured[:, k].tolist())]
        lines += [
            Line(label, time, seen[case].smoothed[0][::step, k].tolist())
            for case, label in (("B", "least squares"), ("A", "mass points"))
        ]
        panels.append(Panel(row, lines, x_scale="linear", y_scale="linear"))
    return chart(panels, "s", f"{name}, a held-out walk: steelyard reproduce ayusawa"), errors


if __name__ == "__main__":
    main()
