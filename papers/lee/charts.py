"""A few lines or marks on plain axes as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 380, 260, 52, 30, 46
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7c3aed")


@dataclass(frozen=True)
class Series:
    name: str
    x: Sequence[float]
    y: Sequence[float]
    joined: bool = True


def chart(title: str, x_title: str, series: Sequence[Series], level: float | None = None) -> str:
    """Title, then the names of the series, then axes with round numbers."""
    top = TOP + 14 * sum(bool(s.name) for s in series)
    xs, ys = [x for s in series for x in s.x], [y for s in series for y in s.y] + ([level] if level else [])
    across, up = _ticks(min(xs), max(xs)), _ticks(0.0, max(ys))
    x0, x1, y1 = min(xs), max(xs), max(*ys, up[-1])

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - 16),
            HEIGHT - BOTTOM - y / y1 * (HEIGHT - BOTTOM - top),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="11" role="img"><title>{escape(title)}</title><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for value in up:
        _, y = at(x0, value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 16}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in across:
        x, _ = at(value, 0)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_title)}</text>')
    if level:
        _, y = at(x0, level)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 16}" stroke="#888" stroke-dasharray="5 4"/>')
    for k, (colour, line) in enumerate(zip(COLOURS, series, strict=False)):
        spots = [at(x, y) for x, y in zip(line.x, line.y, strict=True)]
        if line.joined:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
        parts.append(f'<text x="{LEFT}" y="{TOP + 4 + 14 * k}" fill="{colour}">{escape(line.name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, five or so."""
    rough = (high - low) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [k * step for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
