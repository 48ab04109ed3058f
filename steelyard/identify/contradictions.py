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
UNITS = {"m": "kg", "h": "kg·m", "I": "kg·m²"}


@dataclass(frozen=True)
class Contradiction:
    """One parameter of one body, or of the same body on several sides, that is not as described."""

    parameter: str  # m, hx … Izz
    bodies: tuple[str, ...]
    value: tuple[float, ...]  # of each body, with what cannot be separated from it
    described: tuple[float, ...]
    sigma: tuple[float, ...]  # standard deviations between estimate and description
    size: float  # natural size of the parameter

    @property
    def change(self) -> tuple[float, ...]:
        """Difference from the description, over the described value; over the natural size where that is larger."""
        return tuple((v - d) / max(abs(d), self.size) for v, d in zip(self.value, self.described, strict=True))

    def __str__(self) -> str:
        where = self.bodies[0] if len(self.bodies) == 1 else f"{self.common} ({', '.join(self.bodies)})"
        what = f"the {WORDS.get(self.parameter, self.parameter)} of {where}"
        if any(abs(d) < 0.3 * self.size or v * d < 0 for v, d in zip(self.value, self.described, strict=True)):
            pairs = [_range(values) for values in (self.value, self.described)]
            return f"{what} is {pairs[0]} {UNITS[self.parameter[0]]}, and {pairs[1]} in your description"
        ratios = [100 * (v / d - 1) for v, d in zip(self.value, self.described, strict=True)]
        word = "above" if min(ratios) > 0 else "below" if max(ratios) < 0 else "off"
        return f"{what} is {_range([abs(r) for r in ratios], '.0f')} % {word} your description"

    @property
    def common(self) -> str:
        """What the names of the bodies have in common."""
        return _without_side(self.bodies[0]).strip("_-. ") or self.bodies[0]

    def as_json(self) -> dict[str, Any]:
        """The entry of ``estimate.json``."""
        own = {**vars(self), "change": self.change}
        return {key: list(x) if isinstance(x, tuple) else x for key, x in own.items()}


def find_contradictions(base: Sequence[BaseParameter]) -> tuple[Contradiction, ...]:
    """Base parameters of bodies, of source data, that differ from the description; the largest first."""
    groups: dict[tuple[str, str], list[tuple[str, float, float, float, float]]] = {}
    for p in base:
        difference = p.value - p.described
        least = max(SIGMA * p.std, RELATIVE * abs(p.described), RELATIVE * p.size)
        if p.kind != "body" or p.source != "data" or abs(difference) <= least:
            continue
        body, parameter = p.name.rsplit(".", 1)
        entry = (body, p.value, p.described, abs(difference) / max(p.std, 1e-300), p.size)
        groups.setdefault((parameter, _without_side(body)), []).append(entry)
    return tuple(sorted((_grouped(k[0], v) for k, v in groups.items()), key=lambda c: -max(map(abs, c.change))))


def _grouped(parameter: str, entries: Iterable[tuple[str, float, float, float, float]]) -> Contradiction:
    bodies, value, described, sigma, sizes = zip(*entries, strict=True)
    return Contradiction(parameter, bodies, value, described, sigma, max(sizes))


def _range(values: Sequence[float], form: str = ".2g") -> str:
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


def _without_side(name: str) -> str:
    return SIDES.sub("", name.replace("_", " ")).strip()
