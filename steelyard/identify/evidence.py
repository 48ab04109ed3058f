"""What blocks of the logs show about an estimate, as data; ``block_evidence.py`` computes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.inference.residual_structure import Structure


@dataclass(frozen=True)
class HeldOut:
    """Error of predictions of held-out blocks, relative to the measurement, both filtered."""

    description: float  # of the description, with joint terms fitted as those of the estimate
    identified: float  # of the estimate


@dataclass(frozen=True)
class Evidence:
    """What blocks of the logs show; empty where logs were read once and their rows not kept."""

    blocks: int = 0
    seconds: float = 0.0  # length of a block
    explained: Mapping[str, float] = field(default_factory=dict)  # equation → filtered residual over measurement
    structure: Mapping[str, Structure] = field(default_factory=dict)  # equation → predictable part of its residual
    held_out: Mapping[str, HeldOut] = field(default_factory=dict)  # equation → errors on held-out blocks
    pooled: HeldOut | None = None  # of all equations, weighted by their noise
    worse: float | None = None  # probability that the estimate predicts held-out blocks no worse than the description
    spread: float | None = None  # of body parameters between blocks, over their standard deviations
    scale: float | None = None  # of the bodies' torques by the estimate, over those by the description

    def predictable(self, equation: str) -> float:
        """Predictable part of an equation's residual, over its measurement."""
        return sqrt(self.structure[equation].share) * self.explained[equation]

    def as_json(self) -> dict[str, Any] | None:
        """The entry ``held_out`` of ``estimate.json``."""
        if self.pooled is None:
            return None
        return {
            "blocks": self.blocks,
            "seconds": self.seconds,
            "rows": {name: vars(h) for name, h in self.held_out.items()},
            **vars(self.pooled),
        }
