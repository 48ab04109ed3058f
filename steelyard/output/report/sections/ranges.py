"""Ranges of masses, centres of mass and inertias for any prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.output.report.plot import Plot, Segment, Trace, Values, dots, margins, named_rows, segments
from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import HALF_WIDTH, NOTHING, as_list, figure, literal, mapping, number, numbers

_WIDEST = 4.0  # times the described mass: end of the axis, unless the estimate is larger


def ranges(report: Report) -> Section | None:
    """A bar and the numbers of each body; None where ranges were not requested."""
    given = report.part("ranges")
    if not given:
        return None
    about = report.part("ranges_about")
    known = dict(report.bodies)
    known |= {name: load for name in given if name not in known for load in report.entries("loads")[:1]}
    bodies = {name: mapping(entry) for name, entry in given.items() if name in known}
    rows = [_row(name, entry) for name, entry in bodies.items()]
    values = {
        "rows": rows,
        "total": range_text(about.get("total"), 1.0),
        "confidence": figure(100 * (number(about.get("confidence")) or 0.0), 2),
        "together": about.get("together") is True,
        "inside": [str(name) for name in as_list(about.get("inside"))],
        "has_com": any(row["com"] for row in rows),
        "has_truth": any(name in report.part("truth") for name in bodies),
        "has_inertia": any(row["trace"] for row in rows),
        "height": 60 + 34 * len(rows),
    }
    return Section("ranges", "Ranges for any prior", values, {"ranges-mass": _plot(bodies, known, report)})


def range_text(ends: Any, unit: float, digits: int = 3) -> str:
    """A range as text: 11.2 to 18.9, at least 3, at most 4, any."""
    low, high = numbers(ends, 2)
    low, high = (None if end is None else end * unit for end in (low, high))
    if low is None or high is None:
        one_sided = f"at least {figure(low, digits)}" if low else "any"
        return one_sided if high is None else f"at most {figure(high, digits)}"
    return f"{figure(low, digits)} to {figure(high, digits)}"


def _row(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    com = as_list(entry.get("com"))
    return {
        "name": name,
        "mass": range_text(entry.get("mass"), 1.0),
        "com": [f"{axis} {range_text(ends, 1e3)}" for axis, ends in zip("xyz", com, strict=False)],
        "inertia": [
            f"{axes} {range_text(ends, 1.0)}"
            for axes, ends in zip(("xx", "xy", "yy", "xz", "yz", "zz"), as_list(entry.get("inertia")), strict=False)
        ],
        "trace": range_text(entry.get("trace"), 1.0) if entry.get("trace") else None,
    }


def _plot(bodies: Mapping[str, Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]], report: Report) -> Plot:
    """Masses relative to the described mass: range, estimate with its interval, description, truth."""
    prior, truth = report.part("prior"), report.part("truth")
    described = {name: numbers(mapping(prior.get(name)).get("parameters"), 1)[0] for name in bodies}
    unit = {name: abs(described[name] or number(known[name].get("mass")) or 1.0) for name in bodies}
    estimates, true = list[float | None](), list[float | None]()
    hover = list[str]()
    bars, open_ends, intervals = list[Segment](), list[Segment](), list[Segment]()
    reach = 1.5
    for k, (name, body) in enumerate(bodies.items()):
        mass, std = number(known[name].get("mass")), numbers(known[name].get("std"), 1)[0]
        gauss = None if mass is None or std is None else [mass - HALF_WIDTH * std, mass + HALF_WIDTH * std]
        interval = numbers(mapping(known[name].get("interval")).get("mass"), 2)
        shown = interval if None not in interval else gauss
        _, high = numbers(body.get("mass"), 2)
        reach = max([reach, *(1.05 * end / unit[name] for end in (mass, *(shown or [])) if end is not None)])
        reach = max(reach, min(1.05 * (high or 0.0) / unit[name], _WIDEST))
        estimates.append(_share(mass, unit[name]))
        hover.append(f"{literal(name)}: {figure(mass)} kg<br>for any prior: {range_text(body.get('mass'), 1.0)} kg")
        true.append(_share(numbers(mapping(truth.get(name)).get("parameters"), 1)[0], unit[name]))
        if shown is not None:
            intervals.append((_share(shown[0], unit[name]), _share(shown[1], unit[name]), float(k)))
    for k, (name, body) in enumerate(bodies.items()):
        low, high = numbers(body.get("mass"), 2)
        last = reach if high is None else min(high / unit[name], reach)
        (open_ends if high is None else bars).append((_share(low or 0.0, unit[name]), round(last, 4), float(k)))
    return {
        "data": [
            segments(bars, color="@band", width=15),
            segments(open_ends, color="@band", width=15, dash="2px,3px"),
            segments(intervals, color="@estimate", width=4),
            _dots([None if described[name] is None else 1.0 for name in bodies], "line-ns-open", 14, "@prior"),
            _dots(estimates, "circle", 8, "@estimate") | {"text": hover},
            _dots(true, "diamond-open", 9, "@ink"),
        ],
        "layout": {
            "margin": margins(150, 40, 12),
            "hovermode": "closest",
            "xaxis": {"range": [0, reach], "title": {"text": "mass / described mass"}, "zeroline": True},
            "yaxis": named_rows(list(bodies)),
        },
    }


def _share(mass: float | None, unit: float) -> float | None:
    return None if mass is None else round(mass / unit, 4)


def _dots(x: Values, symbol: str, size: int, color: str) -> Trace:
    text = [NOTHING if v is None else f"{v} × described mass" for v in x]
    return dots(x, range(len(x)), symbol, size, color, text)
