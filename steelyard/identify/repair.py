"""Jovic's quadratic programme (4), refined and repaired.

Positive definiteness enters as linear constraints (``compose/boxed.py``). After each solution the constraints that it
violates are added, one for each direction in which some inertia is not positive, and the problem is solved again: each
constraint holds for every physically consistent body, so the objective only rises towards that of the exact condition.
Bodies that are still inconsistent, triangle inequalities included, get the linear matrix inequality of ``lmi`` in place
of its linearisation, and all bodies are solved for again. Each step has its certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard import inertia
from steelyard.compose import boxed, pseudo_inertia
from steelyard.errors import Finding, note
from steelyard.robot.model import Body
from steelyard.solve.certify import Certificate
from steelyard.solve.problem import Cone, LinearConstraints, Problem
from steelyard.solve.solve import solve_certified
from steelyard.spatial import Array

ROUNDS = 5  # of cutting planes


def solve(
    problem: Problem, bodies: Sequence[Body], save: Path | None = None, rounds: int = ROUNDS
) -> tuple[Array, Certificate, tuple[str, ...]]:
    """θ, its certificate, and the names of the bodies that had to be repaired."""
    solution, proof = solve_certified(problem, save=save)
    for _ in range(rounds):
        cuts = [row for k, b in enumerate(bodies) for row in _violated(b, solution.theta, k, len(problem.scale))]
        if not cuts:
            break
        problem = replace(problem, linear=problem.linear + LinearConstraints.of(np.stack(cuts)))
        solution, proof = solve_certified(problem, save=save)
    repaired: list[int] = []
    while bad := [
        k
        for k, b in enumerate(bodies)
        if k not in repaired and not inertia.is_consistent(solution.theta[10 * k : 10 * k + 10], b.size)
    ]:
        repaired += bad
        cones = tuple(Cone(10 * k, pseudo_inertia.lmi(bodies[k])) for k in bad)
        problem = replace(problem, cones=problem.cones + cones)
        solution, proof = solve_certified(problem, save=save)
    return solution.theta, proof, tuple(bodies[k].name for k in sorted(repaired))


def notices(bodies: Sequence[Body], repaired: Sequence[str]) -> tuple[Finding, ...]:
    """Notices about repaired bodies, and about described centres of mass that lie outside the box of the shapes."""
    notes = []
    if repaired:
        what = "linear constraints allow bodies that are not physically consistent"
        text = f"{what}; the exact condition was used for {', '.join(repaired)}"
        notes.append(note("solution-repaired", ", ".join(repaired), text, bodies=repaired))
    own = [b for b in bodies if b.carrier is None]
    if moved := ", ".join(b.name for b in own if np.any(boxed.com_rows(b) @ b.parameters < 0)):
        text = f"as described, the centre of mass lies outside the box of the shapes of {moved}"
        notes.append(note("com-outside-box", moved, text))
    return tuple(notes)


def _violated(body: Body, theta: Array, k: int, n: int) -> list[Array]:
    """(n,) cutting planes that this body violates: one for each negative eigenvalue of its inertia."""
    p = theta[10 * k : 10 * k + 10]
    margin = inertia.SOLVER_MARGIN * max(p[0], 0.0) * body.size**2
    w, V = np.linalg.eigh(inertia.matrix(p[4:]))
    natural = max(float(np.abs(w).max()), float(body.parameters[0]) * body.size**2)
    rows = []
    for value, v in zip(w, V.T, strict=True):
        if value < margin - 1e-9 * natural:
            row = np.zeros(n)
            row[10 * k : 10 * k + 10] = boxed.direction_row(body, v)
            rows.append(row)
    return rows
