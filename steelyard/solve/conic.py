"""Clarabel, called directly: an interior-point method on the semidefinite cones.

The residual is a variable of its own, y = Rθ − z with objective ½‖y‖², so that RᵀR is never formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from steelyard import inertia
from steelyard.solve.problem import Problem, Solution

Array = np.ndarray


def solve(problem: Problem, tolerance: float = 1e-10) -> Solution:
    """Solve with Clarabel; the status is its own word, to be checked by ``certify``."""
    import clarabel

    D, x0 = problem.scale, problem.start  # θ = x0 + D x
    n = len(D)
    R = problem.information.R * D
    z = problem.information.z - problem.information.R @ x0
    weight = 1.0 / max(float(np.linalg.norm(z)), 1e-12)  # objective of order one
    logs = 4 * len(problem.entropies)
    extra = logs + 10 * len(problem.entropies)  # t (logs), Z (10 lower-triangular entries) a body
    total = 2 * n + extra
    rows: list[Any] = [sparse.hstack([sparse.csc_matrix(R), -sparse.eye(n), sparse.csc_matrix((n, extra))])]
    rhs: list[Array] = [z]
    cones: list[Any] = [clarabel.ZeroConeT(n)]

    if problem.lower:
        index = np.array(list(problem.lower))
        G = sparse.csc_matrix((-D[index], (np.arange(len(index)), index)), shape=(len(index), total))
        rows.append(G)
        rhs.append(x0[index] - np.array(list(problem.lower.values())))
        cones.append(clarabel.NonnegativeConeT(len(index)))
    for cone in problem.cones:
        k, p = cone.F.shape[:2]
        columns = np.column_stack([_svec(F) for F in cone.F]) * D[cone.at : cone.at + k]
        block = sparse.lil_matrix((p * (p + 1) // 2, total))
        block[:, cone.at : cone.at + k] = -columns
        rows.append(block.tocsc())
        rhs.append(_svec(cone.value(x0)))
        cones.append(clarabel.PSDTriangleConeT(p))
    q = np.zeros(total)
    for e in range(len(problem.entropies)):
        blocks, sides, kinds, cost = _entropy(problem, e, total, n)
        rows += blocks
        rhs += sides
        cones += kinds
        q += cost * weight**2

    P = sparse.diags(np.concatenate([np.zeros(n), np.full(n, weight**2), np.zeros(extra)])).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    settings.tol_ktratio = 1e-9
    settings.max_iter = 200
    A = sparse.vstack(rows).tocsc()
    answer = clarabel.DefaultSolver(P, q, A, np.concatenate(rhs), cones, settings).solve()

    x, dual = np.array(answer.x)[:n], np.array(answer.z)[n:] / weight**2
    count = len(problem.lower)
    bound_duals = {i: max(float(m), 0.0) for i, m in zip(problem.lower, dual[:count], strict=True)}
    duals, at = [], count
    for cone in problem.cones:
        p = cone.F.shape[1]
        duals.append(_positive(_smat(dual[at : at + p * (p + 1) // 2], p)))
        at += p * (p + 1) // 2
    return Solution(x0 + D * x, tuple(duals), bound_duals, "clarabel", str(answer.status))


def _svec(M: Array) -> Array:
    """Upper triangle column by column, off-diagonal entries times √2: keeps inner products."""
    p = len(M)
    return np.array([M[i, j] * (1.0 if i == j else np.sqrt(2)) for j in range(p) for i in range(j + 1)])


def _smat(v: Array, p: int) -> Array:
    M, k = np.zeros((p, p)), 0
    for j in range(p):
        for i in range(j + 1):
            M[i, j] = M[j, i] = v[k] if i == j else v[k] / np.sqrt(2)
            k += 1
    return M


def _positive(M: Array) -> Array:
    """Nearest positive semidefinite matrix, so that rounding does not spoil a certificate."""
    w, V = np.linalg.eigh(M)
    return np.asarray((V * np.maximum(w, 0)) @ V.T)


def _entropy(problem: Problem, e: int, total: int, n: int) -> tuple[list[Any], list[Array], list[Any], Array]:
    """−γ log det via [X Z; Zᵀ diag Z] ⪰ 0 and tᵢ ≤ log Zᵢᵢ, X = C⁻¹J C⁻ᵀ with J₀ = CCᵀ; + γ tr X."""
    import clarabel

    entropy = problem.entropies[e]
    D, x0 = problem.scale, problem.start
    here = slice(entropy.at, entropy.at + 10)
    C = np.linalg.inv(np.linalg.cholesky(entropy.reference))
    basis = C @ inertia.PSEUDO_BASIS @ C.T  # X = Σ θₖ basis[k]
    X0 = np.tensordot(x0[here], basis, axes=1)
    t_at = 2 * n + 14 * e
    z_at = t_at + 4
    lower = [(i, j) for j in range(4) for i in range(j, 4)]  # Z lower triangular

    big = sparse.lil_matrix((36, total))
    for k in range(10):
        M = np.zeros((8, 8))
        M[:4, :4] = basis[k]
        big[:, entropy.at + k] = -_svec(M)[:, None] * D[entropy.at + k]
    for k, (i, j) in enumerate(lower):
        M = np.zeros((8, 8))
        M[i, 4 + j] = M[4 + j, i] = 1.0
        if i == j:
            M[4 + i, 4 + i] = 1.0
        big[:, z_at + k] = -_svec(M)[:, None]
    M = np.zeros((8, 8))
    M[:4, :4] = X0
    blocks, sides, kinds = [big.tocsc()], [_svec(M)], [clarabel.PSDTriangleConeT(8)]
    for i in range(4):  # (t, 1, Z_ii) in the exponential cone: Z_ii ≥ exp(t)
        block = sparse.lil_matrix((3, total))
        block[0, t_at + i] = -1.0
        block[2, z_at + lower.index((i, i))] = -1.0
        blocks.append(block.tocsc())
        sides.append(np.array([0.0, 1.0, 0.0]))
        kinds.append(clarabel.ExponentialConeT())
    cost = np.zeros(total)
    cost[t_at : t_at + 4] = -entropy.weight
    cost[here] = entropy.weight * np.trace(basis, axis1=1, axis2=2) * D[here]
    return blocks, sides, kinds, cost
