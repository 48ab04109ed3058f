"""One thread of the stream: samples in, one triangle or Gram matrix an equation out, in fixed buffers.

A batch of samples becomes panels, from which the blocks' lines are taken. Where rows are filtered, each batch adds its
part to the few rows whose windows contain it, a product with a narrow matrix of taps. Complete rows are collected in
the operand, and a full operand is factored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np

from steelyard.equations.segment import Segment
from steelyard.equations.stream.autocorrelation import LaggedProducts
from steelyard.equations.stream.structure import Lines, Structure
from steelyard.kernels.tree import LANES
from steelyard.spatial import Array

Way = Literal["triangle", "gram"]
Absorbing = tuple[list[Array], list[Callable[[], None]]]  # factors, and the calls that accumulate the operand in them

BATCH = 32  # samples a panel
ROWS = 224  # rows of each equation that are factored at once
PIECE = 256  # samples whose states are laid out at once


class Worker:
    """Buffers and factors of one thread."""

    def __init__(self, structure: Structure, way: Way, *, batch: int = BATCH, rows: int = ROWS, lagged: bool = False):
        from steelyard.kernels import panel_lines as lines
        from steelyard.kernels import panels

        self.structure, self.way, self.batch, self.rows = structure, way, batch, rows
        self.lines, self.count = Lines(structure, batch), 0
        self.panels = panels.Panels(structure.tree, batch)
        self._take, self._add = lines.take, lines.add
        self.operand = np.zeros((self.lines.count, rows))
        self.filled = 0  # rows in the operand
        sizes = [len(columns) for columns in structure.blocks]
        self.lagged = LaggedProducts(sizes) if lagged else None  # where they are kept
        self.factors, self._calls = (_grams if way == "gram" else _triangles)(self.operand, sizes)

    def run(self, segment: Segment, centres: Array, taps: Array) -> None:
        """Take in the rows at these samples of a segment, filtered by the taps."""
        if not len(centres):
            return
        self.count += len(centres)
        start, stop, half = int(centres[0]), int(centres[-1]) + 1, len(taps) // 2
        if half == 0 and len(centres) == stop - start and self.lagged is None:
            if self.filled + self.batch > self.rows:
                self.factor()
            for _, put in self._batches(segment, start, stop):  # samples beyond the end are rows of zeros
                put(self.operand, self.filled)
                self.filled += self.batch
                if self.filled + self.batch > self.rows:
                    self.factor()
            return
        panel = np.zeros((self.lines.count, self.batch))
        waiting, low = panel[:, :0], 0  # incomplete rows, and the index of the first
        for t, put in self._batches(segment, start - half, stop + half):
            high = int(np.searchsorted(centres, t + self.batch + half))
            done = int(np.searchsorted(centres, t + self.batch - half))
            if high == low:
                continue
            put(panel, 0)
            at = np.arange(t, t + self.batch)[:, None] - centres[low:high] + half
            window = np.where((at >= 0) & (at < len(taps)), taps[np.clip(at, 0, len(taps) - 1)], 0.0)
            fresh = panel @ window
            fresh[:, : waiting.shape[1]] += waiting
            self._collect(fresh[:, : done - low])
            waiting, low = fresh[:, done - low :], done
        self._collect(waiting)

    def _batches(self, segment: Segment, start: int, stop: int) -> Iterator[tuple[int, Callable[[Array, int], None]]]:
        """First sample of every batch, and a function that writes its lines; zeros beyond the last sample."""
        x = self.lines
        for a in range(start, stop, PIECE):
            part = segment.part(slice(a, min(a + PIECE, stop)))
            states = self.structure.tree.states(part, self.batch)
            outer = np.zeros((len(x.outer), len(states) * LANES))
            outer[:, : len(part.time)] = self.structure.values(part)[x.value] * x.factor
            for k in range(0, len(states) * LANES, self.batch):
                yield a + k, partial(self._put, states, outer, k)

    def _put(self, states: Array, outer: Array, k: int, out: Array, at: int) -> None:
        x = self.lines
        self.panels.fill(states, k // LANES)
        self._take(x.goals, x.places, x.factors, self.panels.buffer, self.batch, out, at)
        if len(x.more):
            self._add(x.more_goals, x.more, x.more_factors, self.panels.buffer, self.batch, out, at)
        out[x.outer, at : at + self.batch] = outer[:, k : k + self.batch]

    def _collect(self, columns: Array) -> None:
        """Append complete rows to the operand."""
        if self.lagged is not None:
            self.lagged.take(columns)
        while columns.shape[1]:
            part = columns[:, : self.rows - self.filled]
            self.operand[:, self.filled : self.filled + part.shape[1]] = part
            self.filled += part.shape[1]
            columns = columns[:, part.shape[1] :]
            if self.filled == self.rows:
                self.factor()

    def factor(self) -> None:
        """Accumulate the operand in the factors."""
        self.operand[:, self.filled :] = 0.0
        for call in self._calls:
            call()
        self.filled = 0

    def finish(self) -> list[Array]:
        """Factors, (m, m) an equation: upper triangles R, or the upper triangles of Gram matrices."""
        if self.filled:
            self.factor()
        return [factor.T for factor in self.factors]  # in Fortran's order


def _grams(operand: Array, sizes: Sequence[int]) -> Absorbing:
    """Gram matrices of the operand's blocks; ``sizes``: lines of each."""
    from steelyard.kernels import blas, gram

    firsts, places = _before(sizes), _before([m * m for m in sizes])
    out = np.zeros(sum(m * m for m in sizes))
    grams = [out[k : k + m * m].reshape(m, m) for k, m in zip(places, sizes, strict=True)]
    most = gram.widest()
    wide = [k for k, m in enumerate(sizes) if most is not None and m > most]
    table = np.delete(np.column_stack([firsts, sizes, places]), wide, axis=0)
    calls = [blas.gram(operand[firsts[k] : firsts[k] + sizes[k]], grams[k]) for k in wide]
    return grams, [partial(gram.add, table, operand, out), *calls]


def _triangles(operand: Array, sizes: Sequence[int]) -> Absorbing:
    """Triangles of the operand's blocks."""
    from steelyard.kernels import blas

    triangles = [np.zeros((m, m)) for m in sizes]
    blocks = [operand[k : k + m] for k, m in zip(_before(sizes), sizes, strict=True)]
    return triangles, [blas.triangle(X, R) for X, R in zip(blocks, triangles, strict=True)]


def _before(sizes: Sequence[int]) -> Array:
    """Start index of each block."""
    return np.cumsum([0, *sizes[:-1]])
