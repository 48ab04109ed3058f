"""Symmetric 6×6 matrices, sixteen at a time: lower triangles by rows, each entry 16 lanes.

``inverse_root`` is M^-½ of M ≥ 1 by Denman and Beavers' iteration, Y ← ½(μY + (μZ)⁻¹) and Z ← ½(μZ + (μY)⁻¹) from
Y = M and Z = 1: Z tends to M^-½. The eigenvalues of (YZ)^½ begin within 1 … t = ‖M‖^½ and are within 1 … ½(t^½ + t^-½),
the next t, after a step with μ = t^-½; from t = 50, where a leg is as good as straight, six steps reach rounding.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.kernels.tree import LANES

Array = np.ndarray

L = LANES
SIX = 21 * L
STEPS = 6
ROOM = 4 * SIX + 2 * L  # what ``inverse_root`` works in


@compiled
def lower(M: Array, W: Array) -> None:
    """W = L⁻¹ of M = L Lᵀ."""
    for l in range(L):
        d0 = 1.0 / np.sqrt(M[l])
        l10 = M[L + l] * d0
        l20 = M[3 * L + l] * d0
        l30 = M[6 * L + l] * d0
        l40 = M[10 * L + l] * d0
        l50 = M[15 * L + l] * d0
        d1 = 1.0 / np.sqrt(M[2 * L + l] - l10 * l10)
        l21 = (M[4 * L + l] - l20 * l10) * d1
        l31 = (M[7 * L + l] - l30 * l10) * d1
        l41 = (M[11 * L + l] - l40 * l10) * d1
        l51 = (M[16 * L + l] - l50 * l10) * d1
        d2 = 1.0 / np.sqrt(M[5 * L + l] - l20 * l20 - l21 * l21)
        l32 = (M[8 * L + l] - l30 * l20 - l31 * l21) * d2
        l42 = (M[12 * L + l] - l40 * l20 - l41 * l21) * d2
        l52 = (M[17 * L + l] - l50 * l20 - l51 * l21) * d2
        d3 = 1.0 / np.sqrt(M[9 * L + l] - l30 * l30 - l31 * l31 - l32 * l32)
        l43 = (M[13 * L + l] - l40 * l30 - l41 * l31 - l42 * l32) * d3
        l53 = (M[18 * L + l] - l50 * l30 - l51 * l31 - l52 * l32) * d3
        d4 = 1.0 / np.sqrt(M[14 * L + l] - l40 * l40 - l41 * l41 - l42 * l42 - l43 * l43)
        l54 = (M[19 * L + l] - l50 * l40 - l51 * l41 - l52 * l42 - l53 * l43) * d4
        d5 = 1.0 / np.sqrt(M[20 * L + l] - l50 * l50 - l51 * l51 - l52 * l52 - l53 * l53 - l54 * l54)
        w10 = -d1 * (l10 * d0)
        w20 = -d2 * (l20 * d0 + l21 * w10)
        w30 = -d3 * (l30 * d0 + l31 * w10 + l32 * w20)
        w40 = -d4 * (l40 * d0 + l41 * w10 + l42 * w20 + l43 * w30)
        w50 = -d5 * (l50 * d0 + l51 * w10 + l52 * w20 + l53 * w30 + l54 * w40)
        w21 = -d2 * (l21 * d1)
        w31 = -d3 * (l31 * d1 + l32 * w21)
        w41 = -d4 * (l41 * d1 + l42 * w21 + l43 * w31)
        w51 = -d5 * (l51 * d1 + l52 * w21 + l53 * w31 + l54 * w41)
        w32 = -d3 * (l32 * d2)
        w42 = -d4 * (l42 * d2 + l43 * w32)
        w52 = -d5 * (l52 * d2 + l53 * w32 + l54 * w42)
        w43 = -d4 * (l43 * d3)
        w53 = -d5 * (l53 * d3 + l54 * w43)
        w54 = -d5 * (l54 * d4)
        W[l] = d0
        W[L + l], W[2 * L + l] = w10, d1
        W[3 * L + l], W[4 * L + l], W[5 * L + l] = w20, w21, d2
        W[6 * L + l], W[7 * L + l], W[8 * L + l], W[9 * L + l] = w30, w31, w32, d3
        W[10 * L + l], W[11 * L + l], W[12 * L + l], W[13 * L + l], W[14 * L + l] = w40, w41, w42, w43, d4
        W[15 * L + l], W[16 * L + l], W[17 * L + l], W[18 * L + l], W[19 * L + l], W[20 * L + l] = (
            w50,
            w51,
            w52,
            w53,
            w54,
            d5,
        )


@compiled
def _product(W: Array, V: Array) -> None:
    """V = WᵀW of a lower triangle."""
    for l in range(L):
        V[l] = (
            W[l] * W[l]
            + W[L + l] * W[L + l]
            + W[3 * L + l] * W[3 * L + l]
            + W[6 * L + l] * W[6 * L + l]
            + W[10 * L + l] * W[10 * L + l]
            + W[15 * L + l] * W[15 * L + l]
        )
        V[L + l] = (
            W[2 * L + l] * W[L + l]
            + W[4 * L + l] * W[3 * L + l]
            + W[7 * L + l] * W[6 * L + l]
            + W[11 * L + l] * W[10 * L + l]
            + W[16 * L + l] * W[15 * L + l]
        )
        V[2 * L + l] = (
            W[2 * L + l] * W[2 * L + l]
            + W[4 * L + l] * W[4 * L + l]
            + W[7 * L + l] * W[7 * L + l]
            + W[11 * L + l] * W[11 * L + l]
            + W[16 * L + l] * W[16 * L + l]
        )
        V[3 * L + l] = (
            W[5 * L + l] * W[3 * L + l]
            + W[8 * L + l] * W[6 * L + l]
            + W[12 * L + l] * W[10 * L + l]
            + W[17 * L + l] * W[15 * L + l]
        )
        V[4 * L + l] = (
            W[5 * L + l] * W[4 * L + l]
            + W[8 * L + l] * W[7 * L + l]
            + W[12 * L + l] * W[11 * L + l]
            + W[17 * L + l] * W[16 * L + l]
        )
        V[5 * L + l] = (
            W[5 * L + l] * W[5 * L + l]
            + W[8 * L + l] * W[8 * L + l]
            + W[12 * L + l] * W[12 * L + l]
            + W[17 * L + l] * W[17 * L + l]
        )
        V[6 * L + l] = W[9 * L + l] * W[6 * L + l] + W[13 * L + l] * W[10 * L + l] + W[18 * L + l] * W[15 * L + l]
        V[7 * L + l] = W[9 * L + l] * W[7 * L + l] + W[13 * L + l] * W[11 * L + l] + W[18 * L + l] * W[16 * L + l]
        V[8 * L + l] = W[9 * L + l] * W[8 * L + l] + W[13 * L + l] * W[12 * L + l] + W[18 * L + l] * W[17 * L + l]
        V[9 * L + l] = W[9 * L + l] * W[9 * L + l] + W[13 * L + l] * W[13 * L + l] + W[18 * L + l] * W[18 * L + l]
        V[10 * L + l] = W[14 * L + l] * W[10 * L + l] + W[19 * L + l] * W[15 * L + l]
        V[11 * L + l] = W[14 * L + l] * W[11 * L + l] + W[19 * L + l] * W[16 * L + l]
        V[12 * L + l] = W[14 * L + l] * W[12 * L + l] + W[19 * L + l] * W[17 * L + l]
        V[13 * L + l] = W[14 * L + l] * W[13 * L + l] + W[19 * L + l] * W[18 * L + l]
        V[14 * L + l] = W[14 * L + l] * W[14 * L + l] + W[19 * L + l] * W[19 * L + l]
        V[15 * L + l] = W[20 * L + l] * W[15 * L + l]
        V[16 * L + l] = W[20 * L + l] * W[16 * L + l]
        V[17 * L + l] = W[20 * L + l] * W[17 * L + l]
        V[18 * L + l] = W[20 * L + l] * W[18 * L + l]
        V[19 * L + l] = W[20 * L + l] * W[19 * L + l]
        V[20 * L + l] = W[20 * L + l] * W[20 * L + l]


@compiled
def size(M: Array, out: Array) -> None:
    """Frobenius norm."""
    for l in range(L):
        out[l] = 0.0
    for i in range(6):
        for j in range(i + 1):
            entry, weight = M[(i * (i + 1) // 2 + j) * L :], 2.0 if j < i else 1.0
            for l in range(L):
                out[l] += weight * entry[l] * entry[l]
    for l in range(L):
        out[l] = np.sqrt(out[l])


@compiled
def _halfway(Y: Array, V: Array, scale: Array) -> None:
    """Y ← ½(μY + V/μ)."""
    for k in range(21):
        y, v = Y[k * L :], V[k * L :]
        for l in range(L):
            y[l] = 0.5 * (scale[l] * y[l] + scale[L + l] * v[l])


@compiled
def inverse_root(M: Array, work: Array) -> None:
    """M^-½ in the first 21·16 of ``work``; M and its size, behind it, are lost."""
    Z, V, U, W = work[:SIX], work[SIX : 2 * SIX], work[2 * SIX : 3 * SIX], work[3 * SIX : 4 * SIX]
    scale, t = work[4 * SIX :], M[SIX:]
    Z[:] = 0.0
    for i in range(6):
        at = (i * (i + 3) // 2) * L
        Z[at : at + L] = 1.0
    for l in range(L):
        t[l] = np.sqrt(t[l])
    for _ in range(STEPS):
        for l in range(L):
            r = np.sqrt(t[l])
            scale[l], scale[L + l], t[l] = 1.0 / r, r, 0.5 * (r + 1.0 / r)
        lower(M, W)
        _product(W, V)
        lower(Z, W)
        _product(W, U)
        _halfway(M, U, scale)
        _halfway(Z, V, scale)
