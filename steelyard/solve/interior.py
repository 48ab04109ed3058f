"""Primal–dual interior-point method for many small matrix inequalities, bounds and linear inequalities.

With S = M(θ) the value of each cone and Z its multiplier (a bound is a cone of order one), the central path is

    ∇f(θ) = M*(Z),    S Z = ν 1,    ν → 0.

Newton's method on it, symmetrised after Helmberg, Kojima and Monteiro, leaves one system of the size of θ,

    (RᵀR + B) Δθ = M*(ν S⁻¹ − C) − ∇f,    Bₖₗ = tr(Fₖ Z Fₗ S⁻¹),

where B is block diagonal, one block a body. Each iteration predicts with ν = 0 and corrects (C) for the second-order
error (Mehrotra). θ remains strictly feasible. ``face.py`` has the last steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from steelyard.solve.face import settle_on_face
from steelyard.solve.problem import Problem, Solution
from steelyard.spatial import Array

ITERATIONS = 60
STATIONARY = 1e-13  # of the residual norm, or until rounding stops progress
SHORT = 0.99  # of the way to the boundary


@dataclass(frozen=True)
class _Cones:
    """Cones of one order, handled together: S = Σ xₖFₖ − shift."""

    which: tuple[int, ...]  # indices in the problem; empty for bounds
    index: Array  # (b, k) indices of their unknowns
    F: Array  # (b, k, p, p) in units of the scaled unknowns
    shift: Array  # (b, p, p)

    def linear(self, x: Array) -> Array:
        """(b, p, p) Σ xₖFₖ."""
        return np.asarray(np.einsum("bk,bkij->bij", x[self.index], self.F))

    def adjoint(self, Z: Array, n: int) -> Array:
        """(n,) ⟨Fₖ, Z⟩ at the indices of the unknowns."""
        return np.bincount(self.index.ravel(), np.einsum("bkij,bij->bk", self.F, Z).ravel(), n)

    def curve(self, K: Array, Z: Array, inverse: Array) -> None:
        """Add tr(Fₖ Z Fₗ S⁻¹) to K (n, n)."""
        b, k = self.index.shape
        turned = Z[:, None] @ self.F @ inverse[:, None]
        blocks = self.F.reshape(b, k, -1) @ np.swapaxes(turned.reshape(b, k, -1), 1, 2)
        np.add.at(K, (self.index[:, :, None], self.index[:, None, :]), blocks)


@dataclass(frozen=True)
class _Rows:
    """A x − b ≥ 0, each row a cone of order one."""

    A: Array  # (r, n) in units of the scaled unknowns
    shift: Array  # (r, 1, 1)

    def linear(self, x: Array) -> Array:
        """(r, 1, 1) A x."""
        return np.asarray((self.A @ x)[:, None, None])

    def adjoint(self, Z: Array, n: int) -> Array:
        """(n,) AᵀZ."""
        return np.asarray(Z[:, 0, 0] @ self.A)

    def curve(self, K: Array, Z: Array, inverse: Array) -> None:
        """Add Aᵀ(Z/S)A to K (n, n)."""
        K += self.A.T @ ((Z * inverse)[:, 0] * self.A)


def solve(problem: Problem, tolerance: float = 1e-9) -> Solution:
    """Follow the central path until the gap is below ``tolerance`` × objective, then refine on the face."""
    if problem.entropies or np.any(problem.linear.equal):
        raise ValueError("the interior-point method takes neither entropies nor equalities")
    length = np.linalg.norm(problem.information.R, axis=0)
    length = np.where(length > 0, length, 1 / problem.scale)  # columns of zeros are bounded by their cones alone
    A, z, n = problem.information.R / length, problem.information.z, problem.information.n
    families = _families(problem, 1 / length)
    x = _interior(problem) * length
    H, order = A.T @ A, sum(f.shift.shape[0] * f.shift.shape[1] for f in families)
    S = [f.linear(x) - f.shift for f in families]
    if any(np.any(s[:, 0, 0] <= 0) for s in S):
        raise ArithmeticError("the start is not strictly feasible")
    first = float(np.sum((A @ x - z) ** 2)) / 2
    floor = 1e-6 * max(first, 0.5 * float(z @ z)) + 1e-300
    Z = [max(first, floor) / max(order, 1) * np.linalg.inv(s) for s in S]
    status, left = "iteration limit", np.inf
    for iteration in range(ITERATIONS):
        r = A @ x - z
        slope = A.T @ r
        gap = _inner(S, Z)
        pull = sum((f.adjoint(m, n) for f, m in zip(families, Z, strict=True)), np.zeros(n))
        before, left = left, float(np.max(np.abs(slope - pull)))
        worth = 0.5 * float(r @ r) + floor
        if gap <= tolerance * worth and (left <= STATIONARY * np.sqrt(2 * worth) or left > 0.5 * before):
            status = f"solved, {iteration} iterations"
            break
        root_S, root_Z = [_root(s) for s in S], [_root(m) for m in Z]
        inverse = [np.swapaxes(L, 1, 2) @ L for L in root_S]
        K = H.copy()
        for f, m, i in zip(families, Z, inverse, strict=True):
            f.curve(K, m, i)
        factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        target = [np.zeros_like(s) for s in S]  # ν S⁻¹ − C
        for predicting in (True, False):
            right = sum((f.adjoint(t, n) for f, t in zip(families, target, strict=True)), -slope)
            dx = cho_solve(factor, right, check_finite=False)
            dS = [f.linear(dx) for f in families]
            dZ = [t - m - _symmetric(m @ d @ i) for t, m, d, i in zip(target, Z, dS, inverse, strict=True)]
            step = min(1.0, (1.0 if predicting else SHORT) * min(_longest_step(root_S, dS), _longest_step(root_Z, dZ)))
            if predicting:
                after = _inner(_ahead(S, dS, step), _ahead(Z, dZ, step))
                nu = (after / gap) ** 3 * gap / max(order, 1) if gap > 0 else 0.0
                target = [nu * i - _symmetric(e @ d @ i) for e, d, i in zip(dZ, dS, inverse, strict=True)]
        x = x + step * dx
        S = [f.linear(x) - f.shift for f in families]
        Z = _ahead(Z, dZ, step)
    duals, bounds, rows = [np.zeros(0)] * len(problem.cones), np.zeros(0), np.zeros(0)
    for f, m in zip(families, Z, strict=True):
        if isinstance(f, _Rows):
            rows = m.ravel() / _size(problem)
            continue
        for k, which in enumerate(f.which):
            duals[which] = m[k]
        if not f.which:
            bounds = m.ravel() * length[f.index.ravel()]
    bound_duals = {i: float(m) for i, m in zip(problem.lower, bounds, strict=True)}
    return settle_on_face(problem, Solution(x / length, tuple(duals), bound_duals, "interior", status, rows))


def _families(problem: Problem, unit: Array) -> list[_Cones | _Rows]:
    """Cones grouped by order, the bounds, and the linear constraints, for unknowns in these units."""
    orders: dict[tuple[int, ...], list[int]] = {}
    for which, cone in enumerate(problem.cones):
        orders.setdefault(cone.F.shape, []).append(which)
    families = list[_Cones | _Rows]()
    for (k, p, _), alike in orders.items():
        index = np.array([problem.cones[i].at for i in alike])[:, None] + np.arange(k)
        F = np.stack([problem.cones[i].F for i in alike]) * unit[index][:, :, None, None]
        families.append(_Cones(tuple(alike), index, F, np.zeros((len(alike), p, p))))
    if problem.lower:
        index = np.array(list(problem.lower))
        bound = np.array(list(problem.lower.values())) / unit[index]
        ones = np.ones((len(index), 1, 1, 1))
        families.append(_Cones((), index[:, None], ones, bound[:, None, None]))
    if len(problem.linear):
        size = _size(problem)
        families.append(_Rows(problem.linear.A * unit / size[:, None], (problem.linear.b / size)[:, None, None]))
    return families


def _size(problem: Problem) -> Array:
    """(r,) natural sizes of the linear constraints."""
    return np.asarray(np.maximum(np.abs(problem.linear.A) @ problem.scale, 1e-300))


def _interior(problem: Problem) -> Array:
    """The start, moved strictly inside its bounds."""
    theta = np.array(problem.start, float)
    for i, low in problem.lower.items():
        theta[i] = max(theta[i], low + 1e-3 * problem.scale[i])
    return theta


def _ahead(values: list[Array], steps: list[Array], length: float) -> list[Array]:
    return [x + length * d for x, d in zip(values, steps, strict=True)]


def _inner(S: list[Array], Z: list[Array]) -> float:
    return sum(float(np.sum(s * m)) for s, m in zip(S, Z, strict=True))


def _symmetric(M: Array) -> Array:
    return np.asarray(0.5 * (M + np.swapaxes(M, 1, 2)))


def _root(M: Array) -> Array:
    """L⁻¹ with M = L Lᵀ."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(M)))


def _longest_step(roots: list[Array], steps: list[Array]) -> float:
    """The longest step that keeps all matrices positive semidefinite."""
    lowest = [np.linalg.eigvalsh(L @ d @ np.swapaxes(L, 1, 2)).min() for L, d in zip(roots, steps, strict=True)]
    worst = -float(min(lowest, default=0.0))
    return 1 / worst if worst > 0 else np.inf
