"""A robot as flat arrays, and the layout of samples for the compiled loops.

A node (1 … N) is a joint of the robot's Pinocchio model together with the body it moves; node 0 is the base frame.
Nodes are in depth-first order, so the subtree of a joint is a contiguous run of them. A *row* is a generalised force,
Sᵀ(wrench on the subtree), S a motion vector fixed to a node. A joint of one degree of freedom has one row, a sensor in
a weld one for each component it measures; the six of a floating base are separate (``panels.py``).

Supported are trees of revolute, continuous, prismatic and fixed joints on a fixed base or a free-flyer
(``robot/flat_tree.py`` builds them). This module does not load numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.kernels.grouping import Grouping

LANES = 16  # samples processed at once; fewer, or a number that is not a power of two, did not vectorise
WELD, REVOLUTE, PRISMATIC = 0, 1, 2
BASE = 12  # values of the base, the first of a state
HEADER, PER_NODE, PER_ROW = 4, 5, 3  # integers
NODE_REALS, ROW_REALS = 33, 6
POSE_REALS = 21
REGULAR = 0.02  # a leg is nearly straight if contact-free rows would exceed 1 / this


class MotionSamples(Protocol):
    """Motion of a robot, one row per sample; vectors of a floating base in base axes, SI."""

    @property
    def time(self) -> Array: ...  # noqa: D102
    @property
    def q(self) -> Array: ...  # noqa: D102
    @property
    def v(self) -> Array: ...  # noqa: D102
    @property
    def a(self) -> Array: ...  # noqa: D102
    @property
    def acc(self) -> Array | None: ...  # noqa: D102
    @property
    def gyro(self) -> Array | None: ...  # noqa: D102
    @property
    def alpha(self) -> Array | None: ...  # noqa: D102
    @property
    def up(self) -> Array | None: ...  # noqa: D102


@dataclass(frozen=True)
class FlatTree:
    """Structure and geometry of a robot, for kernels."""

    integers: Array  # N, moving, rows, floating; a node: parent, kind, joint, first row, rows; a row as in ``table``
    reals: Array  # a node: R, R[s]×, R[s]×², Rs, p of its placement and axis s; a row: motion (6,) in the node's frame
    rows: tuple[str, ...]  # name of each row: joints of the model, then sensor readings
    nodes: Mapping[str, int]  # body → node; a load has its carrier's
    joints: Mapping[int, int]  # joint of the model → node
    gravity: Array  # (3,) m/s²; the proper acceleration of a fixed base is its opposite
    upright: Array  # (3,) upward direction, for a fixed base
    independent: Array  # index of each moving joint, then of each reading, among independent coordinates
    factors: Array  # multiplier of a mimic joint's row; 1 for others
    offsets: Array  # (moving joints,) rad or m, of mimic joints

    def base_alone(self) -> FlatTree:
        """Return the tree without rows: a base panel only."""
        N = self.bodies
        integers = self.integers[: HEADER + PER_NODE * N].copy()
        integers[2] = 0
        integers[HEADER:].reshape(N, PER_NODE)[:, 3:] = 0
        return replace(
            self,
            integers=integers,
            reals=self.reals[: NODE_REALS * N],
            rows=(),
            independent=self.independent[: self.moving],
            factors=self.factors[: self.moving],
        )

    @property
    def bodies(self) -> int:
        """N, including bodies without parameters."""
        return int(self.integers[0])

    @property
    def moving(self) -> int:
        """Number of moving joints of the model, mimic joints included; the first rows are theirs."""
        return int(self.integers[1])

    @property
    def floating(self) -> bool:
        """Whether there is a base panel."""
        return bool(self.integers[3])

    @property
    def coupled(self) -> bool:
        """Whether some joint mimics another, so that equations are sums of rows."""
        return len(set(self.independent)) < len(self.independent)

    @cached_property
    def grouping(self) -> Grouping:
        """The columns that structural base parameters need."""
        from steelyard.kernels.grouping import Grouping

        return Grouping.of(self)

    @cached_property
    def table(self) -> Array:
        """(rows, 3) node of each row, number of bodies in its subtree, sum of these over the rows before it."""
        return self.integers[HEADER + PER_NODE * self.bodies :].reshape(-1, PER_ROW)

    @cached_property
    def ancestors(self) -> Array:
        """(rows, N) whether a body is in the subtree of a row."""
        k = np.arange(1, self.bodies + 1)
        node, count = self.table[:, :1], self.table[:, 1:2]
        return np.asarray((k >= node) & (k < node + count))

    @property
    def width(self) -> int:
        """Number of values of a sample: 12 of the base, and q, v, a of every moving joint."""
        return BASE + 3 * self.moving

    def states(self, segment: MotionSamples, batch: int = LANES) -> Array:
        """Return samples for the kernels (tiles, width·16), tiles of 16 lanes, padded with zeros to whole batches.

        The values are proper acceleration, angular velocity and angular acceleration of the base, upward direction,
        then q, v, a of each moving joint. Zeros give zero rows, which need not be removed.
        """
        base = np.zeros((len(segment.time), BASE))
        if self.floating:
            assert segment.acc is not None and segment.gyro is not None and segment.alpha is not None
            base[:, :9] = np.hstack([segment.acc, segment.gyro, segment.alpha])
        else:
            base[:, :3] = -self.gravity
        base[:, 9:] = self.upright if segment.up is None else segment.up
        index, factor = self.independent[: self.moving], self.factors[: self.moving]
        q, v, a = (x[:, index] * factor for x in (segment.q, segment.v, segment.a))
        return self.tiles(base, q + self.offsets, v, a, batch)

    def tiles(self, base: Array, q: Array, v: Array, a: Array, batch: int = LANES) -> Array:
        """Return the same from the base's values (T, 12) and q, v, a (T, moving) of the model's joints."""
        T = len(base)
        full = np.zeros((-(-T // batch) * batch, self.width))
        full[:T, :BASE] = base
        full[:T, BASE::3], full[:T, BASE + 1 :: 3], full[:T, BASE + 2 :: 3] = q, v, a
        out = aligned(full.size).reshape(-1, self.width, LANES)
        out[:] = full.reshape(-1, LANES, self.width).transpose(0, 2, 1)
        return out.reshape(len(out), -1)


def room(tree: FlatTree) -> int:
    """Return the size of the workspace for poses and motion vectors of a tile."""
    return LANES * (POSE_REALS * (tree.bodies + 1) + ROW_REALS * len(tree.rows))


def aligned(length: int) -> Array:
    """Return zeros aligned to a cache line: a vector access across two lines costs twice."""
    raw = np.zeros(length + 8)
    skip = -(raw.ctypes.data // 8) % 8
    return raw[skip : skip + length]
