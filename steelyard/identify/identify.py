"""The main job, end to end: a robot and logs in, parameters with verdicts out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.compose import prior as priors
from steelyard.compose.points_cover import Cover, cover, cover_notices
from steelyard.equations.holdout import HoldOut, Training
from steelyard.equations.prepare import Filter, prepare
from steelyard.equations.rows import Columns, Rows
from steelyard.equations.setup import Options, Plan, make_plan
from steelyard.errors import Finding, UsageError
from steelyard.identify import bounds
from steelyard.identify import verdict as judge
from steelyard.identify.drive_gains import as_torques
from steelyard.identify.estimate import Estimate
from steelyard.identify.fit import Fit, Progress, fit
from steelyard.identify.prediction import Score, pooled, predict
from steelyard.identify.series import Series
from steelyard.inference.uncertainty import base_parameters
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.log.mapping import ColumnMap, read_mapping
from steelyard.log.table import read_log
from steelyard.robot.description import Description, read_description
from steelyard.robot.model import Robot

Array = np.ndarray

FILTERS = {
    False: "symmetric Hamming low-pass of three periods, zero phase",
    True: "kinematics and forces: causal Butterworth low-pass of third order; rows: symmetric Hamming low-pass",
}


@dataclass(frozen=True)
class Identification:
    """The estimate, and what it was made from."""

    estimate: Estimate
    robot: Robot
    columns: Columns
    theta: Array  # (n,)
    information: Information
    series: tuple[Series, ...]
    posture: Array  # (J,) rad or m, of the first sample


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
    filter = options.filter.for_logs(fit_logs, plan.equations)
    notices = list(plan.notices)

    progress("filtering")
    segments_of = []
    for log in (*fit_logs, *held_out):
        segments, remarks = prepare(
            plan.robot, log, filter, torques=plan.equations != "base", level=bool(plan.feet or log.names("plate"))
        )
        notices += remarks
        segments_of.append(segments)
    everything = Rows(
        plan.robot, [s for segments in segments_of[: len(fit_logs)] for s in segments], plan.columns, plan.equations,
        plan.feet, filter,
    )  # fmt: skip
    rows_of = [
        Rows(plan.robot, segments, plan.columns, plan.equations, plan.feet, filter, everything.free, everything.samples)
        for segments in segments_of
    ]
    holds = [*(HoldOut.of(log, options.hold_out) for log in fit_logs), *(None for _ in held_out)]
    training = Training(list(zip(rows_of, holds, strict=True))[: len(fit_logs)])

    found = fit(plan, training, options, earlier=earlier, progress=progress, save=save_problem)
    drives = found.drives

    progress("validating")
    gains = drives.named() if drives is not None else {}
    logs_of = [*fit_logs, *held_out]
    columns, driven = _without_gains(plan.columns)
    if drives is not None:
        logs_of = [log.with_gains(gains) for log in logs_of]
        segments_of = [[as_torques(s, plan.robot.joints, gains) for s in segments] for segments in segments_of]
        rows_of = [
            Rows(plan.robot, segments, columns, plan.equations, plan.feet, filter, everything.free, everything.samples)
            for segments in segments_of
        ]
    scores = _scores(rows_of, found.theta[driven], logs_of, holds, len(fit_logs))
    estimate = concluded(
        plan, options, found, pooled([s for s, drawn in scores if drawn.role == "fit"]),
        {drawn.log: s for s, drawn in scores if drawn.role == "validation"}, everything.names, notices,
        provenance(description, digests([*fit_logs, *held_out]), command, filter, options),
        truth or truth_of(plan, fit_logs), progress,
    )  # fmt: skip
    return Identification(
        estimate, plan.robot, plan.columns, found.theta, found.information, tuple(drawn for _, drawn in scores),
        next((s.q[0] for segments in segments_of for s in segments), np.zeros(len(plan.robot.joints))),
    )  # fmt: skip


def concluded(
    plan: Plan,
    options: Options,
    found: Fit,
    explained: Score,
    validation: Mapping[str, Score],
    rows: Sequence[str],
    notices: Sequence[str],
    origin: Mapping[str, Any],
    truth: Mapping[str, Array],
    progress: Progress,
    left_out: str = "",
) -> Estimate:
    """The answer, from what was fitted to rows of these names and how well that explains them."""
    theta, free, unc, drives = found.theta, found.free, found.uncertainty, found.drives
    gains = drives.named() if drives is not None else {}
    bounded = bounds.ranges(plan, options, found, progress)
    edges = bounds.intervals(plan, options, found)
    said = [*notices, *found.notices, *(bounded.notices(options.ranges_inside) if bounded else [])]
    said += judge.about_gains(gains, drives)
    covers = _covers(plan, found.prior, free, options)
    said += cover_notices(covers, options.points_in)
    bodies = [replace(b, interval=edges.get(b.name)) for b in judge.bodies(plan, found.prior, theta, free, unc)]
    masses = judge.weighed_masses(plan) if plan.robot.floating else []
    names = [plan.columns.names[i] for i in free]
    return Estimate(
        robot=plan.robot.name,
        method=options.method,
        equations=plan.equations,
        bodies=tuple(b for b in bodies if b.carrier is None),
        joints=judge.joints(plan.columns, theta, gains),
        base=base_parameters(found.space, unc, theta[free], names, [g[free] for g in masses]),
        base_condition=found.space.condition,
        rows=found.information.rows,
        objective=0.5 * found.information.cost(theta),
        fit=explained,
        validation=validation,
        certificate=found.certificate,
        provenance=origin,
        notices=tuple(dict.fromkeys(said + judge.thin(plan, theta))),
        hidden=judge.hidden(plan, found.prior),
        blind=judge.blind(plan, rows),
        advice=judge.advice(plan, unc, found.prior, free, explained),
        total=judge.total(masses, theta, free, unc) if masses else None,
        truth=truth,
        locked=dict(plan.robot.locked),
        loads=tuple(b for b in bodies if b.carrier is not None),
        scale=judge.scale(plan, unc, drives),
        sensors=judge.sensors(plan, found.prior, theta, free, unc),
        motors=judge.motors(plan.columns, theta),
        ranges=bounded,
        points=covers,
        shapes=found.refined.shapes if found.refined else {},
        divisions=found.refined.steps if found.refined else (),
        left_out=left_out,
    )


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


def _covers(plan: Plan, prior: priors.Prior, free: Array, options: Options) -> dict[str, Cover]:
    """Of method points: how many masses each free body got, and whether it could be as believed."""
    if options.method != "points":
        return {}
    return {
        name: cover(plan.robot.body(name), prior.mean[plan.columns.body(name)], options.points, options.points_in)
        for name in plan.columns.bodies
        if plan.columns.body(name).start in free
    }


def _without_gains(columns: Columns) -> tuple[Columns, Array]:
    """The columns once currents are torques, and where they were."""
    terms = tuple(t for t in columns.joint_terms if t[1] != "gain")
    gains = [k for k, (_, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies)) if term == "gain"]
    return replace(columns, joint_terms=terms), np.setdiff1d(np.arange(columns.n), gains)


def truth_of(plan: Plan, logs: Sequence[Log]) -> dict[str, Array]:
    """True parameters of bodies and of the load, where a simulation wrote them into its logs."""
    told = next((log for log in logs if "truth" in log.metadata), None)
    if told is None:
        return {}
    found = told.metadata["truth"].get("parameters", {})
    known = {name: np.asarray(p, float) for name, p in found.items() if name in plan.columns.bodies}
    known = {name: p for name, p in known.items() if p.shape == (10,)}
    load = next((b for b in plan.robot.bodies if b.carrier is not None), None)
    loaded = [log.metadata["truth"] for log in logs if log.loaded and "truth" in log.metadata]
    carried = loaded[0].get("loads") if loaded else None
    if load is None or load.carrier is None or not carried:
        return known
    holder = plan.robot.body(load.carrier.name)
    own = [c for c in carried if plan.robot.body(c["link"]) is holder]
    total = sum(inertia.transform(c["parameters"], plan.robot.frames[c["link"]].placement) for c in own)
    known[load.name] = inertia.transform(total, np.linalg.inv(load.carrier.placement))
    if told.loaded and holder.name in known:  # the body was told with what it carries
        known[holder.name] = known[holder.name] - total
    return known


def digests(logs: Sequence[Log]) -> dict[str, str]:
    """File → SHA-256 of its bytes, of all files that logs were read from."""
    files = [name for log in logs for name in (log.source, *log.files) if Path(name).is_file()]
    return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files}


def provenance(
    description: Description, logs: Mapping[str, str], command: str, filter: Filter, options: Options
) -> dict[str, Any]:
    """Where an estimate comes from: ``logs`` are files with their digests."""
    inputs = {str(description.path): hashlib.sha256(Path(description.path).read_bytes()).hexdigest(), **logs}
    if options.shapes is not None and Path(options.shapes.source).is_file():
        inputs[options.shapes.source] = hashlib.sha256(Path(options.shapes.source).read_bytes()).hexdigest()
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
        "filter": {**vars(filter), "kind": FILTERS[filter.causal]},
        "options": {"links": list(options.links), "prior": options.prior, "friction": options.friction,
                    "robust": options.robust, "area": options.area, "top": options.top,
                    "regularisation": options.regularisation, "hold_out": options.hold_out,
                    "realisable": options.realisable, "total_mass": options.total_mass,
                    "hard_mass": options.hard_mass, "symmetric": list(options.symmetric),
                    "null_space": options.null_space, "prior_space": options.prior_space,
                    "prior_width": options.prior_width, "prior_weight": options.prior_weight,
                    "points": options.points, "points_in": options.points_in, "point_ridge": options.point_ridge},
    }  # fmt: skip
