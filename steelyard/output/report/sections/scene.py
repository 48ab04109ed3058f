"""The robot in three dimensions: bodies coloured by source, by mass, or by the masses of their shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from steelyard.output.report.drawing import DrawnMesh, stills
from steelyard.output.report.placement import LOAD, MANY, PlacedBody, com_interval, estimated_shapes, place_bodies
from steelyard.output.report.plot import HOVER, SILENT, Plot, Trace
from steelyard.output.report.section import Report, Section
from steelyard.output.report.solids import Mesh, lines, merged, meshes
from steelyard.output.report.words import SOURCES, as_list, figure, literal, mapping
from steelyard.spatial import Array

Point = list[float]  # (3,) m

EMPTY = 1e-3  # of the heaviest: lighter shapes are drawn as edges only

_LIGHT = {"ambient": 0.62, "diffuse": 0.7, "specular": 0.08, "roughness": 0.9, "fresnel": 0.05}
_CENTRES: dict[str, dict[str, Any]] = {
    "described": {"symbol": "circle-open", "size": 6, "color": "@ink"},
    "estimated": {"symbol": "circle", "size": 5, "color": "@com"},
    "true": {"symbol": "diamond-open", "size": 7, "color": "@truth"},
}
_SCALE = [[0, "@mass-low"], [0.5, "@mass-middle"], [1, "@mass-high"]]


def scene(report: Report) -> Section | None:
    """A view with layers, and two stills for print; None where there is no scene."""
    bodies = place_bodies(report)
    if not any(b.meshes for b in bodies) or not report.bodies:
        return None
    fixed = [m for shape in as_list(mapping(report.scene).get("fixed")) for m in meshes(shape)]
    shapes = estimated_shapes(report, bodies)
    loads = [b for b in bodies if b.key == LOAD]
    values = {
        "has_shapes": bool(shapes),
        "has_truth": bool(report.part("truth")),
        "loads": [b.name for b in loads],
        "sources": [v for v in SOURCES if any(b.source == v and b.meshes for b in bodies)],
        "stills": stills(
            [DrawnMesh(m, "still fixed") for m in fixed]
            + [DrawnMesh(m, f"still {b.source}", b.name) for b in bodies for m in b.meshes]
            + [DrawnMesh(m, "still load", b.name) for b in loads for m in b.equal]
        ),
    }
    return Section("scene", "The robot", values, {"robot": _plot(report, bodies, fixed, shapes)})


def _plot(
    report: Report, bodies: list[PlacedBody], fixed: list[Mesh], shapes: list[tuple[PlacedBody, Mesh, float]]
) -> Plot:
    everything = [m for b in bodies for m in b.meshes]
    texts = [(m, b.text) for b in bodies for m in b.meshes]
    masses = [b.mass or 0.0 for b in bodies for _ in b.meshes]
    traces = [
        _mesh([(m, "the fixed base") for m in fixed], "always", color="@band", opacity=1),
        *(
            _mesh([(m, b.text) for b in bodies for m in b.meshes if b.source == v], "source", color=f"@{v}")
            for v in SOURCES
        ),
        _mesh(texts, "mass", masses),
        _edges(everything, "source mass", "@edge"),
        *_inertias(bodies),
    ]
    if shapes:
        top = max(mass for _, _, mass in shapes)
        filled = [s for s in shapes if s[2] > EMPTY * top]
        texts = [(m, f"{literal(b.name)}: a shape of {figure(mass, 3)} kg") for b, m, mass in filled]
        ghost: dict[str, Any] = {"color": "@band", "opacity": 0.18, "hovertemplate": None, **SILENT}
        traces.append(_mesh([(m, "") for m in everything], "shapes", **ghost))
        traces.append(_mesh(texts, "shapes", [mass for *_, mass in filled], opacity=0.7))
        if len(shapes) <= MANY:
            traces.append(_edges([m for _, m, mass in shapes if mass <= EMPTY * top], "shapes", "@rule", 1))
            traces.append(_edges([m for _, m, _ in filled], "shapes", "@edge", 1))
    traces += _centres(report, bodies)
    axis = {"gridcolor": "@grid", "zerolinecolor": "@rule", "showbackground": False, "showspikes": False, "nticks": 6}
    return {
        "data": [trace for trace in traces if trace["x"]],
        "layout": {
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "hovermode": "closest",
            "scene": {
                "aspectmode": "data",
                "dragmode": "turntable",
                "camera": {"eye": _eye(merged([*everything, *fixed]).vertices)},
                **{f"{a}axis": axis | {"title": {"text": f"{a} (m)"}} for a in "xyz"},
            },
        },
    }


def _eye(points: Array) -> dict[str, float]:
    """Camera position that shows everything; Plotly's unit is the geometric mean of the bounding box's sides."""
    sides = np.maximum(np.ptp(points, axis=0), 1e-3)
    reach = float(np.linalg.norm(sides) / 2 / np.cbrt(np.prod(sides)))
    return dict(zip("xyz", (2.5 * reach * np.array([0.56, -0.76, 0.33])).round(3).tolist(), strict=True))


def _mesh(parts: list[tuple[Mesh, str]], layer: str, masses: list[float] | None = None, **look: Any) -> Trace:
    whole = merged(mesh for mesh, _ in parts)
    trace = {
        "type": "mesh3d",
        "layer": layer,
        **_points(whole.vertices),
        **dict(zip("ijk", whole.triangles.T.tolist(), strict=True)),
        "text": {"runs": [[len(mesh.vertices), text] for mesh, text in parts]},
        "hovertemplate": HOVER,
        "flatshading": True,
        "lighting": _LIGHT,
        "opacity": 0.5,
    }
    if masses is not None:
        bar = {"title": {"text": "kg"}, "thickness": 12, "len": 0.6, "outlinewidth": 0, "x": 1, "xpad": 4}
        counts = [len(mesh.vertices) for mesh, _ in parts]
        runs = [[n, round(m, 5)] for n, m in zip(counts, masses, strict=True)]
        heaviest = max(masses) or 1.0
        trace |= {"intensity": {"runs": runs}, "colorscale": _SCALE, "cmin": 0, "cmax": heaviest, "colorbar": bar}
    return trace | look


def _edges(parts: Iterable[Mesh], layer: str, color: str, width: float = 1.5) -> Trace:
    return _lines(list(lines(parts)), layer, color, width)


def _lines(ends: Sequence[Point | None], layer: str, color: str, width: float) -> Trace:
    line = {"color": color, "width": width}
    return {"type": "scatter3d", "mode": "lines", "layer": layer, **_places(ends), "line": line, **SILENT}


def _marks(centres: list[tuple[PlacedBody, Point]], kind: str) -> Trace:
    look = _CENTRES[kind]
    return {
        "type": "scatter3d",
        "mode": "markers",
        "layer": "com",
        **_places([at for _, at in centres]),
        "marker": look | {"line": {"color": look["color"], "width": 1.5}},
        "text": [f"{b.text}<br>({kind})" for b, _ in centres],
        "hovertemplate": HOVER,
    }


def _inertias(bodies: list[PlacedBody]) -> list[Trace]:
    equal = [(m, f"{b.text}<br>as uniform ellipsoid", b.key == LOAD) for b in bodies for m in b.equal]
    return [
        _mesh([(m, text) for m, text, load in equal if not load], "inertia", color="@estimate", opacity=0.4),
        _mesh([(m, text) for m, text, load in equal if load], "load", color="@load", opacity=0.6),
    ]


def _centres(report: Report, bodies: list[PlacedBody]) -> list[Trace]:
    """Centres of mass: described, estimated, true; lines from described to estimated, and a load's interval."""
    prior, truth = report.part("prior"), report.part("truth")
    marks: dict[str, list[tuple[PlacedBody, Point]]] = {kind: [] for kind in _CENTRES}
    moved: list[Point | None] = []
    widths: list[Point | None] = []
    for b in bodies:
        was = b.centre(mapping(prior.get(b.key)).get("parameters")) if b.key != LOAD else None
        now, true = b.world(b.body.get("com")), b.centre(mapping(truth.get(b.key)).get("parameters"))
        for kind, at in (("described", was), ("estimated", now), ("true", true)):
            marks[kind] += [(b, at)] if at is not None else []
        moved += [was, now, None] if was is not None and now is not None else []
        widths += com_interval(b) if b.key == LOAD else []
    return [
        _lines(moved, "com", "@ink", 2),
        _lines(widths, "com", "@load", 6),
        *(_marks(centres, kind) for kind, centres in marks.items()),
    ]


def _points(vertices: Array) -> dict[str, list[float]]:
    return dict(zip("xyz", vertices.round(4).T.tolist(), strict=True))


def _places(points: Sequence[Point | None]) -> dict[str, list[float | None]]:
    return {a: [None if p is None else round(p[k], 4) for p in points] for k, a in enumerate("xyz")}
