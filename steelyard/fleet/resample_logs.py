"""Bootstrap over logs: logs are resampled with replacement, and fitted again.

With I_k the information of log k, weighted as in the fit, and c_k how often it is drawn,

    θ* = the solution for Σ c_k I_k,    Σ c_k = the number of logs,

so a replicate is one sum of small triangles and one solution. The spread of replicates assumes only that logs are
independent: where it exceeds the analytic standard deviations, something varies from log to log that the noise model
does not cover. Values taken from the prior do not vary: they are the same in every replicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.compose.prior import Prior
from steelyard.equations.setup import Setup
from steelyard.errors import Finding, LogError, UsageError
from steelyard.fleet.gathering import Gathered
from steelyard.fleet.summarise import Summariser, summarise
from steelyard.fleet.workers import Workers
from steelyard.identify.conclude import mass_gradients
from steelyard.identify.estimate import Estimate
from steelyard.identify.fit import Fit, side_information
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.solving import solve
from steelyard.inference.bootstrap import Bootstrap, Resampled
from steelyard.information import Information
from steelyard.spatial import Array

LEAST_LOGS, LEAST = 8, 40  # logs, and replicates
UNITS = 100  # that are drawn: more logs are bundled with their neighbours, so that memory does not grow with them
SEED = 0
ENDS = (2.5, 97.5)  # % of the replicates


@dataclass(frozen=True)
class Resampling:
    """What all replicates share."""

    setup: Setup
    prior: Prior
    options: Options
    before: Information  # of soft constraints and earlier results
    units: Sequence[Information]


def refuse_too_few(count: int, logs: int) -> None:
    """Refuse too few replicates, or too few logs."""
    findings = []
    if count < LEAST:
        what, fix = "is too few for the ends of an interval", f"Give bootstrap={LEAST} or more"
        findings.append(Finding("option-value", f"bootstrap={count}", what, fix, {"bootstrap": LEAST}))
    if logs < LEAST_LOGS:
        what = f"resamples logs, and {logs} of them are too few to show how much logs differ"
        fix = f"Give {LEAST_LOGS} logs or more, or cut long ones"
        findings.append(Finding("logs-too-few", f"bootstrap={count}", what, fix, {"logs": LEAST_LOGS}))
    if findings:
        raise UsageError(findings)


def bootstrap(
    gathered: Gathered,
    solution: Fit,
    estimate: Estimate,
    options: Options,
    count: int,
    workers: Workers,
    job: Job,
) -> Bootstrap:
    """Fit ``count`` replicates of an estimate by ``workers``; the result does not depend on them."""
    setup, logs = gathered.setup, list(gathered.inputs)
    refuse_too_few(count, len(logs))
    job.progress("reading the information of each log")
    split = np.array_split(np.arange(len(logs)), min(UNITS, len(logs)))
    bundles = [{logs[i]: gathered.keys[logs[i]] for i in part} for part in split]
    weights = np.diag(solution.noise.whitener)
    units = workers.map(_unit, bundles, gathered.task, weights, name="logs")
    resampling = Resampling(setup, solution.prior, options, side_information(setup, options, job.earlier), units)
    job.progress(f"resampling {count} times")
    thetas = np.array(workers.map(replicate, range(count), resampling, name="replicate"))
    names = setup.columns.names
    bodies = {
        b.name: Resampled.of(thetas[:, setup.columns.body(b.name).start], b.std[0], ENDS)
        for b in estimate.bodies
        if b.free
    }
    base = {
        p.name: Resampled.of(thetas[:, [names.index(t) for t in p.terms]] @ np.array([*p.terms.values()]), p.std, ENDS)
        for p in estimate.base
    }
    total = None
    if estimate.total is not None:
        total = Resampled.of(thetas @ mass_gradients(setup)[0], estimate.total.std, ENDS)
    return Bootstrap(count, SEED, len(logs), len(units), bodies, base, total)


def _unit(keys: Mapping[str, str], task: Summariser, weights: Array) -> Information:
    """Weighted information of some logs, from the checkpoint where it is there, else from the log."""
    whole = Information.none(task.setup.columns.n, task.setup.columns.names)
    for name, key in keys.items():
        sums = task.checkpoint.load(key) if task.checkpoint is not None and key else None
        if sums is None:
            part = summarise(name, task)
            if part.sums is None:
                raise LogError(part.failures[name])
            sums = part.sums
        whole = whole + task.channels(sums).information(weights)
    return whole


def replicate(number: int, resampling: Resampling) -> Array:
    """Parameters (n,) of one replicate."""
    setup, N = resampling.setup, len(resampling.units)
    counts = np.bincount(np.random.default_rng([SEED, number]).integers(N, size=N), minlength=N)
    units = [(int(c), u) for c, u in zip(counts, resampling.units, strict=True) if c]
    stacked = np.vstack([np.sqrt(c) * u.triangle for c, u in units])
    info = Information.of(stacked[:, :-1], stacked[:, -1], setup.columns.names)
    info = replace(info, rows=sum(c * u.rows for c, u in units)) + resampling.before
    return solve(setup, info, resampling.prior, resampling.options).theta
