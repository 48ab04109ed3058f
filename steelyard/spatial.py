"""Orientations as unit quaternions, scalar last: x, y, z, w."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def continuous(quaternion: Array) -> Array:
    """(T, 4) the same orientations without changes of sign."""
    sign = np.cumprod(np.where(np.sum(quaternion[1:] * quaternion[:-1], axis=1) < 0, -1.0, 1.0))
    return np.asarray(quaternion * np.append(1.0, sign)[:, None])


def rotations(quaternion: Array) -> Array:
    """(T, 3, 3) of quaternions (T, 4) x, y, z, w of any length."""
    x, y, z, w = (quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)).T
    return np.stack(
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
         2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
         2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1,
    ).reshape(-1, 3, 3)  # fmt: skip
