"""The main job, end to end: a robot and logs in, parameters with verdicts out.

Reweighting goes back to the samples and lives here, outside the solvers, which see only ``Information``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import inertia, noise
from steelyard import prior as priors
from steelyard.errors import Finding, UsageError
from steelyard.estimate import BodyEstimate, Estimate, SensorEstimate, Total
from steelyard.gains import drive_gains, with_gains
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
from steelyard.missing import Missing, grouped
from steelyard.plan import Options, Plan, make_plan
from steelyard.read.description import Description, read_description
from steelyard.read.mapping import ColumnMap, read_mapping
from steelyard.read.table import read_log
from steelyard.regressor import BASE_ROWS, Block, Columns, Rows
from steelyard.report.series import Series
from steelyard.robot import Robot
from steelyard.samples import Filter, prepare
from steelyard.solve.methods import solve
from steelyard.validate import Score, pooled, score

Array = np.ndarray
Progress = Callable[[str], None]

UNEXPLAINED = 0.05  # filtered relative error beyond which friction is suspected
THIN = 100.0  # times the margin of consistency: bodies closer to it are named
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
) -> Identification:
    """Identify the inertial parameters of a robot from logs of its motion.

    ``mapping`` tells how to read the logs that are given as files, those to validate with included.
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
    gains: dict[str, float] = {}
    if any(term == "gain" for _, term in plan.columns.joint_terms):
        progress("finding drive gains")
        gains = drive_gains(plan, fit_logs, filter, priors.make(plan.robot, plan.columns, options.prior))
        fit_logs, held_out = [with_gains(log, gains) for log in fit_logs], [with_gains(log, gains) for log in held_out]
        plan = make_plan(description, [*fit_logs, *held_out], options)
        shown = ", ".join(f"{j} {k:.3g}" for j, k in gains.items())
        notices.append(f"drive gains not given, taken as {shown} N·m/A; their overall scale is the description's")

    progress("filtering")
    rows_of = []
    for log in (*fit_logs, *held_out):
        segments, remarks = prepare(plan.robot, log, filter, torques=plan.equations != "base")
        notices += remarks
        rows_of.append(segments)
    everything = Rows(
        plan.robot, [s for segments in rows_of[: len(fit_logs)] for s in segments], plan.columns, plan.equations,
        plan.feet, filter,
    )  # fmt: skip

    progress("weighing rows")
    names = plan.columns.names
    prior = priors.make(plan.robot, plan.columns, options.prior)
    blocks = _cached(everything)
    projected = everything.free is not None
    model, info = noise.estimate(blocks, names, prior.information, full=projected, robust=options.robust)

    progress("solving")
    theta, proof, free = solve(plan, info, prior, options, save_problem)

    progress("judging")
    known = np.setdiff1d(np.arange(plan.columns.n), free)
    seen = info.given(known, theta[known])
    space = Subspace.of(seen.R, prior.scale[free])
    meat = long_run_covariance(_reduced(blocks, free, known, theta), model, theta[free], space, options.robust)
    pulled = options.method != "least-squares"
    unc = uncertainty(space, seen, meat, prior.K[np.ix_(free, free)], pulled=pulled)

    weighed = _weighed(plan) if plan.robot.floating else []

    progress("validating")
    scores, series = [], []
    for k, (log, segments) in enumerate(zip((*fit_logs, *held_out), rows_of, strict=True)):
        rows = Rows(plan.robot, segments, plan.columns, plan.equations, plan.feet, filter, everything.free)
        one, drawn = score(rows, theta, log, "fit" if k < len(fit_logs) else "validation")
        scores.append(one)
        series.append(drawn)

    estimate = Estimate(
        robot=plan.robot.name,
        method=options.method,
        equations=plan.equations,
        bodies=_bodies(plan, prior, theta, free, unc),
        joints=_joints(plan.columns, theta, gains),
        base=base_parameters(space, unc, theta[free], [names[i] for i in free], [g[free] for g in weighed]),
        base_condition=space.condition,
        rows=info.rows,
        objective=0.5 * info.cost(theta),
        fit=pooled(scores[: len(fit_logs)]),
        validation={log.source: s for log, s in zip(held_out, scores[len(fit_logs) :], strict=True)},
        certificate=proof,
        provenance=_provenance(description, [*fit_logs, *held_out], command, filter, options),
        notices=tuple(dict.fromkeys(notices + _thin(plan, theta))),
        hidden=_hidden(plan, prior),
        blind=_blind(plan, everything),
        advice=_advice(plan, unc, prior, free, pooled(scores[: len(fit_logs)])),
        total=_total(weighed, theta, free, unc) if weighed else None,
        truth=_truth(plan, fit_logs[0], truth),
        locked=dict(plan.robot.locked),
        sensors=_sensors(plan, prior, theta, free, unc),
    )
    return Identification(estimate, plan.robot, plan.columns, theta, info, tuple(series))


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


def _cached(rows: Rows) -> list[Block] | Rows:
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
                         at.start in where)
        )  # fmt: skip
    return tuple(found)


def _joints(columns: Columns, theta: Array, gains: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    terms = {(j, term): float(theta[k]) for k, (j, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies))}
    terms |= {(joint, "gain"): gain for joint, gain in gains.items()}
    joints: dict[str, dict[str, float | None]] = {}
    for (joint, term), value in terms.items():
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
    possible = structural(plan.robot, plan.columns, plan.equations, prior.scale, plan.feet)
    parts = [m for m in plan.feet if isinstance(m, Missing)]
    with_all = structural(plan.robot, plan.columns, plan.equations, prior.scale) if parts else possible
    if plan.equations != "contact-free" and possible.rank < with_all.rank:  # motion never shows what no sensor measures
        lacking = "; ".join(f"{', '.join(names)} of {which}" for which, names, _ in grouped(parts))
        return f"{said}To learn more, log {lacking}"
    pivots, Z = possible.composition
    weak: dict[str, int] = {}
    for p, z in zip(pivots, Z, strict=True):
        std = unc.std_data(z)
        if std is None or std >= CERTAIN * possible.size(z):
            owner = plan.columns.names[p].rsplit(".", 1)[0].removesuffix(".offset")
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


def _weighed(plan: Plan) -> list[Array]:
    """(n,) gradients of masses with a meaning: of the whole robot, and of what is above sensors in contact, if any."""
    model, feet = plan.robot.model, {f.frame.joint for f in plan.feet if f.frame is not None}
    below = {int(i) for s in plan.robot.sensors if feet & set(model.subtrees[s.joint]) for i in model.subtrees[s.joint]}
    gradients = []
    for left_out in (set[int](), below) if below else (set[int](),):
        g = np.zeros(plan.columns.n)
        for name in plan.columns.bodies:
            g[plan.columns.body(name).start] = float(plan.robot.body(name).joint not in left_out)
        gradients.append(g)
    return gradients


def _total(gradients: Sequence[Array], theta: Array, free: Array, unc: Uncertainty) -> Total:
    totals = [Total(m := float(g @ theta), unc.std(g[free]), unc.verdict(g[free], m)) for g in gradients]
    return totals[0] if totals[0].verdict == "identified" else replace(totals[0], above=(*totals, None)[1])


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
                    "regularisation": options.regularisation},
    }  # fmt: skip
