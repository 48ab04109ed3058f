"""One body in log-Cholesky coordinates: minimise f(θ) − μΦ for μ → 0 (several: ``solve/log_cholesky_newton.py``).

In units of the body's mass and size its matrix is M = U Uᵀ, U upper triangular, and the state is U. The chart is always
the one around the current U: M becomes U C Cᵀ Uᵀ, C upper triangular with logarithms on its diagonal, to first order
M + U Y Uᵀ. With y the entries of the symmetric Y (off-diagonal ones times √2) the barrier's Hessian is diagonal, and
since the entries of M are triangular in those of Y, so is the Jacobian A of the residual r if R is. A step takes one QR
factorisation of [A; √μ·diag], which gives:

    a = −H⁻¹Aᵀr,    q = μH⁻¹∇Φ,    p = a + q,    λ² = pᵀHp / μ.

p is the Gauss–Newton step at this μ, which is Newton's in θ. If λ is large its length t minimises the value along the
line, by the eigenvalues λᵢ of Y and dm/(m − m₁) alone: −λ²(1 − t) = t²Σλᵢ³/(1 + tλᵢ). If λ is small, μ is lowered to σμ
and the step is a + σq, along the tangent of the central path. Thin directions shrink with μ along it, to the last digit
as μ → 0, so reductions of μ by a hundred need one or two Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.kernels import chol4 as fours
from steelyard.kernels.compiled import compiled
from steelyard.spatial import Array

ORDER = 5.0  # of the barrier: log det of a matrix of order four, and log(m − m₁)
CENTRED = 0.3  # λ² below which μ is lowered
LEAST, MOST = 0.01, 0.1  # of the distance to the cone's boundary, that remain when μ is lowered
NEARLY = 0.95  # of the step to the cone's boundary
SMALL = 0.1  # λ² below which a full step is taken
EXACT = 2e-16  # final λ²
HOPELESS = 1e-4  # λ² below which it has to halve with every final step: otherwise it is rounding
CLOSE = 1e-11  # of f: the same for the predicted decrease


@compiled
def _triangle(information: Array, body: Array, T: Array) -> None:
    """Write T (10, 11), the triangle [R z] for the entries of M, ordered by columns of its upper half."""
    mass, size, margin = body[0], body[2], body[3]
    first, second = mass * size, mass * size * size
    for i in range(10):
        R = information[i]
        T[i, 0], T[i, 2], T[i, 5] = second * (R[6] + R[9]), second * (R[4] + R[9]), second * (R[4] + R[6])
        T[i, 1], T[i, 3], T[i, 4] = -second * R[5], -second * R[7], -second * R[8]
        T[i, 6], T[i, 7], T[i, 8] = first * R[1], first * R[2], first * R[3]
        T[i, 9], T[i, 10] = mass * R[0] + margin * (T[i, 0] + T[i, 2] + T[i, 5]), R[10]
    for k in range(9):
        s = 0.0
        for i in range(k, 10):
            s += T[i, k] * T[i, k]
        if s == 0.0:
            continue
        s = -np.sqrt(s) if T[k, k] > 0.0 else np.sqrt(s)
        T[k, k] -= s
        unit = 1.0 / (s * T[k, k])
        for j in range(k + 1, 11):
            t = 0.0
            for i in range(k, 10):
                t += T[i, k] * T[i, j]
            t *= unit
            for i in range(k, 10):
                T[i, j] += t * T[i, k]
        T[k, k] = s


@compiled
def _residual(T: Array, x: Array, r: Array) -> float:
    """Write r = T x − z, and return ½‖r‖²."""
    f = 0.0
    for i in range(10):
        t = -T[i, 10]
        for k in range(i, 10):
            t += T[i, k] * x[k]
        r[i] = t
        f += t * t
    return 0.5 * f


@compiled
def _jacobian(T: Array, U: Array, P: Array, A: Array) -> None:
    """Write the Jacobian A (10, 10) of r by y, upper triangular; row k of P is the change of M's entries by y[k]."""
    k = 0
    for j in range(4):
        for i in range(j + 1):
            unit = 1.0 if i == j else fours.HALF
            m = 0
            for b in range(j + 1):
                for a in range(b + 1 if b < j else i + 1):
                    t = U[a, i] * U[b, j]
                    if i < j:
                        t += U[a, j] * U[b, i]
                    P[k, m] = unit * t
                    m += 1
            k += 1
    for i in range(10):
        for k in range(i, 10):
            t = 0.0
            for m in range(i, k + 1):
                t += T[i, m] * P[k, m]
            A[i, k] = t


