"""Logs larger than memory: a file is read in pieces, and only the information of its equations is kept.

Each piece is processed as a whole log is, with some samples of its neighbours: filters are finite, and the error of a
spline's derivative at a cut halves with every sample, so that it is below rounding after ``SETTLE`` samples. Samples
lie on the grid of the whole log, and rows at the same samples. One quantity differs: where the direction of gravity
comes from an IMU alone, its estimator has a time constant of two seconds, and its error at a cut decays to 1 % within
``TILT``; it places the feet's spheres on the ground. Whether joints stand still depends on a few seconds to either
side, and positions at which they are held are passed on from piece to piece (``equations/still.py``).

The first piece determines robot, equations and filters; give them explicitly where it is not typical. Logs that need a
mapping, bags and npz are read whole.
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
from steelyard.equations.still import Standing, reach_samples
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

Progress = Callable[[float], None]  # share of all files that is read

SETTLE = 64  # samples after which a cut no longer affects derivatives
TILT = 10.0  # s after which a cut hardly affects the direction of gravity
MANY = 10**9  # samples: selects the compiled kernels
ROUNDS = 30  # of reweighting; none needs the rows again


@dataclass(frozen=True)
class Streamed:
    """Sums over the rows of files, and the setup that they are of."""

    setup: Setup
    channels: Channels
    seconds: float  # duration of the samples used

    def weights(self) -> Array:
        """Weights 1/σ (C,) of the equations, σ the rms residual of the least squares with these weights.

        Residual autocorrelation needs the rows themselves (``inference/noise.py``) and is not accounted for.
        """
        w, count = np.ones(len(self.channels.names)), max(self.channels.count, 1)
        floor = 1e-6 * np.sqrt(self.channels.squares(np.zeros(self.setup.columns.n)) / count)
        for _ in range(ROUNDS):
            theta = self.channels.information(w).solve(NEGLIGIBLE)  # without directions that only rounding determines
            sigma = np.sqrt(self.channels.squares(theta) / count + floor**2)
            before, w = w, 1 / np.where(sigma > 0, sigma, 1.0)
            if np.allclose(w, before, rtol=1e-6):
                break
        return w

    def information(self) -> Information:
        """Information about all parameters, with equations weighted by their noise."""
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
    """Information of tables of any length about a robot, in constant memory.

    Args:
        source: The robot, or its file.
        paths: Tables.
        options: Of the equations.
        threads: Of the accumulation.
        way: How rows are accumulated.
        progress: Called with the share of all files that is read.
        piece_bytes: Size of the pieces in memory.

    Raises:
        UsageError: There are no logs.
        LogError: A log cannot be used.
    """
    description = read_description(source)
    if not paths:
        raise UsageError(Finding("logs-missing", "logs", "there are none", "Give at least one log"))
    first = next(read_pieces(paths[0], piece_bytes)).log
    setup = open_logs(description, [first], options or EquationOptions())

    def reported(k: int) -> Iterator[LogPiece]:
        for piece in read_pieces(paths[k], piece_bytes):
            yield piece
            progress((k + piece.share) / len(paths))

    with Gathering.of(make_rows(setup, first), way=way, threads=threads) as gathering:
        seconds = sum(_accumulate(setup, gathering, reported(k)) for k in range(len(paths)))
        if not seconds:
            what, fix = "has no stretch longer than the filter", "Record longer without gaps, or raise the cutoff"
            raise LogError(Finding("log-too-short", str(paths[0]), what, fix, {"cutoff": None}))
        return Streamed(setup, gathering.channels(), seconds)


def make_rows(setup: Setup, first: Log) -> Rows:
    """Rows as determined by a log's first piece, without its samples."""
    segments = (
        setup.segments(first)[0] if setup.unknown else []
    )  # some postures determine which coordinates name the rows
    return setup.rows(segments, samples=MANY)


def stream_pieces(
    setup: Setup, free: FreeRows | None, pieces: Iterable[LogPiece], lagged: bool = True
) -> tuple[Channels, float]:
    """Sums of one log, and the duration of its samples, s; ``lagged``: with products of rows with later rows."""
    with Gathering.of(setup.rows([], free=free, samples=MANY), lagged=lagged) as gathering:
        seconds = _accumulate(setup, gathering, pieces)
        return gathering.channels(), seconds


def _accumulate(setup: Setup, gathering: Gathering, pieces: Iterable[LogPiece]) -> float:
    """Accumulate the rows of one log; duration of its samples, s."""
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
    """Pieces of one log, processed run by run: a run ends at a gap."""

    def __init__(self, setup: Setup, gathering: Gathering, tilting: bool):
        filter = setup.filter
        assert filter is not None and filter.rate is not None and filter.kinematics is not None
        self.setup, self.filter, self.gathering, self.rate = setup, filter, gathering, filter.rate
        self.settle = SETTLE + reach_samples(filter.rate) + (int(TILT * filter.rate) if tilting else 0)  # samples
        self.margin = len(sharpened(lowpass(filter.rate, filter.kinematics))) // 2 + EDGE + self.settle
        self.step: float | None = None  # s, median of the first piece
        self.samples = 0  # of all runs
        self._begin()

    def _begin(self) -> None:
        self.held: Log | None = None  # raw samples that the next piece needs
        self.origin: float | None = None  # s, first sample of the run
        self.until = -np.inf  # s, last completed sample
        self.standing: Standing | None = None  # joints that stood still up to it
        self.tail: Segment | None = None  # samples that further rows need
        self.next = 0  # index in the tail of the next row's centre
        self.begun = False  # whether rows of this run were accumulated

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
        """End the run: complete its last samples."""
        segment = None if self.held is None or len(self.held) < 2 else self._window(self.held, self.origin)
        if segment is not None:
            self._rows(segment.part(slice(self._completed(segment), None)))
        self._begin()

    def _window(self, log: Log, origin: float | None) -> Segment | None:
        log, _ = merge_near_stamps(log)
        return window(self.setup.robot, log, self.filter, origin, torques=self.setup.torques, earlier=self.standing)

    def _completed(self, segment: Segment) -> int:
        """Number of samples of a segment that were completed before."""
        return int(np.searchsorted(segment.time, self.until + 0.5 / self.rate))

    def _advance(self) -> None:
        """Complete the samples that no later piece changes."""
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
        fresh = segment.part(slice(self._completed(segment), len(segment.time) - self.settle))
        if len(fresh.time):
            self._rows(fresh)
            self.until = float(fresh.time[-1])
            self.standing = segment.standing.before(round((self.until - origin) * self.rate) + 1, self.rate)
        shift = abs(self.filter.delay)
        first = int(np.searchsorted(log.time, self.until - shift - (self.margin + 8) / self.rate)) - 8
        self.held = log.cut(max(first, 0), len(log))

    def _rows(self, fresh: Segment) -> None:
        """Accumulate rows whose samples are complete."""
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
