"""Positive masses, and no other condition on a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.identify.method import Composed

if TYPE_CHECKING:
    from steelyard.compose.composition import Composition
    from steelyard.compose.prior import Prior
    from steelyard.robot.model import Body


@dataclass(frozen=True)
class Linear(Composed):
    """Least squares with positive masses: bodies may be physically inconsistent, and are reported as such.

    Attributes:
        regularisation: Distance to the prior that is penalised: ``quadratic`` or ``pullback``.

    Examples:
        Names as in ``help(steelyard)``.

        >>> fitted = sy.identify("demo_arm", log, method=sy.Linear())
        >>> [body.name for body in fitted.estimate.bodies if not body.consistent]
        ['forearm_link']
    """

    def composition(self, body: Body, prior: Prior) -> Composition:
        """Admissible parameters of a body."""
        from steelyard.compose import positive_mass

        return positive_mass.composition(body, prior.scale)
