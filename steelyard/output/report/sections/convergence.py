"""Convergence of the estimate: over divisions (Xu, Fig. 7), or over time of an online identification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.output.report.plot import HOVER, SILENT, Plot, Trace, Values, line, margins, rounded
from steelyard.output.report.section import Report, Section
from steelyard.output.report.sections.division import body_label
from steelyard.output.report.solids import matrix
from steelyard.output.report.time_courses import TimeCourse, course_of
from steelyard.output.report.words import figure, literal, mapping, number

LINES = 6  # colours


def convergence(report: Report) -> Section | None:
    """Plots over divisions k and over time; None where there is neither."""
    steps = report.entries("divisions")
    cells = _divisions(report, steps) if len(steps) > 1 else []
    entries = map(course_of, report.entries("courses"))
    courses = [course for course in entries if course is not None and len(course.time) > 1]
    over_time = [{"name": c.name, "plot": f"course-{k}", "unit": c.unit, "end": _end(c)} for k, c in enumerate(courses)]
    if not cells and not courses:
        return None
    plots = {cell["plot"]: cell.pop("figure") for cell in cells}
    plots |= {f"course-{k}": _course(course) for k, course in enumerate(courses)}
    values = {"cells": cells, "courses": over_time, "has_truth": any(c.truth is not None for c in courses)}
    return Section("convergence", "Convergence", values, plots)


def _divisions(report: Report, steps: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Objective, and distances of masses and centres of mass from the truth, or else from their final value, over k."""
    k = [number(s.get("k")) for s in steps]
    objective = [number(s.get("objective")) for s in steps]
    least = min((o for o in objective if o is not None), default=0.0)
    above = [None if o is None else max(o - least, 0.0) or None for o in objective]
    shapes = [number(s.get("shapes")) for s in steps]
    names = list(mapping(steps[-1].get("bodies")))[:LINES]
    truth = {name: matrix(mapping(report.part("truth").get(name)).get("parameters"), (10,)) for name in names}
    masses, places = [], []
    for n, name in enumerate(names):
        seen = [mapping(mapping(s.get("bodies")).get(name)) for s in steps]
        t = truth[name]
        com = [matrix(body.get("com"), (3,)) for body in seen]
        mass = [number(body.get("mass")) for body in seen]
        end, place = (mass[-1], com[-1]) if t is None else (float(t[0]), t[1:4] / t[0])
        far = [None if c is None or place is None else 1e3 * float(np.linalg.norm(c - place)) or None for c in com]
        off = [None if m is None or end is None else 1e3 * abs(m - end) or None for m in mass]
        label = literal(body_label(report, name))
        masses.append(_line(k, off, f"@line-{n}", label, "g"))
        places.append(_line(k, far, f"@line-{n}", label, "mm"))
    true = names and all(t is not None for t in truth.values())
    since = "error" if true else "distance from the final value"
    objectives = _log([_line(k, above, "@estimate", "objective", "")], "objective, log")
    note = f"{figure(objective[0], 4)} at k = 0, {figure(objective[-1], 4)} finally"
    counts = _log([_line(k, shapes, "@estimate", "shapes", "")], "shapes", kind="linear")
    cells: list[dict[str, Any]] = [
        {"name": "Objective above its minimum", "plot": "division-objective", "note": note, "figure": objectives},
        {"name": "Number of shapes", "plot": "division-shapes", "note": "of all bodies", "figure": counts},
    ]
    if names:
        legend = {"note": "", "legend": [(n, body_label(report, name)) for n, name in enumerate(names)]}
        mass_plot, com_plot = _log(masses, "g, log"), _log(places, "mm, log")
        cells += [
            {"name": f"Mass, {since}", "plot": "division-mass", "figure": mass_plot, **legend},
            {"name": f"Centre of mass, {since}", "plot": "division-com", "figure": com_plot, **legend},
        ]
    return cells


def _line(x: Values, y: Values, color: str, name: str, unit: str) -> Trace:
    text = [f"{name}, k = {figure(a, 3)}: {figure(b, 3)} {unit}" for a, b in zip(x, y, strict=True)]
    dots = {"mode": "lines+markers", "marker": {"size": 4, "color": color}, "text": text, "hovertemplate": HOVER}
    return line(x, y, color, 1.6) | dots


def _log(lines: list[Trace], title: str, kind: str = "log") -> Plot:
    return {
        "data": lines,
        "layout": {
            "margin": margins(62, 36),
            "hovermode": "closest",
            "xaxis": {"title": {"text": "divisions k", "standoff": 4}, "rangemode": "tozero"},
            "yaxis": {"type": kind, "title": {"text": title, "standoff": 8}, "nticks": 6, "tickformat": "~g"},
        },
    }


def _course(c: TimeCourse) -> Plot:
    """A line with its interval, the truth dashed; the axis ignores the wide interval of the first quarter."""
    time, value = rounded(c.time), rounded(c.value)
    data: list[Trace] = []
    limits = [c.value]
    if c.half is not None:
        low, high = rounded(c.value - c.half), rounded(c.value + c.half)
        plain = {"type": "scatter", "mode": "lines", "x": time, "hoverinfo": "skip", "line": {"width": 0}}
        data += [plain | {"y": low}, plain | {"y": high, "fill": "tonexty", "fillcolor": "@interval"}]
        settled = c.time >= c.time[0] + 0.25 * (c.time[-1] - c.time[0])
        limits += [(c.value - c.half)[settled], (c.value + c.half)[settled]]
    unit = literal(c.unit)
    hover = f"%{{x:.3~g}} s: %{{y:.4~g}} {unit.replace('%', '&#37;')}<extra></extra>"
    data.append(line(time, value, "@estimate", 1.6, hovertemplate=hover))
    if c.truth is not None:
        look = {"color": "@truth", "width": 1.4, "dash": "dash"}
        data.append(line([time[0], time[-1]], [c.truth] * 2, "@truth", 1.4, **SILENT) | {"line": look})
        limits.append(np.array([c.truth]))
    shown = np.concatenate(limits)
    shown = shown[np.isfinite(shown)]
    low_end, high_end = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    rim = 0.06 * (high_end - low_end) or 0.5
    return {
        "data": data,
        "group": "courses",
        "layout": {
            "margin": margins(68, 36),
            "hovermode": "x",
            "xaxis": {"title": {"text": "time (s)", "standoff": 4}},
            "yaxis": {"title": {"text": unit, "standoff": 8}, "nticks": 6, "range": [low_end - rim, high_end + rim]},
        },
    }


def _end(c: TimeCourse) -> str:
    known = np.flatnonzero(np.isfinite(c.value))
    if not len(known):
        return ""
    text = figure(float(c.value[known[-1]]), 4)
    if c.half is not None and np.isfinite(c.half[known[-1]]):
        text += f" ± {figure(float(c.half[known[-1]]), 2)}"
    text += f" {c.unit} at the end"
    return text + (f", true {figure(c.truth, 4)}" if c.truth is not None else "")
