"""Criteria of excitation, as functions of the square root of a motion's information.

The rows Y of a motion, each divided by its noise's standard deviation, have a triangle R with RᵀR = YᵀY. Of θ only the
base parameters are identifiable: with D the parameters' natural sizes and V (n, r) an orthonormal basis of the
structurally identifiable subspace (``Setup.structure``), their information is MᵀM, M = R·D·V. Every criterion is a
function of such a root M; a root may be any matrix (m, r) with that product, the rows of a motion included. Information
adds up: the root of two motions is that of their stacked rows.

det(MᵀM) is the inverse square of the volume of the base parameters' confidence ellipsoid (D-optimality); adding a
motion with root A multiplies it by det(1 + WWᵀ), W = A·M⁻¹.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from steelyard.equations.columns import Columns
from steelyard.equations.subspace import RANK_TOLERANCE, Subspace
from steelyard.spatial import Array


def finite(x: float) -> float | None:
    """The number, or None where it is infinite or NaN: JSON has neither."""
    return x if math.isfinite(x) else None


def base_root(R: Array, identifiable: Subspace) -> Array:
    """Root (r, r) of the base parameters' information, upper triangular, from a motion's triangle R (m, n)."""
    return triangle(np.asarray(R * identifiable.scale) @ identifiable.V)


def triangle(M: Array) -> Array:
    """Upper triangle (r, r) with the information of M (m, r), filled up with rows of zeros where m < r."""
    T = np.asarray(np.linalg.qr(M, mode="r"))
    return np.vstack([T, np.zeros((T.shape[1] - len(T), T.shape[1]))])


def combine(*roots: Array) -> Array:
    """Root (r, r) of the information of several motions together."""
    return triangle(np.vstack(roots))


def condition(M: Array) -> float:
    """Condition number of the base regressor, columns in natural units; inf where a base parameter is not excited."""
    s = np.linalg.svd(M, compute_uv=False)
    return float(s[0] / s[-1]) if len(M) >= M.shape[1] and s[-1] > RANK_TOLERANCE * s[0] else float("inf")


def log_det(M: Array) -> float:
    """log det(MᵀM), nats; −inf where a base parameter is not excited. The larger the better."""
    s = np.linalg.svd(M, compute_uv=False)
    if len(M) < M.shape[1] or not s[-1] > RANK_TOLERANCE * s[0]:
        return float("-inf")
    return float(2 * np.sum(np.log(s)))


def gain(M: Array, added: Array) -> float:
    """Growth of log det(MᵀM), in nats, when rows ``added`` (k, r) join the upper triangle M (r, r); never negative.

    M has to be regular: start from ``natural_prior`` where no motion is chosen yet.
    """
    W: Array = solve_triangular(M, added.T, trans="T", lower=False)  # (r, k)
    small = W.T @ W if W.shape[1] < W.shape[0] else W @ W.T
    return float(2 * np.sum(np.log(np.diag(np.linalg.cholesky(np.eye(len(small)) + small)))))


def natural_prior(rank: int, width: float = 1.0) -> Array:
    """Root (r, r) of a prior whose standard deviations are ``width`` times the base parameters' natural sizes."""
    return np.eye(rank) / width


def select_greedily(roots: Sequence[Array], count: int, known: Array) -> list[int]:
    """Indices of ``count`` motions, best first; each adds most to the information of those before it.

    ``known`` (r, r) is the root to start from. log det is submodular: the gain of a motion only falls as others are
    chosen, so a motion whose earlier gain is below the best current one need not be evaluated again (lazy greedy).
    """
    chosen = list[int]()
    queue = [(-gain(known, root), k, 0) for k, root in enumerate(roots)]
    heapq.heapify(queue)
    while queue and len(chosen) < count:
        _, k, evaluated_at = heapq.heappop(queue)
        if evaluated_at == len(chosen):
            chosen.append(k)
            known = combine(known, roots[k])
        else:
            heapq.heappush(queue, (-gain(known, roots[k]), k, len(chosen)))
    return chosen


def deviations(M: Array, identifiable: Subspace) -> Array:
    """Standard deviations (r,) of base parameters (``identifiable.composition``), as shares of their natural sizes.

    M (r, r) is an upper triangle; all are inf if it is singular.
    """
    Z = identifiable.composition[1] * identifiable.scale
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    try:
        return np.asarray(np.linalg.norm(solve_triangular(M, (Z @ identifiable.V).T, trans="T"), axis=0))
    except LinAlgError:
        return np.full(len(Z), np.inf)


def link_conditions(R: Array, identifiable: Subspace, columns: Columns) -> dict[str, float]:
    """Body → condition number of the sub-regressor of its ten columns (Jovic III-A), in natural units.

    Where a body's ten columns are linearly dependent in every motion (the first link of an arm turns about one axis),
    only their structurally identifiable combinations count.
    """
    conditions = {}
    for name in columns.bodies:
        at = columns.body(name)
        own = Subspace.of(identifiable.R[:, at], identifiable.scale[at])
        conditions[name] = condition(base_root(R[:, at], own)) if own.rank else float("inf")
    return conditions
