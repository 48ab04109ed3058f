"""Gauss–Newton on the GC error, in coordinates in which every step is physically consistent.

All ten parameters of every searched body go through the log-Cholesky chart ξ of ``solve/log_cholesky.py``. With r the
residuals of all windows and G their Jacobian by ξ, a step solves

    min ‖r + G δ‖² + 2μ Σ (tr(J₀⁻¹J) − log det J),    √μ = PRIOR · rms(r),

J₀ the pseudo-inertia of each body at the start: the entropic prior of ``compose/prior.py``, as weak as the residuals
allow. It determines unobservable directions, keeps bodies off the boundary of the consistent set, and fades as
residuals fall. Residuals that converge to noise are whitened by their covariance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import block_diag

from steelyard import inertia
from steelyard.compose.prior import RELATIVE
from steelyard.experiment.search.search_problem import SearchProblem, nearest_consistent_values, parameters_about_origin
from steelyard.solve.log_cholesky import Chart
from steelyard.spatial import Array

State = dict[str, Any]

PRIOR = 1 / (2**0.5 * RELATIVE)  # √μ over rms(r): the entropic prior's own weight if the residuals were noise
DIFFERENCE = 1e-4  # of finite differences, in ξ
SETTLED = 1e-4  # relative change of the objective
SMALLEST = 1e-18  # of the first error: rounding
NOISY = 1e-5  # over the first residuals: converged residuals above that are noise
WHITENED = 3  # passes with whitened residuals
MASS_SHARE = 1e-3  # standard deviation of the total mass, as a share of it
DAMPINGS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # over the largest singular value
LENGTHS = (1.0, 0.25)  # of a step
NEAR = 0.9  # of the way to the boundary of the consistent set
THIN = 0.02  # least radius of gyration of a body with an inconsistent start, over its size


class _Charts:
    """Log-Cholesky coordinates ξ (n,) of all searched bodies, ten each."""

    def __init__(self, problem: SearchProblem) -> None:
        space = problem.space
        self.searched = sorted({i for i, _ in space.free})
        self.start = parameters_about_origin(nearest_consistent_values(space.values[None], space.sizes)[0])
        if np.any(self.start != parameters_about_origin(space.values)):  # at the boundary the Jacobian by ξ vanishes
            self.start = parameters_about_origin(nearest_consistent_values(space.values[None], space.sizes, THIN**2)[0])
        self.charts = [
            Chart(float(self.start[i, 0]), 1e-4 * float(self.start[i, 0]), float(space.sizes[i])) for i in self.searched
        ]
        self.chart = Chart.stack(self.charts)
        inverse = [np.linalg.inv(inertia.pseudo(self.start[i])) for i in self.searched]
        self.slopes = np.einsum("kij,bij->bk", inertia.PSEUDO_BASIS, np.array(inverse))
        self.slopes[:, 0] += 1 / self.start[self.searched, 0]  # the chart's mass floor adds a logarithm
        self.total = space.total

    def start_coordinates(self) -> Array:
        pairs = zip(self.charts, self.searched, strict=True)
        return np.concatenate([chart.coordinates(self.start[i]) for chart, i in pairs])

    def parameters(self, xi: Array) -> Array:
        """Parameters (B, bodies, 10) of ξ (B, n)."""
        full = np.tile(self.start, (len(xi), 1, 1))
        full[:, self.searched] = self.chart.parameters(xi.reshape(len(xi), -1, 10))
        return full

    def divergence(self, xi: Array) -> float:
        """Σ tr(J₀⁻¹J) − log det J, up to a constant."""
        xi_by_body = xi.reshape(-1, 10)
        return float(np.sum(self.slopes * self.chart.parameters(xi_by_body))) - self.chart.barrier(xi_by_body)

    def divergence_model(self, xi: Array) -> tuple[Array, Array]:
        """B (n, n) and e (n,) of the quadratic model ½‖Bδ − e‖² of the divergence, up to a constant."""
        xi_by_body = xi.reshape(-1, 10)
        B, e = self.chart.barrier_model(xi_by_body)
        slope = np.einsum("bij,bi->bj", self.chart.jacobian(xi_by_body), self.slopes)
        e = e - np.linalg.solve(np.swapaxes(B, -1, -2), slope[..., None])[..., 0]
        return block_diag(*B), e.ravel()

    def steps(self, xi: Array, A: Array, b: Array) -> Array:
        """Trial points (trials, n) of damped steps min ‖A δ − b‖²: straight in ξ, or straight in the parameters.

        ξ is curved: a step in ξ may be short where one in the parameters is long, and the other way round. A step of
        the parameters stops short of the boundary, with one length for all bodies or one for each.
        """
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        rotated, trials = U.T @ b, []
        xi_by_body = xi.reshape(-1, 10)
        J = self.chart.jacobian(xi_by_body)
        for damping in DAMPINGS:
            step = Vt.T @ (s / (s**2 + (damping * s[0]) ** 2) * rotated)
            change = np.einsum("bij,bj->bi", J, step.reshape(-1, 10))
            reach, Y = self.chart.longest_step(xi_by_body, change)
            for length in LENGTHS:
                trials.append(xi + length * step)
                trials.append(self.chart.advance(xi_by_body, change, Y, min(length, NEAR * reach)).ravel())
                each = [
                    _step_straight(c, x, d, length) for c, x, d in zip(self.charts, xi_by_body, change, strict=True)
                ]
                trials.append(np.concatenate(each))
        return np.array(trials)

    def mass_excess(self, xi: Array) -> float:
        """Excess over the total mass, in its standard deviations."""
        if self.total is None:
            return 0.0
        return float((self.parameters(xi[None])[0, :, 0].sum() - self.total) / (MASS_SHARE * self.total))


def _step_straight(chart: Chart, xi: Array, change: Array, length: float) -> Array:
    """ξ (10,) of a body after a straight step of its parameters, short of the boundary."""
    reach, Y = chart.longest_step(xi, change)
    return chart.advance(xi, change, Y, min(length, NEAR * reach))


def begin(problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
    """Start at the description."""
    chart = _Charts(problem)
    xi = chart.start_coordinates()
    parameters = chart.parameters(xi[None])
    r = problem.residuals(parameters)[0]
    return {
        "xi": xi.tolist(),
        "rms_first": _rms(r),
        "error": float(r @ r),
        "done": False,
        "best": parameters[0].tolist(),
        "passes": 0,
        "whitener": None,
        "population": [],
    }


def advance(problem: SearchProblem, state: State, rng: np.random.Generator, budget: int) -> State:
    """Take the best of several steps; at convergence to noise, whiten the residuals again."""
    chart, state = _Charts(problem), dict(state)
    xi = np.array(state["xi"])
    W = None if state["whitener"] is None else np.array(state["whitener"])
    n = len(xi)
    if problem.evaluations + 2 * n + 1 + 3 * len(DAMPINGS) * len(LENGTHS) > budget:
        return state | {"done": True}
    sides = np.vstack([xi[None], xi + DIFFERENCE * np.eye(n), xi - DIFFERENCE * np.eye(n)])
    raw = problem.residuals(chart.parameters(sides))
    R = _whitened(problem, raw, W)
    r, G = R[0], (R[1 : n + 1] - R[n + 1 :]).T / (2 * DIFFERENCE)
    mass = np.array(
        [
            (chart.mass_excess(a) - chart.mass_excess(b)) / (2 * DIFFERENCE)
            for a, b in zip(sides[1 : n + 1], sides[n + 1 :], strict=True)
        ]
    )
    scale, root = _rms(r), PRIOR * _rms(r)

    def objective(at: Array, residual: Array) -> float:
        near = (scale * chart.mass_excess(at)) ** 2 + 2 * root**2 * chart.divergence(at)
        return float(residual @ residual + near)

    B, e = chart.divergence_model(xi)
    A = np.vstack([G, scale * mass[None], root * B])
    b = np.concatenate([-r, [-scale * chart.mass_excess(xi)], root * e])
    trials = chart.steps(xi, A, b)
    raw_trials = problem.residuals(chart.parameters(trials))
    values = [objective(x, e) for x, e in zip(trials, _whitened(problem, raw_trials, W), strict=True)]
    k = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    before, after, rest = objective(xi, r), values[k], raw[0]
    lower = np.isfinite(after) and after < before
    if lower:
        xi, rest = trials[k], raw_trials[k]
        state |= {"xi": xi.tolist(), "error": float(rest @ rest), "best": chart.parameters(xi[None])[0].tolist()}
    if not lower or after > (1 - SETTLED) * before:
        noisy = _rms(rest) > NOISY * state["rms_first"]
        if noisy and state["passes"] < WHITENED:
            state["whitener"] = _whitener(problem, rest)
            state["passes"] += 1
        else:
            state["done"] = True
    state["done"] = state["done"] or state["error"] < SMALLEST * state["first"]
    return state


def _rms(r: Array) -> float:
    return float(np.sqrt(np.mean(r**2)))


def _parts(problem: SearchProblem, r: Array) -> list[Array]:
    """Residuals (…, rows) of each engine as (…, S, K)."""
    parts, at = [], 0
    for engine in problem.engines:
        S = len(engine.windows)
        K = 2 * (engine.windows.q.shape[1] + (6 if engine.windows.base is not None else 0))
        parts.append(r[..., at : at + S * K].reshape(*r.shape[:-1], S, K))
        at += S * K
    return parts


def _whitener(problem: SearchProblem, r: Array) -> list[Any]:
    """For each engine W (K, K) with W C Wᵀ = 1, C the covariance of its residuals."""
    whiteners = []
    for part in _parts(problem, r):
        C = part.T @ part / len(part)
        C += 1e-6 * np.diag(np.diag(C)) + 1e-300 * np.eye(len(C))
        whiteners.append(np.linalg.inv(np.linalg.cholesky(C)).tolist())
    return whiteners


def _whitened(problem: SearchProblem, r: Array, W: Any) -> Array:
    if W is None:
        return r
    parts = [(part @ np.asarray(w).T).reshape(*r.shape[:-1], -1) for part, w in zip(_parts(problem, r), W, strict=True)]
    return np.concatenate(parts, axis=-1)
