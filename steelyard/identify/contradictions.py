"""Where the data contradict the description: base parameters that moved by more than their uncertainty and size allow.

A base parameter is named after its leading parameter. Bodies that differ in the side alone (``FL_calf``, ``FR_calf``)
are reported together: what is wrong on every leg is wrong in the description of the leg.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.inference.uncertainty import BaseParameter

SIGMA = 3.0  # standard deviations
RELATIVE = 0.1  # of the described value, and of the natural size: less is what descriptions are wrong by anyway
SIDES = re.compile(r"(?i)(?<![a-z])(?:fl|fr|rl|rr|hl|hr|lf|rf|lh|rh|left|right|l|r|front|rear|hind)(?![a-z])")
WORDS = {
    "m": "mass",
    "hx": "first moment along x",
    "hy": "first moment along y",
    "hz": "first moment along z",
    "Ixx": "moment of inertia about x",
    "Iyy": "moment of inertia about y",
    "Izz": "moment of inertia about z",
    "Ixy": "product of inertia xy",
    "Ixz": "product of inertia xz",
    "Iyz": "product of inertia yz",
}


@dataclass(frozen=True)
class Contradiction:
    """One parameter of one body, or of the same body on several sides, that is not as described."""

    parameter: str  # m, hx … Izz
    bodies: tuple[str, ...]
    change: tuple[float, ...]  # estimate over description − 1, of each body
    sigma: tuple[float, ...]  # standard deviations between estimate and description, of each body

    def __str__(self) -> str:
        low, high = 100 * min(self.change), 100 * max(self.change)
        if low < 0 < high:
            span, word = f"{low:+.0f} to {high:+.0f} %", "off"
        else:
            least, most = sorted((abs(low), abs(high)))
            span = f"{most:.0f} %" if round(least) == round(most) else f"{least:.0f} to {most:.0f} %"
            word = "above" if low > 0 else "below"
        where = self.bodies[0] if len(self.bodies) == 1 else f"{self.common} ({', '.join(self.bodies)})"
        return f"the {WORDS.get(self.parameter, self.parameter)} of {where} is {span} {word} your description"

    @property
    def common(self) -> str:
        """What the names of the bodies have in common."""
        return _without_side(self.bodies[0]).strip("_-. ") or self.bodies[0]

    def as_json(self) -> dict[str, Any]:
        """The entry of ``estimate.json``."""
        return {key: list(x) if isinstance(x, tuple) else x for key, x in vars(self).items()}


def find_contradictions(base: Sequence[BaseParameter]) -> tuple[Contradiction, ...]:
    """Base parameters of bodies, of source data, that differ from the description; the largest first."""
    groups: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for p in base:
        difference = p.value - p.described
        least = max(SIGMA * p.std, RELATIVE * abs(p.described), RELATIVE * p.size)
        if p.kind != "body" or p.source != "data" or abs(difference) <= least or p.described == 0:
            continue
        body, parameter = p.name.rsplit(".", 1)
        entry = (body, p.value / p.described - 1, abs(difference) / max(p.std, 1e-300))
        groups.setdefault((parameter, _without_side(body)), []).append(entry)
    return tuple(sorted((_grouped(k[0], v) for k, v in groups.items()), key=lambda c: -max(map(abs, c.change))))


def _grouped(parameter: str, entries: Iterable[tuple[str, float, float]]) -> Contradiction:
    bodies, change, sigma = zip(*entries, strict=True)
    return Contradiction(parameter, bodies, change, sigma)


def _without_side(name: str) -> str:
    return SIDES.sub("", name.replace("_", " ")).strip()
