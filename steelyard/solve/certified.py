"""Information, composition and prior → parameters, with a proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from steelyard.certify import Certificate, certify
from steelyard.errors import Finding, SolveError
from steelyard.identifiable import Subspace
from steelyard.information import Information
from steelyard.solve import conic, newton
from steelyard.solve.problem import Problem, Solution

Array = np.ndarray
Backend = Callable[[Problem], Solution]


def certified(
    problem: Problem, *, backends: Sequence[Backend] = (conic.solve, newton.solve), save: Path | None = None
) -> tuple[Solution, Certificate]:
    """The first backend's answer that passes its certificate; else SolveError, with the problem saved."""
    tried = []
    for backend in backends:
        try:
            solution = backend(problem)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            tried.append(f"{backend.__module__.split('.')[-1]}: {error}")
            continue
        proof = certify(problem, solution)
        if proof.holds:
            return solution, proof
        tried.append(
            f"{solution.backend} ({solution.status}): kkt {proof.kkt:.1e}, gap {proof.gap:.1e}, "
            f"least eigenvalue {proof.least_eigenvalue:.1e}"
        )
    where = "solver"
    if save is not None:
        problem.save(save)
        where = f"solver, problem saved as {save}"
    raise SolveError(
        Finding(where, "no backend's answer passes its certificate: " + "; ".join(tried),
                "Try --prior cad, fewer free --links, or report the saved problem")
    )  # fmt: skip


def least_squares(information: Information, reference: Array, space: Subspace) -> Array:
    """Base parameters by least squares, everything else at the reference (Ayusawa 30–32).

    θ = Z⁺φ̂ + (1 − Z⁺Z) θ_ref, with ``space`` giving the row space of Z, from structure or from data.
    """
    V = space.seen
    y = np.linalg.lstsq(information.R @ V, information.z - information.R @ reference, rcond=1e-15)[0]
    return np.asarray(reference + V @ y)
