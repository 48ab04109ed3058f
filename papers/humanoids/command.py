"""Options and output files that all studies of humanoids share."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from papers.humanoids import source
from papers.humanoids.source import Library
from papers.humanoids.truths import Motions

JUDGED = 8  # motions that are not simulated, in the full study
QUICK = 8  # motions that are simulated, with --quick


def parser(paper: str, about: str) -> argparse.ArgumentParser:
    """Options of ``steelyard reproduce PAPER``."""
    options = argparse.ArgumentParser(prog=f"steelyard reproduce {paper}", description=about)
    options.add_argument("--quick", action="store_true", help="one robot, few motions")
    options.add_argument("--robots", default="", help="names, separated by commas; default: all that are installed")
    options.add_argument("--played", type=int, default=24, help="motions that are simulated")
    options.add_argument(
        "--followed", action="store_true", help="motions tracked exactly, by inverse dynamics in place of MuJoCo"
    )
    options.add_argument("--logs", type=Path, help="folder that caches motions and logs")
    options.add_argument("-o", "--out", type=Path, help="folder for figures and numbers")
    return options


def cases(title: str, options: argparse.Namespace, judged: int) -> Iterator[tuple[str, Library, Motions]]:
    """Print title and versions, then yield robots with their motions; ``judged`` of these are never tracked."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("mujoco", "pin", "numpy", "clarabel"))
    print(f"{title}; {datetime.now(UTC):%Y-%m-%d}; {versions}\n", flush=True)
    names = [n for n in options.robots.split(",") if n] or (["talos"] if options.quick else list(source.ROBOTS))
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            if (robot := source.load(name)) is not None:
                library = Library(robot, (options.logs or Path(scratch)) / name, options.followed)
                yield name, library, Motions.of(library, QUICK if options.quick else options.played, judged)


def write(out: Path | None, results: Mapping[str, Any], figures: Mapping[str, str]) -> None:
    """Write figures and results.json, if a folder is given."""
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    for name, text in figures.items():
        (out / name).write_text(text, encoding="utf-8")
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"figures and numbers: {out}")
