"""How much the answer would be another with other logs: logs are drawn again, with replacement, and fitted again.

With I_k what log k says, weighed as the fit weighed it, and c_k how often it is drawn,

    θ* = the solution for Σ c_k I_k,    Σ c_k = the number of logs,

so a replicate is one sum of small triangles and one solution. The spread of many asks nothing of the noise but that
logs are independent of each other: where it exceeds the analytic deviations, something differs from log to log that no
row knows of. It says nothing of what only the prior knows: that is the same in every replicate.
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
UNITS = 100  # that are drawn: of more logs neighbours go together, so that memory does not grow with them
SEED = 0
ENDS = (2.5, 97.5)  # % of the replicates


@dataclass(frozen=True)
class Resampling:
    """What a replicate needs to know, whichever it is."""

    setup: Setup
    prior: Prior
    options: Options
    before: Information  # that all replicates have
    units: Sequence[Information]


def refuse(count: int, logs: int) -> None:
    """Refuse too few replicates, or too few logs."""
    findings = []
    if count < LEAST:
        what = "are too few to tell the ends of an interval"
        findings.append(Finding("todo", f"--bootstrap {count}", what, f"Give {LEAST} or more"))
    if logs < LEAST_LOGS:
        what = f"draws logs again, and {logs} of them do not show how much logs differ"
        findings.append(
            Finding("todo", f"--bootstrap {count}", what, f"Give {LEAST_LOGS} logs or more, or cut long ones")
        )
    if findings:
        raise UsageError(findings)


def bootstrap(
    gathered: Gathered,
    found: Fit,
    estimate: Estimate,
    options: Options,
    count: int,
    workers: Workers,
    job: Job,
) -> Bootstrap:
    """Fit so many replicates of an estimate, by ``workers``; who they are makes no difference."""
    setup, logs = gathered.setup, list(gathered.inputs)
    refuse(count, len(logs))
    job.progress("reading what each log said")
    split = np.array_split(np.arange(len(logs)), min(UNITS, len(logs)))
    bundles = [{logs[i]: gathered.keys[logs[i]] for i in part} for part in split]
    weights = np.diag(found.noise.whitener)
    units = workers.map(_unit, bundles, gathered.task, weights, name="logs")
    resampling = Resampling(setup, found.prior, options, side_information(setup, options, job.earlier), units)
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
    """What some logs say, their rows weighted; from the checkpoint where it is there, without opening the log."""
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
    """(n,) the parameters that the logs of one drawing give."""
    setup, N = resampling.setup, len(resampling.units)
    counts = np.bincount(np.random.default_rng([SEED, number]).integers(N, size=N), minlength=N)
    units = [(int(c), u) for c, u in zip(counts, resampling.units, strict=True) if c]
    stacked = np.vstack([np.sqrt(c) * u.triangle for c, u in units])
    info = Information.of(stacked[:, :-1], stacked[:, -1], setup.columns.names)
    info = replace(info, rows=sum(c * u.rows for c, u in units)) + resampling.before
    return solve(setup, info, resampling.prior, resampling.options).theta
