"""The main job, end to end: a robot and logs in, parameters with their sources and a verdict out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.check.diagnosis import diagnose_logs
from steelyard.check.opening import open_logs
from steelyard.equations.columns import Columns
from steelyard.equations.holdout import HoldOut, Training
from steelyard.equations.rows import Rows
from steelyard.equations.setup import Setup
from steelyard.errors import Finding, UsageError
from steelyard.files import digest
from steelyard.identify.advice import advice
from steelyard.identify.conclude import RunRecord, conclude
from steelyard.identify.description_fit import described_parameters
from steelyard.identify.drive_gains import as_torques
from steelyard.identify.estimate import Estimate
from steelyard.identify.estimate_json import judge
from steelyard.identify.fit import fit
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.scoring import Score, pooled, predict
from steelyard.identify.sentence import sentence
from steelyard.identify.series import Role, Series
from steelyard.identify.verdict import RunVerdict
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.log.log_source import LogSources, MappingSource, as_logs, as_mapping
from steelyard.robot.description import Description, RobotSource, read_description
from steelyard.robot.model import Robot
from steelyard.spatial import Array

FILTERS = {
    False: "symmetric Hamming low-pass of three periods, zero phase",
    True: "kinematics and forces: causal Butterworth low-pass of third order; rows: symmetric Hamming low-pass",
}


@dataclass(frozen=True, repr=False)
class Identification:
    """The estimate, and what it was made from."""

    estimate: Estimate
    robot: Robot
    columns: Columns
    theta: Array  # (n,)
    information: Information
    series: tuple[Series, ...]
    posture: Array  # (J,) rad or m, of the first sample

    @property
    def sentence(self) -> str:
        """One sentence: trusted or not, why, what motion would help."""
        return sentence(self.estimate)

    @property
    def verdict(self) -> RunVerdict:
        """Whether the estimate is to be trusted: its questions, and the sentence that gives the reasons."""
        return judge(self.estimate)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"


def identify(
    source: RobotSource,
    logs: LogSources,
    options: Options | None = None,
    *,
    validate: LogSources = (),
    mapping: MappingSource | None = None,
    job: Job | None = None,
) -> Identification:
    """Identify the inertial parameters of a robot from logs of its motion (``steelyard.identify``)."""
    options, job = options or Options(), job or Job()
    job.progress("reading")
    description = read_description(source)
    mapping = as_mapping(mapping)  # opened once
    fit_logs, held_out = as_logs(logs, mapping), as_logs(validate, mapping)
    _refuse_training_logs(fit_logs, held_out)
    if job.load is not None and (refused := list(options.solver.refuse_load())):
        raise UsageError(refused)
    carrier = job.load.link if job.load else None
    setup = open_logs(description, fit_logs, options, held_out=held_out, load=carrier, despite=options.despite)
    options.solver.shapes(setup)  # raises before the work, where they do not fit

    job.progress("filtering")
    every, notices = [*fit_logs, *held_out], list(setup.notices)
    segments_of = []
    for log in every:
        segments, remarks = setup.segments(log, level=True)
        notices += remarks
        segments_of.append(segments)
    job.progress("checking the logs")
    findings = diagnose_logs(setup, zip(every, segments_of, strict=True), options.despite)
    everything = setup.rows([s for segments in segments_of[: len(fit_logs)] for s in segments])
    rows_of = [setup.rows(segments, like=everything) for segments in segments_of]
    holds = [*(HoldOut.of(log, options.hold_out) for log in fit_logs), *(None for _ in held_out)]
    training = Training(list(zip(rows_of, holds, strict=True))[: len(fit_logs)])
    fitted = fit(setup, training, options, job)

    job.progress("validating")
    driven = np.arange(setup.columns.n)
    if fitted.drives is not None:  # currents are torques from here on
        gains = fitted.drives.named()
        columns, driven = _without_gains(setup.columns)
        segments_of = [[as_torques(s, setup.robot.joints, gains) for s in segments] for segments in segments_of]
        rows_of = [replace(setup, columns=columns).rows(segments, like=everything) for segments in segments_of]
        every = [log.with_gains(gains) for log in every]
    trained, training_segments = len(fit_logs), segments_of[: len(fit_logs)]
    scores = _scores(rows_of, fitted.theta[driven], every, holds, trained)
    described = described_parameters(setup, fitted)[driven]
    by_description = _scores(rows_of, described, every, holds, trained, "validation")
    explained = pooled([s for s, drawn in scores if drawn.role == "fit"])
    record = RunRecord(
        explained,
        {drawn.log: s for s, drawn in scores if drawn.role == "validation"},
        everything.names,
        tuple(notices),
        provenance(description, digests([*fit_logs, *held_out]), setup, options, job),
        job.truth or truth_of(setup, fit_logs),
        segments=training_segments,
        findings=(*(n for n in setup.notices if n.severity != "note"), *findings),
        advice=advice(setup, [s for segments in training_segments for s in segments], explained),
        described={drawn.log: s for s, drawn in by_description},
    )
    return Identification(
        conclude(setup, options, fitted, record, job),
        setup.robot,
        setup.columns,
        fitted.theta,
        fitted.information,
        tuple(drawn for _, drawn in scores),
        next((s.q[0] for segments in segments_of for s in segments), np.zeros(len(setup.robot.joints))),
    )


def _refuse_training_logs(fit: Sequence[Log], held_out: Sequence[Log]) -> None:
    """Refuse validation logs that are also training logs: predicting them validates nothing."""
    for log in held_out:
        for other in fit:
            same = log.columns.keys() == other.columns.keys() and np.array_equal(log.time, other.time)
            if same and all(np.array_equal(log.columns[c], other.columns[c]) for c in log.columns):
                what, fix = "is also a training log: predicting it validates nothing", "Validate with another log"
                raise UsageError(Finding("validation-log-in-training", f"validate={log.source}", what, fix))


def _scores(
    rows_of: Sequence[Rows],
    theta: Array,
    logs: Sequence[Log],
    holds: Sequence[HoldOut | None],
    trained: int,
    only: Role | None = None,
) -> list[tuple[Score, Series]]:
    """Scores and series of the first ``trained`` logs, of the blocks held out of them, and of the validation logs.

    ``only``: of validation logs and blocks alone.
    """
    scores = []
    for k, (rows, log, hold) in enumerate(zip(rows_of, logs, holds, strict=True)):
        if only == "validation" and k < trained and hold is None:
            continue
        whole = predict(rows, theta, log)
        if hold is None:
            scores.append(whole.score("fit" if k < trained else "validation"))
        else:
            if only != "validation":
                scores.append(whole.part(log.source, hold.training).score("fit"))
            scores.append(whole.part(hold.name, hold.held).score("validation"))
    return scores


def _without_gains(columns: Columns) -> tuple[Columns, Array]:
    """The columns without gains, and their indices among all columns."""
    terms = tuple(t for t in columns.joint_terms if t[1] != "gain")
    gains = [k for k, (_, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies)) if term == "gain"]
    return replace(columns, joint_terms=terms), np.setdiff1d(np.arange(columns.n), gains)


def truth_of(setup: Setup, logs: Sequence[Log]) -> dict[str, Array]:
    """True parameters of bodies and of the load, where a simulation wrote them into its logs."""
    simulated = next((log for log in logs if "truth" in log.metadata), None)
    if simulated is None:
        return {}
    true = simulated.metadata["truth"].get("parameters", {})
    known = {name: np.asarray(p, float) for name, p in true.items() if name in setup.columns.bodies}
    known = {name: p for name, p in known.items() if p.shape == (10,)}
    load = next((b for b in setup.robot.bodies if b.carrier is not None), None)
    loaded = [log.metadata["truth"] for log in logs if log.loaded and "truth" in log.metadata]
    carried = loaded[0].get("loads") if loaded else None
    if load is None or load.carrier is None or not carried:
        return known
    holder = setup.robot.body(load.carrier.name)
    own = [c for c in carried if setup.robot.body(c["link"]) is holder]
    total = sum(inertia.transform(c["parameters"], setup.robot.frames[c["link"]].placement) for c in own)
    known[load.name] = inertia.transform(total, np.linalg.inv(load.carrier.placement))
    if simulated.loaded and holder.name in known:  # its true parameters include the load
        known[holder.name] = known[holder.name] - total
    return known


def digests(logs: Sequence[Log]) -> dict[str, str]:
    """File → SHA-256 of its bytes, of all files that logs were read from."""
    return {name: digest for log in logs for name, digest in log.files.items()}


def provenance(
    description: Description, logs: Mapping[str, str], setup: Setup, options: Options, job: Job
) -> dict[str, Any]:
    """Where an estimate comes from: ``logs`` are files with their digests."""
    inputs = {str(description.path): description.sha256, **logs}
    shapes = [getattr(options.solver, "start", None), job.load.shapes if job.load else None]
    inputs |= {f.source: digest(f.source) for f in shapes if f is not None and Path(f.source).is_file()}
    versions: dict[str, str | None] = {}
    for package in ("steelyard", "numpy", "scipy", "pin", "clarabel", "pyarrow"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    filter = setup.filter
    assert filter is not None
    where = {"area": job.load.area, "top": job.load.top} if job.load else {"area": None, "top": None}
    return {
        "inputs": inputs,
        "versions": versions,
        "command": job.command,
        "seed": None,
        "filter": {**vars(filter), "predicted": filter.predicted, "kind": FILTERS[filter.causal]},
        "options": {**options.as_json(), **where},
        **({"commanded": list(setup.commanded)} if setup.commanded else {}),
    }
