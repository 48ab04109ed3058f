"""One online step in one call: raw samples → filter → rows → Gram matrix → test for a change → shapes → proof.

Everything lives in four flat arrays whose places ``Layout`` gives (each argument costs 50 ns a call); nothing is
allocated: integers and reals that never change, what is remembered with room to work in behind it, and counts with the
passive set of ``nnls.py`` behind them. A step that does not succeed has changed nothing. The Gram matrices are those of
[Y z], 11 × 11.

The proof needs no factorisation. Let g be the slope by the masses x ≥ 0, H the data's and prior's matrix, δ the most by
which any g is negative. Every shape has unit mass, so e = δ on the mass alone makes all μ = g + δ ≥ 0, and weak duality
bounds what x can be off by with

    gap = Σ μ x + ½ δ² (H⁻¹)_mm,    (H⁻¹)_mm at most the prior's variance of the mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.kernels import legged
from steelyard.kernels.compiled import compiled
from steelyard.kernels.nnls import active_set_in
from steelyard.kernels.tree import BASE, LANES

Array = np.ndarray

L = LANES
N1 = 11  # ten parameters and the right side
SQUARE = N1 * N1
DEPENDENT = 1e-12  # of a diagonal entry: a pivot below this is rounding
HEAD = 10  # C, J, N, F, k, quaternion, gyro, acc; lengths of constants and memory
RULES = 7  # forgetting, average, windows in the recent part, caution, variance of the mass, warm start, settling
# counts
SAMPLES, ROWS, SINCE, AGE, OLD_ROWS, RECENT_ROWS, PASSIVE = range(7)
# what a step says
LEARNED, CHANGED, NOT_HERE = 1, 2, -1  # the last: nothing was done, and another way has to be taken


@compiled
def padded(k: int) -> int:
    """Columns that k shapes take: whole cache lines."""
    return (k + 7) // 8 * 8


@dataclass(frozen=True)
class Layout:
    """Where things are; C columns, J joints, F feet, N nodes, k shapes."""

    C: int
    J: int
    F: int
    N: int
    k: int

    def memory(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Name → start and shape of what is remembered."""
        return _places({
            "filter": (4, self.C), "up": (3,), "old": (N1, N1), "recent": (N1, N1), "theta": (10,), "proof": (3,),
            "test": (3,), "x": (self.k,), "last": (self.C,), "stamp": (1,), "before": (N1, N1), "at": (10,),
        })  # fmt: skip

    def constants(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Name → start and shape of what never changes."""
        return _places({
            "step": (15,), "rates": (2,), "mount": (12,), "turned": (9,), "prior": (N1, N1), "thresholds": (N1,),
            "rules": (RULES,), "U": (10, padded(self.k)), "floor": (10,), "ridge": (2, self.k),
            "known": (10 * self.N + 4 * self.F + 36,), "factors": (self.C,),
        })  # fmt: skip


def _places(shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, tuple[int, ...]]]:
    at, found = 0, {}
    for name, shape in shapes.items():
        found[name] = at, shape
        at += int(np.prod(shape))
    found["end"] = at, ()
    return found


@compiled
def _filter(step: Array, before: Array, values: Array, quaternion: int, after: Array, out: Array) -> None:
    """The causal filter of ``kernels/causal.py`` from one state (4·C) to another; ``out`` (k·3·C)."""
    k, C = values.shape
    a0, a1, a2, a3, a4 = step[0], step[1], step[2], step[3], step[4]
    b0, b1, b2, b3, b4 = step[5], step[6], step[7], step[8], step[9]
    c0, c1, c2, c3, c4 = step[10], step[11], step[12], step[13], step[14]
    for i in range(4 * C):
        after[i] = before[i]
    for t in range(k):
        u, o = values[t], out[3 * C * t : 3 * C * (t + 1)]
        if quaternion >= 0:  # of unit length, and of one sign
            square, along = 0.0, 0.0
            for i in range(quaternion, quaternion + 4):
                square += u[i] * u[i]
                along += u[i] * after[3 * C + i]
            scale = (1.0 if along >= 0.0 else -1.0) / np.sqrt(square)
            for i in range(quaternion, quaternion + 4):
                u[i] *= scale
        for c in range(C):
            x, v, a, w, n = after[c], after[C + c], after[2 * C + c], after[3 * C + c], u[c]
            p = a0 * x + a1 * v + a2 * a + a3 * w + a4 * n
            q = b0 * x + b1 * v + b2 * a + b3 * w + b4 * n
            r = c0 * x + c1 * v + c2 * a + c3 * w + c4 * n
            after[c], after[C + c], after[2 * C + c], after[3 * C + c] = p, q, r, n
            o[c], o[C + c], o[2 * C + c] = p, q, r


@compiled
def _spread(ints: Array, constants: Array, filtered: Array, k: int, lanes: Array) -> None:
    """Filtered samples as lanes: base, joints, torques; those that are not there repeat the first."""
    C, J = ints[0], ints[1]
    gyro, acc = ints[6], ints[7]
    for t in range(L):
        o = filtered[3 * C * (t if t < k else 0) :]
        for i in range(3):
            lanes[i * L + t] = o[acc + i]
            lanes[(3 + i) * L + t] = o[gyro + i]
            lanes[(6 + i) * L + t] = o[C + gyro + i]
        for j in range(J):
            q = ints[HEAD + j]
            lanes[(BASE + 3 * j) * L + t] = o[q]
            lanes[(BASE + 1 + 3 * j) * L + t] = o[C + q]
            lanes[(BASE + 2 + 3 * j) * L + t] = o[2 * C + q]
            lanes[(BASE + 3 * J + j) * L + t] = o[ints[HEAD + J + j]]
    m = constants[17:29]
    a, b, c, d, e, f, g, h, i, x, y, z = m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], m[10], m[11]
    for l in range(L):
        ax, ay, az = lanes[l], lanes[L + l], lanes[2 * L + l]
        wx, wy, wz = lanes[3 * L + l], lanes[4 * L + l], lanes[5 * L + l]
        ex, ey, ez = lanes[6 * L + l], lanes[7 * L + l], lanes[8 * L + l]
        ox, oy, oz = a * wx + b * wy + c * wz, d * wx + e * wy + f * wz, g * wx + h * wy + i * wz
        px, py, pz = a * ex + b * ey + c * ez, d * ex + e * ey + f * ez, g * ex + h * ey + i * ez
        tx, ty, tz = oy * z - oz * y, oz * x - ox * z, ox * y - oy * x
        lanes[l] = a * ax + b * ay + c * az - (py * z - pz * y) - (oy * tz - oz * ty)
        lanes[L + l] = d * ax + e * ay + f * az - (pz * x - px * z) - (oz * tx - ox * tz)
        lanes[2 * L + l] = g * ax + h * ay + i * az - (px * y - py * x) - (ox * ty - oy * tx)
        lanes[3 * L + l], lanes[4 * L + l], lanes[5 * L + l] = ox, oy, oz
        lanes[6 * L + l], lanes[7 * L + l], lanes[8 * L + l] = px, py, pz


@compiled
def _upward(ints: Array, constants: Array, filtered: Array, k: int, up: Array, lanes: Array) -> None:
    """What is up, by the quaternion or by following gravity (``up`` (3,) goes on)."""
    C, q, at = ints[0], ints[5], 9 * L
    if q >= 0:
        n = constants[29:38]
        for t in range(L):
            o = filtered[3 * C * (t if t < k else 0) :]
            x, y, z, w = o[q], o[q + 1], o[q + 2], o[q + 3]
            s = 2.0 / (x * x + y * y + z * z + w * w)
            a, b, c = s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)
            for i in range(3):
                lanes[at + i * L + t] = a * n[3 * i] + b * n[3 * i + 1] + c * n[3 * i + 2]
        for i in range(3):
            up[i] = lanes[at + i * L + k - 1]
        return
    gain, rate = constants[16], constants[15]
    for t in range(L):
        if t < k:
            x, y, z = up[0], up[1], up[2]
            wx, wy, wz = lanes[3 * L + t] / rate, lanes[4 * L + t] / rate, lanes[5 * L + t] / rate
            up[0] = (1 - gain) * (x - (wy * z - wz * y)) + gain * lanes[t] / 9.81
            up[1] = (1 - gain) * (y - (wz * x - wx * z)) + gain * lanes[L + t] / 9.81
            up[2] = (1 - gain) * (z - (wx * y - wy * x)) + gain * lanes[2 * L + t] / 9.81
            length = np.sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2])
            for i in range(3):
                up[i] /= length
        for i in range(3):
            lanes[at + i * L + t] = up[i]


@compiled
def _gram(rows: Array, k: int, G: Array) -> None:
    """G (121) of rows (6·11·16), of which the first k lanes count."""
    for r in range(66):
        for l in range(k, L):
            rows[r * L + l] = 0.0
    for i in range(N1):
        for j in range(i + 1):
            a, b = rows[i * L :], rows[j * L :]
            s = 0.0
            for l in range(L):
                s += (
                    a[l] * b[l] + a[11 * L + l] * b[11 * L + l] + a[22 * L + l] * b[22 * L + l]
                    + a[33 * L + l] * b[33 * L + l] + a[44 * L + l] * b[44 * L + l] + a[55 * L + l] * b[55 * L + l]
                )  # fmt: skip
            G[N1 * i + j] = s
            G[N1 * j + i] = s


@compiled
def _eliminate(A: Array) -> tuple[float, int]:
    """Gauss on ten equations [G g] in rows of 16, G symmetric: gᵀG⁺g, and how many pivots were not rounding."""
    total, rank = 0.0, 0
    for j in range(10):
        top = A[16 * j : 16 * j + 16]
        pivot = top[j]
        inverse = 0.0
        if pivot > DEPENDENT * A[160 + j]:
            inverse = 1.0 / pivot
            rank += 1
        total += top[10] * top[10] * inverse
        for i in range(j + 1, 10):
            row = A[16 * i : 16 * i + 16]
            f = top[i] * inverse
            for c in range(len(row)):  # of no length known beforehand: else it is unrolled, and not packed
                row[c] -= f * top[c]
        top[11] = inverse
    return total, rank


@compiled
def _rows_of_16(G: Array, A: Array) -> None:
    """[G g] of a Gram matrix (121) in rows of 16; its diagonal behind them."""
    for i in range(10):
        for c in range(N1):
            A[16 * i + c] = G[N1 * i + c]
        for c in range(N1, 16):
            A[16 * i + c] = 0.0
        A[160 + i] = G[N1 * i + i]


@compiled
def settle(prior: Array, old: Array, before: Array, at: Array, A: Array) -> None:
    """What was known before the next windows, prior included, and its optimum (10,)."""
    for i in range(SQUARE):
        before[i] = prior[i] + old[i]
    _rows_of_16(before, A)
    _eliminate(A)
    for i in range(9, -1, -1):
        t = A[16 * i + 10]
        for m in range(i + 1, 10):
            t -= A[16 * i + m] * at[m]
        at[i] = t * A[16 * i + 11]


@compiled
def statistic(before: Array, at: Array, recent: Array, work: Array) -> tuple[float, int]:
    """χ² of the recent Gram matrix against all before, g = c − G θ: gᵀG⁺g − gᵀ(G_before + G)⁻¹g; and its freedom."""
    A, B = work[:176], work[176:352]
    _rows_of_16(recent, B)
    _rows_of_16(before, A)
    for i in range(10):
        t = B[16 * i + 10]
        for m in range(10):
            t -= B[16 * i + m] * at[m]
        B[16 * i + 10] = t
        A[16 * i + 10] = 0.0
        A[160 + i] += B[160 + i]
    for i in range(160):
        A[i] += B[i]
    less, _ = _eliminate(A)
    more, freedom = _eliminate(B)
    return more - less, freedom


@compiled
def solve(ints: Array, constants: Array, data: Array, work: Array, counts: Array, x: Array) -> None:
    """Masses of shapes x (k,) that explain data (121) and prior best; θ (10,) and kkt, gap, least at work's front."""
    k = ints[4]
    marks = counts[8 : 8 + 3 * k].reshape(3, k)
    P = padded(k)
    prior, rules = constants[38 : 38 + SQUARE], constants[38 + SQUARE + N1 :]
    U, floor = rules[RULES : RULES + 10 * P], rules[RULES + 10 * P : RULES + 10 + 10 * P]
    ridge = rules[RULES + 10 + 10 * P :]
    theta, H, HU, line = work[:13], work[16 : 16 + SQUARE], work[144 : 144 + 10 * P], work[144 + 10 * P : 144 + 11 * P]
    rest = work[144 + 11 * P :]
    G, c, out = rest[: k * k].reshape(k, k), rest[k * k : k * k + k], rest[k * k + k : k * k + 3 * k].reshape(2, k)
    spare = rest[k * k + 3 * k : 2 * k * k + 7 * k].reshape(k + 4, k)
    for i in range(SQUARE):
        H[i] = prior[i] + data[i]
    for s in range(P):
        line[s] = 0.0
    for i in range(10):
        t, h = H[N1 * i + 10], HU[P * i : P * i + P]
        for s in range(P):
            h[s] = 0.0
        for j in range(10):
            x_ij, u = H[N1 * i + j], U[P * j : P * j + P]
            t -= x_ij * floor[j]
            for s in range(P):
                h[s] += x_ij * u[s]
        u = U[P * i : P * i + P]
        for s in range(P):
            line[s] += t * u[s]
    for s in range(k):
        c[s] = line[s] + ridge[k + s]
    for s in range(k):
        for r in range(P):
            line[r] = 0.0
        for i in range(10):
            t, h = U[P * i + s], HU[P * i : P * i + P]
            for r in range(P):
                line[r] += t * h[r]
        for r in range(k):
            G[s, r] = line[r]
        G[s, s] += ridge[s]
    held = counts[PASSIVE] if rules[5] > 0.0 else 0
    active_set_in(G, c, marks[2, :held], 0, out, spare, marks[:2])
    square, largest = 0.0, 0.0
    for s in range(k):
        x[s] = out[0, s]
        square += x[s] * (c[s] - out[1, s])
        largest = max(largest, abs(c[s]) / np.sqrt(G[s, s]))
    delta, kkt, gap, passive = 0.0, 0.0, 0.0, 0
    for s in range(k):
        delta = max(delta, out[1, s])
        off = abs(out[1, s]) if x[s] > 0.0 else max(out[1, s], 0.0)
        kkt = max(kkt, off / np.sqrt(G[s, s]))
        if x[s] > 0.0:
            marks[2, passive] = s
            passive += 1
    counts[PASSIVE] = passive
    for s in range(k):
        gap += (delta - out[1, s]) * x[s]
    gap = max(gap, 0.0) + 0.5 * delta * delta * rules[4]
    cost = H[SQUARE - 1]
    for i in range(10):
        t = floor[i]
        for s in range(k):
            t += U[P * i + s] * x[s]
        theta[i] = t
    for i in range(10):
        t = -2.0 * H[N1 * i + 10]
        for j in range(10):
            t += H[N1 * i + j] * theta[j]
        cost += t * theta[i]
    scale = 0.5 * max(cost, 0.0) + 0.5e-6 * H[SQUARE - 1] + 1e-300
    theta[10], theta[11], theta[12] = kkt / (largest + np.sqrt(max(square, 0.0)) + 1e-300), gap / scale, 0.0


@compiled
def step(ints: Array, reals: Array, memory: Array, counts: Array, values: Array) -> int:
    """Learn from evenly spaced samples (k, C)."""
    C, J, F, k = ints[0], ints[1], ints[3], len(values)
    constants, work = reals[: ints[8]], memory[ints[9] :]
    lanes, rest = work[: (BASE + 4 * J) * L], work[(BASE + 4 * J) * L :]
    filtered, after = rest[: 3 * C * L], rest[3 * C * L : 3 * C * L + 4 * C]
    up = rest[3 * C * L + 4 * padded(C) :]
    room = up[8:]
    known = constants[38 + SQUARE + N1 + RULES + 10 + 10 * padded(ints[4]) + 2 * ints[4] :]
    _filter(constants, memory, values, ints[5], after, filtered)
    _spread(ints, constants, filtered, k, lanes)
    for i in range(3):
        up[i] = memory[4 * C + i]
    _upward(ints, constants, filtered, k, up, lanes)
    legs, tree = ints[HEAD + 2 * J : HEAD + 2 * J + 4 * F], ints[HEAD + 2 * J + 4 * F :]
    if not legged.base_rows(tree, reals[ints[8] :], legs, known, lanes, room):
        return NOT_HERE
    for i in range(4 * C):
        memory[i] = after[i]
    for i in range(3):
        memory[4 * C + i] = up[i]
    counts[SAMPLES] += k
    counts[ROWS] += k
    gram = room[66 * L : 66 * L + SQUARE]
    _gram(room, k, gram)
    return learn(ints, reals, memory, counts, gram, room[66 * L + 128 :], 6 * k)


@compiled
def learn(ints: Array, reals: Array, memory: Array, counts: Array, gram: Array, work: Array, rows: int) -> int:
    """Take in the Gram matrix of one window: forget, add, test, solve."""
    C, k, constants = ints[0], ints[4], reals[: ints[8]]
    old, recent = memory[4 * C + 3 : 4 * C + 3 + SQUARE], memory[4 * C + 3 + SQUARE : 4 * C + 3 + 2 * SQUARE]
    theta, test, x = (
        memory[4 * C + 3 + 2 * SQUARE :],
        memory[4 * C + 16 + 2 * SQUARE :],
        memory[4 * C + 19 + 2 * SQUARE :],
    )
    before = memory[5 * C + 20 + 2 * SQUARE + k : 5 * C + 20 + 3 * SQUARE + k]
    at = memory[5 * C + 20 + 3 * SQUARE + k : 5 * C + 30 + 3 * SQUARE + k]
    prior, thresholds = constants[38 : 38 + SQUARE], constants[38 + SQUARE :]
    rules = thresholds[N1:]
    factor, average, span = rules[0], rules[1], int(rules[2])
    for i in range(SQUARE):
        old[i] *= factor
        recent[i] = factor * recent[i] + gram[i]
    counts[RECENT_ROWS] += rows
    counts[SINCE] += 1
    counts[AGE] += 1
    if counts[AGE] > span:
        value, freedom = statistic(before, at, recent, work)
        limit = thresholds[freedom] * max(test[0], 1.0)
        test[1], test[2] = value, limit
        if value > limit and freedom > 0:
            return CHANGED
        test[0] += rules[3] * (min(value / max(freedom, 1), 4.0) - test[0])
    if average > 0.0:
        total = gram
    else:
        total = work[:SQUARE]
        for i in range(SQUARE):
            total[i] = old[i] + recent[i]
    room = work[128:]
    solve(ints, constants, total, room, counts, x)
    if average > 0.0 and counts[AGE] > 1:
        for i in range(10):
            theta[i] += average * (room[i] - theta[i])
    else:
        for i in range(10):
            theta[i] = room[i]
    for i in range(10, 13):
        theta[i] = room[i]
    if counts[SINCE] == span:
        for i in range(SQUARE):
            old[i] += recent[i]
            recent[i] = 0.0
        counts[OLD_ROWS] += counts[RECENT_ROWS]
        counts[RECENT_ROWS] = 0
        counts[SINCE] = 0
        settle(prior, old, before, at, work)
    return LEARNED


@compiled
def window(ints: Array, reals: Array, memory: Array, counts: Array, values: Array, times: Array, samples: Array) -> int:
    """A step from raw samples (k, C) as they were measured, if nothing is amiss: stamps even, all finite, k as many."""
    C, k, constants = ints[0], len(times), reals[: ints[8]]
    rate, rules = constants[15], constants[38 + SQUARE + N1 :]
    if samples.shape[0] != k or samples.shape[1] != C or k != len(values) or counts[SAMPLES] < rules[6]:
        return NOT_HERE
    end = 4 * C + 19 + 2 * SQUARE + ints[4]
    before = memory[end + C]
    for t in range(k):
        passed = (times[t] - before) * rate
        if not (passed > 0.5 and passed < 1.5):
            return NOT_HERE
        before = times[t]
    factors = constants[len(constants) - C :]
    wrong = 0.0
    for t in range(k):
        for c in range(C):
            x = samples[t, c]
            wrong += x - x
            values[t, c] = factors[c] * x
    if wrong != 0.0:
        return NOT_HERE
    for c in range(C):
        memory[end + c] = values[k - 1, c]
    done = step(ints, reals, memory, counts, values)
    if done != NOT_HERE:
        memory[end + C] = before
    return done
