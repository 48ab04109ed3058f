"""All physically consistent bodies: the pseudo-inertia is positive definite, one linear matrix inequality a body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from steelyard.equations.option_field import option, unknown_choice
from steelyard.errors import Finding, note
from steelyard.identify.method import Composed, Posed

if TYPE_CHECKING:
    from steelyard.compose.composition import Composition
    from steelyard.compose.prior import Prior
    from steelyard.identify.options import Options
    from steelyard.robot.model import Body
    from steelyard.solve.problem import Entropy


@dataclass(frozen=True)
class Lmi(Composed):
    """The default: the optimum over all physically consistent bodies.

    Attributes:
        regularisation: Distance to the prior that is penalised: ``quadratic``, ``pullback`` or ``entropic``.
        inside: ``ellipsoid``: all mass lies inside an ellipsoid around each body's box; None: anywhere.

    Examples:
        Names as in ``help(steelyard)``.

        >>> result = sy.identify("demo_arm", log, method=sy.Lmi(inside="ellipsoid"))
        >>> result.estimate.consistent, result.estimate.certificate.holds
        (True, True)
    """

    online: ClassVar[bool] = True
    entropic: ClassVar[bool] = True

    inside: Literal["ellipsoid"] | None = option(
        None,
        "All mass inside an ellipsoid around each body's box (method lmi).",
        flag="--ellipsoid",
        type=bool,
        parse=lambda given: "ellipsoid" if given else None,
    )

    @property
    def has_profile(self) -> bool:
        """Whether all physically consistent bodies are admissible."""
        return self.regularisation != "entropic" and self.inside is None

    def findings(self) -> Iterator[Finding]:
        """Faults of the method's own options."""
        yield from super().findings()
        if self.inside not in (None, "ellipsoid"):
            yield unknown_choice("inside", self.inside, ("ellipsoid",))

    def refusals(self, options: Options) -> Iterator[Finding]:
        """Options that conflict with this method."""
        yield from super().refusals(options)
        if self.regularisation == "entropic" and options.prior_space != "all":
            what = "is not available with regularisation='entropic'"
            fix = "Use regularisation='quadratic'"
            remedy = {"regularisation": "quadratic"}
            yield Finding("option-conflict", f"prior_space={options.prior_space}", what, fix, remedy)

    def composition(self, body: Body, prior: Prior) -> Composition:
        """Admissible parameters of a body."""
        from steelyard.compose import pseudo_inertia, realisable

        consistent = pseudo_inertia.composition(body, prior.scale)
        return realisable.confine(consistent, body) if self.inside and body.carrier is None else consistent

    def entropies(self, posed: Posed) -> tuple[Entropy, ...]:
        """Entropic penalties in place of the prior's quadratic ones; a load has none."""
        from steelyard import inertia
        from steelyard.solve.problem import Entropy

        if self.regularisation != "entropic":
            return ()
        mean, gamma = posed.prior.mean, posed.prior.gamma
        own = [10 * k for k, body in enumerate(posed.bodies) if body.carrier is None]
        return tuple(Entropy(at, inertia.pseudo(mean[at : at + 10]), gamma) for at in own)

    def notices(self, posed: Posed) -> tuple[Finding, ...]:
        """A notice about described bodies whose mass is not within the ellipsoid."""
        from steelyard.compose import realisable

        own = [b for b in posed.bodies if self.inside and b.carrier is None]
        out = ", ".join(b.name for b in own if realisable.ellipsoid_row(b) @ b.parameters < 0)
        text = f"as described, the mass of {out} reaches out of the ellipsoid around its box"
        return (note("mass-outside-ellipsoid", out, text),) if out else ()
