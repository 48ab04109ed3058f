"""Contact-free equations of the base of a legged robot, up to 16 samples at a time, without allocation.

All joints belong to legs of three joints that end in a point foot, and all bodies but the base are known. Then the
base's parameters do not occur in the legs' equations, which determine the contact forces: with X of
``leg_elimination.py`` the rows [1 −X] are free of them, and (1 + XXᵀ)^-½ makes these orthonormal: the polar basis of
``equations/unknown_forces.py``, for which A φ = −f − X(τ − τ_known).
"""

from __future__ import annotations

from steelyard.kernels.compiled import compiled
from steelyard.kernels.forces import wrench
from steelyard.kernels.kinematics import POSE, root, visit
from steelyard.kernels.leg_elimination import FOOT_REALS, MOST, PER_FOOT, UP, add_square, push
from steelyard.kernels.panels import first_moments, second_moments
from steelyard.kernels.state_layout import AT, part
from steelyard.kernels.sym6 import identity, inverse_root, size
from steelyard.kernels.tree import HEADER, LANES, PER_NODE
from steelyard.spatial import Array

L = LANES


@compiled
def _carry(S: Array, f: Array, onto: Array, tau: Array) -> None:
    """Subtract the torque by the wrench on a joint's subtree from the measured one; pass the wrench to the parent."""
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
def _hold(X: Array, t1: Array, t2: Array, t3: Array, f: Array) -> None:
    """Add X τ of one leg to f."""
    for l in range(L):
        a, b, c = t1[l], t2[l], t3[l]
        f[l] += X[l] * a + X[6 * L + l] * b + X[12 * L + l] * c
        f[L + l] += X[L + l] * a + X[7 * L + l] * b + X[13 * L + l] * c
        f[2 * L + l] += X[2 * L + l] * a + X[8 * L + l] * b + X[14 * L + l] * c
        f[3 * L + l] += X[3 * L + l] * a + X[9 * L + l] * b + X[15 * L + l] * c
        f[4 * L + l] += X[4 * L + l] * a + X[10 * L + l] * b + X[16 * L + l] * c
        f[5 * L + l] += X[5 * L + l] * a + X[11 * L + l] * b + X[17 * L + l] * c


@compiled
def _whiten(W: Array, Z: Array, A: Array, f: Array, out: Array) -> None:
    """Write W Z [A f] by rows to out (6·11·16); A (by columns) has no forces after its fourth column."""
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
                a * A[6 * L + l]
                + b * A[7 * L + l]
                + c * A[8 * L + l]
                + d * A[9 * L + l]
                + e * A[10 * L + l]
                + g * A[11 * L + l]
            )
            o[2 * L + l] = (
                a * A[12 * L + l]
                + b * A[13 * L + l]
                + c * A[14 * L + l]
                + d * A[15 * L + l]
                + e * A[16 * L + l]
                + g * A[17 * L + l]
            )
            o[3 * L + l] = (
                a * A[18 * L + l]
                + b * A[19 * L + l]
                + c * A[20 * L + l]
                + d * A[21 * L + l]
                + e * A[22 * L + l]
                + g * A[23 * L + l]
            )
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
def contact_free_rows(integers: Array, reals: Array) -> bool:
    """Compute the whitened contact-free rows [A target] of the base for 16 samples; False if a leg is nearly straight.

    From ``state`` and ``torques``. The torques of the known bodies are subtracted from the measured ones; then the
    contact wrenches X τ are eliminated from the base's equations by the rows [1 −X], made orthonormal by (1 + XXᵀ)^-½.
    """
    tree, legs = part(integers, integers, AT.tree), part(integers, integers, AT.legs)
    state, tau = part(reals, integers, AT.state), part(reals, integers, AT.torques)
    bodies, balls = part(reals, integers, AT.bodies), part(reals, integers, AT.balls)
    poses, forces = part(reals, integers, AT.poses), part(reals, integers, AT.wrenches)
    geometry, joint = part(reals, integers, AT.tree_reals), part(reals, integers, AT.joint)
    N = tree[0]
    motions, f = poses[POSE * (N + 1) :], forces[6 * L :]
    root(state, poses[POSE:])
    for l in range(6 * L):
        f[l] = 0.0
    for i in range(2, N + 1):
        visit(i, tree, geometry, state, joint, poses)
        wrench(poses[POSE * i : POSE * (i + 1)], bodies[10 * (i - 1) :], forces[6 * L * i :])
    for i in range(N, 1, -1):
        node = HEADER + PER_NODE * (i - 1)
        j = tree[node + 3]
        _carry(motions[6 * L * j :], forces[6 * L * i :], forces[6 * L * tree[node] :], tau[j * L :])
    X, M, norm = part(reals, integers, AT.push), part(reals, integers, AT.square), part(reals, integers, AT.norm)
    identity(1.0, M)
    for k in range(len(legs) // PER_FOOT):
        node, a, b, c = legs[PER_FOOT * k], legs[PER_FOOT * k + 1], legs[PER_FOOT * k + 2], legs[PER_FOOT * k + 3]
        A, B, C = motions[6 * L * a :], motions[6 * L * b :], motions[6 * L * c :]
        push(poses[POSE * node :], state[UP:], balls[FOOT_REALS * k :], A, B, C, X)
        add_square(X, M)
        _hold(X, tau[a * L :], tau[b * L :], tau[c * L :], f)
    size(M, norm)
    for l in range(L):
        if not norm[l] <= MOST:
            return False
    Z = part(reals, integers, AT.root)
    if not inverse_root(M, norm, Z, part(reals, integers, AT.inverse), part(reals, integers, AT.spare)):
        return False
    block = part(reals, integers, AT.block)
    first_moments(poses[POSE:], block)
    second_moments(poses[POSE:], block)
    _whiten(part(reals, integers, AT.whitener), Z, block, f, part(reals, integers, AT.rows))
    return True
