"""Which shape to divide next: by Xu's criterion, by what reduced costs promise, or by trying.

At the optimum the objective's gradient g says what a kilogram in any place would do: g·u is the reduced cost of a shape
u. Children of a shape that carries mass have reduced costs of both signs, or zero: moving mass from the dearest to the
cheapest gains what a parabola along that line says. That is the promise of a division. A look-ahead solves the problem
again with each division, the most promising ones where there are many, and keeps the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

import numpy as np

from steelyard.compose.composition import Composition
from steelyard.compose.described import cells
from steelyard.compose.division import MOST_PARTS, criterion
from steelyard.compose.primitives import Cluster, Primitive
from steelyard.compose.shapes import Shapes
from steelyard.errors import Finding, UsageError
from steelyard.information import Information
from steelyard.solve import bounded

Array = np.ndarray
Choice = Literal["look-ahead", "criterion", "gradient"]
Axes = Literal["longest", "all"]

ROUNDING = 1e-9  # of the objective: gains below this are none
BODIES_A_MOVE = 4
_RANGES = (
    ("k1", 0.0, np.inf), ("k2", 0.0, np.inf), ("at_once", 0, np.inf), ("parts", 2, MOST_PARTS), ("width", 1, np.inf),
    ("patience", 1, np.inf), ("most", 0, np.inf),
)  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """How shapes are divided, and when that ends."""

    choose: Choice = "look-ahead"
    k1: float = 1.0  # of (16), with volumes in units of what the body's shapes had to begin with
    k2: float = 0.0
    axes: Axes = "longest"
    at_once: int = 0  # shapes divided in one step; 0: one for every four bodies, and at least one
    parts: int = 2  # that each is divided into
    width: int = 16  # a look-ahead tries at most so many divisions
    prune: bool = True  # sweep empty shapes together
    merge: bool = False  # neighbours of one density are one
    add: bool = False  # cells of the body's box may be added
    tolerance: float = 1e-3  # ε of Algorithm 1, in SI units for each kilogram of the body
    patience: int = 3  # steps in a row that change less than ε
    most: int = 200  # steps at most

    def __post_init__(self) -> None:
        hints = get_type_hints(Rule)
        findings = [
            Finding(f"division, {name} {value!r}", "is not known", f"Choose from: {', '.join(get_args(hints[name]))}")
            for name in ("choose", "axes")
            if (value := getattr(self, name)) not in get_args(hints[name])
        ]
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if not least <= value <= most:
                upper = f" to {most:g}" if most < np.inf else " or more"
                findings.append(Finding(f"division, {name} {value!r}", "is out of range", f"Give {least:g}{upper}"))
        if not self.k1 + self.k2 > 0:
            findings.append(Finding("division, k1 and k2", "are both zero", "Give one of them a weight"))
        if not self.tolerance > 0:
            what = "is no length of a step"
            findings.append(Finding(f"division, tolerance {self.tolerance!r}", what, "Give a number above 0"))
        if findings:
            raise UsageError(findings)


@dataclass(frozen=True)
class State:
    """Shapes of all bodies, and the optimum with them."""

    shapes: tuple[Shapes, ...]
    masses: tuple[Array, ...]  # (k,) of each body's shapes, kg
    theta: Array  # (n,) ten parameters a body, then the rest
    objective: float


@dataclass(frozen=True)
class Move:
    """What can be done to a body: divide one of its shapes, add one, let one grow again that had been empty."""

    body: int
    shape: Primitive
    done: Literal["divided", "added", "returned"]
    weight: float = 0.0  # by (16)
    parts: int = 2
    axis: int | None = None

    def applied(self, shapes: Shapes, masses: Array) -> tuple[Shapes, Array] | None:
        """The body afterwards, as heavy everywhere as before; None where a child would be too thin."""
        match self.done:
            case "added":
                return shapes.with_shape(self.shape, masses)
            case "returned":
                return shapes.returned(self.shape, masses)
        return shapes.divided(masses, shapes.parts.index(self.shape), self.parts, self.axis)


def choose(total: Information, state: State, rest: Composition, rule: Rule, volumes: Sequence[float]) -> list[Move]:
    """The best moves, as many as the rule says and one a shape; between equals (16) decides.

    ``total`` is about ten parameters a body, then those of ``rest``; ``volumes`` are the bodies' units in (16).
    """
    trials = {move: after for move in _moves(state, rule, volumes) if (after := _after(state, move)) is not None}
    moves = list(trials)
    weights = np.array([m.weight for m in moves])
    gains = np.zeros(len(moves))
    if rule.choose != "criterion":
        slope = total.R.T @ (total.R @ state.theta - total.z)
        gains = np.array([_promise(total, slope, state.shapes[m.body], trials[m], m.body) for m in moves])
    if rule.choose == "look-ahead":
        half = max(rule.width // 2, 1)
        tried = {*np.argsort(-gains, kind="stable")[:half], *np.argsort(-weights, kind="stable")[:half]}
        moves = [moves[k] for k in sorted(tried)]
        costs = _costs(total, state, rest, [(m.body, trials[m][0]) for m in moves])
        gains = state.objective - costs
    gains = np.where(gains > ROUNDING * state.objective, gains, 0.0)
    best: dict[Primitive, Move] = {}
    for _, _, move in sorted(zip(gains, (m.weight for m in moves), moves, strict=True), key=lambda x: (-x[0], -x[1])):
        best.setdefault(move.shape, move)
    return list(best.values())[: rule.at_once or max(len(state.shapes) // BODIES_A_MOVE, 1)]


def _after(state: State, move: Move) -> tuple[Shapes, Array] | None:
    return move.applied(state.shapes[move.body], state.masses[move.body])


def _moves(state: State, rule: Rule, volumes: Sequence[float]) -> list[Move]:
    moves = []
    for b, (shapes, masses) in enumerate(zip(state.shapes, state.masses, strict=True)):
        for part, mass in zip(shapes.parts, masses, strict=True):
            weight = criterion(float(mass), part.volume / volumes[b], rule.k1, rule.k2)
            every = rule.axes == "all" and not isinstance(part, Cluster)
            axes = (0, 1, 2) if every else (None,)
            moves += [Move(b, part, "divided", weight, rule.parts, axis) for axis in axes]
        if rule.choose != "criterion":
            moves += [Move(b, part, "returned") for part in shapes.swept]
            moves += [Move(b, cell, "added") for cell in cells(shapes.body)] if rule.add else []
    return moves


def _promise(total: Information, slope: Array, before: Shapes, after: tuple[Shapes, Array], body: int) -> float:
    """What the new shapes' reduced costs promise: mass moved from the dearest to the cheapest, or put there anew."""
    shapes, masses = after
    new = [k for k, part in enumerate(shapes.parts) if part not in before.parts]
    at = slice(10 * body, 10 * body + 10)
    R, U = total.R[:, at], np.column_stack([shapes.parts[k].parameters for k in new])
    cost, excess = slope[at] @ U, masses[new] - shapes.floors[new]
    cheap, dear = int(np.argmin(cost)), int(np.argmax(np.where(excess > 0, cost, -np.inf)))
    gains = [_parabola(cost[cheap], R @ U[:, cheap], np.inf)]
    if excess[dear] > 0:
        gains.append(_parabola(cost[cheap] - cost[dear], R @ (U[:, cheap] - U[:, dear]), float(excess[dear])))
    return max(gains)


