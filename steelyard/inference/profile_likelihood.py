"""Intervals of bodies that end at the edge of what can exist: by profile, not by Gauss.

There the estimate cannot move to one side, and ± 1.96 standard deviations, worked out as if no cone were there, promise
what physics forbids and miss where the mass went. The interval of a quantity is instead all its values at
which some body in the cone still has

    ‖Rθ − z‖² + ‖K(θ − θ₀)‖² ≤ its least + 3.84·κ,

κ the ratio of the quantity's variance (correlated noise included) to what this objective alone would give it: away
from the edge that is the Gaussian interval exactly. Bodies that are not at the edge are left free to fit, their cones
aside: that can only widen an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.compose.pseudo_inertia import lmi, mass_floor
from steelyard.inference.quantity_ranges import CONFIDENCE, Range
from steelyard.inference.uncertainty import Uncertainty
from steelyard.information import Information
from steelyard.robot.model import Body
from steelyard.solve.extreme import Extremes
from steelyard.solve.problem import Cone
from steelyard.solve.region import Region
from steelyard.spatial import Array

OUTSIDE = ("least-squares", "linear", "mata")  # methods whose answer need not be in the cone
THIN = 100.0  # times the margin of consistency: bodies closer to it are at the edge

QUANTILE = NormalDist().inv_cdf(0.5 + 0.5 * CONFIDENCE) ** 2  # of χ² with one degree of freedom


@dataclass(frozen=True)
class Interval:
    """95 % of one body, by profile."""

    mass: Range  # kg
    com: tuple[Range, ...]  # (3,) m

    def as_json(self) -> dict[str, Any]:
        """The entry under ``interval``."""
        return dict(vars(self))


def at_edge(parameters: Array, body: Body) -> bool:
    """Whether a physical body is as thin as a sheet, or weighs as little as a body may."""
    least = inertia.min_eigenvalue(parameters)
    return bool(0 <= least < THIN * inertia.MARGIN * body.size**2) or parameters[0] < 1.01 * mass_floor(body)


@dataclass(frozen=True)
class Profile:
    """The objective about the bodies at the edge alone, everything else fitted."""

    bodies: tuple[Body, ...]
    keep: Array  # indices of their parameters, then of other numbers at their lowest value
    information: Information  # about those; data and prior
    best: Array  # their values at the optimum
    scale: Array
    lowest: Array  # of the other numbers

    @classmethod
    def of(
        cls,
        total: Information,
        theta: Array,
        scale: Array,
        bodies: Sequence[tuple[Body, int]],
        others: dict[int, float],
    ) -> Profile | None:
        """Of data and prior together; ``bodies`` with where they begin, ``others``: index → lowest value.

        None where no body is at the edge.
        """
        thin = [(body, at) for body, at in bodies if at_edge(theta[at : at + 10], body)]
        if not thin:
            return None
        stuck = [i for i, low in others.items() if theta[i] <= low + 1e-6 * scale[i]]
        keep = np.array([i for _, at in thin for i in range(at, at + 10)] + stuck)
        lowest = np.array([others[i] for i in stuck])
        return cls(tuple(b for b, _ in thin), keep, total.marginal(keep), theta[keep], scale[keep], lowest)

    def intervals(self, unc: Uncertainty, total: Information) -> dict[str, Interval]:
        """Of masses and centres of mass."""
        found = {}
        for k, body in enumerate(self.bodies):
            unit = np.eye(len(self.keep))[10 * k : 10 * k + 10]
            p = self.best[10 * k : 10 * k + 10]
            ends = self._ends(unit[0], unc, total)
            mass = (max(ends.minimise(unit[0]).proved, 0.0), ends.maximise(unit[0]).proved)
            com = []
            for h, c in zip(unit[1:4], p[1:4] / p[0], strict=True):
                ends = self._ends(h - c * unit[0], unc, total)
                least = ends.minimise(unit[0]).proved
                low, high = (
                    (ends.minimise_ratio(h, unit[0], least).proved, ends.maximise_ratio(h, unit[0], least).proved)
                    if least > mass_floor(body)
                    else (None, None)  # may weigh nothing: its centre may be anywhere
                )
                com.append((low, high))
            found[body.name] = Interval(mass, tuple(com))
        return found

    def _ends(self, gradient: Array, unc: Uncertainty, total: Information) -> Extremes:
        """All that is within the quantile, for a quantity with this gradient."""
        g = np.zeros(total.n)
        g[self.keep] = gradient
        plain = float(np.sum(np.linalg.solve(total.R.T, g) ** 2))
        more = QUANTILE * float(g @ unc.posterior @ g) / plain
        R, z = self.information.R, self.information.z
        least = float(np.sum((R @ self.best - z) ** 2))
        inner = self.best.copy()
        for k, body in enumerate(self.bodies):
            inner[10 * k : 10 * k + 10] = body.parameters
        others = slice(10 * len(self.bodies), None)
        inner[others] = self.lowest + self.scale[others]
        share = 1.0
        while np.sum((R @ (self.best + share * (inner - self.best)) - z) ** 2) > least + 0.5 * more:
            share *= 0.7
        cones = tuple(Cone(10 * k, lmi(b, inertia.MARGIN)) for k, b in enumerate(self.bodies))
        start = self.best + share * (inner - self.best)
        rows = np.eye(len(self.keep))[others]
        return Extremes(Region(R, z, float(np.sqrt(least + more)), self.scale, start, cones, rows, self.lowest))
