"""How shapes are divided, and when that ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

import numpy as np

from steelyard.compose.divide_shape import MOST_PARTS
from steelyard.errors import Finding, UsageError

Choice = Literal["look-ahead", "criterion", "gradient"]
Axes = Literal["longest", "all"]

_RANGES = {
    "k1": (0, np.inf),
    "k2": (0, np.inf),
    "at_once": (0, np.inf),
    "parts": (2, MOST_PARTS),
    "width": (1, np.inf),
    "patience": (1, np.inf),
    "most": (0, np.inf),
}


@dataclass(frozen=True)
class Rule:
    """How shapes are divided, and when that ends."""

    choose: Choice = "look-ahead"
    k1: float = 1.0  # of (16), with volumes in units of what the body's shapes had to begin with
    k2: float = 0.0
    axes: Axes = "longest"
    at_once: int = 0  # shapes divided in one step; 0: one for every two bodies, and at least one
    parts: int = 2  # that each is divided into
    width: int = 16  # a look-ahead tries at most so many divisions
    prune: bool = True  # sweep empty shapes together
    merge: bool = False  # neighbours of one density are one
    add: bool = False  # cells of the body's box may be added
    tolerance: float = 1e-3  # ε of Algorithm 1, in SI units for each kilogram of the body
    patience: int = 3  # steps in a row that change less than ε
    thorough: bool = True  # and not before all that can be hoped for is less than ε of the objective
    most: int = 200  # steps at most

    def __post_init__(self) -> None:
        hints = get_type_hints(Rule)
        findings = [
            Finding(
                "todo",
                f"division, {name} {value!r}",
                "is not known",
                f"Choose from: {', '.join(get_args(hints[name]))}",
            )
            for name in ("choose", "axes")
            if (value := getattr(self, name)) not in get_args(hints[name])
        ]
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                upper = f" to {most:g}" if most < np.inf else " or more"
                findings.append(
                    Finding("todo", f"division, {name} {value!r}", "is out of range", f"Give {least:g}{upper}")
                )
        if not self.k1 + self.k2 > 0:
            findings.append(Finding("todo", "division, k1 and k2", "are both zero", "Give one of them a weight"))
        if not self.tolerance > 0:
            what = "is no length of a step"
            findings.append(Finding("todo", f"division, tolerance {self.tolerance!r}", what, "Give a number above 0"))
        if findings:
            raise UsageError(findings)
