"""Gauss–Newton on the GC error, in coordinates in which every step is a body that can exist.

All ten parameters of every searched body go through the log-Cholesky chart ξ of ``solve/log_cholesky.py``. With r the
residuals of all windows and G their Jacobian by ξ, a step solves

    min ‖r + G δ‖² + 2μ Σ (tr(J₀⁻¹J) − log det J),    √μ = PRIOR · rms(r),

J₀ the pseudo-inertia of each body at the start: the entropic prior of ``compose/prior.py``, as weak as the residuals
allow. It decides where they say nothing, keeps bodies from the edge of what can exist on the way, and fades as
residuals fall. Where noise is left in the end, residuals are whitened by their covariance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import block_diag

from steelyard import inertia
from steelyard.compose.prior import RELATIVE
from steelyard.experiment.search.search_problem import SearchProblem, parameters_of, physical
from steelyard.solve.log_cholesky import Chart
from steelyard.spatial import Array

State = dict[str, Any]

PRIOR = 1 / (2**0.5 * RELATIVE)  # times rms(r): √μ, the entropic prior's own weight if what is left were noise
DIFFERENCE = 1e-4  # in ξ
SETTLED = 1e-4  # relative change of the objective
SMALLEST = 1e-18  # of the first error: rounding
NOISY = 1e-5  # of the first residuals' size: what is left above that is noise
WHITENED = 3  # passes with residuals whitened
WEIGHED = 1e-3  # of the total mass: how well it is known
DAMPINGS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # of the largest singular value
LENGTHS = (1.0, 0.25)  # of a step
NEAR = 0.9  # of the way to where a body cannot exist any more
THIN = 0.02  # of a body's size: bodies that cannot exist begin with this radius of gyration in every direction


class _Coordinates:
    def __init__(self, problem: SearchProblem) -> None:
        space = problem.space
        self.searched = sorted({i for i, _ in space.free})
        self.start = parameters_of(physical(space.values[None], space.sizes)[0])
        if np.any(self.start != parameters_of(space.values)):  # as thin as can be is where ξ does not move
            self.start = parameters_of(physical(space.values[None], space.sizes, THIN**2)[0])
        self.charts = [
            Chart(float(self.start[i, 0]), 1e-4 * float(self.start[i, 0]), float(space.sizes[i])) for i in self.searched
        ]
        self.together = Chart.stack(self.charts)
        inverse = [np.linalg.inv(inertia.pseudo(self.start[i])) for i in self.searched]
        self.slopes = np.einsum("kij,bij->bk", inertia.PSEUDO_BASIS, np.array(inverse))
        self.slopes[:, 0] += 1 / self.start[self.searched, 0]  # the floor of the mass has a logarithm of its own
        self.total = space.total

    def first(self) -> Array:
        pairs = zip(self.charts, self.searched, strict=True)
        return np.concatenate([chart.coordinates(self.start[i]) for chart, i in pairs])

    def parameters(self, xi: Array) -> Array:
        """(B, bodies, 10) of ξ (B, n)."""
        full = np.tile(self.start, (len(xi), 1, 1))
        full[:, self.searched] = self.together.parameters(xi.reshape(len(xi), -1, 10))
        return full

    def divergence(self, xi: Array) -> float:
        """Σ tr(J₀⁻¹J) − log det J, but for a constant."""
        here = xi.reshape(-1, 10)
        return float(np.sum(self.slopes * self.together.parameters(here))) - self.together.barrier(here)

    def divergence_model(self, xi: Array) -> tuple[Array, Array]:
        """B (n, n), e (n,): the divergence is ½‖Bδ − e‖² for small δ, but for a constant."""
        here = xi.reshape(-1, 10)
        B, e = self.together.barrier_model(here)
        slope = np.einsum("bij,bi->bj", self.together.jacobian(here), self.slopes)
        e = e - np.linalg.solve(np.swapaxes(B, -1, -2), slope[..., None])[..., 0]
        return block_diag(*B), e.ravel()

    def steps(self, xi: Array, A: Array, b: Array) -> Array:
        """(tries, n) where min ‖A δ − b‖² + damping leads: in ξ; with the parameters going straight instead,
        all together, or each body as far as it can.

        ξ bends, so a step along it may be short where the parameters' own would be long, and the other way round.
        """
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        away, tried = U.T @ b, []
        here = xi.reshape(-1, 10)
        J = self.together.jacobian(here)
        for damping in DAMPINGS:
            step = Vt.T @ (s / (s**2 + (damping * s[0]) ** 2) * away)
            change = np.einsum("bij,bj->bi", J, step.reshape(-1, 10))
            most, Y = self.together.longest_step(here, change)
            for length in LENGTHS:
                tried.append(xi + length * step)
                tried.append(self.together.advance(here, change, Y, min(length, NEAR * most)).ravel())
                each = [_go(c, x, d, length) for c, x, d in zip(self.charts, here, change, strict=True)]
                tried.append(np.concatenate(each))
        return np.array(tried)

    def surplus(self, xi: Array) -> float:
        """Of the total mass, in units of how well it is known."""
        if self.total is None:
            return 0.0
        return float((self.parameters(xi[None])[0, :, 0].sum() - self.total) / (WEIGHED * self.total))


def _go(chart: Chart, xi: Array, change: Array, length: float) -> Array:
    """One body's ξ (10,) after its parameters went straight, as far as they can."""
    most, Y = chart.longest_step(xi, change)
    return chart.advance(xi, change, Y, min(length, NEAR * most))


def begin(problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
    """At the first configuration."""
    chart = _Coordinates(problem)
    xi = chart.first()
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
    """The best of several steps; or, once settled in noise, another whitening."""
    chart, state = _Coordinates(problem), dict(state)
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
            (chart.surplus(a) - chart.surplus(b)) / (2 * DIFFERENCE)
            for a, b in zip(sides[1 : n + 1], sides[n + 1 :], strict=True)
        ]
    )
    scale, root = _rms(r), PRIOR * _rms(r)

    def objective(at: Array, residual: Array) -> float:
        near = (scale * chart.surplus(at)) ** 2 + 2 * root**2 * chart.divergence(at)
        return float(residual @ residual + near)

    B, e = chart.divergence_model(xi)
    A = np.vstack([G, scale * mass[None], root * B])
    b = np.concatenate([-r, [-scale * chart.surplus(xi)], root * e])
    tried = chart.steps(xi, A, b)
    raw_tried = problem.residuals(chart.parameters(tried))
    values = [objective(x, e) for x, e in zip(tried, _whitened(problem, raw_tried, W), strict=True)]
    k = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    before, after, rest = objective(xi, r), values[k], raw[0]
    lower = np.isfinite(after) and after < before
    if lower:
        xi, rest = tried[k], raw_tried[k]
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
    """Of each engine, W (K, K) with W C Wᵀ = 1, C the covariance of what is left of its windows."""
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
