"""What many logs say together: each is read once, by whoever works, and only sums travel.

Robot, equations and filter are decided by the first log that can be read; every other log is checked against that where
it is read, and one that does not fit or cannot be read is named with its reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.check.opening import open_logs
from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.setup import Setup
from steelyard.equations.stream.channels import Channels
from steelyard.errors import Finding, LogError, UsageError
from steelyard.fleet.checkpoint import Checkpoint
from steelyard.fleet.locations import fetched
from steelyard.fleet.log_stream import Streamed, rows_of
from steelyard.fleet.summarise import Summariser, Summary, lost, merge, pieces_of, rename, summarise
from steelyard.fleet.workers import Progress, Workers
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.log.mapping import ColumnMap, read_mapping
from steelyard.robot.description import RobotSource, read_description

NOTICES = 20  # about single logs that are kept


@dataclass(frozen=True)
class FleetOptions:
    """How many logs are gone through, whatever is made of them."""

    workers: Workers = field(default_factory=Workers)
    mapping: str | Path | ColumnMap | None = None  # how foreign logs are read
    topics: Mapping[str, str] | None = None  # of bags
    checkpoint: str | Path | None = None  # folder or URL that all workers see: sums of each log, to resume from
    skip: bool = False  # leave out logs that cannot be used, and report them
    replicates: int | None = None  # of a bootstrap over the logs
    progress: Progress = lambda done, of: None  # logs that are read, of how many

    def read_mapping(self) -> ColumnMap | None:
        """The mapping, from its file where one is given."""
        return read_mapping(self.mapping) if isinstance(self.mapping, str | Path) else self.mapping


@dataclass(frozen=True)
class Gathered:
    """What all logs said, and in terms of what."""

    task: Summariser
    channels: Channels
    seconds: float  # of samples that rows were made of
    inputs: Mapping[str, str]  # log → SHA-256
    keys: Mapping[str, str]  # log → its name in the checkpoint
    skipped: Mapping[str, tuple[Finding, ...]]  # logs that were left out, and why
    kept: int  # logs whose sums were there already
    notices: tuple[str, ...]
    first: Log  # first piece of the first log

    @property
    def setup(self) -> Setup:
        """As the first log decided it."""
        return self.task.setup


def gather_logs(
    source: RobotSource,
    logs: Sequence[str],
    options: EquationOptions | None = None,
    fleet: FleetOptions | None = None,
    *,
    held_out: Sequence[Log] = (),
) -> Gathered:
    """Sum what all logs say, each read once.

    Args:
        source: The robot, or its file.
        logs: Paths or URLs.
        options: Which equations are asked for.
        fleet: How the logs are gone through.
        held_out: Logs that will be predicted: they have to fit the robot too.

    Raises:
        LogError: Logs that cannot be used, all together once the others are read; not with ``fleet.skip``.
    """
    fleet = fleet or FleetOptions()
    task, first = summariser_of(source, logs, options, fleet, held_out)
    done = fleet.workers.reduce(summarise, merge, logs, task, name="log", lost=lost, progress=fleet.progress)
    if done.failures and not fleet.skip:
        raise LogError([f for findings in done.failures.values() for f in findings])
    if done.sums is None:
        raise LogError(Finding("todo", "logs", "none of them can be used", "Run `steelyard check` on one of them"))
    notices = tuple(dict.fromkeys([*task.setup.notices, *_notices(done, fleet)]))
    channels = task.channels(done.sums)
    return Gathered(task, channels, done.sums.seconds, done.inputs, done.keys, done.failures, done.kept, notices, first)


def stream_many(
    source: RobotSource,
    logs: Sequence[str],
    options: EquationOptions,
    workers: Workers,
    progress: Callable[[float], None] = lambda _: None,
) -> Streamed:
    """What ``stream_log`` makes of logs, each read by one of the workers."""
    fleet = FleetOptions(workers, progress=lambda done, of: progress(done / of))
    gathered = gather_logs(source, logs, options, fleet)
    return Streamed(gathered.setup, gathered.channels, gathered.seconds)


def summariser_of(
    source: RobotSource,
    logs: Sequence[str],
    options: EquationOptions | None = None,
    fleet: FleetOptions | None = None,
    held_out: Sequence[Log] = (),
) -> tuple[Summariser, Log]:
    """What is to be done with all logs, decided by the first that can be read; and the first piece of that."""
    options, fleet = options or Options(), fleet or FleetOptions()
    _refuse(options)
    description = read_description(source)
    mapping = fleet.read_mapping()
    name, first = _first(logs, mapping, fleet.topics)
    setup = open_logs(description, [first], options, held_out=held_out)
    if any(term == "gain" for _, term in setup.columns.joint_terms):
        what = "has currents without drive gains, and finding those takes all rows at once"
        raise LogError(Finding("todo", name, what, "Identify a few logs first, and give the gains in a mapping"))
    free = rows_of(setup, first).free
    checkpoint = None if fleet.checkpoint is None else Checkpoint.set_up(fleet.checkpoint)
    return Summariser(description, options, setup, free, name, mapping, fleet.topics, checkpoint), first


def _first(logs: Sequence[str], mapping: ColumnMap | None, topics: Mapping[str, str] | None) -> tuple[str, Log]:
    """The first log that can be read, and the first piece of it."""
    findings = list[Finding]()
    for name in logs:
        try:
            with fetched(name, hashed=False) as (path, _):
                try:
                    return name, replace(next(pieces_of(path, mapping, topics)).log, source=name)
                except LogError as error:
                    findings += [rename(f, path, name) for f in error.findings]
        except LogError as error:
            findings += error.findings
    raise LogError(findings)


def _refuse(options: EquationOptions) -> None:
    """What takes more than one look at the rows."""
    if not isinstance(options, Options):
        return
    asked = {"--robust": options.robust, "--hold-out": options.hold_out is not None}
    what, fix = "looks at rows again, and these logs are read once", "Drop it, or drop --workers and --scheduler"
    if findings := [Finding("todo", option, what, fix) for option, given in asked.items() if given]:
        raise UsageError(findings)


def _notices(done: Summary, fleet: FleetOptions) -> Iterator[str]:
    yield from done.notices[:NOTICES]
    if len(done.notices) > NOTICES:
        yield f"and {len(done.notices) - NOTICES} more notices about single logs"
    same = dict[str, str]()
    for name, digest in done.inputs.items():
        if digest and same.setdefault(digest, name) != name:
            yield f"{same[digest]} and {name} hold the same bytes: they counted as two logs"
    if bad := list(done.failures):
        more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
        yield f"skipped, since they cannot be used: {', '.join(bad[:5])}{more}"
    if done.unseen:
        yield f"{done.unseen} logs were read by workers that do not see {fleet.checkpoint}: nothing of them is kept"
