"""``python -m bench NAME``: one study, as text or as one JSON object; ``--gate`` fails where a promise is not kept."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

from bench.coverage import coverage
from bench.identify import identify
from bench.points import GRIDS, figure, points


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", default="identify", choices=["coverage", "identify", "points"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--gate", action="store_true", help="exit 1 where a promise is not kept")
    parser.add_argument("--seeds", type=int, default=None, help="noise draws (coverage: 500, points: 5)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the log (coverage)")
    parser.add_argument("--repeats", type=int, default=7, help="interleaved repeats (identify)")
    parser.add_argument("--robots", default=",".join(GRIDS), help="names, with commas (points)")
    parser.add_argument("--figure", type=Path, default=None, help="SVG to write (points)")
    options = parser.parse_args()
    if options.name == "points":
        result, kept = points(options.seeds or 5, options.robots.split(",")), True
        if options.figure is not None:
            options.figure.write_text(figure(result, _caption("points")), encoding="utf-8")
    elif options.name == "coverage":
        found = coverage(options.seeds or 500, options.seconds)
        result, kept = found.as_json(), 0.93 <= found.covered <= 0.97
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
