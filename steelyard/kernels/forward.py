"""Forward dynamics of a fixed-base robot of given parameters, many short simulations at a time.

Everything is in the base frame. With the poses and motion vectors S of ``kinematics.py``, h = Sᵀ Σ A θ at zero joint
acceleration (``forces.py``) and the composite pseudo-inertias of all subtrees,

    M(q) q̈ = τ − h(q, q̇) − friction,    M_ij = S_iᵀ I_j S_j    (j in the subtree of i, I_j its composite inertia).

Sixteen lanes are sixteen simulations of the same robot. ``EULER``: v ← v + Δt q̈, q ← q + Δt v with viscous friction
implicit, and ``RK4``: fourth-order Runge–Kutta, both as in MuJoCo.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled, copy
from steelyard.kernels.forces import accumulate, power, wrench
from steelyard.kernels.kinematics import AP, JOINT, POSE, cross, root, visit
from steelyard.kernels.tree import BASE, HEADER, LANES, PER_NODE, PER_ROW, FlatTree, aligned, room
from steelyard.spatial import Array

L = LANES
Arm = tuple[Array, Array, Array, Array, Array]  # of ``arm_of``
Integration = tuple[float, bool, int]  # step in s, whether torques are interpolated linearly, EULER or RK4
EULER, RK4 = 0, 1
TERMS = 4  # of a joint: viscous, coulomb, armature, offset
COULOMB_SPEED = 0.004  # rad/s or m/s, as in ``equations/columns.py``


@compiled
def _place(x: Array, theta: Array, c: Array) -> None:
    """Write mass, first and second moments (xx xy xz yy yz zz) of one body about the base's origin, base axes."""
    m, hx, hy, hz = theta[0], theta[1], theta[2], theta[3]
    half = 0.5 * (theta[4] + theta[6] + theta[9])
    s00, s01, s02 = half - theta[4], -theta[5], -theta[7]
    s11, s12, s22 = half - theta[6], -theta[8], half - theta[9]
    for l in range(L):
        a, b, d = x[l], x[L + l], x[2 * L + l]
        e, f, g = x[3 * L + l], x[4 * L + l], x[5 * L + l]
        h, i, j = x[6 * L + l], x[7 * L + l], x[8 * L + l]
        px, py, pz = x[AP + l], x[AP + L + l], x[AP + 2 * L + l]
        rx, ry, rz = a * hx + b * hy + d * hz, e * hx + f * hy + g * hz, h * hx + i * hy + j * hz
        t0, t1, t2 = a * s00 + b * s01 + d * s02, a * s01 + b * s11 + d * s12, a * s02 + b * s12 + d * s22
        u0, u1, u2 = e * s00 + f * s01 + g * s02, e * s01 + f * s11 + g * s12, e * s02 + f * s12 + g * s22
        w0, w1, w2 = h * s00 + i * s01 + j * s02, h * s01 + i * s11 + j * s12, h * s02 + i * s12 + j * s22
        c[l] = m
        c[L + l], c[2 * L + l], c[3 * L + l] = rx + m * px, ry + m * py, rz + m * pz
        c[4 * L + l] = t0 * a + t1 * b + t2 * d + 2.0 * rx * px + m * px * px
        c[5 * L + l] = t0 * e + t1 * f + t2 * g + rx * py + px * ry + m * px * py
        c[6 * L + l] = t0 * h + t1 * i + t2 * j + rx * pz + px * rz + m * px * pz
        c[7 * L + l] = u0 * e + u1 * f + u2 * g + 2.0 * ry * py + m * py * py
        c[8 * L + l] = u0 * h + u1 * i + u2 * j + ry * pz + py * rz + m * py * pz
        c[9 * L + l] = w0 * h + w1 * i + w2 * j + 2.0 * rz * pz + m * pz * pz


@compiled
def _momentum(c: Array, S: Array, f: Array) -> None:
    """Write the spatial momentum of a composite body moving with S, about the base's origin."""
    for l in range(L):
        m, hx, hy, hz = c[l], c[L + l], c[2 * L + l], c[3 * L + l]
        vx, vy, vz, wx, wy, wz = S[l], S[L + l], S[2 * L + l], S[3 * L + l], S[4 * L + l], S[5 * L + l]
        tx, ty, tz = cross(wx, wy, wz, hx, hy, hz)
        f[l], f[L + l], f[2 * L + l] = m * vx + tx, m * vy + ty, m * vz + tz
        nx, ny, nz = cross(hx, hy, hz, vx, vy, vz)
        xx, xy, xz, yy, yz, zz = c[4 * L + l], c[5 * L + l], c[6 * L + l], c[7 * L + l], c[8 * L + l], c[9 * L + l]
        f[3 * L + l] = nx + (yy + zz) * wx - xy * wy - xz * wz
        f[4 * L + l] = ny - xy * wx + (xx + zz) * wy - yz * wz
        f[5 * L + l] = nz - xz * wx - yz * wy + (xx + yy) * wz


