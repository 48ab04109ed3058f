"""``python -m bench NAME``: one study, as text or as one JSON object; ``--gate`` fails where a promise is not kept."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.arms import arms
from bench.arms import table as arms_table
from bench.cli import cli
from bench.cli import kept as cli_kept
from bench.consistency import consistency, table
from bench.coverage import coverage
from bench.diagnosis import diagnosis
from bench.diagnosis import kept as diagnosis_kept
from bench.excite import CASES as EXCITE
from bench.excite import excite
from bench.excite import kept as excite_kept
from bench.excite import table as excite_table
from bench.house import ROOT, house
from bench.house import table as house_table
from bench.humanoid import humanoid
from bench.humanoid import kept as humanoid_kept
from bench.identify import identify
from bench.intervals import intervals
from bench.kernels import kept as kernels_kept
from bench.kernels import kernels
from bench.kernels import table as kernels_table
from bench.online import kept as online_kept
from bench.online import online
from bench.played import CASES as PLAYED
from bench.played import kept as played_kept
from bench.played import played
from bench.points import GRIDS, figure, points
from bench.problems import CASES
from bench.ranges import USUAL, ranges
from bench.rooms import main as draw_rooms
from bench.same import arguments as same_arguments
from bench.same import processor_name
from bench.same import study as same_study
from bench.scale import CASES as SCALE_CASES
from bench.scale import scale
from bench.scale import table as scale_table
from bench.search import bench_search
from bench.search import kept as search_kept
from bench.solvers import kept as solvers_kept
from bench.solvers import solvers
from bench.still import CASES as STILL
from bench.still import kept as still_kept
from bench.still import still
from bench.still import table as still_table
from bench.stream import bench_stream
from bench.stream import figure as stream_figure
from bench.stream import kept as stream_kept
from bench.trust.study import arguments as trust_arguments
from bench.trust.study import study as trust_study
from bench.words import EVERYWHERE
from bench.words import table as words_table

PHYSICAL = ("lmi", "points", "shapes", "nonlinear")  # methods that promise physically consistent bodies
STUDIES = (
    "arms",
    "cli",
    "consistency",
    "coverage",
    "diagnosis",
    "excite",
    "house",
    "humanoid",
    "identify",
    "intervals",
    "kernels",
    "online",
    "played",
    "points",
    "ranges",
    "rooms",
    "same",
    "scale",
    "search",
    "solvers",
    "still",
    "stream",
    "trust",
    "words",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", default="identify", choices=STUDIES)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--gate", action="store_true", help="exit 1 where a promise is not kept")
    parser.add_argument("--seeds", type=int, default=None, help="noise draws (coverage: 500, points: 5)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the log (coverage)")
    parser.add_argument(
        "--repeats",
        type=int,
        default=7,
        help="repeats in turn (humanoid, identify, kernels, online, search, solvers, stream)",
    )
    parser.add_argument(
        "--problems",
        type=int,
        help="problems a case (consistency, intervals: 1000, ranges: 200), candidates (played: 300)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few problems (consistency, excite, intervals, online, ranges, same, scale, still, trust)",
    )
    parser.add_argument(
        "--cases", default="", help="some of the cases, with commas (consistency, excite, ranges, scale, still)"
    )
    parser.add_argument("--methods", default="", help="some of the methods, with commas (consistency)")
    data = os.environ.get("STEELYARD_DATA")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None, help="measured data (arms, same)")
    parser.add_argument("--jobs", type=int, default=None, help="processes at once (consistency: 1, trust: 2)")
    parser.add_argument("--robots", default="", help="names, with commas (points, trust)")
    parser.add_argument("--figure", type=Path, default=None, help="SVG to write (points, stream)")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout that is counted (house)")
    parser.add_argument("--in", dest="tops", nargs="*", default=EVERYWHERE, help="files and folders to read (words)")
    same_arguments(parser)
    trust_arguments(parser)
    options = parser.parse_args()
    if options.name == "same":
        return same_study(options)
    if options.name == "trust":
        return trust_study(options, f"{_caption('trust')}, {processor_name()}")
    if options.name == "rooms":
        return draw_rooms()
    if options.name == "words":
        print("\n".join(words_table([ROOT / top for top in options.tops])))
        return 0
    if options.name == "house":
        counted = house(options.tree)
        print(json.dumps(counted) if options.json else "\n".join(house_table(counted)))
        return 0
    result: dict[str, Any]
    if options.name == "points":
        result, kept = points(options.seeds or 5, options.robots.split(",") if options.robots else list(GRIDS)), True
        if options.figure is not None:
            options.figure.write_text(figure(result, _caption("points")), encoding="utf-8")
    elif options.name == "coverage":
        measured = coverage(options.seeds or 500, options.seconds)
        result, kept = measured.as_json(), 0.93 <= measured.covered <= 0.97
    elif options.name == "diagnosis":
        result = diagnosis(options.repeats)
        kept = diagnosis_kept(result)
    elif options.name == "cli":
        result = cli(options.repeats, options.data)
        kept = cli_kept(result)
    elif options.name == "humanoid":
        result = humanoid(options.repeats)
        kept = humanoid_kept(result)
    elif options.name == "solvers":
        result = solvers(options.repeats)
        kept = solvers_kept(result)
    elif options.name == "online":
        result = online(options.repeats, 1000 if options.quick else 100_000)
        kept = online_kept(result)
    elif options.name == "kernels":
        result = kernels(options.repeats)
        kept = kernels_kept(result)
        if not options.json:
            print(kernels_table(result))
    elif options.name == "excite":
        asked = tuple(c for c in options.cases.split(",") if c)
        result = excite(asked or EXCITE, options.seeds or 1, options.quick)
        kept = excite_kept(result)
        if not options.json:
            print(excite_table(result))
    elif options.name == "played":
        asked = tuple(c for c in options.cases.split(",") if c)
        result = played(asked or PLAYED, options.problems or (10 if options.quick else 300), options.seeds or 0)
        kept = played_kept(result)
    elif options.name == "still":
        asked = tuple(c for c in options.cases.split(",") if c)
        result = still(asked or STILL, quick=options.quick)
        kept = still_kept(result)
        if not options.json:
            print(still_table(result))
            return 0 if kept or not options.gate else 1
    elif options.name == "stream":
        result = bench_stream(options.repeats)
        kept = stream_kept(result)
        if options.figure is not None:
            options.figure.write_text(stream_figure(result, _caption("stream")), encoding="utf-8")
    elif options.name == "scale":
        wanted = {
            name: case for name, case in SCALE_CASES.items() if not options.cases or name in options.cases.split(",")
        }
        result, kept = scale(10.0 if options.quick else 60.0, wanted, 1 if options.quick else 2), True
        if not options.json:
            print(scale_table(result))
    elif options.name == "search":
        result = bench_search(options.repeats)
        kept = search_kept(result)
    elif options.name == "consistency":
        cases = [c for c in CASES if not options.cases or c in options.cases.split(",")]
        only = [m for m in options.methods.split(",") if m]
        result = consistency(options.problems or (10 if options.quick else 1000), cases, only, options.jobs or 1)
        promised = [e[m] for e in result["cases"].values() for m in PHYSICAL if m in e]
        kept = all(e["consistent"] == 1.0 for e in promised)
        if not options.json:
            print(table(result))
    elif options.name == "intervals":
        result = intervals(options.problems or (100 if options.quick else 1000))
        kept = all(share >= 0.93 for case in result.values() for share in case["profile"].values())
    elif options.name == "ranges":
        asked = tuple(c for c in options.cases.split(",") if c)
        result = ranges(options.problems or (5 if options.quick else 200), asked or USUAL)
        kept = all(share >= 0.95 for case in result.values() for share in case["held"].values())
    elif options.name == "arms":
        if options.data is None:
            parser.error("arms needs --data FOLDER (or STEELYARD_DATA), which holds the folders ur10e and tx40")
        result = arms(options.data)
        kept = all(e["consistent"] == e["bodies"] for ways in result.values() for w, e in ways.items() if w in PHYSICAL)
        if not options.json:
            print(arms_table(result))
    else:
        result, kept = identify(options.repeats), True
    print(json.dumps(result, indent=None if options.json else 1))
    return 0 if kept or not options.gate else 1


def _caption(name: str) -> str:
    """The command, the day and what it ran on."""
    versions = ", ".join(f"{package} {version(package)}" for package in ("numpy", "clarabel"))
    return f"python -m bench {name}, {date.today()}, Python {platform.python_version()}, {versions}"


if __name__ == "__main__":
    sys.exit(main())
