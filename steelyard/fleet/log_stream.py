"""Logs larger than memory: a file is read in pieces, and only what its equations say is kept.

What is done to a whole log is done to each piece with some samples of its neighbours: filters are finite, and at a cut
the derivative of a spline differs from that of the whole by half as much every sample further in, so ``SETTLE`` samples
make it the same to rounding. Samples stand on the grid of the whole log and rows at the same samples of it. Only where
up is told by an inertial sensor alone, which remembers for two seconds, is it the same to 1 % of what it is off at
a cut (``TILT``); it places the feet's spheres on the ground.

The robot, the equations and the values of filters are decided by the first piece; name them where it is not typical.
Not read in pieces are logs that need a mapping, bags and npz.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from steelyard.check.opening import open_logs
from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.filters import lowpass, sharpened
from steelyard.equations.prepare import EDGE, first_sample, needed, window
from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.stream.channels import Channels, Gathering
from steelyard.equations.stream.worker import Way
from steelyard.equations.unknown_forces import FreeRows
from steelyard.errors import Finding, LogError, UsageError
from steelyard.inference.noise import NEGLIGIBLE
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.log.pieces import PIECE_BYTES, LogPiece, read_pieces
from steelyard.log.timing import GAP, merge_near_stamps
from steelyard.robot.description import RobotSource, read_description
from steelyard.spatial import Array

Progress = Callable[[float], None]  # share of all files that has been read

SETTLE = 64  # samples after which a cut no longer shows in derivatives
TILT = 10.0  # s after which it hardly shows in which way is up
MANY = 10**9  # samples: whoever streams has many
ROUNDS = 30  # of weighing equations anew; each costs no look at the rows


@dataclass(frozen=True)
class Streamed:
    """What files say, and in terms of what."""

    setup: Setup
    channels: Channels
    seconds: float  # of samples that rows were made of

    def weights(self) -> Array:
        """(C,) 1/σ of every equation, by the residuals of the least squares that they weigh: equations as they come.

        How long the noise of a row remembers takes the rows themselves (``inference/noise.py``) and is not in it.
        """
        w, count = np.ones(len(self.channels.names)), max(self.channels.count, 1)
        floor = 1e-6 * np.sqrt(self.channels.squares(np.zeros(self.setup.columns.n)) / count)
        for _ in range(ROUNDS):
            theta = self.channels.information(w).solve(
                NEGLIGIBLE
            )  # directions that only rounding sees decide no weight
            sigma = np.sqrt(self.channels.squares(theta) / count + floor**2)
            before, w = w, 1 / np.where(sigma > 0, sigma, 1.0)
            if np.allclose(w, before, rtol=1e-6):
                break
        return w

    def information(self) -> Information:
        """About all parameters, equations weighed by their own noise."""
        return self.channels.information(self.weights())


def stream_log(
    source: RobotSource,
    paths: Sequence[str | Path],
    options: EquationOptions | None = None,
    *,
    threads: int = 1,
    way: Way = "triangle",
    progress: Progress = lambda _: None,
    piece_bytes: int = PIECE_BYTES,
) -> Streamed:
    """What tables of any length say about a robot, in memory that does not grow with them."""
    description = read_description(source)
    if not paths:
        raise UsageError(Finding("todo", "logs", "there are none", "Give at least one log"))
    first = next(read_pieces(paths[0], piece_bytes)).log
    setup = open_logs(description, [first], options or EquationOptions())

    def reported(k: int) -> Iterator[LogPiece]:
        for piece in read_pieces(paths[k], piece_bytes):
            yield piece
            progress((k + piece.share) / len(paths))

    with Gathering.of(rows_of(setup, first), way=way, threads=threads) as gathering:
        seconds = sum(_take(setup, gathering, reported(k)) for k in range(len(paths)))
        if not seconds:
            what = "has no piece longer than the filter"
            raise LogError(Finding("todo", str(paths[0]), what, "Record longer without gaps, or raise --cutoff"))
        return Streamed(setup, gathering.channels(), seconds)


def rows_of(setup: Setup, first: Log) -> Rows:
    """Rows as a log's first piece decides them, and no samples yet."""
    segments = setup.segments(first)[0] if setup.unknown else []  # some postures decide which coordinates name the rows
    return setup.rows(segments, samples=MANY)


def stream_pieces(
    setup: Setup, free: FreeRows | None, pieces: Iterable[LogPiece], lagged: bool = True
) -> tuple[Channels, float]:
    """What one log says, and seconds of its samples; ``lagged``: with products of rows and later ones."""
    with Gathering.of(setup.rows([], free=free, samples=MANY), lagged=lagged) as gathering:
        seconds = _take(setup, gathering, pieces)
        return gathering.channels(), seconds


