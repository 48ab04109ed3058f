"""How shapes were divided: pictures from above and from the side, darker where heavier (Xu, Fig. 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.output.report.drawing import VIEWS, DrawnMesh, Window, picture
from steelyard.output.report.placement import LOAD
from steelyard.output.report.section import Report, Section
from steelyard.output.report.solids import Mesh, matrix, meshes, uniform_solid
from steelyard.output.report.words import as_list, figure, mapping, number

WIDEST, HIGHEST = 230.0, 190.0  # px of one view


def division(report: Report) -> Section | None:
    """Panels of every body with divided shapes, the load first; None where nothing was divided."""
    steps = report.entries("divisions")
    names = dict.fromkeys(name for step in steps for name in mapping(step.get("cells")))
    bodies = [body for name in names if (body := _body(report, name, steps)) is not None]
    if not bodies:
        return None
    return Section("division", "Shapes and their division", {"bodies": bodies})


def body_label(report: Report, name: str) -> str:
    """Name of a body; of the load, by the link that carries it."""
    loads = report.entries("loads")
    return f"load on {loads[0].get('link')}" if name == LOAD and loads else name


def _body(report: Report, name: str, steps: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    true = uniform_solid(mapping(report.part("truth").get(name)).get("parameters"), "cuboid")
    shown = [(step, _cells(mapping(step.get("cells")).get(name))) for step in steps]
    shown = [(step, cells) for step, cells in shown if cells]
    if not shown:
        return None
    everything = [mesh for _, cells in shown for mesh, _ in cells] + true
    windows = {view: Window.around(everything, axes) for view, axes in VIEWS.items()}
    widest, highest = (max(sizes) for sizes in zip(*(w.size for w in windows.values()), strict=True))
    scale = min(WIDEST / widest, HIGHEST / highest)
    panels = [_panel(step, name, cells, true, windows, scale) for step, cells in shown]
    return {
        "name": body_label(report, name),
        "panels": panels,
        "has_truth": bool(true),
        "steps": steps[-1].get("k"),
        "width": f"{max(180.0, scale * widest):.0f}",
    }


def _panel(
    step: Mapping[str, Any],
    name: str,
    cells: list[tuple[Mesh, float]],
    true: list[Mesh],
    windows: Mapping[str, Window],
    scale: float,
) -> dict[str, Any]:
    total = sum(mass for _, mass in cells) or 1.0
    drawn = [DrawnMesh(mesh, "mass", f"{figure(mass, 3)} kg", max(0.0, mass / total)) for mesh, mass in cells]
    body = mapping(mapping(step.get("bodies")).get(name))
    com = matrix(body.get("com"), (3,))
    views = []
    for view, axes in VIEWS.items():
        window = windows[view]
        width, height = (f"{scale * length:.0f}" for length in window.size)
        unit = f"{1 / scale:.3f}"  # mm of one pixel
        centre = None if com is None else window.at(com[list(axes)].tolist())
        truth = [window.path(outline) for m in true if len(outline := m.outline(*axes))]
        shown = {"view": view, "width": width, "height": height, "unit": unit, "com": centre, "true": truth}
        views.append(picture(drawn, window, axes) | shown)
    return {
        "k": step.get("k"),
        "mass": figure(body.get("mass"), 4),
        "objective": figure(number(step.get("objective")), 5),
        "views": views,
        "count": sum(mass > 1e-3 * total for _, mass in cells),
    }


def _cells(given: Any) -> list[tuple[Mesh, float]]:
    cells = []
    for shape in as_list(given):
        mass = number(mapping(shape).get("mass"))
        parts = meshes(shape)
        cells += [(mesh, mass / len(parts)) for mesh in parts if mass is not None]
    return cells
