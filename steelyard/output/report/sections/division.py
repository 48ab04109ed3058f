"""How shapes were divided: pictures from above and from the side, the deeper a colour the heavier (Xu, Fig. 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.output.report.drawing import VIEWS, Drawn, Window, picture
from steelyard.output.report.placement import LOAD, listed
from steelyard.output.report.section import Report, Section
from steelyard.output.report.solids import Mesh, hull, matrix, meshes
from steelyard.output.report.words import figure, mapping, number

Array = np.ndarray

WIDEST, HIGHEST = 230.0, 190.0  # px of one view


def division(report: Report) -> Section | None:
    """Small multiples of every body whose shapes were kept, the load first; None where nothing was divided."""
    steps = [mapping(step) for step in listed(report.estimate.get("divisions"))]
    names = dict.fromkeys(name for step in steps for name in mapping(step.get("cells")))
    bodies = [found for name in names if (found := _body(report, name, steps)) is not None]
    if not bodies:
        return None
    return Section("division", "Shapes and their division", "division.html", {"bodies": bodies})


def called(report: Report, name: str) -> str:
    """The load by the link that carries it."""
    loads = listed(report.estimate.get("loads"))
    return f"load on {mapping(loads[0]).get('link')}" if name == LOAD and loads else name


def _body(report: Report, name: str, steps: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    true = _box(mapping(report.part("truth").get(name)).get("parameters"))
    shown = [(step, _cells(mapping(step.get("cells")).get(name))) for step in steps]
    shown = [(step, cells) for step, cells in shown if cells]
    if not shown:
        return None
    everything = [mesh for _, cells in shown for mesh, _ in cells] + true
    windows = {view: Window.around(everything, axes) for view, axes in VIEWS.items()}
    scale = min(
        WIDEST / max(w.size[0] for w in windows.values()),
        *(HIGHEST / w.size[1] for w in windows.values()),
    )
    panels = [_panel(step, name, cells, true, windows, scale) for step, cells in shown]
    last = steps[-1].get("k")
    return {
        "name": called(report, name), "panels": panels, "has_truth": bool(true), "steps": last,
        "width": f"{max(180.0, scale * max(w.size[0] for w in windows.values())):.0f}",
    }  # fmt: skip


def _panel(
    step: Mapping[str, Any],
    name: str,
    cells: list[tuple[Mesh, float]],
    true: list[Mesh],
    windows: Mapping[str, Window],
    scale: float,
) -> dict[str, Any]:
    total = sum(mass for _, mass in cells) or 1.0
    drawn = [Drawn(mesh, "mass", f"{figure(mass, 3)} kg", max(0.0, mass / total)) for mesh, mass in cells]
    seen = mapping(mapping(step.get("bodies")).get(name))
    com = matrix(seen.get("com"), (3,))
    views = []
    for view, axes in VIEWS.items():
        window = windows[view]
        shown = picture(drawn, window, axes)
        width, height = (scale * length for length in window.size)
        views.append({
            **shown, "view": view, "width": f"{width:.0f}", "height": f"{height:.0f}",
            "unit": f"{1 / scale:.3f}",  # mm of one pixel
            "com": None if com is None else window.at(com[list(axes)].tolist()),
            "true": [window.path(outline) for m in true if len(outline := m.outline(*axes))],
        })  # fmt: skip
    return {
        "k": step.get("k"),
        "mass": figure(seen.get("mass"), 4),
        "objective": figure(number(step.get("objective")), 5),
        "views": views,
        "count": sum(mass > 1e-3 * total for _, mass in cells),
    }


def _cells(given: Any) -> list[tuple[Mesh, float]]:
    cells = []
    for shape in listed(given):
        mass = number(mapping(shape).get("mass"))
        parts = meshes(shape)
        cells += [(mesh, mass / len(parts)) for mesh in parts if mass is not None]
    return cells


def _box(parameters: Any) -> list[Mesh]:
    """The cuboid of uniform density that has these ten parameters; for a cube, the cube itself."""
    p = matrix(parameters, (10,))
    if p is None or p[0] <= 0:
        return []
    covariance = inertia.density_covariance(p)
    w, V = np.linalg.eigh(np.where(np.abs(covariance) < 1e-6 * np.trace(covariance), 0.0, covariance))
    if w[0] <= 0:
        return []
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    return hull(p[1:4] / p[0] + (corners * np.sqrt(3 * w)) @ V.T)
