"""The loops behind ``feet.py``: what eliminates a leg's foot, and base panels with the feet eliminated."""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled, copy_lanes
from steelyard.kernels.kinematics import AP, JOINT, POSE, cross, root, visit
from steelyard.kernels.panels import BLOCK, first_moments, put_row, row, second_moments
from steelyard.kernels.panels import SCRATCH as BLOCKS
from steelyard.kernels.sym6 import ROOM, SIX, inverse_root, lower, size
from steelyard.kernels.tree import HEADER, LANES, NODE_REALS, PER_NODE, PER_ROW, REGULAR, ROW_REALS

Array = np.ndarray

L = LANES
UP = 9 * L  # where a state has it
MOST = 1 / REGULAR**2
PER_FOOT, FOOT_REALS = 4, 4  # node and three rows; centre and radius
SCRATCH = 34 * L + JOINT + ROOM


@compiled
def _point(x: Array, state: Array, foot: Array, out: Array) -> None:
    """Where a foot touches: below the centre of its ball."""
    a, b, c, radius = foot[0], foot[1], foot[2], foot[3]
    for l in range(L):
        out[l] = x[AP + l] + x[l] * a + x[L + l] * b + x[2 * L + l] * c - radius * state[UP + l]
        out[L + l] = x[AP + L + l] + x[3 * L + l] * a + x[4 * L + l] * b + x[5 * L + l] * c - radius * state[UP + L + l]
        out[2 * L + l] = (
            x[AP + 2 * L + l] + x[6 * L + l] * a + x[7 * L + l] * b + x[8 * L + l] * c - radius * state[UP + 2 * L + l]
        )


@compiled
def _moves(S: Array, point: Array, out: Array) -> None:
    """How a point moves with a row: linear + angular × point."""
    for l in range(L):
        x, y, z = cross(S[3 * L + l], S[4 * L + l], S[5 * L + l], point[l], point[L + l], point[2 * L + l])
        out[l], out[L + l], out[2 * L + l] = S[l] + x, S[L + l] + y, S[2 * L + l] + z


@compiled
def _leg(c: Array, X: Array) -> None:
    """X of one leg, column after column, from the point (c[0:3]) and its motions with the three joints."""
    for l in range(L):
        px, py, pz = c[l], c[L + l], c[2 * L + l]
        ax, ay, az = c[3 * L + l], c[4 * L + l], c[5 * L + l]
        bx, by, bz = c[6 * L + l], c[7 * L + l], c[8 * L + l]
        dx, dy, dz = c[9 * L + l], c[10 * L + l], c[11 * L + l]
        ux, uy, uz = cross(bx, by, bz, dx, dy, dz)
        vx, vy, vz = cross(dx, dy, dz, ax, ay, az)
        wx, wy, wz = cross(ax, ay, az, bx, by, bz)
        det = ax * ux + ay * uy + az * uz
        s = 1.0 / det if abs(det) > 1e-30 else 1e30  # so large that it counts as singular
        ux, uy, uz, vx, vy, vz, wx, wy, wz = (
            s * ux, s * uy, s * uz, s * vx, s * vy, s * vz, s * wx, s * wy, s * wz)  # fmt: skip
        X[l], X[L + l], X[2 * L + l] = ux, uy, uz
        X[3 * L + l], X[4 * L + l], X[5 * L + l] = cross(px, py, pz, ux, uy, uz)
        X[6 * L + l], X[7 * L + l], X[8 * L + l] = vx, vy, vz
        X[9 * L + l], X[10 * L + l], X[11 * L + l] = cross(px, py, pz, vx, vy, vz)
        X[12 * L + l], X[13 * L + l], X[14 * L + l] = wx, wy, wz
        X[15 * L + l], X[16 * L + l], X[17 * L + l] = cross(px, py, pz, wx, wy, wz)


