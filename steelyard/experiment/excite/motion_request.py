"""Which motions are asked for; light, so that the command line can show it without loading anything."""

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
    """What is asked of an arm's motion."""

    seconds: float = option(10.0, "How long the motion lasts.", flag="--duration", metavar="S")
    period: float | None = option(None, "After which it repeats; the duration.", metavar="S")
    harmonics: int = option(5, "Of the Fourier series.", metavar="K")
    speed: float = option(0.8, "Share of the speed limits that may be used.")
    effort: float = option(0.8, "Share of the torque limits that may be used.")
    margin: float = option(0.05, "Share of a joint's range that is left free at each end.")
    clearance: float = option(CLEARANCE, "Between links; 0 does not look for contacts.", metavar="M")
    friction: Friction = option("none", "Joint terms that are to be told, too.")
    criterion: Criterion = option("determinant", "Smallest uncertainty, or best condition number.")
    screened: int = 30  # random motions to begin with
    restarts: int = option(4, "Starts that are improved.")
    seed: int = 0
    rate: float = option(200.0, "Of the log that is written.", metavar="HZ")
    srdf: str | None = None

    def __post_init__(self) -> None:
        least = {"harmonics": (self.harmonics, 2), "candidates": (self.screened, 1), "restarts": (self.restarts, 1)}
        bad = _too_few(least)
        above = {"duration": self.seconds, "period": self.repeats_every, "rate": self.rate}
        bad += [
            Finding("todo", f"--{k} {x}", "is no time", "Give seconds above 0" if k != "rate" else "Give Hz above 0")
            for k, x in above.items()
            if not 0 < x < math.inf
        ]
        if not bad and abs(math.remainder(self.seconds, self.repeats_every)) > 1e-6:
            what = f"is no whole number of periods of {self.repeats_every:g} s: the motion would end while it moves"
            bad.append(Finding("todo", f"--duration {self.seconds:g}", what, "Give a multiple of --period"))
        if not 0 <= self.clearance < math.inf:
            bad.append(Finding("todo", f"--clearance {self.clearance}", "is no distance", "Give m, 0 or more"))
        if bad:
            raise UsageError(bad)

    @property
    def repeats_every(self) -> float:
        """s."""
        return self.seconds if self.period is None else self.period

    def as_json(self) -> dict[str, Any]:
        """For files; two that are equal ask for the same motion."""
        return {**asdict(self), "period": self.repeats_every}


@dataclass(frozen=True)
class HumanoidRequest:
    """What is asked of a humanoid's motions."""

    candidates: int = 120  # random motions to begin with
    motions: int = option(12, "Humanoid: how many to choose.")
    choice: Literal["determinant", "links"] = option(
        "determinant", "Humanoid: by all base parameters, or three for each link."
    )
    rounds: int = option(2, "Humanoid: of candidates; later ones move what is told least.")
    improved: int = option(12, "Humanoid: how many of the chosen ones are improved.", flag="--improve")
    seed: int = 0
    feet: tuple[str, ...] = option((), "Humanoid: links of its soles.", metavar="L,R")
    srdf: str | None = None

    def __post_init__(self) -> None:
        least = {
            "candidates": (self.candidates, 1),
            "motions": (self.motions, 1),
            "rounds": (self.rounds, 1),
            "improve": (self.improved, 0),
        }
        bad = _too_few(least)
        if self.choice not in ("determinant", "links"):
            bad.append(Finding("todo", f"--choice {self.choice}", "is not known", "Choose determinant or links"))
        if bad:
            raise UsageError(bad)


def _too_few(counts: dict[str, tuple[int, int]]) -> list[Finding]:
    return [
        Finding("todo", f"--{k} {x}", "is too few", f"Give {least} or more")
        for k, (x, least) in counts.items()
        if x < least
    ]
