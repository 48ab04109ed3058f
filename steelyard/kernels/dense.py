"""Panels as a dense regressor Y (samples, equations, columns).

Writing Y costs more than computing the panels, since most of it is zero; streamed logs use the panels directly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.kernels.panels import Panels
from steelyard.kernels.tree import HEADER, LANES, PER_NODE, PER_ROW, FlatTree
from steelyard.spatial import Array

L = LANES
BATCH = 64  # samples of a panel: its blocks fit into the second-level cache


@compiled
def spread(integers: Array, buffer: Array, where: Array, factors: Array, Y: Array) -> None:
    """Add the panels of a batch to the first columns of Y (≤ B, C, n).

    ``where`` has the node of every ten columns, then the equation of every row, not counting the base's six.
    """
    N, R, floating = integers[0], integers[2], integers[3]
    T, bodies = len(Y), len(where) - R
    height = 60 * N * floating
    for j in range(R):
        height += 10 * integers[HEADER + PER_NODE * N + PER_ROW * j + 1]
    B = len(buffer) // height
    joints = buffer[60 * N * floating * B :]
    for b in range(bodies):
        i = where[b]
        if floating:
            for t in range(T):
                at = 60 * (i - 1) * B + 6 * L * (t // L) + t % L
                for c in range(6):
                    for k in range(10):
                        Y[t, c, 10 * b + k] += buffer[at + 6 * k * B + c * L]
        up = i
        while up > 0:
            node = HEADER + PER_NODE * (up - 1)
            for j in range(integers[node + 3], integers[node + 3] + integers[node + 4]):
                at = 10 * (integers[HEADER + PER_NODE * N + PER_ROW * j + 2] + i - up) * B
                c, factor = 6 * floating + where[bodies + j], factors[j]
                for t in range(T):
                    for k in range(10):
                        Y[t, c, 10 * b + k] += factor * joints[at + k * B + t]
            up = integers[node]


def regressor(tree: FlatTree, states: Array, bodies: Sequence[str], Y: Array) -> None:
    """Write the regressor of these bodies to the first columns of Y (T, C, n), which are zero."""
    panels = Panels(tree, BATCH)
    rows = tree.independent[: len(tree.rows)]
    where = np.concatenate([[tree.nodes[b] for b in bodies], rows]).astype(np.int64)
    for t in range(0, len(Y), BATCH):
        panels.fill(states, t // L)
        spread(tree.integers, panels.buffer, where, tree.factors, Y[t : t + BATCH])
