"""Options of the equations; a light module, so that the command line can show them without loading NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from steelyard.equations.filters import Filter
from steelyard.equations.option_field import option, unknown_choices
from steelyard.errors import Finding, UsageError

Equations = Literal["joint", "base", "full", "contact-free"]
Friction = Literal["none", "viscous", "coulomb", "armature", "all"]


@dataclass(frozen=True)
class EquationOptions:
    """Which equations and parameters; the defaults suit most logs."""

    base: Literal["auto", "fixed", "floating"] = option("auto", "Whether the base is fixed or floating.")
    equations: Literal["auto", "joint", "base", "full", "contact-free"] = option("auto", "Which equations of motion.")
    friction: Friction = option("none", "Joint terms identified along with the links.")
    links: tuple[str, ...] = option(
        (), "Bodies to identify (L,…); the others are held at the description.", metavar="L,…"
    )
    feet: tuple[str, ...] = option((), "Frames that may be in contact; also F:point:RADIUS, F:surface.", metavar="F,…")
    lock: Mapping[str, float] = option(dict, "Hold a joint at a value (rad or m).", metavar="J=Q")
    filter: Filter = field(default_factory=Filter)
    gravity: tuple[float, float, float] | None = option(None, "Gravity of a tilted fixed base, m/s².", metavar="X Y Z")
    repair_prior: bool = option(False, "Repair inconsistent bodies of the description.")

    def __post_init__(self) -> None:
        if findings := list(self.findings()):
            raise UsageError(findings)

    def findings(self) -> Iterator[Finding]:
        """Faults of the options themselves."""
        yield from unknown_choices(self)
        for joint, value in self.lock.items():
            if not math.isfinite(value):
                yield Finding("option-value", f"lock={joint}={value}", "is not a finite number", "Give rad or m")
        if self.gravity is not None and not all(math.isfinite(g) for g in self.gravity):
            where = f"gravity={' '.join(map(str, self.gravity))}"
            yield Finding("option-value", where, "has a component that is not finite", "Give three numbers in m/s²")
        if self.feet and self.equations not in ("auto", "contact-free"):
            what = (
                f"unknown forces of feet are projected out in contact-free equations only, not in {self.equations} ones"
            )
            fix = "Leave feet out, or use equations='contact-free'"
            remedy = {"equations": "contact-free"}
            yield Finding("option-conflict", f"feet={','.join(self.feet)}", what, fix, remedy)
