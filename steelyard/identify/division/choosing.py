"""Which shape to divide next: by Xu's criterion, by reduced costs, or by look-ahead.

With g the objective's gradient at the optimum, g·u is the reduced cost of a shape u: the change of the objective for a
kilogram of it. Children of a shape with mass have reduced costs of both signs, or zero: moving mass from the highest to
the lowest lowers the objective by the *predicted decrease*, the minimum of a parabola along that line. The same for
points inside the shape is the *potential decrease*, that further divisions of the children can approach, although the
next one alone may lower nothing. A look-ahead solves the problem again with each division, with the best predictions
where there are many, and keeps the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard.compose.composition import Composition
from steelyard.compose.described import cells
from steelyard.compose.divide_shape import criterion
from steelyard.compose.division_rule import Rule
from steelyard.compose.primitives import Cluster, Primitive
from steelyard.compose.shape_set import ShapeSet
from steelyard.information import Information
from steelyard.solve import nnls
from steelyard.spatial import Array

ROUNDING = 1e-9  # of the objective: smaller decreases count as none
POTENTIAL_WEIGHT = 0.05  # of the potential decrease counts like a decrease: for shapes that pay after several divisions
BODIES_A_MOVE = 2


@dataclass(frozen=True)
class State:
    """Shapes of all bodies, and the optimum in their masses."""

    shapes: tuple[ShapeSet, ...]
    masses: tuple[Array, ...]  # (k,) of each body's shapes, kg
    theta: Array  # (n,) ten parameters a body, then the rest
    objective: float


@dataclass(frozen=True)
class Move:
    """A change to a body: divide one of its shapes, add one, or bring back one that was pruned when empty."""

    body: int
    shape: Primitive
    done: Literal["divided", "added", "returned"]
    weight: float = 0.0  # by (16)
    parts: int = 2
    axis: int | None = None

    def applied(self, shapes: ShapeSet, masses: Array) -> tuple[ShapeSet, Array] | None:
        """The body afterwards, with the same mass distribution; None where a child would be too thin."""
        match self.done:
            case "added":
                return shapes.add(self.shape, masses)
            case "returned":
                return shapes.restore(self.shape, masses)
        return shapes.divide(masses, shapes.parts.index(self.shape), self.parts, self.axis)


def choose(
    total: Information, state: State, rest: Composition, rule: Rule, volumes: Sequence[float]
) -> tuple[list[Move], float]:
    """The best moves, as many as the rule allows and one a shape, and the largest potential decrease.

    ``total`` is about ten parameters a body, then those of ``rest``; ``volumes`` are the bodies' units in (16), which
    decides between equals.
    """
    costs = _ReducedCosts(total, state)
    possible = _moves(state, rule, volumes, costs.slopes)
    trials = {move: after for move in possible if (after := costs.after(move)) is not None}
    moves = list(trials)
    weights, potentials = np.array([m.weight for m in moves]), np.array([costs.potential_decrease(m) for m in moves])
    potential = float(potentials.max(initial=0.0))
    scores = np.zeros(len(moves))
    if rule.choose != "criterion":
        scores = np.maximum([costs.predicted_decrease(m.body, trials[m]) for m in moves], POTENTIAL_WEIGHT * potentials)
    if rule.choose == "look-ahead":
        half = max(rule.width // 2, 1)
        tried = sorted({*np.argsort(-scores, kind="stable")[:half], *np.argsort(-weights, kind="stable")[:half]})
        moves = [moves[k] for k in tried]
        decreases = state.objective - _costs(total, state, rest, [(m.body, trials[m][0]) for m in moves])
        scores = np.maximum(decreases, POTENTIAL_WEIGHT * potentials[tried])
    scores = np.where(scores > ROUNDING * state.objective, scores, 0.0)
    best: dict[Primitive, Move] = {}
    for k in sorted(range(len(moves)), key=lambda k: (-scores[k], -moves[k].weight)):
        best.setdefault(moves[k].shape, moves[k])
    return list(best.values())[: rule.at_once or max(len(state.shapes) // BODIES_A_MOVE, 1)], potential


class _ReducedCosts:
    """Gradient and curvature of the objective by mass, at the optimum."""

    def __init__(self, total: Information, state: State):
        slope = total.R.T @ (total.R @ state.theta - total.z)
        places = [slice(10 * b, 10 * b + 10) for b in range(len(state.shapes))]
        self.state = state
        self.slopes = [slope[at] for at in places]
        self.grams = [total.R[:, at].T @ total.R[:, at] for at in places]

    def after(self, move: Move) -> tuple[ShapeSet, Array] | None:
        return move.applied(self.state.shapes[move.body], self.state.masses[move.body])

    def predicted_decrease(self, body: int, after: tuple[ShapeSet, Array]) -> float:
        """By the new shapes' reduced costs: mass moved from the highest to the lowest, or added there."""
        shapes, masses = after
        old = self.state.shapes[body].parts
        new = [k for k, part in enumerate(shapes.parts) if part not in old]
        U = np.column_stack([shapes.parts[k].parameters for k in new])
        cost, excess = self.slopes[body] @ U, masses[new] - shapes.floors[new]
        lowest, highest = int(np.argmin(cost)), int(np.argmax(np.where(excess > 0, cost, -np.inf)))
        return self._decrease(body, U[:, [lowest]], U[:, highest], max(float(excess[highest]), 0.0))

    def potential_decrease(self, move: Move) -> float:
        """By points inside a shape that is to be divided, which its descendants can approach."""
        if move.done != "divided":
            return 0.0
        shapes, masses = self.state.shapes[move.body], self.state.masses[move.body]
        k = shapes.parts.index(move.shape)
        x, y, z = move.shape.points.T
        U = np.stack([np.ones_like(x), x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y])
        return self._decrease(move.body, U, shapes.map[:, k], max(float(masses[k] - shapes.floors[k]), 0.0))

    def _decrease(self, body: int, U: Array, source: Array, excess: float) -> float:
        """Decrease of the objective by mass added to one of U's columns, or up to ``excess`` moved from ``source``."""
        best = 0.0
        for D, most in ((U, np.inf), (U - source[:, None], excess)):
            slope, curvature = self.slopes[body] @ D, np.sum(D * (self.grams[body] @ D), axis=0)
            down = (slope < 0) & (curvature > 0)
            t = np.minimum(-slope[down] / curvature[down], most)
            best = max(best, float(np.max(-slope[down] * t - 0.5 * curvature[down] * t * t, initial=0.0)))
        return best


