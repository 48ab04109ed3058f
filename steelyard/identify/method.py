"""What a method is: an object with its own options that turns data and prior into parameters, and proves them.

A file in ``methods/`` is a method; its name is the file's. ``methods/linear.py`` is the one to copy.
"""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from steelyard.equations.option_field import option, unknown_choice, unknown_choices
from steelyard.errors import Finding, UsageError

if TYPE_CHECKING:
    import numpy as np

    from steelyard.compose.composition import Assembly, Composition
    from steelyard.compose.points_cover import Cover
    from steelyard.compose.prior import Prior
    from steelyard.equations.setup import Setup
    from steelyard.identify.division.dividing import Refined
    from steelyard.identify.options import Options
    from steelyard.information import Information
    from steelyard.robot.model import Body
    from steelyard.solve.certify import Certificate
    from steelyard.solve.problem import Entropy, LinearConstraints, Problem, Solution

Progress = Callable[[str], None]
Source = Literal["structure", "data"]

MOST = 5000  # unknowns of all bodies


@dataclass(frozen=True)
class Posed:
    """What a method is asked: free parameters, ten a body, then others, about which data and prior say something."""

    data: Information
    prior: Prior  # about the same; its K as strongly as it pulls
    bodies: tuple[Body, ...]
    positive: np.ndarray | None = None  # (n − 10·bodies,) which of the others are never negative; None: none is
    setup: Setup | None = None  # the robot they belong to; None: bodies alone
    theta: np.ndarray | None = None  # (N,) all its parameters, those that are not free as they are held
    total_mass: float | None = None  # kg, where the robot was weighed
    save: Path | None = None  # where a problem without an answer is written
    progress: Progress = field(default=lambda _: None)


class Answer(NamedTuple):
    """What a method makes of it."""

    theta: np.ndarray  # (n,)
    certificate: Certificate
    notices: tuple[str, ...] = ()
    refined: Refined | None = None  # of bodies made of shapes


@dataclass(frozen=True)
class Method(ABC):
    """What a link may be, and how the best such robot is found."""

    pulled: ClassVar[bool] = True  # whether the prior pulls the estimate, rather than speak where the data are silent
    online: ClassVar[bool] = False  # whether every answer is physical, so that it may be asked inside a control loop

    def __post_init__(self) -> None:
        if findings := list(self.findings()):
            raise UsageError(findings)

    @property
    def name(self) -> str:
        """As the command line has it."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @property
    def has_profile(self) -> bool:
        """Whether the optimum is that of all physical bodies, so that intervals at their edge can be profiled."""
        return False

    def findings(self) -> Iterator[Finding]:
        """All that is wrong with the method's own options."""
        yield from unknown_choices(self)

    def refusals(self, options: Options) -> Iterator[Finding]:
        """Options that make no sense with this method."""
        yield from ()

    def refuse_load(self) -> Iterator[Finding]:
        """Why this method cannot weigh an unknown load, if it cannot."""
        yield from ()

    def shapes(self, setup: Setup) -> dict[str, Any]:
        """Shapes that bodies are made of to begin with, where the method has any; refused where they do not fit."""
        return {}

    def covers(self, setup: Setup, prior: Prior) -> tuple[dict[str, Cover], list[str]]:
        """How each free body is covered by single masses, where it is made of such; and what is to be said of it."""
        return {}, []

    @abstractmethod
    def solve(self, posed: Posed) -> Answer:
        """Parameters and their certificate."""


@dataclass(frozen=True)
class Pulled(Method):
    """A method whose estimate the prior pulls."""

    entropic: ClassVar[bool] = False  # whether it takes the entropic pull

    regularisation: Literal["quadratic", "pullback", "entropic"] = option(
        "quadratic", "How the prior pulls; entropic with method lmi only."
    )

    def findings(self) -> Iterator[Finding]:
        """All that is wrong with the method's own options."""
        yield from super().findings()
        if self.regularisation == "entropic" and not self.entropic:
            what, fix = f"is not available with method {self.name}", "Use method='lmi', or regularisation='pullback'"
            yield Finding("option-conflict", "regularisation=entropic", what, fix, {"method": "lmi"})

    def refusals(self, options: Options) -> Iterator[Finding]:
        """Options that make no sense with this method."""
        if options.prior == "none" and self.regularisation != "quadratic":
            what = "regularises towards the prior, and prior='none'"
            yield Finding("option-conflict", f"regularisation={self.regularisation}", what, "Leave one of them out")