@compiled
def _normal(x: Array, M: Array) -> None:
    """M += x xᵀ of one column, lower triangle by rows."""
    for l in range(L):
        gx, gy, gz, nx, ny, nz = x[l], x[L + l], x[2 * L + l], x[3 * L + l], x[4 * L + l], x[5 * L + l]
        M[l] += gx * gx
        M[L + l] += gy * gx
        M[2 * L + l] += gy * gy
        M[3 * L + l] += gz * gx
        M[4 * L + l] += gz * gy
        M[5 * L + l] += gz * gz
        M[6 * L + l] += nx * gx
        M[7 * L + l] += nx * gy
        M[8 * L + l] += nx * gz
        M[9 * L + l] += nx * nx
        M[10 * L + l] += ny * gx
        M[11 * L + l] += ny * gy
        M[12 * L + l] += ny * gz
        M[13 * L + l] += ny * nx
        M[14 * L + l] += ny * ny
        M[15 * L + l] += nz * gx
        M[16 * L + l] += nz * gy
        M[17 * L + l] += nz * gz
        M[18 * L + l] += nz * nx
        M[19 * L + l] += nz * ny
        M[20 * L + l] += nz * nz


@compiled
def _keep(Z: Array, size: Array, W: Array, symmetric: bool) -> None:
    """W, all 36, from its lower triangle; zero where the size of 1 + XXᵀ is no less than ``MOST`` allows."""
    for i in range(6):
        for j in range(6):
            entry = Z[(i * (i + 1) // 2 + j if j <= i else j * (j + 1) // 2 + i) * L :]
            w = W[(6 * i + j) * L :]
            for l in range(L):
                w[l] = entry[l] if (symmetric or j <= i) and size[l] <= MOST else 0.0


@compiled
def eliminate(integers: Array, reals: Array, states: Array, symmetric: bool, work: Array, out: Array) -> None:
    """X by columns, W by rows and ‖1 + XXᵀ‖ of all tiles: ``out`` (tiles, (18·feet + 37)·16)."""
    N, R = integers[0], integers[2]
    feet = integers[HEADER + PER_NODE * N + PER_ROW * R :]
    F = len(feet) // PER_FOOT
    M, c, y = work[: 22 * L], work[22 * L : 34 * L], work[34 * L : 34 * L + JOINT]
    room, tree = work[34 * L + JOINT : SCRATCH], work[SCRATCH:]
    motions = tree[POSE * (N + 1) :]
    for tile in range(len(states)):
        state, result = states[tile], out[tile]
        root(state, tree)
        for i in range(1, N + 1):
            visit(i, integers, reals, state, y, tree)
        M[:] = 0.0
        for i in range(6):
            at = (i * (i + 3) // 2) * L
            M[at : at + L] = 1.0
        for f in range(F):
            k = feet[PER_FOOT * f]
            ball = reals[NODE_REALS * N + ROW_REALS * R + FOOT_REALS * f :]
            _point(tree[POSE * k : POSE * (k + 1)], state, ball, c[: 3 * L])
            for i in range(3):
                j = feet[PER_FOOT * f + 1 + i]
                _moves(motions[6 * L * j : 6 * L * (j + 1)], c[: 3 * L], c[(3 + 3 * i) * L : (6 + 3 * i) * L])
            X = result[18 * L * f : 18 * L * (f + 1)]
            _leg(c, X)
            for i in range(3):
                _normal(X[6 * L * i : 6 * L * (i + 1)], M)
        W, norm = result[18 * L * F :], result[18 * L * F + 36 * L :]
        size(M, norm)
        if symmetric:
            copy_lanes(norm, 0, M, SIX)
            inverse_root(M, room)
        else:
            lower(M, room)
        _keep(room, norm, W, symmetric)


@compiled
def _push(x: Array, line: Array, A: Array) -> None:
    """A −= x · line: what a joint's row, ten values, takes away from the base's."""
    for i in range(10):
        k = 6 * L * i
        for l in range(L):
            t = line[i * L + l]
            A[k + l] -= x[l] * t
            A[k + L + l] -= x[L + l] * t
            A[k + 2 * L + l] -= x[2 * L + l] * t
            A[k + 3 * L + l] -= x[3 * L + l] * t
            A[k + 4 * L + l] -= x[4 * L + l] * t
            A[k + 5 * L + l] -= x[5 * L + l] * t


@compiled
def _weigh(W: Array, A: Array) -> None:
    """A ← W A, ten columns."""
    for i in range(10):
        k = 6 * L * i
        for l in range(L):
            a, b, c = A[k + l], A[k + L + l], A[k + 2 * L + l]
            d, e, f = A[k + 3 * L + l], A[k + 4 * L + l], A[k + 5 * L + l]
            A[k + l] = (
                W[l] * a + W[L + l] * b + W[2 * L + l] * c + W[3 * L + l] * d + W[4 * L + l] * e + W[5 * L + l] * f
            )
            A[k + L + l] = (
                W[6 * L + l] * a
                + W[7 * L + l] * b
                + W[8 * L + l] * c
                + W[9 * L + l] * d
                + W[10 * L + l] * e
                + W[11 * L + l] * f
            )
            A[k + 2 * L + l] = (
                W[12 * L + l] * a
                + W[13 * L + l] * b
                + W[14 * L + l] * c
                + W[15 * L + l] * d
                + W[16 * L + l] * e
                + W[17 * L + l] * f
            )
            A[k + 3 * L + l] = (
                W[18 * L + l] * a
                + W[19 * L + l] * b
                + W[20 * L + l] * c
                + W[21 * L + l] * d
                + W[22 * L + l] * e
                + W[23 * L + l] * f
            )
            A[k + 4 * L + l] = (
                W[24 * L + l] * a
                + W[25 * L + l] * b
                + W[26 * L + l] * c
                + W[27 * L + l] * d
                + W[28 * L + l] * e
                + W[29 * L + l] * f
            )
            A[k + 5 * L + l] = (
                W[30 * L + l] * a
                + W[31 * L + l] * b
                + W[32 * L + l] * c
                + W[33 * L + l] * d
                + W[34 * L + l] * e
                + W[35 * L + l] * f
            )


@compiled
def fill_free(integers: Array, reals: Array, states: Array, eliminated: Array, work: Array, out: Array) -> None:
    """As ``panels.fill`` for these tiles, with the feet eliminated from the base panel; joints' panels are the same."""
    N, R = integers[0], integers[2]
    feet = integers[HEADER + PER_NODE * N + PER_ROW * R :]
    legs = len(feet) // PER_FOOT * 3
    B = len(states) * L
    joints = out[60 * N * B :]
    A, y, line, tree = work[:BLOCK], work[BLOCK : BLOCK + JOINT], work[BLOCK + JOINT : BLOCKS], work[BLOCKS:]
    D, tree = tree[:BLOCK], tree[BLOCK:]
    motions = tree[POSE * (N + 1) :]
    for tile in range(len(states)):
        result = eliminated[tile]
        root(states[tile], tree)
        for i in range(1, N + 1):
            visit(i, integers, reals, states[tile], y, tree)
            x = tree[POSE * i : POSE * (i + 1)]
            first_moments(x, A)
            second_moments(x, A)
            for k in range(60):
                copy_lanes(A, k * L, D, k * L)
            k = i
            while k > 0:
                node = HEADER + PER_NODE * (k - 1)
                for j in range(integers[node + 3], integers[node + 3] + integers[node + 4]):
                    before = integers[HEADER + PER_NODE * N + PER_ROW * j + 2]
                    row(motions[6 * L * j : 6 * L * (j + 1)], A, line)
                    put_row(line, joints, 10 * (before + i - k) * B + tile * L, B)
                    for at in range(legs):
                        if feet[PER_FOOT * (at // 3) + 1 + at % 3] == j:
                            _push(result[6 * L * at : 6 * L * (at + 1)], line, D)
                k = integers[node]
            _weigh(result[6 * L * legs :], D)
            for k in range(60):
                copy_lanes(D, k * L, out, (60 * (i - 1) + k // 6 * 6) * B + 6 * tile * L + k % 6 * L)
