"""Point masses on a fixed grid in each body's box or convex hull (Ayusawa 9–15)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from steelyard.equations.option_field import option
from steelyard.errors import Finding
from steelyard.identify.method import Composed

if TYPE_CHECKING:
    from steelyard.compose.composition import Composition
    from steelyard.compose.points_cover import Cover
    from steelyard.compose.prior import Prior
    from steelyard.equations.setup import Setup
    from steelyard.robot.model import Body

COARSEST, FINEST = 2, 9


def _count(text: str) -> int | str:
    """A number, or the text as typed, which the method checks."""
    return int(text) if text.lstrip("-").isdigit() else text


@dataclass(frozen=True)
class Points(Composed):
    """Non-negative point masses on a grid in each body.

    Attributes:
        regularisation: Distance to the prior that is penalised: ``quadratic`` or ``pullback``.
        per_edge: Points along each edge, 2 to 9, or ``auto``.
        within: Region of the points: the ``box`` of a body's shapes, or their convex ``hull``.
        ridge: Weight of a ridge on each single mass; 0 for none.

    Examples:
        Names as in ``help(steelyard)``.

        >>> result = sy.identify("demo_arm", log, method=sy.Points(per_edge="auto"))
        >>> result.estimate.method, result.estimate.consistent
        ('points', True)
    """

    online: ClassVar[bool] = True

    per_edge: int | Literal["auto"] = option(
        3,
        "Method points: points along each edge, 2 to 9, or auto.",
        flag="--points",
        metavar="N",
        type=str,
        parse=_count,
    )
    within: Literal["box", "hull"] = option("box", "Method points: region of the points.", flag="--points-in")
    ridge: float = option(
        1e-3, "Method points: ridge on each single mass, 0 for none.", flag="--point-ridge", metavar="X"
    )

    def findings(self) -> Iterator[Finding]:
        """Faults of the method's own options."""
        yield from super().findings()
        n = self.per_edge
        if n != "auto" and not (isinstance(n, int) and COARSEST <= n <= FINEST):
            fix = f"Give a number from {COARSEST} to {FINEST} along each edge, or auto"
            yield Finding("option-value", f"per_edge={n}", "is not a number of points", fix)
        if not 0 <= self.ridge < math.inf:
            yield Finding("option-value", f"ridge={self.ridge}", "must be ≥ 0 and finite", "Give a weight")

    def refuse_load(self) -> Iterator[Finding]:
        """Why this method cannot identify an unknown load."""
        what = "needs the region that a body may fill, which is not known of a load"
        yield Finding("method-not-for-loads", "method=points", what, "Use method='lmi'", {"method": "lmi"})

    def covers(self, setup: Setup, prior: Prior) -> tuple[dict[str, Cover], list[Finding]]:
        """Number of points of each free body, and whether they can represent its prior."""
        from steelyard.compose.points_cover import cover, cover_notices

        covers = {
            name: cover(setup.robot.body(name), prior.mean[setup.columns.body(name)], self.per_edge, self.within)
            for name in setup.free_bodies
        }
        return covers, cover_notices(covers, self.within)

    def composition(self, body: Body, prior: Prior) -> Composition:
        """Admissible parameters of a body."""
        from steelyard.compose import mass_points

        return mass_points.composition(
            body, prior.scale, count=self.per_edge, within=self.within, ridge=self.ridge, prior=prior.mean
        )
