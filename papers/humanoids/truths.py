"""Every method over several true robots: errors in one table, and coverage of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.humanoids.source import HELD, Library, kind
from papers.humanoids.study import (
    DESCRIPTION,
    WAYS,
    FittedLogs,
    Yardstick,
    as_vector,
    check_intervals,
    check_ranges,
    compare,
    fit_logs,
)
from steelyard.experiment.simulate.truth import perturb_masses
from steelyard.log.log import Log
from steelyard.spatial import Array

FIGURES = ("held", "held_rest", "base", "base_rest", "mass_kg", "com_mm", "inconsistent", "not_definite", "repaired")


@dataclass(frozen=True)
class Motions:
    """Motions of the fit, of validation, and of the errors only."""

    learned: list[Log]
    held: list[Log]
    judged: list[Log]  # never played: exact motions

    @classmethod
    def of(cls, library: Library, count: int, more: int) -> Motions:
        """``count`` that are played, and ``more`` that are not."""
        every = library.motions(count, more)
        played, judged = every[:count], every[count:]
        held = [next(m for m in reversed(played) if kind(m) == wanted) for wanted in HELD]
        return cls([m for m in played if all(m is not h for h in held)], held, judged + held)


def truth_of(library: Library, seed: int) -> dict[str, Array]:
    """+5 kg on the torso, every mass off by up to 30 %."""
    return perturb_masses(library.robot, np.random.default_rng(seed))


def fit_truth(library: Library, motions: Motions, seed: int, noise: int = 0) -> tuple[FittedLogs, Array]:
    """The fitted logs of one truth, and the truth."""
    truth = truth_of(library, seed)
    fitted = fit_logs(library.robot, library.logs(motions.learned, truth, f"truth-{seed}", 100 * seed + noise))
    return fitted, as_vector(fitted.setup, truth)


def study(
    library: Library, motions: Motions, truths: int = 5, seeds: int = 4, ways: Sequence[str] = tuple(WAYS)
) -> dict[str, Any]:
    """Errors of all ways over all truths, and coverage over all truths and draws of noise."""
    errors: dict[str, list[dict[str, float]]] = {way: [] for way in (DESCRIPTION, *ways)}
    held: dict[str, list[bool]] = {}
    for seed in range(truths):
        for noise in range(seeds):
            fitted, truth = fit_truth(library, motions, seed, noise)
            for name, hits in check_intervals(fitted, truth).items():
                held.setdefault(name, []).extend(hits)
            if noise == 0:
                held.setdefault("ranges", []).extend(check_ranges(fitted, truth))
                yardstick = Yardstick.of(fitted.setup.robot, motions.judged, fitted.setup)
                for way, each in compare(fitted, yardstick, truth, ways).items():
                    errors[way].append(each)
    return {
        "bodies": len(library.robot.bodies),
        "motions": len(motions.learned),
        "seconds": float(sum(m.time[-1] - m.time[0] for m in motions.learned)),
        "truths": truths,
        "seeds": seeds,
        "ways": {way: {key: [float(e[key]) for e in each] for key in FIGURES} for way, each in errors.items()},
        "covered": {name: {"share": float(np.mean(hits)), "count": len(hits)} for name, hits in held.items()},
    }


def table(result: dict[str, Any]) -> str:
    """All ways: medians over the truths, and the worst behind them."""
    heads = ("", "wrench error, of the description's", "without total mass", "base parameters", "without total mass",
             "total mass, kg", "centre of mass, mm", "inconsistent bodies")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for way, e in result["ways"].items():
        shown = [_pair(e[key], 100, "%") for key in ("held", "held_rest", "base", "base_rest")]
        shown += [_pair(e["mass_kg"], 1, ""), _pair(e["com_mm"], 1, "")]
        bad = f"{min(e['inconsistent']):.0f}–{max(e['inconsistent']):.0f}" if max(e["inconsistent"]) else "none"
        if max(e["repaired"]):
            bad += f" ({min(e['repaired']):.0f}–{max(e['repaired']):.0f} repaired)"
        lines.append(f"| {way} | {' | '.join(shown)} | {bad} |")
    return "\n".join(lines)


def coverage_table(results: dict[str, dict[str, Any]]) -> str:
    """Robot by robot: share of 95 % intervals that hold the truth."""
    heads = (
        "",
        "intervals",
        "by the data alone, least squares",
        "posterior, pseudo-inertia",
        "total mass",
        "ranges of masses",
    )
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for robot, result in results.items():
        c = result["covered"]
        shares = [f"{100 * c[k]['share']:.1f} %" for k in ("data", "posterior", "total", "ranges")]
        lines.append(f"| {robot} | {c['data']['count']} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _pair(values: Sequence[float], factor: float, unit: str) -> str:
    median, worst = factor * float(np.median(values)), factor * max(values)
    if worst - median < 5e-3 * worst:
        return f"{_short(median)} {unit}".rstrip()
    return f"{_short(median)} ({_short(worst)}) {unit}".rstrip()


def _short(x: float) -> str:
    return f"{x:.0f}" if x >= 99.5 else f"{x:.2g}"
