"""What a method is: an object with its own options that estimates parameters from data and prior, and certifies them.

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

MAX_UNKNOWNS = 5000  # of all bodies


@dataclass(frozen=True)
class Posed:
    """The problem that a method solves, in the free parameters: ten a body, then joint terms and sensor offsets."""

    data: Information
    prior: Prior  # on the same parameters; K includes all weights
    bodies: tuple[Body, ...]
    positive: np.ndarray | None = None  # (n − 10·bodies,) which parameters after the bodies' are ≥ 0; None: none
    setup: Setup | None = None  # the robot they belong to; None: bodies alone
    theta: np.ndarray | None = None  # (N,) all its parameters, with the values at which some are held
    total_mass: float | None = None  # kg, where the robot was put on a scale
    save: Path | None = None  # where a problem without a certified solution is written
    progress: Progress = field(default=lambda _: None)


class Answer(NamedTuple):
    """The solution of a method."""

    theta: np.ndarray  # (n,)
    certificate: Certificate
    notices: tuple[Finding, ...] = ()
    refined: Refined | None = None  # of bodies made of shapes


@dataclass(frozen=True)
class Method(ABC):
    """Which bodies are admissible, and how the best robot of such bodies is computed."""

    regularised: ClassVar[bool] = True  # whether the prior regularises the estimate, or only fills the null space
    online: ClassVar[bool] = False  # whether every estimate is physically consistent, as a control loop needs it

    def __post_init__(self) -> None:
        if findings := list(self.findings()):
            raise UsageError(findings)

    @property
    def name(self) -> str:
        """Name on the command line: that of the file."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @property
    def has_profile(self) -> bool:
        """Whether all physically consistent bodies are admissible, so that profile intervals exist on the boundary."""
        return False

    def findings(self) -> Iterator[Finding]:
        """Faults of the method's own options."""
        yield from unknown_choices(self)

    def refusals(self, options: Options) -> Iterator[Finding]:
        """Options that conflict with this method."""
        yield from ()

    def refuse_load(self) -> Iterator[Finding]:
        """Why this method cannot identify an unknown load, if it cannot."""
        yield from ()

    def shapes(self, setup: Setup) -> dict[str, Any]:
        """Initial shapes of bodies, where the method has any; refused where they do not fit."""
        return {}

    def covers(self, setup: Setup, prior: Prior) -> tuple[dict[str, Cover], list[Finding]]:
        """How point masses cover each free body, where the method has any; and notices about that."""
        return {}, []

    @abstractmethod
    def solve(self, posed: Posed) -> Answer:
        """Parameters and their certificate."""


@dataclass(frozen=True)
class Regularised(Method):
    """A method whose estimate the prior regularises."""

    entropic: ClassVar[bool] = False  # whether it supports entropic regularisation

    regularisation: Literal["quadratic", "pullback", "entropic"] = option(
        "quadratic", "Distance to the prior that is penalised; entropic with method lmi only."
    )

    def findings(self) -> Iterator[Finding]:
        """Faults of the method's own options."""
        yield from super().findings()
        if self.regularisation == "entropic" and not self.entropic:
            what, fix = f"is not available with method {self.name}", "Use method='lmi', or regularisation='pullback'"
            yield Finding("option-conflict", "regularisation=entropic", what, fix, {"method": "lmi"})

    def refusals(self, options: Options) -> Iterator[Finding]:
        """Options that conflict with this method."""
        if options.prior == "none" and self.regularisation != "quadratic":
            what = "regularises towards the prior, and prior='none'"
            yield Finding("option-conflict", f"regularisation={self.regularisation}", what, "Leave one of them out")


@dataclass(frozen=True)
class Composed(Regularised):
    """A method whose bodies are independent compositions: one convex problem, solved and certified."""

    @abstractmethod
    def composition(self, body: Body, prior: Prior) -> Composition:
        """Admissible parameters of a body; ``prior`` is on that body alone."""

    def entropies(self, posed: Posed) -> tuple[Entropy, ...]:
        """Entropic penalties in place of the prior's quadratic ones."""
        return ()

    def extra(self, posed: Posed) -> tuple[Information, LinearConstraints, tuple[Finding, ...]]:
        """The data with further information, linear constraints, and notices."""
        from steelyard.solve.problem import LinearConstraints

        return posed.data, LinearConstraints(), ()

    def solve(self, posed: Posed) -> Answer:
        """Parameters and their certificate."""
        problem, assembly, notices = self.problem(posed)
        solution, proof = self.optimum(problem, posed)
        return Answer(assembly.map @ solution.theta, proof, (*notices, *self.notices(posed)))

    def problem(self, posed: Posed) -> tuple[Problem, Assembly, tuple[Finding, ...]]:
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
        if (count := sum(p.size for p in parts)) > MAX_UNKNOWNS:
            what = f"has {count} unknowns for all bodies, more than the limit of {MAX_UNKNOWNS}"
            fix = "Use fewer per body, or identify fewer links"
            raise UsageError(Finding("problem-too-large", f"method={self.name}", what, fix))
        assembly = Assembly((*parts, compose_joint_terms(posed)))
        whole = total.through(assembly.map)
        if np.any(weight := assembly.ridge):
            ridge = Information.of(np.diag(weight), weight * assembly.reference)
            whole = whole + Information(ridge.triangle, 0, whole.names)
        rows = assembly.rows + extra
        scale, start = assembly.scale, assembly.start
        return Problem(whole, scale, start, assembly.cones, assembly.lower, entropies, rows), assembly, notices

    def optimum(self, problem: Problem, posed: Posed) -> tuple[Solution, Certificate]:
        """The optimum and its certificate."""
        from steelyard.solve.solve import solve_certified

        return solve_certified(problem, save=posed.save)

    def notices(self, posed: Posed) -> tuple[Finding, ...]:
        """Notices about the estimate."""
        return ()


def compose_joint_terms(posed: Posed) -> Composition:
    """Joint terms and sensor offsets, with their bounds."""
    import numpy as np

    from steelyard.compose.composition import bounded

    rest = slice(10 * len(posed.bodies), posed.data.n)
    mean, scale = posed.prior.mean[rest], posed.prior.scale[rest]
    positive = np.zeros(len(mean), bool) if posed.positive is None else posed.positive
    start = np.where(positive, np.maximum(mean, 1e-3 * scale), mean)
    return bounded(start, scale, np.where(positive, 0.0, -np.inf))


def method_names() -> tuple[str, ...]:
    """Names of all methods: the files of ``methods/``."""
    from steelyard.identify import methods

    modules = (m.name for m in pkgutil.iter_modules(methods.__path__) if not m.ispkg)
    return tuple(sorted(name.replace("_", "-") for name in modules))


def method_type(name: str) -> type[Method]:
    """The class of a method by its name."""
    if name not in method_names():
        raise UsageError(unknown_choice("method", name, method_names()))
    module = import_module(f"steelyard.identify.methods.{name.replace('-', '_')}")
    own = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, Method)]
    return next(x for x in own if x.__module__ == module.__name__)
