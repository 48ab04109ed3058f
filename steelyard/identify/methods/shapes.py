"""Bodies of primitive shapes with non-negative masses, divided where that lowers the objective (Xu)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from steelyard.equations.option_field import option
from steelyard.errors import Finding
from steelyard.identify.method import Answer, Posed, Regularised, compose_joint_terms

if TYPE_CHECKING:
    from steelyard.compose.division_rule import Rule
    from steelyard.compose.shape_file import ShapeFile
    from steelyard.equations.setup import Setup


@dataclass(frozen=True)
class Shapes(Regularised):
    """Bodies composed of shapes, which are divided at most ``divisions`` times.

    Attributes:
        regularisation: Distance to the prior that is penalised: ``quadratic`` or ``pullback``.
        start: Initial shapes of links (``docs/shapes.md``): a TOML file, or one that was read; None: those of the
            description.
        divisions: Steps of division at most; None: until the objective no longer decreases.

    Examples:
        Names as in ``help(steelyard)``.

        >>> result = sy.identify("demo_arm", log, method=sy.Shapes(divisions=2))
        >>> [step.k for step in result.estimate.divisions], result.estimate.consistent
        ([0, 1, 2], True)
    """

    online: ClassVar[bool] = True

    start: ShapeFile | str | Path | None = option(
        None, "Method shapes: TOML with initial shapes of links.", flag="--shapes", metavar="FILE", type=Path
    )
    divisions: int | None = option(None, "Method shapes: at most so many divisions.", metavar="N")

    def __post_init__(self) -> None:
        if isinstance(self.start, str | Path):
            from steelyard.compose.shape_file import read_shapes

            object.__setattr__(self, "start", read_shapes(self.start))
        super().__post_init__()

    @property
    def file(self) -> ShapeFile | None:
        """The initial shapes, where they are given."""
        assert not isinstance(self.start, str | Path)
        return self.start

    @property
    def rule(self) -> Rule:
        """How shapes are divided."""
        from steelyard.compose.division_rule import Rule

        rule = Rule() if self.file is None else self.file.rule
        return rule if self.divisions is None else replace(rule, most=self.divisions)

    def findings(self) -> Iterator[Finding]:
        """Faults of the method's own options."""
        yield from super().findings()
        if self.divisions is not None and self.divisions < 0:
            yield Finding(
                "option-value", f"divisions={self.divisions}", "must be ≥ 0", "Give how often to divide at most"
            )

    def shapes(self, setup: Setup) -> dict[str, Any]:
        """Initial shapes by moving body."""
        return {} if self.file is None else self.file.bodies(setup.robot)

    def solve(self, posed: Posed) -> Answer:
        """Solve, divide, solve again."""
        from steelyard.compose import shape_set
        from steelyard.compose.prior import NEGLIGIBLE
        from steelyard.identify.division.dividing import refine
        from steelyard.information import Information

        prior, given = posed.prior, self._given(posed)
        triangle = Information.of(prior.K, prior.K @ prior.mean).triangle
        total = posed.data + Information(triangle, 0, posed.data.names)
        shapes = [shape_set.initial(body, given.get(body.name, ())) for body in posed.bodies]
        refined = refine(total, shapes, compose_joint_terms(posed), self.rule, save=posed.save, progress=posed.progress)
        width = prior.K / NEGLIGIBLE if prior.kind == "none" else prior.K
        return Answer(refined.theta, refined.proof, tuple(refined.notices(prior.mean, width)), refined)

    def _given(self, posed: Posed) -> dict[str, Any]:
        if posed.setup is not None:
            return self.shapes(posed.setup)
        return {} if self.file is None else dict(self.file.links)
