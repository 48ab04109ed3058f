"""The ten parameters of every body with their intervals; then joints, coupled motors and sensors.

Parameters of different units share an axis by their scale: m, m·r and m·r², with m the body's mass and
r the rms distance of its mass from its frame's origin, so that tr I = 2·m·r².
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.output.report.plot import Plot, Trace, Values, dots, margins, named_rows, segments
from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import (
    HALF_WIDTH,
    OF_QUANTITY,
    PARAMETERS,
    UNITS,
    as_list,
    figure,
    half_width,
    mapping,
    number,
    numbers,
    source,
    with_interval,
)

JOINT_COLUMNS = {"viscous": "N·m·s/rad", "coulomb": "N·m", "armature": "kg·m²", "offset": "N·m", "gain": "N·m/A"}
SENSOR_COLUMNS = {"fx": "N", "fy": "N", "fz": "N", "mx": "N·m", "my": "N·m", "mz": "N·m"}


def parameters(report: Report) -> Section | None:
    """Forest plots and tables of bodies, joints, coupled motors and sensor offsets."""
    if not report.bodies:
        return None
    prior, truth = report.part("prior"), report.part("truth")
    bodies, plots = [], {}
    for k, (name, body) in enumerate(report.bodies.items()):
        if body.get("free") is False:  # held at the description
            continue
        known = {
            "estimate": numbers(body.get("parameters"), 10),
            "std": numbers(body.get("std"), 10),
            "std_data": numbers(body.get("std_data"), 10),
            "prior": numbers(mapping(prior.get(name)).get("parameters"), 10),
            "std_prior": numbers(mapping(prior.get(name)).get("std"), 10),
            "truth": numbers(mapping(truth.get(name)).get("parameters"), 10),
            "scale": numbers(body.get("scale"), 10),
        }
        plots[f"forest-{k}"] = _forest(known)
        of = mapping(body.get("sources"))
        table = [_line(i, known, source(of.get(OF_QUANTITY[i]))) for i in range(10)]
        bodies.append({"name": name, "plot": f"forest-{k}", "source": source(body.get("source")), "table": table})
    values = {
        "bodies": bodies,
        "has_prior": bool(prior),
        "has_truth": bool(truth),
        "joints": _table(report.part("joints"), JOINT_COLUMNS),
        "motors": _table(report.part("motors"), JOINT_COLUMNS),
        "sensors": _table(
            {
                name: dict(zip(SENSOR_COLUMNS, _components(mapping(sensor)), strict=True))
                for name, sensor in report.part("sensors").items()
            },
            SENSOR_COLUMNS,
        ),
    }
    return Section("parameters", "Parameters with intervals", values, plots)


def _line(i: int, known: Mapping[str, Values], its_source: str | None) -> dict[str, Any]:
    return {
        "name": PARAMETERS[i],
        "unit": UNITS[i],
        "estimate": with_interval(known["estimate"][i], known["std"][i]),
        "data": half_width(known["std_data"][i]),
        "unbounded": known["std_data"][i] is None,
        "prior": figure(known["prior"][i], 3),
        "truth": figure(known["truth"][i], 3),
        "source": its_source,
    }


def _table(entries: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any] | None:
    """Table of the rows and columns with at least one value, each with its interval and source."""
    table = {name: {c: mapping(mapping(entry).get(c)) for c in columns} for name, entry in entries.items()}
    table = {name: row for name, row in table.items() if any(number(v.get("value")) is not None for v in row.values())}
    used = {
        c: unit for c, unit in columns.items() if any(number(row[c].get("value")) is not None for row in table.values())
    }
    rows = [
        (name, [(with_interval(row[c].get("value"), row[c].get("std")), source(row[c].get("source"))) for c in used])
        for name, row in table.items()
    ]
    return {"columns": used, "rows": rows} if rows else None


def _components(sensor: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Offsets of a sensor, as the terms of a joint are given."""
    offset, std, sources = (
        numbers(sensor.get("offset"), 6),
        numbers(sensor.get("std"), 6),
        as_list(sensor.get("sources")),
    )
    sources = (sources + [None] * 6)[:6]
    return [{"value": x, "std": s, "source": v} for x, s, v in zip(offset, std, sources, strict=True)]


