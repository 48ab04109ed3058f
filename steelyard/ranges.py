"""Guaranteed ranges: how small and how large a quantity can be, whatever the prior.

A range is the least and the greatest value over all θ that are physically consistent, all bodies and joint terms
together, and that the data do not refute:

    D(θ) = (θ − θ̂)ᵀ A B⁻¹ A (θ − θ̂) ≤ least D of any consistent θ + χ²,

with A⁻¹BA⁻¹ the covariance of what the data say (``identifiable.uncertainty``): rows count for what they are worth,
correlated noise included. χ² is the quantile for one degree of freedom where each range is to hold on its own, and for
as many as there are base parameters where all are to hold together. No prior enters. Each end is a proved bound
(``solve/region``): nothing that is allowed lies beyond it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2

from steelyard import geometry, inertia
from steelyard.compose.pseudo_inertia import SOLVER_MARGIN, lmi, mass_floor
from steelyard.identifiable import Subspace
from steelyard.information import Information
from steelyard.robot import Body
from steelyard.solve import conic
from steelyard.solve.extreme import Bound, Extremes
from steelyard.solve.problem import Cone, Problem
from steelyard.solve.region import Reach, Region

Array = np.ndarray
Which = Literal["none", "masses", "com", "all"]
Range = tuple[float | None, float | None]  # None: no limit on that side

CONFIDENCE = 0.95
DIAGONAL = (0, 2, 5)  # of xx xy yy xz yz zz
FAR = 100.0  # times the whole described robot: nothing heavier or larger is considered; an end set by that is none
LEAST_NOISE = 0.2  # of white noise: short logs cannot show that noise cancels better than this (``noise.Noise.factor``)
TIE = 1e-3  # weight of the description among consistent θ that fit alike: it picks one of them and no more


@dataclass(frozen=True)
class BodyRange:
    """Of one body; None where it was not asked for."""

    mass: Range  # kg
    com: tuple[Range, ...] | None = None  # (3,) m
    inertia: tuple[Range, ...] | None = None  # (6,) kg·m², xx xy yy xz yz zz about the body frame's origin
    trace: Range | None = None  # kg·m², of the inertia about the centre of mass

    def as_json(self) -> dict[str, Any]:
        """The entry under ``ranges``."""
        return {k: v for k, v in vars(self).items() if v is not None}


@dataclass(frozen=True)
class Ranges:
    """Of all free bodies, and what they hold for."""

    bodies: Mapping[str, BodyRange]
    total: Range  # kg, of the robot without a load
    confidence: float
    together: bool  # all at once, rather than each on its own
    inside: tuple[str, ...]  # bodies whose mass was taken to lie in their box
    misfit: float  # least D of any consistent θ
    freedom: int  # number of base parameters: what the misfit of the truth itself would be, on average

    @property
    def refuted(self) -> bool:
        """Whether no consistent robot explains the data: then the model is wrong, and ranges are too narrow."""
        return bool(self.misfit > chi2.ppf(0.999, max(self.freedom, 1)))

    def without_scale(self) -> Ranges:
        """The same where all masses are known but for a common factor: only centres of mass keep their limits."""
        bodies = {}
        for name, body in self.bodies.items():
            six: tuple[Range, ...] | None = None
            if body.inertia is not None:
                six = tuple((0.0 if k in DIAGONAL else None, None) for k in range(6))
            bodies[name] = BodyRange((0.0, None), body.com, six, None if body.trace is None else (0.0, None))
        return replace(self, bodies=bodies, total=(0.0, None))

    def as_json(self) -> dict[str, Any]:
        """Body → quantity → [least, greatest], None where there is no limit."""
        return {name: body.as_json() for name, body in self.bodies.items()}

    def about_json(self) -> dict[str, Any]:
        """What goes beside ``ranges``."""
        return {k: v for k, v in vars(self).items() if k != "bodies"} | {"refuted": self.refuted}


def spoken(ends: Range, unit: str) -> str:
    """A range in words: 11.2–18.9 kg, at least 3.0 kg, at most 4.0 kg, anything."""
    low, high = ends
    if low is not None and high is not None:
        return f"{between(low, high)} {unit}"
    if high is not None:
        return f"at most {_digits(high, abs(high))} {unit}"
    return f"at least {_digits(low, abs(low))} {unit}" if low else "anything"


def between(low: float, high: float) -> str:
    """Two ends, to the digits that their distance supports and two of their own."""
    first, last = (_digits(end, high - low) for end in (low, high))
    return f"{first}{' to ' if first.startswith('-') else '–'}{last}"


def _digits(value: float, width: float) -> str:
    if abs(value) <= 1e-4 * width:
        return "0"
    decimals = 1 - math.floor(math.log10(min(abs(value), max(width, 1e-6 * abs(value)) / 2)))
    return f"{value:.{max(decimals, 0)}f}"


@dataclass(frozen=True)
class Evidence:
    """What the data say, each direction scaled to unit variance: D(θ) = ‖Rθ − z‖²."""

    R: Array  # (r, n)
    z: Array  # (r,)

    @classmethod
    def of(cls, space: Subspace, info: Information, meat: Array) -> Evidence:
        """From the information A = RᵀR and the long-run covariance B = ``meat`` of its right-hand side."""
        half = space.scale[:, None] * (space.V / space.values)
        w, Q = np.linalg.eigh(half.T @ (0.5 * (meat + meat.T)) @ half)
        root = (Q / np.sqrt(np.maximum(w, LEAST_NOISE))).T
        return cls(root @ (space.values[:, None] * space.V.T / space.scale), root @ (info.R @ half).T @ info.z)

    def misfit(self, theta: Array) -> float:
        """D."""
        return float(np.sum((self.R @ theta - self.z) ** 2))


@dataclass(frozen=True)
class Allowed:
    """What a θ must be besides: ten entries a body from the first on, then numbers that may have a lowest value."""

    bodies: tuple[Body, ...]
    lowest: Mapping[int, float]  # index → value
    scale: Array  # (n,) natural sizes
    others: Array  # (n − 10·bodies,) a guess at the other entries, above their lowest values
    mass: float  # kg, of the whole described robot
    length: float  # m, of its largest body
    inside: frozenset[str] = frozenset()  # bodies whose mass lies in their box

    @property
    def guess(self) -> Array:
        """(n,) strictly allowed: what is described, or spread evenly over the box where it must lie inside."""
        parts = [
            geometry.box_inertia(b.parameters[0], b.box) if b.name in self.inside else b.parameters for b in self.bodies
        ]
        return np.concatenate([*parts, self.others])

    @property
    def boxes(self) -> tuple[Cone, ...]:
        """Linear inequalities as cones of order one."""
        found = []
        for k, body in enumerate(self.bodies):
            unit = self.scale[10 * k : 10 * k + 10]
            rows = box_rows(body.box) if body.name in self.inside else ()
            found += [Cone(10 * k, (row / np.linalg.norm(row * unit))[:, None, None]) for row in rows]
        return tuple(found)

    def cones(self, margin: float) -> tuple[Cone, ...]:
        """A matrix inequality a body."""
        return tuple(Cone(10 * k, lmi(b, margin)) for k, b in enumerate(self.bodies))


def box_rows(box: geometry.Box) -> Iterator[Array]:
    """Rows (10,) with rowᵀθ ≥ 0 for any mass distribution in a box: ∫ pq ρ dx with p, q ≥ 0 the distances of two faces.

    With them the centre of mass is in the box, and the density is realisable in the ellipsoid around it.
    """
    faces = [(np.append(axis, -low), np.append(-axis, high)) for axis, low, high in zip(np.eye(3), *box, strict=True)]
    pairs = [*faces, *(pair for f, g in itertools.combinations(faces, 2) for pair in itertools.product(f, g))]
    for p, q in pairs:
        yield np.einsum("kij,i,j->k", inertia.PSEUDO_BASIS, p, q)


def make_region(data: Evidence, allowed: Allowed, quantile: float) -> tuple[Region, float]:
    """All allowed θ with D within ``quantile`` of the least there is; and that least D."""
    scale, guess, boxes = allowed.scale, allowed.guess, allowed.boxes
    K = TIE * np.diag(1 / scale)
    posed = Information.of(np.vstack([data.R, K]), np.concatenate([data.z, K @ guess]))
    cones = (*allowed.cones(SOLVER_MARGIN), *boxes)
    best = _inside(conic.solve(Problem(posed, scale, guess, cones, dict(allowed.lowest))).theta, guess, cones, allowed)
    least = data.misfit(best)  # of a θ that is allowed: if another fits better still, ranges are a little wide
    share = 1.0  # of the guess, which lies well inside: as much as the data leave room for
    while data.misfit(best + share * (guess - best)) > least + 0.5 * quantile:
        share *= 0.7
    rows = np.zeros((len(allowed.lowest) + len(boxes), len(guess)))
    rows[np.arange(len(allowed.lowest)), list(allowed.lowest)] = 1.0
    for row, cone in zip(rows[len(allowed.lowest) :], boxes, strict=True):
        row[cone.at : cone.at + 10] = cone.F[:, 0, 0]
    levels = np.append(list(allowed.lowest.values()), np.zeros(len(boxes)))
    bodies = range(0, 10 * len(allowed.bodies), 10)
    others = {i: FAR * float(scale[i]) for i in range(10 * len(allowed.bodies), len(guess))}
    reach = Reach(tuple(bodies), FAR * allowed.mass, allowed.length, others)
    start, radius = best + share * (guess - best), float(np.sqrt(least + quantile))
    return Region(data.R, data.z, radius, scale, start, allowed.cones(inertia.MARGIN), rows, levels, reach), least


def _inside(theta: Array, guess: Array, cones: Sequence[Cone], allowed: Allowed) -> Array:
    """θ, moved towards the guess until it is allowed to the last digit."""
    for share in (0.0, *np.logspace(-10, -1, 10)):
        moved = theta + share * (guess - theta)
        above = all(moved[i] >= low for i, low in allowed.lowest.items())
        if above and all(np.linalg.eigvalsh(c.value(moved))[0] >= 0 for c in cones):
            return np.asarray(moved)
    return guess


def find_ranges(
    data: Evidence,
    allowed: Allowed,
    which: Which = "all",
    *,
    held: float = 0.0,
    together: bool = False,
    confidence: float = CONFIDENCE,
    progress: Callable[[str], None] = lambda _: None,
) -> Ranges:
    """Ranges of masses, of centres of mass too, or of all; ``held``: mass of bodies that are not free, kg."""
    freedom = len(data.R)
    region, misfit = make_region(data, allowed, float(chi2.ppf(confidence, max(freedom, 1) if together else 1)))
    ends, n = Extremes(region), len(region.start)
    found = {}
    for k, body in enumerate(allowed.bodies):
        progress(f"ranges: {body.name}, {k + 1} of {len(allowed.bodies)}")
        found[body.name] = _body(ends, allowed, body, np.eye(n)[10 * k : 10 * k + 10], which)
    own = np.zeros(n)
    own[[10 * k for k, b in enumerate(allowed.bodies) if b.carrier is None]] = 1.0
    low, high = _range(ends, own, allowed.mass, 0.0) if own.any() else (0.0, 0.0)
    total = (None if low is None else low + held, None if high is None else high + held)
    return Ranges(found, total, confidence, together, tuple(sorted(allowed.inside)), misfit, freedom)


def _body(ends: Extremes, allowed: Allowed, body: Body, unit: Array, which: Which) -> BodyRange:
    mass = _range(ends, unit[0], float(body.parameters[0]), 0.0)
    if which == "masses":
        return BodyRange(mass)
    boxes = zip(*body.box, strict=True) if body.name in allowed.inside else [(-np.inf, np.inf)] * 3
    com = tuple(_com(ends, h, unit[0], mass[0] or 0.0, body, box) for h, box in zip(unit[1:4], boxes, strict=True))
    if which == "com":
        return BodyRange(mass, com)
    size = float(body.parameters[0]) * body.size**2
    about_origin = tuple(_range(ends, u, size, 0.0 if k in DIAGONAL else -np.inf) for k, u in enumerate(unit[4:]))
    return BodyRange(mass, com, about_origin, _trace(ends, unit, com, size))


def _range(ends: Extremes, c: Array, size: float, low: float) -> Range:
    """Both ends of cᵀθ, which is never below ``low``; ``size``: its natural size."""
    least, greatest = ends.least(c), ends.greatest(c)
    below = low if least.proved <= low else None if least.far > size else least.proved
    return (below, _top(greatest, size))


def _top(bound: Bound, size: float) -> float | None:
    return None if bound.far > size or not np.isfinite(bound.proved) else bound.proved


def _com(ends: Extremes, h: Array, m: Array, least: float, body: Body, box: tuple[float, float]) -> Range:
    """Of h/m, where the mass is at least ``least``; a body that may weigh nothing may have its centre anywhere."""
    low: float | None = float(box[0]) if np.isfinite(box[0]) else None
    high: float | None = float(box[1]) if np.isfinite(box[1]) else None
    if least > mass_floor(body):
        down, up = ends.greatest_ratio(-h, m, least), ends.greatest_ratio(h, m, least)
        lowest, highest = _top(down, body.size), _top(up, body.size)
        low = low if lowest is None else -lowest if low is None else max(low, -lowest)
        high = high if highest is None else highest if high is None else min(high, highest)
    return (low, high)


def _trace(ends: Extremes, unit: Array, com: Sequence[Range], size: float) -> Range:
    """Of tr I − 2 h·h/m. Its greatest value is exact; the least is a bound, the better the narrower the centre's range.

    For c = h/m between low and high, (c − low)(high − c) ≥ 0 gives h·c ≤ (low + high) h − low·high·m, which is linear.
    """
    least, below = 0.0, unit[4] + unit[6] + unit[9]
    if all(low is not None and high is not None for low, high in com):
        for k, (low, high) in enumerate(com):
            assert low is not None and high is not None
            below = below - 2 * ((low + high) * unit[1 + k] - low * high * unit[0])
        least = max(ends.least(below).proved, 0.0)
    return (least, _top(ends.greatest_trace(int(np.flatnonzero(unit[0])[0])), size))
