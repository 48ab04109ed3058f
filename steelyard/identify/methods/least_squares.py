"""Least squares on the base parameters; the rest is the description's (Ayusawa 30–32)."""

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
    """The data alone where they see anything, the description where they do not; bodies may be unphysical."""

    pulled: ClassVar[bool] = False

    null_space: Source = option("structure", "Where least-squares takes the unseen directions from.")

    def solve(self, posed: Posed) -> Answer:
        """Parameters and their certificate."""
        from steelyard.identify.solving import seen_space
        from steelyard.solve.solve import least_squares

        assert posed.setup is not None, "least squares is about a robot"
        space = seen_space(posed.setup, posed.data, posed.prior.scale, self.null_space)
        basis = space.seen if self.null_space == "structure" else posed.prior.scale[:, None] * space.V
        before = posed.prior.mean
        theta = least_squares(posed.data, before, basis)
        return Answer(theta, _certify(posed.data, before, theta, basis))


def _certify(data: Information, reference: np.ndarray, theta: np.ndarray, basis: np.ndarray) -> Certificate:
    """The proof of the problem in the coordinates y of θ = reference + basis·y."""
    import numpy as np

    from steelyard.information import Information
    from steelyard.solve.certify import certify
    from steelyard.solve.problem import Problem, Solution

    y = np.linalg.lstsq(basis, theta - reference, rcond=None)[0]
    posed = Problem(Information.of(data.R @ basis, data.z - data.R @ reference), np.ones(len(y)), np.zeros(len(y)))
    return replace(certify(posed, Solution(y, (), {}, "", "solved")), solver="least-squares", unknowns=len(y))
