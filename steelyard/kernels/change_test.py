"""Whether the last windows are of another robot than all before: the rule, and its statistic from Gram matrices.

Matrices are those of [Y z], 11 × 11, flat; the same statistic from triangles of any size is in ``online/running.py``.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.kernels.state_layout import N1

Array = np.ndarray

LEARNED, CHANGED, NOT_HERE = 1, 2, -1  # what a window came to; the last: nothing was done, another way has to be taken
DEPENDENT = 1e-12  # of a diagonal entry: a pivot below this is rounding


@compiled
def judge(value: float, freedom: int, thresholds: Array, caution: float, outlying: float, test: Array) -> bool:
    """Whether χ² of this freedom is beyond its limit, which grows with its running mean; ``test`` (3,) goes on."""
    test[1], test[2] = value, thresholds[freedom] * max(test[0], 1.0)
    if value > test[2]:
        return True
    test[0] += caution * (min(value / max(freedom, 1), outlying) - test[0])
    return False


@compiled
def _eliminate(A: Array) -> tuple[float, int]:
    """Gauss on ten equations [G g] in rows of 16, G symmetric: gᵀG⁺g, and how many pivots were not rounding."""
    total, rank = 0.0, 0
    for j in range(10):
        top = A[16 * j : 16 * j + 16]
        pivot = top[j]
        inverse = 0.0
        if pivot > DEPENDENT * A[160 + j]:
            inverse = 1.0 / pivot
            rank += 1
        total += top[10] * top[10] * inverse
        for i in range(j + 1, 10):
            row = A[16 * i : 16 * i + 16]
            f = top[i] * inverse
            for c in range(len(row)):  # of no length known beforehand: else it is unrolled, and not packed
                row[c] -= f * top[c]
        top[11] = inverse
    return total, rank


@compiled
def _rows_of_16(G: Array, A: Array) -> None:
    """[G g] of a Gram matrix (121) in rows of 16; its diagonal behind them."""
    for i in range(10):
        for c in range(N1):
            A[16 * i + c] = G[N1 * i + c]
        for c in range(N1, 16):
            A[16 * i + c] = 0.0
        A[160 + i] = G[N1 * i + i]


@compiled
def settle(prior: Array, old: Array, before: Array, optimum: Array, A: Array) -> None:
    """What was known before the next windows, prior included, and its optimum (10,)."""
    for i in range(N1 * N1):
        before[i] = prior[i] + old[i]
    _rows_of_16(before, A)
    _eliminate(A)
    for i in range(9, -1, -1):
        t = A[16 * i + 10]
        for m in range(i + 1, 10):
            t -= A[16 * i + m] * optimum[m]
        optimum[i] = t * A[16 * i + 11]


@compiled
def statistic(before: Array, optimum: Array, recent: Array, A: Array, B: Array) -> tuple[float, int]:
    """χ² of the recent Gram matrix against all before, g = c − G θ: gᵀG⁺g − gᵀ(G_before + G)⁻¹g; and its freedom."""
    _rows_of_16(recent, B)
    _rows_of_16(before, A)
    for i in range(10):
        t = B[16 * i + 10]
        for m in range(10):
            t -= B[16 * i + m] * optimum[m]
        B[16 * i + 10] = t
        A[16 * i + 10] = 0.0
        A[160 + i] += B[160 + i]
    for i in range(160):
        A[i] += B[i]
    less, _ = _eliminate(A)
    more, freedom = _eliminate(B)
    return more - less, freedom
