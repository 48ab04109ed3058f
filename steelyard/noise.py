"""How noisy each row is and how long its noise remembers, estimated from residuals.

Filtered rows carry correlated noise, so plain σ²(YᵀY)⁻¹ promises far too much (nominal 95 % intervals covered 28 % in a
prototype). Each channel gets a standard deviation σ and an autocorrelation ρ; rows are scaled by 1/(σ√κ) with the
long-run factor κ = 1 + 2Σρ, so that YᵀY counts what the samples are worth, and ρ gives the covariance
of the estimate (``identifiable.covariance``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.information import Information
from steelyard.regressor import Block

Array = np.ndarray

FLOOR = 1e-6  # of a channel's rms: noise is never taken to be less
LAGS = 24  # at four samples a period of the cut-off frequency: six periods
HUBER = 1.345  # residuals beyond this many σ count linearly under the robust loss


@dataclass(frozen=True)
class Noise:
    """Noise of the C channels of a row block."""

    root: Array  # (C, C) W with W e of unit variance and uncorrelated between channels
    correlation: Array  # (L+1, C) autocorrelation of W e, tapered; row 0 is 1

    @property
    def factor(self) -> Array:
        """(C,) κ: by how much the noise of a long average exceeds that of white noise."""
        return np.asarray(np.maximum(1 + 2 * self.correlation[1:].sum(axis=0), 0.2))

    @property
    def whitener(self) -> Array:
        """(C, C) what rows are multiplied with."""
        return np.asarray(self.root / np.sqrt(self.factor)[:, None])

    @classmethod
    def unit(cls, scale: Array) -> Noise:
        """White noise of the given standard deviations, to start from."""
        return cls(np.diag(1 / scale), np.ones((1, len(scale))))


def information(
    blocks: Iterable[Block], noise: Noise, names: tuple[str, ...], robust: Array | None = None
) -> Information:
    """Whitened information of all rows; ``robust`` is the θ whose large residuals count less (Huber)."""
    info = Information.none(len(names), names)
    W = noise.whitener
    for block in blocks:
        Y = np.einsum("ij,tjn->tin", W, block.Y)
        z = block.target @ W.T
        if robust is not None:
            size = np.abs(z - Y @ robust) * np.sqrt(noise.factor)
            weight = np.sqrt(np.minimum(1.0, HUBER / np.maximum(size, 1e-12)))
            Y, z = Y * weight[:, :, None], z * weight
        info = info.extend(Y.reshape(-1, len(names)), z.ravel())
    return info


def estimate(
    blocks: Iterable[Block],
    names: tuple[str, ...],
    solve: Callable[[Information], Array],
    *,
    full: bool = False,
    robust: bool = False,
    passes: int = 4,
) -> tuple[Noise, Information]:
    """Noise and information, iterated: fit, look at the residuals, weigh anew.

    ``full``: channels correlate with each other (contact-free rows); else each has its own σ alone.
    """
    scale = np.sqrt(_mean_square(block.target for block in blocks))
    scale = np.where(scale > 0, scale, 1.0)
    noise = Noise.unit(scale)
    info = information(blocks, noise, names)
    for _ in range(passes):
        theta = solve(info)
        noise = _from_residuals(blocks, theta, FLOOR * scale, full, robust, info)
        info = information(blocks, noise, names, theta if robust else None)
    return noise, info


def _mean_square(parts: Iterable[Array]) -> Array:
    total, count = 0.0, 0
    for part in parts:
        total, count = total + np.sum(part**2, axis=0), count + len(part)
    return np.asarray(total / max(count, 1))


def _from_residuals(
    blocks: Iterable[Block], theta: Array, floor: Array, full: bool, robust: bool, info: Information
) -> Noise:
    runs: list[list[Array]] = []
    for block in blocks:
        if block.first or not runs:
            runs.append([])
        runs[-1].append(block.target - block.Y @ theta)
    segments = [np.concatenate(run) for run in runs]
    e = np.concatenate(segments)
    if robust:  # σ from the middle of the distribution
        sigma = 1.4826 * np.median(np.abs(e - np.median(e, axis=0)), axis=0)
        covariance = np.diag(sigma**2)
    else:
        share = max(1 - info.rank() / e.size, 0.1)  # what the fit took out of the residuals
        covariance = e.T @ e / (len(e) * share) if full else np.diag(np.mean(e**2, axis=0) / share)
    covariance = covariance + np.diag(floor**2)
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    return Noise(root, _autocorrelation([s @ root.T for s in segments]))


def _autocorrelation(segments: list[Array]) -> Array:
    """(L+1, C), with a flat-top taper: full weight on the first half of the lags, then falling to none."""
    longest = max(len(s) for s in segments)
    lags = int(min(LAGS, longest // 4))
    sums = np.zeros((lags + 1, segments[0].shape[1]))
    for s in segments:
        for lag in range(min(lags, len(s) - 1) + 1):
            sums[lag] += np.sum(s[: len(s) - lag] * s[lag:], axis=0)
    correlation = sums / np.maximum(sums[0], 1e-300)
    taper = np.clip(2 * (1 - np.arange(lags + 1) / (lags + 1)), 0, 1)
    return np.asarray(correlation * taper[:, None])
