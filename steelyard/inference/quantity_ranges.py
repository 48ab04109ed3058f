"""Guaranteed ranges: the least and the greatest value of a quantity, whatever the prior.

A range is taken over all θ that are physically consistent, all bodies and joint terms together, and that the data do
not refute:

    D(θ) = (θ − θ̂)ᵀ A B⁻¹ A (θ − θ̂) ≤ least D of any consistent θ + χ²,

with A⁻¹BA⁻¹ the covariance of the estimate from the data alone (``uncertainty.compute_uncertainty``), correlated noise
included. χ² is the quantile for one degree of freedom where each range is to hold on its own, and for
as many as there are base parameters where all are to hold together. No prior enters. Each end is a proved bound
(``solve/region.py``): no admissible θ lies beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from steelyard.compose.pseudo_inertia import mass_floor
from steelyard.errors import Finding, note
from steelyard.inference.feasible_set import Allowed, Evidence, make_region
from steelyard.robot.model import Body
from steelyard.solve.extreme import Bound, Extremes
from steelyard.spatial import Array

Which = Literal["none", "masses", "com", "all"]
Range = tuple[float | None, float | None]  # None: no limit on that side

CONFIDENCE = 0.95
DIAGONAL = (0, 2, 5)  # of xx xy yy xz yz zz


@dataclass(frozen=True)
class BodyRange:
    """Ranges of one body; None if not asked for."""

    mass: Range  # kg
    com: tuple[Range, ...] | None = None  # (3,) m
    inertia: tuple[Range, ...] | None = None  # (6,) kg·m², xx xy yy xz yz zz about the body frame's origin
    trace: Range | None = None  # kg·m², of the inertia about the centre of mass

    def as_json(self) -> dict[str, Any]:
        """Return the body's entry in ``ranges`` of ``estimate.json``."""
        return {k: v for k, v in vars(self).items() if v is not None}


@dataclass(frozen=True)
class Ranges:
    """Ranges of all free bodies, and the conditions under which they hold."""

    bodies: Mapping[str, BodyRange]
    total: Range  # kg, of the robot without a load
    confidence: float
    together: bool  # whether all hold simultaneously, or each on its own
    inside: tuple[str, ...]  # bodies whose mass is confined to their box
    misfit: float  # least D of any consistent θ
    freedom: int  # number of base parameters: expected misfit of the true parameters

    @property
    def refuted(self) -> bool:
        """Whether no consistent robot explains the data: the model is then wrong, and the ranges too narrow."""
        from scipy.special import chdtri

        return bool(self.misfit > chdtri(max(self.freedom, 1), 0.001))

    def without_scale(self) -> Ranges:
        """Return the ranges if all masses are known up to a common factor only: centres of mass keep theirs."""
        bodies = {}
        for name, body in self.bodies.items():
            six: tuple[Range, ...] | None = None
            if body.inertia is not None:
                six = tuple((0.0 if k in DIAGONAL else None, None) for k in range(6))
            bodies[name] = BodyRange((0.0, None), body.com, six, None if body.trace is None else (0.0, None))
        return replace(self, bodies=bodies, total=(0.0, None))

    def notices(self, inside: bool) -> list[Finding]:
        """Return notices about the ranges; ``inside``: whether boxes were asked for."""
        notices = []
        if inside and (bare := ", ".join(name for name in self.bodies if name not in self.inside)):
            text = f"ranges of {bare} are not confined to a box: some of their links have no shape"
            notices.append(note("link-without-shapes", bare, text))
        if self.refuted:
            misfit = f"misfit {self.misfit:.3g}, {self.freedom} expected"
            what = "the model is incomplete, and ranges are too narrow"
            text = f"no physically consistent robot explains the data to their noise ({misfit}): {what}"
            notices.append(note("data-not-explained", "ranges", text, misfit=self.misfit, expected=self.freedom))
        return notices

    def as_json(self) -> dict[str, Any]:
        """Return body → quantity → [least, greatest], None for no limit."""
        return {name: body.as_json() for name, body in self.bodies.items()}

    def about_json(self) -> dict[str, Any]:
        """Return the entry ``ranges_about`` of ``estimate.json``."""
        return {k: v for k, v in vars(self).items() if k != "bodies"} | {"refuted": self.refuted}


