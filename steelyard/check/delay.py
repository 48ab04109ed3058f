"""Delay of the torques relative to the motion, joint by joint, and its drift through the log.

At the right delay d the residual of the equations is orthogonal to the torques' rate of change,
``(1 − P) τ(t + d) ⟂ τ̇(t + d)``, P the projection on all columns of the rows. Gauss–Newton solves for a delay and a
drift of each joint. Presliding friction lags as well: it acts as a spring before it slips, so that dry friction changes
sign some distance after a reversal. Columns of such springs beside the usual friction prevent that lag from being taken
for a delay. The disagreement of the joints counts as uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from steelyard.check.friction import more_friction
from steelyard.check.torque_balance import TorqueBalance, basis, long_run
from steelyard.errors import Finding, Severity
from steelyard.log.log import Log
from steelyard.spatial import Array

REACH, STEP = 0.2, 0.04  # s: search range to either side, and spacing of the initial grid
BEYOND = 0.7  # cost at the edge of the range, relative to no delay, below which the delay is taken to lie beyond it
TOLERATED = 0.005  # s: a delay, or its change through the log, that exceeds this and its ± is a fault …
CLEAR = 2.0  # … where it also exceeds this multiple of its ±
REFUSED = 0.05  # s: beyond it the answer is wrong on every robot tried; a smaller one is a doubt, and has a remedy
REMAINING, NO_BETTER = 0.5, 0.9  # squared residual with the delay, of that without: above, a doubt only; no finding
TWO_SIDED_95 = 1.96  # standard deviations: the ± that is printed
LEAST = 4.0  # s of rows that are needed to measure a delay
ROUNDS, CONVERGED = 8, 2e-5  # Gauss–Newton: most iterations, and the step in s at which they end
DELAY_STD, DRIFT_STD = 0.05, 0.01  # s and s/s: prior standard deviations, which keep uninformative joints bounded


@dataclass(frozen=True)
class Delay:
    """Delay of torque relative to motion."""

    seconds: float  # in the middle of the log
    std: float
    drift: float  # s/s: by how much the delay grows every second
    drift_std: float
    duration: float  # s, of the samples used
    joints: dict[str, tuple[float, float]]  # joint → delay and its standard deviation, s
    beyond: bool = False  # the delay is ``seconds`` or more: beyond the search range
    remaining: float = 0.0  # squared residual with the delays, of that without

    @property
    def change(self) -> tuple[float, float]:
        """Growth of the delay through the log, and its ±, s."""
        return self.drift * self.duration, TWO_SIDED_95 * self.drift_std * self.duration

    def __str__(self) -> str:
        if self.beyond:
            return f"{1e3 * self.seconds:.0f} ms or more"
        change, half_width = self.change
        return (
            f"{1e3 * self.seconds:.1f} ± {1e3 * TWO_SIDED_95 * self.std:.1f} ms, "
            f"growing by {1e3 * change:.1f} ± {1e3 * half_width:.1f} ms through the log"
        )

    def as_json(self) -> dict[str, Any]:
        """For ``--json``: s, and s/s for the drift."""
        joints = {j: {"seconds": d, "std": s} for j, (d, s) in self.joints.items()}
        numbers = {k: getattr(self, k) for k in ("seconds", "std", "drift", "drift_std", "beyond")}
        return {**numbers, "joints": joints}


def delay_findings(log: Log, measured: Delay, compensated: float = 0.0) -> list[Finding]:
    """A delay or drift that exceeds the tolerance significantly; ``compensated``: delay already removed, s."""
    where = f"{log.source}, {'tau' if log.names('tau') else 'current'}"
    word = "behind" if measured.seconds > 0 else "ahead of"
    size = 1e3 * abs(measured.seconds)
    if measured.beyond:
        what = f"is {size:.0f} ms or more {word} the motion"
        return [Finding("delay-beyond-range", where, what, "Time-stamp torques and positions by one clock")]
    change, half_width = measured.change
    if abs(change) > max(TOLERATED + half_width, CLEAR * half_width):
        first, last = (1e3 * (measured.seconds + half * change) for half in (-0.5, 0.5))
        what = (
            f"is {first:.0f} ms behind the motion at the start of the log and {last:.0f} ms at its end "
            f"({1e3 * change:.0f} ± {1e3 * half_width:.0f} ms more): the clocks drift apart by {measured.drift:.2g} s/s"
        )
        fix, remedy = "Time-stamp torques and positions by one clock", {"drift": measured.drift}
        return [Finding("clock-drift", where, what, fix, remedy, _severity(change, measured))]
    half_width = TWO_SIDED_95 * measured.std
    if abs(measured.seconds) > max(TOLERATED + half_width, CLEAR * half_width) and measured.remaining < NO_BETTER:
        what = f"is {size:.0f} ± {1e3 * half_width:.0f} ms {word} the motion"
        delay = round(measured.seconds + compensated, 3)
        fix = f"Compensate with delay={delay}, or correct the time stamps"
        severity = _severity(measured.seconds, measured)
        return [Finding("torque-delayed", where, what, fix, {"delay": delay}, severity)]
    return []


def _severity(size: float, measured: Delay) -> Severity:
    return "error" if abs(size) > REFUSED and measured.remaining < REMAINING else "doubt"


class _Solution(NamedTuple):
    delay: Array  # (J,) s
    drift: Array  # (J,) s/s
    delay_cov: Array  # (J, J); infinite on the diagonal of uninformative joints
    drift_cov: Array  # (J, J)


def estimate_delay(balance: TorqueBalance) -> Delay | None:
    """Measure the delay of torque relative to motion; None where the log is not informative."""
    inner = _inner(balance)
    if np.sum(inner) * float(np.median(np.diff(balance.time))) < LEAST:
        return None
    duration = float(balance.pieces[-1].segment.time[-1] - balance.pieces[0].segment.time[0])
    parts = _parts(balance, inner)
    start, beyond = _start(balance, parts)
    if beyond:
        return Delay(start, 0.0, 0.0, 0.0, duration, {}, beyond=True)
    solution = _solve(balance, parts, start)
    measured = np.isfinite(np.diag(solution.delay_cov))
    if not measured.any():
        return None
    both = np.ix_(measured, measured)
    seconds, std = _common(solution.delay[measured], solution.delay_cov[both])
    drift, drift_std = _common(solution.drift[measured], solution.drift_cov[both])
    each = zip(balance.robot.joints, solution.delay, np.diag(solution.delay_cov), measured, strict=True)
    joints = {j: (float(d), float(np.sqrt(v))) for j, d, v, k in each if k}
    remaining = _cost(balance, inner, np.where(measured, solution.delay, 0.0)) / max(_cost(balance, inner), 1e-300)
    return Delay(seconds, std, drift, drift_std, duration, joints, remaining=float(remaining))


def _inner(balance: TorqueBalance) -> Array:
    """(T,) rows whose torques stay within their piece when they are shifted by the whole search range."""
    inside = []
    for p in balance.pieces:
        t = p.segment.time
        margin = REACH + (len(p.taps) // 2) / p.segment.rate
        inside.append((t[p.centres] > t[0] + margin) & (t[p.centres] < t[-1] - margin))
    return np.concatenate(inside)


class _DelayPart:
    """Rows with common parameters, and the joints whose torques they contain."""

    def __init__(self, balance: TorqueBalance, rows: list[int], joints: list[int], columns: Array, keep: Array):
        """``columns`` (T, C, n) of these rows; ``keep`` (T,) samples that are used."""
        self.rows, self.joints = rows, joints
        self.keep = np.repeat(keep[:, None], len(rows), axis=1)
        self.columns, self.other = columns, balance.other[:, rows]
        total = self.other + balance.measured[:, rows][:, :, joints].sum(axis=2)
        self.set_scale(np.sqrt(np.mean(total**2, axis=0)))

    def set_scale(self, scale: Array) -> None:
        """Divide the rows by their scale (C,), and project the columns out."""
        self.scale = np.where(scale > 0, scale, 1.0)
        self.weight = self.keep / self.scale
        self.basis = basis((self.columns * self.weight[:, :, None]).reshape(-1, self.columns.shape[2]))

    def project_out(self, values: Array) -> Array:
        """(T·C, …) the part of values (T, C, …) outside the span of the columns, scaled."""
        weight = self.weight.reshape(*self.weight.shape, *[1] * (values.ndim - 2))
        flat = (values * weight).reshape(self.weight.size, -1)
        return np.asarray(flat - self.basis @ (self.basis.T @ flat))

    def residual(self, shares: Array) -> Array:
        """(T·C,) of the rows, from each joint's share (T, C, J) of all rows."""
        return self.project_out(self.other + shares[:, self.rows][:, :, self.joints].sum(axis=2))[:, 0]