@compiled
def _solve(M: Array, b: Array, D: int) -> None:
    """Replace b by M⁻¹ b (Cholesky); NaN in lanes where M is not positive definite."""
    for i in range(D):
        for j in range(i):
            for k in range(j):
                for l in range(L):
                    M[(i * D + j) * L + l] -= M[(i * D + k) * L + l] * M[(j * D + k) * L + l]
            for l in range(L):
                M[(i * D + j) * L + l] *= M[(j * D + j) * L + l]
        for k in range(i):
            for l in range(L):
                M[(i * D + i) * L + l] -= M[(i * D + k) * L + l] * M[(i * D + k) * L + l]
        for l in range(L):
            M[(i * D + i) * L + l] = 1.0 / np.sqrt(M[(i * D + i) * L + l])
        for k in range(i):
            for l in range(L):
                b[i * L + l] -= M[(i * D + k) * L + l] * b[k * L + l]
        for l in range(L):
            b[i * L + l] *= M[(i * D + i) * L + l]
    for i in range(D - 1, -1, -1):
        for k in range(i + 1, D):
            for l in range(L):
                b[i * L + l] -= M[(k * D + i) * L + l] * b[k * L + l]
        for l in range(L):
            b[i * L + l] *= M[(i * D + i) * L + l]


@compiled
def _split(work: Array, length: int) -> tuple[Array, Array]:
    return work[:length], work[length:]


@compiled
def _accelerate(arm: Arm, theta: Array, terms: Array, state: Array, implicit: float, work: Array, a: Array) -> None:
    """Write q̈ (D·16) of one tile from its ``state`` q, v, τ, each (D·16)."""
    integers, reals, links, factors, gravity = arm
    N, R, D = integers[0], integers[1], len(terms) // TERMS
    q, v, tau = state[: D * L], state[D * L : 2 * D * L], state[2 * D * L :]
    lanes, rest = _split(work, (BASE + 3 * R) * L)
    y, rest = _split(rest, JOINT)
    wrenches, rest = _split(rest, 6 * L * (N + 1))
    composite, rest = _split(rest, 10 * L * (N + 1))
    M, rest = _split(rest, D * D * L)
    f, rest = _split(rest, 6 * L)
    row, tree = _split(rest, L)
    motions = tree[POSE * (N + 1) :]
    lanes[: BASE * L] = 0.0
    for k in range(3):
        lanes[k * L : (k + 1) * L] = -gravity[k]
    for j in range(R):
        i, factor, offset = links[j], factors[j], factors[R + j]
        for l in range(L):
            lanes[(BASE + 3 * j) * L + l] = factor * q[i * L + l] + offset
            lanes[(BASE + 3 * j + 1) * L + l] = factor * v[i * L + l]
            lanes[(BASE + 3 * j + 2) * L + l] = 0.0
    root(lanes, tree)
    wrenches[: 6 * L] = 0.0
    composite[: 10 * L] = 0.0
    M[:] = 0.0
    for i in range(1, N + 1):
        visit(i, integers, reals, lanes, y, tree)
        x = tree[POSE * i : POSE * (i + 1)]
        wrench(x, theta[10 * (i - 1) :], wrenches[6 * L * i : 6 * L * (i + 1)])
        _place(x, theta[10 * (i - 1) :], composite[10 * L * i : 10 * L * (i + 1)])
    for i in range(N, 0, -1):
        parent = integers[HEADER + PER_NODE * (i - 1)]
        accumulate(wrenches[6 * L * i : 6 * L * (i + 1)], wrenches[6 * L * parent : 6 * L * (parent + 1)])
        accumulate(composite[10 * L * i : 10 * L * (i + 1)], composite[10 * L * parent : 10 * L * (parent + 1)])
    for i in range(D):
        viscous, coulomb, armature, offset = terms[i], terms[D + i], terms[2 * D + i], terms[3 * D + i]
        for l in range(L):
            speed = v[i * L + l]
            dry = coulomb * speed / (abs(speed) + COULOMB_SPEED)
            a[i * L + l] = tau[i * L + l] - viscous * speed - dry - offset
            M[(i * D + i) * L + l] = armature + implicit * viscous
    for j in range(R):
        k = integers[HEADER + PER_NODE * N + PER_ROW * j]
        S, one = motions[6 * L * j : 6 * L * (j + 1)], links[j]
        power(S, wrenches[6 * L * k : 6 * L * (k + 1)], row)
        for l in range(L):
            a[one * L + l] -= factors[j] * row[l]
        _momentum(composite[10 * L * k : 10 * L * (k + 1)], S, f)
        above = k
        while above > 0:
            node = HEADER + PER_NODE * (above - 1)
            i = integers[node + 3]
            if integers[node + 4] > 0:
                other = links[i]
                power(motions[6 * L * i : 6 * L * (i + 1)], f, row)
                share = factors[i] * factors[j]
                if i != j and one == other:
                    share *= 2.0  # both halves of the symmetric matrix
                low, high = max(one, other), min(one, other)
                for l in range(L):
                    M[(low * D + high) * L + l] += share * row[l]
            above = integers[node]
    _solve(M, a, D)


