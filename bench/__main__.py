"""``python -m bench NAME``: one study, as text or as one JSON object; ``--gate`` fails where a promise is not kept."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from bench.consistency import consistency, table
from bench.coverage import coverage
from bench.identify import identify
from bench.intervals import intervals
from bench.problems import CASES
from bench.ranges import USUAL, ranges

PHYSICAL = ("lmi", "points", "shapes", "nonlinear")  # methods that promise bodies that can exist
STUDIES = ("consistency", "coverage", "identify", "intervals", "ranges")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", default="identify", choices=STUDIES)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--gate", action="store_true", help="exit 1 where a promise is not kept")
    parser.add_argument("--seeds", type=int, default=500, help="noise draws (coverage)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the log (coverage)")
    parser.add_argument("--repeats", type=int, default=7, help="interleaved repeats (identify)")
    parser.add_argument(
        "--problems", type=int, help="noisy problems a case (consistency, intervals: 1000, ranges: 200)"
    )
    parser.add_argument("--quick", action="store_true", help="few problems (consistency, intervals, ranges)")
    parser.add_argument("--cases", default="", help="some of the cases, with commas (consistency, ranges)")
    parser.add_argument("--methods", default="", help="some of the methods, with commas (consistency)")
    options = parser.parse_args()
    result: dict[str, Any]
    if options.name == "coverage":
        found = coverage(options.seeds, options.seconds)
        result, kept = found.as_json(), 0.93 <= found.covered <= 0.97
    elif options.name == "consistency":
        cases = [c for c in CASES if not options.cases or c in options.cases.split(",")]
        only = [m for m in options.methods.split(",") if m]
        result = consistency(options.problems or (10 if options.quick else 1000), cases, only)
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
    else:
        result, kept = identify(options.repeats), True
    print(json.dumps(result, indent=None if options.json else 1))
    return 0 if kept or not options.gate else 1


if __name__ == "__main__":
    sys.exit(main())
