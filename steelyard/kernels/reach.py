"""Inverse kinematics of a leg of six revolute joints, sample by sample, by damped Newton steps.

The pose of the end frame in the frame of the leg's root is R, p; with z_k the axes and x_k the positions of the joints,
J = [z_k × (p − x_k); z_k], and J δq = (p* − p, R·log(Rᵀ R*)) for the target pose R*, p*.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled, copy
from steelyard.spatial import Array

JOINTS = 6
STEPS = 25
NEAR = 1e-11  # m and rad: tolerance of the pose
LONGEST = 0.3  # rad: longest step


@compiled
def _forward(chain: Array, q: Array, R: Array, p: Array, axes: Array, places: Array, spare: Array) -> None:
    """Write pose R, p of the end frame, axes and positions (6, 3) of joints; ``chain`` (7, 15): R, p, axis."""
    S, B = spare[:3], spare[3:]
    for i in range(3):
        p[i] = 0.0
        for j in range(3):
            R[i, j] = 1.0 if i == j else 0.0
    for k in range(JOINTS + 1):
        c = chain[k]
        for i in range(3):
            p[i] += R[i, 0] * c[9] + R[i, 1] * c[10] + R[i, 2] * c[11]
        for i in range(3):
            for j in range(3):
                B[i, j] = R[i, 0] * c[j] + R[i, 1] * c[3 + j] + R[i, 2] * c[6 + j]
        if k == JOINTS:
            for i in range(3):
                copy(B[i], R[i])
            return
        x, y, z = c[12], c[13], c[14]
        s, u = np.sin(q[k]), 1.0 - np.cos(q[k])
        S[0, 0], S[0, 1], S[0, 2] = 1.0 - u * (y * y + z * z), u * x * y - s * z, u * x * z + s * y
        S[1, 0], S[1, 1], S[1, 2] = u * x * y + s * z, 1.0 - u * (x * x + z * z), u * y * z - s * x
        S[2, 0], S[2, 1], S[2, 2] = u * x * z - s * y, u * y * z + s * x, 1.0 - u * (x * x + y * y)
        for i in range(3):
            axes[k, i] = B[i, 0] * x + B[i, 1] * y + B[i, 2] * z
            places[k, i] = p[i]
            for j in range(3):
                R[i, j] = B[i, 0] * S[0, j] + B[i, 1] * S[1, j] + B[i, 2] * S[2, j]


@compiled
def _solve(A: Array, b: Array) -> None:
    """Replace b (6,) by A⁻¹b, by Gaussian elimination with row pivots."""
    for k in range(JOINTS):
        best = k
        for i in range(k + 1, JOINTS):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if best != k:
            for j in range(JOINTS):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            b[k], b[best] = b[best], b[k]
        pivot = A[k, k] if abs(A[k, k]) > 1e-9 else 1e-9
        for i in range(k + 1, JOINTS):
            f = A[i, k] / pivot
            for j in range(k, JOINTS):
                A[i, j] -= f * A[k, j]
            b[i] -= f * b[k]
    for k in range(JOINTS - 1, -1, -1):
        s = b[k]
        for j in range(k + 1, JOINTS):
            s -= A[k, j] * b[j]
        pivot = A[k, k] if abs(A[k, k]) > 1e-9 else 1e-9
        b[k] = s / pivot


def reach(chain: Array, wanted: Array, q: Array, left: Array) -> None:
    """Write joint positions q (T, 6) for target poses (T, 12: R by rows, p), and the remaining errors ``left`` (T,).

    Newton's method starts at the given q; if that fails, at the solution of the preceding sample. A sample out of reach
    keeps that.
    """
    _reach(chain, wanted, q, left, np.empty((10 + 2 * JOINTS, 3)), np.empty((JOINTS + 2, JOINTS)))


@compiled
def _reach(chain: Array, wanted: Array, q: Array, left: Array, frames: Array, equations: Array) -> None:
    spare, R, p, axes, places = frames[:6], frames[6:9], frames[9], frames[10 : 10 + JOINTS], frames[10 + JOINTS :]
    J, e, x = equations[:JOINTS], equations[JOINTS], equations[JOINTS + 1]
    for t in range(len(q)):
        w = wanted[t]
        for attempt in range(2):
            copy(q[t - 1 if attempt == 1 and t > 0 else t], x)
            for _ in range(STEPS):
                _forward(chain, x, R, p, axes, places, spare)
                for i in range(3):
                    e[i] = w[9 + i] - p[i]
                # R* Rᵀ as a rotation vector: by the sine of the skew part, which suffices near the target
                for i in range(3):
                    j, k = (i + 1) % 3, (i + 2) % 3
                    up = w[3 * k] * R[j, 0] + w[3 * k + 1] * R[j, 1] + w[3 * k + 2] * R[j, 2]
                    down = w[3 * j] * R[k, 0] + w[3 * j + 1] * R[k, 1] + w[3 * j + 2] * R[k, 2]
                    e[3 + i] = 0.5 * (up - down)
                off = 0.0
                for i in range(6):
                    off = max(off, abs(e[i]))
                left[t] = off
                if off < NEAR:
                    break
                for k in range(JOINTS):
                    a, b, c = axes[k, 0], axes[k, 1], axes[k, 2]
                    u, v, z = p[0] - places[k, 0], p[1] - places[k, 1], p[2] - places[k, 2]
                    J[0, k], J[1, k], J[2, k] = b * z - c * v, c * u - a * z, a * v - b * u
                    J[3, k], J[4, k], J[5, k] = a, b, c
                _solve(J, e)
                longest = 0.0
                for k in range(JOINTS):
                    longest = max(longest, abs(e[k]))
                shrink = LONGEST / longest if longest > LONGEST else 1.0
                for k in range(JOINTS):
                    x[k] += shrink * e[k]
            if left[t] < 1e-8:
                copy(x, q[t])
                break
        else:  # out of reach
            if t > 0:
                copy(q[t - 1], q[t])
