"""Solve, divide, solve again (Xu, Algorithm 1): bodies composed of shapes, refined where that lowers the objective.

    θ = U m,    minimise ½‖R U m − z‖² over m ≥ floor;    divide a shape;    again.

The children of a shape can represent whatever it represented, so no step raises the objective; and none takes it below
the optimum over all physically consistent bodies, which is that of ``lmi``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steelyard import inertia
from steelyard.compose.composition import Assembly, Composition
from steelyard.compose.division_rule import Rule
from steelyard.compose.shape_set import ShapeSet
from steelyard.errors import Finding, SolveError, note
from steelyard.identify.division.choosing import State, choose
from steelyard.information import Information
from steelyard.solve.certify import Certificate
from steelyard.solve.problem import Problem
from steelyard.solve.solve import Backend, solve_certified
from steelyard.spatial import Array

NEGLIGIBLE_DECREASE = 0.05  # of an objective in units of the noise: a third of a standard deviation
FAR = 0.5  # standard deviations of the prior: a distance that divisions have not closed
OUTSIDE = 0.01  # standard deviations of the prior: a smaller distance counts as inside


@dataclass(frozen=True)
class Step:
    """The bodies after one step of divisions."""

    k: int
    objective: float  # of data and prior together
    change: float | None  # of the body that changed most: ‖θ − θ before‖ for each of its kilograms, SI
    shapes: int  # of all bodies
    done: tuple[str, ...]  # which shapes of which bodies were divided or added
    bodies: Mapping[str, Array]  # body → (10,)
    shape_sets: Mapping[str, ShapeSet]  # body → its shapes
    masses: Mapping[str, Array]  # body → (k,) of those shapes, kg

    def body(self, name: str) -> dict[str, Any]:
        """Mass and centre of mass of one body: an entry of ``load.json``'s divisions."""
        mass, com, _ = inertia.unpack(self.bodies[name])
        return {"k": self.k, "objective": self.objective, "mass": mass, "com": com.tolist()}

    def as_json(self) -> dict[str, Any]:
        """An entry of ``estimate.json``'s divisions."""
        kept = ("k", "objective", "change", "shapes")
        return {**{name: getattr(self, name) for name in kept}, "done": list(self.done)}


@dataclass(frozen=True)
class Refined:
    """The result of Algorithm 1, and its steps."""

    first: tuple[ShapeSet, ...]
    state: State
    proof: Certificate
    steps: tuple[Step, ...]  # the first before any division
    stopped: Literal["settled", "limit", "unproved"]  # converged; at rule.most; the next optimum had no certificate

    @property
    def theta(self) -> Array:
        """(n,) ten parameters a body, then the rest."""
        return self.state.theta

    @property
    def shapes(self) -> dict[str, list[dict[str, Any]]]:
        """Body → its shapes with masses, as in JSON. Single masses are not unique: only ten moments are excited."""
        return {
            s.body.name: [
                {**part.as_json(), "mass": float(m)}
                for part, m in zip((*s.parts, *s.removed), (*masses, *s.removed_masses), strict=True)
            ]
            for s, masses in zip(self.state.shapes, self.state.masses, strict=True)
        }

    def notices(self, mean: Array, root: Array) -> list[Finding]:
        """Notices: priors that the shapes cannot represent, and divisions that ended before convergence.

        ``mean`` (n,) is the prior's mean and ``root`` (n, n) the square root of its precision.
        """
        notes, divisions = [], len(self.steps) - 1
        count, farthest, name = _outside(self.first, mean, root)
        if count:
            whose, what = ("the prior", "lies") if count == 1 else ("the priors", "lie")
            text = f"{whose} of {count} of {len(self.first)} bodies {what} outside what their shapes can represent"
            text += f" (farthest: {name}, {farthest:.2g} standard deviations)"
            values: dict[str, float | None] = {"bodies": count, "distance": farthest}
            if divisions:
                still, distance, _ = _outside(self.state.shapes, mean, root)
                values |= {"divisions": divisions, "bodies_after": still, "distance_after": distance}
                text += f"; after {divisions} divisions {still}" + (f" ({distance:.2g})" if still else "")
                if distance > FAR:
                    text += "; give other initial shapes"
                    values["start"] = None
            notes.append(note("prior-not-represented", name, text, **values))
        if self.stopped == "limit" and divisions:
            text = f"dividing was stopped after {divisions} steps, before it converged"
            notes.append(note("division-stopped", "shapes", text, steps=divisions))
        if self.stopped == "unproved":
            text = f"dividing ended after {divisions} steps: the next optimum could not be certified"
            notes.append(note("solution-not-certified", "shapes", text, steps=divisions))
        return notes


