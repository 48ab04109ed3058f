"""The loops behind ``feet.py``: what eliminates a leg's foot, and base panels with the feet eliminated."""

from __future__ import annotations

import numpy as np

from steelyard.contact import REGULAR
from steelyard.kernels.compiled import compiled
from steelyard.kernels.lanes import AP, JOINT, POSE, cross, root, visit
from steelyard.kernels.tree import HEADER, LANES, NODE_REALS, PER_NODE, PER_ROW, ROW_REALS

Array = np.ndarray

L = LANES
UP = 9 * L  # where a state has it
MOST = 1 / REGULAR**2
PER_FOOT, FOOT_REALS = 4, 4  # node and three rows; centre and radius


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
        s = 1.0 / det if abs(det) > 1e-30 else 1e30
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
def _whiten(M: Array, W: Array) -> None:
    """W = L⁻¹ of M = L Lᵀ, lower triangle by rows; zero where M is too large; ‖M‖ behind it."""
    for l in range(L):
        size = (
            M[l] * M[l] + M[2 * L + l] * M[2 * L + l] + M[5 * L + l] * M[5 * L + l]
            + M[9 * L + l] * M[9 * L + l] + M[14 * L + l] * M[14 * L + l] + M[20 * L + l] * M[20 * L + l]
        )  # fmt: skip
        size += 2.0 * (
            M[L + l] * M[L + l]
            + M[3 * L + l] * M[3 * L + l]
            + M[4 * L + l] * M[4 * L + l]
            + M[6 * L + l] * M[6 * L + l]
            + M[7 * L + l] * M[7 * L + l]
        )
        size += 2.0 * (
            M[8 * L + l] * M[8 * L + l]
            + M[10 * L + l] * M[10 * L + l]
            + M[11 * L + l] * M[11 * L + l]
            + M[12 * L + l] * M[12 * L + l]
            + M[13 * L + l] * M[13 * L + l]
        )
        size += 2.0 * (
            M[15 * L + l] * M[15 * L + l]
            + M[16 * L + l] * M[16 * L + l]
            + M[17 * L + l] * M[17 * L + l]
            + M[18 * L + l] * M[18 * L + l]
            + M[19 * L + l] * M[19 * L + l]
        )
        regular = size <= MOST * MOST
        d0 = 1.0 / np.sqrt(M[l])
        l10 = M[L + l] * d0
        l20 = M[3 * L + l] * d0
        l30 = M[6 * L + l] * d0
        l40 = M[10 * L + l] * d0
        l50 = M[15 * L + l] * d0
        d1 = 1.0 / np.sqrt(M[2 * L + l] - l10 * l10)
        l21 = (M[4 * L + l] - l20 * l10) * d1
        l31 = (M[7 * L + l] - l30 * l10) * d1
        l41 = (M[11 * L + l] - l40 * l10) * d1
        l51 = (M[16 * L + l] - l50 * l10) * d1
        d2 = 1.0 / np.sqrt(M[5 * L + l] - l20 * l20 - l21 * l21)
        l32 = (M[8 * L + l] - l30 * l20 - l31 * l21) * d2
        l42 = (M[12 * L + l] - l40 * l20 - l41 * l21) * d2
        l52 = (M[17 * L + l] - l50 * l20 - l51 * l21) * d2
        d3 = 1.0 / np.sqrt(M[9 * L + l] - l30 * l30 - l31 * l31 - l32 * l32)
        l43 = (M[13 * L + l] - l40 * l30 - l41 * l31 - l42 * l32) * d3
        l53 = (M[18 * L + l] - l50 * l30 - l51 * l31 - l52 * l32) * d3
        d4 = 1.0 / np.sqrt(M[14 * L + l] - l40 * l40 - l41 * l41 - l42 * l42 - l43 * l43)
        l54 = (M[19 * L + l] - l50 * l40 - l51 * l41 - l52 * l42 - l53 * l43) * d4
        d5 = 1.0 / np.sqrt(M[20 * L + l] - l50 * l50 - l51 * l51 - l52 * l52 - l53 * l53 - l54 * l54)
        w10 = -d1 * (l10 * d0)
        w20 = -d2 * (l20 * d0 + l21 * w10)
        w30 = -d3 * (l30 * d0 + l31 * w10 + l32 * w20)
        w40 = -d4 * (l40 * d0 + l41 * w10 + l42 * w20 + l43 * w30)
        w50 = -d5 * (l50 * d0 + l51 * w10 + l52 * w20 + l53 * w30 + l54 * w40)
        w21 = -d2 * (l21 * d1)
        w31 = -d3 * (l31 * d1 + l32 * w21)
        w41 = -d4 * (l41 * d1 + l42 * w21 + l43 * w31)
        w51 = -d5 * (l51 * d1 + l52 * w21 + l53 * w31 + l54 * w41)
        w32 = -d3 * (l32 * d2)
        w42 = -d4 * (l42 * d2 + l43 * w32)
        w52 = -d5 * (l52 * d2 + l53 * w32 + l54 * w42)
        w43 = -d4 * (l43 * d3)
        w53 = -d5 * (l53 * d3 + l54 * w43)
        w54 = -d5 * (l54 * d4)
        W[l] = d0 if regular else 0.0
        W[L + l] = w10 if regular else 0.0
        W[2 * L + l] = d1 if regular else 0.0
        W[3 * L + l] = w20 if regular else 0.0
        W[4 * L + l] = w21 if regular else 0.0
        W[5 * L + l] = d2 if regular else 0.0
        W[6 * L + l] = w30 if regular else 0.0
        W[7 * L + l] = w31 if regular else 0.0
        W[8 * L + l] = w32 if regular else 0.0
        W[9 * L + l] = d3 if regular else 0.0
        W[10 * L + l] = w40 if regular else 0.0
        W[11 * L + l] = w41 if regular else 0.0
        W[12 * L + l] = w42 if regular else 0.0
        W[13 * L + l] = w43 if regular else 0.0
        W[14 * L + l] = d4 if regular else 0.0
        W[15 * L + l] = w50 if regular else 0.0
        W[16 * L + l] = w51 if regular else 0.0
        W[17 * L + l] = w52 if regular else 0.0
        W[18 * L + l] = w53 if regular else 0.0
        W[19 * L + l] = w54 if regular else 0.0
        W[20 * L + l] = d5 if regular else 0.0
        W[21 * L + l] = np.sqrt(size)


