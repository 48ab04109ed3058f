"""Settings of shape division: which shapes are divided, how, and when that ends (Xu, Algorithm 1)."""

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
    """Which shapes are divided, how, and when division ends.

    Raises:
        UsageError: A value is out of its range.
    """

    choose: Choice = "look-ahead"
    k1: float = 1.0  # of (16), with volumes relative to that of the body's initial shapes
    k2: float = 0.0
    axes: Axes = "longest"
    at_once: int = 0  # shapes divided in a step; 0: one for every two bodies, at least one
    parts: int = 2  # number of children of a shape
    width: int = 16  # number of divisions that a look-ahead tries at most
    prune: bool = True  # remove empty shapes
    merge: bool = False  # merge neighbours of equal density
    add: bool = False  # allow cells of the body's box to be added
    tolerance: float = 1e-3  # ε of Algorithm 1, in SI units for each kilogram of the body
    patience: int = 3  # consecutive steps that change less than ε before division ends
    thorough: bool = True  # nor before the bound on any further decrease is below ε of the objective
    most: int = 200  # steps at most

    def __post_init__(self) -> None:
        hints = get_type_hints(Rule)
        findings = [
            Finding(
                "option-unknown-choice",
                f"division.{name}={value!r}",
                "is not one of the choices",
                f"Choose from: {', '.join(get_args(hints[name]))}",
                {name: None},
            )
            for name in ("choose", "axes")
            if (value := getattr(self, name)) not in get_args(hints[name])
        ]
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                upper = f" to {most:g}" if most < np.inf else " or more"
                where, fix = f"division.{name}={value!r}", f"Give {least:g}{upper}"
                findings.append(Finding("option-value", where, "is out of range", fix, {name: None}))
        if not self.k1 + self.k2 > 0:
            where, fix = "division.k1, division.k2", "Give at least one of them a value above 0"
            findings.append(Finding("option-value", where, "are both zero", fix, {"k1": None}))
        if not self.tolerance > 0:
            where, fix = f"division.tolerance={self.tolerance!r}", "Give a number above 0"
            findings.append(Finding("option-value", where, "must be > 0", fix, {"tolerance": None}))
        if findings:
            raise UsageError(findings)
