"""Non-zero columns of each equation, and their places in the panels.

A row of joint j has columns only of the bodies that j moves and of its own friction, a force of the base none of second
moments; ``kernels/grouping.py`` selects those that suffice. The result is a *block* for every equation: a few columns
and, last, the target. A line is one column of a block over the samples of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from steelyard import inertia
from steelyard.equations.columns import Columns, law
from steelyard.equations.coupled_motors import PREFIX
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.equation_options import Equations
from steelyard.equations.rows import BASE_ROWS
from steelyard.equations.segment import Segment
from steelyard.kernels.grouping import Grouping
from steelyard.kernels.tree import LANES, FlatTree
from steelyard.robot.model import Robot
from steelyard.spatial import Array


class Structure:
    """The blocks of a robot's equations; columns are the kept parameters, then terms of joints, then offsets."""

    def __init__(self, robot: Robot, tree: FlatTree, columns: Columns, equations: Equations, *, grouped: bool = True):
        self.robot, self.tree, self.columns = robot, tree, columns
        self.grouping = tree.grouping if grouped else Grouping.none(tree)
        self.lead = 6 if tree.floating else 0
        J, self.targets = len(robot.joints), self.lead + len(robot.joints) + len(robot.readings)
        every = range(self.targets)
        taken = {"joint": every[self.lead :], "base": [*every[: self.lead], *every[self.lead + J :]]}.get(
            equations, every
        )
        self.taken = [int(e) for e in taken]  # among base, joints and readings
        names = (*BASE_ROWS[: self.lead], *robot.joints, *robot.readings)
        self.names = tuple(names[e] for e in self.taken)
        self.blocks = [self._block(e) for e in self.taken]  # (m,) columns of each equation; the last is the target

    @property
    def n(self) -> int:
        """Number of kept parameters, terms and offsets; index of the target's column."""
        return len(self.grouping.kept) + len(self.terms)

    def _block(self, equation: int) -> Array:
        kept = self.grouping.kept
        if equation < self.lead:
            own = np.flatnonzero(kept % 10 < 4) if equation < 3 else np.arange(len(kept))
        else:
            rows = self.tree.independent == equation - self.lead
            own = np.flatnonzero(np.repeat(self.tree.ancestors[rows].any(axis=0), 10)[kept])
        terms = [len(kept) + k for k, term in enumerate(self.terms) if equation in term]
        return np.concatenate([own, terms, [self.n]]).astype(int)

    @cached_property
    def terms(self) -> list[dict[int, float]]:
        """For every term of a joint and every offset: equation → factor."""
        joints, terms = self.robot.joints, list[dict[int, float]]()
        ratios = {motor.joint: motor.vector(joints) for motor in self.columns.motors}
        for joint, term in self.columns.joint_terms:
            r = ratios[joint] if term.startswith(PREFIX) else np.array([float(j == joint) for j in joints])
            terms.append({self.lead + int(k): float(r[k]) for k in np.flatnonzero(r)})
        for sensor, component in self.columns.offsets:
            terms.append({self.lead + len(joints) + self.robot.readings.index(f"{sensor}.{component}"): 1.0})
        return terms

    def parameters(self, loaded: bool) -> Array:
        """(n, all parameters) map from all parameters to the kept ones; that of a load is zero without it."""
        kept, bodies = len(self.grouping.kept), 10 * len(self.columns.bodies)
        P = np.zeros((self.n, bodies + len(self.terms)))
        P[kept:, bodies:] = np.eye(len(self.terms))
        for name in self.columns.bodies:
            carrier, node = self.robot.body(name).carrier, self.tree.nodes[name]
            own = self.grouping.matrix[:, 10 * (node - 1) : 10 * node]
            if carrier is not None:
                own = own @ inertia.transform_matrix(carrier.placement) * loaded
            P[:kept, self.columns.body(name)] = own
        return P

    def values(self, segment: Segment) -> Array:
        """(targets + terms, T) lines that no panel has: measured forces, and the force of a unit of each term."""
        J, terms = len(self.robot.joints), self.columns.joint_terms
        out = np.ones((self.targets + len(self.terms), len(segment.time)))
        if segment.wrench or segment.plates:
            out[: self.targets] = Dynamics.of(self.robot, segment, self.tree).applied().T
        else:
            out[: self.lead] = 0.0
            out[self.lead : self.lead + J] = 0.0 if segment.tau is None else segment.tau.T
            if self.robot.sensors:
                readings = [segment.sensor[s.name] for s in self.robot.sensors]
                out[self.lead + J : self.targets] = np.hstack(readings).T
        for k, (joint, term) in enumerate(terms, self.targets):
            if term == "gain":
                out[k] = -segment.current[joint]
            elif term != "offset":
                r = np.zeros(J)
                for equation, ratio in self.terms[k - self.targets].items():
                    r[equation - self.lead] = ratio
                out[k] = law(term.removeprefix(PREFIX), segment.sliding @ r, segment.a @ r)
        return out


class Lines:
    """Source of each line of the blocks: the panels (``kernels/panel_lines.py``), or ``Structure.values``."""

    def __init__(self, structure: Structure, batch: int):
        s, start = structure, 0
        direct, more, outer = list[Array](), list[Array](), list[tuple[int, int, float]]()
        for equation, columns in zip(s.taken, s.blocks, strict=True):
            own = columns[columns < len(s.grouping.kept)]
            first = np.ones(len(own), bool)  # a column of several rows: the first is copied, the others are added
            for present, lines in _places(s, batch, equation, s.grouping.kept[own]):
                lines = np.column_stack([start + np.flatnonzero(present), lines])
                direct.append(lines[first[present]])
                more.append(lines[~first[present]])
                first &= ~present
            for k, column in enumerate(columns[len(own) :].tolist(), start + len(own)):
                term = column - len(s.grouping.kept)
                outer.append((k, equation, 1.0) if column == s.n else (k, s.targets + term, s.terms[term][equation]))
            start += len(columns)
        self.count = start
        self.goals, self.places, self.factors = _split(direct)
        self.more_goals, self.more, self.more_factors = _split(more)
        self.outer, self.value = (np.array([x[i] for x in outer], int) for i in (0, 1))
        self.factor = np.array([x[2] for x in outer])[:, None]


def _places(s: Structure, batch: int, equation: int, k: Array) -> Iterator[tuple[Array, Array]]:
    """Which of the columns k an equation's panels have, and where: first element, stride to the next tile, factor.

    Once for each model joint of the equation: more than one where joints mimic another.
    """
    tree = s.tree
    if equation < s.lead:
        step = np.full(len(k), 6 * LANES)
        yield np.ones(len(k), bool), np.column_stack([6 * batch * k + LANES * equation, step, np.ones(len(k))])
        return
    base = 60 * tree.bodies * batch if tree.floating else 0
    for row in np.flatnonzero(tree.independent == equation - s.lead):
        present = tree.ancestors[row, k // 10]
        node, _, before = (int(x) for x in tree.table[row])
        first = base + batch * (10 * before + k[present] - 10 * (node - 1))
        yield present, np.column_stack([first, np.full(len(first), LANES), np.full(len(first), tree.factors[row])])


def _split(lines: list[Array]) -> tuple[Array, Array, Array]:
    """Destination, place and factor of each line."""
    table = np.vstack([np.zeros((0, 4)), *lines])
    return table[:, 0].astype(np.int64), np.ascontiguousarray(table[:, 1:3]).astype(np.int64), table[:, 3].copy()
