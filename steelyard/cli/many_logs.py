"""``steelyard identify`` of many logs: patterns and lists, workers, progress and a checkpoint."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.cli.terminal import shown_progress
from steelyard.errors import Finding, UsageError
from steelyard.fleet.checkpoint import Checkpoint
from steelyard.fleet.gathering import FleetOptions
from steelyard.fleet.identify_fleet import identify_many
from steelyard.fleet.locations import expand_logs
from steelyard.fleet.workers import Workers, refuse_workers_and_scheduler
from steelyard.identify.identification import Identification
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.resume import Earlier, resume_options
from steelyard.output.results import refuse_overwriting, write_results

FOLDER = "triangles"  # inside -o DIR: information of single logs, until the results are written


@dataclass(frozen=True)
class Work:
    """How the logs are processed."""

    workers: int | None = None  # processes of this machine
    scheduler: str | None = None  # address of a Dask scheduler
    listed: Path | None = None  # file with a log on every line
    skip: bool = False  # skip logs that cannot be used
    checkpoint: str | None = None  # folder or URL; None: inside the results, removed on success
    bootstrap: int | None = None  # replicates of resampled logs
    mapping: Path | None = None  # how foreign logs are read
    topics: Mapping[str, str] = field(default_factory=dict)  # of bags
    earlier: Path | None = None  # results of an earlier run
    report: bool = True  # whether report.html is written

    def __post_init__(self) -> None:
        refuse_workers_and_scheduler(self.workers, self.scheduler)


def identify_many_logs(
    robot: str, logs: Sequence[str], options: Options, work: Work, out: Path, *, validate: Sequence[Any], job: Job
) -> tuple[Identification, list[Path]]:
    """Identify, and write the results."""
    names = expand_logs(logs, work.listed)
    refuse_overwriting(out, [Path(name) for name in names])
    earlier = None if work.earlier is None else Earlier.read(work.earlier)
    if earlier is not None:
        options = resume_options(options, earlier)
        if earlier.gains:
            what = "has identified drive gains, which logs that are read once need beforehand"
            fix = "Give the gains in a mapping"
            raise UsageError(Finding("gains-missing", f"earlier={work.earlier}", what, fix, {"mapping": None}))
    checkpoint = work.checkpoint or str((out / FOLDER).resolve())
    with shown_progress() as progress, Workers.of(work.workers, work.scheduler) as workers:
        job = replace(job, progress=progress, earlier=None if earlier is None else earlier.information)
        counter = _Counter(progress)
        fleet = FleetOptions(
            workers, work.mapping, work.topics, checkpoint, work.skip, replicates=work.bootstrap, progress=counter
        )
        result = identify_many(robot, names, options, fleet, validate=validate, job=job)
        progress("writing")
        files = write_results(result, out, report=work.report)
    if work.checkpoint is None:
        Checkpoint(checkpoint).clear()
    return result, files


class _Counter:
    """Progress text of logs read: at every log on a terminal, else at every tenth of them."""

    def __init__(self, progress: Callable[[str], None]):
        self._progress, self._start, self._tenths = progress, time.monotonic(), 0

    def __call__(self, done: int, of: int) -> None:
        tenths = 10 * done // of
        if tenths == self._tenths and not sys.stderr.isatty():
            return
        self._tenths = tenths
        remaining = (time.monotonic() - self._start) / done * (of - done)
        self._progress(f"read {done} of {of} logs" + (f", about {remaining:.0f} s left" if done < of else ""))
