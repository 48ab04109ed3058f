"""Files of the exciting motions of a humanoid, and a plot of condition numbers and stick figures."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import numpy as np

from steelyard.experiment.excite.build_motion import WholeBodyMotion
from steelyard.experiment.excite.excite_humanoid import HumanoidMotions, as_log
from steelyard.experiment.excite.informativeness import MotionInformation
from steelyard.files import Staging
from steelyard.log.table import write_log
from steelyard.spatial import Array

CELL, LEFT, TOP = 13.0, 190.0, 136.0  # pixels
FIGURES, INSTANTS, TALL = 6, 8, 120.0  # motions drawn as stick figures, instants of each, height in pixels
BEST, WORST = 1.0, 4.0  # log10 of condition numbers at the ends of the colours


def write_humanoid_motions(result: HumanoidMotions, out: Path) -> list[Path]:
    """Write all motions as logs, their excitation and a plot; the paths of the files."""
    out.mkdir(parents=True, exist_ok=True)
    logs = {f"motion-{k:03d}.parquet": as_log(built, k) for k, built in enumerate(result.motions, 1)}
    for name, log in logs.items():
        write_log(out / name, log)
    with Staging(out) as staging:
        staging.write_text("excite.json", json.dumps(result.as_json(), indent=1) + "\n")
        staging.write_text("excite.svg", picture(result))
    return [out / name for name in (*logs, "excite.json", "excite.svg")]


def picture(result: HumanoidMotions) -> str:
    """SVG of the condition number of each link's ten columns in each motion, and stick figures of the first motions."""
    informativeness = result.informativeness
    excitations = [
        MotionInformation.of(informativeness, informativeness.triangle(b.trajectory)) for b in result.motions
    ]
    links = list(result.links)
    wide = max(LEFT + CELL * len(links) + 20, LEFT + INSTANTS * 90)
    body = TOP + CELL * len(excitations) + 40
    high = body + min(FIGURES, len(excitations)) * (TALL + 24) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" font-family="sans-serif" '
        'font-size="10" role="img">',
        f"<title>Exciting motions of {escape(result.robot.name)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="{TOP - 60:.0f}" font-size="12">Condition of each</text>'
        f'<text x="8" y="{TOP - 46:.0f}" font-size="12">link\'s ten columns:</text>'
        f'<text x="8" y="{TOP - 30:.0f}">dark 10, white 10⁴ and above</text>',
    ]
    for i, name in enumerate(links):
        x = LEFT + CELL * i + 9
        parts.append(
            f'<text transform="translate({x:.0f} {TOP - 4:.0f}) rotate(-60)" font-size="8">{escape(name)}</text>'
        )
    for k, (t, built) in enumerate(zip(excitations, result.motions, strict=True)):
        y = TOP + CELL * k
        label = f"{k + 1} {built.candidate.kind}, {built.trajectory.duration:.1f} s"
        parts.append(f'<text x="{LEFT - 8:.0f}" y="{y + 10:.0f}" text-anchor="end">{escape(label)}</text>')
        for i, name in enumerate(links):
            parts.append(_cell(LEFT + CELL * i, y, t.links[name]))
    for k, built in enumerate(result.motions[:FIGURES]):
        y = body + k * (TALL + 24)
        parts.append(f'<text x="8" y="{y + TALL / 2:.0f}">{k + 1} {escape(built.candidate.kind)}</text>')
        parts += _sticks(built, LEFT / 2, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _cell(x: float, y: float, condition: float) -> str:
    share = np.clip((WORST - np.log10(max(condition, 1.0))) / (WORST - BEST), 0, 1) if np.isfinite(condition) else 0.0
    r, g, b = (round(255 + float(share) * (c - 255)) for c in (11, 110, 153))
    size = CELL - 1
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{size}" height="{size}" fill="rgb({r},{g},{b})"/>'


def _sticks(built: WholeBodyMotion, x0: float, y0: float) -> list[str]:
    """Stick figures of the robot at a few instants, seen obliquely, with soles on the ground line."""
    time = np.linspace(0, built.trajectory.duration, INSTANTS + 2)[1:-1]
    samples = built.trajectory.at(time)
    model = built.stance.robot.model
    points = np.zeros((len(time), model.njoints, 3))  # joint 0 stays at the base, which is never the highest
    for j in range(1, model.njoints):
        points[:, j] = samples.kinematics.pose(j, np.eye(4))[1]
    points = np.einsum("tij,tkj->tki", samples.rotation, points) + samples.base_position[:, None]
    ends = [(leg.sole.joint, leg.sole.corners) for leg in built.stance.legs]
    scale = TALL / (1.15 * float(points[..., 2].max()))
    view = np.array([0.5, 0.87])  # across the page: how much of x and of y
    parts = []
    for t in range(len(time)):
        across = x0 + 90 * t + 60
        start = samples.base_position[t, :2] @ view

        def at(p: Array, across: float = across, start: float = float(start)) -> str:
            return f"{across + scale * (float(p[:2] @ view) - start):.1f} {y0 + TALL - scale * p[2]:.1f}"

        lines = [f"M{at(points[t, int(model.parents[j])])}L{at(points[t, j])}" for j in range(2, model.njoints)]
        for joint, corners in ends:
            R, p = samples.kinematics.pose(joint, np.eye(4))
            world = (corners @ R[t].T + p[t]) @ samples.rotation[t].T + samples.base_position[t]
            lines.append("M" + "L".join(at(c) for c in world) + "Z")
        parts.append(f'<path d="{"".join(lines)}" fill="none" stroke="#333" stroke-width="1.4"/>')
    ground = y0 + TALL
    return [f'<path d="M{x0:.0f} {ground:.1f}h{90 * INSTANTS:.0f}" stroke="#bbb"/>', *parts]
