"""An unknown load on a trotting robot (case 2 of the paper, Figs 6 and 7): places × noise seeds.

    python -m papers.xu.loads [--robot a1] [--seeds 6] [--quick] [--json FILE]

*as described*: the robot is, as in the paper's simulation. *identified before*: it is not, and was identified without
load by the same sensors, whose uncertainty is propagated. *gain*: all torques read 2 % too high. *unknown*: torques
are taken as currents of drives of unknown gain; the legs, held as described, determine their scale. Trots of 10 s,
at most nine divisions. Errors of the place in mm, of the mass in g.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.figure import Line, Panel, chart
from papers.xu.divide import draw_divisions
from papers.xu.trots import Block, Trot, summary, trot
from steelyard import Options, UnknownLoad, identify, inertia
from steelyard.experiment.simulate.sensors import Sensors, level
from steelyard.experiment.simulate.simulation_options import Perturb
from steelyard.identify.identification import Identification
from steelyard.identify.weighing import weigh_load
from steelyard.log.log import Log
from steelyard.output.results import write_results
from steelyard.robot.model import LOAD

DIVISIONS, SECONDS = 9, 10.0
PLACES = tuple((x, y) for x in (-0.12, 0.01, 0.14) for y in (-0.06, 0.05))
MID = level("mid")
STRONG = MID.but({"tau_gain": 0.02})
IDENTIFIED = (
    ("identified before, 1 kg", MID, False),
    ("identified before, 1 kg, gain 2 %", STRONG, False),
    ("identified before, 1 kg, gain 2 %, unknown", STRONG, True),
)


def cube(place: tuple[float, float]) -> Block:
    """The paper's load in simulation."""
    return Block(1.0, (0.04, 0.04, 0.04), place)


def block(place: tuple[float, float]) -> Block:
    """Its load on the real robot."""
    return Block(1.95, (0.08, 0.08, 0.04), place)


def trot_with_load(name: str, what: Block, perturb: Perturb) -> Trot:
    """A trot with a load on the trunk."""
    return trot(name, seconds=SECONDS, seed=2, carrying=what, perturb=perturb)


def estimate_load(
    of: Trot, noise: Sensors, seed: int, earlier: Path | None = None, divisions: int = DIVISIONS, unknown: bool = False
) -> Identification:
    """Estimate the load of one log."""
    load = UnknownLoad(of.link, area=of.area, divisions=divisions)
    log = of.measure(noise, seed)
    log = as_currents(log) if unknown else log
    return weigh_load(str(of.robot.description.path), [log], load, Options(feet=of.feet), earlier=earlier)


def as_currents(log: Log) -> Log:
    """The same log, its torques as motor currents of unknown gain."""
    columns = {name.replace("tau.", "current.", 1): x for name, x in log.columns.items()}
    return replace(log, columns=columns)


def load_errors(result: Identification, of: Trot) -> dict[str, float]:
    """mm and g from the truth, ‖Φ̂ − Φ‖, and half the 95 % interval of the mass."""
    (load,) = result.estimate.loads
    (true,) = of.log.metadata["truth"]["loads"]
    mass, com, _ = inertia.unpack(load.parameters)
    return {
        "mm": 1e3 * float(np.linalg.norm(com - true["com"])), "g": 1e3 * abs(mass - true["mass"]),
        "e_p": float(np.linalg.norm(load.parameters - true["parameters"])),
        "divisions": len(result.estimate.divisions) - 1, "g_95": 1.96e3 * float(load.std[0]),
    }  # fmt: skip


def study(name: str = "a1", seeds: int = 6, places: Sequence[tuple[float, float]] = PLACES) -> dict[str, Any]:
    """Every case: how many logs, median and worst of every figure."""
    cases: dict[str, list[dict[str, float]]] = {}

    def as_described(case: str, what: Block, noise: Sensors, which: Sequence[int]) -> None:
        of = trot_with_load(name, what, "none")
        cases.setdefault(case, []).extend(load_errors(estimate_load(of, noise, seed), of) for seed in which)

    for k, place in enumerate(places):
        as_described("as described, 1 kg", cube(place), MID, range(10 * k, 10 * k + seeds))
        as_described("as described, 1 kg, gain 2 %", cube(place), STRONG, range(10 * k, 10 * k + 1))
    as_described("as described, 1.95 kg", block(places[-1]), MID, range(100, 100 + seeds))
    with TemporaryDirectory() as folder:
        for case, noise, unknown in IDENTIFIED:
            for k, place in enumerate(places):
                before = Path(folder) / f"{case} {k}"
                _identify_unloaded(trot(name, seconds=SECONDS), noise, 200 + k, before, unknown)
                of = trot_with_load(name, cube(place), "base")
                cases.setdefault(case, []).append(
                    load_errors(estimate_load(of, noise, 10 * k, before, unknown=unknown), of)
                )
    return {case: {"count": len(rows), **summary(rows)} for case, rows in cases.items()}


def _identify_unloaded(of: Trot, noise: Sensors, seed: int, folder: Path, unknown: bool) -> None:
    """Identify the base without load, and write the result."""
    options, log = Options(feet=of.feet, links=(of.base,)), of.measure(noise, seed)
    write_results(identify(of.robot.description, [as_currents(log) if unknown else log], options), folder)


def figures(name: str = "a1", seed: int = 1, most: int = 12) -> dict[str, str]:
    """Fig. 6, the area after some divisions, and Fig. 7: objective, time and error against the number of divisions."""
    of = trot_with_load(name, cube(PLACES[0]), "none")
    (true,) = of.log.metadata["truth"]["loads"]
    runs = [estimate_load(of, MID, seed, divisions=k) for k in range(most + 1)]
    runs = [run for k, run in enumerate(runs) if len(run.estimate.divisions) == k + 1]  # until nothing more is divided
    count = list(range(len(runs)))
    steps = [step for step in runs[-1].estimate.divisions if step.k in (0, 1, 2, 3, 4, 5, 7, count[-1])]
    curves = {
        "objective": [run.estimate.divisions[-1].objective for run in runs],
        "ms": [1e3 * run.estimate.certificate.seconds for run in runs],
        "e_p": [load_errors(run, of)["e_p"] for run in runs],
    }
    panels = [Panel(title, [Line("", count, values)], "divisions", "linear") for title, values in curves.items()]
    caption = f"{name}, a cube of 1 kg and 4 cm, mid noise, 10 s: after k divisions"
    return {
        "figure6.svg": draw_divisions(steps, LOAD, np.array(true["com"]), 0.02),
        "figure7.svg": chart(panels, "divisions", caption),
    }


def table(result: dict[str, Any]) -> str:
    """As Markdown: medians, the worst behind them."""
    lines = ["| robot and load | logs | place, mm | mass, g | 95 % of mass, ± g |", "|---|---|---|---|---|"]
    for case, x in result.items():
        cells = [f"{x[k]['median']:.1f} ({x[k]['worst']:.1f})" for k in ("mm", "g", "g_95")]
        lines.append(f"| {case} | {x['count']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="a1")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--quick", action="store_true", help="two places, one seed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = study(options.robot, 1, PLACES[:2]) if options.quick else study(options.robot, options.seeds)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(table(result))


if __name__ == "__main__":
    main()
