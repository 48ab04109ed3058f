"""By how much torques come after the motion they belong to, joint by joint, and whether that changes through the log.

At the right delay d what the equations leave unexplained has nothing to do with the torques' rate of change,
``(1 − P) τ(t + d) ⟂ τ̇(t + d)``, P the projection on all columns of the rows. Gauss–Newton finds it with a delay and a
drift of each joint as unknowns. Friction lags as well: it is a spring before it slips, so where a joint turns round dry
friction turns over late. Columns of such springs beside the usual friction keep that from being taken for a delay.
What the joints disagree by counts as uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from steelyard.check.friction import more_friction
from steelyard.check.torque_balance import TorqueBalance, basis, long_run
from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.spatial import Array

REACH, STEP = 0.2, 0.04  # s: delays are looked for this far, at first on this grid
BEYOND = 0.7  # a delay past the reach must leave less than this share of what no delay leaves
TOLERATED = 0.005  # s: a delay, or its change through the log, that is more than this for sure is a fault …
CLEAR = 2.0  # … where it is also more than so many times its ±
SURE = 1.96  # standard deviations: the ± that is printed
LEAST = 4.0  # s of rows that a delay can be told from
ROUNDS, SETTLED = 8, 1e-6  # Gauss–Newton: at most so many rounds, or until no delay moves by more s
WIDE, WIDE_DRIFT = 0.05, 0.01  # s and s/s: a joint that says nothing stays this close to the others


@dataclass(frozen=True)
class Delay:
    """By how much torque comes after motion."""

    seconds: float  # in the middle of the log
    std: float
    drift: float  # s/s: by how much the delay grows every second
    drift_std: float
    duration: float  # s, of what was looked at
    joints: dict[str, tuple[float, float]]  # joint → its delay and the standard deviation of that, s
    beyond: bool = False  # the delay is ``seconds`` or more: past the reach

    @property
    def change(self) -> tuple[float, float]:
        """By how much the delay grows through the log, and its ±, s."""
        return self.drift * self.duration, SURE * self.drift_std * self.duration

    def __str__(self) -> str:
        if self.beyond:
            return f"{1e3 * self.seconds:.0f} ms or more"
        change, sure = self.change
        return (
            f"{1e3 * self.seconds:.1f} ± {1e3 * SURE * self.std:.1f} ms, "
            f"and {1e3 * change:.1f} ± {1e3 * sure:.1f} ms more at the end than at the start"
        )

    def as_json(self) -> dict[str, Any]:
        """For ``--json``: s, and s/s for the drift."""
        joints = {j: {"seconds": d, "std": s} for j, (d, s) in self.joints.items()}
        numbers = {k: getattr(self, k) for k in ("seconds", "std", "drift", "drift_std", "beyond")}
        return {**numbers, "joints": joints}


def delay_findings(log: Log, found: Delay, given: float = 0.0) -> list[Finding]:
    """A delay, or a change of it, that is more than tolerated for sure; ``given``: what was taken back already, s."""
    where = f"{log.source}, {'tau' if log.names('tau') else 'current'}"
    word = "after" if found.seconds > 0 else "before"
    size = 1e3 * abs(found.seconds)
    if found.beyond:
        what = f"comes {size:.0f} ms or more {word} the motion it belongs to"
        return [Finding("todo", where, what, "Bring torques and positions to one clock")]
    change, sure = found.change
    if abs(change) > max(TOLERATED + sure, CLEAR * sure):
        first, last = (1e3 * (found.seconds + half * change) for half in (-0.5, 0.5))
        what = (
            f"comes {first:.0f} ms after the motion at the start of the log and {last:.0f} ms at its end "
            f"({1e3 * change:.0f} ± {1e3 * sure:.0f} ms more): the clocks run apart"
        )
        return [
            Finding(
                "todo", where, what, f"Stamp torques and positions by one clock: the drift is {found.drift:.2g} s/s"
            )
        ]
    sure = SURE * found.std
    if abs(found.seconds) > max(TOLERATED + sure, CLEAR * sure):
        what = f"comes {size:.0f} ± {1e3 * sure:.0f} ms {word} the motion it belongs to"
        return [
            Finding(
                "todo", where, what, f"Take it back with --delay {found.seconds + given:.3f}, or correct the stamps"
            )
        ]
    return []


class _Solution(NamedTuple):
    delay: Array  # (J,) s
    drift: Array  # (J,) s/s
    delay_cov: Array  # (J, J); inf on the diagonal of joints that say nothing
    drift_cov: Array  # (J, J)


def find_delay(balance: TorqueBalance) -> Delay | None:
    """Delay of torque against motion; None where the log cannot tell."""
    inner = _inner(balance)
    if np.sum(inner) * float(np.median(np.diff(balance.time))) < LEAST:
        return None
    duration = float(balance.pieces[-1].segment.time[-1] - balance.pieces[0].segment.time[0])
    start, beyond = _start(balance, inner)
    if beyond:
        return Delay(start, 0.0, 0.0, 0.0, duration, {}, beyond=True)
    found = _solve(balance, inner, start)
    told = np.isfinite(np.diag(found.delay_cov))
    if not told.any():
        return None
    seconds, std = _common(found.delay[told], found.delay_cov[np.ix_(told, told)])
    drift, drift_std = _common(found.drift[told], found.drift_cov[np.ix_(told, told)])
    each = zip(balance.robot.joints, found.delay, np.diag(found.delay_cov), told, strict=True)
    joints = {j: (float(d), float(np.sqrt(v))) for j, d, v, k in each if k}
    return Delay(seconds, std, drift, drift_std, duration, joints)


def _inner(balance: TorqueBalance) -> Array:
    """(T,) rows whose torques stay within their piece when they are moved as far as the reach."""
    kept = []
    for p in balance.pieces:
        t = p.segment.time
        margin = REACH + (len(p.taps) // 2) / p.segment.rate
        kept.append((t[p.centres] > t[0] + margin) & (t[p.centres] < t[-1] - margin))
    return np.concatenate(kept)


class _DelayPart:
    """Rows that share their parameters, and the joints whose torques are in them."""

    def __init__(self, balance: TorqueBalance, rows: list[int], joints: list[int], columns: Array, keep: Array):
        """``columns`` (T, C, n) of these rows; ``keep`` (T,) times that count."""
        self.rows, self.joints = rows, joints
        self.keep = np.repeat(keep[:, None], len(rows), axis=1)
        self.columns, self.other = columns, balance.other[:, rows]
        total = self.other + balance.measured[:, rows][:, :, joints].sum(axis=2)
        self.weigh(np.sqrt(np.mean(total**2, axis=0)))

    def weigh(self, scale: Array) -> None:
        """Divide the rows by these sizes (C,)."""
        self.scale = np.where(scale > 0, scale, 1.0)
        self.weight = self.keep / self.scale
        self.basis = basis((self.columns * self.weight[:, :, None]).reshape(-1, self.columns.shape[2]))

    def left(self, values: Array) -> Array:
        """(T·C, …) what the columns do not explain of values (T, C, …)."""
        weight = self.weight.reshape(*self.weight.shape, *[1] * (values.ndim - 2))
        flat = (values * weight).reshape(self.weight.size, -1)
        return np.asarray(flat - self.basis @ (self.basis.T @ flat))

    def residual(self, shares: Array) -> Array:
        """(T·C,) of torques whose shares (T, C, J) of all rows these are."""
        return self.left(self.other + shares[:, self.rows][:, :, self.joints].sum(axis=2))[:, 0]


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


def _start(balance: TorqueBalance, inner: Array) -> tuple[float, bool]:
    """The delay on a coarse grid that leaves least unexplained; and whether it is past the grid."""
    J = len(balance.robot.joints)
    parts = _parts(balance, inner)
    grid = np.arange(-REACH, REACH + STEP / 2, STEP)
    costs = np.zeros(len(grid))
    for k, d in enumerate(grid):
        shares = balance.shifted(np.full(J, d), np.zeros(J), 0.0)
        costs[k] = sum(np.sum(part.residual(shares) ** 2) for part in parts)
    best = int(np.argmin(costs))
    edge = best in (0, len(grid) - 1)
    return float(grid[best]), edge and bool(costs[best] < BEYOND * costs[len(grid) // 2])


def _solve(balance: TorqueBalance, keep: Array, start: float) -> _Solution:
    """Gauss–Newton on every part, from ``start``; ``keep`` (T,) times that count."""
    J = len(balance.robot.joints)
    middle = float((balance.time[0] + balance.time[-1]) / 2)
    lever = (balance.time - middle)[:, None, None]
    delay, drift = np.full(J, start), np.zeros(J)
    delay_cov, drift_cov = np.diag(np.full(J, np.inf)), np.diag(np.full(J, np.inf))
    parts = _parts(balance, keep)
    for turn in range(ROUNDS):
        shares, slopes = (balance.shifted(delay, drift, middle, order) for order in (0, 1))
        moved = 0.0
        for part in parts:
            r = part.residual(shares)
            if turn == 0:  # from now on each row counts by its own noise
                part.weigh(part.scale * np.sqrt(np.mean(r.reshape(part.keep.shape) ** 2, axis=0)))
                r = part.residual(shares)
            mine = slopes[:, part.rows][:, :, part.joints]
            P = part.left(np.concatenate([mine, lever * mine], axis=2))
            count = np.sum(part.keep) - part.basis.shape[1]
            noise = max(long_run(r.reshape(part.keep.shape)) / max(count, 1), 1e-30)
            k = len(part.joints)
            pull = np.repeat([noise / WIDE**2, noise / WIDE_DRIFT**2], k)
            away = np.concatenate([delay[part.joints] - start, drift[part.joints]])
            inverse = np.linalg.inv(P.T @ P + np.diag(pull))
            change = -inverse @ (P.T @ r + pull * away)
            delay[part.joints] += change[:k]
            drift[part.joints] += change[k:]
            moved = max(moved, float(np.max(np.abs(change[:k]))))
            covariance = noise * inverse
            delay_cov[np.ix_(part.joints, part.joints)] = covariance[:k, :k]
            drift_cov[np.ix_(part.joints, part.joints)] = covariance[k:, k:]
        if moved < SETTLED:
            break
    for j in np.flatnonzero(np.abs(delay) > REACH):
        delay_cov[j, j] = np.inf
    return _Solution(delay, drift, delay_cov, drift_cov)


def _common(values: Array, covariance: Array) -> tuple[float, float]:
    """What several joints say together, and its standard deviation.

    Where they disagree by more than their covariance explains, each has a deviation of its own, N(0, w²); w by the
    largest restricted likelihood.
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
    few = stdtrit(len(values) - 1, 0.975) / SURE if len(values) > 1 else 1.0  # their scatter is known from a few only
    return best[1], float(few * best[2])
