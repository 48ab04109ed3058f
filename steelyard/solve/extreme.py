"""Extreme values of a quantity over a region: by Clarabel, with multipliers corrected until they prove the bound.

The θ of a region and all their multiples form a cone of u = (θ·s, s). A mass is maximised on its slice s = 1, a ratio
h/m on its slice m = 1 (Charnes and Cooper): both are one conic problem, max cᵀu with aᵀu = 1.

A solver's multipliers are stationary only to its tolerance, and in the null space of the data only the cones can absorb
the residual. At the analytic centre Z₀ = M⁻¹ and μ₀ = 1/slack are stationary and deep inside their cones. So the
residual is removed by corrections Z₀XZ₀ in their neighbourhood, and a share of Z₀ and μ₀ is added that keeps everything
positive semidefinite. This widens the bound by that share times the order of the barrier, which is negligible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from steelyard.solve import clarabel_
from steelyard.solve.analytic_centre import AnalyticCentre, back, find_analytic_centre
from steelyard.solve.problem import pack_symmetric, positive, unpack_symmetric
from steelyard.solve.region import Region
from steelyard.spatial import Array

TOLERANCE = 1e-9  # of Clarabel; the remaining residual is corrected


@dataclass(frozen=True)
class Bound:
    """A maximum: proved to be at most ``proved``; ``theta`` attains ``attained``."""

    proved: float
    attained: float
    theta: Array  # (n,)
    reach_share: float  # part of the bound that rests on the reach alone: nearly all for an unlimited quantity


@dataclass(frozen=True)
class _Answer:
    theta: Array  # (n,)
    cones: Array  # (B, 4, 4) Z
    rows: Array  # (m,) μ
    slice: float  # t
    point: Array  # (3,) about which the trace is linearised, if it is maximised


class Extremes:
    """Maxima and minima of quantities over one region, each with a proved bound."""

    def __init__(self, region: Region):
        self.region = region
        self.F = np.stack([c.F for c in region.cones])  # (B, 10, 4, 4)
        self.index = np.stack([np.arange(c.at, c.at + 10) for c in region.cones])  # (B, 10)

    def maximise(self, c: Array) -> Bound:
        """Return the maximum of cᵀθ."""
        answer = self._solve(c)
        bound, reach_share = self._prove(c, answer)
        return Bound(bound, float(c @ answer.theta), answer.theta, reach_share)

    def minimise(self, c: Array) -> Bound:
        """Return the minimum of cᵀθ."""
        negative = self.maximise(-c)
        return Bound(-negative.proved, -negative.attained, negative.theta, negative.reach_share)

    def maximise_ratio(self, c: Array, per: Array, least: float) -> Bound:
        """Return the maximum of cᵀθ/perᵀθ, where ``least`` > 0 is a proved lower bound of perᵀθ.

        A proof of cᵀθ − t·perᵀθ ≤ δ is one of cᵀθ/perᵀθ ≤ t + δ/least.
        """
        answer = self._solve(c, per)
        more, reach_share = self._prove(c - answer.slice * per, answer)
        below = float(per @ answer.theta)
        ratio = float(c @ answer.theta) / below
        return Bound(answer.slice + max(more, 0.0) / least, ratio, answer.theta, reach_share / max(below, least))

    def minimise_ratio(self, c: Array, per: Array, least: float) -> Bound:
        """Return the minimum of cᵀθ/perᵀθ."""
        negative = self.maximise_ratio(-c, per, least)
        return Bound(-negative.proved, -negative.attained, negative.theta, negative.reach_share)

    def maximise_trace(self, at: int) -> Bound:
        """Return the maximum of the trace of the inertia about the CoM, tr I − 2 h·h/m, of the body at ``at``.

        It is concave and homogeneous, so each of its tangents (the trace about some point) is an upper bound.
        """
        E = np.eye(len(self.region.start))
        mass, first, trace = E[at], E[at + 1 : at + 4], E[[at + 4, at + 6, at + 9]].sum(axis=0)
        answer = self._solve(trace, traced=at)
        com, theta = answer.point, answer.theta
        tangent = trace - 4 * com @ first + 2 * (com @ com) * mass
        h, (bound, reach_share) = first @ theta, self._prove(tangent, answer)
        return Bound(bound, float(trace @ theta - 2 * h @ h / (mass @ theta)), theta, reach_share)

    def _prove(self, goal: Array, answer: _Answer) -> tuple[float, float]:
        """The bound on goalᵀθ by the answer's multipliers, corrected (see above), and its part due to the reach."""
        region, r = self.region, len(self.region.R)
        W, at = region.coordinates, self._centre
        Z, mu = answer.cones, np.maximum(answer.rows, 0.0)
        for _ in range(3):  # two suffice but for rounding
            e = goal + mu @ region.rows
            np.add.at(e, self.index, np.einsum("bkij,bij->bk", self.F, Z))
            direction = -W[:, r:] @ back(at.triangle, e @ W[:, r:])
            change = np.einsum("bkij,bk->bij", self.F, direction[self.index])
            X = at.roots @ change @ np.swapaxes(at.roots, 1, 2)
            x = region.rows @ direction / at.slack
            share = max(0.0, -float(np.linalg.eigvalsh(X).min()), -float(x.min(initial=0.0)))
            Z = Z + np.swapaxes(at.roots, 1, 2) @ (X + share * np.eye(4)) @ at.roots
            mu = mu + (x + share) / at.slack
        return region.prove_bound(goal, list(Z), mu), float(np.sum(mu[len(region.level) :]))

    @cached_property
    def _centre(self) -> AnalyticCentre:
        return find_analytic_centre(self.region)

    @cached_property
    def _posed(self) -> tuple[Any, list[Any]]:
        """The inequalities that all solves share, as rows of u in natural units, and their cones."""
        import clarabel

        region, n = self.region, len(self.region.start)
        rows = np.column_stack([region.rows * region.scale, region.rows @ region.start - region.levels])
        ball = np.zeros((len(region.R) + 1, n + 1))
        ball[0, n] = 1.0
        ball[1:, :n] = region.R * region.scale / region.radius
        ball[1:, n] = (region.R @ region.start - region.z) / region.radius
        blocks = [sparse.csc_matrix(rows), sparse.csc_matrix(ball)]
        for F, index in zip(pack_symmetric(self.F), self.index, strict=True):
            block = sparse.lil_matrix((10, n + 1))
            block[:, index] = F.T * region.scale[index]
            block[:, n] = (F.T @ region.start[index])[:, None]
            blocks.append(block.tocsc())
        kinds = [clarabel.NonnegativeConeT(len(rows)), clarabel.SecondOrderConeT(len(ball))]
        return sparse.vstack(blocks).tocsc(), kinds + [clarabel.PSDTriangleConeT(4)] * len(self.F)

    def _solve(self, c: Array, per: Array | None = None, traced: int | None = None) -> _Answer:
        """Clarabel's maximum of cᵀθ, or of cᵀθ/perᵀθ, or of cᵀθ − 2 h·h/m of the body at ``traced``; unproved."""
        import clarabel

        region, n = self.region, len(self.region.start)
        unit = float(np.max(np.abs(c * region.scale)))
        q = -np.append(c * region.scale, c @ region.start) / unit
        if per is None:
            a, weight = np.eye(n + 1)[n], 1.0
        else:
            weight = float(per @ region.start)
            a = np.append(per * region.scale, weight) / weight
        A, kinds = self._posed
        A, kinds = sparse.vstack([sparse.csc_matrix(a), -A]), [clarabel.ZeroConeT(1), *kinds]
        if traced is not None:
            A, q, kinds = self._with_trace(A, q, kinds, traced, unit)
        b = np.zeros(A.shape[0])
        b[0] = 1.0
        # supernodal "faer" is several times faster on rows as dense as the data's
        settings = {"direct_solve_method": "faer", "max_threads": 1}
        answer = clarabel_.run(sparse.csc_matrix((len(q), len(q))), q, A, b, kinds, TOLERANCE, **settings)
        u, dual = np.array(answer.x), unit * np.array(answer.z)
        if not (np.isfinite(u).all() and np.isfinite(dual).all() and u[n] > 0):  # the bound is then proved without it
            u, dual = np.append(np.zeros(n), 1.0), np.zeros(len(dual))
            dual[0] = float(c @ region.start)
        theta = region.start + region.scale * u[:n] / u[n]
        m, first = len(region.levels), 2 + len(region.levels) + len(region.R)
        Z = positive(unpack_symmetric(dual[first : first + 10 * len(self.F)].reshape(-1, 10)))
        point = np.zeros(3) if traced is None else -dual[-3:] / (2 * region.scale[traced + 1 : traced + 4].max())
        return _Answer(theta, Z, dual[1 : 1 + m], float(dual[0]) / weight, point)

    def _with_trace(self, A: Any, q: Array, kinds: list[Any], at: int, unit: float) -> tuple[Any, Array, list[Any]]:
        """Add an unknown p ≥ h·h/m, as ‖(p − m, 2h)‖ ≤ p + m in natural units, and −2p to the objective.

        The multipliers of 2h are −2c, c the point about which the trace is linearised.
        """
        import clarabel

        region, n = self.region, len(self.region.start)
        mass, first = region.scale[at], region.scale[at + 1 : at + 4].max()
        rows = np.zeros((5, n + 2))
        rows[:, at : at + 4] = np.vstack([np.eye(4)[0], -np.eye(4)[0], 2 * np.eye(4)[1:]])
        rows[:, n] = rows[:, :n] @ region.start
        rows[:, :n] *= region.scale
        rows[:2] /= mass
        rows[2:] /= first
        rows[:2, n + 1] = 1.0
        wide = sparse.hstack([A, sparse.csc_matrix((A.shape[0], 1))])
        goal = np.append(q, 2 * first**2 / mass / unit)
        return sparse.vstack([wide, -sparse.csc_matrix(rows)]), goal, [*kinds, clarabel.SecondOrderConeT(5)]
