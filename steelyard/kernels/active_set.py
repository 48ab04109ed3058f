"""Least squares with bounds on the Gram matrix: minimise ½xᵀGx − cᵀx over x ≥ 0, some x free.

Lawson and Hanson's active set. On the passive set P, where x may be positive, L Lᵀ = G_PP and y = L⁻¹c_P are updated
when indices enter (a row is appended) and leave (Givens rotations); x_P = L⁻ᵀy, and the objective there is −½‖y‖². It
has to decrease from one passive set to the next: an index whose entry did not lower it is barred until another's does.
So no passive set occurs twice, despite ties and rank deficiency.
"""

from __future__ import annotations

import numpy as np

from steelyard.kernels.compiled import compiled
from steelyard.spatial import Array

NOISE = 1e-15  # of the terms whose difference is a gradient: below this its sign is rounding
DEPENDENT = 1e-13  # of a column's square norm: a smaller remainder outside the passive columns is rounding
STATIONARY = 1e-9  # of the terms whose difference is a gradient: a larger one on the passive set is not stationary


@compiled
def _append(G: Array, c: Array, L: Array, y: Array, order: Array, k: int, j: int) -> bool:
    """Append column j to the factor of the first k of ``order``; False if dependent. Diagonals are inverted."""
    square = G[j, j]
    remainder, reduced = square, c[j]
    for i in range(k):
        t = G[j, order[i]]
        for m in range(i):
            t -= L[i, m] * L[k, m]
        t *= L[i, i]
        L[k, i] = t
        remainder -= t * t
        reduced -= t * y[i]
    if not remainder > DEPENDENT * square:
        return False
    inverse = 1.0 / np.sqrt(remainder)
    L[k, k] = inverse
    y[k] = reduced * inverse
    return True


@compiled
def _remove(L: Array, y: Array, order: Array, x: Array, k: int, p: int) -> None:
    """Remove position p from the k passive ones; its index moves just behind them."""
    gone = order[p]
    for i in range(p + 1, k):  # the rows below now have one entry right of the diagonal
        for m in range(i):
            L[i - 1, m] = L[i, m]
        L[i - 1, i] = 1.0 / L[i, i]
        order[i - 1], x[i - 1] = order[i], x[i]
    order[k - 1], x[k - 1] = gone, 0.0
    for i in range(p, k - 1):  # rotate columns i and i + 1 to remove that of row i
        a, b = L[i, i], L[i, i + 1]
        r = np.sqrt(a * a + b * b)
        inverse = 1.0 / r
        cos, sin = a * inverse, b * inverse
        L[i, i] = inverse
        for m in range(i + 1, k - 1):
            a, b = L[m, i], L[m, i + 1]
            L[m, i], L[m, i + 1] = cos * a + sin * b, cos * b - sin * a
        y[i], y[i + 1] = cos * y[i] + sin * y[i + 1], cos * y[i + 1] - sin * y[i]


@compiled
def _back(L: Array, y: Array, k: int, s: Array) -> None:
    """s = L⁻ᵀy."""
    for i in range(k):
        s[i] = y[i]
    for i in range(k - 1, -1, -1):
        t = s[i] * L[i, i]
        s[i] = t
        for m in range(i):
            s[m] -= L[i, m] * t


