"""Xu et al. on simulated quadrupeds: Table I, Figures 4 to 7, and errors of base and load on several robots.

    steelyard reproduce xu [--quick] [-o DIR]

The paper's robot is not public; ours are the A1 and others of the index, with trunks that are not as described.
Figures 8 to 11 of the paper are 4 to 7 on its real robot: ours have noisy sensors throughout.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from papers.xu import accuracy, loads, windows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="steelyard reproduce xu", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one robot, one seed")
    parser.add_argument("-o", "--out", type=Path, help="folder for figures and figures' numbers")
    options = parser.parse_args(arguments)
    quick, now = options.quick, datetime.now(UTC).strftime("%Y-%m-%d")
    versions = ", ".join(f"{name} {version(name)}" for name in ("mujoco", "pin", "numpy", "numba"))
    print(f"Xu et al.; {now}; {versions}\n", flush=True)
    results = {}
    print("## Base link in windows of 20 ms (Table I), A1, noisy sensors (mid)\n", flush=True)
    results["windows"] = windows.study(seeds=1 if quick else 12)
    print(windows.table(results["windows"]) + "\n", flush=True)
    print("## The same with exact signals\n", flush=True)
    results["windows, exact"] = windows.study(seeds=1, noise="none")
    print(windows.table(results["windows, exact"]) + "\n", flush=True)
    print("## Base link, all at once and while it moves\n", flush=True)
    results["accuracy"] = accuracy.study(("a1",), 1) if quick else accuracy.study()
    print(accuracy.table(results["accuracy"]) + "\n", flush=True)
    print("## Unknown load\n", flush=True)
    results["loads"] = loads.study(seeds=1, places=loads.PLACES[:1]) if quick else loads.study()
    print(loads.table(results["loads"]) + "\n", flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, text in (windows.figures() | loads.figures()).items():
            (options.out / name).write_text(text, encoding="utf-8")
        (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"figures and numbers: {options.out}")


if __name__ == "__main__":
    main()