def format_range(ends: Range, unit: str) -> str:
    """Format a range: 11.2–18.9 kg, at least 3.0 kg, at most 4.0 kg, anything."""
    low, high = ends
    if low is not None and high is not None:
        return f"{format_interval(low, high)} {unit}"
    if high is not None:
        return f"at most {_digits(high, abs(high))} {unit}"
    return f"at least {_digits(low, abs(low))} {unit}" if low else "anything"


def format_interval(low: float, high: float) -> str:
    """Format both ends to the digits that their distance supports, at least two significant ones."""
    first, last = (_digits(end, high - low) for end in (low, high))
    return f"{first}{' to ' if first.startswith('-') else '–'}{last}"


def _digits(value: float, width: float) -> str:
    if abs(value) <= 1e-4 * width:
        return "0"
    decimals = 1 - math.floor(math.log10(min(abs(value), max(width, 1e-6 * abs(value)) / 2)))
    return f"{value:.{max(decimals, 0)}f}"


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
    """Compute the ranges of masses, of centres of mass too, or of all quantities.

    Args:
        data: The data.
        allowed: The constraints.
        which: Quantities.
        held: Mass of the bodies that are not free, kg, which is added to the total.
        together: Whether all ranges are to hold simultaneously.
        confidence: Probability with which a range holds.
        progress: Called with a line of text before each body.
    """
    freedom = len(data.R)
    from scipy.special import chdtri

    region, misfit = make_region(data, allowed, float(chdtri(max(freedom, 1) if together else 1, 1 - confidence)))
    ends, n = Extremes(region), len(region.start)
    bodies = {}
    for k, body in enumerate(allowed.bodies):
        progress(f"ranges: {body.name}, {k + 1} of {len(allowed.bodies)}")
        bodies[body.name] = _body(ends, allowed, body, np.eye(n)[10 * k : 10 * k + 10], which)
    own = np.zeros(n)
    own[[10 * k for k, b in enumerate(allowed.bodies) if b.carrier is None]] = 1.0
    low, high = _range(ends, own, allowed.mass, 0.0) if own.any() else (0.0, 0.0)
    total = (None if low is None else low + held, None if high is None else high + held)
    return Ranges(bodies, total, confidence, together, tuple(sorted(allowed.inside)), misfit, freedom)


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
    """Range of cᵀθ, which is never below ``low``; ``size``: its natural size."""
    least, greatest = ends.maximise(-c), ends.maximise(c)
    below = _top(least, size)
    if below is None or -below <= low:
        return (low if np.isfinite(low) else None, _top(greatest, size))
    return (-below, _top(greatest, size))


def _top(bound: Bound, size: float) -> float | None:
    """The bound; None if more of it than the quantity's natural size is due to the reach."""
    return None if bound.reach_share > size or not np.isfinite(bound.proved) else bound.proved


def _com(ends: Extremes, h: Array, m: Array, least: float, body: Body, box: tuple[float, float]) -> Range:
    """Range of h/m, where the mass is at least ``least``; unlimited, but for the box, if the mass may be zero."""
    low: float | None = float(box[0]) if np.isfinite(box[0]) else None
    high: float | None = float(box[1]) if np.isfinite(box[1]) else None
    if least > mass_floor(body):
        down, up = ends.maximise_ratio(-h, m, least), ends.maximise_ratio(h, m, least)
        lowest, highest = _top(down, body.size), _top(up, body.size)
        low = low if lowest is None else -lowest if low is None else max(low, -lowest)
        high = high if highest is None else highest if high is None else min(high, highest)
    return (low, high)


def _trace(ends: Extremes, unit: Array, com: Sequence[Range], size: float) -> Range:
    """Range of tr I − 2 h·h/m. The maximum is exact; the minimum a bound, better for a narrower range of the centre.

    For c = h/m between low and high, (c − low)(high − c) ≥ 0 gives h·c ≤ (low + high) h − low·high·m, which is linear.
    """
    least, below = 0.0, unit[4] + unit[6] + unit[9]
    if all(low is not None and high is not None for low, high in com):
        for k, (low, high) in enumerate(com):
            assert low is not None and high is not None
            below = below - 2 * ((low + high) * unit[1 + k] - low * high * unit[0])
        least = max(ends.minimise(below).proved, 0.0)
    return (least, _top(ends.maximise_trace(int(np.flatnonzero(unit[0])[0])), size))
