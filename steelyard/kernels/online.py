"""One online step in one call: raw samples → filter → rows → Gram matrix → test for a change → shapes → proof.

Rows come without the feet's unknown forces (``contact_free.py``).
Everything lies in the two arrays of ``state_layout.py``; nothing is allocated. A step that does not succeed has changed
nothing. The Gram matrices are those of [Y z], 11 × 11.

The proof needs no factorisation. Let g be the slope by the masses x ≥ 0, H the data's and prior's matrix, δ the most by
which any g is negative. Every shape has unit mass, so e = δ on the mass alone makes all μ = g + δ ≥ 0, and weak duality
bounds what x can be off by with

    gap = Σ μ x + ½ δ² (H⁻¹)_mm,    (H⁻¹)_mm at most the prior's variance of the mass.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels import causal
from steelyard.kernels.active_set import active_set_in
from steelyard.kernels.change_test import CHANGED, LEARNED, NOT_HANDLED, judge, settle, statistic, tick
from steelyard.kernels.compiled import compiled, copy
from steelyard.kernels.contact_free import contact_free_rows
from steelyard.kernels.leg_elimination import UP
from steelyard.kernels.state_layout import AT, EQUATION, N1, number, part
from steelyard.kernels.tree import BASE, LANES
from steelyard.spatial import Array

L = LANES
SQUARE = N1 * N1
OF_START = 1e-6  # of the objective at zero, added to that of the answer: what a gap is relative to, as in ``certify``


@compiled
def _filter(integers: Array, reals: Array, values: Array) -> None:
    """Filter samples (k, C) from one state to the next."""
    k, C = values.shape
    before, after = part(reals, integers, AT.filter), part(reals, integers, AT.next_filter)
    quaternion = number(integers, integers, AT.quaternion)
    if quaternion >= 0:
        causal.orient(values, quaternion, before[3 * C :])
    for i in range(4 * C):
        after[i] = before[i]
    step, out = part(reals, integers, AT.low_pass), part(reals, integers, AT.filtered)
    causal.run(step.reshape(3, 5), after.reshape(4, C), values, out[: 3 * C * k].reshape(k, 3, C))


@compiled
def _spread(integers: Array, reals: Array, k: int) -> None:
    """Write filtered samples as lanes: base, joints, torques; unused lanes repeat the first sample."""
    q, tau = part(integers, integers, AT.q), part(integers, integers, AT.tau)
    gyro, acc = number(integers, integers, AT.gyro), number(integers, integers, AT.acc)
    filtered, C = part(reals, integers, AT.filtered), len(part(reals, integers, AT.last))
    state, torques = part(reals, integers, AT.state), part(reals, integers, AT.torques)
    for t in range(L):
        o = filtered[3 * C * (t if t < k else 0) :]
        for i in range(3):
            state[i * L + t] = o[acc + i]
            state[(3 + i) * L + t] = o[gyro + i]
            state[(6 + i) * L + t] = o[C + gyro + i]
        for j in range(len(q)):
            at = q[j]
            state[(BASE + 3 * j) * L + t] = o[at]
            state[(BASE + 1 + 3 * j) * L + t] = o[C + at]
            state[(BASE + 2 + 3 * j) * L + t] = o[2 * C + at]
            torques[j * L + t] = o[tau[j]]
    m, r = part(reals, integers, AT.rotation), part(reals, integers, AT.lever)
    a, b, c, d, e, f, g, h, i = m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]
    x, y, z = r[0], r[1], r[2]
    for l in range(L):
        ax, ay, az = state[l], state[L + l], state[2 * L + l]
        wx, wy, wz = state[3 * L + l], state[4 * L + l], state[5 * L + l]
        ex, ey, ez = state[6 * L + l], state[7 * L + l], state[8 * L + l]
        ox, oy, oz = a * wx + b * wy + c * wz, d * wx + e * wy + f * wz, g * wx + h * wy + i * wz
        px, py, pz = a * ex + b * ey + c * ez, d * ex + e * ey + f * ez, g * ex + h * ey + i * ez
        tx, ty, tz = oy * z - oz * y, oz * x - ox * z, ox * y - oy * x
        state[l] = a * ax + b * ay + c * az - (py * z - pz * y) - (oy * tz - oz * ty)
        state[L + l] = d * ax + e * ay + f * az - (pz * x - px * z) - (oz * tx - ox * tz)
        state[2 * L + l] = g * ax + h * ay + i * az - (px * y - py * x) - (ox * ty - oy * tx)
        state[3 * L + l], state[4 * L + l], state[5 * L + l] = ox, oy, oz
        state[6 * L + l], state[7 * L + l], state[8 * L + l] = px, py, pz


@compiled
def _find_up(integers: Array, reals: Array, k: int) -> None:
    """Write the upward direction: from the quaternion, or by tracking gravity."""
    state, up = part(reals, integers, AT.state), part(reals, integers, AT.next_up)
    before, C = part(reals, integers, AT.up), len(part(reals, integers, AT.last))
    q = number(integers, integers, AT.quaternion)
    if q >= 0:
        n, filtered = part(reals, integers, AT.turned), part(reals, integers, AT.filtered)
        for t in range(L):
            o = filtered[3 * C * (t if t < k else 0) :]
            x, y, z, w = o[q], o[q + 1], o[q + 2], o[q + 3]
            s = 2.0 / (x * x + y * y + z * z + w * w)
            a, b, c = s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)
            for i in range(3):
                state[UP + i * L + t] = a * n[3 * i] + b * n[3 * i + 1] + c * n[3 * i + 2]
        for i in range(3):
            up[i] = state[UP + i * L + k - 1]
        return
    gain, rate = number(reals, integers, AT.tilt_gain), number(reals, integers, AT.rate)
    g = number(reals, integers, AT.gravity)
    for i in range(3):
        up[i] = before[i]
    for t in range(L):
        if t < k:
            turn = state[3 * L + t] / rate, state[4 * L + t] / rate, state[5 * L + t] / rate
            causal.follow(gain, up, turn, (state[t] / g, state[L + t] / g, state[2 * L + t] / g))
        for i in range(3):
            state[UP + i * L + t] = up[i]


@compiled
def _gram(rows: Array, k: int, G: Array) -> None:
    """Write the Gram matrix G (121) of rows (6·11·16), of which the first k lanes are used."""
    for r in range(6 * N1):
        for l in range(k, L):
            rows[r * L + l] = 0.0
    for i in range(N1):
        for j in range(i + 1):
            a, b = rows[i * L :], rows[j * L :]
            s = 0.0
            for l in range(L):
                s += (
                    a[l] * b[l]
                    + a[11 * L + l] * b[11 * L + l]
                    + a[22 * L + l] * b[22 * L + l]
                    + a[33 * L + l] * b[33 * L + l]
                    + a[44 * L + l] * b[44 * L + l]
                    + a[55 * L + l] * b[55 * L + l]
                )
            G[N1 * i + j] = s
            G[N1 * j + i] = s


@compiled
def solve(integers: Array, reals: Array, data: Array) -> None:
    """Solve for the masses of the shapes given data (121) and prior; write parameters and their proof to ``answer``."""
    U, floor, ridge = part(reals, integers, AT.map), part(reals, integers, AT.floor), part(reals, integers, AT.ridge)
    prior, H, HU = part(reals, integers, AT.prior), part(reals, integers, AT.hessian), part(reals, integers, AT.mapped)
    line, c, x = part(reals, integers, AT.line), part(reals, integers, AT.linear), part(reals, integers, AT.masses)
    theta, proof = part(reals, integers, AT.answer), part(reals, integers, AT.answer_proof)
    passive, P, k = part(integers, integers, AT.passive), len(line), len(x)
    marks = part(integers, integers, AT.marks).reshape(3, k)
    G, out = part(reals, integers, AT.quadratic).reshape(k, k), part(reals, integers, AT.solution).reshape(2, k)
    spare = part(reals, integers, AT.active_set).reshape(k + 4, k)
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
    held = passive[0] if number(integers, integers, AT.warm) else 0
    active_set_in(G, c, marks[2, :held], 0, out, spare, marks[:2])
    square, largest = 0.0, 0.0
    for s in range(k):
        x[s] = out[0, s]
        square += x[s] * (c[s] - out[1, s])
        largest = max(largest, abs(c[s]) / np.sqrt(G[s, s]))
    delta, kkt, gap = 0.0, 0.0, 0.0
    passive[0] = 0
    for s in range(k):
        delta = max(delta, out[1, s])
        off = abs(out[1, s]) if x[s] > 0.0 else max(out[1, s], 0.0)
        kkt = max(kkt, off / np.sqrt(G[s, s]))
        if x[s] > 0.0:
            marks[2, passive[0]] = s
            passive[0] += 1
    for s in range(k):
        gap += (delta - out[1, s]) * x[s]
    gap = max(gap, 0.0) + 0.5 * delta * delta * number(reals, integers, AT.mass_variance)
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
    scale = 0.5 * max(cost, 0.0) + 0.5 * OF_START * H[SQUARE - 1] + 1e-300
    proof[0], proof[1], proof[2] = kkt / (largest + np.sqrt(max(square, 0.0)) + 1e-300), gap / scale, 0.0


@compiled
def step(integers: Array, reals: Array, values: Array) -> int:
    """Update the information with evenly spaced samples (k, C)."""
    k = len(values)
    _filter(integers, reals, values)
    _spread(integers, reals, k)
    _find_up(integers, reals, k)
    if not contact_free_rows(integers, reals):
        return NOT_HANDLED
    after, up = part(reals, integers, AT.next_filter), part(reals, integers, AT.next_up)
    copy(after, part(reals, integers, AT.filter))
    copy(up, part(reals, integers, AT.up))
    received = part(integers, integers, AT.received)
    received[0] += k
    received[1] += k
    _gram(part(reals, integers, AT.rows), k, part(reals, integers, AT.gram))
    return learn(integers, reals, 6 * k)


@compiled
def learn(integers: Array, reals: Array, rows: int) -> int:
    """Process the Gram matrix of one window of so many rows: forget, add, test, solve."""
    gram, old, recent = part(reals, integers, AT.gram), part(reals, integers, AT.old), part(reals, integers, AT.recent)
    before, optimum = part(reals, integers, AT.before), part(reals, integers, AT.optimum)
    clock, counts = part(integers, integers, AT.clock), part(integers, integers, AT.row_counts)
    A = part(reals, integers, AT.equations).reshape(N1, EQUATION)
    B = part(reals, integers, AT.more_equations).reshape(N1, EQUATION)
    factor, span = number(reals, integers, AT.forgetting), number(integers, integers, AT.span)
    for i in range(SQUARE):
        old[i] *= factor
        recent[i] = factor * recent[i] + gram[i]
    counts[1] += rows
    if tick(clock, span):
        value, freedom = statistic(before, optimum, recent, A, B)
        caution, outlying = number(reals, integers, AT.caution), number(reals, integers, AT.outlying)
        thresholds, test = part(reals, integers, AT.thresholds), part(reals, integers, AT.test)
        if judge(value, freedom, thresholds, caution, outlying, test):
            return CHANGED
    theta, answer = part(reals, integers, AT.theta), part(reals, integers, AT.answer)
    average, share = number(reals, integers, AT.average), 1.0
    if average > 0.0:
        solve(integers, reals, gram)
        share = average if clock[1] > 1 else 1.0
    else:
        total = part(reals, integers, AT.total)
        for i in range(SQUARE):
            total[i] = old[i] + recent[i]
        solve(integers, reals, total)
    for i in range(10):
        theta[i] = answer[i] if share == 1.0 else theta[i] + share * (answer[i] - theta[i])
    copy(part(reals, integers, AT.answer_proof), part(reals, integers, AT.proof))
    if clock[0] == span:
        for i in range(SQUARE):
            old[i] += recent[i]
            recent[i] = 0.0
        counts[0] += counts[1]
        counts[1] = 0
        clock[0] = 0
        settle(part(reals, integers, AT.prior), old, before, optimum, A)
    return LEARNED


@compiled
def window(integers: Array, reals: Array, values: Array, times: Array, samples: Array) -> int:
    """Run a step on raw samples (k, C) if they are valid: evenly stamped, finite, and as many as a window has."""
    factors, last = part(reals, integers, AT.factors), part(reals, integers, AT.last)
    stamp, limits = part(reals, integers, AT.stamp), part(reals, integers, AT.step_limits)
    k, C, rate = len(times), len(factors), number(reals, integers, AT.rate)
    received = number(integers, integers, AT.received)
    if samples.shape[0] != k or samples.shape[1] != C or k != len(values):
        return NOT_HANDLED
    if received < number(integers, integers, AT.settling):
        return NOT_HANDLED
    before = stamp[0]
    for t in range(k):
        passed = (times[t] - before) * rate
        if not (passed > limits[0] and passed < limits[1]):
            return NOT_HANDLED
        before = times[t]
    wrong = 0.0
    for t in range(k):
        for c in range(C):
            x = samples[t, c]
            wrong += x - x
            values[t, c] = factors[c] * x
    if wrong != 0.0:
        return NOT_HANDLED
    copy(values[k - 1], last)
    done = step(integers, reals, values)
    if done != NOT_HANDLED:
        stamp[0] = before
    return done
