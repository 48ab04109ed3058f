"""How often does each method return a robot that can exist?

Every method that ``Options.method`` knows, on the same noisy problems; a result counts if every free body passes the
design's test of consistency. The prior is the default one, the description, off by about 30 % in mass and in every
length; noise is drawn from 0.3 to 30 % of each row's rms.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from typing import Any, get_args, get_type_hints

import numpy as np

from bench.problems import CASES, LEVELS, options, setting
from steelyard import inertia
from steelyard.errors import SteelyardError
from steelyard.plan import Options
from steelyard.solve.methods import solve


def methods() -> tuple[str, ...]:
    return get_args(get_type_hints(Options)["method"])


def consistency(problems: int, cases: Sequence[str] = tuple(CASES), only: Sequence[str] = ()) -> dict[str, Any]:
    """Share of results, and of bodies, that are consistent, by case and method."""
    found: dict[str, Any] = {"versions": {p: version(p) for p in ("numpy", "scipy", "clarabel", "pin")}}
    found |= {"date": str(date.today()), "machine": platform.machine(), "problems": problems, "cases": {}}
    for case in cases:
        found["cases"][case] = {method: _count(case, method, problems) for method in only or methods()}
    return found


def _count(case: str, method: str, problems: int) -> dict[str, float]:
    posed = setting(*CASES[case])
    chosen, columns = options(method, posed.links), posed.plan.columns
    free = posed.links or columns.bodies
    physical, whole, failed, seconds = 0, 0, 0, []
    for k in range(problems):
        rng = np.random.default_rng([k, 7])
        _, info = posed.draw(rng, LEVELS[k % len(LEVELS)])
        start = time.perf_counter()
        try:
            theta = solve(posed.plan, info, posed.prior, chosen).theta
        except SteelyardError:
            failed += 1
            continue
        seconds.append(time.perf_counter() - start)
        good = [inertia.is_consistent(theta[columns.body(b)], posed.plan.robot.body(b).size) for b in free]
        physical, whole = physical + sum(good), whole + all(good)
    solved = max(problems - failed, 1)
    return {
        "consistent": whole / problems,
        "bodies": physical / (solved * len(free)),
        "failed": failed,
        "milliseconds": 1e3 * float(np.median(seconds)) if seconds else 0.0,
    }


def table(found: dict[str, Any]) -> str:
    """Lines of Markdown: consistent results in percent, and failures."""
    names = list(next(iter(found["cases"].values())))
    lines = ["| case | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for case, entry in found["cases"].items():
        cells = [
            f"{100 * e['consistent']:.1f}" + (f" ({e['failed']} failed)" if e["failed"] else "") for e in entry.values()
        ]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
