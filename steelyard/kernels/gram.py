"""Products X Xᵀ of many small blocks at once, for which BLAS is slow.

An entry is a dot product of two lines, so nothing has to be copied: tiles of 4 × 4 entries are computed with sixteen
sums in registers, eight loads for sixteen multiply-adds. That takes 24 vector registers. On processors with 16 the
tiles are still faster for narrow blocks, and dsyrk computes the wide ones (``widest``).
"""

from __future__ import annotations

from steelyard.kernels.compiled import compiled
from steelyard.spatial import Array

NARROW = 48  # columns: up to this width the tiles are faster than dsyrk with 16 registers, too


def widest() -> int | None:
    """Return the widest block for which ``add`` is faster on this processor; None: any."""
    from llvmlite import binding

    return None if binding.get_host_cpu_features().get("avx512f", False) else NARROW


@compiled
def add(table: Array, operand: Array, out: Array) -> None:
    """Add X Xᵀ to the lower triangle of each block.

    A row of the table has the first line of X in the operand, the number of lines, and the block's index in ``out``.
    """
    K = operand.shape[1]
    for b in range(len(table)):
        first, m, start = table[b, 0], table[b, 1], table[b, 2]
        _add(operand[first : first + m].reshape(m * K), m, K, out[start : start + m * m])


@compiled
def _add(X: Array, m: int, K: int, out: Array) -> None:
    """One block of m lines of length K; tiles beyond the last line repeat it, and their entries are discarded."""
    for i in range(0, m, 4):
        i1, i2, i3 = min(i + 1, m - 1) * K, min(i + 2, m - 1) * K, min(i + 3, m - 1) * K
        A, B, C, D = X[i * K : i * K + K], X[i1 : i1 + K], X[i2 : i2 + K], X[i3 : i3 + K]
        for j in range(0, i + 1, 4):
            j1, j2, j3 = min(j + 1, m - 1) * K, min(j + 2, m - 1) * K, min(j + 3, m - 1) * K
            P, Q, R, S = X[j * K : j * K + K], X[j1 : j1 + K], X[j2 : j2 + K], X[j3 : j3 + K]
            ap = aq = ar = as_ = bp = bq = br = bs = cp = cq = cr = cs = dp = dq = dr = ds = 0.0
            for k in range(K):
                a, b, c, d, p, q, r, s = A[k], B[k], C[k], D[k], P[k], Q[k], R[k], S[k]
                ap, aq, ar, as_ = ap + a * p, aq + a * q, ar + a * r, as_ + a * s
                bp, bq, br, bs = bp + b * p, bq + b * q, br + b * r, bs + b * s
                cp, cq, cr, cs = cp + c * p, cq + c * q, cr + c * r, cs + c * s
                dp, dq, dr, ds = dp + d * p, dq + d * q, dr + d * r, ds + d * s
            sums = (ap, aq, ar, as_, bp, bq, br, bs, cp, cq, cr, cs, dp, dq, dr, ds)
            for u in range(4):  # of constant length, so that the sums stay in registers
                if i + u < m:
                    for v in range(4):
                        if j + v <= i + u:
                            out[(i + u) * m + j + v] += sums[4 * u + v]
