"""Whether results are unchanged: every number of many runs against a committed reference.

    python -m bench same --save     # runs all cases and keeps what they give in bench/same/
    python -m bench same            # runs them again and compares; exit code 1 where something differs

For changes that must not change a number. Cases and how they are run are in ``same_cases.py``, what counts as equal and
why in ``same_compare.py``, where the reference comes from in ``same/README.md``. OpenBLAS and numba choose
their code by the processor, so both are set to one processor, and to one thread. ``python -m bench.same`` is the same
command and imports none of the other studies.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.same_cases import CASES, Case, missing, run
from bench.same_compare import COLUMNS, Comparison, compare

REFERENCE = Path(__file__).resolve().parent / "same"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PACKAGES = ("steelyard", "numpy", "scipy", "numba", "pin", "clarabel", "pyarrow")
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
HASWELL = "avx avx2 bmi bmi2 f16c fma lzcnt movbe popcnt sse sse2 sse3 sse4.1 sse4.2 ssse3"
PROCESSOR = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in HASWELL.split()),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options that only this study has."""
    parser.add_argument("--save", action="store_true", help="keep the results as the reference (same)")
    parser.add_argument("--case", nargs="+", default=[], metavar="NAME", help="some of the cases (same)")


def pinned() -> None:
    """Start again where the processor's code or the threads are not decided yet: libraries read it as they load."""
    asked = {**THREADS, **(PROCESSOR if platform.machine().lower() in ("x86_64", "amd64") else {})}
    if any(name not in os.environ for name in asked):
        command = [sys.executable, "-m", *_module(), *sys.argv[1:]]
        sys.stdout.flush()
        os.execve(sys.executable, command, asked | os.environ)


def _module() -> list[str]:
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return [spec.name.removesuffix(".__main__") if spec else "bench"]


def same(
    names: Sequence[str] = (), data: Path | None = None, *, quick: bool = False, save: bool = False
) -> dict[str, Any]:
    """Every case beside its reference, or as its reference."""
    if unknown := [name for name in names if name not in CASES]:
        raise SystemExit(f"no such case: {', '.join(unknown)}. There are: {', '.join(CASES)}")
    cases: dict[str, Any] = {}
    for name, case in CASES.items():
        if name not in names if names else quick and not case.quick:
            continue
        if absent := missing(case, data or DATA):
            print(f"{name}: SKIPPED, {absent}", file=sys.stderr)
            cases[name] = {"skipped": absent}
            continue
        started = time.perf_counter()
        cases[name] = _saved(name, case, data or DATA) if save else _compared(name, case, data or DATA).as_json()
        cases[name]["seconds"] = time.perf_counter() - started
        print(line(name, cases[name]), file=sys.stderr, flush=True)
    return {"about": about(), "cases": cases}


def _saved(name: str, case: Case, data: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(case, data, Path(folder))
    return {"saved": _write(name, {"about": about(), "results": outcome.results})}


def _compared(name: str, case: Case, data: Path) -> Comparison:
    reference = _read(name)
    if reference is None:
        return Comparison(different=[(float("inf"), "has no reference: run with --save")])
    try:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(case, data, Path(folder))
    except Exception as error:  # one case that breaks must not hide how the others fare
        return Comparison(different=[(float("inf"), f"{type(error).__name__}: {error}")])
    return compare(reference["results"], json.loads(json.dumps(outcome.results)), outcome.roots)


def kept(result: Mapping[str, Any]) -> bool:
    """Whether nothing differs."""
    return all(case.get("same", True) for case in result["cases"].values())


def about() -> dict[str, Any]:
    """The day, the command, and what it ran on."""
    return {
        "date": str(date.today()),
        "command": " ".join(["python -m", *_module(), *sys.argv[1:]]),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "processor": processor_name(),
        "environment": {name: os.environ.get(name, "") for name in (*PROCESSOR, *THREADS)},
    }


def processor_name() -> str:
    """Model of the processor, as the operating system calls it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    return next(iter(re.findall(r"model name\s*:\s*(.*)", text)), platform.machine())


def line(name: str, case: Mapping[str, Any]) -> str:
    """One case on one line."""
    if "skipped" in case:
        return f"{name}: skipped, {case['skipped']}"
    if "saved" in case:
        return f"{name}: {case['saved']} bytes, {case['seconds']:.1f} s"
    return f"{name}: {'ok' if case['same'] else 'DIFFERENT'}, {case['seconds']:.1f} s"


def table(result: Mapping[str, Any]) -> str:
    """A line a case, the worst figure of each class; below, what differs and which text was reworded."""
    lines = ["| case | " + " | ".join(COLUMNS) + " | last bit | text | |", "|---" * (len(COLUMNS) + 4) + "|"]
    below = []
    for name, case in result["cases"].items():
        if "same" not in case:
            lines.append(f"| {name} |" + " |" * (len(COLUMNS) + 2) + f" {line(name, case).partition(': ')[2]} |")
            continue
        cells = [f"{case['worst'][c]:.1e}" if case["worst"].get(c) else "0" for c in COLUMNS]
        numbers = case["numbers"]
        equal = (
            "all" if case["to the last bit"] == numbers else f"{100 * case['to the last bit'] / max(numbers, 1):.1f} %"
        )
        text = f"{len(case['text differs'])} differ" if case["text differs"] else "same"
        lines.append(f"| {name} | {' | '.join(cells)} | {equal} | {text} | {'ok' if case['same'] else 'DIFFERENT'} |")
        below += [f"{name}: {what}" for what in case["different"][:5]]
        if (more := case["differences"] - 5) > 0:
            below.append(f"{name}: and {more} more")
        below += [f"{name}: text differs: {path}" for path in case["text differs"][:3]]
    return "\n".join([*lines, "", *below])


def _file(name: str) -> Path:
    return REFERENCE / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.json.gz"


def _write(name: str, content: Mapping[str, Any]) -> int:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    _file(name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return _file(name).stat().st_size


def _read(name: str) -> dict[str, Any] | None:
    if not _file(name).exists():
        return None
    content: dict[str, Any] = json.loads(gzip.decompress(_file(name).read_bytes()))
    return content


def study(options: argparse.Namespace) -> int:
    """The command: run, print, and an exit code."""
    pinned()
    result = same(options.case, options.data, quick=options.quick, save=options.save)
    print(json.dumps(result) if options.json else table(result))
    return 0 if kept(result) else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.same", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="few cases, none of measured data")
    data = os.environ.get("STEELYARD_DATA")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None, help="measured data")
    arguments(parser)
    return study(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
