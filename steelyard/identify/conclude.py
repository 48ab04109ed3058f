"""From θ and its uncertainty to the estimate: values, intervals and sources of bodies, joints and sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.compose import prior as priors
from steelyard.equations.coupled_motors import LAWS, PREFIX
from steelyard.equations.missing import Missing
from steelyard.equations.rows import BASE_ROWS
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import ROW_SPACE
from steelyard.errors import Finding, note
from steelyard.identify import bounds
from steelyard.identify.block_evidence import gather_evidence
from steelyard.identify.contradictions import find_contradictions
from steelyard.identify.drive_gains import Drives
from steelyard.identify.estimate import BodyEstimate, Estimate, JointTerm, Scale, SensorEstimate, Total
from steelyard.identify.fit import Fit
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.scoring import Score
from steelyard.inference.profile_likelihood import THIN
from steelyard.inference.uncertainty import BodySource, Uncertainty, base_parameters, judge_body
from steelyard.robot.model import LOAD, Body
from steelyard.spatial import WRENCH, Array


@dataclass(frozen=True)
class RunRecord:
    """What an estimate rests on beside the fit."""

    explained: Score  # of the training logs
    validation: Mapping[str, Score]
    rows: Sequence[str]  # names of the scalar equations
    notices: tuple[Finding, ...]
    origin: Mapping[str, Any]  # provenance
    truth: Mapping[str, Array]
    left_out: str = ""  # logs that were given and not used, as a phrase
    segments: Sequence[Sequence[Segment]] = ()  # of each training log; none where they were read once
    findings: tuple[Finding, ...] | None = None  # of the diagnosis; None: not diagnosed
    advice: str = ""  # which motion would identify more
    described: Mapping[str, Score] = field(default_factory=dict)  # of validation, by the description


def conclude(setup: Setup, options: Options, fit: Fit, record: RunRecord, job: Job) -> Estimate:
    """The estimate, from the fit and its prediction errors."""
    theta, free, unc, drives = fit.theta, fit.free, fit.uncertainty, fit.drives
    gains = drives.named() if drives is not None else {}
    ranges = bounds.compute_ranges(setup, fit, job)
    intervals = bounds.compute_intervals(setup, options, fit)
    notices = [*record.notices, *fit.notices, *(ranges.notices(job.ranges.inside) if ranges else [])]
    notices += describe_gains(gains, drives)
    covers, remarks = options.solver.covers(setup, fit.prior)
    notices += [*remarks, *describe_thin(setup, theta)]
    bodies = [replace(b, interval=intervals.get(b.name)) for b in judge_bodies(setup, fit.prior, theta, unc)]
    masses = mass_gradients(setup) if setup.robot.floating else []
    names, kinds = ([of[i] for i in free] for of in (setup.columns.names, setup.columns.kinds))
    base = base_parameters(fit.space, unc, theta[free], fit.prior.mean[free], names, kinds, [g[free] for g in masses])
    scale = judge_scale(setup, unc, drives)
    return Estimate(
        robot=setup.robot.name,
        method=options.solver.name,
        equations=setup.equations,
        bodies=tuple(b for b in bodies if b.carrier is None),
        joints=name_joint_terms(setup, fit, gains),
        base=base,
        base_condition=fit.space.condition,
        rows=fit.information.rows,
        objective=0.5 * fit.information.cost(theta),
        fit=record.explained,
        validation=record.validation,
        certificate=fit.certificate,
        provenance=record.origin,
        notices=tuple(dict.fromkeys(notices)),
        hidden=find_hidden(setup, fit.prior),
        blind=describe_blindness(setup, record.rows),
        advice=record.advice,
        total=judge_total(masses, theta, fit.prior.mean, free, unc) if masses else None,
        truth=record.truth,
        locked=dict(setup.robot.locked),
        loads=tuple(
            replace(b, exact_std=None if scale is None else scale.load_std) for b in bodies if b.carrier is not None
        ),
        scale=scale,
        sensors=judge_sensors(setup, fit.prior, theta, unc),
        motors=name_motor_terms(setup, fit),
        ranges=ranges,
        points=covers,
        shapes=fit.refined.shapes if fit.refined else {},
        divisions=fit.refined.steps if fit.refined else (),
        left_out=record.left_out,
        evidence=gather_evidence(setup, fit, base, record.rows, record.segments),
        findings=record.findings,
        contradictions=find_contradictions([p for p in base if not any(t.startswith(f"{LOAD}.") for t in p.terms)]),
        described=record.described,
    )


def judge_bodies(setup: Setup, prior: priors.Prior, theta: Array, unc: Uncertainty) -> tuple[BodyEstimate, ...]:
    """Every body with its standard deviations and sources."""
    free = setup.free
    where = {int(i): k for k, i in enumerate(free)}
    widths = prior.std
    bodies = []
    for name in setup.columns.bodies:
        body, at = setup.robot.body(name), setup.columns.body(name)
        std, data = np.zeros(10), tuple[float | None, ...]([None] * 10)
        source, com_std = BodySource("prior", "prior", "prior"), None
        if at.start in where:
            mine = slice(where[at.start], where[at.start] + 10)
            unit = np.eye(len(free))[mine]
            std = np.array([unc.std(g) for g in unit])
            data = tuple(unc.std_data(g) for g in unit)
            source = judge_body(unc, mine, theta[at], prior.mean[at], body.size)
            mass, com, _ = inertia.unpack(theta[at])
            com_std = np.array([unc.std(g - c * unit[0]) for g, c in zip(unit[1:4], com, strict=True)]) / mass
        bodies.append(
            BodyEstimate(
                name,
                body.links,
                theta[at],
                std,
                data,
                source,
                body.size,
                prior.mean[at],
                widths[at],
                at.start in where,
                body.carrier.name if body.carrier else None,
                com_std,
                outside=distance_outside(setup, body, theta[at]),
            )
        )
    return tuple(bodies)


def distance_outside(setup: Setup, body: Body, parameters: Array) -> float:
    """Distance in m of a centre of mass from the body's box; of a load from the box of the body that carries it.

    Where the described centre is outside too, no further than the estimate is from that.
    """
    if parameters[0] <= 0:
        return 0.0
    com, box, moved = parameters[1:4] / parameters[0], body.box, np.inf
    if body.carrier is not None:
        com, box = (body.carrier.placement @ [*com, 1.0])[:3], setup.robot.body(body.carrier.name).box
    else:
        moved = float(np.linalg.norm(com - body.parameters[1:4] / body.parameters[0]))
    return min(moved, float(np.linalg.norm(np.maximum(np.maximum(box[0] - com, com - box[1]), 0.0))))


def joint_terms(setup: Setup, fit: Fit) -> dict[tuple[str, str], JointTerm]:
    """Terms of joints and motors, with their standard deviations and sources."""
    where = {int(i): k for k, i in enumerate(fit.free)}
    unit, scale = np.eye(len(fit.free)), fit.prior.scale
    terms = {}
    for k, term in enumerate(setup.columns.joint_terms, 10 * len(setup.columns.bodies)):
        g = unit[where[k]]
        change = float(fit.theta[k] - fit.prior.mean[k])
        source = fit.uncertainty.source(g, float(scale[k]), change)
        terms[term] = JointTerm(float(fit.theta[k]), fit.uncertainty.std(g), source)
    return terms


def name_joint_terms(setup: Setup, fit: Fit, gains: Mapping[str, float]) -> dict[str, dict[str, JointTerm | None]]:
    """Joint terms by joint; a gain is in N·m/A, where its column is its relative change."""
    joints: dict[str, dict[str, JointTerm | None]] = {}
    for (joint, term), value in joint_terms(setup, fit).items():
        if term == "gain":
            std = None if value.std is None else gains[joint] * value.std
            value = replace(value, value=gains[joint], std=std)
        if not term.startswith(PREFIX):
            entry = joints.setdefault(joint, dict.fromkeys(("viscous", "coulomb", "armature", "offset", "gain")))
            entry[term] = value
    return joints


def judge_sensors(setup: Setup, prior: priors.Prior, theta: Array, unc: Uncertainty) -> dict[str, SensorEstimate]:
    """Offsets of the force–torque sensors, with standard deviations and sources."""
    unit = np.eye(setup.columns.n)[:, setup.free]
    at = dict(zip(setup.columns.offsets, setup.columns.offset_index, strict=True))
    sensors = {}
    for s in setup.robot.sensors:
        index = [at.get((s.name, c)) for c in WRENCH]
        sensors[s.name] = SensorEstimate(
            tuple(None if k is None else float(theta[k]) for k in index),
            tuple(None if k is None else unc.std(unit[k]) for k in index),
            tuple(
                None if k is None else unc.source(unit[k], float(prior.scale[k]), float(theta[k] - prior.mean[k]))
                for k in index
            ),
        )
    return sensors


def name_motor_terms(setup: Setup, fit: Fit) -> dict[str, dict[str, JointTerm | None]]:
    """Terms of motors that turn with several joints."""
    motors: dict[str, dict[str, JointTerm | None]] = {}
    for (joint, term), value in joint_terms(setup, fit).items():
        if term.startswith(PREFIX):
            motors.setdefault(joint, dict.fromkeys(LAWS))[term.removeprefix(PREFIX)] = value
    return motors


def find_hidden(setup: Setup, prior: priors.Prior) -> tuple[str, ...]:
    """Bodies whose mass is structurally unidentifiable: no motion excites it apart from other parameters."""
    possible = setup.structure(prior.scale)
    unit = np.eye(setup.columns.n)
    return tuple(b for b in setup.columns.bodies if possible.outside(unit[setup.columns.body(b).start]) >= ROW_SPACE)


def describe_blindness(setup: Setup, rows: Sequence[str]) -> str:
    """What is measured, where partly measured wrenches leave equations of forces only; else empty."""
    parts = [m for m in setup.unknown if isinstance(m, Missing)]
    if not parts or not all(name in BASE_ROWS[:3] for name in rows):
        return ""
    return "vertical force alone" if len(rows) == 1 and any(m.level for m in parts) else "force without moment"


def describe_thin(setup: Setup, theta: Array) -> list[Finding]:
    """A notice about bodies on the boundary of physical consistency: flat, or with all their mass on a line."""
    thin = []
    for name in setup.columns.bodies:
        p, size = theta[setup.columns.body(name)], setup.robot.body(name).size
        if 0 <= inertia.min_eigenvalue(p) < THIN * inertia.MARGIN * size**2:
            thin.append("the load" if setup.robot.body(name).carrier else name)
    shown = ", ".join(thin)
    text = f"on the boundary of physical consistency, as thin as a sheet: {shown}; do not take their inertia literally"
    return [note("consistent-barely", shown, text)] if thin else []


def mass_gradients(setup: Setup) -> list[Array]:
    """(n,) gradients of the total mass and, if any, of the mass above the sensors that are in contact."""
    model, feet = setup.robot.model, {f.frame.joint for f in setup.unknown if f.frame is not None}
    below = {
        int(i) for s in setup.robot.sensors if feet & set(model.subtrees[s.joint]) for i in model.subtrees[s.joint]
    }
    gradients = []
    for left_out in (set[int](), below) if below else (set[int](),):
        g = np.zeros(setup.columns.n)
        for name in setup.columns.bodies:
            body = setup.robot.body(name)
            g[setup.columns.body(name).start] = float(body.joint not in left_out and body.carrier is None)
        gradients.append(g)
    return gradients


def judge_total(gradients: Sequence[Array], theta: Array, mean: Array, free: Array, unc: Uncertainty) -> Total:
    """Total mass, and the mass above the sensors in contact where the total is not known from the data."""
    totals = []
    for g in gradients:
        mass = float(g @ theta)
        totals.append(Total(mass, unc.std(g[free]), unc.source(g[free], mass, mass - float(g @ mean))))
    return totals[0] if totals[0].source == "data" else replace(totals[0], above=(*totals, None)[1])


def judge_scale(setup: Setup, unc: Uncertainty, drives: Drives | None) -> Scale | None:
    """How well the common scale of gains and masses is known, where it comes from the description alone."""
    if drives is None or drives.scale is None:
        return None
    load = next((b.name for b in setup.robot.bodies if b.carrier is not None), None)
    if load is None:
        return Scale(drives.scale.doubt)
    gauge, unit = drives.gauge, np.eye(setup.columns.n)[setup.columns.body(load).start]
    C = unc.posterior
    given = unit @ C @ unit - (unit @ C @ gauge) ** 2 / (gauge @ C @ gauge)
    return Scale(drives.scale.doubt, float(np.sqrt(max(given, 0.0))))


def describe_gains(gains: Mapping[str, float], drives: Drives | None) -> list[Finding]:
    """A notice about gains that were identified along."""
    if drives is None:
        return []
    text = f"drive gains not given, identified as {', '.join(f'{j} {k:.3g}' for j, k in gains.items())} N·m/A"
    if drives.scale is not None:
        text += (
            "; only their ratios come from the data: their common scale, and with it that of every mass, comes from "
            f"the description (± {100 * 1.96 * drives.scale.doubt:.0f} %); a known gain or a measured torque of one "
            "joint would identify it"
        )
    return [note("gains-missing", ", ".join(gains), text, gains=gains)]
