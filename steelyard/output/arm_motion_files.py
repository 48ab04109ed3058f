"""Files of the exciting motion of an arm, and a plot of every joint with its limits."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import numpy as np

from steelyard.experiment.excite.arm_motion import ArmMotion
from steelyard.experiment.excite.arm_task import Limits
from steelyard.files import Staging
from steelyard.log.log import Log
from steelyard.log.table import write_log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

WIDTH, HEIGHT, LEFT, GAP = 420.0, 90.0, 150.0, 30.0  # pixels
POINTS = 400
COLOURS = {"q": "#0b6e99", "v": "#c2410c"}


def write_arm_motion(motion: ArmMotion, out: Path) -> list[Path]:
    """Write the motion as logs, a plot and its excitation; the paths of the files."""
    with Staging(out) as staging:
        staging.write_text("excite.json", json.dumps(motion.as_json(), indent=1) + "\n")
        staging.write_text("motion.svg", picture(motion.log, motion.task.robot, motion.task.limits))
    for name in ("motion.parquet", "motion.csv"):
        write_log(out / name, motion.log)
    return [out / name for name in ("motion.parquet", "motion.csv", "motion.svg", "excite.json")]


def picture(log: Log, robot: Robot, limits: Limits) -> str:
    """SVG of position and speed of each joint over time, with limits dashed."""
    t = log.time
    some = np.unique(np.linspace(0, len(t) - 1, min(POINTS, len(t))).astype(int))
    high = len(robot.joints) * (HEIGHT + GAP) + 60
    wide = LEFT + 2 * (WIDTH + GAP) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" font-family="sans-serif" '
        'font-size="12" role="img">',
        f"<title>Exciting motion of {escape(robot.name)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for column, kind in enumerate("qv"):
        x0 = LEFT + column * (WIDTH + GAP)
        title = "position, rad or m" if kind == "q" else "speed, rad/s or m/s"
        parts.append(f'<text x="{x0:.0f}" y="20">{title}; limits dashed</text>')
        for row, joint in enumerate(robot.joints):
            bounds = (limits.lower[row], limits.upper[row]) if kind == "q" else (-limits.speed[row], limits.speed[row])
            y0 = 34 + row * (HEIGHT + GAP)
            parts += _course(t[some], log.columns[f"{kind}.{joint}"][some], bounds, (x0, y0), COLOURS[kind])
            if column == 0:
                parts.append(
                    f'<text x="{LEFT - 12:.0f}" y="{y0 + HEIGHT / 2:.0f}" text-anchor="end">{escape(joint)}</text>'
                )
    parts.append(f'<text x="{LEFT:.0f}" y="{high - 10:.0f}">0 to {t[-1]:g} s</text></svg>')
    return "\n".join(parts) + "\n"


def _course(t: Array, x: Array, bounds: tuple[float, float], corner: tuple[float, float], colour: str) -> list[str]:
    low, high = bounds
    rim = 0.08 * (high - low)
    (x0, y0), span = corner, high - low + 2 * rim
    across = x0 + WIDTH * (t - t[0]) / max(float(t[-1] - t[0]), 1e-9)
    down = y0 + HEIGHT * (high + rim - x) / span
    parts = [f'<rect x="{x0:.0f}" y="{y0:.0f}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}" fill="#f7f7f7"/>']
    for value in (low, high):
        y = y0 + HEIGHT * (high + rim - value) / span
        parts.append(f'<path d="M{x0:.0f} {y:.1f}h{WIDTH:.0f}" stroke="#999" stroke-dasharray="4 3"/>')
        parts.append(f'<text x="{x0 + WIDTH + 3:.0f}" y="{y + 4:.1f}" font-size="9" fill="#666">{value:.2g}</text>')
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, down, strict=True))
    return [*parts, f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
