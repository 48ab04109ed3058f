"""Xu's unknown load (IV-A.2, Figs 6 and 7) without a robot: Algorithm 1 on ten noisy numbers, many cubes, every rule.

    python -m papers.xu.divide [--cubes 100] [--svg FILE]

A cube of 1 kg and 4 cm lies somewhere on 0.4 × 0.2 m. The data of a walk are taken to be its ten parameters,
with independent errors of 5 g, 1 g·m and 0.5 g·m² (``--noise 0``: none).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard import inertia
from steelyard.compose import shape_set
from steelyard.compose.composition import bounded
from steelyard.compose.division_rule import Rule
from steelyard.compose.primitives import cuboid
from steelyard.identify.division.dividing import Refined, Step, refine
from steelyard.information import Information
from steelyard.robot.model import Body

HEIGHT = 0.09  # m, of the load's middle above the trunk's origin
WIDTH = np.array([5e-3] + [1e-3] * 3 + [5e-4] * 6)
NOTHING = bounded(np.zeros(0), np.zeros(0), np.zeros(0))
FIXED = {"most": 7, "patience": 8}
RULES = {
    "look-ahead": Rule(),
    "look-ahead, k = 7": Rule(**FIXED),
    "look-ahead, 3 parts, k = 7": Rule(parts=3, **FIXED),
    "look-ahead, all axes, k = 7": Rule(axes="all", **FIXED),
    "reduced costs, k = 7": Rule(choose="gradient", **FIXED),
    "(16) with k1, k = 7": Rule(choose="criterion", **FIXED),
    "(16) with k2, k = 7": Rule(choose="criterion", k1=0.0, k2=1.0, **FIXED),
    "look-ahead, not pruned, k = 7": Rule(prune=False, **FIXED),
    "Algorithm 1, (16), ε = 0.01": Rule(choose="criterion", tolerance=0.01, patience=1, thorough=False),
    "Algorithm 1, (16), ε = 0.001": Rule(choose="criterion", patience=1, thorough=False),
}


def translation(position: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = position
    return T


AREA = cuboid([0.4, 0.2, 0.04], translation(np.array([0, 0, HEIGHT])))


def locate_cube(seed: int, rule: Rule, noise: float) -> tuple[Refined, np.ndarray]:
    """Algorithm 1 on one cube, and the cube's position."""
    rng = np.random.default_rng(seed)
    place = np.array([*rng.uniform([-0.18, -0.08], [0.18, 0.08]), HEIGHT])
    truth = cuboid([0.04] * 3, translation(place)).parameters
    information = Information.of(np.diag(1 / WIDTH), truth / WIDTH + noise * rng.normal(size=10))
    lower, upper = AREA.box
    body = Body("load", (), 1, AREA.parameters, AREA.box, float(np.linalg.norm(upper - lower)))
    return refine(information, [shape_set.initial(body, [AREA])], NOTHING, rule), place


def table(cubes: int, noise: float) -> None:
    print(f"{'rule':32}{'mm median':>10}{'worst':>8}{'g median':>10}{'worst':>8}{'divisions':>11}{'shapes':>8}")
    for name, rule in RULES.items():
        rows = []
        for seed in range(cubes):
            result, place = locate_cube(seed, rule, noise)
            mass, com, _ = inertia.unpack(result.theta)
            shapes = result.steps[-1].shapes
            rows.append([1e3 * np.linalg.norm(com - place), 1e3 * abs(mass - 1), len(result.steps) - 1, shapes])
        mm, g, k, n = np.array(rows).T
        print(
            f"{name:32}{np.median(mm):10.2f}{mm.max():8.2f}{np.median(g):10.1f}{g.max():8.1f}{k.mean():11.1f}{n.max():8.0f}"
        )


def draw_cube(seed: int, noise: float, steps: tuple[int, ...] = (0, 1, 2, 3, 5, 7, 9, 12)) -> str:
    """One cube after so many divisions."""
    result, place = locate_cube(seed, Rule(most=max(steps), patience=100), noise)
    return draw_divisions([step for step in result.steps if step.k in steps], "load", place, 0.02)


def draw_divisions(steps: Sequence[Step], name: str, place: np.ndarray, half: float) -> str:
    """The area from above after some divisions: the redder a shape the heavier; the load, 2·half wide, in blue."""
    scale, gap, across = 400.0, 34, 4
    wide, high = 0.4 * scale, 0.2 * scale
    parts = []
    for panel, step in enumerate(steps):
        left, top = 12 + panel % across * (wide + 16), 26 + panel // across * (high + gap)
        origin = np.array([left + 0.2 * scale, top + 0.1 * scale])
        mass, com, _ = inertia.unpack(step.bodies[name])
        shapes, masses = step.shape_sets[name], step.masses[name]
        every = zip((*shapes.parts, *shapes.removed), (*masses, *shapes.removed_masses), strict=True)
        for part, m in sorted(every, key=lambda item: item[1]):
            look = f'fill="#c00" fill-opacity="{min(max(m / mass, 0.0), 1.0):.3f}" stroke="#888" stroke-width="0.5"'
            parts.append(rectangle(origin, scale, *part.box, look))
        parts.append(rectangle(origin, scale, place - half, place + half, 'fill="none" stroke="#06c"'))
        caption = f"k = {step.k}: {1e3 * mass:.0f} g, {1e3 * np.linalg.norm(com - place):.1f} mm off"
        parts.append(f'<text x="{left:.0f}" y="{top - 6:.0f}">{caption}</text>')
    width, height = 12 + across * (wide + 16), 26 + -(-len(steps) // across) * (high + gap)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif"'
    return f'{head} font-size="11">\n<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"


def rectangle(origin: np.ndarray, scale: float, low: np.ndarray, high: np.ndarray, look: str) -> str:
    """Of a box seen from above, y up."""
    x, y = origin + scale * np.array([low[0], -high[1]])
    width, height = scale * (high - low)[:2]
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {look}/>'


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.xu.divide", description=__doc__)
    parser.add_argument("--cubes", type=int, default=100)
    parser.add_argument("--noise", type=float, default=1.0, help="times the errors above")
    parser.add_argument("--svg", type=Path, help="draw the divisions of one cube")
    options = parser.parse_args()
    if options.svg:
        options.svg.write_text(draw_cube(3, options.noise), encoding="utf-8")
        print(options.svg)
        return
    table(options.cubes, options.noise)


if __name__ == "__main__":
    main()
