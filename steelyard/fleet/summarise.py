"""Task of a worker on one log: sums over its rows, or the findings why it cannot be used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import chain
from pathlib import Path
from typing import Any

from steelyard.check.opening import open_logs
from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.setup import Setup
from steelyard.equations.stream.autocorrelation import LAGS
from steelyard.equations.stream.channels import Channels, Gathering
from steelyard.equations.unknown_forces import FreeRows
from steelyard.errors import Finding, LogError, SteelyardError
from steelyard.fleet.checkpoint import SCHEMA, Checkpoint, Sums
from steelyard.fleet.cluster import own_version
from steelyard.fleet.locations import fetch_log
from steelyard.fleet.log_stream import MANY, stream_pieces
from steelyard.log.mapping import ColumnMap
from steelyard.log.pieces import LogPiece, read_pieces
from steelyard.log.table import is_bag, read_log
from steelyard.robot.description import Description


@dataclass(frozen=True)
class Summariser:
    """What the tasks of all logs share."""

    description: Description
    options: EquationOptions
    setup: Setup  # of the first log
    free: FreeRows | None  # coordinates of rows whose unknown forces are projected out
    first: str  # name of the first log
    mapping: ColumnMap | None
    topics: Mapping[str, str] | None  # of bags
    checkpoint: Checkpoint | None

    @cached_property
    def digest(self) -> str:
        """Digest of all that the sums of a log depend on beside its bytes."""
        setup, robot = self.setup, self.setup.robot
        coupling = None if robot.coupling is None else robot.coupling.tolist()
        about = [SCHEMA, own_version(), LAGS, robot.model.saveToString(), robot.gravity.tolist(), _kind(setup)]
        rest = [
            coupling,
            setup.columns.motors,
            sorted(vars(setup.filter).items()),
            self.free,
            self.mapping,
            self.topics or None,
        ]
        return hashlib.sha256("\n".join(map(repr, [*about, *rest])).encode()).hexdigest()

    def channels(self, sums: Sums) -> Channels:
        """Sums of one log or more, as channels of the setup."""
        structure = Gathering.of(self.setup.rows([], free=self.free, samples=MANY)).structure
        return Channels(structure, "triangle", sums.triangles, sums.count, sums.lagged, sums.longest)


@dataclass(frozen=True)
class Summary:
    """Sums of one log, or of several."""

    sums: Sums | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)  # log → SHA-256 of its bytes
    keys: Mapping[str, str] = field(default_factory=dict)  # log → its name in the checkpoint
    failures: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)  # log → why it cannot be used
    cached: int = 0  # logs whose sums were in the checkpoint
    uncached: int = 0  # logs whose worker could not read the checkpoint
    notices: tuple[Finding, ...] = ()


def summarise(name: str, task: Summariser) -> Summary:
    """Sums of one log; a log that cannot be used becomes a failure, and nothing is raised."""
    try:
        with fetch_log(name) as (path, own):
            try:
                return _summarise(name, path, own, task)
            except SteelyardError as error:  # a temporary copy is reported under its URL
                raise type(error)([rename(f, path, name) for f in error.findings]) from None
    except SteelyardError as error:
        return Summary(failures={name: error.findings})
    except Exception as error:  # one log of ten thousand must not end the run
        what = f"cannot be processed ({type(error).__name__}: {error})"
        fix = "Run `steelyard check` on it, and report this"
        return Summary(failures={name: (Finding("log-fails", name, what, fix),)})


def merge(parts: Sequence[Summary]) -> Summary:
    """Sum several summaries, in this order."""
    sums = [part.sums for part in parts if part.sums is not None]
    return Summary(
        reduce(Sums.__add__, sums) if sums else None,
        {k: v for part in parts for k, v in part.inputs.items()},
        {k: v for part in parts for k, v in part.keys.items()},
        {k: v for part in parts for k, v in part.failures.items()},
        sum(part.cached for part in parts),
        sum(part.uncached for part in parts),
        tuple(notice for part in parts for notice in part.notices),
    )


def summarise_lost(name: str, what: str) -> Summary:
    """In place of a log that killed every worker that read it."""
    fix = "See the logs of the workers; often they had too little memory"
    return Summary(failures={name: (Finding("worker-killed", name, what, fix),)})


def rename(finding: Finding, path: Path, name: str) -> Finding:
    """The finding about a temporary file, under the name of its log."""
    where, what, fix = (text.replace(str(path), name) for text in (finding.where, finding.what, finding.fix))
    return replace(finding, where=where, what=what, fix=fix)


def read_log_pieces(path: Path, mapping: ColumnMap | None, topics: Mapping[str, str] | None) -> Iterator[LogPiece]:
    """Pieces of a table; other formats are read whole."""
    if mapping is not None or is_bag(path):
        yield LogPiece(read_log(path, mapping, topics), 1.0)
    else:
        yield from read_pieces(path)


def _summarise(name: str, path: Path, own: str, task: Summariser) -> Summary:
    pieces, more = read_log_pieces(path, task.mapping, task.topics), list[str]()
    if task.mapping is not None:  # which may bring further files
        head = next(pieces)
        pieces = chain([head], pieces)
        more = [digest for file, digest in sorted(head.log.files.items()) if file != str(path)]
    key = hashlib.sha256(" ".join([own, *more, task.digest]).encode()).hexdigest() if own else ""
    checkpoint = task.checkpoint if key and task.checkpoint is not None and task.checkpoint.is_visible() else None
    uncached = int(task.checkpoint is not None and checkpoint is None)
    if checkpoint is not None and (known := checkpoint.load(key)) is not None:
        return Summary(known, {name: own}, {name: key}, cached=1)
    head = next(pieces)
    head = replace(head, log=replace(head.log, source=name))
    setup = open_logs(task.description, [head.log], task.options)
    if _kind(setup) != _kind(task.setup):
        what = f"measures other joints, sensors or contacts than {task.first}"
        fix = "Give logs of one kind, or set lock, equations and feet"
        remedy = {"lock": None, "equations": None, "feet": None}
        raise LogError(Finding("logs-differ", name, what, fix, remedy))
    channels, seconds = stream_pieces(task.setup, task.free, chain([head], pieces))
    if not channels.count:
        what, fix = "has no stretch longer than the filter", "Record longer without gaps, or raise the cutoff"
        raise LogError(Finding("log-too-short", name, what, fix, {"cutoff": None}))
    sums = Sums(channels.factors, channels.lagged, channels.count, channels.longest, seconds)
    if checkpoint is not None:
        checkpoint.save(key, sums)
    notices = tuple(n for n in setup.notices if n not in task.setup.notices)
    return Summary(sums, {name: own}, {name: key}, uncached=uncached, notices=notices)


def _kind(setup: Setup) -> tuple[Any, ...]:
    """What all logs of a sum have in common."""
    robot = setup.robot
    return robot.joints, robot.readings, dict(robot.locked), setup.equations, setup.columns.names, repr(setup.unknown)
