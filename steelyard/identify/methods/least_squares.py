"""Least squares on the base parameters; the null space is taken from the description (Ayusawa 30–32)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from steelyard.equations.option_field import option
from steelyard.identify.method import Answer, Method, Posed, Source

if TYPE_CHECKING:
    import numpy as np

    from steelyard.information import Information
    from steelyard.solve.certify import Certificate


@dataclass(frozen=True)
class LeastSquares(Method):
    """Base parameters from the data alone, the null space from the description; bodies may be inconsistent.

    Attributes:
        null_space: Which null space keeps the description: of the ``structure``, or of the ``data``.

    Examples:
        Names as in ``help(steelyard)``.

        >>> fitted = sy.identify("demo_arm", log, method=sy.LeastSquares(null_space="data"))
        >>> fitted.estimate.method, fitted.estimate.consistent
        ('least-squares', False)
    """

    regularised: ClassVar[bool] = False

    null_space: Source = option("structure", "Null space of method least-squares: of the structure, or of the data.")

    def solve(self, posed: Posed) -> Answer:
        """Parameters and their certificate."""
        from steelyard.identify.solving import excited_subspace
        from steelyard.solve.solve import least_squares

        assert posed.setup is not None, "least squares needs a robot"
        space = excited_subspace(posed.setup, posed.data, posed.prior.scale, self.null_space)
        basis = space.seen if self.null_space == "structure" else posed.prior.scale[:, None] * space.V
        before = posed.prior.mean
        theta = least_squares(posed.data, before, basis)
        return Answer(theta, _certify(posed.data, before, theta, basis))


def _certify(data: Information, reference: np.ndarray, theta: np.ndarray, basis: np.ndarray) -> Certificate:
    """Certificate in the coordinates y of θ = reference + basis·y."""
    import numpy as np

    from steelyard.information import Information
    from steelyard.solve.certify import certify
    from steelyard.solve.problem import Problem, Solution

    y = np.linalg.lstsq(basis, theta - reference, rcond=None)[0]
    posed = Problem(Information.of(data.R @ basis, data.z - data.R @ reference), np.ones(len(y)), np.zeros(len(y)))
    return replace(certify(posed, Solution(y, (), {}, "", "solved")), solver="least-squares", unknowns=len(y))
