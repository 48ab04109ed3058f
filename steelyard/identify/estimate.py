"""The estimate as data: parameters of every body, their uncertainty, and whether data or prior determine them.

Its summary in one sentence is in ``sentence.py``, its JSON in ``estimate_json.py``, whether it can be trusted in
``verdict.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steelyard import inertia
from steelyard.errors import Finding
from steelyard.identify.evidence import Evidence
from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.compose.points_cover import Cover
    from steelyard.equations.columns import Kind
    from steelyard.identify.contradictions import Contradiction
    from steelyard.identify.division.dividing import Step
    from steelyard.identify.scoring import Score
    from steelyard.inference.bootstrap import Bootstrap
    from steelyard.inference.profile_likelihood import Interval
    from steelyard.inference.quantity_ranges import Ranges
    from steelyard.inference.uncertainty import BaseParameter, BodySource, Source
    from steelyard.solve.certify import Certificate


SEEN = 4.0  # standard deviations: model error widens what noise alone explains


@dataclass(frozen=True, repr=False)
class BodyEstimate:
    """Estimate of one moving body."""

    name: str
    links: tuple[str, ...]
    parameters: Array  # (10,)
    std: Array  # (10,) posterior
    std_data: tuple[float | None, ...]  # (10,) from the data alone; None where unbounded
    source: BodySource
    size: float  # m
    prior: Array  # (10,) mean of the prior
    prior_std: Array  # (10,)
    free: bool = True  # False: held at the description
    carrier: str | None = None  # of a load: the link that carries it, in whose axes its parameters are
    com_std: Array | None = None  # (3,) m, posterior
    interval: Interval | None = None  # of a body on the boundary of consistency, where ± 1.96 std does not hold
    exact_std: float | None = None  # kg, of a load's mass, were the common scale exact, where that is unknown
    outside: float = 0.0  # m, of the centre of mass from the body's box; of a load from the link that carries it

    @property
    def consistent(self) -> bool:
        """Whether the body is physically consistent (``inertia.is_consistent``)."""
        return inertia.is_consistent(self.parameters, self.size)

    @property
    def mass(self) -> float:
        """Mass in kg."""
        return float(self.parameters[0])

    @property
    def com(self) -> Array:
        """(3,) m, centre of mass in the body's frame."""
        return inertia.unpack(self.parameters)[1]

    @property
    def inertia(self) -> Array:
        """(3, 3) kg·m² about the centre of mass, in the axes of the body's frame."""
        return inertia.unpack(self.parameters)[2]

    @property
    def seen(self) -> bool:
        """Whether a load's mass differs from zero by more than noise makes likely; of a body always."""
        std = float(self.std[0]) if self.exact_std is None else self.exact_std
        return self.carrier is None or self.mass > SEEN * std

    @property
    def at_most(self) -> float:
        """Upper end of the 95 % interval of the mass, kg."""
        high = self.interval.mass[1] if self.interval else None
        return self.mass + 1.96 * float(self.std[0]) if high is None else high

    def __repr__(self) -> str:
        com = ", ".join(f"{1e3 * c:.1f}" for c in self.com)
        return f"<{self.name}: {self.mass:.4g} kg ({self.source.mass}), com [{com}] mm ({self.source.com})>"


@dataclass(frozen=True)
class JointTerm:
    """Friction, armature, offset or gain of a joint."""

    value: float
    std: float | None  # posterior; None where it is not computed
    source: Source


@dataclass(frozen=True)
class SensorEstimate:
    """Offsets of one force–torque sensor, fx … mz; None for a component that was not measured."""

    offset: tuple[float | None, ...]  # (6,) N, N·m: reading = truth + offset
    std: tuple[float | None, ...]  # (6,) posterior
    sources: tuple[Source | None, ...]  # (6,)


@dataclass(frozen=True)
class Total:
    """Total mass of the robot, which a floating base identifies even where masses of single links are not."""

    mass: float  # kg
    std: float
    source: Source
    above: Total | None = None  # of all bodies above the sensors whose lower side is in contact


@dataclass(frozen=True)
class Scale:
    """Common scale of masses and gains where no drive gain is known: it comes from the description."""

    doubt: float  # standard deviation of its logarithm, by the prior
    load_std: float | None = None  # kg, of the load's mass were the scale exact


