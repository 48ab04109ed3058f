"""Least squares with bounds: an active set, first on the Gram matrix, then on R itself.

The Gram matrix is fast but squares the condition number. So its solution is only the start of a second run of Lawson
and Hanson's method on R, with a new QR factorisation in every step: if the conditioning is good that ends after one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from steelyard.solve.problem import Problem, Solution
from steelyard.spatial import Array

NOISE = 1e-15  # of the terms whose difference is a gradient: below this its sign is rounding
DEPENDENT = 1e-12  # of a column's norm: a smaller remainder outside the passive columns is rounding
ROUNDS = 200  # of QR factorisations


def solve(problem: Problem) -> Solution:
    """Solve a problem whose only constraints are bounds."""
    if problem.cones or problem.entropies or len(problem.linear):
        raise ValueError("the active set takes no constraints but bounds")
    R, n = problem.information.R, problem.information.n
    lower = np.full(n, -np.inf)
    lower[list(problem.lower)] = list(problem.lower.values())
    theta, slope, status = solve_bounded(R, problem.information.z, lower, problem.start)
    duals = {i: max(float(slope[i]), 0.0) if theta[i] == low else 0.0 for i, low in problem.lower.items()}
    return Solution(theta, (), duals, "nnls", status)


def solve_bounded(R: Array, z: Array, lower: Array, start: Array | None = None) -> tuple[Array, Array, str]:
    """Minimise ½‖Rx − z‖² over x ≥ lower (−inf: no bound); return x (n,), the gradient there, and the status.

    Unknowns without a bound are computed as differences from ``start``.
    """
    from steelyard.kernels import active_set

    bounded = np.isfinite(lower)
    origin = np.where(bounded, lower, 0.0 if start is None else start)
    length = np.linalg.norm(R, axis=0)
    length[length <= 1e-14 * length.max(initial=0.0)] = np.inf  # a negligible column
    A, z = R / length, z - R @ origin
    free = np.flatnonzero(~bounded)
    (x, _), _ = active_set.solve(np.ascontiguousarray(A.T @ A), A.T @ z, free, len(free))
    x, w, status = refine(A, z, x, bounded)
    return origin + x / length, -w * np.where(np.isfinite(length), length, 0.0), status


def cone_distance(A: Array, z: Array) -> float:
    """Return the distance of z from the cone of the columns of A: the least ‖Ax − z‖ over x ≥ 0.

    The residual is evaluated at the computed x. ``scipy.optimize.nnls`` (1.17.1) returns zero whenever it chose as
    many columns as there are rows, even if its x is not a solution.
    """
    x, _, _ = solve_bounded(A, z, np.zeros(A.shape[1]))
    return float(np.linalg.norm(A @ x - z))


def refine(A: Array, z: Array, start: Array, bounded: Array) -> tuple[Array, Array, str]:
    """Run Lawson and Hanson's method from a feasible start: min ½‖Ax − z‖², x ≥ 0 where ``bounded``.

    Columns of A have norm one or zero. Returns x, the negative gradient Aᵀ(z − Ax) and the status. As in
    ``kernels/active_set.py`` an index whose entry does not lower the objective is barred until another's does, so no
    passive set occurs twice.
    """
    free = _independent(A, np.flatnonzero(~bounded))
    passive = [*free, *np.flatnonzero(bounded & (start > 0))]
    x, barred = np.zeros(len(start)), np.zeros(len(start), bool)
    x[passive] = start[passive]
    entered, best, status = -1, np.inf, "iteration limit"
    for rounds in range(1, ROUNDS + 1):
        s = _optimum(A, z, passive)
        if s is None and entered < 0:  # the start depends on the free columns
            passive, x = [*free], np.zeros(len(start))
            continue
        if s is None or (entered in passive and x[entered] == 0 and s[entered] <= 0):  # its entry gains nothing
            passive.remove(entered)
            s = x
        if blocking := [i for i in passive if bounded[i] and s[i] <= 0]:
            ratio = x[blocking] / (x[blocking] - s[blocking])
            x = x + ratio.min() * (s - x)
            out = {i for i, t in zip(blocking, ratio, strict=True) if t == ratio.min()}
            x[list(out)] = 0.0
            passive = [i for i in passive if i not in out]
            continue
        x = s
        w = A.T @ (z - A @ x)
        now = float(np.sum((z - A @ x) ** 2))
        barred[:] = barred & (now >= best)
        if entered >= 0 and now >= best:
            barred[entered] = True
        best = min(now, best)
        steep = np.where(bounded & ~barred, w, 0.0)
        steep[passive] = 0.0
        entered = int(np.argmax(steep))
        if steep[entered] <= NOISE * (np.linalg.norm(z) + np.linalg.norm(x)):
            status = f"solved, {rounds} factorisations"
            break
        passive.append(entered)
    return x, A.T @ (z - A @ x), status


def _optimum(A: Array, z: Array, passive: list[int]) -> Array | None:
    """The least-squares x on the passive columns, zero elsewhere; None if these are linearly dependent."""
    k = len(passive)
    T = np.asarray(np.linalg.qr(np.column_stack([A[:, passive], z]), mode="r"))
    if k > len(A) or np.abs(np.diag(T)[:k]).min(initial=1.0) <= DEPENDENT:
        return None
    x = np.zeros(A.shape[1])
    x[passive] = solve_triangular(T[:k, :k], T[:k, k])
    return x


def _independent(A: Array, columns: Array) -> Array:
    """A linearly independent subset of the columns."""
    T, pivots = qr(A[:, columns], mode="r", pivoting=True)
    return np.asarray(columns[pivots[: np.sum(np.abs(np.diag(T)) > DEPENDENT)]])
