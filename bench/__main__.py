"""``python -m bench NAME``: one study, as text or as one JSON object; ``--gate`` fails where a promise is not kept."""

from __future__ import annotations

import argparse
import json
import sys

from bench.coverage import coverage
from bench.identify import identify
from bench.solvers import kept as solvers_kept
from bench.solvers import solvers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", default="identify", choices=["coverage", "identify", "solvers"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--gate", action="store_true", help="exit 1 where a promise is not kept")
    parser.add_argument("--seeds", type=int, default=500, help="noise draws (coverage)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the log (coverage)")
    parser.add_argument("--repeats", type=int, default=7, help="interleaved repeats (identify, solvers)")
    options = parser.parse_args()
    if options.name == "coverage":
        found = coverage(options.seeds, options.seconds)
        result, kept = found.as_json(), 0.93 <= found.covered <= 0.97
    elif options.name == "solvers":
        result = solvers(options.repeats)
        kept = solvers_kept(result)
    else:
        result, kept = identify(options.repeats), True
    print(json.dumps(result, indent=None if options.json else 1))
    return 0 if kept or not options.gate else 1


if __name__ == "__main__":
    sys.exit(main())
