"""What blocks of the logs show about a fit: what it leaves unexplained, and whether its parts agree.

Every block is predicted by a fit that it has no part in, and by the description with joint terms fitted alike, whether
logs are held out or not (``inference/log_blocks.py``). Residuals are searched for structure
(``inference/residual_structure.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from steelyard.equations.columns import COULOMB_SPEED
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.identify.evidence import Evidence, HeldOut
from steelyard.identify.fit import Fit
from steelyard.identify.scoring import row_sizes
from steelyard.inference.log_blocks import BLOCKS, LEAST, BlockSums, Partition, jackknife
from steelyard.inference.residual_structure import Structure, residual_structure
from steelyard.inference.uncertainty import BaseParameter
from steelyard.spatial import Array

SHORTEST = 6.0  # times half the length of the low-pass: two thirds of a shorter block would depend on its neighbours
EXACT = 1e-20  # relative squared error that is rounding


def gather_evidence(
    setup: Setup, fit: Fit, base: Sequence[BaseParameter], names: Sequence[str], logs: Sequence[Sequence[Segment]]
) -> Evidence:
    """Leave out each block of the logs in turn.

    Args:
        setup: Robot and equations.
        fit: Of all blocks, with its rows.
        base: Base parameters of the fit.
        names: Of the equations.
        logs: Segments of each training log, in the order of the rows.
    """
    if fit.blocks is None:
        return Evidence()
    spans = [(float(segments[0].time[0]), float(segments[-1].time[-1])) for segments in logs]
    length = sum(stop - start for start, stop in spans)
    partition = Partition.of(spans, min(BLOCKS, int(length / (SHORTEST * _reach(setup)))))
    sums = BlockSums.of(partition, fit.blocks, fit.noise.whitener, fit.prior.scale)
    used = sums.used
    if len(used) < LEAST:
        return Evidence()
    bodies = np.array([kind == "body" for kind in setup.columns.kinds])
    rest = np.setdiff1d(fit.free, np.flatnonzero(bodies))
    held = np.where(np.isin(np.arange(setup.columns.n), fit.free), fit.prior.mean, fit.theta)
    shared = fit.prior.information + fit.side
    estimates, _ = sums.without_each(shared, fit.theta, fit.free)
    descriptions, _ = sums.without_each(fit.prior.information, held, rest)
    rows = _predict(setup, fit, partition, tuple(names), (descriptions, estimates))
    seconds = float(np.mean([np.diff(e)[0] for e in partition.edges]))
    if rows.weighted.shape[1] < LEAST:
        return Evidence()
    return Evidence(
        len(used),
        seconds,
        dict(zip(rows.names, rows.unexplained.tolist(), strict=True)),
        _structure(setup, rows, logs),
        rows.held_out(),
        rows.pooled,
        rows.probability,
        _spread(fit, base, estimates, used),
        rows.scale,
    )


@dataclass(frozen=True)
class _Predictions:
    """All rows with their residuals, and of each block the squared errors of held-out predictions."""

    names: tuple[str, ...]
    sizes: Array  # (C,) rms that errors of each equation are compared with
    time: Array  # (T,) s
    log: Array  # (T,)
    block: Array  # (T,)
    residual: Array  # (T, C)
    predicted: Array  # (T, C)
    by_blocks: Array  # (2, B, C) mean squares by description and estimate
    weighted: Array  # (2, B) the same of whitened rows, over that of the measurement
    scale: float | None

    @property
    def unexplained(self) -> Array:
        """(C,) rms residual over size."""
        return np.asarray(np.sqrt(np.mean(self.residual**2, axis=0)) / self.sizes)

    def held_out(self) -> dict[str, HeldOut]:
        """Errors of each equation."""
        errors = np.sqrt(self.by_blocks.mean(axis=1)) / self.sizes
        return {name: HeldOut(float(d), float(e)) for name, d, e in zip(self.names, *errors, strict=True)}

    @property
    def pooled(self) -> HeldOut:
        """Errors of whitened rows."""
        return HeldOut(*(float(np.sqrt(x)) for x in self.weighted.mean(axis=1)))

    @property
    def probability(self) -> float:
        """Of a mean difference as large as that of the blocks, were description and estimate alike (paired t-test)."""
        before, after = np.maximum(self.weighted, EXACT)
        d = np.log(after / before)
        error = float(np.std(d, ddof=1)) / np.sqrt(len(d))
        return float(stdtr(len(d) - 1, -d.mean() / max(error, 1e-12)))


def _predict(
    setup: Setup, fit: Fit, partition: Partition, names: tuple[str, ...], left_out: tuple[Array, Array]
) -> _Predictions:
    assert fit.blocks is not None
    W = fit.noise.whitener
    times, logs, numbers, residuals, predictions, targets = ([] for _ in range(6))
    count = partition.count
    squares, weighted, samples = np.zeros((2, count, len(W))), np.zeros((2, count)), np.zeros(count)
    bodies = np.array([kind == "body" for kind in setup.columns.kinds])
    products = np.zeros(2)
    described = np.where(bodies, fit.prior.mean, 0.0)
    for b, rows in partition.split(fit.blocks):
        predicted = rows.Y @ fit.theta
        times.append(rows.time)
        logs.append(np.full(len(rows.time), rows.log))
        numbers.append(np.full(len(rows.time), b))
        residuals.append(rows.target - predicted)
        predictions.append(predicted)
        targets.append(rows.target)
        one, other = (rows.Y @ theta @ W.T for theta in (np.where(bodies, fit.theta, 0.0), described))
        products += [float(np.sum(one * other)), float(np.sum(other**2))]
        inside = partition.inside(rows.log, rows.time, _reach(setup))
        samples[b] += inside.sum()
        for k, theta in enumerate(thetas[b] for thetas in left_out):
            e = rows.target[inside] - rows.Y[inside] @ theta
            squares[k, b] += np.sum(e**2, axis=0)
            weighted[k, b] += np.sum((e @ W.T) ** 2)
    keep = samples > 0
    tau = np.concatenate(targets)
    sizes = row_sizes(names, np.sqrt(np.mean(tau**2, axis=0)))
    power = float(np.mean(np.sum((tau @ W.T) ** 2, axis=1)))
    return _Predictions(
        names,
        sizes,
        np.concatenate(times),
        np.concatenate(logs),
        np.concatenate(numbers),
        np.concatenate(residuals),
        np.concatenate(predictions),
        squares[:, keep] / samples[keep, None],
        weighted[:, keep] / samples[keep] / power,
        float(products[0] / products[1]) if products[1] > 0 else None,
    )


def _reach(setup: Setup) -> float:
    """Half the length of the low-pass of rows, s."""
    assert setup.filter is not None and setup.filter.cutoff is not None
    return 1.5 / setup.filter.cutoff


def _structure(setup: Setup, rows: _Predictions, logs: Sequence[Sequence[Segment]]) -> dict[str, Structure]:
    """Of each equation."""
    states = [_states(segments, rows.time[rows.log == k]) for k, segments in enumerate(logs)]
    q, v, tilt = (np.concatenate([s[i] for s in states]) for i in range(3))
    joints = list(setup.robot.joints)
    posture = np.column_stack([np.sin(q), np.cos(q), np.sin(q[:, 1:] + q[:, :-1]), np.cos(q[:, 1:] + q[:, :-1]), tilt])
    time = np.concatenate([_trend(rows.time[rows.log == k]) for k in range(len(logs))])
    result = {}
    for c, name in enumerate(rows.names):
        own = [joints.index(name)] if name in joints else list(range(len(joints)))
        slide = v[:, own] / (np.abs(v[:, own]) + COULOMB_SPEED)
        load = np.abs(rows.predicted[:, c : c + 1])
        rate = np.concatenate([np.gradient(rows.predicted[rows.log == k, c]) for k in range(len(logs))])
        features = {
            "speed": np.column_stack([v, slide, np.abs(v[:, own]) * v[:, own], np.sqrt(np.abs(v[:, own])) * slide]),
            "load": load * slide,
            "posture": posture - posture.mean(axis=0),
            "time": time,
            "delay": rate[:, None],
        }
        result[name] = residual_structure(features, rows.residual[:, c], rows.block)
    return result


def _states(segments: Sequence[Segment], time: Array) -> tuple[Array, Array, Array]:
    """Positions and velocities of joints, and up in base axes (T, 0 or 3), at the times of rows."""
    stamps = np.concatenate([s.time for s in segments])
    at = np.clip(np.searchsorted(stamps, time - 1e-9), 0, len(stamps) - 1)
    q, v = (np.concatenate([getattr(s, name) for s in segments])[at] for name in ("q", "v"))
    ups = [s.up for s in segments]
    up = np.concatenate([u for u in ups if u is not None])[at] if all(u is not None for u in ups) else q[:, :0]
    return q, v, up


def _trend(time: Array) -> Array:
    """(T, 3) polynomials of time through a log."""
    x = 2 * (time - time[0]) / max(float(time[-1] - time[0]), 1e-12) - 1
    return np.column_stack([x, x**2 - 1 / 3, x**3 - 0.6 * x])


def _spread(fit: Fit, base: Sequence[BaseParameter], estimates: Array, used: Array) -> float | None:
    """Root mean square over body parameters of source data: deviation between blocks over standard deviation."""
    names = list(fit.information.names)
    index = {name: k for k, name in enumerate(names)}
    covariance = jackknife(estimates, used)
    ratios = []
    for p in base:
        if p.kind == "body" and p.source == "data" and p.std > 0:
            z = np.zeros(len(names))
            z[[index[name] for name in p.terms]] = list(p.terms.values())
            ratios.append(float(z @ covariance @ z) / p.std**2)
    return float(np.sqrt(np.mean(ratios))) if ratios else None
