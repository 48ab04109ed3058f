"""A causal low-pass over samples, with the first two derivatives: x ← Φ x + Γ₀ u_before + Γ₁ u, a channel a lane."""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled

Array = np.ndarray


@compiled
def run(step: Array, state: Array, values: Array, out: Array) -> None:
    """Filter ``values`` (T, C) into ``out`` (T, 3, C): the signal, its derivative, its second derivative.

    ``step`` (3, 5) is [Φ Γ₀ Γ₁]; ``state`` (4, C), the three outputs and the last value, is brought up to date.
    """
    T, C = values.shape
    for t in range(T):
        for c in range(C):
            x, v, a, before, now = state[0, c], state[1, c], state[2, c], state[3, c], values[t, c]
            state[3, c] = now
            for i in range(3):
                y = step[i, 0] * x + step[i, 1] * v + step[i, 2] * a + step[i, 3] * before + step[i, 4] * now
                state[i, c] = y
                out[t, i, c] = y


@compiled
def tilt(gain: float, rate: float, up: Array, gyro: Array, acc: Array, out: Array) -> None:
    """Follow the upward direction (3,) by gyro and proper acceleration (T, 3), which is brought up to date."""
    for t in range(len(gyro)):
        x, y, z = up[0], up[1], up[2]
        wx, wy, wz = gyro[t, 0] / rate, gyro[t, 1] / rate, gyro[t, 2] / rate
        up[0] = (1 - gain) * (x - (wy * z - wz * y)) + gain * acc[t, 0]
        up[1] = (1 - gain) * (y - (wz * x - wx * z)) + gain * acc[t, 1]
        up[2] = (1 - gain) * (z - (wx * y - wy * x)) + gain * acc[t, 2]
        length = np.sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2])
        for i in range(3):
            up[i] /= length
            out[t, i] = up[i]
