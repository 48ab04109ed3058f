"""Jovic's quadratic programme (4), refined and repaired.

Positive definiteness enters as linear rows (``compose/boxed.py``). After each solution the rows that it breaks, one for
each direction in which some inertia is not positive, are added, and it is solved again: each row holds for every body
that can exist, so the objective only rises towards that of the whole condition. What still cannot exist after that,
triangle inequalities included, gets the linear matrix inequality of ``lmi`` in place of its linearisation: of all
consistent bodies the one that data and prior like best, all others free to give way. Each step has its certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard import inertia
from steelyard.compose import boxed, pseudo_inertia
from steelyard.robot.model import Body
from steelyard.solve.certify import Certificate
from steelyard.solve.problem import Cone, LinearConstraints, Problem
from steelyard.solve.solve import certified
from steelyard.spatial import Array

ROUNDS = 5  # of linearising anew
REPAIRED = "linear rows let bodies pass that cannot exist; the exact condition was put in their place for"


def solve(
    problem: Problem, bodies: Sequence[Body], save: Path | None = None, rounds: int = ROUNDS
) -> tuple[Array, Certificate, tuple[str, ...]]:
    """θ, its certificate, and the names of the bodies that had to be repaired."""
    solution, proof = certified(problem, save=save)
    for _ in range(rounds):
        cuts = [row for k, b in enumerate(bodies) for row in _broken(b, solution.theta, k, len(problem.scale))]
        if not cuts:
            break
        problem = replace(problem, linear=problem.linear + LinearConstraints.of(np.stack(cuts)))
        solution, proof = certified(problem, save=save)
    repaired: list[int] = []
    while bad := [
        k
        for k, b in enumerate(bodies)
        if k not in repaired and not inertia.is_consistent(solution.theta[10 * k : 10 * k + 10], b.size)
    ]:
        repaired += bad
        cones = tuple(Cone(10 * k, pseudo_inertia.lmi(bodies[k])) for k in bad)
        problem = replace(problem, cones=problem.cones + cones)
        solution, proof = certified(problem, save=save)
    return solution.theta, proof, tuple(bodies[k].name for k in sorted(repaired))


def notices(bodies: Sequence[Body], repaired: Sequence[str]) -> tuple[str, ...]:
    """What a reader should know: who was repaired, and whose box cannot be where its described mass is."""
    said = []
    if repaired:
        said.append(f"{REPAIRED} {', '.join(repaired)}")
    moved = [b.name for b in bodies if b.carrier is None and np.any(boxed.centred(b) @ b.parameters < 0)]
    if moved:
        said.append(f"as described, the centre of mass lies outside the box of the shapes of {', '.join(moved)}")
    return tuple(said)


def _broken(body: Body, theta: Array, k: int, n: int) -> list[Array]:
    """(n,) rows that this body's inertia breaks: its eigenvectors of negative eigenvalues."""
    p = theta[10 * k : 10 * k + 10]
    margin = inertia.SOLVER_MARGIN * max(p[0], 0.0) * body.size**2
    w, V = np.linalg.eigh(inertia.matrix(p[4:]))
    natural = max(float(np.abs(w).max()), float(body.parameters[0]) * body.size**2)
    rows = []
    for value, v in zip(w, V.T, strict=True):
        if value < margin - 1e-9 * natural:
            row = np.zeros(n)
            row[10 * k : 10 * k + 10] = boxed.cut(body, v)
            rows.append(row)
    return rows
