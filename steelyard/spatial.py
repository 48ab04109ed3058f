"""Spatial conventions of the package: rotations, quaternions, homogeneous transforms, order of wrench components.

Quaternions are x, y, z, w (scalar last), active: v ↦ R v. Roll, pitch, yaw are URDF's: R = Rz(yaw) Ry(pitch) Rx(roll).
A placement T (4, 4) maps points of the placed frame to the frame it is placed in. ``…`` stands for any leading axes,
mostly samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]  # of floats unless stated; shape and unit in a comment or docstring

XYZ = ("x", "y", "z")
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")  # force, then moment, in this order everywhere


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """Return rotation matrices (…, 3, 3) of quaternions (…, 4), which need not be normalised."""
    q = np.asarray(quaternion, float)
    unit = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.ascontiguousarray(np.moveaxis(_rotation(*np.moveaxis(unit, -1, 0)), (0, 1), (-2, -1)))


def rotation_from_unit(quaternion: Sequence[float] | Array) -> Array:
    """Return the rotation matrix (3, 3) of one unit quaternion; several times faster, for control loops."""
    return _rotation(*map(float, quaternion))


def rotation_from_wxyz(wxyz: Array) -> Array:
    """Return rotation matrices (…, 3, 3) of quaternions in MuJoCo's order w, x, y, z."""
    return rotation_from_quaternion(np.roll(wxyz, -1, axis=-1))


def _rotation(x: Any, y: Any, z: Any, w: Any) -> Array:
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(rows)


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Return rotation matrices (…, 3, 3) of roll, pitch, yaw (…, 3) in rad."""
    angles = np.moveaxis(np.asarray(rpy, float), -1, 0)
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def rotation_about(axis: Array, angle: ArrayLike) -> Array:
    """Return rotation matrices (…, 3, 3) by angles (…) in rad about one unit axis (3,) (Rodrigues)."""
    K, q = skew(axis), np.asarray(angle, float)[..., None, None]
    return np.asarray(np.eye(3) + np.sin(q) * K + (1 - np.cos(q)) * (K @ K))


def rpy_from_rotation(R: Array) -> Array:
    """Return roll, pitch, yaw (3,) in rad of a rotation matrix (3, 3)."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    # Near pitch ±90° yaw is mostly noise; roll is computed from Rz(yaw)ᵀ R, so that the product is exact.
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])


def quaternion_from_rotation(R: Array) -> Array:
    """Return the quaternion (4,) of a rotation matrix (3, 3): the largest row of 4·qqᵀ, free of cancellation."""
    trace = np.trace(R)
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T + (1 - trace) * np.eye(3)
    K[:3, 3] = K[3, :3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[3, 3] = 1 + trace
    q = K[np.argmax(np.diag(K))]
    return np.asarray(q / np.linalg.norm(q))


def quaternion_from_rpy(rpy: ArrayLike) -> Array:
    """Return quaternions (…, 4) of roll, pitch, yaw (…, 3) in rad."""
    half = np.moveaxis(np.asarray(rpy, float), -1, 0) / 2
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    x, y = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy
    return np.stack([x, y, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy], axis=-1)


def unwrap_quaternions(quaternion: Array) -> Array:
    """Return the same orientations (T, 4) with signs chosen so that consecutive quaternions are nearest."""
    sign = np.cumprod(np.where(np.sum(quaternion[1:] * quaternion[:-1], axis=1) < 0, -1.0, 1.0))
    return np.asarray(quaternion * np.append(1.0, sign)[:, None])


def placement(rotation: Array, position: ArrayLike) -> Array:
    """Return the homogeneous transform (4, 4) of a rotation matrix (3, 3) and a position (3,)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, position
    return T


def translation(position: ArrayLike) -> Array:
    """Return the homogeneous transform (4, 4) of a pure translation (3,)."""
    return placement(np.eye(3), position)


def skew(x: Array) -> Array:
    """Return the skew-symmetric matrix [x]× (3, 3), with [x]× y = x × y."""
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def cross(a: Array, b: Array) -> Array:
    """Return cross products (…, 3) of vectors (…, 3) or (3,); ten times faster than ``np.cross`` on a single pair."""
    x, y = a.T, b.T
    return np.array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]).T
