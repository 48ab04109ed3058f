"""``identify`` over thousands of logs: the fit of their sums equals that of their rows.

The fit is that of ``identify/identification.py``: the same noise, solver and uncertainty, from sums instead of rows
(``equations/stream/autocorrelation.py``). The samples themselves are not kept: errors of the fit are those of filtered
rows, and only validation logs are plotted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.check.diagnosis import diagnose_logs
from steelyard.errors import Finding, UsageError, note
from steelyard.fleet.gathering import FleetOptions, Gathered, gather_logs
from steelyard.fleet.resample_logs import bootstrap, refuse_too_few
from steelyard.identify.conclude import RunRecord, conclude
from steelyard.identify.description_fit import described_parameters
from steelyard.identify.fit import fit
from steelyard.identify.identification import Identification, digests, provenance, truth_of
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.scoring import Score, row_sizes, score
from steelyard.identify.series import Series
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.description import RobotSource, read_description
from steelyard.spatial import Array


def identify_many(
    source: RobotSource,
    logs: Sequence[str],
    options: Options | None = None,
    fleet: FleetOptions | None = None,
    *,
    validate: Sequence[str | Path | Log] = (),
    job: Job | None = None,
) -> Identification:
    """Identify a robot from logs that are read once, in memory that does not grow with them.

    Args:
        source: The robot, or its file.
        logs: Paths or URLs.
        options: Of equations, friction, filter and method.
        fleet: Workers, checkpoint, bootstrap.
        validate: Held-out logs to predict.
        job: Further outputs and progress of the run.
    """
    options, fleet, job = options or Options(), fleet or FleetOptions(), job or Job()
    if fleet.replicates is not None:
        refuse_too_few(fleet.replicates, len(logs))
    description = read_description(source)
    fleet = replace(fleet, mapping=fleet.read_mapping())
    held_out = [x if isinstance(x, Log) else read_log(x, fleet.mapping, fleet.topics) for x in validate]
    gathered = gather_logs(description, logs, options, fleet, held_out=held_out)
    predicted = digests(held_out)
    _refuse_training_logs(gathered.inputs, predicted)
    setup, channels = gathered.setup, gathered.channels
    segments = setup.segments(gathered.first)[0]
    findings = diagnose_logs(setup, [(gathered.first, segments)], options.despite)
    solution = fit(setup, channels, options, job)
    job.progress("validating")
    scores = [_score(gathered, log, solution.theta) for log in held_out]
    described = described_parameters(setup, solution)
    origin = provenance(description, {**gathered.inputs, **predicted}, setup, options, job)
    if gathered.skipped:
        origin["skipped"] = {name: [str(f) for f in findings] for name, findings in gathered.skipped.items()}
    read = f"{len(gathered.inputs)} logs, {gathered.seconds / 3600:.3g} h of samples, were read once"
    earlier = f", {gathered.cached} of them by an earlier run" if gathered.cached else ""
    about = f"{read}{earlier}: errors of the fit are of filtered rows, those of validation logs of raw measurements"
    record = RunRecord(
        _score_of_sums(gathered, solution.theta),
        {drawn.log: s for s, drawn in scores},
        channels.names,
        (*gathered.notices, note("logs-read-once", "logs", about, cached=gathered.cached)),
        origin,
        truth_of(setup, [gathered.first]),
        _skipped_text(gathered),
        findings=findings if any(f.severity != "note" for f in findings) else None,  # the other logs are not diagnosed
        described={drawn.log: s for s, drawn in (_score(gathered, log, described) for log in held_out)},
    )
    estimate = conclude(setup, options, solution, record, job)
    if fleet.replicates is not None:
        spread = bootstrap(gathered, solution, estimate, options, fleet.replicates, fleet.workers, job)
        estimate = replace(estimate, bootstrap=spread)
    series = tuple(drawn for _, drawn in scores)
    return Identification(
        estimate, setup.robot, setup.columns, solution.theta, solution.information, series, segments[0].q[0]
    )


def _score_of_sums(gathered: Gathered, theta: Array) -> Score:
    """Errors of filtered rows, from the sums alone."""
    channels = gathered.channels
    wrong, size = channels.squares(theta), channels.squares(np.zeros_like(theta))
    squares = float(wrong.sum()), float(size.sum())
    rmse = {name: float(np.sqrt(x / channels.count)) for name, x in zip(channels.names, wrong, strict=True)}
    relative = float(np.sqrt(squares[0] / squares[1])) if squares[1] > 0 else None
    rows, unknown = channels.count * len(channels.names), dict.fromkeys(channels.names)
    sizes = row_sizes(channels.names, np.sqrt(size / channels.count))
    unexplained = {name: rmse[name] / float(x) for name, x in zip(channels.names, sizes, strict=True)}
    return Score(rows, rmse, unknown, None, relative, squares_filtered=squares, unexplained=unexplained)


def _score(gathered: Gathered, log: Log, theta: Array) -> tuple[Score, Series]:
    segments, _ = gathered.setup.segments(log)
    return score(gathered.setup.rows(segments, free=gathered.task.free), theta, log, "validation")


def _skipped_text(gathered: Gathered) -> str:
    bad = len(gathered.skipped)
    if not bad:
        return ""
    were = "was" if bad == 1 else "were"
    return f"{bad} of {bad + len(gathered.inputs)} logs could not be used and {were} skipped"


def _refuse_training_logs(training: Mapping[str, str], predicted: Mapping[str, str]) -> None:
    """Refuse validation logs that are among the training logs, by their digests."""
    known = set(training.values())
    for name, digest in predicted.items():
        if digest in known:
            what = "is also a training log: predicting it validates nothing"
            raise UsageError(Finding("validation-log-in-training", f"validate={name}", what, "Hold another log out"))
