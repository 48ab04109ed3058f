"""What the study comes to: a table for the documentation, the gates, and the figures that limits are chosen from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.trust.cases import UNHARMED, severity
from bench.trust.faults import FAULTS, UNFINDABLE

Record = Mapping[str, Any]
HARMFUL_TRUSTED = 0.02  # largest share of harmful faults that end Trusted
UNHARMED_TRUSTED = 0.97  # least share of unharmed logs that do
MILD_TRUSTED = 0.5  # least share of mild faults that do
READERS = ("log",)  # rooms whose refusals are of tables that cannot be read
UNITS = {"column-unit"}  # refusals of a unit, which a reader could make as well
QUANTILES = (0.5, 0.9, 0.97, 1.0)


def gates(records: Sequence[Record], half: str = "reporting") -> dict[str, Any]:
    """Shares that end Trusted, over the robots of one half, and whether all promises are kept."""
    mine = [r for r in records if r["half"] == half]
    counted = [r for r in mine if not (_by_reader(r) or _unfindable(r))]
    of = {kind: [r for r in counted if severity(r) == kind] for kind in ("harmful", "mild", "between", "no answer")}
    of["unharmed"] = [r for r in mine if severity(r) == "unharmed"]
    shares = {kind: _trusted(some) / len(some) if some else None for kind, some in of.items()}
    slipped = Counter((r["fault"], r["size"]) for r in of["harmful"] if r["outcome"] == "trusted")
    crashed = [r["key"] for r in mine if r["outcome"] == "crashed"]
    held = {
        "harmful": shares["harmful"] is None or shares["harmful"] <= HARMFUL_TRUSTED,
        "twice": max(slipped.values(), default=0) <= 1,
        "unharmed": shares["unharmed"] is not None and shares["unharmed"] >= UNHARMED_TRUSTED,
        "mild": shares["mild"] is None or shares["mild"] >= MILD_TRUSTED,
        "crashed": not crashed,
    }
    return {
        "half": half,
        "counts": {kind: len(some) for kind, some in of.items()},
        "trusted": shares,
        "slipped": [f"{fault} {size:.3g}: {count}" for (fault, size), count in sorted(slipped.items())],
        "crashed": crashed,
        "held": held,
        "kept": all(held.values()),
    }


def _trusted(records: Sequence[Record]) -> int:
    return sum(r["outcome"] == "trusted" for r in records)


def _by_reader(record: Record) -> bool:
    return record["outcome"] == "refused" and (record["stage"] in READERS or set(record["codes"]) <= UNITS)


def _unfindable(record: Record) -> bool:
    return (record["fault"], record["size"]) in UNFINDABLE


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Robot → base-parameter errors of unharmed logs beside the description's, outcomes, and time a case."""
    result = {}
    for name in dict.fromkeys(r["robot"] for r in records):
        mine = [r for r in records if r["robot"] == name]
        good = [r for r in mine if severity(r) == "unharmed" and r["error"] is not None]
        result[name] = {
            "half": mine[0]["half"],
            "unharmed": {
                "logs": sum(severity(r) == "unharmed" for r in mine),
                "trusted": _trusted([r for r in mine if severity(r) == "unharmed"]),
                "error_median": float(np.median([r["error"] for r in good])) if good else None,
                "error_worst": max((r["error"] for r in good), default=None),
                "ratio_worst": max((r["error"] / r["description"] for r in good), default=None),
                "description_median": float(np.median([r["description"] for r in good])) if good else None,
            },
            "faults": dict(Counter(f"{severity(r)}, {r['outcome']}" for r in mine if severity(r) != "unharmed")),
            "seconds_median": float(np.median([r["seconds"] for r in mine])),
            "seconds_worst": max(r["seconds"] for r in mine),
        }
    return result


def table(records: Sequence[Record]) -> str:
    """Fault and size a row, robot a column: what became of it, and its error over the description's."""
    robots = list(dict.fromkeys(r["robot"] for r in records))
    lines = [f"| fault | size | {' | '.join(robots)} |", "|" + "---|" * (2 + len(robots))]
    cells = {(r["fault"], r["size"], r["robot"]): _cell(r) for r in records if r["fault"] != UNHARMED}
    for fault in FAULTS.values():
        for size in map(float, fault.sizes):
            row = [cells.get((fault.name, size, robot), "–") for robot in robots]
            if any(cell != "–" for cell in row):
                mark = "\\*" if (fault.name, size) in UNFINDABLE else ""
                lines.append(f"| {fault.name}{mark} | {fault.size.format(size)} | {' | '.join(row)} |")
    good = [[r for r in records if r["robot"] == robot and r["fault"] == UNHARMED] for robot in robots]
    if any(good):
        row = [f"{_trusted(some)} of {len(some)} Trusted · {_ratio(some)}" if some else "–" for some in good]
        lines.append(f"| unharmed | | {' | '.join(row)} |")
    lines += ["", *(f"\\* {fault} {size:.3g}: {other}." for (fault, size), other in UNFINDABLE.items())]
    return "\n".join(lines)


def _cell(record: Record) -> str:
    failed = [code for code, check in record["checks"].items() if check["result"] == "fail"]
    what = {
        "refused": f"error {', '.join(record['codes'][:2])}",
        "trusted": "Trusted",
        "doubted": ", ".join(failed) or "not trusted",
        "crashed": "crashed",
    }[record["outcome"]]
    return f"{what} · {_ratio([record])}"


def _ratio(records: Sequence[Record]) -> str:
    """Error over the description's, the median of several."""
    ratios = [r["error"] / r["description"] for r in records if r["error"] is not None]
    return f"{np.median(ratios):.2g}" if ratios else "no answer"


def limits(records: Sequence[Record]) -> str:
    """Figures of each question: quantiles of unharmed and mild logs, and those of harmful ones, sorted."""
    codes = list(dict.fromkeys(code for r in records for code in _checks(r)))
    lines = []
    for code in codes:
        lines.append(f"{code}")
        for kind in ("unharmed", "mild", "between", "harmful"):
            some = [r for r in records if severity(r) == kind and _figure(r, code) is not None]
            figures = np.sort([_figure(r, code) for r in some]) if some else np.zeros(0)
            asked = [r for r in records if severity(r) == kind and code in _checks(r)]
            results = Counter(_checks(r)[code]["result"] for r in asked)
            counted = ", ".join(f"{result} {count}" for result, count in sorted(results.items()))
            lines.append(f"  {kind}: {counted or 'none'}")
            if len(figures):
                shown = ", ".join(f"{q:g}: {np.quantile(figures, q):.3g}" for q in QUANTILES)
                lines.append(f"    quantiles {shown}")
            if kind == "harmful" and len(figures):
                lines.append("    " + " ".join(f"{x:.3g}" for x in figures))
    return "\n".join(lines)


def _checks(record: Record) -> Mapping[str, Any]:
    """The questions of a verdict, that of a refused log's answer included."""
    checks: Mapping[str, Any] = record["checks"] or (record.get("despite") or {}).get("checks", {})
    return checks


def _figure(record: Record, code: str) -> float | None:
    figure = _checks(record).get(code, {}).get("figure")
    return float(figure) if isinstance(figure, int | float) else None
