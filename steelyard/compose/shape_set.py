"""A body composed of shapes of uniform density and unknown mass (Xu 13–15): θ = Σ mᵢ uᵢ, mᵢ ≥ floorᵢ.

The density covariance of a mixture is no smaller than that of its thinnest part: Σ ⪰ Σᵢ (mᵢ/m) Σᵢ ⪰ minᵢ λ(Σᵢ) 1. So
the body is consistent, with the solvers' margin ε s², if every shape is: thinner ones are thickened initially, and none
is divided into thinner ones. The floors only keep the body's mass above zero. They sum to its least mass, in proportion
to volume; children share their parent's floor as they share its mass, so a division never shrinks the feasible set.

Masses of single shapes are not identifiable: motion depends on ten moments, which many mixtures have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from steelyard.compose.composition import Composition
from steelyard.compose.described import described_shapes, least_variance, thicken
from steelyard.compose.divide_shape import divide
from steelyard.compose.primitives import Cluster, Primitive, combine
from steelyard.compose.prior import body_root
from steelyard.compose.pseudo_inertia import mass_floor
from steelyard.robot.model import Body
from steelyard.solve.nnls import cone_distance
from steelyard.spatial import Array

EMPTY = 1e-7  # of the body's described mass: a shape whose mass exceeds its floor by less is empty
ALIKE = 0.02  # relative difference of densities below which neighbours are merged
FINE = 200  # shapes of one body at most, more than any ten parameters need
RANK = 1e-4  # of the largest singular value, in natural units
TOUCHING = 1e-6  # of the body's size: boxes this near are neighbours


@dataclass(frozen=True, eq=False)
class ShapeSet:
    """The shapes of one body: θ = map·m + removed_parameters."""

    body: Body
    parts: tuple[Primitive, ...]
    floors: Array  # (k,) least mass of each, kg
    removed: tuple[Primitive, ...] = ()  # empty shapes, whose masses are fixed
    removed_masses: Array = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def map(self) -> Array:
        """(10, k) U of Xu (13)."""
        return np.column_stack([p.parameters for p in self.parts])

    @cached_property
    def removed_map(self) -> Array:
        """(10, n) the same of removed shapes."""
        return np.column_stack([p.parameters for p in self.removed]) if self.removed else np.zeros((10, 0))

    @cached_property
    def removed_parameters(self) -> Array:
        """(10,) parameters of the removed shapes."""
        return np.asarray(self.removed_map @ self.removed_masses)

    @property
    def composition(self) -> Composition:
        """The masses with their lower bounds, for solvers."""
        mass, count = float(self.body.parameters[0]), len(self.parts)
        return Composition(self.map, self.floors + mass / count, np.full(count, mass), (), self.floors)

    def divide(
        self, masses: Array, index: int, parts: int = 2, axis: int | None = None
    ) -> tuple[ShapeSet, Array] | None:
        """Divide one shape, with masses that give the same body; None if the children would be too thin."""
        pieces = divide(self.parts[index], parts, axis)
        if min(piece.shape.thinnest for piece in pieces) < least_variance(self.body):
            return None
        shares = np.array([piece.share for piece in pieces])
        return self._replaced([index], [piece.shape for piece in pieces], masses, shares * masses[index], shares)

    def prune(self, masses: Array) -> tuple[ShapeSet, Array]:
        """Reduce the number of shapes without changing the body; empty shapes are removed."""
        masses = self._concentrated(masses)
        empty = masses - self.floors <= EMPTY * self.body.parameters[0]
        if not empty.any() or empty.all():
            return self, masses
        keep, out = np.flatnonzero(~empty), np.flatnonzero(empty)
        return replace(
            self,
            parts=tuple(self.parts[k] for k in keep),
            floors=self.floors[keep],
            removed=self.removed + tuple(self.parts[k] for k in out),
            removed_masses=np.concatenate([self.removed_masses, masses[out]]),
        ), masses[keep]

    def restore(self, shape: Primitive, masses: Array) -> tuple[ShapeSet, Array]:
        """Make the mass of a removed shape an unknown again."""
        k = self.removed.index(shape)
        mass = float(self.removed_masses[k])
        return replace(
            self,
            parts=(*self.parts, shape),
            floors=np.append(self.floors, mass),
            removed=self.removed[:k] + self.removed[k + 1 :],
            removed_masses=np.delete(self.removed_masses, k),
        ), np.append(masses, mass)

    def merge(self, masses: Array, which: Sequence[int]) -> tuple[ShapeSet, Array]:
        """Merge some shapes into one, in the proportions of their present masses."""
        parts, weights = list[Primitive](), list[float]()
        for k in which:
            part, mass = self.parts[k], float(masses[k])
            if isinstance(part, Cluster) and part.kind == "cluster":
                parts += part.parts
                weights += list(mass * part.shares)
            else:
                parts.append(part)
                weights.append(mass)
        whole = combine(parts, weights)
        return self._replaced(which, [whole], masses, np.array([sum(masses[k] for k in which)]), np.ones(1))

    def merge_alike(self, masses: Array) -> tuple[ShapeSet, Array]:
        """Merge neighbours of equal density: their division has distinguished nothing."""
        shapes = self
        while pair := shapes._alike(masses):
            shapes, masses = shapes.merge(masses, pair)
        return shapes, masses

    def add(self, shape: Primitive, masses: Array) -> tuple[ShapeSet, Array]:
        """Add a shape of zero mass and no floor."""
        return replace(self, parts=(*self.parts, shape), floors=np.append(self.floors, 0.0)), np.append(masses, 0.0)

    def distance(self, target: Array, root: Array) -> float:
        """Return the distance of ten parameters from the cone of these shapes: the least ‖root·(θ − target)‖."""
        return cone_distance(root @ np.hstack([self.map, self.removed_map]), root @ target)

    def _replaced(
        self, out: Sequence[int], new: Sequence[Primitive], masses: Array, new_masses: Array, shares: Array
    ) -> tuple[ShapeSet, Array]:
        """Replace the shapes ``out`` by new ones, appended, which share their floor."""
        keep = [k for k in range(len(self.parts)) if k not in out]
        floor = sum(float(self.floors[k]) for k in out)
        parts = (*(self.parts[k] for k in keep), *new)
        floors = np.concatenate([self.floors[keep], shares * floor])
        return replace(self, parts=parts, floors=floors), np.concatenate([masses[keep], new_masses])

    def _concentrated(self, masses: Array) -> Array:
        """Concentrate the same body in at most ten shapes (Carathéodory); the others are at their floors.

        Moving the masses along a null vector of their columns leaves θ unchanged, until one after the other is empty.
        """
        excess = np.maximum(masses - self.floors, 0.0)
        size = self.body.size
        columns = self.map / np.array([1.0] + [size] * 3 + [size**2] * 6)[:, None]
        while True:
            used = np.flatnonzero(excess > EMPTY * self.body.parameters[0])
            _, s, Vt = np.linalg.svd(columns[:, used])
            if len(used) <= np.sum(s > 1e-12 * s.max(initial=0.0)):
                return np.asarray(self.floors + excess)
            direction = Vt[-1] * (1.0 if Vt[-1].max() >= -Vt[-1].min() else -1.0)
            falling = direction > 1e-12
            ratios = np.where(falling, excess[used] / np.where(falling, direction, 1.0), np.inf)
            excess[used] = np.maximum(excess[used] - ratios.min() * direction, 0.0)
            excess[used[np.argmin(ratios)]] = 0.0

    def _alike(self, masses: Array) -> tuple[int, int] | None:
        near = TOUCHING * self.body.size
        density = masses / np.array([p.volume for p in self.parts])
        for i, j in combinations(range(len(self.parts)), 2):
            (low, high), (other_low, other_high) = self.parts[i].box, self.parts[j].box
            touching = np.all(low <= other_high + near) and np.all(other_low <= high + near)
            some = min(density[i], density[j]) > 0
            if touching and some and abs(density[i] - density[j]) <= ALIKE * max(density[i], density[j]):
                return i, j
        return None


def composition(body: Body, scale: Array) -> Composition:
    """Return the described shapes of a body, divided until their columns span all ten parameters."""
    shapes = complete(body)
    return replace(shapes.composition, complete=_spans_all(np.linalg.solve(_unit(body), shapes.map)))


def complete(body: Body, given: Sequence[Primitive] = ()) -> ShapeSet:
    """Return the initial shapes, the largest divided until their columns span all ten parameters.

    Those of a thin plate never do: a shape of the least thickness is not divided further.
    """
    shapes = initial(body, given)
    masses, unit = shapes.floors, _unit(body)
    while len(shapes.parts) < FINE and not _spans_all(np.linalg.solve(unit, shapes.map)):
        for k in np.argsort([-part.volume for part in shapes.parts], kind="stable"):
            if (finer := shapes.divide(masses, int(k))) is not None:
                shapes, masses = finer
                break
        else:
            break
    return shapes


def _unit(body: Body) -> Array:
    return body_root(body.parameters, body.size)


def _spans_all(map: Array) -> bool:
    """Whether these columns (10, k) span all ten parameters."""
    s = np.linalg.svd(map, compute_uv=False)
    return len(s) == 10 and bool(s[-1] > RANK * s[0])


def initial(body: Body, given: Sequence[Primitive] = ()) -> ShapeSet:
    """Return the initial shapes: those given, else those of the description."""
    parts = [thicken(part, least_variance(body)) for part in given or described_shapes(body)]
    volumes = np.array([part.volume for part in parts])
    return ShapeSet(body, tuple(parts), mass_floor(body) * volumes / volumes.sum())