@compiled
def _factor(A: Array, D: Array) -> None:
    """Factorise [A; D], A (10, 12) triangular, D (10, 12) diagonal, two right-hand sides; R and Qᵀ of these go to A.

    Below A[k, k] only the first k + 1 rows of D are not zero.
    """
    for k in range(10):
        s = A[k, k] * A[k, k]
        for i in range(k + 1):
            s += D[i, k] * D[i, k]
        s = -np.sqrt(s) if A[k, k] > 0.0 else np.sqrt(s)
        h = A[k, k] - s
        unit = 1.0 / (s * h)
        for j in range(k + 1, 12):
            t = h * A[k, j]
            for i in range(k + 1):
                t += D[i, k] * D[i, j]
            t *= unit
            A[k, j] += t * h
            for i in range(k + 1):
                D[i, j] += t * D[i, k]
        A[k, k] = s


@compiled
def _back(A: Array, column: int, x: Array) -> None:
    """Solve the triangle for one right-hand side."""
    for i in range(9, -1, -1):
        t = A[i, column]
        for j in range(i + 1, 10):
            t -= A[i, j] * x[j]
        x[i] = t / A[i, i]


@compiled
def _length(w: Array, square: float) -> float:
    """Return the optimal length t of a step with these λᵢ (5,) and λ², short of the cone's boundary."""
    low = 0.0
    for k in range(5):
        low = min(low, w[k])
    edge = 1.0 / max(-low, 1e-300)
    t, left, right = min(1.0, 0.8 * edge), 0.0, edge
    for _ in range(30):
        slope, bend = square * (t - 1.0), square
        for k in range(5):
            v = 1.0 / (1.0 + t * w[k])
            slope -= t * t * w[k] * w[k] * w[k] * v
            bend += w[k] * w[k] * (v * v - 1.0)
        if abs(slope) < 0.01 * square:
            break
        if slope > 0.0:
            right = t
        else:
            left = t
        t -= slope / bend
        if not left < t < right:
            t = 0.5 * (left + right) if right < 1e6 else 2.0 * left
    return min(t, NEARLY * edge)


@compiled
def _lower(w: Array, mu: float, end: float) -> float:
    """Return the factor σ of μ by the λᵢ (5,) of the step to μ = 0, so that thin directions remain inside."""
    low = -1.0
    for k in range(5):
        low = min(low, w[k])
    rest = min(MOST, max(LEAST, -low - 1.0))
    return min(max(1.0 + (1.0 - rest) / low, end / mu), 1.0)


@compiled
def _model(T: Array, U: Array, r: Array, mu: float, ratio: float, room: Array) -> float:
    """Return λ², and write a and q to ``room``; ``ratio`` is m/(m − m₁)."""
    P, A, D, a, q = room[10:20], room[20:30], room[30:40], room[42], room[43]
    _jacobian(T, U, P, A)
    rise = np.sqrt(mu)
    for k in range(10):
        for j in range(12):
            D[k, j] = 0.0
        D[k, k] = rise
        A[k, 10], A[k, 11] = -r[k], 0.0
    D[0, 11] = D[2, 11] = D[5, 11] = rise
    D[9, 9] = rise * np.sqrt(1.0 + ratio * ratio)  # the mass changes both det M and m − m₁
    D[9, 11] = rise * (1.0 + ratio) / np.sqrt(1.0 + ratio * ratio)
    _factor(A, D)
    _back(A, 10, a)
    _back(A, 11, q)
    square = 0.0
    for k in range(10):
        square += (A[k, 10] + A[k, 11]) ** 2
    return square / mu


@compiled
def _eigenvalues(share: float, ratio: float, room: Array, squares: Array) -> None:
    """Write λᵢ (5,) of a + share·q."""
    y, a, q, w, Y = room[41], room[42], room[43], room[44], squares[1]
    for k in range(10):
        y[k] = a[k] + share * q[k]
    fours.matrix(y, Y)
    fours.eigenvalues(Y, w)
    w[4] = y[9] * ratio


