"""What many logs say together: each is read once, by whoever works, and only sums travel.

Robot, equations and filter are decided by the first log that can be read; every other log is checked against that where
it is read, and one that does not fit or cannot be read is named with its reasons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

from steelyard.check.opening import open_logs
from steelyard.equations.setup import Setup
from steelyard.equations.stream.channels import Channels, Gathering
from steelyard.equations.unknown_forces import FreeRows
from steelyard.errors import Finding, LogError, SteelyardError, UsageError
from steelyard.fleet.checkpoint import SCHEMA, Shelf, Sums
from steelyard.fleet.cluster import own_version
from steelyard.fleet.locations import fetched
from steelyard.fleet.log_stream import MANY, Streamed, rows_of, stream_pieces
from steelyard.fleet.workers import Progress, Workers
from steelyard.identify.identify import digests
from steelyard.identify.options import Options
from steelyard.inference.noise import LAGS
from steelyard.log.log import Log
from steelyard.log.mapping import ColumnMap, read_mapping
from steelyard.log.pieces import LogPiece, read_pieces
from steelyard.log.table import is_bag, read_log
from steelyard.robot.description import Description, read_description

NOTICES = 20  # about single logs that are kept


@dataclass(frozen=True)
class Task:
    """What a worker needs to know, whatever the log."""

    description: Description
    options: Options
    setup: Setup  # of the first log
    free: FreeRows | None
    first: str  # name of the first log
    mapping: ColumnMap | None
    topics: Mapping[str, str] | None  # of bags
    shelf: Shelf | None
    digest: str  # of all that the sums of a log depend on beside its bytes


@dataclass(frozen=True)
class Part:
    """What one log said, or several."""

    sums: Sums | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)  # log → SHA-256 of its bytes
    failures: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)  # log → why it cannot be used
    kept: int = 0  # logs whose sums were there already
    unseen: int = 0  # logs whose worker did not see the shelf
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gathered:
    """What all logs said, and in terms of what."""

    task: Task
    setup: Setup
    free: FreeRows | None  # coordinates of rows that unknown forces are projected out of
    channels: Channels
    seconds: float  # of samples that rows were made of
    inputs: Mapping[str, str]  # log → SHA-256
    skipped: Mapping[str, tuple[Finding, ...]]  # logs that were left out, and why
    kept: int  # logs whose sums were there already
    notices: tuple[str, ...]
    first: Log  # first piece of the first log


def gather_logs(
    source: str | Path | Description,
    logs: Sequence[str],
    options: Options | None = None,
    *,
    workers: Workers | None = None,
    mapping: str | Path | ColumnMap | None = None,
    topics: Mapping[str, str] | None = None,
    held_out: Sequence[Log] = (),
    shelf: Shelf | None = None,
    skip: bool = False,
    progress: Progress = lambda done, of: None,
) -> Gathered:
    """The sums of all logs. ``held_out`` are logs that will be predicted: they have to fit the robot too.

    Logs that cannot be used are refused together, once all others are read; ``skip``: they are left out and told.
    """
    task, first = task_of(source, logs, options, mapping=mapping, topics=topics, held_out=held_out, shelf=shelf)
    setup = task.setup
    done = (workers or Workers()).reduce(summarise, merge, logs, task, name="log", lost=_lost, progress=progress)
    if done.failures and not skip:
        raise LogError([f for findings in done.failures.values() for f in findings])
    if done.sums is None:
        raise LogError(Finding("logs", "none of them can be used", "Run `steelyard check` on one of them"))
    sums, notices = done.sums, [*setup.notices, *done.notices[:NOTICES]]
    if len(done.notices) > NOTICES:
        notices.append(f"and {len(done.notices) - NOTICES} more notices about single logs")
    notices += [f"{a} and {b} hold the same bytes: they counted as two logs" for a, b in _twins(done.inputs)]
    if done.failures:
        notices.append(f"skipped, since they cannot be used: {_some(list(done.failures))}")
    if done.unseen and shelf is not None:
        notices.append(
            f"{done.unseen} logs were read by workers that do not see {shelf.place}: nothing of them is kept"
        )
    return Gathered(
        task,
        setup,
        task.free,
        channels_of(task, sums),
        sums.seconds,
        done.inputs,
        done.failures,
        done.kept,
        tuple(dict.fromkeys(notices)),
        first,
    )


def stream_many(
    source: str | Path | Description,
    logs: Sequence[str],
    options: Options,
    workers: Workers,
    progress: Callable[[float], None] = lambda _: None,
) -> Streamed:
    """What ``stream_log`` makes of logs, each read by one of the workers."""
    found = gather_logs(source, logs, options, workers=workers, progress=lambda done, of: progress(done / of))
    return Streamed(found.setup, found.channels, found.seconds)


def task_of(
    source: str | Path | Description,
    logs: Sequence[str],
    options: Options | None = None,
    *,
    mapping: str | Path | ColumnMap | None = None,
    topics: Mapping[str, str] | None = None,
    held_out: Sequence[Log] = (),
    shelf: Shelf | None = None,
) -> tuple[Task, Log]:
    """What is to be done with all logs, decided by the first that can be read; and the first piece of that."""
    options = options or Options()
    _refuse(options)
    description = source if isinstance(source, Description) else read_description(source)
    how = read_mapping(mapping) if isinstance(mapping, str | Path) else mapping
    name, first = _first(logs, how, topics)
    setup = open_logs(description, [first], options, held_out=held_out)
    if any(term == "gain" for _, term in setup.columns.joint_terms):
        what = "has currents without drive gains, and finding those takes all rows at once"
        raise LogError(Finding(name, what, "Identify a few logs first, and give the gains in a mapping"))
    rows = rows_of(setup, first)
    digest = _digest(setup, rows.free, how, topics)
    return Task(description, options, setup, rows.free, name, how, topics, shelf, digest), first


def summarise(name: str, task: Task) -> Part:
    """What one log says; never raises over the log."""
    try:
        with fetched(name) as (path, digest):
            try:
                return _summarised(name, path, digest, task)
            except SteelyardError as error:  # a copy is called as its original
                raise type(error)([replace_name(f, str(path), name) for f in error.findings]) from None
    except SteelyardError as error:
        return Part(failures={name: error.findings})
    except Exception as error:  # one log of ten thousand must not hide which it was
        what = f"cannot be worked on ({type(error).__name__}: {error})"
        return Part(failures={name: (Finding(name, what, "Run `steelyard check` on it, and report this"),)})


def channels_of(task: Task, sums: Sums) -> Channels:
    """Sums of one log or more, with the robot that they are about."""
    rows = task.setup.rows([], free=task.free, samples=MANY)
    structure = (Gathering.of(rows) or Gathering.whole(rows)).structure
    return Channels(structure, "triangle", sums.found, sums.count, sums.lagged, sums.longest)


def merge(parts: Sequence[Part]) -> Part:
    """What several said, in this order."""
    sums = [part.sums for part in parts if part.sums is not None]
    return Part(
        reduce(Sums.__add__, sums) if sums else None,
        {k: v for part in parts for k, v in part.inputs.items()},
        {k: v for part in parts for k, v in part.failures.items()},
        sum(part.kept for part in parts),
        sum(part.unseen for part in parts),
        tuple(notice for part in parts for notice in part.notices),
    )


def replace_name(finding: Finding, path: str, name: str) -> Finding:
    """The same about a log under the name it was given by."""
    return Finding(*(text.replace(path, name) for text in finding))


def _summarised(name: str, path: Path, digest: str, task: Task) -> Part:
    pieces: Iterator[LogPiece]
    pieces, more = _pieces(path, task.mapping, task.topics), list[str]()
    if task.mapping is not None:  # which may bring further files
        head = next(pieces)
        pieces, more = chain([head], pieces), [value for _, value in sorted(digests([head.log]).items())]
    key = hashlib.sha256(" ".join([digest, *more, task.digest]).encode()).hexdigest() if digest else ""
    shelf = task.shelf if key and task.shelf is not None and task.shelf.seen() else None
    unseen = int(task.shelf is not None and shelf is None)
    if shelf is not None and (known := shelf.load(key)) is not None:
        return Part(known, {name: digest}, kept=1)
    head = next(pieces)
    head = replace(head, log=replace(head.log, source=name))
    own = open_logs(task.description, [head.log], task.options)
    if _kind(own) != _kind(task.setup):
        what = f"measures other joints, sensors or contacts than {task.first}"
        raise LogError(Finding(name, what, "Give logs of one kind, or say what is meant: --lock, --equations, --feet"))
    channels, seconds = stream_pieces(task.setup, task.free, chain([head], pieces))
    if not channels.count:
        what = "has no piece longer than the filter"
        raise LogError(Finding(name, what, "Record longer without gaps, or raise --cutoff"))
    sums = Sums(channels.found, channels.lagged, channels.count, channels.longest, seconds)
    if shelf is not None:
        shelf.save(key, sums)
    said = tuple(n for n in own.notices if n not in task.setup.notices)
    return Part(sums, {name: digest}, unseen=unseen, notices=said)


def _pieces(path: Path, mapping: ColumnMap | None, topics: Mapping[str, str] | None) -> Iterator[LogPiece]:
    """Of tables; whatever else there is comes whole."""
    if mapping is not None or is_bag(path):
        yield LogPiece(read_log(path, mapping, topics), 1.0)
    else:
        yield from read_pieces(path)


def _first(logs: Sequence[str], mapping: ColumnMap | None, topics: Mapping[str, str] | None) -> tuple[str, Log]:
    """The first log that can be read, and the first piece of it."""
    findings = list[Finding]()
    for name in logs:
        try:
            with fetched(name) as (path, _):
                try:
                    return name, replace(next(_pieces(path, mapping, topics)).log, source=name)
                except LogError as error:
                    findings += [replace_name(f, str(path), name) for f in error.findings]
        except LogError as error:
            findings += error.findings
    raise LogError(findings)


def _refuse(options: Options) -> None:
    """What takes more than one look at the rows."""
    asked = {"--robust": options.robust, "--hold-out": options.hold_out is not None}
    what, fix = "looks at rows again, and these logs are read once", "Drop it, or drop --workers and --scheduler"
    if findings := [Finding(option, what, fix) for option, given in asked.items() if given]:
        raise UsageError(findings)


def _kind(setup: Setup) -> tuple[Any, ...]:
    """What logs that are summed have in common."""
    robot = setup.robot
    return robot.joints, robot.readings, dict(robot.locked), setup.equations, setup.columns.names, repr(setup.unknown)


def _digest(setup: Setup, *more: object) -> str:
    robot = setup.robot
    parts = [
        SCHEMA, own_version(), LAGS, robot.model.saveToString(), robot.gravity.tolist(), _kind(setup),
        None if robot.coupling is None else robot.coupling.tolist(), setup.columns.motors,
        sorted(vars(setup.filter).items()), *more,
    ]  # fmt: skip
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def _lost(name: str, what: str) -> Part:
    fix = "Look at the logs of the workers; often they had too little memory"
    return Part(failures={name: (Finding(name, what, fix),)})


def _twins(inputs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    seen = dict[str, str]()
    for name, digest in inputs.items():
        if digest and digest in seen:
            yield seen[digest], name
        seen.setdefault(digest, name)


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
