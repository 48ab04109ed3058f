"""Pose and motion of every body of a tree, sixteen samples at a time, all in the base frame.

With R, p the pose, ω and α the angular velocity and acceleration and a the proper acceleration of a node, and of its
parent (′), a joint with axis s (in base axes) at r from the parent adds

    revolute q, q̇, q̈:    ω = ω′ + s q̇        α = α′ + s q̈ + ω′ × s q̇       a = a′ + α′ × r + ω′ × (ω′ × r)
    prismatic q, q̇, q̈:   r increases by s q     a increases by s q̈ + 2 ω′ × s q̇

Loops run over 16 lanes with constant offsets, on few one-dimensional arrays: LLVM vectorises nothing else.
"""

from __future__ import annotations

from steelyard.kernels.compiled import compiled, copy_lanes, exactly
from steelyard.kernels.tree import BASE, HEADER, LANES, NODE_REALS, PER_NODE, REVOLUTE, ROW_REALS, WELD
from steelyard.spatial import Array

L = LANES
POSE = 21 * L  # of a node: R by rows, p, ω, α, a
AP, AW, AA, AC = 9 * L, 12 * L, 15 * L, 18 * L  # offsets of p, ω, α and a
JOINT = 7 * L  # values of a joint

# π in three parts that multiply exactly with small integers; polynomials of sine and cosine up to π/4 (fdlibm)
PI1, PI2, PI3 = 3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21
S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding and subtracting it rounds to the nearest integer


@exactly
def _sincos(q: Array, out: Array) -> None:
    """Write sin q and 1 − cos q of 16 lanes, to 2e-16 + 1e-20·|q|."""
    for l in range(L):
        x = q[l]
        k = (x * 0.3183098861837907 + ROUND) - ROUND
        h = 0.5 * (((x - k * PI1) - k * PI2) - k * PI3)  # half of the remainder, within ±π/4
        odd = k - 2.0 * ((0.5 * k - 0.25 + ROUND) - ROUND)  # 0 or 1
        z = h * h
        s = h + h * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
        c = 1.0 - 0.5 * z + z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))))
        sign = 1.0 - 2.0 * odd
        out[l] = sign * 2.0 * s * c
        out[L + l] = 1.0 - sign * (1.0 - 2.0 * s * s)


@compiled
def root(base: Array, x: Array) -> None:
    """Write the pose and motion of the base: at the origin, in its own axes."""
    for k in range(12 * L):
        x[k] = 0.0
    for l in range(L):
        x[l], x[4 * L + l], x[8 * L + l] = 1.0, 1.0, 1.0
    for k in range(3 * L):
        x[AC + k], x[AW + k], x[AA + k] = base[k], base[3 * L + k], base[6 * L + k]


@compiled
def _joint(kind: int, qva: Array, y: Array) -> None:
    """Write a joint's values: sin, 1 − cos, velocity, acceleration (revolute); position, velocity, acceleration."""
    for k in range(JOINT):
        y[k] = 0.0
    if kind == REVOLUTE:
        _sincos(qva, y)
        for k in range(1, 3):
            copy_lanes(qva, k * L, y, (1 + k) * L)
    elif kind != WELD:
        for k in range(3):
            copy_lanes(qva, k * L, y, (4 + k) * L)


