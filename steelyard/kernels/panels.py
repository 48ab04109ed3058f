"""Panels: regressor rows of many samples at once, laid out for matrix products.

Everything is in the base frame. Body i at p with axes R, angular velocity ω and acceleration α, whose origin has the
proper acceleration a, requires the wrench A_i θ_i about the base's origin; with K = [α]× + [ω]×² and ω_b = Rᵀω …

    A_i = [ a      K R                    0            ]      n(ω, α): Iα + ω × Iω, linear in the six of I
          [ p×a    [R·]× a + [p]× K R     R n(ω_b, α_b) ]

and a joint's row is Sᵀ A_i for each body i of its subtree, S its motion vector (p_j × s, s) about the base's origin.

Layout, one buffer for a batch of B samples (B a multiple of 16), float64, aligned to cache lines:

    base        (10·N, 6·B)   row 10·(i − 1) + k: parameter k of the body of node i;
                              column 96·(t div 16) + 16·c + (t mod 16): component c (fx … mz) of sample t
    joint[j]    (10·n_j, B)   the same for the n_j bodies of row j's subtree, from its node on; column t: sample t

so the Gram matrix of all base rows is ``base @ base.T`` over all 10·N parameters, that of row j ``joint[j] @
joint[j].T`` over the parameters ``Panels.at(j)``, and ``joint[j] @ target[:, j]`` its right-hand side
(``Panels.columns`` orders that of the base). Bodies are in the order of the tree's nodes (``tree.nodes``), rows those
of the tree (``tree.rows``); if a joint mimics another (``tree.coupled``) the equation is the sum of both rows,
multiplied by ``tree.factors``. ``dense`` writes them as a dense regressor.

    tree = robot.tree                            # None: not covered
    panels = Panels(tree, 64)
    states = tree.states(segment, 64)            # zeros after the last sample give zero rows
    for first in range(0, len(states), 4):       # four tiles of 16
        panels.fill(states, first)               # nogil; one Panels a thread
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from steelyard.kernels.compiled import compiled, copy_lanes
from steelyard.kernels.kinematics import AA, AC, AP, AW, JOINT, POSE, cross, root, visit
from steelyard.kernels.tree import HEADER, LANES, PER_NODE, PER_ROW, FlatTree, aligned, room
from steelyard.spatial import Array

L = LANES
BLOCK = 60 * L  # A_i by columns
SCRATCH = BLOCK + JOINT + 10 * L


@compiled
def first_moments(x: Array, A: Array) -> None:
    """Write the columns of the mass and of the three first moments."""
    for l in range(L):
        px, py, pz = x[AP + l], x[AP + L + l], x[AP + 2 * L + l]
        ox, oy, oz = x[AW + l], x[AW + L + l], x[AW + 2 * L + l]
        ex, ey, ez = x[AA + l], x[AA + L + l], x[AA + 2 * L + l]
        ax, ay, az = x[AC + l], x[AC + L + l], x[AC + 2 * L + l]
        A[l], A[L + l], A[2 * L + l] = ax, ay, az
        A[3 * L + l], A[4 * L + l], A[5 * L + l] = cross(px, py, pz, ax, ay, az)
        xx, yy, zz, xy, xz, yz = ox * ox, oy * oy, oz * oz, ox * oy, ox * oz, oy * oz
        k00, k01, k02 = -yy - zz, xy - ez, xz + ey
        k10, k11, k12 = xy + ez, -xx - zz, yz - ex
        k20, k21, k22 = xz - ey, yz + ex, -xx - yy
        for k in range(3):  # columns of R
            rx, ry, rz = x[k * L + l], x[(3 + k) * L + l], x[(6 + k) * L + l]
            fx, fy, fz = k00 * rx + k01 * ry + k02 * rz, k10 * rx + k11 * ry + k12 * rz, k20 * rx + k21 * ry + k22 * rz
            at = 6 * (k + 1) * L + l
            A[at], A[at + L], A[at + 2 * L] = fx, fy, fz
            A[at + 3 * L] = ry * az - rz * ay + py * fz - pz * fy
            A[at + 4 * L] = rz * ax - rx * az + pz * fx - px * fz
            A[at + 5 * L] = rx * ay - ry * ax + px * fy - py * fx


@compiled
def second_moments(x: Array, A: Array) -> None:
    """Write the columns of the six inertias: moments only, at 3·k of component c."""
    for l in range(L):
        a, b, c = x[l], x[L + l], x[2 * L + l]
        d, e, f = x[3 * L + l], x[4 * L + l], x[5 * L + l]
        g, h, i = x[6 * L + l], x[7 * L + l], x[8 * L + l]
        u, v, w = x[AW + l], x[AW + L + l], x[AW + 2 * L + l]
        ox, oy, oz = a * u + d * v + g * w, b * u + e * v + h * w, c * u + f * v + i * w
        u, v, w = x[AA + l], x[AA + L + l], x[AA + 2 * L + l]
        ex, ey, ez = a * u + d * v + g * w, b * u + e * v + h * w, c * u + f * v + i * w
        xx, yy, zz, xy, xz, yz = ox * ox, oy * oy, oz * oz, ox * oy, ox * oz, oy * oz
        u, v, w = ex, xz, -xy  # Ixx
        A[27 * L + l], A[28 * L + l] = a * u + b * v + c * w, d * u + e * v + f * w
        A[29 * L + l] = g * u + h * v + i * w
        u, v, w = ey - xz, ex + yz, xx - yy  # Ixy
        A[33 * L + l], A[34 * L + l] = a * u + b * v + c * w, d * u + e * v + f * w
        A[35 * L + l] = g * u + h * v + i * w
        u, v, w = -yz, ey, xy  # Iyy
        A[39 * L + l], A[40 * L + l] = a * u + b * v + c * w, d * u + e * v + f * w
        A[41 * L + l] = g * u + h * v + i * w
        u, v, w = ez + xy, zz - xx, ex - yz  # Ixz
        A[45 * L + l], A[46 * L + l] = a * u + b * v + c * w, d * u + e * v + f * w
        A[47 * L + l] = g * u + h * v + i * w
        u, v, w = yy - zz, ez - xy, ey + xz  # Iyz
        A[51 * L + l], A[52 * L + l] = a * u + b * v + c * w, d * u + e * v + f * w
        A[53 * L + l] = g * u + h * v + i * w
        u, v, w = yz, -xz, ez  # Izz
        A[57 * L + l], A[58 * L + l] = a * u + b * v + c * w, d * u + e * v + f * w
        A[59 * L + l] = g * u + h * v + i * w


@compiled
def row(S: Array, A: Array, out: Array) -> None:
    """Write SᵀA, ten values per lane."""
    for l in range(L):
        a, b, c, d, e, f = S[l], S[L + l], S[2 * L + l], S[3 * L + l], S[4 * L + l], S[5 * L + l]
        for k in range(4):
            at = 6 * k * L + l
            force = a * A[at] + b * A[at + L] + c * A[at + 2 * L]
            out[k * L + l] = force + d * A[at + 3 * L] + e * A[at + 4 * L] + f * A[at + 5 * L]
        for k in range(4, 10):
            at = 6 * k * L + l
            out[k * L + l] = d * A[at + 3 * L] + e * A[at + 4 * L] + f * A[at + 5 * L]


@compiled
def put_row(line: Array, out: Array, to: int, step: int) -> None:
    """Copy ten times 16 lanes to a stride of ``step``."""
    for k in range(10):
        copy_lanes(line, k * L, out, to + k * step)


@compiled
def _put_block(A: Array, out: Array, to: int, step: int) -> None:
    """Copy a block as ten runs of 6·16 values to a stride of ``step``; forces of second moments remain zero."""
    for k in range(4):
        for c in range(6):
            copy_lanes(A, (6 * k + c) * L, out, to + k * step + c * L)
    for k in range(4, 10):
        for c in range(3, 6):
            copy_lanes(A, (6 * k + c) * L, out, to + k * step + c * L)


@compiled
def fill(integers: Array, reals: Array, states: Array, first: int, work: Array, out: Array) -> None:
    """Write the panels of a batch to ``out``, from tile ``first`` of the states on.

    Entries that are not written must be zero: second moments cause no force.
    """
    N, R, floating = integers[0], integers[2], integers[3]
    height = 60 * N * floating
    for j in range(R):
        height += 10 * integers[HEADER + PER_NODE * N + PER_ROW * j + 1]
    B = len(out) // height
    joints = out[60 * N * floating * B :]
    A, y, line, tree = work[:BLOCK], work[BLOCK : BLOCK + JOINT], work[BLOCK + JOINT : SCRATCH], work[SCRATCH:]
    motions = tree[POSE * (N + 1) :]
    for tile in range(B // L):
        state = states[first + tile]
        root(state, tree)
        for i in range(1, N + 1):
            visit(i, integers, reals, state, y, tree)
            x = tree[POSE * i : POSE * (i + 1)]
            first_moments(x, A)
            second_moments(x, A)
            if floating:
                _put_block(A, out, 60 * (i - 1) * B + 6 * tile * L, 6 * B)
            k = i
            while k > 0:  # rows of all ancestors of this body
                node = HEADER + PER_NODE * (k - 1)
                for j in range(integers[node + 3], integers[node + 3] + integers[node + 4]):
                    before = integers[HEADER + PER_NODE * N + PER_ROW * j + 2]
                    row(motions[6 * L * j : 6 * L * (j + 1)], A, line)
                    put_row(line, joints, 10 * (before + i - k) * B + tile * L, B)
                k = integers[node]


class Panels:
    """Panels of one batch of samples, in a reused buffer; one object per thread."""

    base: Array  # (10·N, 6·B), or (0, 6·B) on a fixed base
    joint: tuple[Array, ...]  # (10·n_j, B) for each row of the tree

    def __init__(self, tree: FlatTree, batch: int = 64):
        """Allocate panels of ``batch`` samples, a multiple of 16."""
        assert batch % LANES == 0 and batch > 0
        self.tree, self.batch = tree, batch
        N, carried = tree.bodies if tree.floating else 0, tree.table[:, 1]
        self.buffer = aligned((60 * N + 10 * int(np.sum(carried))) * batch)
        self.base = self.buffer[: 60 * N * batch].reshape(10 * N, 6 * batch)
        ends = np.cumsum([60 * N * batch, *(10 * batch * carried)])
        self.joint = tuple(self.buffer[a:b].reshape(-1, batch) for a, b in pairwise(ends))
        self.work = aligned(SCRATCH + room(tree))

    def at(self, row: int) -> slice:
        """Return the parameters, of all 10·N, in a row's panel."""
        node, count, _ = self.tree.table[row]
        return slice(10 * int(node - 1), 10 * int(node - 1 + count))

    def fill(self, states: Array, first: int = 0) -> None:
        """Compute the batch that begins with tile ``first`` of ``FlatTree.states``."""
        fill(self.tree.integers, self.tree.reals, states, first, self.work, self.buffer)

    def columns(self, values: Array) -> Array:
        """Return values (B, 6) of the base's equations in the order (6·B,) of the base panel's columns."""
        return np.ascontiguousarray(values.reshape(-1, LANES, 6).transpose(0, 2, 1)).ravel()
