"""The change test: whether the last windows fit the same robot as all before; its rule and its statistic.

With G and c the Gram matrix and right-hand side of the last windows' rows, θ the optimum of all before and H its
matrix, prior included,

    g = c − G θ,    χ² = gᵀ G⁺ g − gᵀ (H + G)⁻¹ g

has the mean of as many squares as G has rank, if nothing changed and the rows' noise is as estimated. A load that is
picked up makes it large. Gram matrices are those of [Y z], (n + 1)², flat; rooms for elimination have n + 1 rows of
``row_width(n)`` numbers.
"""

from __future__ import annotations

from steelyard.kernels.compiled import compiled
from steelyard.spatial import Array

LEARNED, CHANGED = 1, 2  # outcome of a window
NOT_HANDLED = -1  # nothing was done: the general path has to take the window
DEPENDENT = 1e-12  # of a diagonal entry: a pivot below this is rounding


def row_width(n: int) -> int:
    """Numbers in a row of the equations: n, the right-hand side and a pivot, in whole packs of 16."""
    return -(-(n + 2) // 16) * 16


@compiled
def judge(value: float, freedom: int, thresholds: Array, caution: float, outlying: float, test: Array) -> bool:
    """Whether χ² of this freedom is beyond its limit, which grows with its running mean; updates ``test`` (3,)."""
    test[1], test[2] = value, thresholds[freedom] * max(test[0], 1.0)
    if value > test[2]:
        return True
    test[0] += caution * (min(value / max(freedom, 1), outlying) - test[0])
    return False


@compiled
def tick(clock: Array, span: int) -> bool:
    """Count a window, in the recent part and since the last change; whether enough came before it to test it."""
    clock[0] += 1
    clock[1] += 1
    return bool(clock[1] > span)


@compiled
def _eliminate(A: Array, n: int) -> tuple[float, int]:
    """Eliminate n equations [G g], G symmetric; return gᵀG⁺g and the number of pivots above rounding."""
    total, rank = 0.0, 0
    for j in range(n):
        top = A[j]
        pivot = top[j]
        inverse = 0.0
        if pivot > DEPENDENT * A[n, j]:
            inverse = 1.0 / pivot
            rank += 1
        total += top[n] * top[n] * inverse
        for i in range(j + 1, n):
            row = A[i]
            f = top[i] * inverse
            for c in range(len(row)):  # of no length known beforehand: else it is unrolled, and not packed
                row[c] -= f * top[c]
        top[n + 1] = inverse
    return total, rank


@compiled
def _spread(G: Array, n: int, A: Array) -> None:
    """Write [G g] of a flat Gram matrix as rows, and its diagonal as the row behind them."""
    for i in range(n):
        for c in range(n + 1):
            A[i, c] = G[(n + 1) * i + c]
        for c in range(n + 1, A.shape[1]):
            A[i, c] = 0.0
        A[n, i] = G[(n + 1) * i + i]


@compiled
def settle(prior: Array, old: Array, before: Array, optimum: Array, A: Array) -> None:
    """Write the Gram matrix of prior and older windows, and its optimum (n,)."""
    n = len(optimum)
    for i in range((n + 1) * (n + 1)):
        before[i] = prior[i] + old[i]
    _spread(before, n, A)
    _eliminate(A, n)
    for i in range(n - 1, -1, -1):
        t = A[i, n]
        for m in range(i + 1, n):
            t -= A[i, m] * optimum[m]
        optimum[i] = t * A[i, n + 1]


@compiled
def statistic(before: Array, optimum: Array, recent: Array, A: Array, B: Array) -> tuple[float, int]:
    """Return χ² = gᵀG⁺g − gᵀ(G_before + G)⁻¹g of the recent Gram matrix, g = c − G θ, and its degrees of freedom."""
    n = len(optimum)
    _spread(recent, n, B)
    _spread(before, n, A)
    for i in range(n):
        t = B[i, n]
        for m in range(n):
            t -= B[i, m] * optimum[m]
        B[i, n] = t
        A[i, n] = 0.0
        A[n, i] += B[n, i]
        for c in range(A.shape[1]):
            A[i, c] += B[i, c]
    less, _ = _eliminate(A, n)
    more, freedom = _eliminate(B, n)
    return more - less, freedom