def _moves(state: State, rule: Rule, volumes: Sequence[float], slopes: Sequence[Array]) -> list[Move]:
    """All divisions, and all shapes whose addition or return would lower the objective."""
    moves = []
    for b, (shapes, masses) in enumerate(zip(state.shapes, state.masses, strict=True)):
        for part, mass in zip(shapes.parts, masses, strict=True):
            weight = criterion(float(mass), part.volume / volumes[b], rule.k1, rule.k2)
            every = rule.axes == "all" and not isinstance(part, Cluster)
            axes = (0, 1, 2) if every else (None,)
            moves += [Move(b, part, "divided", weight, rule.parts, axis) for axis in axes]
        if rule.choose != "criterion":
            moves += [
                Move(b, shapes.removed[k], "returned") for k in np.flatnonzero(slopes[b] @ shapes.removed_map < 0)
            ]
            new = cells(shapes.body) if rule.add else []
            moves += [Move(b, cell, "added") for cell in new if slopes[b] @ cell.parameters < 0]
    return moves


def _costs(total: Information, state: State, rest: Composition, trials: Sequence[tuple[int, ShapeSet]]) -> Array:
    """(trials,) objective of the optimum with other shapes for one body; only to compare, so not certified."""
    n = 10 * len(state.shapes)
    columns = [total.R[:, 10 * b : 10 * b + 10] @ s.map for b, s in enumerate(state.shapes)]
    columns.append(total.R[:, n:] @ rest.map)
    lower = [s.floors for s in state.shapes] + [rest.lower if rest.lower.size else np.full(rest.size, -np.inf)]
    constant = float(total.triangle[-1, -1]) ** 2
    removed = [total.R[:, 10 * b : 10 * b + 10] @ s.removed_parameters for b, s in enumerate(state.shapes)]
    everywhere = np.sum(removed, axis=0)
    costs = []
    for body, shapes in trials:
        A = np.hstack([*columns[:body], total.R[:, 10 * body : 10 * body + 10] @ shapes.map, *columns[body + 1 :]])
        z = total.z - everywhere + removed[body] - total.R[:, 10 * body : 10 * body + 10] @ shapes.removed_parameters
        x = nnls.solve_bounded(A, z, np.concatenate([*lower[:body], shapes.floors, *lower[body + 1 :]]))[0]
        costs.append(0.5 * (float(np.sum((A @ x - z) ** 2)) + constant))
    return np.array(costs)
