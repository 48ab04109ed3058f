"""The problem of ``lmi`` in log-Cholesky coordinates, which are unconstrained (Rucker and Wensing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.identify.method import Composed, Posed

if TYPE_CHECKING:
    from steelyard.compose.composition import Composition
    from steelyard.compose.prior import Prior
    from steelyard.robot.model import Body
    from steelyard.solve.certify import Certificate
    from steelyard.solve.problem import Problem, Solution


@dataclass(frozen=True)
class Nonlinear(Composed):
    """The same bodies and optimum as ``lmi``, computed in other coordinates.

    Attributes:
        regularisation: Distance to the prior that is penalised: ``quadratic`` or ``pullback``.

    Examples:
        Names as in ``help(steelyard)``.

        >>> other = sy.identify("demo_arm", log, method=sy.Nonlinear())
        >>> bool(np.allclose(other.theta, result.theta, atol=0.001))
        True
    """

    @property
    def has_profile(self) -> bool:
        """Whether all physically consistent bodies are admissible."""
        return True

    def composition(self, body: Body, prior: Prior) -> Composition:
        """Admissible parameters of a body."""
        from steelyard.compose import pseudo_inertia

        return pseudo_inertia.composition(body, prior.scale)

    def optimum(self, problem: Problem, posed: Posed) -> tuple[Solution, Certificate]:
        """The optimum and its certificate."""
        from steelyard.compose.pseudo_inertia import chart
        from steelyard.solve import log_cholesky_newton
        from steelyard.solve.solve import solve_certified

        backends = (log_cholesky_newton.backend([chart(b) for b in posed.bodies]),)
        return solve_certified(problem, backends=backends, save=posed.save)