@compiled
def simulate(
    arm: Arm, thetas: Array, terms: Array, starts: Array, torques: Array, how: Integration, work: Array, out: Array
) -> None:
    """Write the final q and v of every candidate and tile.

    ``thetas`` (B, N·10), ``terms`` (B, 4·D), ``starts`` (tiles, 2·D·16), ``torques`` (tiles, steps + 1, D·16): constant
    over a step, or interpolated linearly; ``out`` (B, tiles, 2·D·16).
    """
    n = terms.shape[1] // TERMS * L
    step, ramp, kind = how
    state, rest = _split(work, 3 * n)
    q, v, tau = state[:n], state[n : 2 * n], state[2 * n :]
    a, sv, sa, q0, v0 = rest[:n], rest[n : 2 * n], rest[2 * n : 3 * n], rest[3 * n : 4 * n], rest[4 * n : 5 * n]
    rest = rest[5 * n :]
    for b in range(len(thetas)):
        theta, joint = thetas[b], terms[b]
        for tile in range(len(starts)):
            copy(starts[tile], state[: 2 * n])
            for h in range(torques.shape[1] - 1):
                now, then = torques[tile, h], torques[tile, h + 1]
                if kind == EULER:
                    for k in range(n):
                        tau[k] = 0.5 * (now[k] + then[k]) if ramp else now[k]
                    _accelerate(arm, theta, joint, state, step, rest, a)
                    for k in range(n):
                        v[k] += step * a[k]
                        q[k] += step * v[k]
                    continue
                for k in range(n):
                    q0[k], v0[k], sv[k], sa[k] = q[k], v[k], 0.0, 0.0
                for stage in range(4):
                    part = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
                    weight = (1.0 if stage == 0 or stage == 3 else 2.0) / 6.0
                    for k in range(n):
                        tau[k] = now[k] + part * (then[k] - now[k]) if ramp else now[k]
                    _accelerate(arm, theta, joint, state, 0.0, rest, a)
                    following = 0.5 if stage < 2 else 1.0
                    for k in range(n):
                        sv[k] += weight * v[k]
                        sa[k] += weight * a[k]
                        q[k] = q0[k] + following * step * v[k]
                        v[k] = v0[k] + following * step * a[k]
                for k in range(n):
                    q[k] = q0[k] + step * sv[k]
                    v[k] = v0[k] + step * sa[k]
            copy(state[: 2 * n], out[b, tile])


def arm_of(tree: FlatTree) -> Arm:
    """Return integers and reals of the tree, the mimicked joint of each moving one, its factor and offset, gravity.

    A plain tuple: a named class would invalidate numba's cache when it is renamed.
    """
    links = np.ascontiguousarray(tree.independent[: tree.moving], np.int64)
    factors = np.concatenate([tree.factors[: tree.moving], tree.offsets])
    return tree.integers, tree.reals, links, factors, tree.gravity


def tiles(values: Array) -> Array:
    """Return samples (samples, columns) as tiles (tiles, columns·16), padded with the last sample."""
    count = -(-len(values) // L) * L
    full = values[np.minimum(np.arange(count), len(values) - 1)]
    out = aligned(full.size).reshape(count // L, -1, L)
    out[:] = full.reshape(count // L, L, -1).transpose(0, 2, 1)
    return out.reshape(count // L, -1)


def workspace(tree: FlatTree, joints: int) -> Array:
    """Return the workspace of one thread."""
    N, n = tree.bodies, joints * L
    return aligned(8 * n + (BASE + 3 * tree.moving + 16 * (N + 1) + joints**2 + 7) * L + JOINT + room(tree))