@compiled
def active_set_in(G: Array, c: Array, start: Array, free: int, out: Array, room: Array, marks: Array) -> int:
    """Solve; x and the negative gradient c − Gx are written to the rows of ``out`` (2, n).

    ``start`` is the initial passive set, of which the first ``free`` indices are unbounded. Returns the number of
    entries to the passive set; negative if the result is not stationary to within ``STATIONARY``, and thus no solution.
    ``room`` (n + 4, n) and ``marks`` (2, n) are workspace; afterwards the first entries of marks[0] are the passive
    set.
    """
    n = len(c)
    L, work = room[:n], room[n:]
    y, x, s, unit = work[0], work[1], work[2], work[3]  # x and s by position, unit by index
    order, barred = marks[0], marks[1]  # the first k of order are passive; barred: epoch in which j must not enter
    w = out[1]
    largest = 0.0
    for j in range(n):
        order[j], barred[j] = j, 0
        unit[j] = 1.0 / np.sqrt(G[j, j]) if G[j, j] > 0.0 else 0.0
        largest = max(largest, abs(c[j]) * unit[j])
    k, held = 0, 0
    for i in range(len(start)):
        j = start[i]
        if G[j, j] > 0.0 and _append(G, c, L, y, order, k, j):
            p = k
            while order[p] != j:
                p += 1
            order[p], order[k] = order[k], j
            k += 1
            if i < free:
                held = k
        elif i < free:
            barred[j] = -1  # dependent and unbounded: any value is optimal, zero too
    while True:  # remove indices of the start whose x is not positive
        _back(L, y, k, x)
        before = k
        for p in range(before - 1, held - 1, -1):
            if x[p] <= 0.0:
                _remove(L, y, order, x, k, p)
                k -= 1
        if k == before:
            break
    best = 0.0
    for i in range(k):
        best += y[i] * y[i]
    entries, epoch, size = 0, 1, 0.0
    while True:
        square = 0.0
        for j in range(n):
            w[j] = c[j]
        for i in range(k):
            row, t = order[i], x[i]
            square += t * t * G[row, row]
            for j in range(n):
                w[j] -= t * G[row, j]
        size = largest + np.sqrt(square)
        if entries >= 20 * n + 100:
            break
        entered = -1
        while True:
            at, steepest = -1, NOISE * size
            for p in range(k, n):
                j = order[p]
                t = w[j] * unit[j]
                if t > steepest and barred[j] != epoch and barred[j] >= 0:
                    at, steepest = p, t
            if at < 0:
                break
            j = order[at]
            if _append(G, c, L, y, order, k, j) and y[k] > 0.0:
                entered = j
                order[at], order[k] = order[k], j
                x[k] = 0.0
                k += 1
                break
            barred[j] = epoch
        if entered < 0:
            break
        entries += 1
        while True:
            _back(L, y, k, s)
            step, blocking = 1.0, -1
            for p in range(held, k):
                if s[p] <= 0.0:
                    t = x[p] / (x[p] - s[p])
                    if t <= step:
                        step, blocking = t, p
            if blocking < 0:
                for p in range(k):
                    x[p] = s[p]
                break
            for p in range(k):
                x[p] += step * (s[p] - x[p])
            x[blocking] = 0.0
            for p in range(k - 1, held - 1, -1):
                if x[p] <= 0.0:
                    _remove(L, y, order, x, k, p)
                    k -= 1
        now = 0.0
        for i in range(k):
            now += y[i] * y[i]
        if now > best:
            best = now
            epoch += 1
        else:
            barred[entered] = epoch
    worst = 0.0
    for p in range(n):
        j = order[p]
        t = w[j] * unit[j] if unit[j] > 0.0 else w[j] * np.inf if w[j] != 0.0 else 0.0
        worst = max(worst, abs(t) if p < k or barred[j] < 0 else t)
        out[0, j] = x[p] if p < k else 0.0
    return entries if worst <= STATIONARY * size else -entries - 1


_NOWHERE = np.empty(0, np.int64)


def solve(G: Array, c: Array, start: Array = _NOWHERE, free: int = 0) -> tuple[Array, int]:
    """Return x and c − Gx (2, n), and the count of ``active_set_in``; G and c are C-contiguous float64."""
    n = len(c)
    out = np.empty((2, n))
    return out, active_set_in(G, c, start, free, out, np.empty((n + 4, n)), np.empty((2, n), np.int64))


def warm_up() -> None:
    """Compile the kernel, or load it from the cache, so that no later call has to wait."""
    solve(np.eye(2), np.ones(2))
