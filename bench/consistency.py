"""How often does each method return a physically consistent robot?

Every method there is, on the same noisy problems; a result counts if every free body passes the
design's test of consistency. The prior is the default one, the description, off by about 30 % in mass and in every
length; noise is drawn from 0.3 to 30 % of each row's rms. Shapes are divided a few times: consistency of the bodies
does not depend on how often, and dividing to the end takes as long as everything else together.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.problems import CASES, LEVELS, options, setting
from steelyard import inertia
from steelyard.errors import SteelyardError
from steelyard.fleet.workers import Workers
from steelyard.identify.method import method_names
from steelyard.identify.methods.shapes import Shapes
from steelyard.identify.solving import solve

DIVISIONS = 5  # of method shapes
CHUNK = 50  # problems that one process takes at a time


def consistency(
    problems: int, cases: Sequence[str] = tuple(CASES), only: Sequence[str] = (), jobs: int = 1
) -> dict[str, Any]:
    """Share of results, and of bodies, that are consistent, by case and method; in so many processes at once."""
    result: dict[str, Any] = {"versions": {p: version(p) for p in ("numpy", "scipy", "clarabel", "pin")}}
    result |= {"date": str(date.today()), "machine": platform.machine(), "problems": problems, "divisions": DIVISIONS}
    named = only or method_names()
    chunks = [range(k, min(k + CHUNK, problems)) for k in range(0, problems, CHUNK)]
    tasks = [(case, method, chunk) for case in cases for method in named for chunk in chunks]
    with Workers.local(jobs) as workers:
        counts = workers.map(_count, tasks)
    result["cases"] = {case: {} for case in cases}
    for case in cases:
        free = len(CASES[case][1]) or len(setting(*CASES[case]).setup.columns.bodies)
        for method in named:
            mine = [c for task, c in zip(tasks, counts, strict=True) if task[:2] == (case, method)]
            result["cases"][case][method] = _share(mine, problems, free)
    return result


@dataclass(frozen=True)
class Count:
    """Of some problems: how many results and bodies were consistent, how many had no result, and seconds each took."""

    whole: int
    bodies: int
    failed: int
    seconds: tuple[float, ...]


def _count(task: tuple[str, str, range]) -> Count:
    case, method, chunk = task
    posed = setting(*CASES[case])
    chosen, columns = options(method, posed.links), posed.setup.columns
    if method == "shapes":
        chosen = replace(chosen, method=Shapes(divisions=DIVISIONS))
    free = posed.links or columns.bodies
    whole, bodies, failed, seconds = 0, 0, 0, []
    for k in chunk:
        rng = np.random.default_rng([k, 7])
        _, info = posed.draw(rng, LEVELS[k % len(LEVELS)])
        start = time.perf_counter()
        try:
            theta = solve(posed.setup, info, posed.prior, chosen).theta
        except SteelyardError:
            failed += 1
            continue
        seconds.append(time.perf_counter() - start)
        good = [inertia.is_consistent(theta[columns.body(b)], posed.setup.robot.body(b).size) for b in free]
        whole, bodies = whole + all(good), bodies + sum(good)
    return Count(whole, bodies, failed, tuple(seconds))


def _share(counts: Sequence[Count], problems: int, free: int) -> dict[str, float]:
    failed = sum(c.failed for c in counts)
    seconds = [s for c in counts for s in c.seconds]
    return {
        "consistent": sum(c.whole for c in counts) / problems,
        "bodies": sum(c.bodies for c in counts) / (max(problems - failed, 1) * free),
        "failed": failed,
        "milliseconds": 1e3 * float(np.median(seconds)) if seconds else 0.0,
    }


def table(result: dict[str, Any]) -> str:
    """Lines of Markdown: consistent results in percent, and failures."""
    names = list(next(iter(result["cases"].values())))
    lines = ["| case | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for case, entry in result["cases"].items():
        cells = [
            f"{100 * e['consistent']:.1f}" + (f" ({e['failed']} failed)" if e["failed"] else "") for e in entry.values()
        ]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
