"""Hundreds of exciting motions: how many are feasible, how many fall, and how accurate each selection is.

``python -m papers.humanoids.motions [ROBOT …] [--candidates 300] [--keep FOLDER] [--json]``

Candidates are drawn, made feasible, and tracked in MuJoCo by a true robot that the planner does not know (+5 kg on
its torso, every mass off by up to 30 %). From those that did not fall several selections are made and improved; the
figure of each is the error of the estimate from its logs, on noise-free motions that were never simulated.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import qr

from papers.humanoids.source import NOISE, Library, load
from papers.humanoids.study import Yardstick, as_vector, errors, fit_logs
from papers.humanoids.truths import truth_of
from steelyard.experiment.excite.build_motion import WholeBodyMotion
from steelyard.experiment.excite.candidate_cache import NAME, CandidateCache
from steelyard.experiment.excite.candidate_pool import CandidatePool, ScreenedCandidate, draw_kinds
from steelyard.experiment.excite.excite_humanoid import as_log, improve_motions
from steelyard.experiment.excite.informativeness import (
    Informativeness,
    MotionInformation,
    select_by_link,
    select_d_optimal,
)
from steelyard.experiment.simulate.sensors import measure
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log
from steelyard.spatial import Array

HELD = 12  # held-out motions, of other seeds
FEW, MANY = 12, 38
DRAWS = 3  # of random choices


def screened(
    pool: CandidatePool, count: int, kept: CandidateCache[ScreenedCandidate]
) -> tuple[list[ScreenedCandidate], float]:
    """All candidates, and the seconds of CPU that one took (0 where they were kept)."""
    wanted = [(kind, k, ()) for k, kind in enumerate(draw_kinds(count, 0))]
    pool.attempt("double", count)  # kernels are compiled, or read from their cache, before anything is timed
    before, start = len(kept.entries), time.process_time()
    tried = pool.screen(wanted, kept, lambda n: _progress(f"candidates {n} of {count}"))
    return tried, (time.process_time() - start) / max(len(kept.entries) - before, 1)


def study(name: str, folder: Path, count: int = 300) -> dict[str, Any] | None:
    """All figures of one robot; None if it is not installed."""
    robot = load(name)
    if robot is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    pool, library = CandidatePool.of(robot), Library(robot, folder)
    informativeness, truth = Informativeness(pool.stance), truth_of(library, 0)
    kept = CandidateCache(folder / NAME, {"robot": robot.description.sha256}, ScreenedCandidate, every=20)
    tried, cpu = screened(pool, count, kept)
    alive = [k for k, t in enumerate(tried) if t.scale is not None]
    informations, triangles, logs, upright, motions = [], [], list[Log](), list[int](), list[WholeBodyMotion]()
    for n, k in enumerate(alive):
        path = folder / f"candidate-{k:03d}.parquet"
        built = pool.rebuild(tried[k])
        if not path.is_file():
            write_log(path, as_log(built, k))
        log = library.played(read_log(path), truth, "truth-0")
        _progress(f"{name}: played {n + 1} of {len(alive)}")
        if log is not None:
            triangles.append(informativeness.triangle(built.trajectory))
            informations.append(MotionInformation.of(informativeness, triangles[-1]))
            logs.append(measure(log, NOISE, k))
            upright.append(k)
            motions.append(built)
    fell = len(alive) - len(logs)
    others = [pool.attempt(kind, 10_000 + k)[1] for k, kind in enumerate(draw_kinds(2 * HELD, 1))]
    held = [as_log(b, k) for k, b in enumerate(others) if b is not None][:HELD]
    result: dict[str, Any] = {
        "candidates": count,
        "as_drawn": sum(t.raw for t in tried) / count,
        "survivors": len(alive) / count,
        "amplitude": float(np.median([tried[k].amplitude for k in alive])),
        "fell": fell / len(alive),
        "cpu": cpu,
        "kinds": {
            kind: {"drawn": sum(t.kind == kind for t in tried), "possible": sum(tried[k].kind == kind for k in alive),
                   "upright": sum(tried[k].kind == kind for k in upright)}
            for kind in sorted({t.kind for t in tried})
        },
        "choices": {},
    }  # fmt: skip
    rng = np.random.default_rng(0)
    choices: dict[str, list[int]] = {
        "all": list(range(len(logs))),
        "three for each link": select_by_link(informations),
        f"D-optimal, {MANY}": select_d_optimal(informations, MANY),
        f"D-optimal, {FEW}": select_d_optimal(informations, FEW),
    }
    for size in (MANY, FEW):
        for draw in range(DRAWS):
            choices[f"random, {size} ({draw + 1})"] = rng.choice(
                len(logs), min(size, len(logs)), replace=False
            ).tolist()
    played = {choice: [(logs[k], triangles[k]) for k in some] for choice, some in choices.items()}
    for choice in (f"D-optimal, {MANY}", f"D-optimal, {FEW}"):
        _progress(f"{name}: improving {choice}")
        better, gains = improve_motions(
            pool, informativeness, [motions[k] for k in choices[choice]], len(choices[choice])
        )
        result["improved"] = {**result.get("improved", {}), choice: gains}
        tag, improved = "improved-" + choice.split()[-1], list[tuple[Log, Array]]()
        for k, built in enumerate(better):
            path = folder / f"{tag}-{k:03d}.parquet"
            write_log(path, as_log(built, k))
            log = library.played(read_log(path), truth, "truth-0")
            if log is not None:
                improved.append((measure(log, NOISE, 10_000 + k), informativeness.triangle(built.trajectory)))
        played[f"{choice}, improved"] = improved
    yardstick = None
    for choice, some in played.items():
        _progress(f"{name}: {choice}")
        fitted = fit_logs(robot, [log for log, _ in some])
        yardstick = yardstick or Yardstick.of(fitted.setup.robot, held, fitted.setup)
        off = errors(fitted.setup, yardstick, fitted.fit.theta, as_vector(fitted.setup, truth))
        result["choices"][choice] = {
            "motions": len(some),
            "seconds": float(sum(log.time[-1] - log.time[0] for log, _ in some)),
            "condition": condition([R for _, R in some], informativeness.identifiable.rank),
            **{key: off[key] for key in ("held", "base", "base_rest", "mass_kg", "com_mm", "inconsistent")},
        }
    return result


def condition(triangles: Sequence[Array], rank: int) -> float:
    """Of base-parameter columns of unit length, the most independent ones (Gautier: QR with pivots)."""
    R = np.linalg.qr(np.vstack(triangles), mode="r")
    R = R / np.maximum(np.linalg.norm(R, axis=0), 1e-12)
    pivots = qr(R, mode="r", pivoting=True)[1][:rank]
    return float(np.linalg.cond(R[:, pivots]))


def table(results: dict[str, dict[str, Any]]) -> str:
    """Two tables: feasible candidates, and the error of each selection."""
    lines = ["| robot | as drawn | possible | amplitude kept | fell | CPU a candidate |", "|---|---|---|---|---|---|"]
    for name, r in results.items():
        lines.append(
            f"| {name} | {100 * r['as_drawn']:.0f} % | {100 * r['survivors']:.1f} % | {100 * r['amplitude']:.0f} % | "
            f"{100 * r['fell']:.1f} % | {r['cpu']:.2f} s |"
        )
    heads = "robot", "choice", "motions", "seconds", "condition", "wrench error, of the description's", "base error"
    lines += ["", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for name, r in results.items():
        lines += [
            f"| {name} | {choice} | {c['motions']} | {c['seconds']:.0f} | {c['condition']:.0f} | "
            f"{100 * c['held']:.2g} % | {100 * c['base']:.2g} % |"
            for choice, c in r["choices"].items()
        ]
    return "\n".join(lines)


def _progress(text: str) -> None:
    print(f"\r{text:<60}", end="", file=sys.stderr, flush=True)


def main(args: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    parser = argparse.ArgumentParser(prog="python -m papers.humanoids.motions", description=__doc__)
    parser.add_argument("robots", nargs="*", default=["talos", "g1"])
    parser.add_argument("--candidates", type=int, default=300)
    parser.add_argument("--keep", type=Path, default=None, help="folder of motions and logs, to resume from")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        results = {name: study(name, folder / name, options.candidates) for name in options.robots}
    results = {name: r for name, r in results.items() if r is not None}
    print(json.dumps(results, indent=1) if options.json else table(results))
    return results


if __name__ == "__main__":
    main()
