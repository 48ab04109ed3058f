"""A robot as flat arrays: what the compiled loops know of it, and how samples are laid out for them.

A node (1 … N) is a joint of the robot's Pinocchio model together with the body it moves; node 0 is the base frame.
Nodes are depth first, so the bodies that a joint carries are one run of them. A *row* is a generalised force: a motion
vector fixed to a node, Sᵀ(wrench on all that the node carries). Joints of one degree of freedom have one row each, a
sensor in a weld one for each component it measures; the six of a floating base are apart (``panels.py``).

Covered are trees of revolute, continuous, prismatic and welded joints on a fixed base or a free-flyer
(``robot/flat_tree.py`` makes them). This module loads no numba.
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

LANES = 16  # samples that are worked on at once; fewer, or a number that is no power of two, did not vectorise
WELD, REVOLUTE, PRISMATIC = 0, 1, 2
BASE = 12  # values of the base that open a state
HEADER, PER_NODE, PER_ROW = 4, 5, 3  # integers
NODE_REALS, ROW_REALS = 33, 6
POSE_REALS = 21
REGULAR = 0.02  # a leg is too nearly straight where contact-free rows would grow beyond 1 / this


class MotionSamples(Protocol):
    """Motion of a robot, a row a sample; vectors of a floating base in base axes, SI."""

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
    """Structure and geometry of a robot; all that a kernel needs beside samples."""

    integers: Array  # N, moving, rows, floating; a node: parent, kind, joint, first row, rows; a row as in ``table``
    reals: Array  # a node: R, R[s]×, R[s]×², Rs, p of its placement and axis s; a row: motion (6,) in the node's frame
    rows: tuple[str, ...]  # name of each row: joints of the model, then sensors' readings
    nodes: Mapping[str, int]  # body → node; a load has its carrier's
    joints: Mapping[int, int]  # joint of the model → node
    gravity: Array  # (3,) m/s², of the model: what a fixed base feels is its opposite
    upright: Array  # (3,) up, for a base that does not turn
    independent: Array  # where each moving joint, and each row after those, belongs among the joints and readings
    factors: Array  # how often: a follower's row counts for its leader
    offsets: Array  # (moving joints,) rad or m, of followers

    def base_alone(self) -> FlatTree:
        """The same without rows: a base panel and nothing else."""
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
        """N, also of those without parameters."""
        return int(self.integers[0])

    @property
    def moving(self) -> int:
        """Joints of the model that move, followers included: the first rows are theirs."""
        return int(self.integers[1])

    @property
    def floating(self) -> bool:
        """Whether there is a base panel."""
        return bool(self.integers[3])

    @property
    def coupled(self) -> bool:
        """Whether rows are not the equations themselves, since some joint follows another."""
        return len(set(self.independent)) < len(self.independent)

    @cached_property
    def grouping(self) -> Grouping:
        """Which columns of the rows are enough."""
        from steelyard.kernels.grouping import Grouping

        return Grouping.of(self)

    @cached_property
    def table(self) -> Array:
        """(rows, 3) node of each row, how many bodies it carries, how many are carried by the rows before it."""
        return self.integers[HEADER + PER_NODE * self.bodies :].reshape(-1, PER_ROW)

    @cached_property
    def ancestors(self) -> Array:
        """(rows, N) whether a row carries a body."""
        k = np.arange(1, self.bodies + 1)
        node, count = self.table[:, :1], self.table[:, 1:2]
        return np.asarray((k >= node) & (k < node + count))

    @property
    def width(self) -> int:
        """Values a sample has: 12 of the base, and q, v, a of every moving joint."""
        return BASE + 3 * self.moving

    def states(self, segment: MotionSamples, batch: int = LANES) -> Array:
        """(tiles, width·16) samples for the kernels, tiles of 16 lanes, filled up with zeros to whole batches.

        Values, one after another: proper acceleration, angular velocity and angular acceleration of the base, up, then
        q, v, a of each moving joint. Zeros make rows of zeros, so nothing has to be cut off again.
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
        """The same from the base's twelve values (T, 12) and q, v, a (T, moving) of the model's joints."""
        T = len(base)
        full = np.zeros((-(-T // batch) * batch, self.width))
        full[:T, :BASE] = base
        full[:T, BASE::3], full[:T, BASE + 1 :: 3], full[:T, BASE + 2 :: 3] = q, v, a
        out = aligned(full.size).reshape(-1, self.width, LANES)
        out[:] = full.reshape(-1, LANES, self.width).transpose(0, 2, 1)
        return out.reshape(len(out), -1)


def room(tree: FlatTree) -> int:
    """Numbers that a kernel needs to keep a tile's poses and motion vectors."""
    return LANES * (POSE_REALS * (tree.bodies + 1) + ROW_REALS * len(tree.rows))


def aligned(length: int) -> Array:
    """Zeros that begin on a cache line: a packed value that lies across two costs twice."""
    raw = np.zeros(length + 8)
    skip = -(raw.ctypes.data // 8) % 8
    return raw[skip : skip + length]
