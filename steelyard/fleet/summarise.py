"""What a worker makes of one log: sums of its rows, or the reasons why it cannot be used."""

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
from steelyard.fleet.locations import fetched
from steelyard.fleet.log_stream import MANY, stream_pieces
from steelyard.log.mapping import ColumnMap
from steelyard.log.pieces import LogPiece, read_pieces
from steelyard.log.table import is_bag, read_log
from steelyard.robot.description import Description


@dataclass(frozen=True)
class Summariser:
    """What a worker needs to know, whatever the log."""

    description: Description
    options: EquationOptions
    setup: Setup  # of the first log
    free: FreeRows | None  # coordinates of rows that unknown forces are projected out of
    first: str  # name of the first log
    mapping: ColumnMap | None
    topics: Mapping[str, str] | None  # of bags
    checkpoint: Checkpoint | None

    @cached_property
    def digest(self) -> str:
        """Of all that the sums of a log depend on beside its bytes."""
        setup, robot = self.setup, self.setup.robot
        coupling = None if robot.coupling is None else robot.coupling.tolist()
        about = [SCHEMA, own_version(), LAGS, robot.model.saveToString(), robot.gravity.tolist(), _kind(setup)]
        rest = [
            coupling,
            setup.columns.motors,
            sorted(vars(setup.filter).items()),
            self.free,
            self.mapping,
            self.topics,
        ]
        return hashlib.sha256("\n".join(map(repr, [*about, *rest])).encode()).hexdigest()

    def channels(self, sums: Sums) -> Channels:
        """Sums of one log or more, with the robot that they are about."""
        structure = Gathering.of(self.setup.rows([], free=self.free, samples=MANY)).structure
        return Channels(structure, "triangle", sums.found, sums.count, sums.lagged, sums.longest)


@dataclass(frozen=True)
class Summary:
    """Sums of one log, or of several."""

    sums: Sums | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)  # log → SHA-256 of its bytes
    keys: Mapping[str, str] = field(default_factory=dict)  # log → its name in the checkpoint
    failures: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)  # log → why it cannot be used
    kept: int = 0  # logs whose sums were there already
    unseen: int = 0  # logs whose worker did not see the checkpoint
    notices: tuple[str, ...] = ()


def summarise(name: str, task: Summariser) -> Summary:
    """What one log says; never raises over the log."""
    try:
        with fetched(name) as (path, own):
            try:
                return _summarise(name, path, own, task)
            except SteelyardError as error:  # a copy is called as its original
                raise type(error)([rename(f, path, name) for f in error.findings]) from None
    except SteelyardError as error:
        return Summary(failures={name: error.findings})
    except Exception as error:  # one log of ten thousand must not hide which it was
        what = f"cannot be worked on ({type(error).__name__}: {error})"
        return Summary(failures={name: (Finding("todo", name, what, "Run `steelyard check` on it, and report this"),)})


def merge(parts: Sequence[Summary]) -> Summary:
    """Several as one, in this order."""
    sums = [part.sums for part in parts if part.sums is not None]
    return Summary(
        reduce(Sums.__add__, sums) if sums else None,
        {k: v for part in parts for k, v in part.inputs.items()},
        {k: v for part in parts for k, v in part.keys.items()},
        {k: v for part in parts for k, v in part.failures.items()},
        sum(part.kept for part in parts),
        sum(part.unseen for part in parts),
        tuple(notice for part in parts for notice in part.notices),
    )


def lost(name: str, what: str) -> Summary:
    """In place of a log that took down every worker that tried it."""
    fix = "Look at the logs of the workers; often they had too little memory"
    return Summary(failures={name: (Finding("todo", name, what, fix),)})


def rename(finding: Finding, path: Path, name: str) -> Finding:
    """The same about a log under the name it was given by."""
    where, what, fix = (text.replace(str(path), name) for text in (finding.where, finding.what, finding.fix))
    return replace(finding, where=where, what=what, fix=fix)


def pieces_of(path: Path, mapping: ColumnMap | None, topics: Mapping[str, str] | None) -> Iterator[LogPiece]:
    """Of tables; whatever else there is comes whole."""
    if mapping is not None or is_bag(path):
        yield LogPiece(read_log(path, mapping, topics), 1.0)
    else:
        yield from read_pieces(path)


def _summarise(name: str, path: Path, own: str, task: Summariser) -> Summary:
    pieces, more = pieces_of(path, task.mapping, task.topics), list[str]()
    if task.mapping is not None:  # which may bring further files
        head = next(pieces)
        pieces = chain([head], pieces)
        more = [digest for file, digest in sorted(head.log.files.items()) if file != str(path)]
    key = hashlib.sha256(" ".join([own, *more, task.digest]).encode()).hexdigest() if own else ""
    checkpoint = task.checkpoint if key and task.checkpoint is not None and task.checkpoint.seen() else None
    unseen = int(task.checkpoint is not None and checkpoint is None)
    if checkpoint is not None and (known := checkpoint.load(key)) is not None:
        return Summary(known, {name: own}, {name: key}, kept=1)
    head = next(pieces)
    head = replace(head, log=replace(head.log, source=name))
    setup = open_logs(task.description, [head.log], task.options)
    if _kind(setup) != _kind(task.setup):
        what = f"measures other joints, sensors or contacts than {task.first}"
        raise LogError(
            Finding("todo", name, what, "Give logs of one kind, or say what is meant: --lock, --equations, --feet")
        )
    channels, seconds = stream_pieces(task.setup, task.free, chain([head], pieces))
    if not channels.count:
        what = "has no piece longer than the filter"
        raise LogError(Finding("todo", name, what, "Record longer without gaps, or raise --cutoff"))
    sums = Sums(channels.factors, channels.lagged, channels.count, channels.longest, seconds)
    if checkpoint is not None:
        checkpoint.save(key, sums)
    notices = tuple(n for n in setup.notices if n not in task.setup.notices)
    return Summary(sums, {name: own}, {name: key}, unseen=unseen, notices=notices)


def _kind(setup: Setup) -> tuple[Any, ...]:
    """What logs that are summed have in common."""
    robot = setup.robot
    return robot.joints, robot.readings, dict(robot.locked), setup.equations, setup.columns.names, repr(setup.unknown)
