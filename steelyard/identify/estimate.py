"""The answer as data: parameters of every body, how sure they are, and whether data or prior determined them.

What is said of it (``sentence.py``), what is written of it (``estimate_json.py``) and whether it is to be trusted
(``verdict.py``) stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steelyard import inertia
from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.compose.points_cover import Cover
    from steelyard.identify.division.dividing import Step
    from steelyard.identify.scoring import Score
    from steelyard.inference.bootstrap import Bootstrap
    from steelyard.inference.profile_likelihood import Interval
    from steelyard.inference.quantity_ranges import Ranges
    from steelyard.inference.uncertainty import BaseParameter, BodyVerdict, Verdict
    from steelyard.solve.certify import Certificate


@dataclass(frozen=True)
class BodyEstimate:
    """One moving body."""

    name: str
    links: tuple[str, ...]
    parameters: Array  # (10,)
    std: Array  # (10,) posterior
    std_data: tuple[float | None, ...]  # (10,) by the data alone; None where unbounded
    verdict: BodyVerdict
    size: float  # m
    prior: Array  # (10,) what was believed before
    prior_std: Array  # (10,)
    free: bool = True  # False: held exactly at the description
    carrier: str | None = None  # of a load: the link that carries it, in whose axes its parameters are
    com_std: Array | None = None  # (3,) m, posterior
    interval: Interval | None = None  # of a body at the edge of what can exist, where ± 1.96 std does not hold

    @property
    def consistent(self) -> bool:
        """Physically consistent by the design's test."""
        return inertia.is_consistent(self.parameters, self.size)

    @property
    def mass(self) -> float:
        """kg."""
        return float(self.parameters[0])


@dataclass(frozen=True)
class SensorEstimate:
    """Offsets of one force–torque sensor, fx … mz; None for a component that was not measured."""

    offset: tuple[float | None, ...]  # (6,) N, N·m: reading = truth + offset
    std: tuple[float | None, ...]  # (6,) posterior
    verdicts: tuple[Verdict | None, ...]  # (6,)


@dataclass(frozen=True)
class Total:
    """Mass of the whole robot, which a floating base can tell even where single links stay open."""

    mass: float  # kg
    std: float
    verdict: Verdict
    above: Total | None = None  # of all that is above sensors whose lower part touches something


@dataclass(frozen=True)
class Scale:
    """Where no drive gain is known, masses and gains are known as ratios; their common scale is the description's."""

    doubt: float  # standard deviation of its logarithm, by the prior
    load_std: float | None = None  # kg, of the load's mass if the description's scale were exact


@dataclass(frozen=True)
class Estimate:
    """All that ``estimate.json`` holds."""

    robot: str
    method: str
    equations: str
    bodies: tuple[BodyEstimate, ...]
    joints: Mapping[str, Mapping[str, float | None]]  # joint → viscous, coulomb, armature, offset, gain
    base: tuple[BaseParameter, ...]
    base_condition: float
    rows: int
    objective: float
    fit: Score
    validation: Mapping[str, Score]
    certificate: Certificate
    provenance: Mapping[str, Any]
    notices: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # bodies whose mass no motion could tell from these equations
    blind: str = ""  # what is measured, where that can never tell one body from another: "vertical force alone"
    advice: str = ""
    total: Total | None = None
    truth: Mapping[str, Array] = field(default_factory=dict)  # body → (10,), in simulations
    locked: Mapping[str, float] = field(default_factory=dict)  # joints held at a value, rad or m
    loads: tuple[BodyEstimate, ...] = ()
    scale: Scale | None = None
    sensors: Mapping[str, SensorEstimate] = field(default_factory=dict)
    motors: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)  # coupled ones
    ranges: Ranges | None = None  # whatever the prior
    points: Mapping[str, Cover] = field(default_factory=dict)  # method points: the masses of each free body
    shapes: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)  # body → shapes with masses
    divisions: tuple[Step, ...] = ()  # how they came about
    left_out: str = ""  # what was asked for and not used: "2 of 200 logs could not be read"
    bootstrap: Bootstrap | None = None  # over many logs

    def body(self, name: str) -> BodyEstimate:
        """One body by its name."""
        return next(b for b in self.bodies if b.name == name)

    @property
    def base_count(self) -> int:
        """How many combinations of parameters the data see."""
        return len(self.base)

    @property
    def base_identified(self) -> int:
        """How many of them the data know to 10 % of their natural size."""
        return sum(p.identified for p in self.base)

    @property
    def consistent(self) -> bool:
        """Whether every body is physical."""
        return all(b.consistent for b in (*self.bodies, *self.loads))
