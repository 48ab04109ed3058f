"""Rows that do not split into blocks: unknown forces are projected out of all equations of a sample at once.

So these rows are computed by ``equations/rows.py``, some seconds at a time, and every equation has all columns. The
result is the same as of rows in blocks: one triangle an equation, unweighted.
"""

from __future__ import annotations

import numpy as np

from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.stream.autocorrelation import LaggedProducts
from steelyard.spatial import Array


class DenseRows:
    """The structure of such rows; its counterpart for rows in blocks is ``structure.Structure``."""

    def __init__(self, rows: Rows):
        self.rows, self.columns, self.names = rows, rows.columns, rows.names
        self.n = rows.columns.n
        self.blocks = [np.arange(self.n + 1)] * len(self.names)

    def parameters(self, loaded: bool) -> Array:
        """(n, n) identity: the columns of a load are zero in rows without it."""
        return np.eye(self.n)


class DenseWorker:
    """One thread of the stream."""

    def __init__(self, structure: DenseRows, lagged: bool = False):
        self.structure, self.count = structure, 0
        self.lagged = LaggedProducts([structure.n + 1] * len(structure.names)) if lagged else None
        self.triangles = [np.zeros((structure.n + 1, structure.n + 1)) for _ in structure.names]

    def run(self, segment: Segment, centres: Array, taps: Array) -> None:
        """Take in the rows at these samples of a segment, filtered by ``Rows.at``."""
        for block in self.structure.rows.at(segment, centres):
            self.count += len(block.time)
            for e, R in enumerate(self.triangles):
                fresh = np.column_stack([block.Y[:, e], block.target[:, e]])
                self.triangles[e] = np.asarray(np.linalg.qr(np.vstack([R, fresh]), mode="r"))
            if self.lagged is not None:
                rows = np.concatenate([block.Y, block.target[:, :, None]], axis=2)  # (T, C, n + 1)
                self.lagged.take(rows.reshape(len(rows), -1).T)

    def finish(self) -> list[Array]:
        """The triangle of each equation."""
        return self.triangles
