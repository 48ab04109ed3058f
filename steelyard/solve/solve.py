"""Information, composition and prior → parameters, with a proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import Finding, SolveError
from steelyard.information import Information
from steelyard.solve import clarabel_, interior, nnls
from steelyard.solve.certify import Certificate, certify
from steelyard.solve.polish import polished
from steelyard.solve.problem import Problem, Solution
from steelyard.spatial import Array

Backend = Callable[[Problem], Solution]

INSIDE = -1e-13  # an answer this little outside is taken at once: a body of the least mass is consistent all the same


def backends_for(problem: Problem) -> tuple[Backend, ...]:
    """Which to try, the quickest first of those that can."""
    if problem.entropies or np.any(problem.linear.equal):
        return (clarabel_.solve,)
    if problem.cones or len(problem.linear):
        return interior.solve, clarabel_.solve
    return nnls.solve, interior.solve, clarabel_.solve


def certified(
    problem: Problem, *, backends: Sequence[Backend] | None = None, save: Path | None = None
) -> tuple[Solution, Certificate]:
    """The first backend's answer that passes its certificate, polished where that helps, and inside all constraints;
    else the least far outside of those that pass; else SolveError, with the problem saved."""
    tried, good = [], list[tuple[Solution, Certificate]]()
    for backend in backends_for(problem) if backends is None else backends:
        try:
            solution = backend(problem)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            tried.append(f"{backend.__module__.split('.')[-1]}: {error}")
            continue
        proof = _proof(problem, solution)
        if proof.holds and proof.least_eigenvalue >= INSIDE:
            return solution, proof
        judged = [(solution, proof), *((s, _proof(problem, s)) for s in polished(problem, solution))]
        for answer in judged:
            if answer[1].holds and answer[1].least_eigenvalue >= INSIDE:
                return answer
        good += [answer for answer in judged if answer[1].holds]
        tried.append(
            f"{solution.backend} ({solution.status}): kkt {proof.kkt:.1e}, gap {proof.gap:.1e}, "
            f"least eigenvalue {proof.least_eigenvalue:.1e}"
        )
    if good:
        return max(good, key=lambda answer: answer[1].least_eigenvalue)
    where = "solver"
    if save is not None:
        problem.save(save)
        where = f"solver, problem saved as {save}"
    fix = "Try --prior cad, fewer free --links, or report the saved problem"
    if any("Infeasible" in said for said in tried):
        fix = "What is asked for contradicts itself: drop --hard-mass, --symmetric, or free more --links"
    raise SolveError(Finding("todo", where, "no backend's answer passes its certificate: " + "; ".join(tried), fix))


def _proof(problem: Problem, solution: Solution) -> Certificate:
    return replace(certify(problem, solution), solver=solution.backend, unknowns=len(solution.theta))


def least_squares(information: Information, reference: Array, basis: Array) -> Array:
    """Base parameters by least squares, everything else at the reference (Ayusawa 30–32).

    θ = θ_ref + basis·y. With ``Subspace.seen`` as basis that is Z⁺φ̂ + (1 − Z⁺Z) θ_ref.
    """
    A = information.R @ basis
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0] = 1.0
    y = np.linalg.lstsq(A / scale, information.z - information.R @ reference, rcond=1e-14)[0] / scale
    return np.asarray(reference + basis @ y)
