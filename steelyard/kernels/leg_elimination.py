"""Elimination of unknown forces of point feet on legs of three joints, sixteen samples at a time.

With g_k the columns of J_leg⁻ᵀ, the contact force at x in equilibrium with a leg's torques is Σ g_k τ_k; its wrench on
the base is X τ, X = [g_k; x × g_k]. ``point_feet.py`` uses that for whole logs, ``contact_free.py`` in a control loop.
"""

from __future__ import annotations

from steelyard.kernels.compiled import compiled
from steelyard.kernels.kinematics import AP, JOINT, POSE, cross, root, visit
from steelyard.kernels.sym6 import PLACE, SIX, identity, inverse_root, size
from steelyard.kernels.tree import BASE, HEADER, LANES, NODE_REALS, PER_NODE, PER_ROW, REGULAR, ROW_REALS
from steelyard.spatial import Array

L = LANES
UP = (BASE - 3) * L  # offset of the upward direction in a state
MOST = 1 / REGULAR**2
PER_FOOT, FOOT_REALS = 4, 4  # node and three rows; centre and radius
PUSH = 18 * L  # X of one leg
SCRATCH = L + JOINT + 4 * SIX


@compiled
def push(pose: Array, up: Array, foot: Array, A: Array, B: Array, C: Array, X: Array) -> None:
    """Write X of one leg by columns, from its joints' motion vectors; the contact is below the centre of the ball."""
    cx, cy, cz, radius = foot[0], foot[1], foot[2], foot[3]
    for l in range(L):
        px = pose[AP + l] + pose[l] * cx + pose[L + l] * cy + pose[2 * L + l] * cz - radius * up[l]
        py = pose[AP + L + l] + pose[3 * L + l] * cx + pose[4 * L + l] * cy + pose[5 * L + l] * cz - radius * up[L + l]
        pz = pose[AP + 2 * L + l] + pose[6 * L + l] * cx + pose[7 * L + l] * cy + pose[8 * L + l] * cz
        pz -= radius * up[2 * L + l]
        tx, ty, tz = cross(A[3 * L + l], A[4 * L + l], A[5 * L + l], px, py, pz)
        ax, ay, az = A[l] + tx, A[L + l] + ty, A[2 * L + l] + tz
        tx, ty, tz = cross(B[3 * L + l], B[4 * L + l], B[5 * L + l], px, py, pz)
        bx, by, bz = B[l] + tx, B[L + l] + ty, B[2 * L + l] + tz
        tx, ty, tz = cross(C[3 * L + l], C[4 * L + l], C[5 * L + l], px, py, pz)
        dx, dy, dz = C[l] + tx, C[L + l] + ty, C[2 * L + l] + tz
        ux, uy, uz = cross(bx, by, bz, dx, dy, dz)
        vx, vy, vz = cross(dx, dy, dz, ax, ay, az)
        wx, wy, wz = cross(ax, ay, az, bx, by, bz)
        det = ax * ux + ay * uy + az * uz
        s = 1.0 / det if abs(det) > 1e-30 else 1e30  # large enough to count as singular
        ux, uy, uz = s * ux, s * uy, s * uz
        vx, vy, vz = s * vx, s * vy, s * vz
        wx, wy, wz = s * wx, s * wy, s * wz
        X[l], X[L + l], X[2 * L + l] = ux, uy, uz
        X[3 * L + l], X[4 * L + l], X[5 * L + l] = cross(px, py, pz, ux, uy, uz)
        X[6 * L + l], X[7 * L + l], X[8 * L + l] = vx, vy, vz
        X[9 * L + l], X[10 * L + l], X[11 * L + l] = cross(px, py, pz, vx, vy, vz)
        X[12 * L + l], X[13 * L + l], X[14 * L + l] = wx, wy, wz
        X[15 * L + l], X[16 * L + l], X[17 * L + l] = cross(px, py, pz, wx, wy, wz)


