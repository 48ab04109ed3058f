"""Axes, wrenches and rotations, once. Quaternions are x, y, z, w: scalar last."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

XYZ, WRENCH = ("x", "y", "z"), ("fx", "fy", "fz", "mx", "my", "mz")  # components, in this order everywhere


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


def skew(x: Array) -> Array:
    """(3, 3) [x]×: [x]× y = x × y."""
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
