"""Symmetric 6×6 matrices, sixteen at a time, as blocks [P Q; Qᵀ R]: P 6, Q 9, R 6 entries, each 16 lanes.

``inverse_root`` computes M^-½ of M ≥ 1 by the Denman–Beavers iteration M ← (2 + M + M⁻¹)/4, Z ← Z(1 + M⁻¹)/2 from Z =
1, M scaled (Newton's method): all 16 lanes take the same few steps.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.kernels.tree import LANES
from steelyard.spatial import Array

L = LANES
SIX = 21 * L
SETTLED = 1e-6  # sum of the traces of M − 1 over all lanes: the error after the next step is an eighth of its square
STEPS = 8
PLACE = np.array(
    [
        [0, 1, 2, 6, 7, 8],
        [1, 3, 4, 9, 10, 11],
        [2, 4, 5, 12, 13, 14],
        [6, 9, 12, 15, 16, 17],
        [7, 10, 13, 16, 18, 19],
        [8, 11, 14, 17, 19, 20],
    ]
)  # of each entry
WEIGHT = np.array([1.0, 2, 2, 1, 2, 1, *[2] * 9, 1, 2, 2, 1, 2, 1])  # multiplicity of each entry


@compiled
def identity(scale: float, M: Array) -> None:
    """Set M = scale · 1."""
    for k in range(SIX):
        M[k] = 0.0
    for i in range(6):
        diagonal = M[PLACE[i, i] * L :]
        for l in range(L):
            diagonal[l] = scale


@compiled
def size(M: Array, out: Array) -> None:
    """Write the Frobenius norm."""
    for l in range(L):
        out[l] = 0.0
    for k in range(21):
        entry, weight = M[k * L : (k + 1) * L], WEIGHT[k]
        for l in range(L):
            out[l] += weight * entry[l] * entry[l]
    for l in range(L):
        out[l] = np.sqrt(out[l])


@compiled
def _inverse(
    a: float, b: float, c: float, d: float, e: float, f: float
) -> tuple[float, float, float, float, float, float]:
    """Return the inverse of the symmetric [[a b c], [b d e], [c e f]]."""
    u, v, w = d * f - e * e, c * e - b * f, b * e - c * d
    s = 1.0 / (a * u + b * v + c * w)
    return s * u, s * v, s * w, s * (a * f - c * c), s * (b * c - a * e), s * (a * d - b * b)


@compiled
def _invert(M: Array, V: Array) -> None:
    """Write V = M⁻¹ by blocks: with G = P⁻¹Q and C = (R − QᵀG)⁻¹ it is [P⁻¹ + GCGᵀ, −GC; ·, C]."""
    for l in range(L):
        a, b, c, d, e, f = _inverse(M[l], M[L + l], M[2 * L + l], M[3 * L + l], M[4 * L + l], M[5 * L + l])
        q0, q1, q2 = M[6 * L + l], M[7 * L + l], M[8 * L + l]
        q3, q4, q5 = M[9 * L + l], M[10 * L + l], M[11 * L + l]
        q6, q7, q8 = M[12 * L + l], M[13 * L + l], M[14 * L + l]
        g0, g1, g2 = a * q0 + b * q3 + c * q6, a * q1 + b * q4 + c * q7, a * q2 + b * q5 + c * q8
        g3, g4, g5 = b * q0 + d * q3 + e * q6, b * q1 + d * q4 + e * q7, b * q2 + d * q5 + e * q8
        g6, g7, g8 = c * q0 + e * q3 + f * q6, c * q1 + e * q4 + f * q7, c * q2 + e * q5 + f * q8
        r, s, t, u, v, w = _inverse(
            M[15 * L + l] - q0 * g0 - q3 * g3 - q6 * g6,
            M[16 * L + l] - q0 * g1 - q3 * g4 - q6 * g7,
            M[17 * L + l] - q0 * g2 - q3 * g5 - q6 * g8,
            M[18 * L + l] - q1 * g1 - q4 * g4 - q7 * g7,
            M[19 * L + l] - q1 * g2 - q4 * g5 - q7 * g8,
            M[20 * L + l] - q2 * g2 - q5 * g5 - q8 * g8,
        )
        h0, h1, h2 = g0 * r + g1 * s + g2 * t, g0 * s + g1 * u + g2 * v, g0 * t + g1 * v + g2 * w
        h3, h4, h5 = g3 * r + g4 * s + g5 * t, g3 * s + g4 * u + g5 * v, g3 * t + g4 * v + g5 * w
        h6, h7, h8 = g6 * r + g7 * s + g8 * t, g6 * s + g7 * u + g8 * v, g6 * t + g7 * v + g8 * w
        V[l], V[L + l] = a + h0 * g0 + h1 * g1 + h2 * g2, b + h0 * g3 + h1 * g4 + h2 * g5
        V[2 * L + l], V[3 * L + l] = c + h0 * g6 + h1 * g7 + h2 * g8, d + h3 * g3 + h4 * g4 + h5 * g5
        V[4 * L + l], V[5 * L + l] = e + h3 * g6 + h4 * g7 + h5 * g8, f + h6 * g6 + h7 * g7 + h8 * g8
        V[6 * L + l], V[7 * L + l], V[8 * L + l] = -h0, -h1, -h2
        V[9 * L + l], V[10 * L + l], V[11 * L + l] = -h3, -h4, -h5
        V[12 * L + l], V[13 * L + l], V[14 * L + l] = -h6, -h7, -h8
        V[15 * L + l], V[16 * L + l], V[17 * L + l] = r, s, t
        V[18 * L + l], V[19 * L + l], V[20 * L + l] = u, v, w


@compiled
def _times(Z: Array, V: Array, out: Array) -> None:
    """Write out = (Z + ZV)/2 of commuting symmetric matrices."""
    for l in range(L):
        z0, z1, z2, z3, z4, z5 = Z[l], Z[L + l], Z[2 * L + l], Z[3 * L + l], Z[4 * L + l], Z[5 * L + l]
        y0, y1, y2 = Z[6 * L + l], Z[7 * L + l], Z[8 * L + l]
        y3, y4, y5 = Z[9 * L + l], Z[10 * L + l], Z[11 * L + l]
        y6, y7, y8 = Z[12 * L + l], Z[13 * L + l], Z[14 * L + l]
        x0, x1, x2, x3 = Z[15 * L + l], Z[16 * L + l], Z[17 * L + l], Z[18 * L + l]
        x4, x5 = Z[19 * L + l], Z[20 * L + l]
        a, b, c, d, e, f = V[l], V[L + l], V[2 * L + l], V[3 * L + l], V[4 * L + l], V[5 * L + l]
        q0, q1, q2 = V[6 * L + l], V[7 * L + l], V[8 * L + l]
        q3, q4, q5 = V[9 * L + l], V[10 * L + l], V[11 * L + l]
        q6, q7, q8 = V[12 * L + l], V[13 * L + l], V[14 * L + l]
        r, s, t, u, v, w = V[15 * L + l], V[16 * L + l], V[17 * L + l], V[18 * L + l], V[19 * L + l], V[20 * L + l]
        out[l] = 0.5 * (z0 + z0 * a + z1 * b + z2 * c + y0 * q0 + y1 * q1 + y2 * q2)
        out[L + l] = 0.5 * (z1 + z0 * b + z1 * d + z2 * e + y0 * q3 + y1 * q4 + y2 * q5)
        out[2 * L + l] = 0.5 * (z2 + z0 * c + z1 * e + z2 * f + y0 * q6 + y1 * q7 + y2 * q8)
        out[3 * L + l] = 0.5 * (z3 + z1 * b + z3 * d + z4 * e + y3 * q3 + y4 * q4 + y5 * q5)
        out[4 * L + l] = 0.5 * (z4 + z1 * c + z3 * e + z4 * f + y3 * q6 + y4 * q7 + y5 * q8)
        out[5 * L + l] = 0.5 * (z5 + z2 * c + z4 * e + z5 * f + y6 * q6 + y7 * q7 + y8 * q8)
        out[6 * L + l] = 0.5 * (y0 + z0 * q0 + z1 * q3 + z2 * q6 + y0 * r + y1 * s + y2 * t)
        out[7 * L + l] = 0.5 * (y1 + z0 * q1 + z1 * q4 + z2 * q7 + y0 * s + y1 * u + y2 * v)
        out[8 * L + l] = 0.5 * (y2 + z0 * q2 + z1 * q5 + z2 * q8 + y0 * t + y1 * v + y2 * w)
        out[9 * L + l] = 0.5 * (y3 + z1 * q0 + z3 * q3 + z4 * q6 + y3 * r + y4 * s + y5 * t)
        out[10 * L + l] = 0.5 * (y4 + z1 * q1 + z3 * q4 + z4 * q7 + y3 * s + y4 * u + y5 * v)
        out[11 * L + l] = 0.5 * (y5 + z1 * q2 + z3 * q5 + z4 * q8 + y3 * t + y4 * v + y5 * w)
        out[12 * L + l] = 0.5 * (y6 + z2 * q0 + z4 * q3 + z5 * q6 + y6 * r + y7 * s + y8 * t)
        out[13 * L + l] = 0.5 * (y7 + z2 * q1 + z4 * q4 + z5 * q7 + y6 * s + y7 * u + y8 * v)
        out[14 * L + l] = 0.5 * (y8 + z2 * q2 + z4 * q5 + z5 * q8 + y6 * t + y7 * v + y8 * w)
        out[15 * L + l] = 0.5 * (x0 + y0 * q0 + y3 * q3 + y6 * q6 + x0 * r + x1 * s + x2 * t)
        out[16 * L + l] = 0.5 * (x1 + y0 * q1 + y3 * q4 + y6 * q7 + x0 * s + x1 * u + x2 * v)
        out[17 * L + l] = 0.5 * (x2 + y0 * q2 + y3 * q5 + y6 * q8 + x0 * t + x1 * v + x2 * w)
        out[18 * L + l] = 0.5 * (x3 + y1 * q1 + y4 * q4 + y7 * q7 + x1 * s + x3 * u + x4 * v)
        out[19 * L + l] = 0.5 * (x4 + y1 * q2 + y4 * q5 + y7 * q8 + x1 * t + x3 * v + x4 * w)
        out[20 * L + l] = 0.5 * (x5 + y2 * q2 + y5 * q5 + y8 * q8 + x2 * t + x4 * v + x5 * w)


@compiled
def _mean(V: Array, M: Array) -> float:
    """Set M to (2 + M + V)/4; return a bound on M − 1, its trace, since no eigenvalue is below 1."""
    for l in range(21 * L):
        M[l] = 0.25 * (M[l] + V[l])
    beyond = 0.0
    for l in range(L):
        a, b, c = M[l] + 0.5, M[3 * L + l] + 0.5, M[5 * L + l] + 0.5
        d, e, f = M[15 * L + l] + 0.5, M[18 * L + l] + 0.5, M[20 * L + l] + 0.5
        M[l], M[3 * L + l], M[5 * L + l] = a, b, c
        M[15 * L + l], M[18 * L + l], M[20 * L + l] = d, e, f
        beyond += (a - 1.0) + (b - 1.0) + (c - 1.0) + (d - 1.0) + (e - 1.0) + (f - 1.0)
    return beyond


@compiled
def inverse_root(M: Array, norm: Array, Z: Array, V: Array, spare: Array) -> bool:
    """Write Z = M^-½ of M ≥ 1 of these norms (16); M is overwritten. False if the iteration does not converge."""
    largest = 1.0
    for l in range(L):
        largest = max(largest, norm[l])
    middle = 1.0 / np.sqrt(largest)  # eigenvalues lie between 1 and the norm
    for k in range(SIX):
        M[k] *= middle
    identity(np.sqrt(middle), spare)
    for _ in range(STEPS):  # two at a time, between two buffers
        _invert(M, V)
        _times(spare, V, Z)
        beyond = _mean(V, M)
        _invert(M, V)
        _times(Z, V, spare)
        if beyond < SETTLED:
            for k in range(SIX):
                Z[k] = spare[k]
            return True
        if _mean(V, M) < SETTLED:
            _invert(M, V)
            _times(spare, V, Z)
            return True
    return False
