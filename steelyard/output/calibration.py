"""Files of a calibration, and a plot of the feet, the support lines and their intersection from above."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.experiment.calibrate.com import CentreOfMass
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.simulated import SimulatedRig
from steelyard.files import Staging
from steelyard.spatial import Array

SCALE, MARGIN = 900.0, 60.0  # pixels a metre; pixels
ZOOM, INSET = 12.0, 260.0
COLOURS = ("#0b6e99", "#c2410c")


def write_calibration(out: Path, result: Mapping[str, Any], drawings: Mapping[str, str]) -> list[Path]:
    """Write ``calibration.json`` and drawings by file name; the paths of the files."""
    texts = {"calibration.json": json.dumps(result, indent=1) + "\n", **drawings}
    with Staging(out) as staging:
        for name, text in texts.items():
            staging.write_text(name, text)
    return [out / name for name in texts]


def com_picture(rig: SimulatedRig, measured: CentreOfMass, result: Mapping[str, Any]) -> str:
    """``picture`` of a simulated calibration, with the truth from its ``calibration.json``."""
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    return picture(measured, stance, np.array(result["truth"]["com"]))


def picture(measured: CentreOfMass, stance: QuadrupedStance, truth: Array | None = None) -> str:
    """SVG of feet and support lines from above, x to the right; the intersection enlarged beside it."""
    feet = stance.centres(stance.nominal)
    low, high = feet[:, :2].min(axis=0), feet[:, :2].max(axis=0)
    size = (high - low) * SCALE + 2 * MARGIN
    width, height = size[0] + INSET + MARGIN, max(size[1], INSET + MARGIN) + 30

    def at(p: Array) -> Array:
        return np.array([MARGIN + (p[0] - low[0]) * SCALE, MARGIN + (high[1] - p[1]) * SCALE])

    def near(p: Array) -> Array:
        middle = np.array([size[0] + INSET / 2, MARGIN / 2 + INSET / 2])
        away = (p[:2] - measured.com[:2]) * SCALE * ZOOM
        return np.asarray(middle + away * np.array([1, -1]))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" '
        'font-size="12" role="img">',
        f"<title>Centre of mass of {escape(stance.robot.name)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<clipPath id="inset"><rect x="{size[0]:.0f}" y="{MARGIN / 2:.0f}" width="{INSET:.0f}" height="{INSET:.0f}"/>'
        "</clipPath>",
        f'<rect x="{size[0]:.0f}" y="{MARGIN / 2:.0f}" width="{INSET:.0f}" height="{INSET:.0f}" fill="none" '
        'stroke="#999"/>',
    ]
    for f, p in zip(stance.feet, feet, strict=True):
        x, y = at(p)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="#ddd" stroke="#666"/>')
        parts.append(f'<text x="{x:.1f}" y="{y - 12:.1f}" text-anchor="middle">{escape(f.frame.name)}</text>')
    for line, colour in zip([x for x in measured.lines if x.turn == 0], COLOURS, strict=False):
        n = line.normal[:2] / np.linalg.norm(line.normal[:2])
        d = (line.offset - line.normal[2] * measured.com[2]) / np.linalg.norm(line.normal[:2])
        along, foot = np.array([-n[1], n[0]]), d * n
        for place, clip, reach in ((at, "", 0.2), (near, ' clip-path="url(#inset)"', 0.2)):
            (x0, y0), (x1, y1) = (place(foot + r * along) for r in (-reach, reach))
            parts.append(f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{colour}" stroke-width="1.5"{clip}/>')
    rx, ry = measured.std[:2] * 1.96 * SCALE * ZOOM
    (x, y), (ox, oy) = near(measured.com), at(measured.com)
    parts.append(f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{rx:.1f}" ry="{ry:.1f}" fill="#0b6e99" fill-opacity="0.15"/>')
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="#0b6e99"/>' for a, b in ((x, y), (ox, oy))]
    marks = {"described": (measured.described, "#888"), **({} if truth is None else {"true": (truth, "#15803d")})}
    for name, (p, colour) in marks.items():
        a, b = near(p)
        parts.append(
            f'<g clip-path="url(#inset)"><path d="M{a - 6:.1f} {b:.1f}h12m-6 -6v12" stroke="{colour}" '
            f'stroke-width="2"/><text x="{a + 8:.1f}" y="{b - 4:.1f}" fill="{colour}">{name}</text></g>'
        )
    bar = 0.005 * SCALE * ZOOM
    parts.append(
        f'<path d="M{size[0] + 12:.0f} {MARGIN / 2 + INSET - 12:.0f}h{bar:.1f}" stroke="#333" stroke-width="2"/>'
        f'<text x="{size[0] + 12:.0f}" y="{MARGIN / 2 + INSET - 18:.0f}">5 mm</text>'
    )
    x, y, z = 1e3 * measured.com
    caption = f"x {x:.1f}, y {y:.1f}, z {z:.1f} mm in the nominal posture, base axes; ellipse: 95 %"
    parts.append(f'<text x="12" y="{height - 10:.0f}" fill="#333">{caption}</text></svg>')
    return "\n".join(parts) + "\n"