@compiled
def eliminate(integers: Array, reals: Array, states: Array, work: Array, out: Array) -> None:
    """X by columns, W by rows and ‖1 + XXᵀ‖ of all tiles: ``out`` (tiles, (18·feet + 22)·16)."""
    N, R = integers[0], integers[2]
    feet = integers[HEADER + PER_NODE * N + PER_ROW * R :]
    F = len(feet) // PER_FOOT
    M, c, y, tree = work[: 21 * L], work[21 * L : 33 * L], work[33 * L : 33 * L + JOINT], work[33 * L + JOINT :]
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
        _whiten(M, result[18 * L * F :])


@compiled
def _subtract(x: Array, row: Array, v: Array) -> None:
    """v −= x · row, six components."""
    for l in range(L):
        t = row[l]
        v[l] -= x[l] * t
        v[L + l] -= x[L + l] * t
        v[2 * L + l] -= x[2 * L + l] * t
        v[3 * L + l] -= x[3 * L + l] * t
        v[4 * L + l] -= x[4 * L + l] * t
        v[5 * L + l] -= x[5 * L + l] * t


@compiled
def _weigh(W: Array, v: Array) -> None:
    """v = W v."""
    for l in range(L):
        a, b, c, d, e, f = v[l], v[L + l], v[2 * L + l], v[3 * L + l], v[4 * L + l], v[5 * L + l]
        v[l] = W[l] * a
        v[L + l] = W[L + l] * a + W[2 * L + l] * b
        v[2 * L + l] = W[3 * L + l] * a + W[4 * L + l] * b + W[5 * L + l] * c
        v[3 * L + l] = W[6 * L + l] * a + W[7 * L + l] * b + W[8 * L + l] * c + W[9 * L + l] * d
        v[4 * L + l] = W[10 * L + l] * a + W[11 * L + l] * b + W[12 * L + l] * c + W[13 * L + l] * d + W[14 * L + l] * e
        v[5 * L + l] = (
            W[15 * L + l] * a
            + W[16 * L + l] * b
            + W[17 * L + l] * c
            + W[18 * L + l] * d
            + W[19 * L + l] * e
            + W[20 * L + l] * f
        )


@compiled
def project(integers: Array, eliminated: Array, first: int, B: int, buffer: Array) -> None:
    """Turn the base panel of a batch into contact-free rows, in place, with the leg panels as they are."""
    N, R = integers[0], integers[2]
    feet = integers[HEADER + PER_NODE * N + PER_ROW * R :]
    F = len(feet) // PER_FOOT
    joints = buffer[60 * N * B :]
    for tile in range(B // L):
        result = eliminated[first + tile]
        for f in range(F):
            for i in range(3):
                at = HEADER + PER_NODE * N + PER_ROW * feet[PER_FOOT * f + 1 + i]
                node, count, before = integers[at], integers[at + 1], integers[at + 2]
                x = result[(18 * f + 6 * i) * L : (18 * f + 6 * i + 6) * L]
                for k in range(10 * count):
                    to, come = 6 * (10 * (node - 1) + k) * B + 6 * L * tile, (10 * before + k) * B + L * tile
                    _subtract(x, joints[come : come + L], buffer[to : to + 6 * L])
        W = result[18 * L * F :]
        for k in range(10 * N):
            to = 6 * k * B + 6 * L * tile
            _weigh(W, buffer[to : to + 6 * L])