@dataclass(frozen=True, repr=False)
class Estimate:
    """All that ``estimate.json`` contains.

    Attributes:
        robot: Name of the robot.
        method: Name of the method.
        equations: ``joint``, ``base``, ``full`` or ``contact-free``.
        bodies: Every moving body: parameters in its frame, standard deviations, sources.
        joints: Joint → viscous (N·m·s/rad), coulomb (N·m), armature (kg·m²), offset (N·m), gain (N·m/A), each with its
            standard deviation and source; of a prismatic joint N·s/m, N, kg, N, N/A.
        base: Base parameters: combinations that the data excite.
        base_condition: Condition number of the base parameters' regressor, in scaled coordinates.
        rows: Number of scalar equations of the fit.
        objective: Half the sum of squares of the residuals, scaled to unit variance.
        fit: Prediction errors on the logs of the fit.
        validation: Log → prediction errors, of logs or blocks that were held out.
        described: The same by the description, with joint terms fitted as those of the estimate.
        certificate: Proof that the estimate is optimal and feasible.
        provenance: Versions, options, filter, SHA-256 of the inputs.
        notices: What was changed, assumed or left out.
        hidden: Bodies whose mass no motion identifies with these equations.
        blind: What is measured, where that cannot separate the bodies: "vertical force alone".
        advice: Which motion would identify more.
        total: Total mass of a floating robot, kg.
        truth: Body → (10,) true parameters, in simulations.
        locked: Joint → value at which it is held, rad or m.
        loads: Unknown loads, in the axes of the link that carries them.
        scale: Uncertainty of the common scale, where no drive gain is known.
        sensors: Force–torque sensor → its offsets, N and N·m.
        motors: Coupled motor → viscous, coulomb, armature.
        ranges: Guaranteed by the data, whatever the prior.
        points: Method points: body → how its point masses cover it.
        shapes: Method shapes: body → its shapes with masses, kg.
        divisions: Steps of division of the shapes, in order.
        left_out: Logs that were given and not used: "2 of 200 logs could not be read".
        bootstrap: Over many logs.
        evidence: What blocks of the logs show: residuals, held-out predictions, spread.
        findings: Of the diagnosis of the logs, doubts and errors that were overruled; None: not diagnosed.
        contradictions: Where the data contradict the description.

    Examples:
        Names as in ``help(steelyard)``.

        >>> forearm = result.estimate["forearm_link"]
        >>> forearm.com.shape, forearm.inertia.shape  # m; kg·m² about the centre of mass
        ((3,), (3, 3))
        >>> forearm.source.mass, result.estimate.count_base('body')
        ('prior', (31, 36))
    """

    robot: str
    method: str
    equations: str
    bodies: tuple[BodyEstimate, ...]
    joints: Mapping[str, Mapping[str, JointTerm | None]]
    base: tuple[BaseParameter, ...]
    base_condition: float
    rows: int
    objective: float
    fit: Score
    validation: Mapping[str, Score]
    certificate: Certificate
    provenance: Mapping[str, Any]
    notices: tuple[Finding, ...] = ()
    hidden: tuple[str, ...] = ()
    blind: str = ""
    advice: str = ""
    total: Total | None = None
    truth: Mapping[str, Array] = field(default_factory=dict)
    locked: Mapping[str, float] = field(default_factory=dict)
    loads: tuple[BodyEstimate, ...] = ()
    scale: Scale | None = None
    sensors: Mapping[str, SensorEstimate] = field(default_factory=dict)
    motors: Mapping[str, Mapping[str, JointTerm | None]] = field(default_factory=dict)
    ranges: Ranges | None = None
    points: Mapping[str, Cover] = field(default_factory=dict)
    shapes: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    divisions: tuple[Step, ...] = ()
    left_out: str = ""
    bootstrap: Bootstrap | None = None
    evidence: Evidence = field(default_factory=Evidence)
    findings: tuple[Finding, ...] | None = None
    contradictions: tuple[Contradiction, ...] = ()
    described: Mapping[str, Score] = field(default_factory=dict)

    def __getitem__(self, name: str) -> BodyEstimate:
        """One body, by its name or that of any link welded to it, or a load."""
        everything = (*self.bodies, *self.loads)
        for body in everything:
            if name == body.name or name in body.links:
                return body
        raise KeyError(f"{name!r} is not a body of {self.robot}; there are: {', '.join(b.name for b in everything)}")

    def body(self, name: str) -> BodyEstimate:
        """One body by its name; as ``estimate[name]``."""
        return self[name]

    def __repr__(self) -> str:
        bodies = f"{len(self.bodies)} bod{'y' if len(self.bodies) == 1 else 'ies'}"
        known = "{} of {} base parameters of bodies from the data".format(*self.count_base("body"))
        return f"<Estimate of {self.robot!r} by {self.method}: {bodies}, {known}>"

    def count_base(self, kind: Kind) -> tuple[int, int]:
        """Base parameters of bodies, joints or sensors: how many are of source ``data``, and how many there are."""
        own = [p for p in self.base if p.kind == kind]
        return sum(p.source == "data" for p in own), len(own)

    @property
    def consistent(self) -> bool:
        """Whether every body is physically consistent."""
        return all(b.consistent for b in (*self.bodies, *self.loads))
