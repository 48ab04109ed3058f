"""Residual autocorrelation of an equation, for any θ, from products of its rows with later rows.

With x = (θ_e, −1) the residual of a row [y τ] is −[y τ]·x, so from G_l = Σ_t [y τ]_tᵀ[y τ]_{t+l} alone

    Σ_t e_t e_{t+l} = xᵀ G_l x,    Σ_t y_t M y_{t+l}ᵀ = tr(M G_l),    Σ_l ρ(l) Σ_t y_tᵀ y_{t+l} = Σ_l ρ(l) G_l:

all that noise and covariance need (``inference/streamed.py``), so that streamed rows are fitted like rows in memory.
Only the symmetric part of G_l matters; it is kept as its upper triangle. G_0 is RᵀR and not kept. Unlike rows in
memory each equation has its own noise, also base equations and those with unknown forces projected out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.spatial import Array

LAGS = 24  # at four samples a period of the cut-off frequency: six periods
CHUNK = 224  # rows whose products are computed at once


class LaggedProducts:
    """Products of the rows of one stream, accumulated as rows arrive."""

    def __init__(self, sizes: Sequence[int]):
        """``sizes``: number of columns of each equation, the target included."""
        self.sizes, self.longest = list(sizes), 0
        self._sums = [np.zeros((LAGS * m, m)) for m in sizes]
        self._tail, self._fresh, self._waiting, self._run = np.zeros((sum(sizes), LAGS)), list[Array](), 0, 0

    def begin(self) -> None:
        """Begin a new run: the next rows do not follow those before."""
        self._absorb()
        self._tail[:], self._run = 0.0, 0  # rows of zeros add nothing

    def take(self, columns: Array) -> None:
        """Take in the next rows, (columns of all equations, rows)."""
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
        triangles = []
        for m, total in zip(self.sizes, self._sums, strict=True):
            G = total.reshape(LAGS, m, m)
            i, j = np.triu_indices(m)
            triangles.append(0.5 * (G[:, i, j] + G[:, j, i]))
        return triangles
