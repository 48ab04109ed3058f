"""Memory layout of the compiled online step: two flat arrays, whose fields are accessed by name.

``StateLayout`` has the table of fields. Their offsets are computed from it and stored at the front of the integers, so
kernels need those two arrays only (each argument costs 50 ns per call), and the order of the fields is irrelevant.
``AT`` numbers the fields: ``part(reals, integers, AT.old)``.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.kernels.change_test import row_width
from steelyard.kernels.compiled import inlined
from steelyard.kernels.kinematics import JOINT
from steelyard.kernels.leg_elimination import FOOT_REALS, PER_FOOT, PUSH
from steelyard.kernels.panels import BLOCK
from steelyard.kernels.sym6 import SIX
from steelyard.kernels.tree import BASE, LANES, POSE_REALS, ROW_REALS, aligned
from steelyard.spatial import Array

Fields = dict[str, tuple[int, ...]]  # name → shape

L = LANES
N1 = 11  # ten parameters and the right-hand side
EQUATION = row_width(10)  # numbers in a row of the change test's equations
LINE = 8  # numbers in a cache line; every field begins at one
PERSISTENT = (
    *("received", "clock", "row_counts", "passive", "marks"),
    *("filter", "up", "last", "stamp", "old", "recent", "before", "optimum", "theta", "proof", "masses", "test"),
)  # fields of a saved state


@dataclass(frozen=True)
class StateLayout:
    """Fields of a step and their shapes."""

    columns: int = 0  # of a sample
    feet: int = 0
    nodes: int = 0  # bodies of the tree
    joints: int = 0  # rows of the tree
    shapes: int = 0  # number of shapes or points of the base
    tree_integers: int = 0
    tree_reals: int = 0
    order: tuple[int, ...] = ()  # permutation of all fields in memory; that of the table if empty

    def integers(self) -> Fields:
        """Return the fields of the integers: constants, then counters."""
        return {
            "quaternion": (1,),  # first column of the orientation, −1: none
            "gyro": (1,),
            "acc": (1,),
            "q": (self.joints,),
            "tau": (self.joints,),
            "legs": (self.feet, PER_FOOT),
            "tree": (self.tree_integers,),
            "span": (1,),  # windows in the recent part, at most
            "settling": (1,),  # samples until the filter's transient has decayed
            "warm": (1,),  # whether the solver starts with the shapes of the last solution
            "received": (2,),  # samples, and raw rows, since the filter began
            "clock": (2,),  # windows in the recent part, and since the last change
            "row_counts": (2,),  # scalar equations in the old part and in the recent one
            "passive": (1,),  # number of shapes with mass
            "marks": (3, self.shapes),  # workspace of ``active_set.py``; which shapes have mass
        }

    def reals(self) -> Fields:
        """Return the fields of the reals: constants, state, workspace."""
        C, k = self.columns, self.shapes
        columns = _whole_lines(k)
        return {
            "low_pass": (3, 5),
            "rate": (1,),
            "step_limits": (2,),  # of the sampling interval, times the rate
            "gravity": (1,),
            "tilt_gain": (1,),
            "rotation": (3, 3),  # of the inertial sensor in the base
            "lever": (3,),
            "turned": (3, 3),  # from the quaternion's axes to those of the base
            "factors": (C,),
            "tree_reals": (self.tree_reals,),
            "bodies": (self.nodes, 10),  # parameters; none of the base
            "balls": (self.feet, FOOT_REALS),
            "whitener": (6, 6),
            "prior": (N1, N1),
            "mass_variance": (1,),  # of the prior
            "map": (10, columns),  # from masses of shapes to parameters
            "floor": (10,),  # parameters at the least masses
            "ridge": (2, k),
            "forgetting": (1,),
            "average": (1,),  # weight of a new window's solution; zero if information is accumulated instead
            "thresholds": (N1,),
            "caution": (1,),
            "outlying": (1,),
            "filter": (4, C),
            "up": (3,),
            "last": (C,),
            "stamp": (1,),
            "old": (N1, N1),
            "recent": (N1, N1),
            "before": (N1, N1),
            "optimum": (10,),
            "theta": (10,),
            "proof": (3,),  # kkt, gap, least eigenvalue
            "masses": (k,),
            "test": (3,),  # mean χ² per degree of freedom; the last χ² and its limit
            "state": (BASE + 3 * self.joints, L),
            "torques": (self.joints, L),
            "filtered": (L, 3, C),
            "next_filter": (4, C),
            "next_up": (3,),
            "poses": (POSE_REALS * (self.nodes + 1) + ROW_REALS * self.joints, L),  # and motions of rows
            "joint": (JOINT,),
            "wrenches": (self.nodes + 1, 6, L),
            "push": (PUSH,),
            "square": (SIX,),
            "norm": (L,),
            "root": (SIX,),
            "inverse": (SIX,),
            "spare": (SIX,),
            "block": (BLOCK,),
            "rows": (6, N1, L),
            "gram": (N1, N1),
            "total": (N1, N1),
            "hessian": (N1, N1),
            "mapped": (10, columns),
            "line": (columns,),
            "quadratic": (k, k),
            "linear": (k,),
            "solution": (2, k),
            "active_set": (k + 4, k),
            "answer": (10,),
            "answer_proof": (3,),
            "equations": (N1, EQUATION),
            "more_equations": (N1, EQUATION),
        }

    def allocate(self) -> tuple[Array, Array, dict[str, Array]]:
        """Return integers and reals, all zero but the offsets of fields, and every field by name."""
        kinds = [self.integers(), self.reals()]
        ends, places = [2 * len(NAMES), 0], dict[str, tuple[int, int]]()
        for index in self.order or range(len(NAMES)):
            kind = int(NAMES[index] in kinds[1])
            start = _whole_lines(ends[kind])
            ends[kind] = start + int(np.prod(kinds[kind][NAMES[index]]))
            places[NAMES[index]] = start, ends[kind]
        integers, reals = np.zeros(ends[0], np.int64), aligned(ends[1])
        integers[: 2 * len(NAMES)] = np.ravel([places[name] for name in NAMES])
        views = {
            name: array[slice(*places[name])].reshape(shape)
            for array, shapes in zip((integers, reals), kinds, strict=True)
            for name, shape in shapes.items()
        }
        return integers, reals, views


def _whole_lines(length: int) -> int:
    return -(-length // LINE) * LINE


@inlined
def part(array: Array, integers: Array, field: int) -> Array:
    """Return a field, flat."""
    return array[integers[2 * field] : integers[2 * field + 1]]


@inlined
def number(array: Any, integers: Array, field: int) -> Any:
    """Return the only number of a field."""
    return array[integers[2 * field]]


NAMES = (*StateLayout().integers(), *StateLayout().reals())
_fields: Any = namedtuple  # of names that no type checker knows
AT: Any = _fields("AT", NAMES)(*range(len(NAMES)))
