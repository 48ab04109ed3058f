"""Decimation for plots: every bin keeps the extremes of every channel, so that peaks stay."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.spatial import Array

GAP = 10.0  # a step in time longer than this many median steps is a gap


def break_at_gaps(time: Array, channels: Array) -> tuple[Array, Array]:
    """Insert a NaN sample into every gap in time, so that no line crosses it; channels (T, C)."""
    steps = np.diff(time)
    if not len(steps):
        return time, channels
    gaps = np.flatnonzero(steps > GAP * np.median(steps))
    return (
        np.insert(time, gaps + 1, time[gaps] + steps[gaps] / 2),
        np.insert(channels, gaps + 1, np.nan, axis=0),
    )


def keep(channels: Array, limit: int) -> npt.NDArray[np.intp]:
    """Indices of at most ``limit`` samples of channels (T, C).

    The record is divided into equal bins. Of each, the minimum and the maximum of every channel are kept and one NaN,
    if any, so that gaps still break the line. The first and the last sample are always kept.
    """
    samples, count = channels.shape
    if samples <= limit:
        return np.arange(samples)
    bins = max(1, (limit - 2) // (2 * count + 1))
    width = -(-samples // bins)
    padded = np.full((bins * width, count), np.nan)
    padded[:samples] = channels
    cube = padded.reshape(bins, width, count)
    missing = np.isnan(cube)
    low = np.where(missing, np.inf, cube).argmin(axis=1)
    high = np.where(missing, -np.inf, cube).argmax(axis=1)
    gap = missing.any(axis=2).argmax(axis=1)[:, None]  # the bin's start where it has none: one extra point
    start = width * np.arange(bins)[:, None]
    chosen = (start + np.concatenate([low, high, gap], axis=1)).ravel()
    return np.unique(np.concatenate([[0], chosen[chosen < samples], [samples - 1]]))
