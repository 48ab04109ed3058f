"""Timing of a log: sampling rate, gaps, bursts of samples, and the frequency band of the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.log.log import QUATERNION, Log
from steelyard.spatial import Array, unwrap_quaternions

GAP = 4.0  # a step of more than this many median steps splits the log
NEAR_STAMPS = 0.25  # of the median step: samples closer than this are taken for one
MOVES = 0.05  # rad or m: joints that travel less are ignored in the band of the motion
NOISE = 20.0  # times the level of the highest frequencies: spectral lines above it are motion


def log_rate(log: Log) -> float:
    """Return the sampling rate in Hz, from the median step."""
    rate = float(1 / np.median(np.diff(log.time)))
    return round(rate, 6) or rate  # stamps in nanoseconds would be rounded to 0


def gaps(log: Log) -> Array:
    """Return the rows after which the log has a gap."""
    steps = np.diff(log.time)
    return np.flatnonzero(steps > GAP * np.median(steps))


def merge_near_stamps(log: Log) -> tuple[Log, int]:
    """Average samples whose stamps nearly coincide; returns the log and the number of samples removed.

    A logger that was delayed writes the samples it missed in one burst. A spline through two distant values a short
    time apart would have a velocity that the robot never had.
    """
    least = NEAR_STAMPS * float(np.median(np.diff(log.time)))
    if np.min(np.diff(log.time)) >= least:
        return log, 0
    first = [0]
    for k, t in enumerate(log.time):
        if t - log.time[first[-1]] >= least:
            first.append(k)
    return average_groups(log, np.array(first)), len(log) - len(first)


def average_groups(log: Log, first: Array) -> Log:
    """Average the samples from each index of ``first`` up to the next."""
    sizes = np.diff([*first, len(log)])
    columns = dict(log.columns)
    if log.has(*QUATERNION):  # q and −q are one orientation, but their mean is none
        quaternion = np.column_stack([columns[name] for name in QUATERNION])
        columns |= zip(QUATERNION, unwrap_quaternions(quaternion).T, strict=True)
    columns = {name: np.add.reduceat(values, first) / sizes for name, values in columns.items()}
    time = np.add.reduceat(log.time - log.time[0], first) / sizes + log.time[0]
    return replace(log, time=time, columns=columns)


def motion_band(log: Log) -> float:
    """Return the frequency in Hz below which 99 % of every moving joint's velocity power lies.

    No filter may cut below it. Noise and quantisation of encoders are excluded: their spectrum is flat, and in a
    velocity they dominate.
    """
    log, rate = merge_near_stamps(log)[0], log_rate(log)
    edges = np.concatenate([[0], gaps(log) + 1, [len(log)]])
    longest = int(np.argmax(np.diff(edges)))
    part = slice(int(edges[longest]), int(edges[longest + 1]))
    time = log.time[part]
    grid = np.arange(time[0], time[-1], 1 / rate)
    if len(grid) < 16:
        return 0.0
    highest = 0.0
    frequency = np.fft.rfftfreq(len(grid), 1 / rate)
    for joint in log.names("q"):
        q = np.interp(grid, time, log.columns[f"q.{joint}"][part])
        if np.ptp(q) < MOVES:
            continue
        lines = np.abs(np.fft.rfft((q - q.mean()) * np.hanning(len(q)))) ** 2
        lines[lines < NOISE * np.median(lines[2 * len(lines) // 3 :])] = 0
        power = np.cumsum(frequency**2 * lines)
        highest = max(highest, float(frequency[np.searchsorted(power, 0.99 * power[-1])]))
    return highest