@compiled
def cross(a: float, b: float, c: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return the cross product."""
    return b * z - c * y, c * x - a * z, a * y - b * x


@compiled
def _move(up: Array, x: Array, g: Array, y: Array) -> None:
    """Write pose and motion of a node from those of its parent."""
    g00, g01, g02, g10, g11, g12, g20, g21, g22 = g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8]
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = g[9], g[10], g[11], g[12], g[13], g[14], g[15], g[16], g[17]
    c00, c01, c02, c10, c11, c12, c20, c21, c22 = g[18], g[19], g[20], g[21], g[22], g[23], g[24], g[25], g[26]
    gx, gy, gz, px, py, pz = g[27], g[28], g[29], g[30], g[31], g[32]
    for l in range(L):
        s, c = y[l], y[L + l]
        m00, m01, m02 = g00 + s * s00 + c * c00, g01 + s * s01 + c * c01, g02 + s * s02 + c * c02
        m10, m11, m12 = g10 + s * s10 + c * c10, g11 + s * s11 + c * c11, g12 + s * s12 + c * c12
        m20, m21, m22 = g20 + s * s20 + c * c20, g21 + s * s21 + c * c21, g22 + s * s22 + c * c22
        slide = y[4 * L + l]
        a, b, d = up[l], up[L + l], up[2 * L + l]
        x[l], x[L + l] = a * m00 + b * m10 + d * m20, a * m01 + b * m11 + d * m21
        x[2 * L + l] = a * m02 + b * m12 + d * m22
        wx = a * gx + b * gy + d * gz
        rx = a * px + b * py + d * pz + wx * slide
        a, b, d = up[3 * L + l], up[4 * L + l], up[5 * L + l]
        x[3 * L + l], x[4 * L + l] = a * m00 + b * m10 + d * m20, a * m01 + b * m11 + d * m21
        x[5 * L + l] = a * m02 + b * m12 + d * m22
        wy = a * gx + b * gy + d * gz
        ry = a * px + b * py + d * pz + wy * slide
        a, b, d = up[6 * L + l], up[7 * L + l], up[8 * L + l]
        x[6 * L + l], x[7 * L + l] = a * m00 + b * m10 + d * m20, a * m01 + b * m11 + d * m21
        x[8 * L + l] = a * m02 + b * m12 + d * m22
        wz = a * gx + b * gy + d * gz
        rz = a * px + b * py + d * pz + wz * slide
        x[AP + l], x[AP + L + l], x[AP + 2 * L + l] = up[AP + l] + rx, up[AP + L + l] + ry, up[AP + 2 * L + l] + rz
        ox, oy, oz = up[AW + l], up[AW + L + l], up[AW + 2 * L + l]
        ex, ey, ez = up[AA + l], up[AA + L + l], up[AA + 2 * L + l]
        tx, ty, tz = cross(ox, oy, oz, wx, wy, wz)
        v, a = y[2 * L + l], y[3 * L + l]
        x[AW + l], x[AW + L + l], x[AW + 2 * L + l] = ox + wx * v, oy + wy * v, oz + wz * v
        x[AA + l], x[AA + L + l] = ex + wx * a + tx * v, ey + wy * a + ty * v
        x[AA + 2 * L + l] = ez + wz * a + tz * v
        v, a = 2.0 * y[5 * L + l], y[6 * L + l]
        hx, hy, hz = cross(ox, oy, oz, rx, ry, rz)
        kx, ky, kz = cross(ox, oy, oz, hx, hy, hz)
        hx, hy, hz = cross(ex, ey, ez, rx, ry, rz)
        x[AC + l] = up[AC + l] + hx + kx + wx * a + tx * v
        x[AC + L + l] = up[AC + L + l] + hy + ky + wy * a + ty * v
        x[AC + 2 * L + l] = up[AC + 2 * L + l] + hz + kz + wz * a + tz * v


@compiled
def _motion(x: Array, m: Array, S: Array) -> None:
    """Write a motion vector fixed to a node, about the base's origin."""
    v0, v1, v2, w0, w1, w2 = m[0], m[1], m[2], m[3], m[4], m[5]
    for l in range(L):
        a, b, c = x[l], x[L + l], x[2 * L + l]
        vx, wx = a * v0 + b * v1 + c * v2, a * w0 + b * w1 + c * w2
        a, b, c = x[3 * L + l], x[4 * L + l], x[5 * L + l]
        vy, wy = a * v0 + b * v1 + c * v2, a * w0 + b * w1 + c * w2
        a, b, c = x[6 * L + l], x[7 * L + l], x[8 * L + l]
        vz, wz = a * v0 + b * v1 + c * v2, a * w0 + b * w1 + c * w2
        tx, ty, tz = cross(x[AP + l], x[AP + L + l], x[AP + 2 * L + l], wx, wy, wz)
        S[l], S[L + l], S[2 * L + l] = vx + tx, vy + ty, vz + tz
        S[3 * L + l], S[4 * L + l], S[5 * L + l] = wx, wy, wz


@compiled
def visit(i: int, integers: Array, reals: Array, state: Array, y: Array, tree: Array) -> None:
    """Write pose of node i and motion vectors of its rows; ``tree`` has the poses of all nodes, then the vectors."""
    N = integers[0]
    node = HEADER + PER_NODE * (i - 1)
    parent, kind, joint = integers[node], integers[node + 1], integers[node + 2]
    row, rows = integers[node + 3], integers[node + 4]
    x = tree[POSE * i : POSE * (i + 1)]
    _joint(kind, state[(BASE + 3 * joint) * L :], y)
    _move(tree[POSE * parent : POSE * (parent + 1)], x, reals[NODE_REALS * (i - 1) :], y)
    motions = tree[POSE * (N + 1) :]
    for j in range(row, row + rows):
        _motion(x, reals[NODE_REALS * N + ROW_REALS * j :], motions[6 * L * j : 6 * L * (j + 1)])
