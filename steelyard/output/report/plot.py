"""Parts of Plotly figures: lines, markers with text, an axis of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from steelyard.output.report.words import literal

Plot = dict[str, Any]
"""A Plotly figure as plain data: ``data``, ``layout``; optionally ``arrays``, base64 of little-endian
float32 that a trace names in ``x`` and ``y``, and ``group``, plots that zoom in time together. A value
``"@name"`` of a key that ends in ``color`` or ``colorscale`` is the style sheet's ``--name``, so that plots follow the
theme. ``{"runs": [[n, value], …]}`` is each value n times. A trace with ``layer``, names separated by spaces, is
visible while a control of one of them is on; without such a control, always."""

Trace = dict[str, Any]
Values = list[float | None]  # None breaks a line
Segment = tuple[float | None, float | None, float]  # from x, to x, at y

SILENT = {"hoverinfo": "skip"}  # no text on hovering
HOVER = "%{text}<extra></extra>"  # ``text`` without the name of the trace


def line(x: Any, y: Any, color: str, width: float, **more: Any) -> Trace:
    """A line; ``more`` are further attributes of Plotly."""
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": {"color": color, "width": width}, **more}


def segments(pieces: Iterable[Segment], **look: Any) -> Trace:
    """Horizontal segments; ``look`` is Plotly's ``line``."""
    x: Values = []
    y: Values = []
    for low, high, height in pieces:
        x += [low, high, None]
        y += [height, height, None]
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": look, **SILENT}


def dots(x: Values, y: Sequence[float], symbol: str, size: int, color: str, text: Sequence[str]) -> Trace:
    """Markers with text on hovering."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": list(y),
        "marker": {"symbol": symbol, "size": size, "color": color, "line": {"color": color, "width": 1.6}},
        "text": text,
        "hovertemplate": HOVER,
    }


def margins(left: int, bottom: int, right: int = 8) -> dict[str, int]:
    """Pixels around a plot."""
    return {"l": left, "r": right, "t": 6, "b": bottom}


def named_rows(names: Sequence[str]) -> dict[str, Any]:
    """A vertical axis with one name a row, the first on top."""
    return {
        "range": [len(names) - 0.4, -0.6],
        "tickvals": list(range(len(names))),
        "ticktext": [literal(name) for name in names],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }


def rounded(values: Any) -> Values:
    """Values to six digits; None where not finite."""
    return [float(f"{x:.6g}") if np.isfinite(x) else None for x in np.asarray(values, float)]
