"""What one body may be made of: its ten parameters are a linear map of something that lies in a cone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import block_diag

from steelyard.solve.problem import Cone, LinearConstraints
from steelyard.spatial import Array


@dataclass(frozen=True)
class Composition:
    """θ = map·x, where Σₖ xₖF[k] ⪰ 0 for each of the cones, x ≥ lower and rows·x ≥ 0."""

    map: Array  # (10, k)
    start: Array  # (k,) strictly inside
    scale: Array  # (k,) natural size of each x
    cones: tuple[Array, ...] = ()  # each (k, p, p), symmetric
    lower: Array = field(default_factory=lambda: np.zeros(0))  # (k,), −inf where there is none; () means nowhere
    ridge: Array = field(default_factory=lambda: np.zeros(0))  # (k,) of ‖ridge ∘ (x − reference)‖²/2; () means none
    reference: Array = field(default_factory=lambda: np.zeros(0))  # (k,) where the ridge pulls to; () means zero
    rows: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (r, k)
    complete: bool = True  # whether any ten parameters are map·x for some x, allowed or not
    consistent: bool = True  # whether every member is a body that can exist; ``tests/compose/battery.py`` checks

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.map.shape[1])


@dataclass(frozen=True)
class Assembly:
    """The compositions of all bodies, one after the other, in one set of unknowns."""

    parts: tuple[Composition, ...]

    @property
    def map(self) -> Array:
        """(n, k) θ = map·x."""
        return np.asarray(block_diag(*(p.map for p in self.parts)))

    @property
    def start(self) -> Array:
        """(k,)."""
        return np.concatenate([p.start for p in self.parts])

    @property
    def scale(self) -> Array:
        """(k,)."""
        return np.concatenate([p.scale for p in self.parts])

    @property
    def ridge(self) -> Array:
        """(k,), zero where there is none."""
        return np.concatenate([p.ridge if p.ridge.size else np.zeros(p.size) for p in self.parts])

    @property
    def reference(self) -> Array:
        """(k,) where the ridge pulls to."""
        return np.concatenate([p.reference if p.reference.size else np.zeros(p.size) for p in self.parts])

    @property
    def offsets(self) -> Sequence[int]:
        """Where each part's unknowns begin."""
        return [int(at) for at in np.cumsum([0, *(p.size for p in self.parts[:-1])])]

    @property
    def cones(self) -> tuple[Cone, ...]:
        """All matrix inequalities."""
        return tuple(Cone(at, F) for at, p in zip(self.offsets, self.parts, strict=True) for F in p.cones)

    @property
    def rows(self) -> LinearConstraints:
        """All rows·x ≥ 0."""
        return LinearConstraints.of(block_diag(*(p.rows if p.rows.size else np.zeros((0, p.size)) for p in self.parts)))

    @property
    def lower(self) -> dict[int, float]:
        """Index → bound."""
        return {
            at + k: float(low)
            for at, p in zip(self.offsets, self.parts, strict=True)
            for k, low in enumerate(p.lower)
            if np.isfinite(low)
        }


def bounded(start: Array, scale: Array, lower: Array) -> Composition:
    """Numbers with bounds and nothing else: joint terms and offsets."""
    return Composition(np.eye(len(start)), start, scale, (), lower)