def _parts(balance: TorqueBalance, keep: Array) -> list[_DelayPart]:
    bodies = 10 * len(balance.columns.bodies)
    J = range(len(balance.robot.joints))
    if not balance.separate:
        return [_DelayPart(balance, list(range(len(balance.names))), list(J), balance.Y, keep)]
    more = more_friction(balance)
    parts = []
    for j in J:
        mine = [k for k in range(balance.columns.n) if k < bodies or np.any(balance.Y[:, j, k])]
        columns = np.concatenate([balance.Y[:, j, mine], more[:, j]], axis=1)[:, None, :]
        parts.append(_DelayPart(balance, [j], [j], columns, keep))
    return parts


def _cost(balance: TorqueBalance, inner: Array, delays: Array | None = None) -> float:
    """Squared residual with delays (J,) of the joints; default none."""
    J = len(balance.robot.joints)
    shares = balance.shifted(np.zeros(J) if delays is None else delays, np.zeros(J), 0.0)
    return float(sum(np.sum(part.residual(shares) ** 2) for part in _parts(balance, inner)))


def _start(balance: TorqueBalance, parts: list[_DelayPart]) -> tuple[float, bool]:
    """The delay of least cost on a coarse grid, and whether the optimum lies beyond the grid."""
    J = len(balance.robot.joints)
    grid = np.arange(-REACH, REACH + STEP / 2, STEP)
    costs = np.zeros(len(grid))
    for k, d in enumerate(grid):
        shares = balance.shifted(np.full(J, d), np.zeros(J), 0.0)
        costs[k] = sum(np.sum(part.residual(shares) ** 2) for part in parts)
    best = int(np.argmin(costs))
    edge = best in (0, len(grid) - 1)
    return float(grid[best]), edge and bool(costs[best] < BEYOND * costs[len(grid) // 2])


def _solve(balance: TorqueBalance, parts: list[_DelayPart], start: float) -> _Solution:
    """Solve every part by Gauss–Newton, from ``start``."""
    J = len(balance.robot.joints)
    middle = float((balance.time[0] + balance.time[-1]) / 2)
    lever = (balance.time - middle)[:, None, None]
    delay, drift = np.full(J, start), np.zeros(J)
    delay_cov, drift_cov = np.diag(np.full(J, np.inf)), np.diag(np.full(J, np.inf))
    for iteration in range(ROUNDS):
        shares, slopes = (balance.shifted(delay, drift, middle, order) for order in (0, 1))
        moved = 0.0
        for part in parts:
            r = part.residual(shares)
            if iteration == 0:  # from now on each row is scaled by its own noise
                part.set_scale(part.scale * np.sqrt(np.mean(r.reshape(part.keep.shape) ** 2, axis=0)))
                r = part.residual(shares)
            mine = slopes[:, part.rows][:, :, part.joints]
            P = part.project_out(np.concatenate([mine, lever * mine], axis=2))
            count = np.sum(part.keep) - part.basis.shape[1]
            noise = max(long_run(r.reshape(part.keep.shape)) / max(count, 1), 1e-30)
            k = len(part.joints)
            ridge = np.repeat([noise / DELAY_STD**2, noise / DRIFT_STD**2], k)
            offset = np.concatenate([delay[part.joints] - start, drift[part.joints]])
            inverse = np.linalg.inv(P.T @ P + np.diag(ridge))
            change = -inverse @ (P.T @ r + ridge * offset)
            delay[part.joints] += change[:k]
            drift[part.joints] += change[k:]
            moved = max(moved, float(np.max(np.abs(change[:k]))))
            covariance = noise * inverse
            delay_cov[np.ix_(part.joints, part.joints)] = covariance[:k, :k]
            drift_cov[np.ix_(part.joints, part.joints)] = covariance[k:, k:]
        if moved < CONVERGED:
            break
    for j in np.flatnonzero(np.abs(delay) > REACH):
        delay_cov[j, j] = np.inf
    return _Solution(delay, drift, delay_cov, drift_cov)


def _common(values: Array, covariance: Array) -> tuple[float, float]:
    """Weighted mean of several joints, and its standard deviation.

    Where they disagree by more than their covariance explains, each has a deviation of its own, N(0, w²); w by the
    restricted maximum likelihood.
    """
    one = np.ones(len(values))
    best = (-np.inf, 0.0, 0.0)
    least = float(np.sqrt(np.min(np.diag(covariance))))
    for w in (0.0, *np.geomspace(1e-3 * least, max(1e3 * least, 10 * float(np.ptp(values))), 61)):
        V = np.linalg.inv(covariance + w**2 * np.eye(len(values)))
        weight = float(one @ V @ one)
        mean = float(one @ V @ values) / weight
        e = values - mean
        likelihood = 0.5 * (np.linalg.slogdet(V)[1] - float(e @ V @ e) - np.log(weight))
        best = max(best, (float(likelihood), mean, weight**-0.5))
    few = stdtrit(len(values) - 1, 0.975) / TWO_SIDED_95 if len(values) > 1 else 1.0  # few joints
    return best[1], float(few * best[2])
