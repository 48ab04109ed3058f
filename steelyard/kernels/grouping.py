"""Structural base parameters: which columns of the regressor suffice, and how the others depend on them.

Mass on a joint's axis cannot be distinguished from mass of the parent: point masses on the axis of a revolute joint
(mass, first and second moment along it: three directions of the ten) move as if fixed to the parent, and exert no
torque about the axis. So with D (10, k) those directions in the body frame and X the transform to the parent's frame,

    Y_body D = Y_parent X D    in every row,    0 in the joint's own.

k is 3 for a revolute joint and 6 for a prismatic one (all second moments, since it does not rotate relative to its
parent): with revolute joints on a floating base 10 + 7 columns per joint remain. This holds for any motion; a motion
may excite fewer directions, and a fixed base always does, which the rank of the data shows. The weld of a sensor keeps
all ten columns: they occur in the sensor's own rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard import inertia
from steelyard.kernels.tree import HEADER, NODE_REALS, PER_NODE, PRISMATIC, REVOLUTE, ROW_REALS, WELD, FlatTree
from steelyard.spatial import Array


@dataclass(frozen=True)
class Grouping:
    """The columns that are kept, and the kept parameters as combinations of all 10·N."""

    kept: Array  # (n,) increasing, among the columns of the tree's nodes 1 … N
    matrix: Array  # (n, 10·N) with Y θ = Y[:, kept] (matrix @ θ) for the rows of every motion

    @classmethod
    def of(cls, tree: FlatTree) -> Grouping:
        """Return the grouping by structure alone, from the leaves to the base."""
        N, R = tree.bodies, len(tree.rows)
        nodes = tree.integers[HEADER : HEADER + PER_NODE * N].reshape(N, PER_NODE)
        reals = tree.reals[: NODE_REALS * N].reshape(N, NODE_REALS)
        motions = tree.reals[NODE_REALS * N :].reshape(R, ROW_REALS)
        T = np.eye(10 * N).reshape(N, 10, 10 * N)  # accumulated at each node from its subtree
        kept, rows = list[Array](), list[Array]()
        for i in reversed(range(N)):
            parent, kind, _, row, count = nodes[i]
            D = _carried_by_parent(int(kind), motions[row]) if count and kind != WELD else np.zeros((10, 0))
            drop = np.argmax(np.abs(D), axis=0)  # largest entry of each direction: the columns dropped
            keep = np.ones(10, bool)
            keep[drop] = False
            C = np.linalg.solve(D[drop], T[i][drop])
            kept.append(10 * i + np.flatnonzero(keep))
            rows.append(T[i][keep] - D[keep] @ C)
            if parent and len(drop):
                placement = np.eye(4)
                placement[:3, :3], placement[:3, 3] = reals[i][:9].reshape(3, 3), reals[i][30:33]
                T[parent - 1] += inertia.transform_matrix(placement) @ D @ C
        return cls(np.concatenate(kept[::-1]), np.concatenate(rows[::-1]))

    @classmethod
    def none(cls, tree: FlatTree) -> Grouping:
        """Return the grouping that keeps every column."""
        return cls(np.arange(10 * tree.bodies), np.eye(10 * tree.bodies))


def _carried_by_parent(kind: int, motion: Array) -> Array:
    """(10, k) directions of parameters that are indistinguishable from the parent's."""
    if kind == PRISMATIC:
        return np.eye(10)[:, 4:]
    assert kind == REVOLUTE
    axis = motion[3:]
    D = np.zeros((10, 3))
    D[0, 0] = 1.0
    D[1:4, 1] = axis
    D[4:, 2] = inertia.six(np.eye(3) - np.outer(axis, axis))
    return D