def _take(setup: Setup, gathering: Gathering, pieces: Iterable[LogPiece]) -> float:
    """Gather the rows of one log; seconds of its samples."""
    stream: PieceStream | None = None
    for piece in pieces:
        tilting = bool(setup.unknown) and not piece.log.has("base.quaternion.w")
        stream = stream or PieceStream(setup, gathering, tilting)
        stream.take(piece.log)
    if stream is None:
        return 0.0
    stream.end()
    return stream.samples / stream.rate


class PieceStream:
    """Pieces of one log on their way to rows, run after run: a run ends at a gap."""

    def __init__(self, setup: Setup, gathering: Gathering, tilting: bool):
        filter = setup.filter
        assert filter is not None and filter.rate is not None and filter.kinematics is not None
        self.setup, self.filter, self.gathering, self.rate = setup, filter, gathering, filter.rate
        self.settle = SETTLE + (int(TILT * filter.rate) if tilting else 0)  # samples
        self.margin = len(sharpened(lowpass(filter.rate, filter.kinematics))) // 2 + EDGE + self.settle
        self.step: float | None = None  # s, median of the first piece
        self.samples = 0  # of all runs of the file
        self._begin()

    def _begin(self) -> None:
        self.held: Log | None = None  # raw, with what the next piece needs of the past
        self.origin: float | None = None  # s, first sample of the run, once some were made
        self.until = -np.inf  # s, up to where samples were made
        self.tail: Segment | None = None  # samples that rows still to come reach back to
        self.next = 0  # sample of the tail that is the centre of the next row
        self.begun = False  # whether rows of this run were taken

    def take(self, log: Log) -> None:
        """The next piece of the file."""
        self.step = self.step or float(np.median(np.diff(log.time)))
        edges = [0, *(np.flatnonzero(np.diff(log.time) > GAP * self.step) + 1).tolist(), len(log)]
        for start, stop in pairwise(edges):
            part = log.cut(start, stop)
            if self.held is not None and part.time[0] - self.held.time[-1] > GAP * self.step:
                self.end()
            self.held = part if self.held is None else self.held.then(part)
            self._advance()

    def end(self) -> None:
        """The run is over: what is left of it."""
        segment = None if self.held is None or len(self.held) < 2 else self._window(self.held, self.origin)
        if segment is not None:
            self._rows(segment.part(slice(self._made(segment), None)))
        self._begin()

    def _window(self, log: Log, origin: float | None) -> Segment | None:
        return window(self.setup.robot, merge_near_stamps(log)[0], self.filter, origin, torques=self.setup.torques)

    def _made(self, segment: Segment) -> int:
        """How many samples of a segment were made before."""
        return int(np.searchsorted(segment.time, self.until + 0.5 / self.rate))

    def _advance(self) -> None:
        """Samples that no later piece changes."""
        assert self.held is not None
        log = self.held
        enough = needed(self.filter) + 2 * self.margin if self.origin is None else 3 * self.margin
        if (log.time[-1] - log.time[0]) * self.rate < enough:
            return
        origin = first_sample(log, self.filter) if self.origin is None else self.origin
        segment = self._window(log, origin)
        if segment is None:
            return
        self.origin = origin
        fresh = segment.part(slice(self._made(segment), len(segment.time) - self.settle))
        if len(fresh.time):
            self._rows(fresh)
            self.until = float(fresh.time[-1])
        shift = abs(self.filter.delay)
        first = int(np.searchsorted(log.time, self.until - shift - (self.margin + 8) / self.rate)) - 8
        self.held = log.cut(max(first, 0), len(log))

    def _rows(self, fresh: Segment) -> None:
        """Rows whose samples are all there by now."""
        segment = fresh if self.tail is None else self.tail.then(fresh)
        self.samples += len(fresh.time)
        half, step = len(self.gathering.rows.taps(segment)) // 2, self.gathering.rows.stride(segment.rate)
        centres = np.arange(half if self.tail is None else self.next, len(segment.time) - half, step)
        if len(centres):
            self.gathering.take(segment, centres, first=not self.begun)
            self.begun = True
        following = int(centres[-1]) + step if len(centres) else (half if self.tail is None else self.next)
        keep = max(min(following - half, len(segment.time)), 0)
        self.tail, self.next = segment.part(slice(keep, None)), following - keep
