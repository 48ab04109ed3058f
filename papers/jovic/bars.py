"""Bars in pairs with lines above them, as SVG text: masses of segments, described, estimated and expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

STEP, HEIGHT, LEFT, BOTTOM = 26, 220, 40, 130
ESTIMATED, DESCRIBED = "#c2410c", "#0b6e99"


def bars(
    names: Sequence[str],
    described: Sequence[float],
    estimated: Sequence[float],
    expected: Mapping[str, float],
    caption: str,
) -> str:
    """Each name's two bars, kg, and a dashed line where one expects them."""
    most = 1.05 * max([*described, *estimated, *expected.values()])
    wide = LEFT + STEP * len(names) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HEIGHT + BOTTOM}" font-family="sans-serif" '
        f'font-size="10" role="img"><title>{escape(caption)}</title><rect width="100%" height="100%" fill="white"/>'
    ]

    def level(mass: float) -> float:
        return HEIGHT - (HEIGHT - 20) * max(mass, 0.0) / most

    for tick in range(0, int(most) + 1, max(1, int(most) // 5)):
        parts.append(f'<path d="M{LEFT} {level(tick):.1f}H{wide - 10}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{level(tick) + 3:.1f}" text-anchor="end">{tick}</text>')
    for k, name in enumerate(names):
        x = LEFT + STEP * k + 4
        for at, mass, colour in ((x, described[k], DESCRIBED), (x + 9, estimated[k], ESTIMATED)):
            top = level(mass)
            parts.append(f'<rect x="{at}" y="{top:.1f}" width="8" height="{HEIGHT - top:.1f}" fill="{colour}"/>')
        if name in expected:
            y = level(expected[name])
            parts.append(f'<path d="M{x - 3} {y:.1f}h23" stroke="black" stroke-dasharray="3 2"/>')
        parts.append(f'<text transform="translate({x + 12} {HEIGHT + 8}) rotate(90)" fill="#333">{escape(name)}</text>')
    parts.append(f'<text x="{LEFT}" y="12" fill="{DESCRIBED}">described</text>')
    parts.append(f'<text x="{LEFT + 60}" y="12" fill="{ESTIMATED}">estimated</text>')
    parts.append(f'<text x="{LEFT + 100}" y="12">- - expected (kg)</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT + BOTTOM - 6}" fill="#555">{escape(caption)}</text></svg>')
    return "\n".join(parts) + "\n"