def _parabola(slope: float, direction: Array, most: float) -> float:
    """Greatest fall of slope·t + ½‖direction‖²t² over 0 ≤ t ≤ most."""
    curvature = float(direction @ direction)
    if slope >= 0 or curvature <= 0:
        return 0.0
    t = min(-slope / curvature, most)
    return -(slope * t + 0.5 * curvature * t * t)


def _costs(total: Information, state: State, rest: Composition, trials: Sequence[tuple[int, Shapes]]) -> Array:
    """(trials,) the optimum with other shapes for one body; only to compare, so nothing is certified."""
    n = 10 * len(state.shapes)
    columns = [total.R[:, 10 * b : 10 * b + 10] @ s.map for b, s in enumerate(state.shapes)]
    columns.append(total.R[:, n:] @ rest.map)
    lower = [s.floors for s in state.shapes] + [rest.lower if rest.lower.size else np.full(rest.size, -np.inf)]
    constant = float(total.triangle[-1, -1]) ** 2
    dust = [total.R[:, 10 * b : 10 * b + 10] @ s.dust for b, s in enumerate(state.shapes)]
    everywhere = np.sum(dust, axis=0)
    costs = []
    for body, shapes in trials:
        here = [*columns[:body], total.R[:, 10 * body : 10 * body + 10] @ shapes.map, *columns[body + 1 :]]
        A = np.hstack(here)
        z = total.z - everywhere + dust[body] - total.R[:, 10 * body : 10 * body + 10] @ shapes.dust
        x = bounded.least(A, z, np.concatenate([*lower[:body], shapes.floors, *lower[body + 1 :]]))
        costs.append(0.5 * (float(np.sum((A @ x - z) ** 2)) + constant))
    return np.array(costs)