@compiled
def _step(share: float, t: float, ratio: float, above: float, room: Array, squares: Array) -> float:
    """Move U by t·(a + share·q), and return (m − m₁)/m₀; zero, U unchanged, if the result is not consistent."""
    y, a, q = room[41], room[42], room[43]
    U, Y, C = squares[0], squares[1], squares[2]
    for k in range(10):
        y[k] = a[k] + share * q[k]
    fours.matrix(y, Y)
    above *= 1.0 + t * y[9] * ratio
    return above if above > 0.0 and fours.advance(U, Y, t, C) else 0.0


@compiled
def _write(body: Array, above: float, mu: float, room: Array, squares: Array, out: Array) -> None:
    """Write θ, μM⁻¹ and μ/(m − m₁)."""
    x, U, C = room[41], squares[0], squares[2]
    fours.entries(U, x)
    fours.parameters(x, body, out)
    fours.invert(U, C)
    for i in range(4):
        for j in range(4):
            t = 0.0
            for k in range(min(i, j) + 1):
                t += C[k, i] * C[k, j]
            out[10 + 4 * i + j] = mu * t
    out[26] = mu / (body[0] * above)


@compiled
def minimise(
    information: Array, body: Array, above: float, tolerance: float, most: int, room: Array, squares: Array, out: Array
) -> int:
    """Minimise from a start, until ORDER·μ is at most ``tolerance`` of the objective.

    ``information`` is [R z; 0 ρ] (11, 11), ``body`` its mass, least mass, size and margin; ``squares`` (3, 4, 4) begins
    with U, ``above`` is (m − m₁)/m₀; ``room`` (45, 12). θ (10), μM⁻¹ (16) and μ/(m − m₁) are written to ``out`` (27,).
    Returns the number of steps; negative if ``most`` were not enough, or no step descends.
    """
    T, r, x, w = room[:10], room[40], room[41], room[44]
    U, floor = squares[0], body[1] / body[0]
    _triangle(information, body, T)
    constant, enough = 0.5 * information[10, 10] ** 2, 0.0
    for i in range(10):
        enough += 0.5 * information[i, 10] ** 2
    enough = 1e-6 * max(enough, 1e-12)
    first, mu, end, before, used, last, done = 0.0, 0.0, 0.0, np.inf, 0, False, False
    while True:
        fours.entries(U, x)
        f = _residual(T, x, r)
        if used == 0:
            first = mu = max(f + constant, enough) / ORDER
        if used >= most:
            break
        used += 1
        ratio = (above + floor) / above
        square = _model(T, U, r, mu, ratio, room)
        if last:
            done = square < EXACT or (square > 0.5 * before and (square < HOPELESS or square * mu < CLOSE * f))
            if done:
                break
            before = square
        share, t = 1.0, 1.0
        if not last and square < CENTRED:
            end = first
            while ORDER * end > tolerance * max(f + constant, enough):
                end *= 0.1
            _eigenvalues(0.0, ratio, room, squares)
            share = _lower(w, mu, end)
        elif not square < SMALL:
            _eigenvalues(1.0, ratio, room, squares)
            t = _length(w, square)
        moved = _step(share, t, ratio, above, room, squares)
        while moved == 0.0 and share < 0.999:
            share = 0.5 * (1.0 + share)
            moved = _step(share, t, ratio, above, room, squares)
        if moved == 0.0:
            break
        above = moved
        U[3, 3] = np.sqrt(above + floor)
        mu *= share
        last = mu <= end * (1.0 + 1e-9)
    _write(body, above, mu, room, squares, out)
    return used if done else -used


def solve(
    information: Array,
    theta: Array,
    body: Array,
    tolerance: float,
    most: int,
    outside: Callable[[], tuple[Array, float]],
) -> tuple[Array, int]:
    """Return the output (27,) and the result of ``minimise``, started at θ (10,).

    If θ is not well inside the cone, ``outside()`` gives U and (m − m₁)/m₀ of the start. All arrays are C-contiguous
    float64.
    """
    squares, out = np.zeros((3, 4, 4)), np.empty(27)
    above = fours.root(theta, body, squares[0])
    if not above > 0.0:
        squares[0], above = outside()
    used = minimise(information, body, above, tolerance, most, np.empty((45, 12)), squares, out)
    return out, used


def warm_up() -> None:
    """Compile the kernel, or load it from the cache, so that no later call has to wait."""
    body, sphere = np.array([1.0, 1e-4, 1.0, 1e-8]), np.array([1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
    solve(np.eye(11), sphere, body, 1e-6, 1, lambda: (np.eye(4), 1.0))
