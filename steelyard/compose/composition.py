"""A parametrisation of a body: its ten parameters are a linear map of unknowns that lie in a cone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import block_diag

from steelyard.solve.problem import Cone, LinearConstraints
from steelyard.spatial import Array


@dataclass(frozen=True)
class Composition:
    """The bodies θ = map·x with Σₖ xₖF[k] ⪰ 0 for each of the cones, x ≥ lower and rows·x ≥ 0."""

    map: Array  # (10, k)
    start: Array  # (k,) strictly feasible
    scale: Array  # (k,) natural size of each x
    cones: tuple[Array, ...] = ()  # each (k, p, p), symmetric
    lower: Array = field(default_factory=lambda: np.zeros(0))  # (k,), −inf: no bound; empty: none at all
    ridge: Array = field(default_factory=lambda: np.zeros(0))  # (k,) of ‖ridge ∘ (x − reference)‖²/2; empty: none
    reference: Array = field(default_factory=lambda: np.zeros(0))  # (k,) centre of the ridge penalty; empty: zero
    rows: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (r, k)
    complete: bool = True  # whether any ten parameters are map·x for some x, feasible or not
    consistent: bool = True  # whether every feasible x is a physically consistent body

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.map.shape[1])


@dataclass(frozen=True)
class Assembly:
    """The compositions of all bodies, their unknowns stacked in one vector x."""

    parts: tuple[Composition, ...]

    @property
    def map(self) -> Array:
        """(n, k), block diagonal: θ = map·x."""
        return np.asarray(block_diag(*(p.map for p in self.parts)))

    @property
    def start(self) -> Array:
        """(k,) a strictly feasible x."""
        return np.concatenate([p.start for p in self.parts])

    @property
    def scale(self) -> Array:
        """(k,) natural size of each x."""
        return np.concatenate([p.scale for p in self.parts])

    @property
    def ridge(self) -> Array:
        """(k,) weights of the ridge penalty, zero where a part has none."""
        return np.concatenate([p.ridge if p.ridge.size else np.zeros(p.size) for p in self.parts])

    @property
    def reference(self) -> Array:
        """(k,) centre of the ridge penalty."""
        return np.concatenate([p.reference if p.reference.size else np.zeros(p.size) for p in self.parts])

    @property
    def offsets(self) -> Sequence[int]:
        """Index of each part's first unknown."""
        return [int(at) for at in np.cumsum([0, *(p.size for p in self.parts[:-1])])]

    @property
    def cones(self) -> tuple[Cone, ...]:
        """The matrix inequalities of all parts."""
        return tuple(Cone(at, F) for at, p in zip(self.offsets, self.parts, strict=True) for F in p.cones)

    @property
    def rows(self) -> LinearConstraints:
        """The linear inequalities rows·x ≥ 0 of all parts."""
        return LinearConstraints.of(block_diag(*(p.rows if p.rows.size else np.zeros((0, p.size)) for p in self.parts)))

    @property
    def lower(self) -> dict[int, float]:
        """Index of an unknown → its lower bound."""
        return {
            at + k: float(low)
            for at, p in zip(self.offsets, self.parts, strict=True)
            for k, low in enumerate(p.lower)
            if np.isfinite(low)
        }


def bounded(start: Array, scale: Array, lower: Array) -> Composition:
    """Return plain unknowns with lower bounds: joint terms and sensor offsets."""
    return Composition(np.eye(len(start)), start, scale, (), lower)
