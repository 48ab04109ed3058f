"""Information of many logs: each is read once, by one of the workers, and only sums travel.

The first readable log determines robot, equations and filter; every other log is checked against them where it is read,
and one that does not fit or cannot be read is reported with its findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.check.opening import open_logs
from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.setup import Setup
from steelyard.equations.stream.channels import Channels
from steelyard.errors import Finding, LogError, UsageError, note
from steelyard.fleet.checkpoint import Checkpoint
from steelyard.fleet.locations import fetch_log
from steelyard.fleet.log_stream import Streamed, make_rows
from steelyard.fleet.summarise import Summariser, Summary, merge, read_log_pieces, rename, summarise, summarise_lost
from steelyard.fleet.workers import Progress, Workers
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.log.mapping import ColumnMap, read_mapping
from steelyard.robot.description import RobotSource, read_description

NOTICES = 20  # about single logs, at most


@dataclass(frozen=True)
class FleetOptions:
    """How many logs are processed."""

    workers: Workers = field(default_factory=Workers)
    mapping: str | Path | ColumnMap | None = None  # of foreign columns
    topics: Mapping[str, str] | None = None  # of bags
    checkpoint: str | Path | None = None  # folder or URL that all workers can read: sums of each log, to resume from
    skip: bool = False  # skip unusable logs, and report them
    replicates: int | None = None  # of a bootstrap over the logs
    progress: Progress = lambda done, of: None  # number of logs read, of all

    def read_mapping(self) -> ColumnMap | None:
        """The mapping, from its file where one is given."""
        return read_mapping(self.mapping) if isinstance(self.mapping, str | Path) else self.mapping


@dataclass(frozen=True)
class Gathered:
    """Sums over all logs, and the setup that they are of."""

    task: Summariser
    channels: Channels
    seconds: float  # duration of the samples used
    inputs: Mapping[str, str]  # log → SHA-256
    keys: Mapping[str, str]  # log → its name in the checkpoint
    skipped: Mapping[str, tuple[Finding, ...]]  # unusable logs, and why
    cached: int  # logs whose sums were in the checkpoint
    notices: tuple[Finding, ...]
    first: Log  # first piece of the first log

    @property
    def setup(self) -> Setup:
        """Setup of the first log."""
        return self.task.setup


def gather_logs(
    source: RobotSource,
    logs: Sequence[str],
    options: EquationOptions | None = None,
    fleet: FleetOptions | None = None,
    *,
    held_out: Sequence[Log] = (),
) -> Gathered:
    """Sum the information of all logs, each read once.

    Args:
        source: The robot, or its file.
        logs: Paths or URLs.
        options: Of the equations.
        fleet: Workers, checkpoint, mapping.
        held_out: Validation logs, which have to fit the robot too.

    Raises:
        LogError: Some logs cannot be used; raised once all are read, and not with ``fleet.skip``.
    """
    fleet = fleet or FleetOptions()
    task, first = make_summariser(source, logs, options, fleet, held_out)
    done = fleet.workers.reduce(summarise, merge, logs, task, name="log", lost=summarise_lost, progress=fleet.progress)
    if done.failures and not fleet.skip:
        raise LogError([f for findings in done.failures.values() for f in findings])
    if done.sums is None:
        fix = "Run `steelyard check` on one of them"
        raise LogError(Finding("logs-unusable", "logs", "none of them can be used", fix))
    notices = tuple(dict.fromkeys([*task.setup.notices, *_notices(done, fleet)]))
    channels = task.channels(done.sums)
    return Gathered(
        task, channels, done.sums.seconds, done.inputs, done.keys, done.failures, done.cached, notices, first
    )


def stream_many(
    source: RobotSource,
    logs: Sequence[str],
    options: EquationOptions,
    workers: Workers,
    progress: Callable[[float], None] = lambda _: None,
) -> Streamed:
    """``stream_log`` of logs, each read by one of the workers."""
    fleet = FleetOptions(workers, progress=lambda done, of: progress(done / of))
    gathered = gather_logs(source, logs, options, fleet)
    return Streamed(gathered.setup, gathered.channels, gathered.seconds)


def make_summariser(
    source: RobotSource,
    logs: Sequence[str],
    options: EquationOptions | None = None,
    fleet: FleetOptions | None = None,
    held_out: Sequence[Log] = (),
) -> tuple[Summariser, Log]:
    """The task for all logs, determined by the first readable one; and the first piece of that log."""
    options, fleet = options or Options(), fleet or FleetOptions()
    _refuse_unsupported(options)
    description = read_description(source)
    mapping = fleet.read_mapping()
    name, first = _first(logs, mapping, fleet.topics)
    setup = open_logs(description, [first], options, held_out=held_out)
    if any(term == "gain" for _, term in setup.columns.joint_terms):
        what = "has currents without drive gains, whose identification needs all rows at once"
        fix = "Identify a few logs first, and give the gains in a mapping"
        raise LogError(Finding("gains-missing", name, what, fix, {"mapping": None}))
    free = make_rows(setup, first).free
    checkpoint = None if fleet.checkpoint is None else Checkpoint.create(fleet.checkpoint)
    return Summariser(description, options, setup, free, name, mapping, fleet.topics, checkpoint), first


def _first(logs: Sequence[str], mapping: ColumnMap | None, topics: Mapping[str, str] | None) -> tuple[str, Log]:
    """Name of the first readable log, and its first piece."""
    findings = list[Finding]()
    for name in logs:
        try:
            with fetch_log(name, hashed=False) as (path, _):
                try:
                    return name, replace(next(read_log_pieces(path, mapping, topics)).log, source=name)
                except LogError as error:
                    findings += [rename(f, path, name) for f in error.findings]
        except LogError as error:
            findings += error.findings
    raise LogError(findings)


def _refuse_unsupported(options: EquationOptions) -> None:
    """Refuse options that need the rows more than once."""
    if not isinstance(options, Options):
        return
    unsupported = {"robust=True": options.robust, f"hold_out={options.hold_out}": options.hold_out is not None}
    what, fix = "needs the rows more than once, and these logs are read once", "Drop it, or drop workers and scheduler"
    if findings := [Finding("option-conflict", option, what, fix) for option, given in unsupported.items() if given]:
        raise UsageError(findings)


def _notices(done: Summary, fleet: FleetOptions) -> Iterator[Finding]:
    yield from done.notices[:NOTICES]
    if (more := len(done.notices) - NOTICES) > 0:
        yield note("notices-omitted", "logs", f"and {more} more notices about single logs", count=more)
    same = dict[str, str]()
    for name, digest in done.inputs.items():
        if digest and same.setdefault(digest, name) != name:
            where = f"{same[digest]} and {name}"
            yield note("log-repeated", where, f"{where} are equal byte by byte: they counted as two logs")
    if bad := list(done.failures):
        shown = ", ".join(bad[:5]) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
        yield note("logs-skipped", shown, f"skipped as unusable: {shown}", logs=bad)
    if done.uncached:
        text = f"{done.uncached} logs are not in the checkpoint {fleet.checkpoint}: their workers cannot read it"
        yield note("checkpoint-not-shared", str(fleet.checkpoint), text, logs=done.uncached)