def _scales(values: Values) -> list[float]:
    m = abs(values[0] or 0.0) or 1.0
    trace = abs(sum(values[i] or 0.0 for i in (4, 6, 9)))
    r = (trace / (2 * m)) ** 0.5 or 1.0
    return [m, *[m * r] * 3, *[m * r * r] * 6]


def _forest(known: Mapping[str, Values]) -> Plot:
    """Intervals of the ten parameters in percent of scale, relative to the description, else to the estimate."""
    estimate, prior = known["estimate"], known["prior"]
    origin = [p if p is not None else e for p, e in zip(prior, estimate, strict=True)]
    default = _scales(prior if prior[0] else estimate)
    scale = [s or d for s, d in zip(known["scale"], default, strict=True)]

    def at(values: Values) -> Values:
        """Percent of scale from the origin."""
        return [
            None if v is None or o is None else round(100 * (v - o) / s, 4)
            for v, o, s in zip(values, origin, scale, strict=True)
        ]

    def half(stds: Values) -> Values:
        return [None if d is None else round(100 * HALF_WIDTH * d / s, 4) for d, s in zip(stds, scale, strict=True)]

    centre, described = at(estimate), at(prior)
    posterior, data, before = half(known["std"]), half(known["std_data"]), half(known["std_prior"])
    true = at(known["truth"])
    reach = _reach([(centre, posterior), (described, before), (true, [0.0] * 10)], (centre, data))
    free = [h is None or c is None for h, c in zip(data, centre, strict=True)]
    hover = [
        f"{PARAMETERS[i]} {figure(estimate[i])} {UNITS[i]}<br>posterior {half_width(known['std'][i])}"
        f"<br>data only {'unbounded' if free[i] else half_width(known['std_data'][i])}"
        f"<br>description {figure(prior[i])}<br>truth {figure(known['truth'][i])}"
        for i in range(10)
    ]
    return {
        "data": [
            _bars(described, before, 0.0, color="@band", width=13),
            _bars([0.0 if f else None for f in free], [reach] * 10, 0.25, color="@data-only", width=1.5, dash="dot"),
            _bars(centre, data, 0.25, color="@data-only", width=2),
            _bars(centre, posterior, -0.12, color="@estimate", width=5),
            _dots(described, 0.0, "line-ns-open", 13, "@prior"),
            _dots(centre, -0.12, "circle", 7, "@estimate") | {"text": hover},
            _dots(true, 0.0, "diamond-open", 8, "@ink"),
        ],
        "layout": {
            "margin": margins(48, 34, 12),
            "hovermode": "closest",
            "xaxis": {"range": [-reach, reach], "ticksuffix": " %", "nticks": 7, "zeroline": True},
            "yaxis": named_rows(PARAMETERS),
        },
    }


def _reach(shown: list[tuple[Values, Values]], data: tuple[Values, Values]) -> float:
    """Half-width of the axis: all values, and data-only intervals up to twice that."""
    least = max([abs(c) + (h or 0.0) for cs, hs in shown for c, h in zip(cs, hs, strict=True) if c is not None] or [0])
    ends = [abs(c) + h for c, h in zip(*data, strict=True) if c is not None and h is not None]
    return round(1.08 * max([least, *(e for e in ends if e <= 2 * least)]) or 1.0, 3)


def _bars(centres: Values, halves: Values, shift: float, **look: Any) -> Trace:
    known = [(i, c, h) for i, (c, h) in enumerate(zip(centres, halves, strict=True)) if c is not None and h is not None]
    return segments([(round(c - h, 4), round(c + h, 4), i + shift) for i, c, h in known], **look)


def _dots(centres: Values, shift: float, symbol: str, size: int, color: str) -> Trace:
    return dots(centres, [i + shift for i in range(10)], symbol, size, color, [f"{x} % of scale" for x in centres])
