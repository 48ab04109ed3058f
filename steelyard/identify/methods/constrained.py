"""Jovic's quadratic programme (4): boxes for centres of mass, linearised inertias, total mass and symmetry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from steelyard.equations.option_field import option
from steelyard.errors import Finding
from steelyard.identify.method import Answer, Composed, Posed

if TYPE_CHECKING:
    from steelyard.compose.composition import Composition
    from steelyard.compose.prior import Prior
    from steelyard.identify.options import Options
    from steelyard.information import Information
    from steelyard.robot.model import Body
    from steelyard.solve.problem import LinearConstraints

DESCRIBED_TOTAL = 0.05  # standard deviation of the description's total mass, as a share of it


@dataclass(frozen=True)
class Constrained(Composed):
    """Linear constraints, refined by cutting planes; bodies that stay inconsistent are repaired (``repair.py``).

    Attributes:
        regularisation: Distance to the prior that is penalised: ``quadratic`` or ``pullback``.
        symmetric: Bodies that mirror each other, ``LEFT=RIGHT``, or ``auto``.
        hard_mass: Whether the total mass holds exactly, rather than as a measurement.

    Examples:
        Names as in ``help(steelyard)``.

        >>> exact = sy.identify("demo_arm", log, method=sy.Constrained(hard_mass=True), total_mass=31.3)  # kg
        >>> round(sum(body.mass for body in exact.estimate.bodies), 3)
        31.3
    """

    symmetric: tuple[str, ...] = option(
        (), "Bodies that mirror each other, or auto (method constrained).", metavar="L=R,…"
    )
    hard_mass: bool = option(False, "The total mass holds exactly (method constrained).")

    def refusals(self, options: Options) -> Iterator[Finding]:
        """Options that conflict with this method."""
        yield from super().refusals(options)
        if options.prior == "none":
            what = "leaves method constrained without the regularisation that makes its optimum unique"
            fix = "Use prior='cad' with a small prior_weight"
            yield Finding("option-conflict", "prior=none", what, fix, {"prior": "cad"})

    def composition(self, body: Body, prior: Prior) -> Composition:
        """Admissible parameters of a body."""
        from steelyard.compose import boxed

        return boxed.composition(body, prior.scale)

    def extra(self, posed: Posed) -> tuple[Information, LinearConstraints, tuple[Finding, ...]]:
        """Total mass, soft or hard, and symmetric pairs: as information and linear constraints on free parameters."""
        import numpy as np

        from steelyard.information import Information
        from steelyard.robot.symmetry import find_mirrored_pairs
        from steelyard.solve.problem import LinearConstraints

        if posed.setup is None or posed.theta is None:
            return posed.data, LinearConstraints(), ()
        setup, theta, data = posed.setup, posed.theta, posed.data
        columns, free, known = setup.columns, setup.free, setup.known
        own = [b for b in setup.robot.bodies if b.carrier is None]
        masses = np.zeros((1, columns.n))
        masses[0, [columns.body(b.name).start for b in own]] = 1.0
        described = float(sum(b.parameters[0] for b in own))
        E, e, notices = list[np.ndarray](), list[float](), tuple[Finding, ...]()
        if self.hard_mass:
            E, e = [masses[0]], [described if posed.total_mass is None else posed.total_mass]
        elif posed.total_mass is None:  # a total from a scale is already in the data
            weight = 1 / (DESCRIBED_TOTAL * described)
            row = Information.of(weight * masses, np.array([weight * described])).given(known, theta[known])
            data = data + replace(row, rows=0, names=data.names)
        if self.symmetric:
            mirrored, notices = find_mirrored_pairs(setup.robot, self.symmetric)
            for pair in mirrored:
                rows = np.zeros((4, columns.n))
                rows[:, columns.body(pair.left)], rows[:, columns.body(pair.right)] = pair.rows
                E, e = [*E, *rows], [*e, *np.zeros(4)]
        if not E:
            return data, LinearConstraints(), notices
        A, b = np.stack(E), np.array(e)
        b = b - A[:, known] @ theta[known]
        matters = np.any(A[:, free] != 0, axis=1)  # both of a pair may be held
        return data, LinearConstraints.of(A[matters][:, free], b[matters], equal=True), notices

    def solve(self, posed: Posed) -> Answer:
        """Parameters and their certificate."""
        from steelyard.identify import repair

        problem, _, notices = self.problem(posed)
        theta, proof, repaired = repair.solve(problem, posed.bodies, posed.save)
        return Answer(theta, proof, (*notices, *repair.notices(posed.bodies, repaired)))
