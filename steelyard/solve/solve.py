"""Solve a problem by the fastest backend whose solution passes its certificate; plain least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.errors import Finding, SolveError
from steelyard.information import Information
from steelyard.solve import clarabel_, interior, nnls
from steelyard.solve.certify import Certificate, certify
from steelyard.solve.polish import polish_solution
from steelyard.solve.problem import Problem, Solution
from steelyard.spatial import Array

Backend = Callable[[Problem], Solution]

INSIDE = -1e-13  # least eigenvalue that counts as feasible: the solvers' margin is far larger


def backends_for(problem: Problem) -> tuple[Backend, ...]:
    """Return the backends that can solve the problem, the fastest first."""
    if problem.entropies or np.any(problem.linear.equal):
        return (clarabel_.solve,)
    if problem.cones or len(problem.linear):
        return interior.solve, clarabel_.solve
    return nnls.solve, interior.solve, clarabel_.solve


def solve_certified(
    problem: Problem, *, backends: Sequence[Backend] | None = None, save: Path | None = None
) -> tuple[Solution, Certificate]:
    """Return the first solution that passes its certificate and is feasible, polished if necessary.

    If no solution is exactly feasible, return the least infeasible of those that pass.

    Args:
        problem: The problem.
        backends: Backends in the order in which they are tried; ``backends_for(problem)`` by default.
        save: File to which the problem is written if it cannot be solved.

    Raises:
        SolveError: No solution passes its certificate.
    """
    names, failures, passed = [], [], list[tuple[Solution, Certificate]]()
    for backend in backends_for(problem) if backends is None else backends:
        try:
            solution = backend(problem)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            names.append(backend.__module__.split(".")[-1])
            failures.append(f"{names[-1]}: {error}")
            continue
        names.append(solution.backend)
        proof = _proof(problem, solution)
        if proof.holds and proof.least_eigenvalue >= INSIDE:
            return solution, proof
        candidates = [(solution, proof), *((s, _proof(problem, s)) for s in polish_solution(problem, solution))]
        for candidate in candidates:
            if candidate[1].holds and candidate[1].least_eigenvalue >= INSIDE:
                return candidate
        passed += [candidate for candidate in candidates if candidate[1].holds]
        failures.append(
            f"{solution.backend} ({solution.status}): kkt {proof.kkt:.1e}, gap {proof.gap:.1e}, "
            f"least eigenvalue {proof.least_eigenvalue:.1e}"
        )
    if passed:
        return max(passed, key=lambda candidate: candidate[1].least_eigenvalue)
    where = f"solver {', '.join(names)}".rstrip()
    if save is not None:
        problem.save(save)
        where += f", problem saved as {save}"
    what = "no solution passes its certificate: " + "; ".join(failures)
    if any("Infeasible" in failure for failure in failures):
        fix = "The constraints contradict each other: drop hard_mass or symmetric, or free more links"
        raise SolveError(Finding("constraints-infeasible", where, what, fix))
    fix = "Try prior='cad' or fewer free links, or report the saved problem"
    raise SolveError(Finding("solution-not-certified", where, what, fix))


def _proof(problem: Problem, solution: Solution) -> Certificate:
    return replace(certify(problem, solution), solver=solution.backend, unknowns=len(solution.theta))


def least_squares(information: Information, reference: Array, basis: Array) -> Array:
    """Return θ with base parameters by least squares and everything else at the reference (Ayusawa 30–32).

    θ = θ_ref + basis·y. With ``Subspace.seen`` as basis that is Z⁺φ̂ + (1 − Z⁺Z) θ_ref.
    """
    A = information.R @ basis
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0] = 1.0
    y = np.linalg.lstsq(A / scale, information.z - information.R @ reference, rcond=1e-14)[0] / scale
    return np.asarray(reference + basis @ y)
