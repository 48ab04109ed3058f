"""Bodies of uniform density whose ten parameters are known in closed form, at any pose (Xu 10–12).

A solid is a canonical one (cube, cylinder, ball, half ball) scaled by its half axes h and placed by R, t. Its centre of
mass is t + R(h ∘ μ) and its density covariance R diag(h² ∘ ν) Rᵀ, with μ and ν those of the canonical one. A convex
polyhedron is a fan of tetrahedra about an inner point o; for one with corners o, a, b, c, and s = a + b + c, all
relative to o,

    V = det[a b c]/6,    ∫x = V s/4,    ∫xxᵀ = V (aaᵀ + bbᵀ + ccᵀ + ssᵀ)/20,    exactly.

Several primitives with fixed shares of one mass are a primitive again: a cylinder with two caps is a capsule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard import inertia
from steelyard.robot.geometry import convex_hull
from steelyard.spatial import Array


class Canon(NamedTuple):
    """A canonical solid, with half axes of 1."""

    volume: float
    mean: Array  # (3,)
    variance: Array  # (3,) about the mean
    lower: Array  # (3,) its lower end along each axis; the upper is 1


CANON = {
    "cuboid": Canon(8.0, np.zeros(3), np.full(3, 1 / 3), -np.ones(3)),
    "cylinder": Canon(2 * np.pi, np.zeros(3), np.array([1 / 4, 1 / 4, 1 / 3]), -np.ones(3)),  # along z
    "ellipsoid": Canon(4 * np.pi / 3, np.zeros(3), np.full(3, 1 / 5), -np.ones(3)),
    "cap": Canon(
        2 * np.pi / 3, np.array([0, 0, 3 / 8]), np.array([1 / 5, 1 / 5, 19 / 320]), np.array([-1.0, -1.0, 0.0])
    ),  # the half of a ball where z > 0
}


_GRID = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))


class Primitive(ABC):
    """A solid of uniform density and unit mass, in the frame of a body."""

    kind: str

    @cached_property
    @abstractmethod
    def _moments(self) -> tuple[float, Array, Array]: ...

    @property
    def volume(self) -> float:
        """Volume, m³."""
        return self._moments[0]

    @property
    def mean(self) -> Array:
        """(3,) centre of mass, m."""
        return self._moments[1]

    @property
    def covariance(self) -> Array:
        """(3, 3) density covariance, m²."""
        return self._moments[2]

    @abstractmethod
    def support(self, direction: Array) -> float:
        """Return the support function in a direction (3,): the greatest direction·x over its points x."""

    @property
    @abstractmethod
    def points(self) -> Array:
        """(n, 3) sample points: its middle, and near its ends in all directions."""

    @abstractmethod
    def placed(self, placement: Array) -> Primitive:
        """Return the same solid in another frame, in which the present frame has the pose ``placement`` (4, 4)."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return kind and dimensions, in SI units and the frame of the body."""

    @cached_property
    def parameters(self) -> Array:
        """(10,) inertial parameters for a mass of 1 kg: u of Xu (12)."""
        return inertia.pack(1.0, self.mean, np.trace(self.covariance) * np.eye(3) - self.covariance)

    @cached_property
    def thinnest(self) -> float:
        """Least eigenvalue of the density covariance, m²."""
        return float(np.linalg.eigvalsh(self.covariance)[0])

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lower and upper corner of its bounding box, in the body's axes."""
        ends = np.array([[self.support(sign * e) for e in np.eye(3)] for sign in (-1.0, 1.0)])
        return -ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class Solid(Primitive):
    """A canonical solid, scaled and placed."""

    kind: str  # key of CANON
    half: Array  # (3,) m
    placement: Array  # (4, 4)

    @property
    def axes(self) -> Array:
        """(3, 3) its axes as columns."""
        return self.placement[:3, :3]

    @property
    def widths(self) -> Array:
        """(3,) extent along its own axes, m."""
        return np.asarray(self.half * (1 - CANON[self.kind].lower))

    @cached_property
    def _moments(self) -> tuple[float, Array, Array]:
        canon, R = CANON[self.kind], self.axes
        mean = self.placement[:3, 3] + R @ (self.half * canon.mean)
        return float(canon.volume * np.prod(self.half)), mean, (R * (self.half**2 * canon.variance)) @ R.T

    def support(self, direction: Array) -> float:
        """Return the 1-norm (cuboid), disc plus 1-norm (cylinder) or 2-norm (ellipsoid) of the scaled direction."""
        d = self.half * (self.axes.T @ direction)
        match self.kind:
            case "cuboid":
                far = np.sum(np.abs(d))
            case "cylinder":
                far = np.hypot(d[0], d[1]) + abs(d[2])
            case "cap":
                far = np.linalg.norm(d) if d[2] > 0 else np.hypot(d[0], d[1])
            case _:
                far = np.linalg.norm(d)
        return float(self.placement[:3, 3] @ direction + far)

    @cached_property
    def points(self) -> Array:
        """A grid of three points along each axis; for round solids projected into them."""
        grid = 0.9 * _GRID
        match self.kind:
            case "cylinder":
                grid[:, :2] /= np.maximum(np.linalg.norm(grid[:, :2], axis=1, keepdims=True) / 0.9, 1.0)
            case "ellipsoid" | "cap":
                grid /= np.maximum(np.linalg.norm(grid, axis=1, keepdims=True) / 0.9, 1.0)
        grid = np.maximum(grid, CANON[self.kind].lower)
        return np.asarray((grid * self.half) @ self.axes.T + self.placement[:3, 3])

    def placed(self, placement: Array) -> Solid:
        """Return the solid with another placement."""
        return Solid(self.kind, self.half, placement @ self.placement)

    def as_json(self) -> dict[str, Any]:
        """Return kind, half axes, origin and axes."""
        return {
            "kind": self.kind,
            "half": self.half.tolist(),
            "position": self.placement[:3, 3].tolist(),
            "rotation": self.axes.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Polyhedron(Primitive):
    """A convex polyhedron by its triangles, counter-clockwise seen from outside."""

    triangles: Array  # (t, 3, 3) corners, m
    axes: Array  # (3, 3) as columns, along which it is measured and cut
    kind: str = "polyhedron"

    @property
    def widths(self) -> Array:
        """(3,) extent along its own axes, m."""
        return np.asarray(np.ptp(self.triangles.reshape(-1, 3) @ self.axes, axis=0))

    @cached_property
    def _moments(self) -> tuple[float, Array, Array]:
        inside = self.triangles.reshape(-1, 3).mean(axis=0)
        corners = self.triangles - inside
        V = np.linalg.det(corners) / 6
        s = corners.sum(axis=1)
        volume = float(V.sum())
        first = V @ s / (4 * volume)
        second = np.einsum("t,tki,tkj->ij", V, corners, corners) + np.einsum("t,ti,tj->ij", V, s, s)
        return volume, inside + first, second / (20 * volume) - np.outer(first, first)

    def support(self, direction: Array) -> float:
        """Return the value at the farthest corner."""
        return float(np.max(self.triangles.reshape(-1, 3) @ direction))

    @cached_property
    def points(self) -> Array:
        """The middle, and the corners farthest along its axes and diagonals, moved slightly inwards."""
        corners = self.triangles.reshape(-1, 3)
        farthest = corners[np.argmax(corners @ self.axes / self.widths @ _GRID[np.any(_GRID != 0, axis=1)].T, axis=0)]
        return np.vstack([self.mean, self.mean + 0.9 * (farthest - self.mean)])

    def placed(self, placement: Array) -> Polyhedron:
        """Return the polyhedron with all corners transformed."""
        R = placement[:3, :3]
        return Polyhedron(self.triangles @ R.T + placement[:3, 3], R @ self.axes)

    def as_json(self) -> dict[str, Any]:
        """Return kind and corners."""
        return {"kind": self.kind, "corners": np.unique(self.triangles.reshape(-1, 3), axis=0).tolist()}


@dataclass(frozen=True, eq=False)
class Cluster(Primitive):
    """Primitives that share one mass in fixed proportions."""

    parts: tuple[Primitive, ...]
    shares: Array  # of the mass, one a part; their sum is 1
    kind: str = "cluster"

    @cached_property
    def _moments(self) -> tuple[float, Array, Array]:
        volumes, means, covariances = (np.array(x) for x in zip(*(p._moments for p in self.parts), strict=True))
        mean = self.shares @ means
        offsets = means - mean  # the covariance is that within the parts and that between them
        within = np.tensordot(self.shares, covariances, axes=1)
        return float(sum(volumes)), mean, within + (offsets.T * self.shares) @ offsets

    def support(self, direction: Array) -> float:
        """Return the largest value of the parts."""
        return max(p.support(direction) for p in self.parts)

    @cached_property
    def points(self) -> Array:
        """The sample points of its parts."""
        return np.vstack([p.points for p in self.parts])

    def placed(self, placement: Array) -> Cluster:
        """Return the cluster with all parts transformed."""
        return Cluster(tuple(p.placed(placement) for p in self.parts), self.shares, self.kind)

    def as_json(self) -> dict[str, Any]:
        """Return kind, parts and their shares of the mass."""
        parts = [{**p.as_json(), "share": float(s)} for p, s in zip(self.parts, self.shares, strict=True)]
        return {"kind": self.kind, "parts": parts}


def cuboid(edges: ArrayLike, placement: Array | None = None) -> Solid:
    """Return a cuboid by its edge lengths, m."""
    return _solid("cuboid", np.asarray(edges, float) / 2, placement)


def cylinder(radius: float, length: float, placement: Array | None = None) -> Solid:
    """Return a cylinder along z of its placement, by radius and length, m."""
    return _solid("cylinder", np.array([radius, radius, length / 2]), placement)


def ellipsoid(half: ArrayLike, placement: Array | None = None) -> Solid:
    """Return an ellipsoid by its half axes, m."""
    return _solid("ellipsoid", np.asarray(half, float), placement)


def sphere(radius: float, placement: Array | None = None) -> Solid:
    """Return a ball by its radius, m: an ellipsoid of equal half axes."""
    return _solid("ellipsoid", np.full(3, radius), placement)


def capsule(radius: float, length: float, placement: Array | None = None) -> Cluster:
    """Return a capsule of uniform density: a cylinder of this length along z between two half balls, m."""
    T = np.eye(4) if placement is None else placement
    caps = []
    for sign in (1.0, -1.0):
        end = np.diag([1.0, sign, sign, 1.0])  # the lower cap is turned over about x
        end[2, 3] = sign * length / 2
        caps.append(_solid("cap", np.full(3, radius), T @ end))
    return combine((cylinder(radius, length, T), *caps), kind="capsule")


def polyhedron(points: ArrayLike, placement: Array | None = None) -> Polyhedron:
    """Return the convex hull of points (n, 3); ValueError if they lie in one plane."""
    T = np.eye(4) if placement is None else placement
    cloud = np.asarray(points, float) @ T[:3, :3].T + T[:3, 3]
    centre = cloud.mean(axis=0)
    hull = convex_hull(cloud - centre)
    corners = cloud[hull.simplices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ti,ti->t", normal, hull.equations[:, :3]) < 0
    corners[inward] = corners[inward][:, ::-1]
    return Polyhedron(corners, T[:3, :3].copy())


def combine(parts: Sequence[Primitive], masses: ArrayLike | None = None, kind: str = "cluster") -> Cluster:
    """Combine primitives into one, in the proportions of ``masses``; of uniform density if not given."""
    weights = np.array([p.volume for p in parts]) if masses is None else np.asarray(masses, float)
    return Cluster(tuple(parts), weights / weights.sum(), kind)


def _solid(kind: str, half: Array, placement: Array | None) -> Solid:
    return Solid(kind, half, np.eye(4) if placement is None else np.asarray(placement, float))
