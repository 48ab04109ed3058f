"""Options of identification that all methods share; those of one method live in that method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.option_field import option, unknown_choice, unknown_choices
from steelyard.errors import Finding, UsageError
from steelyard.identify.method import Method, method_names, method_type


@dataclass(frozen=True)
class Options(EquationOptions):
    """How to identify; the defaults suit most logs. ``method`` is an object, or its name for its defaults.

    Attributes:
        base: ``auto``, ``fixed`` or ``floating``.
        equations: Equations of motion: ``auto``, ``joint``, ``base``, ``full`` or ``contact-free``.
        friction: Joint terms identified along with the links: ``none``, ``viscous``, ``coulomb`` (with viscous),
            ``armature`` (with both), ``all`` (with an offset).
        links: Bodies to identify, the others are held at the description; empty: all.
        feet: Frames that may be in contact; also ``FRAME:point:RADIUS`` (m), ``FRAME:surface``.
        lock: Joint → value at which it is held, rad or m.
        filter: Cut-off frequencies, rate and delay.
        gravity: (3,) m/s² in world axes, of a tilted fixed base; None: (0, 0, −9.81).
        repair_prior: Whether to replace inconsistent bodies of the description by the nearest consistent ones.
        method: Which bodies are admissible, and the solver.
        prior: ``cad``: the description; ``box``: a uniform box of its mass; ``none``.
        prior_space: Where the prior acts: ``all``, or only in the null space of the ``structure`` or of the ``data``.
        prior_width: Standard deviation of the prior: in proportion to a body's ``inertia``, or to its ``box``.
        prior_weight: Weight of the prior on bodies.
        total_mass: kg, of all moving bodies, from a scale.
        robust: Whether large residuals count less (Huber loss).
        hold_out: s: every third block of this length is held out of the fit, and predicted.
        despite: Codes of errors of the diagnosis that do not refuse a log; the answer is then not trusted.

    Examples:
        Names as in ``help(steelyard)``.

        >>> options = sy.Options(friction="viscous", links=("forearm_link",), method="points")
        >>> options.solver
        Points(regularisation='quadratic', per_edge=3, within='box', ridge=0.001)
        >>> sy.identify("demo_arm", log, options).estimate["upper_arm_link"].free
        False
    """

    method: Method | str = option("lmi", "Which bodies are admissible, and the solver.")
    prior: Literal["cad", "box", "none"] = option("cad", "Prior: the description, a uniform box of its mass, or none.")
    prior_space: Literal["all", "structure", "data"] = option(
        "all", "Where the prior acts: everywhere, or only in the null space of the structure, or of the data."
    )
    prior_width: Literal["inertia", "box"] = option(
        "inertia", "Standard deviation of the prior: in proportion to a body's inertia, or to its box."
    )
    prior_weight: float = option(1.0, "Weight of the prior on bodies.", metavar="X")
    total_mass: float | None = option(None, "Total mass of all moving bodies, from a scale.", metavar="KG")
    robust: bool = option(False, "Huber loss: large residuals count less.")
    hold_out: float | None = option(
        None, "Hold every third S seconds of each log out of the fit, and predict them.", metavar="S"
    )
    despite: tuple[str, ...] = option(
        (), "Fit despite findings with these codes; the answer is not trusted.", metavar="CODE,…"
    )

    def __post_init__(self) -> None:
        if isinstance(self.method, str) and self.method in method_names():
            object.__setattr__(self, "method", method_type(self.method)())
        super().__post_init__()

    @property
    def solver(self) -> Method:
        """The method as an object."""
        assert isinstance(self.method, Method)
        return self.method

    def findings(self) -> Iterator[Finding]:
        """Faults of the options themselves."""
        yield from super().findings()
        if self.hold_out is not None and not 0 < self.hold_out < math.inf:
            yield Finding("option-value", f"hold_out={self.hold_out}", "must be > 0", "Give the length of a block in s")
        if self.total_mass is not None and not 0 < self.total_mass < math.inf:
            yield Finding("option-value", f"total_mass={self.total_mass}", "must be > 0", "Give kg")
        if not 0 < self.prior_weight < math.inf:
            fix = "Give a positive factor; prior='none' leaves the prior out"
            yield Finding("option-value", f"prior_weight={self.prior_weight}", "must be > 0 and finite", fix)
        if isinstance(self.method, Method):
            yield from self.method.refusals(self)
        else:
            yield unknown_choice("method", self.method, method_names())

    def as_json(self) -> dict[str, Any]:
        """The entry of the provenance."""

        def of(name: str, default: Any) -> Any:
            return getattr(self.solver, name, default)

        return {
            "links": list(self.links),
            "prior": self.prior,
            "friction": self.friction,
            "robust": self.robust,
            "regularisation": of("regularisation", "quadratic"),
            "hold_out": self.hold_out,
            "despite": list(self.despite),
            "realisable": of("inside", None) is not None,
            "total_mass": self.total_mass,
            "hard_mass": of("hard_mass", False),
            "symmetric": list(of("symmetric", ())),
            "null_space": of("null_space", "structure") if self.prior_space == "all" else self.prior_space,
            "prior_space": "all" if self.prior_space == "all" else "null",
            "prior_width": self.prior_width,
            "prior_weight": self.prior_weight,
            "points": of("per_edge", 3),
            "points_in": of("within", "box"),
            "point_ridge": of("ridge", 1e-3),
        }


@dataclass(frozen=True)
class RangeOptions:
    """Guaranteed ranges, whatever the prior.

    Attributes:
        of: ``none``, ``masses``, ``com`` (masses too) or ``all``.
        inside: Whether the mass of each body lies in the box of its shapes.
        together: Whether all ranges hold at once with 95 %, rather than each on its own.

    Examples:
        Names as in ``help(steelyard)``.

        >>> job = sy.Job(ranges=sy.RangeOptions(of="masses"))
        >>> low, high = sy.identify("demo_arm", log, job=job).estimate.ranges.bodies["forearm_link"].mass  # kg
        >>> bool(low < truth["forearm_link"][0] < high)
        True
    """

    of: Literal["none", "masses", "com", "all"] = option(
        "none", "Guaranteed ranges, whatever the prior: of masses, of com too, or of all.", flag="--ranges"
    )
    inside: bool = option(False, "Ranges: the mass of each body lies in the box of its shapes.", flag="--ranges-inside")
    together: bool = option(
        False, "Ranges: all hold at once with 95 %, rather than each on its own.", flag="--ranges-together"
    )

    def __post_init__(self) -> None:
        if findings := list(unknown_choices(self)):
            raise UsageError(findings)
