"""The main job, end to end: a robot and logs in, parameters with verdicts out.

Reweighting goes back to the samples and lives here, outside the solvers, which see only ``Information``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import inertia, noise
from steelyard import prior as priors
from steelyard.allowed import Evidence
from steelyard.errors import Finding, UsageError
from steelyard.estimate import BodyEstimate, Estimate, Scale, SensorEstimate, Total
from steelyard.gains import Drives, as_torques, find, with_gains
from steelyard.holdout import HoldOut, Training
from steelyard.identifiable import (
    CERTAIN,
    ROW_SPACE,
    BodyVerdict,
    Subspace,
    Uncertainty,
    base_parameters,
    body_verdict,
    long_run_covariance,
    structural,
    uncertainty,
)
from steelyard.information import Information
from steelyard.log import WRENCH, Log
from steelyard.missing import Missing
from steelyard.motors import LAWS, PREFIX
from steelyard.plan import Options, Plan, make_plan
from steelyard.profile import THIN, intervals_for
from steelyard.ranges import ranges_for
from steelyard.read.description import Description, read_description
from steelyard.read.mapping import ColumnMap, read_mapping
from steelyard.read.table import read_log
from steelyard.regressor import BASE_ROWS, Block, Columns, Rows
from steelyard.report.series import Series
from steelyard.robot import Robot
from steelyard.samples import Filter, prepare
from steelyard.solve.methods import solve
from steelyard.validate import Score, pooled, predict

Array = np.ndarray
Progress = Callable[[str], None]

UNEXPLAINED = 0.05  # filtered relative error beyond which friction is suspected
GAIN_ROUNDS = 8  # unknown drive gains: at most so many rounds of solving and linearising anew
CACHE_BYTES = 400e6  # rows are kept in memory up to this size, and made again at every pass beyond it


@dataclass(frozen=True)
class Identification:
    """The estimate, and what it was made from."""

    estimate: Estimate
    robot: Robot
    columns: Columns
    theta: Array  # (n,)
    information: Information
    series: tuple[Series, ...]


def identify(
    source: str | Path | Description,
    logs: Sequence[str | Path | Log],
    options: Options | None = None,
    *,
    validate: Sequence[str | Path | Log] = (),
    mapping: str | Path | ColumnMap | None = None,
    truth: Mapping[str, Array] | None = None,
    command: str = "",
    progress: Progress = lambda _: None,
    save_problem: Path | None = None,
    earlier: Information | None = None,
) -> Identification:
    """Identify the inertial parameters of a robot from logs of its motion.

    ``mapping`` tells how to read the logs that are given as files, those to validate with included. ``earlier`` is
    information about parameters of the same names, from other logs.
    """
    options = options or Options()
    progress("reading")
    description = source if isinstance(source, Description) else read_description(source)
    how = read_mapping(mapping) if isinstance(mapping, str | Path) else mapping
    fit_logs, held_out = [_log(x, how) for x in logs], [_log(x, how) for x in validate]
    _refuse_training_logs(fit_logs, held_out)
    plan = make_plan(description, [*fit_logs, *held_out], options)
    filter = options.filter.for_logs(fit_logs)
    notices = list(plan.notices)

    progress("filtering")
    segments_of = []
    for log in (*fit_logs, *held_out):
        segments, remarks = prepare(plan.robot, log, filter, torques=plan.equations != "base")
        notices += remarks
        segments_of.append(segments)
    everything = Rows(
        plan.robot, [s for segments in segments_of[: len(fit_logs)] for s in segments], plan.columns, plan.equations,
        plan.feet, filter,
    )  # fmt: skip
    rows_of = [
        Rows(plan.robot, segments, plan.columns, plan.equations, plan.feet, filter, everything.free)
        for segments in segments_of
    ]
    holds = [*(HoldOut.of(log, options.hold_out) for log in fit_logs), *(None for _ in held_out)]
    training = Training(list(zip(rows_of, holds, strict=True))[: len(fit_logs)])

    names = plan.columns.names
    prior = priors.make(plan.robot, plan.columns, options.prior)
    blocks: Iterable[Block] = _cached(training)
    drives: Drives | None = None
    if any(term == "gain" for _, term in plan.columns.joint_terms):
        progress("finding drive gains")
        drives = _drives(plan, blocks, prior, options)
    measured, before = blocks, _by_name(earlier, plan.columns)
    for attempt in range(GAIN_ROUNDS):
        if drives is not None:
            blocks, prior = drives.rows(measured), drives.belief(pinned=attempt == 0)
        progress("weighing rows")
        full = everything.free is not None
        model, info = noise.estimate(blocks, names, prior.information + before, full=full, robust=options.robust)
        info = info + before
        progress("solving")
        theta, proof, free = solve(plan, info, prior, options, save_problem)
        if drives is None or (attempt > 0 and drives.settled(theta)):
            break
        drives = drives.moved(theta)
    if drives is not None:  # judged where the solver ended: only there is the common scale exactly unseen
        drives = drives.moved(theta)
        theta[drives.index] = 0.0
        blocks, prior = drives.rows(measured), drives.belief()
        info = noise.information(blocks, model, names) + before

    progress("judging")
    known = np.setdiff1d(np.arange(plan.columns.n), free)
    seen = info.given(known, theta[known])
    space = Subspace.of(seen.R, prior.scale[free])
    meat = long_run_covariance(_reduced(blocks, free, known, theta), model, theta[free], space, options.robust)
    meat = meat + before.R[:, free].T @ before.R[:, free]
    pulled = options.method != "least-squares"
    unc = uncertainty(space, seen, meat, prior.K[np.ix_(free, free)], pulled=pulled)

    ranges = ranges_for(plan, options, prior, free, Evidence.of(space, seen, meat), theta, progress)
    if ranges is not None:
        ranges = ranges.without_scale() if drives is not None and drives.scale is not None else ranges
        notices += ranges.notices(options.ranges_inside)
    edges = intervals_for(plan, options, prior, free, seen, theta, unc)

    progress("validating")
    gains = drives.named() if drives is not None else {}
    notices += _about_gains(gains, drives)
    logs_of = [*fit_logs, *held_out]
    columns, driven = _without_gains(plan.columns)
    if drives is not None:
        logs_of = [with_gains(log, gains) for log in logs_of]
        segments_of = [[as_torques(s, plan.robot.joints, gains) for s in segments] for segments in segments_of]
        rows_of = [
            Rows(plan.robot, segments, columns, plan.equations, plan.feet, filter, everything.free)
            for segments in segments_of
        ]
    scores = _scores(rows_of, theta[driven], logs_of, holds, len(fit_logs))
    fit = pooled([s for s, drawn in scores if drawn.role == "fit"])

    bodies = [replace(b, interval=edges.get(b.name)) for b in _bodies(plan, prior, theta, free, unc)]
    estimate = Estimate(
        robot=plan.robot.name,
        method=options.method,
        equations=plan.equations,
        bodies=tuple(b for b in bodies if b.carrier is None),
        joints=_joints(plan.columns, theta, gains),
        base=base_parameters(space, unc, theta[free], [names[i] for i in free]),
        base_condition=space.condition,
        rows=info.rows,
        objective=0.5 * info.cost(theta),
        fit=fit,
        validation={drawn.log: s for s, drawn in scores if drawn.role == "validation"},
        certificate=proof,
        provenance=_provenance(description, [*fit_logs, *held_out], command, filter, options),
        notices=tuple(dict.fromkeys(notices + _thin(plan, theta))),
        hidden=_hidden(plan, prior),
        blind=_blind(plan, everything),
        advice=_advice(plan, unc, prior, free, fit),
        total=_total(plan, theta, free, unc) if plan.robot.floating else None,
        truth=_truth(plan, fit_logs[0], truth),
        locked=dict(plan.robot.locked),
        loads=tuple(b for b in bodies if b.carrier is not None),
        scale=_scale(plan, unc, drives),
        sensors=_sensors(plan, prior, theta, free, unc),
        motors=_motors(plan.columns, theta),
        ranges=ranges,
    )
    return Identification(estimate, plan.robot, plan.columns, theta, info, tuple(drawn for _, drawn in scores))


def _by_name(earlier: Information | None, columns: Columns) -> Information:
    """Earlier information in the order of these columns; nothing where there is none."""
    if earlier is None:
        return Information.none(columns.n, columns.names)
    if strangers := [name for name in earlier.names if name not in columns.names]:
        what = f"speaks of {', '.join(strangers[:4])}, which {'is' if len(strangers) == 1 else 'are'} not asked for now"
        raise UsageError(Finding("earlier estimate", what, "Lock the same joints, and use the same --friction"))
    at = np.array([columns.names.index(name) for name in earlier.names], int)
    Y = np.zeros((len(earlier.triangle), columns.n))
    Y[:, at] = earlier.triangle[:, :-1]
    return replace(Information.of(Y, earlier.triangle[:, -1], columns.names), rows=earlier.rows)


def _refuse_training_logs(fit: Sequence[Log], held_out: Sequence[Log]) -> None:
    """A log that was learned from says nothing when it is predicted."""
    for log in held_out:
        for other in fit:
            same = log.columns.keys() == other.columns.keys() and np.array_equal(log.time, other.time)
            if same and all(np.array_equal(log.columns[c], other.columns[c]) for c in log.columns):
                what = "is a log that is learned from: predicting it proves nothing"
                raise UsageError(Finding(f"--validate {log.source}", what, "Hold another log out"))


def _log(item: str | Path | Log, mapping: ColumnMap | None) -> Log:
    return item if isinstance(item, Log) else read_log(item, mapping)


def _scores(
    rows_of: Sequence[Rows], theta: Array, logs: Sequence[Log], holds: Sequence[HoldOut | None], learned: int
) -> list[tuple[Score, Series]]:
    """Of the first ``learned`` logs, of what was held out of them, and of the other logs."""
    found = []
    for k, (rows, log, hold) in enumerate(zip(rows_of, logs, holds, strict=True)):
        whole = predict(rows, theta, log)
        if hold is None:
            found.append(whole.score("fit" if k < learned else "validation"))
        else:
            found.append(whole.part(log.source, hold.left).score("fit"))
            found.append(whole.part(hold.name, hold.held).score("validation"))
    return found


def _cached(rows: Training) -> list[Block] | Training:
    """All blocks in a list where they fit in memory."""
    kept, size = [], 0.0
    for block in rows:
        kept.append(block)
        size += block.Y.nbytes
        if size > CACHE_BYTES:
            return rows
    return kept


def _reduced(blocks: Any, free: Array, known: Array, theta: Array) -> Any:
    """The same rows about the free parameters alone."""
    for b in blocks:
        yield Block(b.time, b.Y[:, :, free], b.target - b.Y[:, :, known] @ theta[known], b.first)


def _bodies(plan: Plan, prior: priors.Prior, theta: Array, free: Array, unc: Uncertainty) -> tuple[BodyEstimate, ...]:
    where = {int(i): k for k, i in enumerate(free)}
    widths = prior.std
    found = []
    for name in plan.columns.bodies:
        body, at = plan.robot.body(name), plan.columns.body(name)
        std, data = np.zeros(10), tuple[float | None, ...]([None] * 10)
        verdict = BodyVerdict("prior", "prior", "prior")
        if at.start in where:
            mine = slice(where[at.start], where[at.start] + 10)
            unit = np.eye(len(free))[mine]
            std = np.array([unc.std(g) for g in unit])
            data = tuple(unc.std_data(g) for g in unit)
            verdict = body_verdict(unc, mine, theta[at], body.size)
        found.append(
            BodyEstimate(name, body.links, theta[at], std, data, verdict, body.size, prior.mean[at], widths[at],
                         at.start in where, body.carrier.name if body.carrier else None)
        )  # fmt: skip
    return tuple(found)


def _drives(plan: Plan, blocks: Iterable[Block], prior: priors.Prior, options: Options) -> Drives:
    """Gains that are not known, found along with everything else."""
    own, held = np.zeros(plan.columns.n, bool), np.zeros(plan.columns.n, bool)
    chosen = {plan.robot.body(link).name for link in options.links}
    for name in plan.columns.bodies:
        own[plan.columns.body(name)] = plan.robot.body(name).carrier is None
        held[plan.columns.body(name)] = bool(chosen) and name not in chosen
    return find(plan.columns, blocks, prior, own, held)


def _about_gains(gains: Mapping[str, float], drives: Drives | None) -> list[str]:
    if drives is None:
        return []
    said = f"drive gains not given, found as {', '.join(f'{j} {k:.3g}' for j, k in gains.items())} N·m/A"
    if drives.scale is None:
        return [said]
    doubt = f"{100 * 1.96 * drives.scale.doubt:.0f} %"
    return [
        f"{said}; only their ratios come from the data: their overall scale, and with it that of every mass, is the "
        f"description's, give or take {doubt} (a known gain or torque on one joint would tell it)"
    ]


def _scale(plan: Plan, unc: Uncertainty, drives: Drives | None) -> Scale | None:
    if drives is None or drives.scale is None:
        return None
    load = next((b.name for b in plan.robot.bodies if b.carrier is not None), None)
    if load is None:
        return Scale(drives.scale.doubt)
    gauge, unit = drives.gauge, np.eye(plan.columns.n)[plan.columns.body(load).start]
    C = unc.posterior
    given = unit @ C @ unit - (unit @ C @ gauge) ** 2 / (gauge @ C @ gauge)
    return Scale(drives.scale.doubt, float(np.sqrt(max(given, 0.0))))


def _without_gains(columns: Columns) -> tuple[Columns, Array]:
    """The columns once currents are torques, and where they were."""
    terms = tuple(t for t in columns.joint_terms if t[1] != "gain")
    gains = [k for k, (_, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies)) if term == "gain"]
    return replace(columns, joint_terms=terms), np.setdiff1d(np.arange(columns.n), gains)


def _joints(columns: Columns, theta: Array, gains: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    terms = {(j, term): float(theta[k]) for k, (j, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies))}
    terms |= {(joint, "gain"): gain for joint, gain in gains.items()}  # in place of the relative change
    joints: dict[str, dict[str, float | None]] = {}
    for (joint, term), value in terms.items():
        if not term.startswith(PREFIX):
            entry = joints.setdefault(joint, dict.fromkeys(("viscous", "coulomb", "armature", "offset", "gain")))
            entry[term] = value
    return joints


def _sensors(plan: Plan, prior: priors.Prior, theta: Array, free: Array, unc: Uncertainty) -> dict[str, SensorEstimate]:
    unit = np.eye(plan.columns.n)[:, free]
    at = dict(zip(plan.columns.offsets, plan.columns.offset_index, strict=True))
    found = {}
    for s in plan.robot.sensors:
        index = [at.get((s.name, c)) for c in WRENCH]
        found[s.name] = SensorEstimate(
            tuple(None if k is None else float(theta[k]) for k in index),
            tuple(None if k is None else unc.std(unit[k]) for k in index),
            tuple(None if k is None else unc.verdict(unit[k], float(prior.scale[k])) for k in index),
        )
    return found


def _motors(columns: Columns, theta: Array) -> dict[str, dict[str, float | None]]:
    motors: dict[str, dict[str, float | None]] = {}
    for k, (joint, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies)):
        if term.startswith(PREFIX):
            motors.setdefault(joint, dict.fromkeys(LAWS))[term.removeprefix(PREFIX)] = float(theta[k])
    return motors


def _hidden(plan: Plan, prior: priors.Prior) -> tuple[str, ...]:
    """Bodies whose mass no motion could tell from these equations."""
    possible = structural(plan.robot, plan.columns, plan.equations, prior.scale, plan.feet)
    unit = np.eye(plan.columns.n)
    return tuple(b for b in plan.columns.bodies if possible.outside(unit[plan.columns.body(b).start]) >= ROW_SPACE)


def _blind(plan: Plan, rows: Rows) -> str:
    """What base rows measure, where wrenches measured in part leave forces only."""
    parts = [m for m in plan.feet if isinstance(m, Missing)]
    if not parts or not all(name in BASE_ROWS[:3] for name in rows.names):
        return ""
    return "vertical force alone" if len(rows.names) == 1 and any(m.level for m in parts) else "force without moment"


def _advice(plan: Plan, unc: Uncertainty, prior: priors.Prior, free: Array, fit: Score) -> str:
    """What would tell more: joint friction that was left out, motion where the structure allows and the log is weak."""
    unexplained = fit.relative_filtered or 0.0
    said = ""
    if unexplained > UNEXPLAINED and not plan.columns.joint_terms and plan.equations != "base":
        said = f"Friction was left out and {100 * unexplained:.2g} % of the torque is unexplained: try --friction all. "
    if len(free) < plan.columns.n:
        return said[:-2]
    parts = [m for m in plan.feet if isinstance(m, Missing)]
    if parts and plan.equations == "base":  # faster motion would not show what no sensor measures
        return "To learn more, log " + " and ".join(f"{', '.join(m.names)} of {m.column}" for m in parts)
    possible = structural(plan.robot, plan.columns, plan.equations, prior.scale, plan.feet)
    pivots, Z = possible.composition
    weak: dict[str, int] = {}
    for p, z in zip(pivots, Z, strict=True):
        std = unc.std_data(z)
        if std is None or std >= CERTAIN * possible.size(z):
            owner = plan.columns.owner(int(p))
            weak[owner] = weak.get(owner, 0) + 1
    if not weak:
        return said[:-2]
    movers = []
    for owner in sorted(weak, key=lambda name: -weak[name])[:3]:
        if owner in plan.robot.joints:
            movers.append(owner)
            continue
        sensors = {s.name: s.joint for s in plan.robot.sensors}
        above = plan.robot.joints_above(sensors.get(owner) or plan.robot.body(owner).joint)
        movers += above[:1] or ["the base"]
    return f"{said}To learn more, move {', '.join(dict.fromkeys(movers))} faster and further"


def _truth(plan: Plan, log: Log, given: Mapping[str, Array] | None) -> dict[str, Array]:
    """True parameters of bodies, where a simulation wrote them into its log."""
    found = given or log.metadata.get("truth", {}).get("parameters", {})
    known = {name: np.asarray(p, float) for name, p in found.items() if name in plan.columns.bodies}
    return {name: p for name, p in known.items() if p.shape == (10,)}


def _thin(plan: Plan, theta: Array) -> list[str]:
    """Bodies that ended where physics does: flat, or with all their mass on a line."""
    thin = []
    for name in plan.columns.bodies:
        p, size = theta[plan.columns.body(name)], plan.robot.body(name).size
        if 0 <= inertia.min_eigenvalue(p) < THIN * inertia.MARGIN * size**2:
            thin.append(name)
    shown = ", ".join(thin)
    return (
        [f"at the edge of what is physical, as thin as a sheet: {shown}; do not take their inertia literally"]
        if thin
        else []
    )


def _total(plan: Plan, theta: Array, free: Array, unc: Uncertainty) -> Total:
    g = np.zeros(plan.columns.n)
    for body in plan.robot.bodies:
        g[plan.columns.body(body.name).start] = float(body.carrier is None)
    mass = float(g @ theta)
    return Total(mass, unc.std(g[free]), unc.verdict(g[free], mass))


def _provenance(
    description: Description, logs: Sequence[Log], command: str, filter: Filter, options: Options
) -> dict[str, Any]:
    inputs = {str(description.path): hashlib.sha256(Path(description.path).read_bytes()).hexdigest()}
    for file in (name for log in logs for name in (log.source, *log.files)):
        if Path(file).is_file():
            inputs[file] = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    packages = ("steelyard", "numpy", "scipy", "pin", "clarabel", "pyarrow")
    versions: dict[str, str | None] = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {
        "inputs": inputs,
        "versions": versions,
        "command": command,
        "seed": None,
        "filter": {**vars(filter), "kind": "symmetric Hamming low-pass of three periods, zero phase"},
        "options": {"prior": options.prior, "friction": options.friction, "robust": options.robust,
                    "regularisation": options.regularisation, "hold_out": options.hold_out},
    }  # fmt: skip
