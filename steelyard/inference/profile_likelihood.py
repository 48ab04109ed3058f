"""Profile intervals of bodies on the boundary of physical consistency.

On the boundary the estimate can move to one side only, and ± 1.96 standard deviations, computed without the cone,
include inconsistent values and have the wrong coverage. The profile interval of a quantity has all its values for which
some body in the cone has

    ‖Rθ − z‖² + ‖K(θ − θ₀)‖² ≤ its minimum + 3.84·κ,

κ the ratio of the quantity's variance (with correlated noise) to that of this objective: away from the boundary it is
the Gaussian interval exactly. Bodies that are not on the boundary are marginalised without their cones, which can only
widen an interval.
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

OUTSIDE = ("least-squares", "linear", "mata")  # methods whose estimate need not be in the cone
THIN = 100.0  # times the margin of consistency: thinner bodies are on the boundary

QUANTILE = NormalDist().inv_cdf(0.5 + 0.5 * CONFIDENCE) ** 2  # of χ² with one degree of freedom


@dataclass(frozen=True)
class Interval:
    """95 % profile intervals of one body."""

    mass: Range  # kg
    com: tuple[Range, ...]  # (3,) m

    def as_json(self) -> dict[str, Any]:
        """Return the entry ``interval`` of ``estimate.json``."""
        return dict(vars(self))


def is_on_boundary(parameters: Array, body: Body) -> bool:
    """Whether a consistent body is as thin as a sheet, or has the least mass."""
    least = inertia.min_eigenvalue(parameters)
    return bool(0 <= least < THIN * inertia.MARGIN * body.size**2) or parameters[0] < 1.01 * mass_floor(body)


@dataclass(frozen=True)
class Profile:
    """The objective as a function of the bodies on the boundary, everything else marginalised."""

    bodies: tuple[Body, ...]
    keep: Array  # indices of their parameters, then of other numbers at their bounds
    information: Information  # about those, data and prior
    best: Array  # their values at the optimum
    scale: Array
    lowest: Array  # bounds of the other numbers

    @classmethod
    def of(
        cls,
        total: Information,
        theta: Array,
        scale: Array,
        bodies: Sequence[tuple[Body, int]],
        others: dict[int, float],
    ) -> Profile | None:
        """Return the profile of ``total``, data and prior together; None if no body is on the boundary.

        ``bodies`` are pairs of a body and the index of its first parameter, ``others`` maps indices to lower bounds.
        """
        thin = [(body, at) for body, at in bodies if is_on_boundary(theta[at : at + 10], body)]
        if not thin:
            return None
        active = [i for i, low in others.items() if theta[i] <= low + 1e-6 * scale[i]]
        keep = np.array([i for _, at in thin for i in range(at, at + 10)] + active)
        lowest = np.array([others[i] for i in active])
        return cls(tuple(b for b, _ in thin), keep, total.marginal(keep), theta[keep], scale[keep], lowest)

    def intervals(self, unc: Uncertainty, total: Information) -> dict[str, Interval]:
        """Return the intervals of masses and centres of mass."""
        intervals = {}
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
                    else (None, None)  # the mass may be zero, and the centre anywhere
                )
                com.append((low, high))
            intervals[body.name] = Interval(mass, tuple(com))
        return intervals

    def _ends(self, gradient: Array, unc: Uncertainty, total: Information) -> Extremes:
        """The region within the quantile, for a quantity with this gradient."""
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
