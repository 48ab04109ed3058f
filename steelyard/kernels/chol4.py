"""Matrices of order four: the upper triangular factor of a body's matrix, and symmetric changes relative to it.

In units of a body's mass m₀ and size s its matrix M (``compose/pseudo_inertia.py``) is U Uᵀ with U upper triangular
and √(m/m₀) as its last entry. A symmetric Y represents the change U Y Uᵀ of M; as a vector y of ten its off-diagonal
entries are multiplied by √2, so that ‖y‖ = ‖Y‖. Entries are ordered by columns of the upper half.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.spatial import Array

INSIDE = 1.5  # times the margin: a larger covariance is well inside the cone
HALF = float(np.sqrt(0.5))


@compiled
def _factor(U: Array, n: int) -> bool:
    """Replace the upper half of a matrix (n, n) by its factor U, U Uᵀ = matrix; False if it is not positive."""
    for j in range(n - 1, -1, -1):
        for i in range(j, -1, -1):
            s = U[i, j]
            for k in range(j + 1, n):
                s -= U[i, k] * U[j, k]
            if i < j:
                U[i, j] = s / U[j, j]
            elif s > 0.0:
                U[j, j] = np.sqrt(s)
            else:
                return False
    return True


@compiled
def root(theta: Array, body: Array, U: Array) -> float:
    """Write U (4, 4) of ten parameters and return (m − m₁)/m₀; zero if they are not well inside the cone.

    ``body``: mass m₀ and least mass m₁ in kg, size in m, margin.
    """
    mass, floor, size, margin = body[0], body[1], body[2], body[3]
    if not theta[0] > floor * (1 + 1e-6):
        return 0.0
    scale = 1.0 / (theta[0] * size * size)
    x, y, z = theta[1] / theta[0] / size, theta[2] / theta[0] / size, theta[3] / theta[0] / size
    half = 0.5 * (theta[4] + theta[6] + theta[9])
    for cut in (INSIDE * margin, margin):
        U[0, 0], U[0, 1] = (half - theta[4]) * scale - x * x - cut, -theta[5] * scale - x * y
        U[1, 1], U[0, 2] = (half - theta[6]) * scale - y * y - cut, -theta[7] * scale - x * z
        U[2, 2], U[1, 2] = (half - theta[9]) * scale - z * z - cut, -theta[8] * scale - y * z
        if not _factor(U, 3):
            return 0.0
    U[0, 3], U[1, 3], U[2, 3], U[3, 3] = x, y, z, 1.0
    unit = np.sqrt(theta[0] / mass)
    for i in range(4):
        for j in range(i, 4):
            U[i, j] *= unit
        for j in range(i):
            U[i, j] = 0.0
    return float((theta[0] - floor) / mass)


@compiled
def entries(U: Array, x: Array) -> None:
    """Write the entries x (10,) of M = U Uᵀ."""
    k = 0
    for b in range(4):
        for a in range(b + 1):
            t = 0.0
            for i in range(b, 4):
                t += U[a, i] * U[b, i]
            x[k] = t
            k += 1


@compiled
def parameters(x: Array, body: Array, out: Array) -> None:
    """Write the ten parameters of M's entries."""
    first, second = body[0] * body[2], body[0] * body[2] * body[2]
    more = body[3] * x[9]
    xx, yy, zz = x[0] + more, x[2] + more, x[5] + more
    out[0], out[1], out[2], out[3] = body[0] * x[9], first * x[6], first * x[7], first * x[8]
    out[4], out[6], out[9] = second * (yy + zz), second * (xx + zz), second * (xx + yy)
    out[5], out[7], out[8] = -second * x[1], -second * x[3], -second * x[4]


@compiled
def invert(U: Array, C: Array) -> None:
    """Write C = U⁻¹; entries below its diagonal are unchanged."""
    for j in range(4):
        C[j, j] = 1.0 / U[j, j]
        for i in range(j - 1, -1, -1):
            t = 0.0
            for k in range(i + 1, j + 1):
                t -= U[i, k] * C[k, j]
            C[i, j] = t / U[i, i]


@compiled
def matrix(y: Array, Y: Array) -> None:
    """Write the symmetric Y (4, 4) of the vector y (10,)."""
    k = 0
    for j in range(4):
        for i in range(j):
            Y[i, j] = Y[j, i] = HALF * y[k]
            k += 1
        Y[j, j] = y[k]
        k += 1


@compiled
def eigenvalues(Y: Array, w: Array) -> None:
    """Write the eigenvalues of a symmetric matrix, by Jacobi rotations in place; to six digits of the largest."""
    for _ in range(12):
        off, on = 0.0, 0.0
        for i in range(4):
            on += Y[i, i] * Y[i, i]
            for j in range(i):
                off += Y[i, j] * Y[i, j]
        if not off > 1e-12 * on:
            break
        for i in range(3):
            for j in range(i + 1, 4):
                if Y[i, j] != 0.0:
                    ratio = (Y[j, j] - Y[i, i]) / (2.0 * Y[i, j])
                    t = 1.0 / (abs(ratio) + np.sqrt(ratio * ratio + 1.0))
                    t = -t if ratio < 0.0 else t
                    cos = 1.0 / np.sqrt(t * t + 1.0)
                    sin = t * cos
                    for k in range(4):
                        Y[k, i], Y[k, j] = cos * Y[k, i] - sin * Y[k, j], sin * Y[k, i] + cos * Y[k, j]
                    for k in range(4):
                        Y[i, k], Y[j, k] = cos * Y[i, k] - sin * Y[j, k], sin * Y[i, k] + cos * Y[j, k]
    for i in range(4):
        w[i] = Y[i, i]


@compiled
def advance(U: Array, Y: Array, t: float, C: Array) -> bool:
    """Replace U by U C, C Cᵀ = 1 + tY; return False, U unchanged, if that is not positive."""
    for j in range(4):
        for i in range(j):
            C[i, j] = t * Y[i, j]
        C[j, j] = 1.0 + t * Y[j, j]
    if not _factor(C, 4):
        return False
    for i in range(4):
        for j in range(3, i - 1, -1):
            s = 0.0
            for k in range(i, j + 1):
                s += U[i, k] * C[k, j]
            U[i, j] = s
    return True
