"""Refinement of an interior-point solution by Newton's method on the face of the cones on which it lies.

Near the optimum every eigenvalue λ of S = M(θ) has a counterpart ζ in its multiplier Z with λζ = ν. Those with
small λ/ζ are set to zero, and Z to zero elsewhere: with U their eigenvectors, Z = U Y Uᵀ and

    ∇f(θ) = M*(U Y Uᵀ),    Uᵀ M(θ) U = 0

is solved for θ and Y by Newton's method, including the rotation of U (2 tr(FₖZFₗS⁺)). Directions that no constraint
fixes and the data hardly excite then equal the prior to the last digits; a barrier method stops where the whole
objective no longer shows a difference. Whether the face was the right one is checked afterwards: S and Y must be
positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from steelyard.solve.problem import Problem, Solution, positive
from steelyard.spatial import Array

STEPS = 3
OUTSIDE = 1e-9  # of a cone's natural size, or of the objective: tolerated violation


@dataclass(frozen=True)
class _Face:
    """One cone, bound or row: S = Σ xₖFₖ − shift, whose ``count`` smallest eigenvalues are zero."""

    unknowns: slice
    F: Array  # (k, p, p)
    shift: Array  # (p, p)
    count: int

    def slack(self, x: Array) -> Array:
        return np.asarray(np.tensordot(x[self.unknowns], self.F, axes=1) - self.shift)


def settle_on_face(problem: Problem, solution: Solution) -> Solution:
    """Refine a solution on its face; return it unchanged if that fails.

    For quadratic objectives without equalities.
    """
    R, z, unit, rows = problem.information.R, problem.information.z, problem.scale, problem.linear
    length = np.linalg.norm(R, axis=0)
    if not np.all(length > 0):
        return solution
    x = solution.theta * length
    cones, duals = list[tuple[int, Array, Array]](), list(solution.duals)
    cones += [(cone.at, cone.F, np.zeros(cone.F.shape[1:])) for cone in problem.cones]
    for i, low in problem.lower.items():
        cones.append((i, np.full((1, 1, 1), 1 / unit[i]), np.full((1, 1), low / unit[i])))
        duals.append(np.full((1, 1), solution.bound_duals[i] * unit[i]))
    for row, level, dual in zip(rows.A, rows.b, solution.linear_duals, strict=True):
        size = float(np.abs(row) @ unit) or 1.0
        cones.append((0, row[:, None, None] / size, np.full((1, 1), level / size)))
        duals.append(np.full((1, 1), dual * size))
    worth = 0.5 * float(np.sum((R @ solution.theta - z) ** 2)) + 1e-12 * float(z @ z) + 1e-300
    for faces in _guesses(cones, duals, x, length, worth):
        refined = _refine(R / length, z, x, faces, duals, worth)
        if refined is not None:
            x, duals = refined
            first, last = len(problem.cones), len(duals) - len(rows)
            bounds = {i: float(Z[0, 0] / unit[i]) for i, Z in zip(problem.lower, duals[first:last], strict=True)}
            linear = np.array([float(Z[0, 0]) for Z in duals[last:]])
            if len(rows):
                linear = linear / (np.abs(rows.A) @ unit)
            return replace(
                solution, theta=x / length, duals=tuple(duals[:first]), bound_duals=bounds, linear_duals=linear
            )
    return solution


def _guesses(
    cones: list[tuple[int, Array, Array]], duals: list[Array], x: Array, length: Array, worth: float
) -> Iterator[list[_Face]]:
    """Candidate faces: eigenvalues with λ/ζ below the widest gap are zero, or below the natural ratio, or none."""
    ratios, scaled = list[Array](), list[tuple[slice, Array, Array]]()
    for (at, F, shift), Z in zip(cones, duals, strict=True):
        unknowns = slice(at, at + len(F))
        F = F / length[unknowns][:, None, None]
        w, V = np.linalg.eigh(np.tensordot(x[unknowns], F, axes=1) - shift)
        zeta = np.einsum("ip,ij,jp->p", V, Z, V)
        ratios.append(np.maximum(w, 1e-300) / np.maximum(zeta, 1e-300))
        scaled.append((unknowns, F, shift))
    every = np.sort(np.log(np.concatenate(ratios))) if ratios else np.zeros(0)
    splits = [1 / worth, 0.0]
    if len(every) > 1:
        k = int(np.argmax(np.diff(every)))
        splits.insert(0, float(np.exp((every[k] + every[k + 1]) / 2)))
    tried = list[list[int]]()
    for split in splits:
        counts = [int(np.sum(r < split)) for r in ratios]
        if counts not in tried:
            tried.append(counts)
            yield [_Face(*parts, count) for parts, count in zip(scaled, counts, strict=True)]


def _refine(
    A: Array, z: Array, x: Array, faces: list[_Face], duals: list[Array], worth: float
) -> tuple[Array, list[Array]] | None:
    """x and multipliers on these faces; None if these are not the optimal ones."""
    indices = [k for k, face in enumerate(faces) if face.count]
    active, active_duals = [faces[k] for k in indices], [duals[k] for k in indices]
    for _ in range(STEPS):
        moved = _newton(A, z, x, active, active_duals)
        if moved is None:
            return None
        x, active_duals = moved
    if any(np.linalg.eigvalsh(Z)[0] < -OUTSIDE * worth for Z in active_duals):
        return None
    if any(np.linalg.eigvalsh(face.slack(x))[0] < -OUTSIDE for face in faces):
        return None
    refined = [np.zeros_like(Z) for Z in duals]
    for k, Z in zip(indices, active_duals, strict=True):
        refined[k] = positive(Z)
    return x, refined


def _newton(A: Array, z: Array, x: Array, faces: list[_Face], duals: list[Array]) -> tuple[Array, list[Array]] | None:
    """One step for x and all Z of active faces; None if the system is singular."""
    n = len(x)
    K, right = A.T @ A, -(A.T @ (A @ x - z))
    rows, missing, bases = [np.zeros((0, n))], [np.zeros(0)], []
    for face, Z in zip(faces, duals, strict=True):
        S = face.slack(x)
        w, V = np.linalg.eigh(S)
        U, rest = V[:, : face.count], V[:, face.count :]
        i, j = np.triu_indices(face.count)
        twice = np.where(i == j, 1.0, 2.0)
        bases.append((U, i, j))
        Z = U @ (U.T @ Z @ U) @ U.T
        right[face.unknowns] += np.einsum("kij,ij->k", face.F, Z)
        if rest.size:
            curved = face.F @ Z @ face.F[:, None] @ ((rest / w[face.count :]) @ rest.T)
            K[face.unknowns, face.unknowns] += 2 * np.trace(curved, axis1=2, axis2=3).T
        block = np.zeros((len(i), n))
        block[:, face.unknowns] = ((U.T @ face.F @ U)[:, i, j] * twice).T
        rows.append(block)
        missing.append(-(U.T @ S @ U)[i, j] * twice)
    C = np.vstack(rows)
    system = np.block([[K, -C.T], [C, np.zeros((len(C), len(C)))]])
    try:
        step = np.linalg.solve(system, np.concatenate([right, *missing]))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(step).all():
        return None
    moved, at = [], n
    for (U, i, j), Z in zip(bases, duals, strict=True):
        Y = U.T @ Z @ U
        Y[i, j] += step[at : at + len(i)]
        Y[j, i] = Y[i, j]
        moved.append(np.asarray(U @ Y @ U.T))
        at += len(i)
    return x + step[:n], moved
