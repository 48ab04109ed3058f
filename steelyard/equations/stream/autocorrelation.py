"""How long the noise of an equation remembers, for any θ: products of its rows with those some rows later.

With x = (θ_e, −1) the residual of a row [y τ] is −[y τ]·x, so from G_l = Σ_t [y τ]_tᵀ[y τ]_{t+l} alone

    Σ_t e_t e_{t+l} = xᵀ G_l x,    Σ_t y_t M y_{t+l}ᵀ = tr(M G_l),    Σ_l ρ(l) Σ_t y_tᵀ y_{t+l} = Σ_l ρ(l) G_l:

all that ``noise.py`` and ``identifiable.long_run_covariance`` ask of rows, so that what was streamed once is fitted as
rows in memory are. Only the symmetric part of G_l matters; it is kept as its upper triangle. G_0 is RᵀR and not kept.
Unlike there each equation has its own noise, also those of the base and where unknown forces were projected out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from steelyard.inference import noise
from steelyard.inference.noise import LAGS, Noise
from steelyard.inference.uncertainty import Subspace
from steelyard.information import Information

if TYPE_CHECKING:
    from steelyard.equations.stream.channels import Channels

Array = np.ndarray

CHUNK = 224  # rows whose products are made at once


class Memory:
    """Products of the rows of one stream, as they come."""

    def __init__(self, sizes: Sequence[int]):
        """Of equations with so many columns, the target included."""
        self.sizes, self.longest = list(sizes), 0
        self._sums = [np.zeros((LAGS * m, m)) for m in sizes]
        self._tail, self._fresh, self._waiting, self._run = np.zeros((sum(sizes), LAGS)), list[Array](), 0, 0

    def begin(self) -> None:
        """What follows has nothing to do with what was before."""
        self._absorb()
        self._tail[:], self._run = 0.0, 0  # rows of zeros: they add nothing

    def take(self, columns: Array) -> None:
        """The next rows, (lines of all equations, rows)."""
        if not columns.shape[1]:
            return
        self._fresh.append(columns.copy())
        self._waiting += columns.shape[1]
        self._run += columns.shape[1]
        self.longest = max(self.longest, self._run)
        if self._waiting >= CHUNK:
            self._absorb()

    def _absorb(self) -> None:
        if not self._fresh:
            return
        both = np.hstack([self._tail, *self._fresh])
        late, start = both[:, LAGS:], 0
        for m, total in zip(self.sizes, self._sums, strict=True):
            own = both[start : start + m]
            early = np.lib.stride_tricks.sliding_window_view(own, late.shape[1], axis=1)[:, LAGS - 1 :: -1]  # lag 1 …
            total += early.transpose(1, 0, 2).reshape(LAGS * m, -1) @ late[start : start + m].T
            start += m
        self._tail, self._fresh, self._waiting = both[:, -LAGS:].copy(), [], 0

    def finish(self) -> list[Array]:
        """(LAGS, m(m+1)/2) an equation: upper triangles of the symmetric parts, lag 1 first."""
        self._absorb()
        found = []
        for m, total in zip(self.sizes, self._sums, strict=True):
            G = total.reshape(LAGS, m, m)
            i, j = np.triu_indices(m)
            found.append(0.5 * (G[:, i, j] + G[:, j, i]))
        return found


def weighed(channels: Channels, prior: Information) -> tuple[Noise, Information]:
    """Noise and information of all rows, as ``noise.estimate`` iterates them."""
    count, C = channels.count, len(channels.names)

    def informed(model: Noise, _: Array | None) -> Information:
        return channels.information(np.diag(model.whitener))

    def looked(theta: Array, root: Array, floor: Array) -> Noise:
        lags = noise.looked_at(count, channels.longest)
        sums = np.zeros((lags + 1, C))
        sums[0] = channels.squares(theta)
        for loaded, triangles in channels.found.items():
            P = channels.structure.parameters(loaded)
            x, Q = np.append(P @ theta, -1.0), P @ root
            lagged = channels.lagged[loaded]
            for e, (columns, R, G) in enumerate(zip(channels.structure.blocks, triangles, lagged, strict=True)):
                own = Q[columns[:-1]]
                sums[0, e] += np.sum((R[:, :-1] @ own) ** 2)
                M = np.outer(x[columns], x[columns])
                M[:-1, :-1] += own @ own.T
                sums[1:, e] += G[:lags] @ _doubled(M)
        return noise.explaining(np.einsum("lc,cd->lcd", sums, np.eye(C)), count, floor)

    return noise.settled(np.sqrt(channels.squares(np.zeros(prior.n)) / max(count, 1)), informed, looked, prior)


def long_run_covariance(channels: Channels, model: Noise, theta: Array, free: Array, space: Subspace) -> Array:
    """(f, f) of the free parameters, what ``identifiable.long_run_covariance`` makes of the rows themselves."""
    w2, kappa, rho = np.diag(model.whitener) ** 2, model.factor, model.correlation
    B = np.zeros((len(free), len(free)))
    for loaded, triangles in channels.found.items():
        P = channels.structure.parameters(loaded)[:, free]
        S = np.zeros((len(P) + 1, len(P) + 1))
        lagged = channels.lagged[loaded]
        for e, (columns, R, G) in enumerate(zip(channels.structure.blocks, triangles, lagged, strict=True)):
            products = R.T @ R + 2 * _square(rho[1:, e] @ G[: len(rho) - 1], len(columns))
            S[np.ix_(columns, columns)] += w2[e] / kappa[e] * products
        B += P.T @ S[:-1, :-1] @ P
    squares = float(w2 @ channels.squares(theta))
    count = float(channels.count * np.sum(1 / kappa))
    half = space.scale[:, None] * (space.V / space.values)
    spent = float(np.trace(half.T @ B @ half))  # degrees of freedom the fit took
    return B * (squares / max(count - spent, 0.1 * count))


def _doubled(M: Array) -> Array:
    """Upper triangle of a symmetric matrix as a vector whose product with another's is the trace of their product."""
    i, j = np.triu_indices(len(M))
    return np.asarray(M[i, j] * np.where(i == j, 1.0, 2.0))


def _square(upper: Array, m: int) -> Array:
    G = np.zeros((m, m))
    G[np.triu_indices(m)] = upper
    return np.asarray(G + np.triu(G, 1).T)
