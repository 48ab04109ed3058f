"""Errors of the base of a trotting robot: batch, recursive, and with friction in its joints.

    python -m papers.xu.accuracy [--robots a1,go2,anymal,solo12] [--seeds 12] [--quick] [--json FILE]

Medians over noise seeds, the worst behind them. *Batch* has 5 s and zero-phase filters; *recursive* a window every
20 ms, causal filters and a memory of 1 s, its error taken at every window from 1 s on. *Friction* is in the joints of
the simulated robot and co-estimated: viscous, dry and rotor inertia; with and without an offset a joint, which the
simulation does not have.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from papers.xu.trots import ParameterError, Trot, summary, trot
from steelyard import Options, identify, inertia
from steelyard.log.log import Log
from steelyard.online import OnlineIdentifier, OnlineOptions

ROBOTS = ("a1", "go2", "anymal", "solo12")
NOISE = "mid"


def batch(of: Trot, log: Log, method: str = "shapes", friction: str = "none") -> ParameterError:
    """One identification of the whole log."""
    options = Options(method=method, feet=of.feet, links=(of.base,), friction=friction)  # type: ignore[arg-type]
    result = identify(of.robot.description, [log], options)
    return ParameterError.of(result.estimate.bodies[0].parameters, of.truth)


def recursive(of: Trot, log: Log, like: Log) -> dict[str, float]:
    """A window every 20 ms: errors from 1 s on, and the share of windows with a consistent estimate."""
    options = Options(method="shapes", feet=of.feet, links=(of.base,))
    online = OnlineIdentifier(of.robot.description, like, options, OnlineOptions(alarm_every=np.inf))
    samples = np.column_stack([log.columns[name] for name in online.inputs])
    body, off, physical = of.robot.bodies[0], [], 0
    starts = range(0, len(log) - online.window + 1, online.window)
    for k in starts:
        online.push_window(log.time[k : k + online.window], np.ascontiguousarray(samples[k : k + online.window]))
        now = online.parameters[:10]
        physical += inertia.is_consistent(now, body.size)
        if log.time[k] - log.time[0] >= 1.0:
            off.append(np.linalg.norm(now - of.truth))
    return {
        "e_p": float(np.median(off)), "worst": float(np.max(off)), "consistent": physical / len(starts),
        "delay_ms": 1e3 * online.delay, "shapes": sum(len(parts) for parts in online.shapes.values()),
    }  # fmt: skip


def study(robots: Sequence[str] = ROBOTS, seeds: int = 12, *, friction: bool = True) -> dict[str, Any]:
    """All cases."""
    result: dict[str, Any] = {}
    for name in robots:
        frictionless = trot(name)
        case: dict[str, Any] = {
            "described": asdict(ParameterError.of(frictionless.robot.bodies[0].parameters, frictionless.truth))
        }
        case["exact"] = asdict(batch(frictionless, frictionless.log))
        logs = [frictionless.measure(NOISE, seed) for seed in range(seeds)]
        for method in ("shapes", "lmi"):
            case[method] = summary([asdict(batch(frictionless, log, method)) for log in logs])
        like = frictionless.measure(NOISE, 1000)
        case["recursive"] = summary([recursive(frictionless, log, like) for log in logs])
        if friction:
            frictional = trot(name, friction="mid")
            for kind in ("armature", "all"):
                errors = [asdict(batch(frictional, frictional.measure(NOISE, s), "shapes", kind)) for s in range(seeds)]
                case[f"friction, {kind}"] = summary(errors)
            case["friction ignored"] = asdict(batch(frictional, frictional.measure(NOISE, 0)))
        result[name] = case
    return result


def table(result: dict[str, Any]) -> str:
    """As Markdown."""
    lines = [
        "| robot | described | exact | batch, shapes: e_p | mass, % | CoM, mm | inertia, % | batch, lmi: e_p "
        "| recursive: e_p | consistent | friction, no offsets: e_p | with offsets |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]

    def pair(case: dict[str, Any], key: str, digits: str = ".4f") -> str:
        return f"{case[key]['median']:{digits}} ({case[key]['worst']:{digits}})"

    for name, c in result.items():
        cells = [name, f"{c['described']['e_p']:.2f}", f"{c['exact']['e_p']:.1e}", pair(c["shapes"], "e_p")]
        cells += [pair(c["shapes"], k, ".2f") for k in ("mass", "com", "inertia")]
        cells += [pair(c["lmi"], "e_p"), pair(c["recursive"], "e_p")]
        cells += [f"{100 * c['recursive']['consistent']['worst']:.0f} %"]
        cells += [pair(c[f"friction, {k}"], "e_p") if "friction, all" in c else "–" for k in ("armature", "all")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", default=",".join(ROBOTS))
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="one robot, two seeds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    robots, seeds = (["a1"], 2) if options.quick else (options.robots.split(","), options.seeds)
    result = study(robots, seeds)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(table(result))


if __name__ == "__main__":
    main()
