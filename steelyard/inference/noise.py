"""How noisy each row is and how long its noise remembers, estimated from residuals.

Filtered rows carry correlated noise, so plain σ²(YᵀY)⁻¹ promises far too much (nominal 95 % intervals covered 28 % in a
prototype). Each channel gets a standard deviation σ and an autocorrelation ρ; rows are scaled by 1/(σ√κ) with the
long-run factor κ = 1 + 2Σρ, so that YᵀY counts what the samples are worth, and ρ gives the covariance
of the estimate (``uncertainty.long_run_covariance``). How a residual counts is in ``loss.py``.
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

FLOOR = 1e-6  # of a channel's rms: noise is never taken to be less
DUST = 1e-10  # directions that weigh less than this, of the heaviest, are rounding
SETTLED = 0.01  # change of the weights at which iteration stops
THIN, PLENTY = 3, 8  # of a first look: samples to one that it takes, and its rows to an unknown at least
TALL = 4  # rows factored at once, of the parameters' number, at least


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

    def standard(self, residual: Array) -> Array:
        """Residuals (T, C) of whitened rows in their standard deviations."""
        return np.asarray(residual * np.sqrt(self.factor))

    @classmethod
    def unit(cls, scale: Array) -> Noise:
        """White noise of the given standard deviations, to start from."""
        return cls(np.diag(1 / scale), np.ones((1, len(scale))))


def information(
    blocks: Iterable[Block], noise: Noise, names: tuple[str, ...], robust: Array | None = None
) -> Information:
    """Whitened information of all rows; ``robust`` is the θ whose large residuals count less (Huber)."""
    info = Information.none(len(names), names)
    W, kept = noise.whitener, list[tuple[Array, Array]]()

    def absorbed(info: Information) -> Information:
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
        if sum(len(z) for _, z in kept) >= TALL * len(names):  # each factoring costs as much as so many rows more
            info = absorbed(info)
    return absorbed(info) if kept else info


def estimate(
    blocks: Iterable[Block],
    names: tuple[str, ...],
    prior: Information,
    *,
    full: bool = False,
    robust: bool = False,
    passes: int = 10,
    weighed: Callable[[Array], Information] | None = None,
) -> tuple[Noise, Information]:
    """Noise and information, iterated: fit (with the prior), look at the residuals, weigh anew.

    ``full``: channels correlate with each other (contact-free rows); else each has its own σ alone. ``weighed``: what
    gives the information of the same rows for any weights of the channels (C,), quicker than by going through them.
    """

    def informed(noise: Noise, outliers_of: Array | None) -> Information:
        if full or robust or weighed is None:
            first = full and outliers_of is None and count * len(noise.root) >= PLENTY * THIN * len(names)
            return information(_thinned(blocks) if first else blocks, noise, names, outliers_of if robust else None)
        return weighed(np.diag(noise.whitener))

    def looked(theta: Array, root: Array, floor: Array) -> Noise:
        return _from_residuals(blocks, theta, root, floor, full, robust)

    squares, count = _mean_square(block.target for block in blocks)
    return settled(np.sqrt(squares), informed, looked, prior, passes)


def settled(
    scale: Array,
    informed: Callable[[Noise, Array | None], Information],
    looked: Callable[[Array, Array, Array], Noise],
    prior: Information,
    passes: int = 10,
) -> tuple[Noise, Information]:
    """The same from what can be asked of the rows, whoever keeps them.

    ``scale`` (C,) is the rms of the channels; ``informed`` gives the information under some noise, perhaps with the θ
    whose outliers count less; ``looked`` the noise that explains the residuals of θ, given a square root of its
    covariance and the least noise of each channel.
    """
    scale = np.where(scale > 0, scale, 1.0)
    noise = Noise.unit(scale)
    info = informed(noise, None)
    # The first weights are a guess: the prior must not pull yet, and what only rounding tells must not either.
    theta, root = info.solve(DUST), np.zeros_like(info.R)
    for _ in range(passes):
        before, noise = noise, looked(theta, root, FLOOR * scale)
        info = informed(noise, theta)
        total = info + prior
        theta, root = total.solve(), np.linalg.pinv(total.R)
        if np.allclose(noise.whitener, before.whitener, rtol=SETTLED, atol=SETTLED * np.abs(noise.whitener).max()):
            break
    return noise, info


def _thinned(blocks: Iterable[Block]) -> Iterable[Block]:
    """A sample in ``THIN``."""
    return (replace(block, time=block.time[::THIN], Y=block.Y[::THIN], target=block.target[::THIN]) for block in blocks)


def _mean_square(parts: Iterable[Array]) -> tuple[Array, int]:
    """(C,) and the number of samples."""
    total, count = np.zeros(1), 0
    for part in parts:
        total, count = total + np.sum(part**2, axis=0), count + len(part)
    return np.asarray(total / max(count, 1)), count


def _from_residuals(
    blocks: Iterable[Block], theta: Array, root: Array, floor: Array, full: bool, robust: bool
) -> Noise:
    """Noise that explains the residuals of θ, whose covariance is root·rootᵀ.

    A fit bends towards the noise, and what it took away is missing from the residuals: at every lag about
    y M yᵀ, M = root·rootᵀ. It is added back; without that short logs promise too narrow intervals.
    """
    errors = _runs((b.first, b.target - b.Y @ theta) for b in blocks)
    longest, total = max(len(e) for e in errors), sum(len(e) for e in errors)
    lags = looked_at(total, longest)
    sums = np.zeros((lags + 1, errors[0].shape[1], errors[0].shape[1]))  # Σ e_t e_{t+lag}ᵀ, what was lost first
    if root.any():
        sums += _lost(blocks, root, lags, full)
    if robust:
        e = np.concatenate(errors)
        sigma = np.maximum(1.4826 * np.median(np.abs(e - np.median(e, axis=0)), axis=0), floor)
        errors = [ROBUST.influence(e, sigma) for e in errors]  # outliers count as the loss counts them
    for e in errors:
        for lag in range(min(lags, len(e) - 1) + 1):
            sums[lag] += e[: len(e) - lag].T @ e[lag:]
    return explaining(sums, total, floor, full)


def looked_at(total: int, longest: int) -> int:
    """Lags to look at, of so many rows in runs of at most so many."""
    return int(min(LAGS, max(total // 32, 4), longest - 1))  # few where logs are short: each costs certainty


def explaining(sums: Array, total: int, floor: Array, full: bool = False) -> Noise:
    """Noise of ``total`` rows from Σ e_t e_{t+lag}ᵀ of their residuals, (lags + 1, C, C)."""
    covariance = sums[0] / total
    W = np.linalg.inv(np.linalg.cholesky((covariance if full else np.diag(np.diag(covariance))) + np.diag(floor**2)))
    white = np.einsum("ij,ljk,ik->li", W, sums, W)
    lags = len(sums) - 1
    taper = np.clip(2 * (1 - np.arange(lags + 1) / (lags + 1)), 0, 1)  # flat top: full weight on half of the lags
    return Noise(W, np.asarray(white / np.maximum(white[0], 1e-300) * taper[:, None]))


def _lost(blocks: Iterable[Block], root: Array, lags: int, full: bool) -> Array:
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
            if high <= low:  # a run shorter than the lag
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
    """Blocks of one segment joined."""
    runs: list[list[Array]] = []
    for first, values in parts:
        if first or not runs:
            runs.append([])
        runs[-1].append(values)
    return [np.concatenate(run) for run in runs]
