"""The result of a stream: one small triangle an equation, from which the information for any weights is a sum.

Each equation e has its own block of columns θ_e (``structure.py``) and its own triangle of all its rows, unweighted.
With weights w_e, one an equation as ``noise.Noise`` gives them where channels do not correlate,

    Σ_e w_e² ‖R_e θ_e − z_e‖² = ‖R θ − z‖² + ρ²    for every θ,

so rows can be weighted again without computing them again, and the squared residuals of every equation are known for
every θ. The kept parameters are known combinations of all parameters; the result is the same ``Information`` as that of
the rows of ``equations/rows.py``. Triangles are the default; Gram matrices are faster, and square the condition number.
Optionally products of rows with later ones are kept too (``autocorrelation.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial, reduce

import numpy as np

from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.stream.dense_rows import DenseRows, DenseWorker
from steelyard.equations.stream.structure import Structure
from steelyard.equations.stream.worker import Way, Worker
from steelyard.information import Information
from steelyard.spatial import Array

STACK = 256  # rows of small triangles that are factored at once
Blocks = Mapping[bool, Sequence[Array]]  # whether loaded → an array for each equation
Kept = Callable[[Array], Array]  # times of rows, s → whether they are used


@dataclass(frozen=True)
class Channels:
    """Triangles or Gram matrices of every equation, from samples with and without the unknown load."""

    structure: Structure | DenseRows
    way: Way
    factors: Blocks  # (m, m) upper triangles
    count: int  # rows of each equation
    lagged: Blocks = field(
        default_factory=dict
    )  # (LAGS, m(m+1)/2) products of rows with later ones (``autocorrelation.py``)
    longest: int = 0  # rows of the longest run without a gap

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the equations."""
        return self.structure.names

    def __add__(self, other: Channels) -> Channels:
        """Channels of both streams, which have the same structure."""
        factors = combine(partial(_add, self.way), self.factors, other.factors)
        lagged, longest = combine(add_blocks, self.lagged, other.lagged), max(self.longest, other.longest)
        return replace(self, factors=factors, count=self.count + other.count, lagged=lagged, longest=longest)

    def information(self, weights: Array | None = None) -> Information:
        """Information about all parameters, the rows of each equation times its weight (C,)."""
        w = np.ones(len(self.names)) if weights is None else np.asarray(weights, float)
        names = self.structure.columns.names
        parts = [
            self._merged(blocks, w).through(self.structure.parameters(loaded))
            for loaded, blocks in self.factors.items()
        ]
        total = reduce(Information.__add__, parts) if parts else Information.none(len(names))
        return replace(total, rows=self.count * len(self.names), names=names)

    def squares(self, theta: Array) -> Array:
        """(C,) sum of the squared residuals of every equation, unweighted, at θ."""
        total = np.zeros(len(self.names))
        for loaded, blocks in self.factors.items():
            x = np.append(self.structure.parameters(loaded) @ theta, -1.0)
            for e, (columns, part) in enumerate(zip(self.structure.blocks, blocks, strict=True)):
                own = x[columns]
                total[e] += own @ _symmetric(part) @ own if self.way == "gram" else np.sum((part @ own) ** 2)
        return np.maximum(total, 0.0)

    def _merged(self, blocks: Sequence[Array], weights: Array) -> Information:
        """Weighted information about the kept parameters."""
        size = self.structure.n + 1
        if self.way == "gram":
            G = np.zeros((size, size))
            for columns, part, w in zip(self.structure.blocks, blocks, weights, strict=True):
                G[np.ix_(columns, columns)] += w**2 * part
            return _rooted(_symmetric(G))
        from steelyard.kernels import blas

        X = np.zeros((size, max([STACK, *(len(part) for part in blocks)])))  # rows of triangles, transposed
        R, filled = np.zeros((size, size)), 0
        absorb = blas.triangle(X, R)
        for k, (columns, part, w) in enumerate(zip(self.structure.blocks, blocks, weights, strict=True), 1):
            X[columns, filled : filled + len(part)] = w * part.T
            filled += len(part)
            if k == len(blocks) or filled + len(blocks[k]) > X.shape[1]:
                absorb()
                X[:], filled = 0.0, 0
        return Information(R.T * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None], 0)


def _rooted(G: Array) -> Information:
    """The triangle of a Gram matrix; where rounding made it indefinite, of its positive semidefinite part."""
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    scaled = G / np.outer(scale, scale)
    try:
        return Information(np.linalg.cholesky(scaled, upper=True) * scale, 0)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * scale
        return Information.none(len(G) - 1).extend(root[:, :-1], root[:, -1])