@dataclass(frozen=True)
class Composed(Pulled):
    """A method whose bodies are compositions, each on its own: one convex problem, solved and proved at once."""

    @abstractmethod
    def composition(self, body: Body, prior: Prior) -> Composition:
        """What a body may be; ``prior`` is about it alone."""

    def entropies(self, posed: Posed) -> tuple[Entropy, ...]:
        """Entropic pulls in place of the prior's quadratic ones."""
        return ()

    def extra(self, posed: Posed) -> tuple[Information, LinearConstraints, tuple[str, ...]]:
        """The data with what is known besides, linear rows, and notices."""
        from steelyard.solve.problem import LinearConstraints

        return posed.data, LinearConstraints(), ()

    def solve(self, posed: Posed) -> Answer:
        """Parameters and their certificate."""
        problem, assembly, notices = self.problem(posed)
        solution, proof = self.optimum(problem, posed)
        return Answer(assembly.map @ solution.theta, proof, (*notices, *self.notices(posed)))

    def problem(self, posed: Posed) -> tuple[Problem, Assembly, tuple[str, ...]]:
        """The convex problem, the map from its unknowns to θ, and notices."""
        import numpy as np

        from steelyard.compose import prior as priors
        from steelyard.compose.composition import Assembly
        from steelyard.information import Information
        from steelyard.solve.problem import Problem

        prior, entropies, K = posed.prior, self.entropies(posed), posed.prior.K.copy()
        for entropy in entropies:
            K[entropy.at : entropy.at + 10] *= priors.NEGLIGIBLE
        data, extra, notices = self.extra(posed)
        total = data + Information(Information.of(K, K @ prior.mean).triangle, 0, data.names)
        parts = [self.composition(b, prior.about(np.arange(10 * k, 10 * k + 10))) for k, b in enumerate(posed.bodies)]
        if (count := sum(p.size for p in parts)) > MOST:
            what = f"has {count} unknowns for all bodies, more than the limit of {MOST}"
            fix = "Use fewer per body, or identify fewer links"
            raise UsageError(Finding("problem-too-large", f"method={self.name}", what, fix))
        assembly = Assembly((*parts, others_of(posed)))
        whole = total.through(assembly.map)
        if np.any(weight := assembly.ridge):
            pull = Information.of(np.diag(weight), weight * assembly.reference)
            whole = whole + Information(pull.triangle, 0, whole.names)
        rows = assembly.rows + extra
        scale, start = assembly.scale, assembly.start
        return Problem(whole, scale, start, assembly.cones, assembly.lower, entropies, rows), assembly, notices

    def optimum(self, problem: Problem, posed: Posed) -> tuple[Solution, Certificate]:
        """The optimum and its proof."""
        from steelyard.solve.solve import certified

        return certified(problem, save=posed.save)

    def notices(self, posed: Posed) -> tuple[str, ...]:
        """What a reader should know about the answer."""
        return ()


def others_of(posed: Posed) -> Composition:
    """What is no body: joint terms and offsets, with their bounds."""
    import numpy as np

    from steelyard.compose.composition import bounded

    rest = slice(10 * len(posed.bodies), posed.data.n)
    mean, scale = posed.prior.mean[rest], posed.prior.scale[rest]
    positive = np.zeros(len(mean), bool) if posed.positive is None else posed.positive
    start = np.where(positive, np.maximum(mean, 1e-3 * scale), mean)
    return bounded(start, scale, np.where(positive, 0.0, -np.inf))


def method_names() -> tuple[str, ...]:
    """All methods there are: the files of ``methods/``."""
    from steelyard.identify import methods

    found = (m.name for m in pkgutil.iter_modules(methods.__path__) if not m.ispkg)
    return tuple(sorted(name.replace("_", "-") for name in found))


def method_type(name: str) -> type[Method]:
    """The class of a method by its name."""
    if name not in method_names():
        raise UsageError(unknown_choice("method", name, method_names()))
    module = import_module(f"steelyard.identify.methods.{name.replace('-', '_')}")
    own = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, Method)]
    return next(x for x in own if x.__module__ == module.__name__)
