"""Rows that cannot be taken apart: unknown forces are projected out of all equations of a sample at once.

So these rows are made as ``equations/rows.py`` makes them, some seconds at a time, and every equation has all columns.
What is kept of them is the same as of rows in blocks: one triangle an equation, unweighted.
"""

from __future__ import annotations

import numpy as np

from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.stream.autocorrelation import LaggedProducts
from steelyard.spatial import Array


class DenseRows:
    """The structure of such rows (``structure.Structure`` of those in blocks)."""

    def __init__(self, rows: Rows):
        self.rows, self.columns, self.names = rows, rows.columns, rows.names
        self.n = rows.columns.n
        self.blocks = [np.arange(self.n + 1)] * len(self.names)

    def parameters(self, loaded: bool) -> Array:
        """(n, n): the rows know themselves whether a load was carried."""
        return np.eye(self.n)


class DenseWorker:
    """One thread of the stream."""

    def __init__(self, structure: DenseRows, lagged: bool = False):
        self.structure, self.count = structure, 0
        self.lagged = LaggedProducts([structure.n + 1] * len(structure.names)) if lagged else None
        self.found = [np.zeros((structure.n + 1, structure.n + 1)) for _ in structure.names]

    def run(self, segment: Segment, centres: Array, taps: Array) -> None:
        """Take in the rows at these samples of a segment, which the rows themselves filter by the taps."""
        for block in self.structure.rows.at(segment, centres):
            self.count += len(block.time)
            for e, R in enumerate(self.found):
                fresh = np.column_stack([block.Y[:, e], block.target[:, e]])
                self.found[e] = np.asarray(np.linalg.qr(np.vstack([R, fresh]), mode="r"))
            if self.lagged is not None:
                rows = np.concatenate([block.Y, block.target[:, :, None]], axis=2)  # (T, C, n + 1)
                self.lagged.take(rows.reshape(len(rows), -1).T)

    def finish(self) -> list[Array]:
        """What was found so far, a triangle an equation."""
        return self.found