def refine(
    total: Information,
    shapes: Sequence[ShapeSet],
    rest: Composition,
    rule: Rule,
    *,
    save: Path | None = None,
    backends: Sequence[Backend] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Refined:
    """Alternate solving and dividing; ``total`` is about ten parameters a body, then those of ``rest``."""
    volumes = [sum(part.volume for part in s.parts) for s in shapes]
    state, proof = _solve(total, shapes, rest, backends, save)
    steps, quiet = [_step(0, state, None, ())], 0
    stopped: Literal["settled", "limit", "unproved"] = "limit"
    for k in range(1, rule.most + 1):
        state = _tidied(state, rule)
        moves, potential = choose(total, state, rest, rule, volumes)
        enough = max(rule.tolerance * max(state.objective, rule.tolerance * steps[0].objective), NEGLIGIBLE_DECREASE)
        if not moves or (quiet >= rule.patience and (potential <= enough or not rule.thorough)):
            stopped = "settled"
            break
        bodies = list(zip(state.shapes, state.masses, strict=True))
        for move in moves:
            bodies[move.body] = move.applied(*bodies[move.body]) or bodies[move.body]
        try:
            after, proof = _solve(total, [s for s, _ in bodies], rest, backends)
        except SolveError:  # the last certified optimum is returned
            stopped = "unproved"
            break
        change = _change(state, after)
        done = tuple(f"{shapes[m.body].body.name}: {m.shape.kind} {m.done}" for m in moves)
        steps.append(_step(k, after, change, done))
        progress(f"dividing shapes: {k}, objective {after.objective:.6g}, {steps[-1].shapes} shapes")
        state, quiet = after, quiet + 1 if change < rule.tolerance else 0
    return Refined(tuple(shapes), state, proof, tuple(steps), stopped)


def _outside(shapes: Sequence[ShapeSet], mean: Array, root: Array) -> tuple[int, float, str]:
    """Number of bodies whose shapes cannot represent the prior, the largest distance to it, and of which body."""
    off = {}
    for b, s in enumerate(shapes):
        at = slice(10 * b, 10 * b + 10)
        if s.body.carrier is None and (distance := s.distance(mean[at], root[at, at])) > OUTSIDE:
            off[s.body.name] = distance
    farthest = max(off, key=lambda name: off[name], default="")
    return len(off), off.get(farthest, 0.0), farthest


def _solve(
    total: Information,
    shapes: Sequence[ShapeSet],
    rest: Composition,
    backends: Sequence[Backend] | None,
    save: Path | None = None,
) -> tuple[State, Certificate]:
    assembly = Assembly((*(s.composition for s in shapes), rest))
    removed = np.concatenate([*(s.removed_parameters for s in shapes), np.zeros(rest.size)])
    shifted = np.column_stack([total.triangle[:, :-1], total.triangle @ np.append(-removed, 1.0)])
    posed = Information(shifted, total.rows).through(assembly.map)
    problem = Problem(posed, assembly.scale, assembly.start, (), assembly.lower)
    solution, proof = solve_certified(problem, backends=backends, save=save)
    masses = [solution.theta[at : at + len(s.parts)] for at, s in zip(assembly.offsets, shapes, strict=False)]
    theta = assembly.map @ solution.theta + removed
    return State(tuple(shapes), tuple(masses), theta, 0.5 * total.cost(theta)), proof


def _tidied(state: State, rule: Rule) -> State:
    """The same bodies with fewer shapes."""
    bodies = list(zip(state.shapes, state.masses, strict=True))
    if rule.prune:
        bodies = [s.prune(m) for s, m in bodies]
    if rule.merge:
        bodies = [s.merge_alike(m) for s, m in bodies]
    return State(tuple(s for s, _ in bodies), tuple(m for _, m in bodies), state.theta, state.objective)


def _step(k: int, state: State, change: float | None, done: tuple[str, ...]) -> Step:
    names = [s.body.name for s in state.shapes]
    bodies = {name: state.theta[10 * b : 10 * b + 10] for b, name in enumerate(names)}
    shape_sets, masses = dict(zip(names, state.shapes, strict=True)), dict(zip(names, state.masses, strict=True))
    return Step(k, state.objective, change, sum(len(s.parts) for s in state.shapes), done, bodies, shape_sets, masses)


def _change(before: State, after: State) -> float:
    """‖U_k m_k − U_{k−1} m_{k−1}‖ of Algorithm 1, for each kilogram of a body; the greatest."""
    n = 10 * len(after.shapes)
    was, now = before.theta[:n].reshape(-1, 10), after.theta[:n].reshape(-1, 10)
    return float(np.max(np.linalg.norm(now - was, axis=1) / now[:, 0]))
