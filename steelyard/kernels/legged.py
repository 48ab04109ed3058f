"""Rows about the base of a legged robot, ten samples at a time, without an allocation.

All joints belong to legs of three that end in a point foot, and all bodies but the base are known. Then the base's
columns vanish from the legs' equations, which give the feet's forces: with X = J_bᵀJ_leg⁻ᵀ the rows [1 −X] are free of
them, and (1 + XXᵀ)^-½ makes them orthonormal: the polar basis of ``contact.py``, for which A φ = −f − X(τ − τ_known).

The root is found by Denman and Beavers' iteration M ← (2 + M + M⁻¹)/4, Z ← Z(1 + M⁻¹)/2 from M = 1 + XXᵀ (scaled),
which is Newton's: all 16 lanes take the same few steps.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.kernels.forces import wrench
from steelyard.kernels.kinematics import AP, JOINT, POSE, cross, root, visit
from steelyard.kernels.panels import BLOCK, first_moments, second_moments
from steelyard.kernels.tree import BASE, HEADER, LANES, PER_NODE

Array = np.ndarray

L = LANES
SINGULAR = 2500.0  # trace of 1 + XXᵀ from which a leg may be too straight: REGULAR^-2 of ``contact.py``
SETTLED = 1e-5  # of all lanes' traces of M − 1 together: the next step leaves an eighth of its square
STEPS = 8


@compiled
def _carry(S: Array, f: Array, onto: Array, tau: Array) -> None:
    """Torque of a joint from the wrench on all that it carries, taken off the measured; the parent gets the wrench."""
    for l in range(L):
        a, b, c, d, e, g = f[l], f[L + l], f[2 * L + l], f[3 * L + l], f[4 * L + l], f[5 * L + l]
        t = S[l] * a + S[L + l] * b + S[2 * L + l] * c + S[3 * L + l] * d + S[4 * L + l] * e + S[5 * L + l] * g
        tau[l] -= t
        onto[l] += a
        onto[L + l] += b
        onto[2 * L + l] += c
        onto[3 * L + l] += d
        onto[4 * L + l] += e
        onto[5 * L + l] += g


@compiled
def _leg(x: Array, up: Array, foot: Array, A: Array, B: Array, C: Array, leg: Array) -> None:
    """Point of contact (3 lanes), and behind it J⁻¹ (9 lanes), J its velocities by three joints of motions A, B, C."""
    cx, cy, cz, radius = foot[0], foot[1], foot[2], foot[3]
    for l in range(L):
        px = x[AP + l] + x[l] * cx + x[L + l] * cy + x[2 * L + l] * cz - radius * up[l]
        py = x[AP + L + l] + x[3 * L + l] * cx + x[4 * L + l] * cy + x[5 * L + l] * cz - radius * up[L + l]
        pz = x[AP + 2 * L + l] + x[6 * L + l] * cx + x[7 * L + l] * cy + x[8 * L + l] * cz - radius * up[2 * L + l]
        tx, ty, tz = cross(A[3 * L + l], A[4 * L + l], A[5 * L + l], px, py, pz)
        ax, ay, az = A[l] + tx, A[L + l] + ty, A[2 * L + l] + tz
        tx, ty, tz = cross(B[3 * L + l], B[4 * L + l], B[5 * L + l], px, py, pz)
        bx, by, bz = B[l] + tx, B[L + l] + ty, B[2 * L + l] + tz
        tx, ty, tz = cross(C[3 * L + l], C[4 * L + l], C[5 * L + l], px, py, pz)
        gx, gy, gz = C[l] + tx, C[L + l] + ty, C[2 * L + l] + tz
        ux, uy, uz = cross(bx, by, bz, gx, gy, gz)
        vx, vy, vz = cross(gx, gy, gz, ax, ay, az)
        wx, wy, wz = cross(ax, ay, az, bx, by, bz)
        d = 1.0 / (ax * ux + ay * uy + az * uz)
        leg[l], leg[L + l], leg[2 * L + l] = px, py, pz
        leg[3 * L + l], leg[4 * L + l], leg[5 * L + l] = d * ux, d * uy, d * uz
        leg[6 * L + l], leg[7 * L + l], leg[8 * L + l] = d * vx, d * vy, d * vz
        leg[9 * L + l], leg[10 * L + l], leg[11 * L + l] = d * wx, d * wy, d * wz


@compiled
def _add_leg(leg: Array, t1: Array, t2: Array, t3: Array, f: Array, M: Array) -> None:
    """f += X τ and M += XXᵀ, where X = [J⁻ᵀ; p × J⁻ᵀ]; M as blocks: force 6, both 9, moment 6."""
    for l in range(L):
        px, py, pz = leg[l], leg[L + l], leg[2 * L + l]
        ax, ay, az = leg[3 * L + l], leg[4 * L + l], leg[5 * L + l]  # rows of J⁻¹: forces of unit torques
        bx, by, bz = leg[6 * L + l], leg[7 * L + l], leg[8 * L + l]
        gx, gy, gz = leg[9 * L + l], leg[10 * L + l], leg[11 * L + l]
        t, u, v = t1[l], t2[l], t3[l]
        fx, fy, fz = ax * t + bx * u + gx * v, ay * t + by * u + gy * v, az * t + bz * u + gz * v
        nx, ny, nz = cross(px, py, pz, fx, fy, fz)
        f[l] += fx
        f[L + l] += fy
        f[2 * L + l] += fz
        f[3 * L + l] += nx
        f[4 * L + l] += ny
        f[5 * L + l] += nz
        dx, dy, dz = cross(px, py, pz, ax, ay, az)
        ex, ey, ez = cross(px, py, pz, bx, by, bz)
        hx, hy, hz = cross(px, py, pz, gx, gy, gz)
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
def _inverse(
    a: float, b: float, c: float, d: float, e: float, f: float
) -> tuple[float, float, float, float, float, float]:
    """Of the symmetric [[a b c], [b d e], [c e f]]."""
    u, v, w = d * f - e * e, c * e - b * f, b * e - c * d
    s = 1.0 / (a * u + b * v + c * w)
    return s * u, s * v, s * w, s * (a * f - c * c), s * (b * c - a * e), s * (a * d - b * b)


@compiled
def _invert(M: Array, V: Array) -> None:
    """V = M⁻¹ by blocks: with G = P⁻¹Q and C = (R − QᵀG)⁻¹ it is [P⁻¹ + GCGᵀ, −GC; ·, C]."""
    for l in range(L):
        a, b, c, d, e, f = _inverse(
            M[l], M[L + l], M[2 * L + l], M[3 * L + l], M[4 * L + l], M[5 * L + l]
        )  # fmt: skip
        q0, q1, q2 = M[6 * L + l], M[7 * L + l], M[8 * L + l]
        q3, q4, q5 = M[9 * L + l], M[10 * L + l], M[11 * L + l]
        q6, q7, q8 = M[12 * L + l], M[13 * L + l], M[14 * L + l]
        g0, g1, g2 = a * q0 + b * q3 + c * q6, a * q1 + b * q4 + c * q7, a * q2 + b * q5 + c * q8
        g3, g4, g5 = b * q0 + d * q3 + e * q6, b * q1 + d * q4 + e * q7, b * q2 + d * q5 + e * q8
        g6, g7, g8 = c * q0 + e * q3 + f * q6, c * q1 + e * q4 + f * q7, c * q2 + e * q5 + f * q8
        r, s, t, u, v, w = _inverse(
            M[15 * L + l] - q0 * g0 - q3 * g3 - q6 * g6, M[16 * L + l] - q0 * g1 - q3 * g4 - q6 * g7,
            M[17 * L + l] - q0 * g2 - q3 * g5 - q6 * g8, M[18 * L + l] - q1 * g1 - q4 * g4 - q7 * g7,
            M[19 * L + l] - q1 * g2 - q4 * g5 - q7 * g8, M[20 * L + l] - q2 * g2 - q5 * g5 - q8 * g8,
        )  # fmt: skip
        h0, h1, h2 = g0 * r + g1 * s + g2 * t, g0 * s + g1 * u + g2 * v, g0 * t + g1 * v + g2 * w
        h3, h4, h5 = g3 * r + g4 * s + g5 * t, g3 * s + g4 * u + g5 * v, g3 * t + g4 * v + g5 * w
        h6, h7, h8 = g6 * r + g7 * s + g8 * t, g6 * s + g7 * u + g8 * v, g6 * t + g7 * v + g8 * w
        V[l], V[L + l] = a + h0 * g0 + h1 * g1 + h2 * g2, b + h0 * g3 + h1 * g4 + h2 * g5
        V[2 * L + l], V[3 * L + l] = c + h0 * g6 + h1 * g7 + h2 * g8, d + h3 * g3 + h4 * g4 + h5 * g5
        V[4 * L + l], V[5 * L + l] = e + h3 * g6 + h4 * g7 + h5 * g8, f + h6 * g6 + h7 * g7 + h8 * g8
        V[6 * L + l], V[7 * L + l], V[8 * L + l] = -h0, -h1, -h2
        V[9 * L + l], V[10 * L + l], V[11 * L + l] = -h3, -h4, -h5
        V[12 * L + l], V[13 * L + l], V[14 * L + l] = -h6, -h7, -h8
        V[15 * L + l], V[16 * L + l], V[17 * L + l] = r, s, t
        V[18 * L + l], V[19 * L + l], V[20 * L + l] = u, v, w


@compiled
def _times(Z: Array, V: Array, out: Array) -> None:
    """out = (Z + ZV)/2 of symmetric matrices that commute."""
    for l in range(L):
        z0, z1, z2, z3, z4, z5 = Z[l], Z[L + l], Z[2 * L + l], Z[3 * L + l], Z[4 * L + l], Z[5 * L + l]
        y0, y1, y2 = Z[6 * L + l], Z[7 * L + l], Z[8 * L + l]
        y3, y4, y5 = Z[9 * L + l], Z[10 * L + l], Z[11 * L + l]
        y6, y7, y8 = Z[12 * L + l], Z[13 * L + l], Z[14 * L + l]
        x0, x1, x2, x3 = Z[15 * L + l], Z[16 * L + l], Z[17 * L + l], Z[18 * L + l]
        x4, x5 = Z[19 * L + l], Z[20 * L + l]
        a, b, c, d, e, f = V[l], V[L + l], V[2 * L + l], V[3 * L + l], V[4 * L + l], V[5 * L + l]
        q0, q1, q2 = V[6 * L + l], V[7 * L + l], V[8 * L + l]
        q3, q4, q5 = V[9 * L + l], V[10 * L + l], V[11 * L + l]
        q6, q7, q8 = V[12 * L + l], V[13 * L + l], V[14 * L + l]
        r, s, t, u, v, w = V[15 * L + l], V[16 * L + l], V[17 * L + l], V[18 * L + l], V[19 * L + l], V[20 * L + l]
        out[l] = 0.5 * (z0 + z0 * a + z1 * b + z2 * c + y0 * q0 + y1 * q1 + y2 * q2)
        out[L + l] = 0.5 * (z1 + z0 * b + z1 * d + z2 * e + y0 * q3 + y1 * q4 + y2 * q5)
        out[2 * L + l] = 0.5 * (z2 + z0 * c + z1 * e + z2 * f + y0 * q6 + y1 * q7 + y2 * q8)
        out[3 * L + l] = 0.5 * (z3 + z1 * b + z3 * d + z4 * e + y3 * q3 + y4 * q4 + y5 * q5)
        out[4 * L + l] = 0.5 * (z4 + z1 * c + z3 * e + z4 * f + y3 * q6 + y4 * q7 + y5 * q8)
        out[5 * L + l] = 0.5 * (z5 + z2 * c + z4 * e + z5 * f + y6 * q6 + y7 * q7 + y8 * q8)
        out[6 * L + l] = 0.5 * (y0 + z0 * q0 + z1 * q3 + z2 * q6 + y0 * r + y1 * s + y2 * t)
        out[7 * L + l] = 0.5 * (y1 + z0 * q1 + z1 * q4 + z2 * q7 + y0 * s + y1 * u + y2 * v)
        out[8 * L + l] = 0.5 * (y2 + z0 * q2 + z1 * q5 + z2 * q8 + y0 * t + y1 * v + y2 * w)
        out[9 * L + l] = 0.5 * (y3 + z1 * q0 + z3 * q3 + z4 * q6 + y3 * r + y4 * s + y5 * t)
        out[10 * L + l] = 0.5 * (y4 + z1 * q1 + z3 * q4 + z4 * q7 + y3 * s + y4 * u + y5 * v)
        out[11 * L + l] = 0.5 * (y5 + z1 * q2 + z3 * q5 + z4 * q8 + y3 * t + y4 * v + y5 * w)
        out[12 * L + l] = 0.5 * (y6 + z2 * q0 + z4 * q3 + z5 * q6 + y6 * r + y7 * s + y8 * t)
        out[13 * L + l] = 0.5 * (y7 + z2 * q1 + z4 * q4 + z5 * q7 + y6 * s + y7 * u + y8 * v)
        out[14 * L + l] = 0.5 * (y8 + z2 * q2 + z4 * q5 + z5 * q8 + y6 * t + y7 * v + y8 * w)
        out[15 * L + l] = 0.5 * (x0 + y0 * q0 + y3 * q3 + y6 * q6 + x0 * r + x1 * s + x2 * t)
        out[16 * L + l] = 0.5 * (x1 + y0 * q1 + y3 * q4 + y6 * q7 + x0 * s + x1 * u + x2 * v)
        out[17 * L + l] = 0.5 * (x2 + y0 * q2 + y3 * q5 + y6 * q8 + x0 * t + x1 * v + x2 * w)
        out[18 * L + l] = 0.5 * (x3 + y1 * q1 + y4 * q4 + y7 * q7 + x1 * s + x3 * u + x4 * v)
        out[19 * L + l] = 0.5 * (x4 + y1 * q2 + y4 * q5 + y7 * q8 + x1 * t + x3 * v + x4 * w)
        out[20 * L + l] = 0.5 * (x5 + y2 * q2 + y5 * q5 + y8 * q8 + x2 * t + x4 * v + x5 * w)


@compiled
def _mean(V: Array, M: Array) -> float:
    """M ← (2 + M + V)/4; gives how far M is from 1 at most: by its trace, since no eigenvalue is below 1 now."""
    for l in range(21 * L):
        M[l] = 0.25 * (M[l] + V[l])
    beyond = 0.0
    for l in range(L):
        a, b, c = M[l] + 0.5, M[3 * L + l] + 0.5, M[5 * L + l] + 0.5
        d, e, f = M[15 * L + l] + 0.5, M[18 * L + l] + 0.5, M[20 * L + l] + 0.5
        M[l], M[3 * L + l], M[5 * L + l] = a, b, c
        M[15 * L + l], M[18 * L + l], M[20 * L + l] = d, e, f
        beyond += (a - 1.0) + (b - 1.0) + (c - 1.0) + (d - 1.0) + (e - 1.0) + (f - 1.0)
    return beyond


@compiled
def inverse_root(M: Array, Z: Array, V: Array, spare: Array) -> bool:
    """Z = M^-½ of 16 symmetric 6×6 matrices in blocks (21·16), none below 1; M is used up.

    False where a trace is too large, or that does not settle.
    """
    largest = 0.0
    for l in range(L):
        trace = M[l] + M[3 * L + l] + M[5 * L + l] + M[15 * L + l] + M[18 * L + l] + M[20 * L + l]
        largest = max(largest, trace)
        if not trace < SINGULAR:
            return False
    middle = 1.0 / np.sqrt(0.5 * largest)  # eigenvalues lie between 1 and the trace
    root = np.sqrt(middle)
    for l in range(21 * L):
        M[l] *= middle
        spare[l] = 0.0
    for l in range(L):
        spare[l], spare[3 * L + l], spare[5 * L + l] = root, root, root
        spare[15 * L + l], spare[18 * L + l], spare[20 * L + l] = root, root, root
    for _ in range(STEPS):  # two at a time, to and fro
        _invert(M, V)
        _times(spare, V, Z)
        beyond = _mean(V, M)
        _invert(M, V)
        _times(Z, V, spare)
        if beyond < SETTLED:
            for l in range(21 * L):
                Z[l] = spare[l]
            return True
        last = _mean(V, M)
        if last < SETTLED:
            _invert(M, V)
            _times(spare, V, Z)
            return True
    return False


@compiled
def _whitened(W: Array, Z: Array, A: Array, f: Array, out: Array) -> None:
    """out (6·11·16): W Z [A f], row by row; A (by columns) has no forces behind its fourth column."""
    for r in range(6):
        w0, w1, w2, w3, w4, w5 = W[6 * r], W[6 * r + 1], W[6 * r + 2], W[6 * r + 3], W[6 * r + 4], W[6 * r + 5]
        o = out[11 * L * r : 11 * L * (r + 1)]
        for l in range(L):
            z0, z1, z2, z3, z4, z5 = Z[l], Z[L + l], Z[2 * L + l], Z[3 * L + l], Z[4 * L + l], Z[5 * L + l]
            y0, y1, y2 = Z[6 * L + l], Z[7 * L + l], Z[8 * L + l]
            y3, y4, y5 = Z[9 * L + l], Z[10 * L + l], Z[11 * L + l]
            y6, y7, y8 = Z[12 * L + l], Z[13 * L + l], Z[14 * L + l]
            a = w0 * z0 + w1 * z1 + w2 * z2 + w3 * y0 + w4 * y1 + w5 * y2
            b = w0 * z1 + w1 * z3 + w2 * z4 + w3 * y3 + w4 * y4 + w5 * y5
            c = w0 * z2 + w1 * z4 + w2 * z5 + w3 * y6 + w4 * y7 + w5 * y8
            x0, x1, x2, x3 = Z[15 * L + l], Z[16 * L + l], Z[17 * L + l], Z[18 * L + l]
            x4, x5 = Z[19 * L + l], Z[20 * L + l]
            d = w0 * y0 + w1 * y3 + w2 * y6 + w3 * x0 + w4 * x1 + w5 * x2
            e = w0 * y1 + w1 * y4 + w2 * y7 + w3 * x1 + w4 * x3 + w5 * x4
            g = w0 * y2 + w1 * y5 + w2 * y8 + w3 * x2 + w4 * x4 + w5 * x5
            o[l] = a * A[l] + b * A[L + l] + c * A[2 * L + l] + d * A[3 * L + l] + e * A[4 * L + l] + g * A[5 * L + l]
            o[L + l] = (
                a * A[6 * L + l] + b * A[7 * L + l] + c * A[8 * L + l]
                + d * A[9 * L + l] + e * A[10 * L + l] + g * A[11 * L + l]
            )  # fmt: skip
            o[2 * L + l] = (
                a * A[12 * L + l] + b * A[13 * L + l] + c * A[14 * L + l]
                + d * A[15 * L + l] + e * A[16 * L + l] + g * A[17 * L + l]
            )  # fmt: skip
            o[3 * L + l] = (
                a * A[18 * L + l] + b * A[19 * L + l] + c * A[20 * L + l]
                + d * A[21 * L + l] + e * A[22 * L + l] + g * A[23 * L + l]
            )  # fmt: skip
            o[4 * L + l] = d * A[27 * L + l] + e * A[28 * L + l] + g * A[29 * L + l]
            o[5 * L + l] = d * A[33 * L + l] + e * A[34 * L + l] + g * A[35 * L + l]
            o[6 * L + l] = d * A[39 * L + l] + e * A[40 * L + l] + g * A[41 * L + l]
            o[7 * L + l] = d * A[45 * L + l] + e * A[46 * L + l] + g * A[47 * L + l]
            o[8 * L + l] = d * A[51 * L + l] + e * A[52 * L + l] + g * A[53 * L + l]
            o[9 * L + l] = d * A[57 * L + l] + e * A[58 * L + l] + g * A[59 * L + l]
            o[10 * L + l] = -(
                a * f[l] + b * f[L + l] + c * f[2 * L + l] + d * f[3 * L + l] + e * f[4 * L + l] + g * f[5 * L + l]
            )


@compiled
def base_rows(tree: Array, reals: Array, legs: Array, known: Array, lanes: Array, work: Array) -> bool:
    """Whitened rows [A target] of 16 samples, (6·11·16) at the front of ``work``; False where a leg is too straight.

    ``lanes``: a state as in ``FlatTree.states``, then torques of all rows. ``known``: parameters of all nodes (10
    each; the base's own are not looked at), then (x y z radius) of each foot, then W (6, 6). ``legs``: node and three
    rows a foot.
    """
    N, J, F = tree[0], tree[2], len(legs) // 4
    up, tau = lanes[9 * L :], lanes[(BASE + 3 * J) * L :]
    out, A, y = work[: 66 * L], work[66 * L : 66 * L + BLOCK], work[66 * L + BLOCK : 66 * L + BLOCK + JOINT]
    rest = work[66 * L + BLOCK + JOINT :]
    M, Z, V, spare, leg = rest, rest[21 * L :], rest[42 * L :], rest[63 * L :], rest[84 * L :]
    forces, poses = rest[96 * L :], rest[(96 + 6 * (N + 1)) * L :]
    motions = poses[POSE * (N + 1) :]
    root(lanes, poses[POSE:])
    f = forces[6 * L :]
    for l in range(6 * L):
        f[l] = 0.0
    for i in range(2, N + 1):
        visit(i, tree, reals, lanes, y, poses)
        wrench(poses[POSE * i : POSE * (i + 1)], known[10 * (i - 1) :], forces[6 * L * i :])
    for i in range(N, 1, -1):
        node = HEADER + PER_NODE * (i - 1)
        j = tree[node + 3]
        _carry(motions[6 * L * j :], forces[6 * L * i :], forces[6 * L * tree[node] :], tau[j * L :])
    for l in range(21 * L):
        M[l] = 0.0
    for l in range(L):
        M[l], M[3 * L + l], M[5 * L + l], M[15 * L + l], M[18 * L + l], M[20 * L + l] = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
    feet = known[10 * N :]
    for k in range(F):
        node, a, b, c = legs[4 * k], legs[4 * k + 1], legs[4 * k + 2], legs[4 * k + 3]
        _leg(
            poses[POSE * node :],
            up,
            feet[4 * k :],
            motions[6 * L * a :],
            motions[6 * L * b :],
            motions[6 * L * c :],
            leg,
        )
        _add_leg(leg, tau[a * L :], tau[b * L :], tau[c * L :], f, M)
    if not inverse_root(M, Z, V, spare):
        return False
    first_moments(poses[POSE:], A)
    second_moments(poses[POSE:], A)
    _whitened(feet[4 * F :], Z, A, f, out)
    return True


def room(nodes: int, rows: int) -> int:
    """Length of ``work``."""
    return 66 * L + BLOCK + JOINT + (96 + 6 * rows + 6 * (nodes + 1)) * L + POSE * (nodes + 1)
