"""Requests for exciting motions; imports nothing heavy, so that the command line can list the options at once."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from steelyard.equations.equation_options import Friction
from steelyard.equations.option_field import option
from steelyard.errors import Finding, UsageError

Criterion = Literal["determinant", "condition"]
CLEARANCE = 0.01  # m


@dataclass(frozen=True)
class ArmRequest:
    """A request for one periodic motion of an arm."""

    duration: float = option(10.0, "How long the motion lasts.", metavar="S")
    period: float | None = option(None, "After which it repeats; the duration.", metavar="S")
    harmonics: int = option(5, "Of the Fourier series.", metavar="K")
    speed: float = option(0.8, "Share of the speed limits that may be used.")
    effort: float = option(0.8, "Share of the torque limits that may be used.")
    margin: float = option(0.05, "Share of a joint's range that is left free at each end.")
    clearance: float = option(CLEARANCE, "Between links; 0 switches the collision check off.", metavar="M")
    friction: Friction = option("none", "Joint terms to be excited, too.")
    criterion: Criterion = option("determinant", "Smallest uncertainty, or best condition number.")
    candidates: int = 30  # random motions to start from
    restarts: int = option(4, "Random motions that are optimised.")
    seed: int = 0
    rate: float = option(200.0, "Of the log that is written.", metavar="HZ")
    srdf: str | None = None

    def __post_init__(self) -> None:
        least = {"harmonics": 2, "candidates": 1, "restarts": 1}
        findings = _below_least(self, least)
        above_zero = {"duration": self.duration, "period": self.period, "rate": self.rate}
        findings += [
            Finding("option-value", f"{k}={x}", "must be > 0 and finite", f"Give {'Hz' if k == 'rate' else 'seconds'}")
            for k, x in above_zero.items()
            if x is not None and not 0 < x < math.inf
        ]
        if not findings and abs(math.remainder(self.duration, self.effective_period)) > 1e-6:
            what = f"is not a whole number of periods of {self.effective_period:g} s: the motion would not end at rest"
            whole = max(1, round(self.duration / self.effective_period)) * self.effective_period
            fix = f"Give a multiple of the period: duration={whole:g}"
            findings.append(Finding("option-conflict", f"duration={self.duration:g}", what, fix, {"duration": whole}))
        if not 0 <= self.clearance < math.inf:
            what = "must be ≥ 0 and finite"
            findings.append(Finding("option-value", f"clearance={self.clearance}", what, "Give metres"))
        if findings:
            raise UsageError(findings)

    @property
    def effective_period(self) -> float:
        """Period of the motion, s: the duration where none is given."""
        return self.duration if self.period is None else self.period

    def as_json(self) -> dict[str, Any]:
        """For files; equal requests ask for the same motion."""
        content = {**asdict(self), "period": self.effective_period}
        return _renamed(content, {"duration": "seconds", "candidates": "screened"})


@dataclass(frozen=True)
class HumanoidRequest:
    """A request for several motions of a humanoid on its feet."""

    candidates: int = 120  # random motions to start from
    motions: int = option(12, "Humanoid: how many to choose.")
    choice: Literal["determinant", "links"] = option(
        "determinant", "Humanoid: by all base parameters, or three for each link."
    )
    rounds: int = option(2, "Humanoid: of candidates; later ones move joints of poorly excited parameters.")
    improve: int = option(12, "Humanoid: how many of the chosen ones are improved.")
    seed: int = 0
    feet: tuple[str, ...] = option((), "Humanoid: links of its soles.", metavar="L,R")
    srdf: str | None = None

    def __post_init__(self) -> None:
        least = {"candidates": 1, "motions": 1, "rounds": 1, "improve": 0}
        findings = _below_least(self, least)
        if self.choice not in ("determinant", "links"):
            what, fix = "is not a criterion of choice", "Choose determinant or links"
            findings.append(Finding("option-unknown-choice", f"choice={self.choice}", what, fix))
        if findings:
            raise UsageError(findings)

    def as_json(self) -> dict[str, Any]:
        """For files."""
        return _renamed(asdict(self), {"improve": "improved"})


def _below_least(request: ArmRequest | HumanoidRequest, least: dict[str, int]) -> list[Finding]:
    return [
        Finding("option-value", f"{k}={x}", f"must be ≥ {n}", f"Give {n} or more")
        for k, n in least.items()
        if (x := getattr(request, k)) < n
    ]


def _renamed(content: dict[str, Any], keys: dict[str, str]) -> dict[str, Any]:
    """Keys that files had before the fields were named after their flags."""
    return {keys.get(key, key): x for key, x in content.items()}
