"""The study: which cases, run in processes of their own, each kept as one line of JSON so that a run can be resumed."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.trust.cases import UNHARMED, Case, run
from bench.trust.faults import FAULTS
from bench.trust.robots import MOTIONS, SUBJECTS, prepare
from bench.trust.table import gates, limits, summary, table

UNHARMED_LOGS = 27  # a robot: 216 in all
QUICK_ROBOTS = ("demo_arm", "panda")  # arms: nothing is simulated in MuJoCo
QUICK_FAULTS = ("forces-scaled", "encoder-zero", "column-misspelt", "base-tilted", "load-in-half")
QUICK_LOGS = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the study."""
    parser.add_argument("--half", choices=("tuning", "reporting", "both"), default="both", help="robots (trust)")
    parser.add_argument("--faults", default="", help="some of the faults, with commas; none: unharmed logs (trust)")
    parser.add_argument("--seed", type=int, default=0, help="of truths, motions and noise (trust)")
    parser.add_argument("--keep", type=Path, help="file of JSON lines to resume from and to add to (trust)")
    parser.add_argument("--work", type=Path, help="folder where simulations are kept (trust)")
    parser.add_argument("--limits", action="store_true", help="figures of each question, from --keep (trust)")


def cases(
    robots: Sequence[str],
    faults: Sequence[str],
    *,
    unharmed: int = UNHARMED_LOGS,
    seed: int = 0,
    sizes: int | None = None,
) -> list[Case]:
    """All cases of some robots; ``sizes``: so many of each fault at most."""
    chosen = []
    for name in robots:
        if not faults or UNHARMED in faults:
            chosen += [Case(name, number=k, seed=seed) for k in range(unharmed)]
        for fault in FAULTS.values():
            if SUBJECTS[name].kind in fault.kinds and (not faults or fault.name in faults):
                chosen += [Case(name, fault.name, float(size), seed=seed) for size in fault.sizes[:sizes]]
    return chosen


def trust(
    chosen: Sequence[Case], *, jobs: int = 2, keep: Path | None = None, work: Path | None = None
) -> list[dict[str, Any]]:
    """The records of all cases, in their order; those in ``keep`` are not run again."""
    earlier = kept_records(keep)
    if keep is not None:  # without the last line, if that was cut off
        keep.write_text("".join(json.dumps(record) + "\n" for record in earlier), encoding="utf-8")
    known = {r["key"]: r for r in earlier}
    wanted = [case for case in chosen if case.key not in known]
    with _folder(work) as folder:
        for n, record in enumerate(_run_all(wanted, jobs, folder), 1):
            known[record["key"]] = record
            if keep is not None:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, default=float) + "\n")
            _progress(f"{n} of {len(wanted)}: {record['key']} {record['outcome']}")
    return [known[case.key] for case in chosen]


def kept_records(keep: Path | None) -> list[dict[str, Any]]:
    """Records of an earlier run; a last line that was cut off is left out."""
    if keep is None or not keep.is_file():
        return []
    lines = keep.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def _run_all(wanted: Sequence[Case], jobs: int, work: Path) -> Iterator[dict[str, Any]]:
    long = sorted({(c.robot, m) for c in wanted for m in range(MOTIONS) if SUBJECTS[c.robot].kind != "arm"})
    if jobs == 1:
        for name, motion in long:
            prepare(SUBJECTS[name], motion, work)
        yield from (run(case, work) for case in wanted)
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read by the processes that start below
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        simulated = [pool.submit(prepare, SUBJECTS[name], motion, work) for name, motion in long]
        for n, ready in enumerate(as_completed(simulated), 1):
            ready.result()
            _progress(f"simulated {n} of {len(long)}")
        for future in as_completed([pool.submit(run, case, work) for case in wanted]):
            yield future.result()


@contextmanager
def _folder(work: Path | None) -> Iterator[Path]:
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
        yield work
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<79}", end="", file=sys.stderr, flush=True)


def _refuse_unknown(option: str, names: Sequence[str], known: Iterable[str]) -> None:
    if unknown := set(names) - set(known):
        raise SystemExit(f"--{option}: {', '.join(sorted(unknown))} unknown; there are {', '.join(known)}")


def study(options: argparse.Namespace, caption: str) -> int:
    """``python -m bench trust``."""
    if options.limits:
        records = [r for r in kept_records(options.keep) if options.half in ("both", r["half"])]
        print(limits(records))
        return 0
    names = [n for n in options.robots.split(",") if n] or list(QUICK_ROBOTS if options.quick else SUBJECTS)
    _refuse_unknown("robots", names, SUBJECTS)
    names = [n for n in names if options.half in ("both", SUBJECTS[n].half)]
    faults = [f for f in options.faults.split(",") if f] or list((*QUICK_FAULTS, UNHARMED) if options.quick else ())
    _refuse_unknown("faults", faults, (*FAULTS, UNHARMED))
    few = {"unharmed": QUICK_LOGS, "sizes": 2} if options.quick else {}
    chosen = cases(names, faults, seed=options.seed, **few)
    records = trust(chosen, jobs=options.jobs or 2, keep=options.keep, work=options.work)
    result = gates(records, "reporting" if options.half == "both" else options.half)
    if options.json:
        print(json.dumps({"gates": result, "robots": summary(records), "cases": records}))
    else:
        print(f"{caption}\n\n{table(records)}\n")
        print(json.dumps({"gates": result, "robots": summary(records)}, indent=1))
    return 0 if result["kept"] or not options.gate else 1