@compiled
def add_square(X: Array, M: Array) -> None:
    """Add XXᵀ of one leg to M."""
    for l in range(L):
        ax, ay, az = X[l], X[L + l], X[2 * L + l]
        dx, dy, dz = X[3 * L + l], X[4 * L + l], X[5 * L + l]
        bx, by, bz = X[6 * L + l], X[7 * L + l], X[8 * L + l]
        ex, ey, ez = X[9 * L + l], X[10 * L + l], X[11 * L + l]
        gx, gy, gz = X[12 * L + l], X[13 * L + l], X[14 * L + l]
        hx, hy, hz = X[15 * L + l], X[16 * L + l], X[17 * L + l]
        M[l] += ax * ax + bx * bx + gx * gx
        M[L + l] += ax * ay + bx * by + gx * gy
        M[2 * L + l] += ax * az + bx * bz + gx * gz
        M[3 * L + l] += ay * ay + by * by + gy * gy
        M[4 * L + l] += ay * az + by * bz + gy * gz
        M[5 * L + l] += az * az + bz * bz + gz * gz
        M[6 * L + l] += ax * dx + bx * ex + gx * hx
        M[7 * L + l] += ax * dy + bx * ey + gx * hy
        M[8 * L + l] += ax * dz + bx * ez + gx * hz
        M[9 * L + l] += ay * dx + by * ex + gy * hx
        M[10 * L + l] += ay * dy + by * ey + gy * hy
        M[11 * L + l] += ay * dz + by * ez + gy * hz
        M[12 * L + l] += az * dx + bz * ex + gz * hx
        M[13 * L + l] += az * dy + bz * ey + gz * hy
        M[14 * L + l] += az * dz + bz * ez + gz * hz
        M[15 * L + l] += dx * dx + ex * ex + hx * hx
        M[16 * L + l] += dx * dy + ex * ey + hx * hy
        M[17 * L + l] += dx * dz + ex * ez + hx * hz
        M[18 * L + l] += dy * dy + ey * ey + hy * hy
        M[19 * L + l] += dy * dz + ey * ez + hy * hz
        M[20 * L + l] += dz * dz + ez * ez + hz * hz


@compiled
def _keep(Z: Array, norm: Array, W: Array) -> None:
    """Write W, all 36 entries, from the blocks of M^-½; zero in lanes where the norm of M exceeds ``MOST``."""
    for i in range(6):
        for j in range(6):
            entry, w = Z[PLACE[i, j] * L :], W[(6 * i + j) * L :]
            for l in range(L):
                w[l] = entry[l] if norm[l] <= MOST else 0.0


@compiled
def _leave_out(norm: Array, M: Array, rest: Array) -> None:
    """Set M = 1 in lanes where its norm exceeds ``MOST``, so that they affect no others; ``rest`` are the new norms."""
    for i in range(6):
        for j in range(6):
            entry, one = M[PLACE[i, j] * L :], 1.0 if i == j else 0.0
            for l in range(L):
                entry[l] = entry[l] if norm[l] <= MOST else one
    for l in range(L):
        rest[l] = norm[l] if norm[l] <= MOST else 1.0


@compiled
def eliminate(integers: Array, reals: Array, states: Array, work: Array, out: Array) -> None:
    """Write X by columns, W by rows and ‖1 + XXᵀ‖ of all tiles to ``out`` (tiles, (18·feet + 37)·16)."""
    N, R = integers[0], integers[2]
    feet = integers[HEADER + PER_NODE * N + PER_ROW * R :]
    F = len(feet) // PER_FOOT
    rest, y, M = work[:L], work[L : L + JOINT], work[L + JOINT : L + JOINT + SIX]
    Z, V = work[L + JOINT + SIX :], work[L + JOINT + 2 * SIX :]
    spare, tree = work[L + JOINT + 3 * SIX :], work[SCRATCH:]
    motions = tree[POSE * (N + 1) :]
    for tile in range(len(states)):
        state, result = states[tile], out[tile]
        root(state, tree)
        for i in range(1, N + 1):
            visit(i, integers, reals, state, y, tree)
        identity(1.0, M)
        for f in range(F):
            k, a, b, c = feet[PER_FOOT * f], feet[PER_FOOT * f + 1], feet[PER_FOOT * f + 2], feet[PER_FOOT * f + 3]
            ball = reals[NODE_REALS * N + ROW_REALS * R + FOOT_REALS * f :]
            X = result[PUSH * f : PUSH * (f + 1)]
            A, B, C = motions[6 * L * a :], motions[6 * L * b :], motions[6 * L * c :]
            push(tree[POSE * k : POSE * (k + 1)], state[UP:], ball, A, B, C, X)
            add_square(X, M)
        W, norm = result[PUSH * F :], result[PUSH * F + 36 * L :]
        size(M, norm)
        _leave_out(norm, M, rest)
        inverse_root(M, rest, Z, V, spare)
        _keep(Z, norm, W)