def _symmetric(upper: Array) -> Array:
    return np.asarray(upper + np.triu(upper, 1).T)


def combine(add: Callable[..., Sequence[Array]], a: Blocks, b: Blocks) -> Blocks:
    """Blocks of two streams, added where both have them."""
    return {k: add(a[k], b[k]) if k in a and k in b else (a if k in a else b)[k] for k in dict.fromkeys([*a, *b])}


def add_blocks(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Sums of the blocks of two streams."""
    return [x + y for x, y in zip(a, b, strict=True)]


def _add(way: Way, a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Factors of two streams as one."""
    return add_blocks(a, b) if way == "gram" else merge_triangles(a, b)


def merge_triangles(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Triangles of two streams, stacked and factored again."""
    return [np.asarray(np.linalg.qr(np.vstack([x, y]), mode="r")) for x, y in zip(a, b, strict=True)]


def stream(
    first: Rows,
    *others: Rows,
    kept: Sequence[Kept | None] = (),
    way: Way = "triangle",
    threads: int = 1,
    grouped: bool = True,
) -> Channels | None:
    """The channels of rows, without storing these; None where no kernel covers them.

    ``others`` are of the same robot, columns and equations, such as those of further logs. Not covered are rows with
    unknown forces projected out, and robots without ``Robot.tree``. ``kept`` selects rows by their times, for each of
    the ``Rows``; ``threads`` share the samples of a segment; ``grouped``: base-parameter columns alone.
    """
    if first.free is not None or first.robot.tree is None:
        return None
    every = (first, *others)
    with Gathering.of(first, way=way, threads=threads, grouped=grouped) as gathering:
        for rows, inside in zip(every, kept or [None] * len(every), strict=True):
            for segment in rows.segments:
                centres = rows.centres(segment)
                gathering.take(segment, centres if inside is None else centres[inside(segment.time[centres])])
        return gathering.channels()


class Gathering:
    """Threads that accumulate one stream, segment after segment; a context manager."""

    def __init__(self, rows: Rows, structure: Structure | DenseRows, way: Way, threads: int, lagged: bool = False):
        self.rows, self.structure, self.way = rows, structure, way
        self.threads, self.lagged = 1 if lagged else max(threads, 1), lagged  # lagged products need rows in order
        self._workers: dict[bool, list[Worker | DenseWorker]] = {}
        self._pool = ThreadPoolExecutor(self.threads)

    @classmethod
    def of(
        cls, rows: Rows, *, way: Way = "triangle", threads: int = 1, grouped: bool = True, lagged: bool = False
    ) -> Gathering:
        """For rows such as these; their segments are not used.

        Rows that no kernel covers, and those with unknown forces projected out, are computed in full, and their factors
        are always triangles. ``lagged``: keep products of rows with later ones.
        """
        tree = rows.robot.tree if rows.free is None else None
        if tree is None:
            return cls(rows, DenseRows(rows), "triangle", threads, lagged)
        structure = Structure(rows.robot, tree, rows.columns, rows.equations, grouped=grouped)
        return cls(rows, structure, way, threads, lagged)

    def __enter__(self) -> Gathering:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def take(self, segment: Segment, centres: Array, first: bool = True) -> None:
        """Take in the rows at these samples of a segment; ``first``: they begin a new run."""
        if segment.loaded not in self._workers:
            self._workers[segment.loaded] = [self._worker() for _ in range(self.threads)]
        workers, taps = self._workers[segment.loaded], self.rows.taps(segment)
        for worker in workers:
            if first and worker.lagged is not None:
                worker.lagged.begin()
        if len(workers) == 1:
            workers[0].run(segment, centres, taps)
            return
        shares = np.array_split(centres, len(workers))
        jobs = [self._pool.submit(w.run, segment, share, taps) for w, share in zip(workers, shares, strict=True)]
        for job in jobs:
            job.result()

    def _worker(self) -> Worker | DenseWorker:
        if isinstance(self.structure, DenseRows):
            return DenseWorker(self.structure, self.lagged)
        return Worker(self.structure, self.way, lagged=self.lagged)

    def channels(self) -> Channels:
        """The channels of all rows so far."""
        factors, lagged = dict[bool, Sequence[Array]](), dict[bool, Sequence[Array]]()
        count = longest = 0
        for loaded, workers in self._workers.items():
            factors[loaded] = reduce(partial(_add, self.way), [w.finish() for w in workers])
            count += sum(w.count for w in workers)
            for products in (w.lagged for w in workers if w.lagged is not None):
                lagged[loaded], longest = products.finish(), max(longest, products.longest)
        return Channels(self.structure, self.way, factors, count, lagged, longest)
