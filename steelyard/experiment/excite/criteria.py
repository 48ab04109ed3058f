"""How much a motion tells: criteria on the root of its information.

A motion's rows, each divided by its noise, have a triangle R with RᵀR = YᵀY. Of θ only the base parameters can be told:
with D the parameters' natural sizes and V (n, r) the orthonormal basis of what the structure allows to be seen
(``Setup.structure``), their information is MᵀM, M = R·D·V. Every criterion here is a function of such roots M;
a root may be any matrix (m, r) with that product, rows of a motion included. Information adds: the root of two motions
is the one of their rows stacked.

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
    """For JSON, which has no infinity."""
    return x if math.isfinite(x) else None


def base_root(R: Array, possible: Subspace) -> Array:
    """(r, r) upper triangle M of the base parameters' information, from R (m, n); ``possible``: what could be seen."""
    return triangle(np.asarray(R * possible.scale) @ possible.V)


def triangle(M: Array) -> Array:
    """(r, r) upper triangle with the same information as M (m, r); rows of zeros where there are fewer than r."""
    T = np.asarray(np.linalg.qr(M, mode="r"))
    return np.vstack([T, np.zeros((T.shape[1] - len(T), T.shape[1]))])


def together(*roots: Array) -> Array:
    """(r, r) root of all of them: what motions tell that are made one after the other."""
    return triangle(np.vstack(roots))


def condition(M: Array) -> float:
    """Condition number of the base parameters' regressor, columns in natural units; inf where one is not excited."""
    s = np.linalg.svd(M, compute_uv=False)
    return float(s[0] / s[-1]) if len(M) >= M.shape[1] and s[-1] > RANK_TOLERANCE * s[0] else float("inf")


def log_det(M: Array) -> float:
    """log det(MᵀM), nats; −inf where a base parameter is not excited. The larger the better."""
    s = np.linalg.svd(M, compute_uv=False)
    if len(M) < M.shape[1] or not s[-1] > RANK_TOLERANCE * s[0]:
        return float("-inf")
    return float(2 * np.sum(np.log(s)))


def gain(M: Array, added: Array) -> float:
    """log det of both less log det(MᵀM), nats, by an update of the rank of ``added`` (k, r); M (r, r) upper triangle.

    It is never negative. M has to be regular: begin with ``natural_prior`` where no motion is chosen yet.
    """
    W: Array = solve_triangular(M, added.T, trans="T", lower=False)  # (r, k)
    small = W.T @ W if W.shape[1] < W.shape[0] else W @ W.T
    return float(2 * np.sum(np.log(np.diag(np.linalg.cholesky(np.eye(len(small)) + small)))))


def natural_prior(rank: int, width: float = 1.0) -> Array:
    """(r, r) root of the belief that base parameters are off by ``width`` of their natural sizes."""
    return np.eye(rank) / width


def greedy(roots: Sequence[Array], count: int, known: Array) -> list[int]:
    """Indices of ``count`` motions, best first, each the one that adds most to what is ``known`` (r, r) before it.

    log det is submodular, so the gain of a motion only falls as others are chosen: those whose earlier gain is below
    the best found now need not be tried again, and no choice changes by that.
    """
    chosen = list[int]()
    queue = [(-gain(known, root), k, 0) for k, root in enumerate(roots)]
    heapq.heapify(queue)
    while queue and len(chosen) < count:
        _, k, tried = heapq.heappop(queue)
        if tried == len(chosen):
            chosen.append(k)
            known = together(known, roots[k])
        else:
            heapq.heappush(queue, (-gain(known, roots[k]), k, len(chosen)))
    return chosen


def deviations(M: Array, possible: Subspace) -> Array:
    """(r,) standard deviation of each base parameter of ``possible.composition``, as a share of its natural size.

    M (r, r) is an upper triangle; inf everywhere if it is singular.
    """
    Z = possible.composition[1] * possible.scale
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    try:
        return np.asarray(np.linalg.norm(solve_triangular(M, (Z @ possible.V).T, trans="T"), axis=0))
    except LinAlgError:
        return np.full(len(Z), np.inf)


def link_conditions(R: Array, possible: Subspace, columns: Columns) -> dict[str, float]:
    """Body → condition number of the sub-regressor of its ten columns (Jovic III-A), in natural units.

    Of a body whose ten columns are dependent in any motion (the first of an arm turns about one axis) it is that of
    the combinations of them that the structure allows to be seen.
    """
    found = {}
    for name in columns.bodies:
        at = columns.body(name)
        mine = Subspace.of(possible.R[:, at], possible.scale[at])
        found[name] = condition(base_root(R[:, at], mine)) if mine.rank else float("inf")
    return found
