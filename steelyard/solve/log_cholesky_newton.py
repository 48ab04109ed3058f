"""The problem of method ``lmi`` without constraints: Gauss–Newton in log-Cholesky coordinates (Rucker and Wensing).

    minimise  f(θ(ξ)) − μ Φ(ξ),    μ → 0,

where ξ is a chart of the cone's interior (``solve/log_cholesky.py``), bounded quantities are their bound plus an
exponential, and Φ is the sum of all log det M and log(θᵢ − lowerᵢ), nearly linear in ξ. In θ this function is strictly
convex with bounded level sets, and a chart adds no stationary points. So for each μ there is exactly one, and a descent
method converges to it from any start; without Φ it would diverge wherever the optimal body is thin.

Both parts are sums of squares to second order: f exactly, and a change dM of M = UUᵀ adds tr Y − ½‖Y‖² to Φ, Y =
U⁻¹dM U⁻ᵀ. So a step is one of Gauss–Newton, by QR, with Levenberg–Marquardt damping if it does not descend. It is taken
along ξ, or along the tangent line in θ (on which f is exactly quadratic), whichever ends lower. Charts are aligned with
the bodies' principal axes whenever μ is lowered. A single body is solved by a kernel (``kernels/one_body_newton.py``)
that reaches the same optimum in fewer operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.linalg import solve_triangular

from steelyard.solve.log_cholesky import Chart
from steelyard.solve.problem import Problem, Solution
from steelyard.spatial import Array

LONGEST = 2.0  # step of a logarithmic coordinate: a factor of seven
NEARLY = 0.95  # of the step to the boundary of the cone
MOST = 500  # steps
CLOSE = 1e-11  # of the value: smaller differences are rounding


def solve(problem: Problem, charts: Sequence[Chart], start: Array | None = None, tolerance: float = 3e-8) -> Solution:
    """Minimise over ξ; ``charts`` belong to the bodies whose cones the problem has, ``start`` is any θ (n,)."""
    if (
        problem.entropies
        or len(problem.linear)
        or [c.at for c in problem.cones] != list(range(0, 10 * len(charts), 10))
    ):
        raise ValueError("log-Cholesky form takes data, a quadratic prior, cones of bodies and bounds only")
    theta = problem.start if start is None else start
    if len(problem.scale) == 10 and len(charts) == 1:
        return _solve_one_body(problem, charts[0], theta, tolerance)
    return along_charts(problem, charts, theta, tolerance)


def along_charts(problem: Problem, charts: Sequence[Chart], start: Array, tolerance: float = 3e-8) -> Solution:
    """Minimise for any number of bodies, with other unknowns or without."""
    barrier = _BarrierObjective(problem, charts)
    xi = barrier.coordinates(start)
    enough = 1e-6 * max(0.5 * float(problem.information.z @ problem.information.z), 1e-12)
    mu, budget, last = max(problem.objective(barrier.theta(xi)), enough) / barrier.order, MOST, False
    while budget > 0:
        last = mu * barrier.order <= tolerance * max(problem.objective(barrier.theta(xi)), enough)
        xi = barrier.align(xi)
        xi, used = _descend(barrier, xi, mu, 1e-16 if last else 1e-2, budget)
        budget -= used
        if last:
            break
        mu /= 10
    theta = barrier.theta(xi)
    duals, bounds = barrier.duals(xi, mu)
    return Solution(theta, duals, bounds, "nonlinear", "solved" if last and budget else "iteration limit")


def _solve_one_body(problem: Problem, chart: Chart, start: Array, tolerance: float) -> Solution:
    """The same for a single body, compiled (``kernels/one_body_newton.py``), to the same final μ."""
    from steelyard.kernels import one_body_newton

    body = np.array([chart.mass, chart.floor, chart.size, chart.margin], float)
    information, theta = (np.ascontiguousarray(x, float) for x in (problem.information.triangle, start))
    result, used = one_body_newton.solve(information, theta, body, tolerance, MOST, lambda: chart.factor(theta))
    duals, bounds = (result[10:26].reshape(4, 4),), {0: float(result[26])}
    return Solution(result[:10], duals, bounds, "nonlinear", "solved" if used > 0 else "iteration limit")


def backend(charts: Sequence[Chart]) -> Callable[[Problem], Solution]:
    """Return a backend for problems of the bodies of these charts."""

    def solve_bodies(problem: Problem) -> Solution:
        return solve(problem, charts)

    return solve_bodies


def _descend(barrier: _BarrierObjective, xi: Array, mu: float, close: float, most: int) -> tuple[Array, int]:
    """Descend to the stationary point at this μ, until the predicted decrease is below ``close``·μ; ξ and the steps."""
    damping, value, before = 0.0, barrier.value(xi, mu), np.inf
    for used in range(1, most + 1):
        A, b, T = barrier.model(xi, mu)
        while True:
            step, expected = _damped_step(A, b, damping)
            if expected < max(close * mu, CLOSE * abs(value)):
                break
            trials = [(barrier.value(x, mu), x) for x in barrier.candidates(xi, step, T @ step)]
            lowest, nearest = min(trials, key=lambda trial: trial[0])
            gain = (value - lowest) / expected
            if gain > 0.05 or damping > 1e12:
                break
            damping = 4 * max(damping, 1e-6)
        if expected < close * mu:
            return xi, used
        if expected < CLOSE * abs(value):  # below the rounding of the value: continue while it shrinks
            if expected > 0.5 * before:
                return xi, used
            before = expected
            xi = xi + step
            value = barrier.value(xi, mu)
            continue
        if gain <= 0.05:
            return xi, used
        damping = 0.1 * damping if gain > 0.5 else damping
        xi, value = nearest, lowest
    return xi, most


def _damped_step(A: Array, b: Array, damping: float) -> tuple[Array, float]:
    """The Gauss–Newton step, or Levenberg–Marquardt with damping, and the predicted decrease.

    By QR: AᵀA would lose twice as many digits. The normal equations give the predicted decrease without cancellation.
    """
    size = np.linalg.norm(A, axis=0)
    size = np.maximum(size, 1e-12 * size.max())
    stacked = np.column_stack([A / size, b])
    if damping:
        more = np.sqrt(damping) * np.eye(len(size), len(size) + 1)
        stacked = np.vstack([stacked, more])
    triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    n = len(size)
    step = -solve_triangular(triangle[:n, :n], triangle[:n, n]) / size
    predicted = 0.5 * float(np.sum((A @ step) ** 2)) + damping * float(np.sum((size * step) ** 2))
    return np.asarray(step), predicted


class _BarrierObjective:
    """f − μΦ as a function of ξ, and its Gauss–Newton model."""

    def __init__(self, problem: Problem, charts: Sequence[Chart]):
        self.problem, self.charts, self.chart = problem, charts, Chart.stack(charts)
        self.n, self.first = len(problem.scale), 10 * len(charts)
        self.low = np.array([problem.lower.get(i, -np.inf) for i in range(self.first, self.n)])
        self.bounded = np.isfinite(self.low)
        self.unit = problem.scale[self.first :]
        self.order = 5 * len(charts) + int(self.bounded.sum()) or 1
        body = np.tile([True] * 4 + [False] * 6, len(charts))
        self.logs = np.append(body, self.bounded)

    def coordinates(self, theta: Array) -> Array:
        """ξ of θ in the initial charts, moved strictly inside the bounds."""
        rest = theta[self.first :] / self.unit
        above = np.maximum((theta[self.first :] - self.low)[self.bounded] / self.unit[self.bounded], 1e-6)
        rest[self.bounded] = np.log(above)
        each = zip(self.charts, self._bodies(theta), strict=True)
        return np.concatenate([*(c.coordinates(p) for c, p in each), rest])

    def candidates(self, xi: Array, step: Array, change: Array) -> Iterator[Array]:
        """Ends of a step: along ξ, and along its tangent line in θ."""
        long = float(np.max(np.abs(step[self.logs]), initial=0.0))
        yield xi + min(1.0, LONGEST / max(long, 1e-300)) * step
        longest, Y = self.chart.longest_step(self._bodies(xi), self._bodies(change))
        rest = step[self.first :].copy()
        down = max(1 / longest, float(np.max(-rest[self.bounded], initial=0.0)))
        length = min(1.0, NEARLY / max(down, 1e-300))
        rest = np.where(self.bounded, np.log1p(np.where(self.bounded, length * rest, 0.0)), length * rest)
        bodies = self.chart.advance(self._bodies(xi), self._bodies(change), Y, length)
        yield np.concatenate([bodies.ravel(), xi[self.first :] + rest])

    def align(self, xi: Array) -> Array:
        """Align the charts with the principal axes of the bodies at ξ; return ξ in them."""
        self.chart, aligned = self.chart.align(self._bodies(xi))
        return np.concatenate([aligned.ravel(), xi[self.first :]])

    def theta(self, xi: Array) -> Array:
        """(n,) parameters of ξ."""
        rest = self.unit * xi[self.first :]
        rest[self.bounded] = (self.low + self.unit * np.exp(np.minimum(xi[self.first :], 300)))[self.bounded]
        return np.concatenate([self.chart.parameters(self._bodies(xi)).ravel(), rest])

    def value(self, xi: Array, mu: float) -> float:
        """f − μΦ."""
        x = self.problem.information.R @ (self.theta(xi) - self.problem.centre)
        phi = self.chart.barrier(self._bodies(xi))
        value = 0.5 * float(x @ x) - mu * (phi + float(np.sum(xi[self.first :][self.bounded])))
        return value if np.isfinite(value) else np.inf

    def model(self, xi: Array, mu: float) -> tuple[Array, Array, Array]:
        """A (r, n) and b (r,) with f − μΦ ≈ ½‖A δ + b‖² + a constant for a step δ, and ∂θ/∂ξ (n, n)."""
        theta = self.theta(xi)
        T, B, e = np.zeros((self.n, self.n)), np.zeros((self.n, self.n)), np.zeros(self.n)
        bodies, (barrier, slope) = self._bodies(xi), self.chart.barrier_model(self._bodies(xi))
        at = np.arange(self.first).reshape(-1, 10)
        block = at[:, :, None], at[:, None, :]
        T[block], B[block], e[at] = self.chart.jacobian(bodies), barrier, slope
        index = np.arange(self.first, self.n)
        T[index, index] = np.where(self.bounded, theta[self.first :] - np.where(self.bounded, self.low, 0.0), self.unit)
        B[index, index] = e[self.first :] = self.bounded
        R, root = self.problem.information.R, np.sqrt(mu)
        return np.vstack([R @ T, root * B]), np.append(R @ (theta - self.problem.centre), -root * e), T

    def duals(self, xi: Array, mu: float) -> tuple[tuple[Array, ...], dict[int, float]]:
        """Multipliers on the central path, from ξ, which represents a thin body to the last digit; θ does not."""
        inverse, above = self.chart.inverse(self._bodies(xi))
        bounds = {10 * k: float(mu / m) for k, m in enumerate(above)}
        for i in np.flatnonzero(self.bounded):
            bounds[self.first + int(i)] = mu / float(self.unit[i] * np.exp(xi[self.first + i]))
        return tuple(mu * inverse), bounds

    def _bodies(self, x: Array) -> Array:
        """(bodies, 10) the part that belongs to bodies."""
        return x[: self.first].reshape(-1, 10)
