"""Inverse dynamics and kinematics of bodies with given parameters, sixteen samples at a time.

``generalised``: τ = Sᵀ Σ A_i θ_i over all bodies i of a row's subtree, without forming A_i: recursive Newton–Euler in
the base frame. ``Kinematics``: poses of nodes and motion vectors of rows; the Jacobian of node i (about the base's
origin, base axes) has the identity for the base's six coordinates and S_j for each row j whose subtree contains i. A
point at x has the Jacobian J_linear − [x]× J_angular.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled, copy, copy_lanes
from steelyard.kernels.kinematics import AA, AC, AP, AW, JOINT, POSE, cross, root, visit
from steelyard.kernels.tree import HEADER, LANES, PER_NODE, PER_ROW, FlatTree, aligned, room
from steelyard.spatial import Array

L = LANES


@compiled
def wrench(x: Array, theta: Array, f: Array) -> None:
    """Write the wrench A θ of one body."""
    m, hx, hy, hz = theta[0], theta[1], theta[2], theta[3]
    Ixx, Ixy, Iyy, Ixz, Iyz, Izz = theta[4], theta[5], theta[6], theta[7], theta[8], theta[9]
    for l in range(L):
        a, b, c = x[l], x[L + l], x[2 * L + l]
        d, e, g = x[3 * L + l], x[4 * L + l], x[5 * L + l]
        h, i, j = x[6 * L + l], x[7 * L + l], x[8 * L + l]
        ox, oy, oz = x[AW + l], x[AW + L + l], x[AW + 2 * L + l]
        ex, ey, ez = x[AA + l], x[AA + L + l], x[AA + 2 * L + l]
        ax, ay, az = x[AC + l], x[AC + L + l], x[AC + 2 * L + l]
        rx, ry, rz = a * hx + b * hy + c * hz, d * hx + e * hy + g * hz, h * hx + i * hy + j * hz
        tx, ty, tz = cross(ox, oy, oz, rx, ry, rz)
        ux, uy, uz = cross(ox, oy, oz, tx, ty, tz)
        tx, ty, tz = cross(ex, ey, ez, rx, ry, rz)
        fx, fy, fz = m * ax + tx + ux, m * ay + ty + uy, m * az + tz + uz
        f[l], f[L + l], f[2 * L + l] = fx, fy, fz
        px, py, pz = cross(x[AP + l], x[AP + L + l], x[AP + 2 * L + l], fx, fy, fz)
        tx, ty, tz = cross(rx, ry, rz, ax, ay, az)
        wx, wy, wz = a * ox + d * oy + h * oz, b * ox + e * oy + i * oz, c * ox + g * oy + j * oz  # now in body axes
        ux, uy, uz = a * ex + d * ey + h * ez, b * ex + e * ey + i * ez, c * ex + g * ey + j * ez
        sx, sy, sz = Ixx * wx + Ixy * wy + Ixz * wz, Ixy * wx + Iyy * wy + Iyz * wz, Ixz * wx + Iyz * wy + Izz * wz
        nx, ny, nz = cross(wx, wy, wz, sx, sy, sz)
        nx += Ixx * ux + Ixy * uy + Ixz * uz
        ny += Ixy * ux + Iyy * uy + Iyz * uz
        nz += Ixz * ux + Iyz * uy + Izz * uz
        f[3 * L + l] = px + tx + a * nx + b * ny + c * nz
        f[4 * L + l] = py + ty + d * nx + e * ny + g * nz
        f[5 * L + l] = pz + tz + h * nx + i * ny + j * nz


@compiled
def accumulate(f: Array, out: Array) -> None:
    """Add f to out."""
    for k in range(len(f)):
        out[k] += f[k]


@compiled
def power(S: Array, f: Array, out: Array) -> None:
    """Write Sᵀf."""
    for l in range(L):
        total = 0.0
        for c in range(6):
            total += S[c * L + l] * f[c * L + l]
        out[l] = total


@compiled
def forces(integers: Array, reals: Array, states: Array, theta: Array, work: Array, out: Array) -> None:
    """Write generalised forces of all tiles to ``out`` (tiles, (6 + rows)·16), base wrench first; ``theta`` (N·10,)."""
    N, R = integers[0], integers[2]
    y, wrenches, tree = work[:JOINT], work[JOINT : JOINT + 6 * L * (N + 1)], work[JOINT + 6 * L * (N + 1) :]
    motions = tree[POSE * (N + 1) :]
    for tile in range(len(states)):
        root(states[tile], tree)
        wrenches[: 6 * L] = 0.0
        for i in range(1, N + 1):
            visit(i, integers, reals, states[tile], y, tree)
            wrench(tree[POSE * i : POSE * (i + 1)], theta[10 * (i - 1) :], wrenches[6 * L * i : 6 * L * (i + 1)])
        for i in range(N, 0, -1):
            parent = integers[HEADER + PER_NODE * (i - 1)]
            accumulate(wrenches[6 * L * i : 6 * L * (i + 1)], wrenches[6 * L * parent : 6 * L * (parent + 1)])
        result = out[tile]
        copy(wrenches, result[: 6 * L])
        for j in range(R):
            k = integers[HEADER + PER_NODE * N + PER_ROW * j]
            f = wrenches[6 * L * k : 6 * L * (k + 1)]
            power(motions[6 * L * j : 6 * L * (j + 1)], f, result[(6 + j) * L : (7 + j) * L])


@compiled
def places(integers: Array, reals: Array, states: Array, work: Array, out: Array) -> None:
    """Write R, p of every node and S of every row to ``out`` (tiles, (12·N + 6·rows)·16)."""
    N, R = integers[0], integers[2]
    y, tree = work[:JOINT], work[JOINT:]
    for tile in range(len(states)):
        root(states[tile], tree)
        result = out[tile]
        for i in range(1, N + 1):
            visit(i, integers, reals, states[tile], y, tree)
            for k in range(12):
                copy_lanes(tree, POSE * i + k * L, result, (12 * (i - 1) + k) * L)
        for k in range(6 * R):
            copy_lanes(tree, POSE * (N + 1) + k * L, result, (12 * N + k) * L)


def generalised(tree: FlatTree, states: Array, parameters: Array) -> Array:
    """Return base wrench and generalised force of each row (samples, 6 + rows), for parameters (N, 10) by node."""
    out = aligned(len(states) * (6 + len(tree.rows)) * L).reshape(len(states), -1)
    work = aligned(JOINT + 6 * L * (tree.bodies + 1) + room(tree))
    forces(tree.integers, tree.reals, states, np.ascontiguousarray(parameters, float).ravel(), work, out)
    return unpacked(out)


def unpacked(tiles: Array) -> Array:
    """Return (samples, values) of tiles (tiles, values·16)."""
    return tiles.reshape(len(tiles), -1, L).transpose(0, 2, 1).reshape(len(tiles) * L, -1)


class Kinematics:
    """Poses of nodes and motion vectors of rows, for the samples of one segment."""

    def __init__(self, tree: FlatTree, states: Array, samples: int):
        self.tree, N = tree, tree.bodies
        out = aligned(len(states) * (12 * N + 6 * len(tree.rows)) * L).reshape(len(states), -1)
        places(tree.integers, tree.reals, states, aligned(JOINT + room(tree)), out)
        values = unpacked(out)[:samples]
        poses = values[:, : 12 * N].reshape(samples, N, 12)
        self.R = poses[:, :, :9].reshape(samples, N, 3, 3)  # (T, N, 3, 3) axes of node k at k − 1
        self.p = poses[:, :, 9:]  # (T, N, 3) m
        self.S = values[:, 12 * N :].reshape(samples, -1, 6)  # (T, rows, 6)

    def pose(self, joint: int, placement: Array) -> tuple[Array, Array]:
        """Return axes (T, 3, 3) and position (T, 3), in the base frame, of a placement (4, 4) on a model joint."""
        if joint == 0:  # a fixed base
            shape = (len(self.p), 3)
            return np.broadcast_to(placement[:3, :3], (*shape, 3)), np.broadcast_to(placement[:3, 3], shape)
        k = self.tree.joints[joint] - 1
        return self.R[:, k] @ placement[:3, :3], self.R[:, k] @ placement[:3, 3] + self.p[:, k]

    def jacobian(self, joint: int) -> Array:
        """Return the Jacobian (T, 6, nv) of a model joint: columns of base, independent joints, sensor readings."""
        tree, lead = self.tree, 6 if self.tree.floating else 0
        J = np.zeros((len(self.S), 6, lead + int(tree.independent.max(initial=-1)) + 1))
        if joint == 0:
            return J
        J[:, :, :lead] = np.eye(6)[:, :lead]
        for j in np.flatnonzero(tree.ancestors[:, tree.joints[joint] - 1]):
            J[:, :, lead + tree.independent[j]] += tree.factors[j] * self.S[:, j]
        return J
