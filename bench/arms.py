"""Two real arms, every method: held-out error, consistent bodies, distance of base parameters, time.

UR10e: one motion to learn from, another to predict. TX40: every third half second held out. The distance is from
something that the estimate never saw: on the UR10e from the base parameters that plain least squares finds on the other
motion, ‖R(θ − θ′)‖/‖Rθ′‖ with R that motion's information, friction included; on the TX40 from those that are published
with a standard deviation below a tenth, the median of |ours/theirs − 1|.
"""

from __future__ import annotations

import csv
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import (
    Constrained,
    Filter,
    LeastSquares,
    Linear,
    Lmi,
    Mata,
    Nonlinear,
    Options,
    Points,
    Shapes,
    identify,
)
from steelyard.identify.estimate import Estimate, JointTerm
from steelyard.identify.method import Method
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.description import Description, read_description

DOCS = Path(__file__).parents[1] / "docs"
UR10E = ("ur-20_02_10-30sec_12harm.csv.gz", "ur-20_02_12-40sec_12harm.csv.gz")
WAYS: dict[str, Method] = {
    "lmi": Lmi(),
    "lmi, entropic": Lmi(regularisation="entropic"),
    "lmi, pullback": Lmi(regularisation="pullback"),
    "lmi, ellipsoid": Lmi(inside="ellipsoid"),
    "nonlinear": Nonlinear(),
    "constrained": Constrained(),
    "points": Points(),
    "points, auto": Points(per_edge="auto"),
    "shapes": Shapes(),
    "mata": Mata(),
    "linear": Linear(),
    "least-squares": LeastSquares(),
}
BODY = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
TERMS = {"Ia": "armature", "fv": "viscous", "fs": "coulomb", "off": "offset"}


def arms(data: Path) -> dict[str, Any]:
    """Errors and times of each method on each arm; ``data`` holds the folders ``ur10e`` and ``tx40``."""
    return {"ur10e": _ur10e(data / "ur10e"), "tx40": _tx40(data / "tx40")}


def table(results: Mapping[str, Any]) -> str:
    """Lines of Markdown."""
    lines = []
    for arm, ways in results.items():
        lines += [f"{arm}", "", "| method | held out, filtered | held out, torque as measured | physical bodies | "
                  "base-parameter distance | time |", "|---" * 6 + "|"]  # fmt: skip
        for way, e in ways.items():
            lines.append(
                f"| `{way.split(',')[0]}`{way[len(way.split(',')[0]) :]} | {100 * e['relative_filtered']:.2f} % | "
                f"{100 * e['relative']:.2f} % | {e['consistent']} of {e['bodies']} | {100 * e['distance']:.1f} % | "
                f"{e['seconds']:.2f} s |"
            )
        lines.append("")
    return "\n".join(lines)


def _ur10e(folder: Path) -> dict[str, Any]:
    train, test = (_read(folder / file, "mapping.md") for file in UR10E)
    description, options = read_description(folder / "ur10e.urdf"), Options(friction="all")
    other = identify(description, [test], replace(options, method="least-squares"))
    R = other.information.R

    def distance(estimate: Estimate, theta: np.ndarray) -> float:
        return float(np.linalg.norm(R @ (theta - other.theta)) / np.linalg.norm(R @ other.theta))

    return _each(description, train, [test], options, distance)


def _tx40(folder: Path) -> dict[str, Any]:
    log = _read(folder / "pos_read_data.csv.gz", "how-to-tx40.md")
    published = list(csv.reader((folder / "TX40_bp_5.csv").read_text(encoding="utf-8").splitlines()))
    options = Options(friction="all", repair_prior=True, hold_out=0.5, filter=Filter(cutoff=20.0, kinematics=100.0))

    def distance(estimate: Estimate, theta: np.ndarray) -> float:
        off = []
        for expression, value, percent, *_ in published:
            parts = re.findall(r"([+-]?) ?(?:([\d.]+)\*)?([A-Za-z]+)(\d)", expression)
            ours = sum(float(f"{sign}{times or 1}") * _tx40_value(estimate, kind, k) for sign, times, kind, k in parts)
            if float(percent) < 10.0:
                off.append(abs(ours / float(value) - 1))
        return float(np.median(off))

    description = read_description(folder / "tx40_mdh_modified.urdf")
    return _each(description, log, [], options, distance)


def _tx40_value(estimate: Estimate, kind: str, k: str) -> float:
    """A parameter as the published table means it: motor 6's inertia and viscous friction are in joints 5 and 6."""
    motor = estimate.motors["joint_6"]
    if kind in BODY:
        return float(estimate.body(f"link_{k}").parameters[BODY.index(kind)])
    if kind in ("Iam", "fvm", "fsm"):
        return _term(motor, kind[:-1])
    share = _term(motor, kind) if kind in ("Ia", "fv") and k in "56" else 0.0
    return _term(estimate.joints[f"joint_{k}"], kind) + share


def _term(terms: Mapping[str, JointTerm | None], kind: str) -> float:
    term = terms[TERMS[kind]]
    return term.value if term else 0.0


def _each(
    description: Description, train: Log, test: list[Log], options: Options,
    distance: Callable[[Estimate, np.ndarray], float],
) -> dict[str, Any]:  # fmt: skip
    results = {}
    for way, method in WAYS.items():
        start = time.perf_counter()
        result = identify(description, [train], replace(options, method=method), validate=test)
        seconds = time.perf_counter() - start
        (score,) = result.estimate.validation.values()
        results[way] = {
            "relative_filtered": score.relative_filtered,
            "relative": score.relative,
            "consistent": sum(b.consistent for b in result.estimate.bodies),
            "bodies": len(result.estimate.bodies),
            "distance": distance(result.estimate, result.theta),
            "seconds": seconds,
            "notices": [str(n) for n in result.estimate.notices if n.code != "mesh-missing"],
        }
    return results


def _read(path: Path, guide: str) -> Log:
    """A log through the mapping that a guide has."""
    text = re.findall(r"```toml\n(.*?)```", (DOCS / guide).read_text(encoding="utf-8"), re.DOTALL)[0]
    with tempfile.TemporaryDirectory() as folder:
        mapping = Path(folder) / "mapping.toml"
        mapping.write_text(text, encoding="utf-8")
        return read_log(path, mapping)
