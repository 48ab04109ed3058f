"""Blocks of the logs: each is left out in turn, so that it is predicted by a fit that it has no part in.

Information adds up, so the normal equations without block b are A − A_b and c − c_b: leaving out ten blocks costs ten
small solves, and no row is computed again. The fits are quadratic, prior included, without the bounds of a method: the
same question for every method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from steelyard.equations.rows import Block
from steelyard.information import Information
from steelyard.spatial import Array

BLOCKS = 10  # of all logs together, at least one a log
LEAST = 4  # fewer blocks show no spread
ROUNDING = 1e-14  # of the normal equations, relative


@dataclass(frozen=True)
class Partition:
    """Logs divided into blocks of about equal length, numbered through all logs."""

    edges: tuple[Array, ...]  # of each log: (k + 1,) s

    @classmethod
    def of(cls, spans: Sequence[tuple[float, float]], count: int = BLOCKS) -> Partition:
        """Divide logs that last from the first to the second time, s, into about ``count`` blocks."""
        total = sum(stop - start for start, stop in spans)
        counts = [max(1, round(count * (stop - start) / total)) for start, stop in spans]
        return cls(tuple(np.linspace(a, b, k + 1) for (a, b), k in zip(spans, counts, strict=True)))

    @property
    def count(self) -> int:
        """Number of blocks."""
        return sum(len(e) - 1 for e in self.edges)

    def block(self, log: int, time: Array) -> Array:
        """(T,) number of the block of each time."""
        first = sum(len(e) - 1 for e in self.edges[:log])
        inner = self.edges[log][1:-1]
        return np.asarray(first + np.searchsorted(inner, time, side="right"))

    def inside(self, log: int, time: Array, margin: float) -> Array:
        """(T,) whether each time is further than ``margin`` s from the next block of its log."""
        inner = self.edges[log][1:-1]
        return np.asarray(np.all(np.abs(time[:, None] - inner) > margin, axis=1))

    def split(self, blocks: Iterable[Block]) -> Iterator[tuple[int, Block]]:
        """The rows of each block, with its number."""
        for rows in blocks:
            number = self.block(rows.log, rows.time)
            for b in np.unique(number):
                at = number == b
                yield int(b), Block(rows.time[at], rows.Y[at], rows.target[at], rows.first, rows.log)


@dataclass(frozen=True)
class BlockSums:
    """Normal equations of each block, of rows that are whitened, about parameters in units of their scale."""

    scale: Array  # (n,)
    A: Array  # (B, n, n) YᵀY
    c: Array  # (B, n) Yᵀτ

    @classmethod
    def of(cls, partition: Partition, blocks: Iterable[Block], whitener: Array, scale: Array) -> BlockSums:
        """Sum over rows; ``whitener`` (C, C) makes their noise white."""
        n = len(scale)
        A, c = np.zeros((partition.count, n, n)), np.zeros((partition.count, n))
        for b, rows in partition.split(blocks):
            Y = np.einsum("ij,tjn->tin", whitener, rows.Y).reshape(-1, n) * scale
            A[b] += Y.T @ Y
            c[b] += Y.T @ (rows.target @ whitener.T).ravel()
        return cls(scale, A, c)

    @property
    def used(self) -> Array:
        """Numbers of the blocks that have rows."""
        return np.flatnonzero(np.trace(self.A, axis1=1, axis2=2) > 0)

    def without_each(self, prior: Information, start: Array, free: Array) -> tuple[Array, Array]:
        """Solve without each block: (B, n), and with all blocks (n,).

        Args:
            prior: Information that all fits share: of the prior, of an earlier estimate.
            start: (n,) values of the parameters that are not solved for.
            free: Indices of those that are.
        """
        R = prior.R * self.scale
        held = start.copy()
        held[free] = 0.0
        A, c = self.A.sum(axis=0) + R.T @ R, self.c.sum(axis=0) + R.T @ prior.z
        lift = ROUNDING * float(np.trace(A))  # directions that nothing determines

        def solve(A: Array, c: Array) -> Array:
            full = held.copy()
            if len(free):
                right = c[free] - A[free] @ (held / self.scale)
                lifted = A[np.ix_(free, free)] + lift * np.eye(len(free))
                full[free] = self.scale[free] * cho_solve(cho_factor(lifted), right)
            return full

        return np.array([solve(A - a, c - b) for a, b in zip(self.A, self.c, strict=True)]), solve(A, c)


def jackknife(left_out: Array, used: Array) -> Array:
    """(n, n) covariance of an estimate by the spread of those without one block each (delete-one jackknife)."""
    d = left_out[used] - left_out[used].mean(axis=0)
    return np.asarray((len(used) - 1) / len(used) * d.T @ d)
