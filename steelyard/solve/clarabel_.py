"""Clarabel, called directly: an interior-point method on the semidefinite cones.

The problem is posed in coordinates x = R(θ − centre), in which the objective is ½‖x‖² (``Problem.inverse``), and in
units of ‖x‖ at the optimum. These are known only afterwards, so it is solved again if the first guess was far off. With
more unknowns than rows x does not determine θ; then both are variables, coupled by E(θ − centre) = E W x
(``Problem.seen``), and a thousand masses cost little more than a hundred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from steelyard import inertia
from steelyard.solve.problem import Problem, Solution, pack_symmetric, positive, unpack_symmetric
from steelyard.spatial import Array


def solve(problem: Problem, tolerance: float = 1e-10) -> Solution:
    """Solve with Clarabel; its status is unverified until ``certify`` has checked the solution."""
    best, before = problem.start, np.inf
    floor = 1e-6 * np.sqrt(problem.information.cost(problem.centre)) + 1e-12
    for _ in range(4):
        size = max(float(np.linalg.norm(problem.root @ (best - problem.centre))), floor)
        if size > 0.03 * before:
            break
        solution = _solve(problem, size, tolerance)
        best, before = solution.theta, size
    return solution


def run(P: Any, q: Array, A: Any, b: Array, cones: list[Any], tolerance: float, **settings: Any) -> Any:
    """Run Clarabel on min ½xᵀPx + qᵀx with b − Ax in these cones, and return its solution object."""
    import clarabel

    chosen = clarabel.DefaultSettings()
    chosen.verbose = False
    chosen.tol_gap_abs = chosen.tol_gap_rel = chosen.tol_feas = tolerance
    for name, value in settings.items():
        setattr(chosen, name, value)
    return clarabel.DefaultSolver(P, q, A.tocsc(), b, cones, chosen).solve()


def _solve(problem: Problem, size: float, tolerance: float) -> Solution:
    """θ = centre + W v with v = u, or v = (y, u) and W = [scale 0]; minimise ½‖u‖² + entropies/size²."""
    import clarabel

    W: Any = size * problem.inverse
    rows: list[Any] = []
    rhs: list[Array] = []
    cones: list[Any] = []
    m, first = W.shape[1], len(problem.scale) if problem.null.shape[1] else 0
    n = first + m
    total = n + 14 * len(problem.entropies)  # v; for each entropy four logarithms and ten entries of Z
    coupled = 0
    if first:
        E = problem.seen
        rows.append(_padded(np.hstack([E * problem.scale, -E @ W]), total))
        coupled = len(E)
        rhs.append(np.zeros(coupled))
        cones.append(clarabel.ZeroConeT(coupled))
        W = sparse.csr_matrix(sparse.hstack([sparse.diags(problem.scale), sparse.csr_matrix((first, m))]))
    if problem.lower:
        index = np.array(list(problem.lower))
        rows.append(_padded(-W[index], total))
        rhs.append(problem.centre[index] - np.array(list(problem.lower.values())))
        cones.append(clarabel.NonnegativeConeT(len(index)))
    linear = problem.linear.unit(problem.scale)
    for which, kind in ((linear.equal, clarabel.ZeroConeT), (~linear.equal, clarabel.NonnegativeConeT)):
        if np.any(which):
            rows.append(_padded(-linear.A[which] @ W, total))
            rhs.append(linear.slack(problem.centre)[which])
            cones.append(kind(int(which.sum())))
    for cone in problem.cones:
        k, p = cone.F.shape[:2]
        rows.append(_padded(-pack_symmetric(cone.F).T @ W[cone.at : cone.at + k], total))
        rhs.append(pack_symmetric(cone.value(problem.centre)))
        cones.append(clarabel.PSDTriangleConeT(p))
    q = np.zeros(total)
    for e in range(len(problem.entropies)):
        blocks, sides, kinds, cost = _entropy(problem, e, W, total)
        rows, rhs, cones = rows + blocks, rhs + sides, cones + kinds
        q += cost / size**2

    P = sparse.diags(np.concatenate([np.zeros(first), np.ones(m), np.zeros(total - n)])).tocsc()
    A = sparse.vstack([*rows, sparse.csc_matrix((0, total))])
    answer = run(P, q, A, np.concatenate([*rhs, []]), cones, tolerance, tol_ktratio=1e-9, max_iter=200)
    theta, dual = problem.centre + W @ np.array(answer.x)[:n], np.array(answer.z)[coupled:] * size**2
    count = len(problem.lower)
    bound_duals = {i: max(float(m), 0.0) for i, m in zip(problem.lower, dual[:count], strict=True)}
    linear_duals, at = np.zeros(len(linear)), count
    for which, floor in ((linear.equal, -np.inf), (~linear.equal, 0.0)):
        linear_duals[which] = np.maximum(dual[at : at + which.sum()], floor)
        at += int(which.sum())
    if len(linear):
        linear_duals /= np.abs(problem.linear.A) @ problem.scale
        theta = _project_on_equalities(problem, theta)
    duals = []
    for cone in problem.cones:
        p = cone.F.shape[1]
        duals.append(positive(unpack_symmetric(dual[at : at + p * (p + 1) // 2])))
        at += p * (p + 1) // 2
    return Solution(theta, tuple(duals), bound_duals, "clarabel", str(answer.status), linear_duals)


def _project_on_equalities(problem: Problem, theta: Array) -> Array:
    """The nearest point, in the metric of the objective, at which the equalities hold to the last digit."""
    equal = problem.linear.equal
    W = np.hstack([problem.inverse, problem.null])
    E = problem.linear.A[equal] @ W
    return np.asarray(theta - W @ np.linalg.lstsq(E, problem.linear.slack(theta)[equal], rcond=None)[0])


def _padded(block: Any, total: int) -> Any:
    """The block with zero columns appended, ``total`` in all."""
    return sparse.hstack(
        [sparse.csc_matrix(block), sparse.csc_matrix((block.shape[0], total - block.shape[1]))]
    ).tocsc()


def _entropy(problem: Problem, e: int, W: Array, total: int) -> tuple[list[Any], list[Array], list[Any], Array]:
    """−γ log det via [X Z; Zᵀ diag Z] ⪰ 0 and tᵢ ≤ log Zᵢᵢ, X = C⁻¹J C⁻ᵀ with J₀ = CCᵀ; + γ tr X."""
    import clarabel

    entropy, n = problem.entropies[e], W.shape[1]
    body = slice(entropy.at, entropy.at + 10)
    C = np.linalg.inv(np.linalg.cholesky(entropy.reference))
    basis = C @ inertia.PSEUDO_BASIS @ C.T  # X = Σ θₖ basis[k]
    t_at = n + 14 * e
    z_at = t_at + 4
    lower = [(i, j) for j in range(4) for i in range(j, 4)]  # Z lower triangular

    def embedded(X: Array) -> Array:
        M = np.zeros((*X.shape[:-2], 8, 8))
        M[..., :4, :4] = X
        return pack_symmetric(M)

    big = sparse.lil_matrix((36, total))
    big[:, :n] = -embedded(basis).T @ W[body]
    for k, (i, j) in enumerate(lower):
        M = np.zeros((8, 8))
        M[i, 4 + j] = M[4 + j, i] = 1.0
        if i == j:
            M[4 + i, 4 + i] = 1.0
        big[:, z_at + k] = -pack_symmetric(M)[:, None]
    blocks, kinds = [big.tocsc()], [clarabel.PSDTriangleConeT(8)]
    sides = [embedded(np.tensordot(problem.centre[body], basis, axes=1))]
    for i in range(4):  # (t, 1, Z_ii) in the exponential cone: Z_ii ≥ exp(t)
        block = sparse.lil_matrix((3, total))
        block[0, t_at + i] = -1.0
        block[2, z_at + lower.index((i, i))] = -1.0
        blocks.append(block.tocsc())
        sides.append(np.array([0.0, 1.0, 0.0]))
        kinds.append(clarabel.ExponentialConeT())
    cost = np.zeros(total)
    cost[t_at : t_at + 4] = -entropy.weight
    cost[:n] = entropy.weight * np.trace(basis, axis1=1, axis2=2) @ W[body]
    return blocks, sides, kinds, cost
