"""m > 0 and I_C ≻ 0, without the triangle inequality (Ayusawa 8): to reproduce comparisons only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.identify.method import Composed

if TYPE_CHECKING:
    from steelyard.compose.composition import Composition
    from steelyard.compose.prior import Prior
    from steelyard.robot.model import Body


@dataclass(frozen=True)
class Mata(Composed):
    """Positive mass and inertia about the centre of mass; a body may still be physically inconsistent.

    Attributes:
        regularisation: Distance to the prior that is penalised: ``quadratic`` or ``pullback``.

    Examples:
        Names as in ``help(steelyard)``.

        >>> fitted = sy.identify("demo_arm", log, method=sy.Mata(regularisation="pullback"))
        >>> all(body.mass > 0 for body in fitted.estimate.bodies)
        True
    """

    def composition(self, body: Body, prior: Prior) -> Composition:
        """Admissible parameters of a body."""
        from steelyard.compose import positive_inertia

        return positive_inertia.composition(body, prior.scale)
