"""Noise and covariance from streamed logs: the same as ``noise`` and ``uncertainty`` compute from rows.

For each equation only a triangle and the lagged products of its rows are stored
(``equations/stream/autocorrelation.py``).
"""

from __future__ import annotations

import numpy as np

from steelyard.equations.stream.channels import Channels
from steelyard.equations.subspace import Subspace
from steelyard.inference import noise
from steelyard.inference.noise import Noise
from steelyard.information import Information
from steelyard.spatial import Array


def estimate_noise(channels: Channels, prior: Information) -> tuple[Noise, Information]:
    """Estimate the noise and weight the rows by it, as ``noise.estimate_noise`` does."""
    count, C = channels.count, len(channels.names)

    def weight(model: Noise, _: Array | None) -> Information:
        return channels.information(np.diag(model.whitener))

    def from_residuals(theta: Array, root: Array, floor: Array) -> Noise:
        lags = noise.count_lags(count, channels.longest)
        sums = np.zeros((lags + 1, C))
        sums[0] = channels.squares(theta)
        for loaded, triangles in channels.factors.items():
            P = channels.structure.parameters(loaded)
            x, Q = np.append(P @ theta, -1.0), P @ root
            lagged = channels.lagged[loaded]
            for e, (columns, R, G) in enumerate(zip(channels.structure.blocks, triangles, lagged, strict=True)):
                own = Q[columns[:-1]]
                sums[0, e] += np.sum((R[:, :-1] @ own) ** 2)
                M = np.outer(x[columns], x[columns])
                M[:-1, :-1] += own @ own.T
                sums[1:, e] += G[:lags] @ _doubled(M)
        return noise.noise_from_sums(np.einsum("lc,cd->lcd", sums, np.eye(C)), count, floor)

    scale = np.sqrt(channels.squares(np.zeros(prior.n)) / max(count, 1))
    return noise.iterate_noise(scale, weight, from_residuals, prior)


def long_run_covariance(channels: Channels, model: Noise, theta: Array, free: Array, space: Subspace) -> Array:
    """Return the score covariance (f, f) of the free parameters, as ``uncertainty.long_run_covariance`` does."""
    w2, kappa, rho = np.diag(model.whitener) ** 2, model.factor, model.correlation
    B = np.zeros((len(free), len(free)))
    for loaded, triangles in channels.factors.items():
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
    spent = float(np.trace(half.T @ B @ half))  # degrees of freedom of the fit
    return B * (squares / max(count - spent, 0.1 * count))


def _doubled(M: Array) -> Array:
    """Upper triangle with off-diagonal entries doubled: its dot product with that of G is tr(MG)."""
    i, j = np.triu_indices(len(M))
    return np.asarray(M[i, j] * np.where(i == j, 1.0, 2.0))


def _square(upper: Array, m: int) -> Array:
    G = np.zeros((m, m))
    G[np.triu_indices(m)] = upper
    return np.asarray(G + np.triu(G, 1).T)
