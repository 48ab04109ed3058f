"""Noise of each equation: standard deviation and autocorrelation of its residual; and rows weighted by them.

Filtered rows have correlated noise, for which σ²(YᵀY)⁻¹ is far too small (nominal 95 % intervals covered 28 % in a
prototype). Each channel (equation) has a standard deviation σ and an autocorrelation ρ; rows are scaled by 1/(σ√κ) with
the long-run factor κ = 1 + 2Σρ, so that YᵀY counts effective samples, and ρ gives the covariance of the estimate
(``uncertainty.long_run_covariance``). The robust loss is in ``loss.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.equations.rows import Block
from steelyard.equations.stream.autocorrelation import LAGS
from steelyard.inference.loss import ROBUST
from steelyard.information import Information
from steelyard.spatial import Array

FLOOR = 1e-6  # of a channel's rms: lower bound of its noise
NEGLIGIBLE = 1e-10  # relative singular value below which a direction is rounding
CONVERGED = 0.01  # relative change of the weights at which the iteration stops
THIN, PLENTY = 3, 8  # first iteration: use every third sample, if that leaves at least eight rows per unknown
TALL = 4  # rows factorised at once, per parameter, at least


@dataclass(frozen=True)
class Noise:
    """Noise of the C channels (equations) of a row block."""

    root: Array  # (C, C) W such that W e has unit variance and is uncorrelated between channels
    correlation: Array  # (L+1, C) autocorrelation of W e, tapered; row 0 is 1

    @property
    def factor(self) -> Array:
        """(C,) κ: ratio of the long-run variance to that of white noise."""
        return np.asarray(np.maximum(1 + 2 * self.correlation[1:].sum(axis=0), 0.2))

    @property
    def whitener(self) -> Array:
        """(C, C) factor of the rows."""
        return np.asarray(self.root / np.sqrt(self.factor)[:, None])

    def standard(self, residual: Array) -> Array:
        """Return residuals (T, C) of whitened rows in units of their standard deviations."""
        return np.asarray(residual * np.sqrt(self.factor))

    @classmethod
    def unit(cls, scale: Array) -> Noise:
        """Return white noise of the given standard deviations, the start of the iteration."""
        return cls(np.diag(1 / scale), np.ones((1, len(scale))))


def weight_rows(
    blocks: Iterable[Block], noise: Noise, names: tuple[str, ...], robust: Array | None = None
) -> Information:
    """Accumulate rows, each scaled by its residual's standard deviation, into square-root information.

    Args:
        blocks: Regressor rows Y θ ≈ τ, in N and N·m.
        noise: Standard deviation and autocorrelation of each equation's residual.
        names: Names of the parameters.
        robust: θ whose large residuals are down-weighted (Huber).

    Returns:
        Information about θ with unit-variance residuals (Ayusawa 16).
    """
    info = Information.none(len(names), names)
    W, kept = noise.whitener, list[tuple[Array, Array]]()

    def absorb(info: Information) -> Information:
        Y, z = (np.concatenate(part) for part in zip(*kept, strict=True))
        kept.clear()
        return info.extend(Y, z)

    for block in blocks:
        Y = W @ block.Y
        z = block.target @ W.T
        if robust is not None:
            weight = ROBUST.root_weight(noise.standard(z - Y @ robust))
            Y, z = Y * weight[:, :, None], z * weight
        kept.append((Y.reshape(-1, len(names)), z.ravel()))
        if sum(len(z) for _, z in kept) >= TALL * len(names):  # a factorisation costs as much as so many rows
            info = absorb(info)
    return absorb(info) if kept else info


def estimate_noise(
    blocks: Iterable[Block],
    names: tuple[str, ...],
    prior: Information,
    *,
    full: bool = False,
    robust: bool = False,
    passes: int = 10,
    weight_channels: Callable[[Array], Information] | None = None,
) -> tuple[Noise, Information]:
    """Estimate the noise and weight the rows by it, iteratively: fit with the prior, estimate from residuals, reweight.

    Args:
        blocks: Regressor rows.
        names: Names of the parameters.
        prior: Prior information about θ, for the fits.
        full: Whether channels are correlated (contact-free rows); otherwise each has its own σ.
        robust: Whether large residuals are down-weighted (Huber).
        passes: Largest number of iterations.
        weight_channels: Returns the information of the same rows for weights (C,) of the channels, faster than from the
            rows.

    Returns:
        The noise, and the information of the weighted rows.
    """

    def weight(noise: Noise, outliers_of: Array | None) -> Information:
        if full or robust or weight_channels is None:
            first = full and outliers_of is None and count * len(noise.root) >= PLENTY * THIN * len(names)
            return weight_rows(_thinned(blocks) if first else blocks, noise, names, outliers_of if robust else None)
        return weight_channels(np.diag(noise.whitener))

    def from_residuals(theta: Array, root: Array, floor: Array) -> Noise:
        return _from_residuals(blocks, theta, root, floor, full, robust)

    squares, count = _mean_square(block.target for block in blocks)
    return iterate_noise(np.sqrt(squares), weight, from_residuals, prior, passes)


def iterate_noise(
    scale: Array,
    weight: Callable[[Noise, Array | None], Information],
    from_residuals: Callable[[Array, Array, Array], Noise],
    prior: Information,
    passes: int = 10,
) -> tuple[Noise, Information]:
    """Iterate noise and information to convergence, however the rows are stored.

    Args:
        scale: (C,) rms of the channels' targets.
        weight: Returns the information of the rows under a noise, with the θ whose outliers are down-weighted, or None.
        from_residuals: Returns the noise estimated from the residuals of θ, given a square root of the covariance of θ
            and the lower bound of each channel's noise.
        prior: Prior information about θ.
        passes: Largest number of iterations.
    """
    scale = np.where(scale > 0, scale, 1.0)
    noise = Noise.unit(scale)
    info = weight(noise, None)
    # The first weights are a guess: neither the prior nor directions of rounding may influence the first fit.
    theta, root = info.solve(NEGLIGIBLE), np.zeros_like(info.R)
    for _ in range(passes):
        before, noise = noise, from_residuals(theta, root, FLOOR * scale)
        info = weight(noise, theta)
        total = info + prior
        theta, root = total.solve(), np.linalg.pinv(total.R)
        if np.allclose(noise.whitener, before.whitener, rtol=CONVERGED, atol=CONVERGED * np.abs(noise.whitener).max()):
            break
    return noise, info


def _thinned(blocks: Iterable[Block]) -> Iterable[Block]:
    """Every ``THIN``-th sample."""
    return (replace(block, time=block.time[::THIN], Y=block.Y[::THIN], target=block.target[::THIN]) for block in blocks)


def _mean_square(parts: Iterable[Array]) -> tuple[Array, int]:
    """Mean square (C,), and the number of samples."""
    total, count = np.zeros(1), 0
    for part in parts:
        total, count = total + np.sum(part**2, axis=0), count + len(part)
    return np.asarray(total / max(count, 1)), count


def _from_residuals(
    blocks: Iterable[Block], theta: Array, root: Array, floor: Array, full: bool, robust: bool
) -> Noise:
    """Noise estimated from the residuals of θ, whose covariance is root·rootᵀ.

    A fit absorbs part of the noise, at every lag about y M yᵀ, M = root·rootᵀ, which is missing from the residuals. It
    is added back; otherwise intervals of short logs would be too narrow.
    """
    errors = _runs((b.first, b.target - b.Y @ theta) for b in blocks)
    longest, total = max(len(e) for e in errors), sum(len(e) for e in errors)
    lags = count_lags(total, longest)
    sums = np.zeros(
        (lags + 1, errors[0].shape[1], errors[0].shape[1])
    )  # Σ e_t e_{t+lag}ᵀ, beginning with the absorbed part
    if root.any():
        sums += _absorbed(blocks, root, lags, full)
    if robust:
        e = np.concatenate(errors)
        sigma = np.maximum(1.4826 * np.median(np.abs(e - np.median(e, axis=0)), axis=0), floor)
        errors = [ROBUST.influence(e, sigma) for e in errors]  # outliers are limited as in the loss
    for e in errors:
        for lag in range(min(lags, len(e) - 1) + 1):
            sums[lag] += e[: len(e) - lag].T @ e[lag:]
    return noise_from_sums(sums, total, floor, full)


def count_lags(total: int, longest: int) -> int:
    """Return the number of lags of the autocorrelation for ``total`` samples in runs of at most ``longest``."""
    return int(min(LAGS, max(total // 32, 4), longest - 1))  # few for short logs: each adds variance


def noise_from_sums(sums: Array, total: int, floor: Array, full: bool = False) -> Noise:
    """Return the noise of ``total`` samples from the sums Σ e_t e_{t+lag}ᵀ (lags + 1, C, C) of their residuals."""
    covariance = sums[0] / total
    W = np.linalg.inv(np.linalg.cholesky((covariance if full else np.diag(np.diag(covariance))) + np.diag(floor**2)))
    white = np.einsum("ij,ljk,ik->li", W, sums, W)
    lags = len(sums) - 1
    taper = np.clip(2 * (1 - np.arange(lags + 1) / (lags + 1)), 0, 1)  # flat top: full weight on half of the lags
    return Noise(W, np.asarray(white / np.maximum(white[0], 1e-300) * taper[:, None]))


def _absorbed(blocks: Iterable[Block], root: Array, lags: int, full: bool) -> Array:
    """(lags + 1, C, C) Σ_t y_t M y_{t+lag}ᵀ, M = root·rootᵀ, block by block; only the diagonal unless ``full``."""
    sums: Array | None = None
    tail = np.zeros((0, 0, 0))
    for block in blocks:
        Q = block.Y @ root
        C = Q.shape[1]
        sums = np.zeros((lags + 1, C, C)) if sums is None else sums
        both = Q if block.first or not len(tail) else np.concatenate([tail, Q])
        start = len(both) - len(Q)
        for lag in range(lags + 1):
            low, high = max(start - lag, 0), len(both) - lag
            if high <= low:  # the run is shorter than the lag
                break
            early, late = both[low:high], both[low + lag :]
            if full:
                sums[lag] += (early @ late.transpose(0, 2, 1)).sum(axis=0)
            else:
                sums[lag][np.diag_indices(C)] += np.einsum("tin,tin->i", early, late)
        tail = both[max(len(both) - lags, 0) :]
    assert sums is not None
    return sums


def _runs(parts: Iterable[tuple[bool, Array]]) -> list[Array]:
    """Values by segment: consecutive blocks concatenated."""
    runs: list[list[Array]] = []
    for first, values in parts:
        if first or not runs:
            runs.append([])
        runs[-1].append(values)
    return [np.concatenate(run) for run in runs]
