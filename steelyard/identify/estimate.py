"""The answer: parameters of every body, how sure they are, and whether it was the data or the prior that said so."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.compose.points_cover import Cover
from steelyard.errors import Finding, SteelyardError
from steelyard.identify.division.dividing import Step
from steelyard.identify.division.history import recorded
from steelyard.identify.prediction import Score
from steelyard.inference.bootstrap import Bootstrap
from steelyard.inference.profile_likelihood import Interval
from steelyard.inference.ranges import Ranges, between, spoken
from steelyard.inference.uncertainty import BaseParameter, BodyVerdict, Verdict
from steelyard.solve.certify import Certificate

Array = np.ndarray
SCHEMA = 1
UNEXPLAINED = 0.25  # filtered relative error from which nothing is to be trusted


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

    def weight(self, form: str) -> str:
        """Mass in kg and its 95 % interval: ± 1.96 std, or both ends for a body at the edge of what can exist."""
        low, high = self.interval.mass if self.interval else (None, None)
        if low is None or high is None:
            return f"{self.mass:{form}} ± {1.96 * self.std[0]:.2g}"
        return f"{self.mass:{form}} ({between(low, high)})"

    def as_json(self) -> dict[str, Any]:
        """The entry under ``links``."""
        mass, com, I = inertia.unpack(self.parameters)
        least = inertia.min_eigenvalue(self.parameters)
        return {
            "mass": mass,
            "com": com.tolist(),
            "inertia": inertia.six(I).tolist(),
            "parameters": self.parameters.tolist(),
            "std": self.std.tolist(),
            "std_data": list(self.std_data),
            "verdict": self.verdict.worst,
            "verdicts": {"mass": self.verdict.mass, "com": self.verdict.com, "inertia": self.verdict.inertia},
            "consistent": self.consistent,
            "min_eigenvalue": least if math.isfinite(least) else None,
            "com_std": None if self.com_std is None else self.com_std.tolist(),
            "free": self.free,
            "interval": self.interval.as_json() if self.interval else None,
        }


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

    def as_json(self) -> dict[str, Any]:
        """The entry ``total``."""
        whole = {"mass": self.mass, "std": self.std, "verdict": self.verdict}
        return whole if self.above is None else {**whole, "above_sensors": self.above.as_json()}

    def __str__(self) -> str:
        text = f"{self.mass:.2f} ± {1.96 * self.std:.2g} kg ({self.verdict})"
        return text if self.above is None else f"{text}, of which {self.above} above the sensors"


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

    @property
    def trusted(self) -> bool:
        """Whether the answer deserves to be used: physical, proved, learned from the data, and explaining them."""
        return self.exit_code == 0 and self.unexplained < UNEXPLAINED

    @property
    def unexplained(self) -> float:
        """The largest relative error of the fit and of held-out logs, filtered."""
        scores = [self.fit, *self.validation.values()]
        return max((s.relative_filtered for s in scores if s.relative_filtered is not None), default=0.0)

    @property
    def exit_code(self) -> int:
        """0, or 4: an inconsistent body, a failed certificate, or no identified base parameter."""
        return 0 if self.consistent and self.certificate.holds and self.base_identified > 0 else 4

    @property
    def _measured(self) -> str:
        return "force" if self.equations == "base" else "torque"

    def sentence(self) -> str:
        """One sentence: trusted or not, why, what motion would help."""
        parts = []
        if not self.consistent:
            everything = (*self.bodies, *self.loads)
            bad = [b.name for b in everything if not b.consistent]
            parts.append(f"{len(bad)} of {len(everything)} bodies are not physical ({_some(bad)}): use --method lmi")
        if not self.certificate.holds:
            parts.append("the solver's answer could not be proved")
        if self.base_identified == 0:
            parts.append("the data know no base parameter to a tenth of its size")
        if self.unexplained >= UNEXPLAINED:
            parts.append(f"{100 * self.unexplained:.2g} % of the measured {self._measured} is not explained")
        if parts:
            head = "Not to be trusted: " + "; ".join(parts)
        else:
            come = "comes" if self.base_identified == 1 else "come"
            head = (
                f"Trusted: every body is physical, and {self.base_identified} of {self.base_count} base parameters "
                f"{come} from the data"
            )
        if self.left_out:
            head += f"; {self.left_out}"
        scores = [s.relative for s in self.validation.values() if s.relative is not None]
        if scores:
            head += f"; held-out {self._measured} is predicted to {100 * max(scores):.2g} %"
        if self.total is not None:
            head += f"; the whole robot weighs {self.total}"
        for load in self.loads:
            head += f"; the load on {load.carrier} weighs {load.weight('.3g')} kg"
            head += "" if self.scale else f" ({load.verdict.mass})"
        if self.scale is not None:
            said = f", give or take {100 * 1.96 * self.scale.doubt:.0f} %, since no drive gain is known"
            head += f"; ratios of masses come from the data, their common scale from the description{said}"
        free = [b for b in self.bodies if b.free]
        if len(free) < len(self.bodies):
            which = "the robot was" if not free else f"{len(self.bodies) - len(free)} bodies were"
            head += f"; {which} held exactly as described, and any error in that is in the answer"
        by_structure = [b.name for b in free if b.verdict.mass == "prior" and b.name in self.hidden]
        by_motion = [b.name for b in free if b.verdict.mass == "prior" and b.name not in self.hidden]
        if by_structure:
            which = "any single body" if len(by_structure) == len(free) else _some(by_structure)
            why = "since no motion shows it apart from its neighbours"
            if self.blind:
                why = f"since {self.blind} cannot tell one body from another"
            head += f"; the mass of {which} is the prior's share, {why}"
        if by_motion:
            head += f"; the mass of {_some(by_motion)} is the prior's, since this motion does not show it"
        head += self._whatever_the_prior()
        return head + (f". {self.advice}" if self.advice else "") + "."

    def _whatever_the_prior(self) -> str:
        """Masses that the data leave open but not without limit, the narrowest first."""
        if self.ranges is None:
            return ""
        left = [b for b in (*self.bodies, *self.loads) if b.free and b.verdict.mass != "identified"]
        closed = []
        for b in left:
            low, high = self.ranges.bodies[b.name].mass
            if low is not None and high is not None:
                name = f"the load on {b.carrier}" if b.carrier else b.name
                closed.append(((high - low) / max(b.mass, 1e-9), f"{name} {spoken((low, high), 'kg')}"))
        if closed:
            return f"; {_some([text for _, text in sorted(closed)], 3)}, whatever the prior"
        return "; no mass has an upper limit but by the prior" if left else ""

    def as_json(self) -> dict[str, Any]:
        """The content of ``estimate.json``: schema 1, absent values None, never NaN."""
        proof = self.certificate
        return {
            "schema": SCHEMA,
            "robot": self.robot,
            "method": self.method,
            "equations": self.equations,
            "bodies_welded": {b.name: list(b.links) for b in self.bodies},
            "links": {b.name: b.as_json() for b in self.bodies},
            "joints": {j: dict(terms) for j, terms in self.joints.items()},
            **({"motors": {j: dict(terms) for j, terms in self.motors.items()}} if self.motors else {}),
            "sensors": {name: {k: list(v) for k, v in vars(s).items()} for name, s in self.sensors.items()},
            "base_parameters": {
                "count": self.base_count,
                "condition": self.base_condition if math.isfinite(self.base_condition) else None,
                "identified": self.base_identified,
                "parameters": [vars(p) for p in self.base],
            },
            "fit": {"rows": self.rows, "objective": self.objective, **_without(self.fit.as_json(), "correlation")},
            "validation": {path: s.as_json() for path, s in self.validation.items()},
            "certificate": {"kkt": proof.kkt, "gap": proof.gap},
            "information": "information.npz",
            "provenance": {**self.provenance, "solver": {"name": proof.solver, "unknowns": proof.unknowns}},
            "verdict": {"sentence": self.sentence(), "trusted": self.trusted},
            "total": self.total.as_json() if self.total else None,
            "prior": {b.name: {"parameters": b.prior.tolist(), "std": b.prior_std.tolist()} for b in self.bodies},
            "truth": {name: {"parameters": p.tolist()} for name, p in self.truth.items()} or None,
            "locked": dict(self.locked),
            "loads": [{**load_json(b), "shapes": self.shapes.get(b.name, [])} for b in self.loads],
            **({"shapes": {b.name: self.shapes.get(b.name, []) for b in self.bodies if b.free}} if self.shapes else {}),
            **({"divisions": recorded(self.divisions)} if self.divisions else {}),
            "scale": vars(self.scale) if self.scale else None,
            **({"points": {name: c.as_json() for name, c in self.points.items()}} if self.points else {}),
            "notices": list(self.notices),
            **({"ranges": self.ranges.as_json(), "ranges_about": self.ranges.about_json()} if self.ranges else {}),
            **({"bootstrap": self.bootstrap.as_json()} if self.bootstrap else {}),
        }

    def to_json(self) -> str:
        """Text of ``estimate.json``."""
        return estimate_text(self.as_json())


def estimate_text(content: Mapping[str, Any]) -> str:
    """Text of ``estimate.json`` from its content."""
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def load_json(load: BodyEstimate) -> dict[str, Any]:
    """The entry under ``loads``: everything in the axes of the link that carries it."""
    return {"link": load.carrier, **load.as_json()}


def read_estimate(path: Path) -> dict[str, Any]:
    """Content of an ``estimate.json``, or of the one in a folder."""
    file = path / "estimate.json" if path.is_dir() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SteelyardError(
            Finding(str(file), "is not there", "Give a folder that `steelyard identify` wrote")
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise SteelyardError(
            Finding(str(file), f"cannot be read ({error})", "Run `steelyard identify` again")
        ) from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or not isinstance(content.get("links"), dict):
        raise SteelyardError(
            Finding(str(file), "is not an estimate of schema 1", "Give a file that `steelyard identify` wrote")
        )
    return content


def _some(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _without(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k != key}
