"""Causal low-pass filter with the first two derivatives: x ← Φ x + Γ₀ u_before + Γ₁ u, one lane per channel."""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.spatial import Array


@compiled
def orient(values: Array, at: int, last: Array) -> None:
    """Normalise quaternions, four columns of values (T, C), with signs continuous with the preceding sample (C,)."""
    for t in range(len(values)):
        u, before = values[t], values[t - 1] if t else last
        square, along = 0.0, 0.0
        for i in range(at, at + 4):
            square += u[i] * u[i]
            along += u[i] * before[i]
        scale = (1.0 if along >= 0.0 else -1.0) / np.sqrt(square)
        for i in range(at, at + 4):
            u[i] *= scale


@compiled
def run(step: Array, state: Array, values: Array, out: Array) -> None:
    """Filter ``values`` (T, C) into ``out`` (T, 3, C): the signal, its derivative, its second derivative.

    ``step`` (3, 5) is [Φ Γ₀ Γ₁]; ``state`` (4, C), the three outputs and the last value, is updated.
    """
    T, C = values.shape
    a0, a1, a2, a3, a4 = step[0, 0], step[0, 1], step[0, 2], step[0, 3], step[0, 4]
    b0, b1, b2, b3, b4 = step[1, 0], step[1, 1], step[1, 2], step[1, 3], step[1, 4]
    c0, c1, c2, c3, c4 = step[2, 0], step[2, 1], step[2, 2], step[2, 3], step[2, 4]
    s, flat = state.reshape(state.size), out.reshape(out.size)  # few arrays: with more the loop does not vectorise
    for t in range(T):
        u, o = values[t], flat[3 * C * t : 3 * C * (t + 1)]
        for c in range(C):
            x, v, a, before, now = s[c], s[C + c], s[2 * C + c], s[3 * C + c], u[c]
            p = a0 * x + a1 * v + a2 * a + a3 * before + a4 * now
            q = b0 * x + b1 * v + b2 * a + b3 * before + b4 * now
            r = c0 * x + c1 * v + c2 * a + c3 * before + c4 * now
            s[c], s[C + c], s[2 * C + c], s[3 * C + c] = p, q, r, now
            o[c], o[C + c], o[2 * C + c] = p, q, r


@compiled
def follow(gain: float, up: Array, turn: tuple[float, float, float], felt: tuple[float, float, float]) -> None:
    """Update the upward direction (3,) by a rotation of the base, and towards the proper acceleration in g."""
    x, y, z = up[0], up[1], up[2]
    wx, wy, wz = turn
    up[0] = (1 - gain) * (x - (wy * z - wz * y)) + gain * felt[0]
    up[1] = (1 - gain) * (y - (wz * x - wx * z)) + gain * felt[1]
    up[2] = (1 - gain) * (z - (wx * y - wy * x)) + gain * felt[2]
    length = np.sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2])
    for i in range(3):
        up[i] /= length


@compiled
def tilt(gain: float, rate: float, up: Array, gyro: Array, acc: Array, out: Array) -> None:
    """Track (and update) the upward direction ``up`` (3,) by gyro in rad/s and proper acceleration in g (T, 3)."""
    for t in range(len(gyro)):
        w, a = gyro[t], acc[t]
        follow(gain, up, (w[0] / rate, w[1] / rate, w[2] / rate), (a[0], a[1], a[2]))
        for i in range(3):
            out[t, i] = up[i]
