"""A few lines on logarithmic or linear axes as SVG text: figures of the documentation, without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 300, 240, 56, 30, 48
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7c3aed", "#a16207")
Scale = Literal["log", "linear"]
MANY = 40  # spots of a line that are not marked
ROW = 4  # panels in a row; of more, three
BESIDE = 44  # characters of a title and the lines' names that fit beside each other


@dataclass(frozen=True)
class Line:
    """Values against x, and perhaps a level to compare with and one value that stands by itself."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    level: float | None = None
    apart: tuple[float, float] | None = None


@dataclass(frozen=True)
class Panel:
    """Some lines under one title."""

    title: str
    lines: Sequence[Line]
    x_title: str = ""  # where panels differ in it
    x_scale: Scale = "log"
    y_scale: Scale = "log"
    y_range: tuple[float, float] | None = None  # what is beyond is cut off


def chart(panels: Sequence[Panel], x_title: str, caption: str) -> str:
    """Panels side by side, in rows of three where they are many."""
    across = len(panels) if len(panels) <= ROW else 3
    below = HEIGHT * -(-len(panels) // across)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * across} {below + 24}" '
        'font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(caption)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for k, panel in enumerate(panels):
        place = f"{k % across * WIDTH} {k // across * HEIGHT}"
        parts.append(f'<g transform="translate({place})">{_panel(panel, panel.x_title or x_title)}</g>')
    parts.append(f'<text x="12" y="{below + 14}" fill="#555">{escape(caption)}</text></svg>')
    return "\n".join(parts) + "\n"


def _panel(panel: Panel, x_title: str) -> str:
    apart = [line.apart for line in panel.lines if line.apart is not None]
    levels = [line.level for line in panel.lines if line.level is not None]
    xs = [*(x for line in panel.lines for x in line.x), *(x for x, _ in apart)]
    ys = [*(y for line in panel.lines for y in line.y), *(y for _, y in apart), *levels]
    ys = list(panel.y_range) if panel.y_range else ys
    across = (_Linear if panel.x_scale == "linear" else _Axis)(xs, LEFT, WIDTH - 12)
    up = (_Linear if panel.y_scale == "linear" else _Axis)(ys, HEIGHT - BOTTOM, TOP)
    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{escape(panel.title)}</text>']
    for value in up.ticks:
        y = up.at(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 12}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in across.ticks:
        x = across.at(value)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{escape(x_title)}</text>')
    dense = all(len(line.x) > MANY for line in panel.lines)
    beside = dense and len(panel.title + "".join(line.name for line in panel.lines)) < BESIDE
    if beside:
        names = [
            f'<tspan fill="{c}" dx="6">{escape(s.name)}</tspan>' for c, s in zip(COLOURS, panel.lines, strict=False)
        ]
        parts.append(f'<text x="{WIDTH - 12}" y="18" text-anchor="end">{"".join(names)}</text>')
    for k, (colour, line) in enumerate(zip(COLOURS, panel.lines, strict=False)):
        spots = [(across.at(x), up.at(y)) for x, y in zip(line.x, line.y, strict=True)]
        spots = [(x, min(max(y, TOP), HEIGHT - BOTTOM)) for x, y in spots]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        thick = 2 if len(spots) <= MANY else 1.2
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{thick}"/>')
        if len(spots) <= MANY:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
        x, y = spots[-1] if len(spots) <= MANY else (WIDTH - 14.0, TOP + 18.0 + 13 * k)
        if not beside:
            label = f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="end" fill="{colour}">{escape(line.name)}</text>'
            parts.append(label)
        if line.apart is not None:
            x, y = across.at(line.apart[0]), up.at(line.apart[1])
            parts.append(f'<path d="M{x - 4:.1f} {y:.1f}l4 -4 4 4 -4 4z" fill="white" stroke="{colour}"/>')
        if line.level is not None:
            y = up.at(line.level)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 12}" stroke="{colour}" stroke-dasharray="5 4"/>')
    return "".join(parts)


class _Axis:
    """A logarithmic scale between two places; values that are not positive sit at its low end."""

    def __init__(self, values: Sequence[float], low: float, high: float):
        positive = [v for v in values if v > 0] or [1.0]
        self.first, self.last = np.log10(min(positive)) - 0.08, np.log10(max(positive)) + 0.08
        self.low, self.high = low, high

    def at(self, value: float) -> float:
        share = (np.log10(max(value, 10**self.first)) - self.first) / (self.last - self.first)
        return float(self.low + share * (self.high - self.low))

    @property
    def ticks(self) -> list[float]:
        """Round values within the scale: as few as show it."""
        decades = range(int(np.floor(self.first)), int(np.ceil(self.last)) + 1)
        for steps in ((1,), (1, 2, 5), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)):
            candidates = [m * 10.0**e for e in decades for m in steps]
            shown = [v for v in candidates if self.first <= np.log10(v) <= self.last]
            if len(shown) >= 3:
                break
        return shown


class _Linear:
    """An even scale between two places."""

    def __init__(self, values: Sequence[float], low: float, high: float):
        least, most = min(values), max(values)
        spare = 0.05 * (most - least) or 0.5 * abs(most) or 1.0
        self.first, self.last = least - spare, most + spare
        self.low, self.high = low, high

    def at(self, value: float) -> float:
        return float(self.low + (value - self.first) / (self.last - self.first) * (self.high - self.low))

    @property
    def ticks(self) -> list[float]:
        """Round values within the scale."""
        wide = self.last - self.first
        unit = 10.0 ** np.floor(np.log10(wide))
        step = next(s * unit for s in (0.2, 0.5, 1.0, 2.0) if wide / (s * unit) <= 6)
        first = int(np.ceil(self.first / step))
        return [round(k * step, 12) for k in range(first, int(np.floor(self.last / step)) + 1)]
