"""Both sides of the equations of motion, the measured side split into the contribution of each joint's torque.

Rows are N Y θ = N τ + noise, low-passed alike. N is 1 for joint rows and the contact-free basis of a floating robot.
Since N τ = Σ_j N_j τ_j, a gain or a delay of joint j changes its own share N_j τ_j alone, and never the left-hand side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.equations.columns import FRICTION, Columns
from steelyard.equations.coupled_motors import motor_terms
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.filters import Filter
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.spline import Spline
from steelyard.equations.unknown_forces import Foot, foot
from steelyard.errors import UsageError
from steelyard.log.log import Log
from steelyard.log.timing import MOVES, average_groups, gaps, log_rate
from steelyard.robot.model import Robot
from steelyard.spatial import Array

MOST_SAMPLES = {"fixed": 60_000, "floating": 20_000}  # of a log that are used
MOST_BYTES = 1e8  # of the bases N in memory
CUTOFF, KINEMATICS = 5.0, 10.0  # Hz: lower than for identification, since noise would bias gains and delays
BAND, TIMES = 0.999, 4.0  # … but at least TIMES the band that contains this share of the motion
LEAST_RATE, OVERSAMPLED = 100.0, 10.0  # Hz, and times the motion's cut-off: samples a second that a balance needs
LEAST_ROWS = 40  # two seconds: fewer are not informative
ROUNDING = 1e-12  # of the longest column: columns below are zero but for rounding
LAGS = 8  # of the residuals' autocorrelation: two periods of the cut-off
PIECE = 5.0  # s: length of the pieces of a long log, spread evenly from its start to its end


def slowed(filter: Filter, log: Log) -> Filter:
    """The filter with lower cut-offs, for a torque balance.

    Noise of positions makes noisy columns, whose coefficients least squares attenuates (errors in variables). That
    biases delays by tens of ms, which a low cut-off avoids.
    """
    assert filter.cutoff is not None and filter.kinematics is not None
    motion = max((_band(log, joint) for joint in log.names("q")), default=0.0)
    kinematics = min(filter.kinematics, max(KINEMATICS, TIMES * motion))
    return replace(filter, cutoff=min(filter.cutoff, CUTOFF), kinematics=kinematics)


def thinned(log: Log, filter: Filter) -> tuple[Log, Filter]:
    """Average neighbouring samples where the log is faster than the low cut-offs need, which saves most of the work."""
    assert filter.rate is not None and filter.kinematics is not None
    several = int(filter.rate // max(LEAST_RATE, OVERSAMPLED * filter.kinematics))
    if several < 2:
        return log, filter
    first = np.unique(np.concatenate([np.arange(0, len(log), several), gaps(log) + 1]))
    return average_groups(log, first), replace(filter, rate=filter.rate / several)


def _band(log: Log, joint: str) -> float:
    """Frequency in Hz below which nearly all power of a joint's motion lies; robust to usual noise."""
    rate = log_rate(log)
    q = np.interp(np.arange(log.time[0], log.time[-1], 1 / rate), log.time, log.columns[f"q.{joint}"])
    if np.ptp(q) < MOVES:
        return 0.0
    power = np.cumsum(np.abs(np.fft.rfft((q - q.mean()) * np.hanning(len(q)))) ** 2)
    return float(np.searchsorted(power, BAND * power[-1]) * rate / len(q))


def spread(segments: Sequence[Segment], most: int) -> list[Segment]:
    """All segments where they hold no more than ``most`` samples; else pieces of them, spread evenly."""
    ends = np.cumsum([len(s.time) for s in segments])
    if ends[-1] <= most:
        return list(segments)
    length = min(round(PIECE * segments[0].rate), most // 2)
    pieces = []
    for start in np.linspace(0, ends[-1] - length, most // length).astype(int):
        k = int(np.searchsorted(ends, start, side="right"))
        first = int(start - (ends[k] - len(segments[k].time)))
        pieces.append(segments[k].part(slice(first, first + length)))
    return pieces


@dataclass(frozen=True)
class BalancePiece:
    """A segment of a balance."""

    segment: Segment
    signal: Array  # (T, J) torque, or current where its gain is unknown
    N: Array | None  # (T, C, J) the joints' columns of the basis; None: one row a joint
    taps: Array
    step: int

    @cached_property
    def centres(self) -> Array:
        """(T',) samples that have a row."""
        half = len(self.taps) // 2
        return np.arange(half, len(self.segment.time) - half, self.step)

    @cached_property
    def splines(self) -> list[Spline]:
        """Of each joint's signal, to interpolate it."""
        return [Spline.through(self.segment.time, x) for x in self.signal.T]

    def smooth(self, values: Array) -> Array:
        """Low-passed as the rows are, at their times."""
        half, flat = len(self.taps) // 2, values.reshape(len(values), -1)
        smoothed = [self.taps @ flat[k - half : k + half + 1] for k in self.centres]
        return np.reshape(smoothed, (len(smoothed), *values.shape[1:]))

    def share(self, values: Array) -> Array:
        """(T', C, J) contribution of each joint's signal (T, J) to each row."""
        if self.N is None:
            return self.smooth(values)[:, :, None] * np.eye(values.shape[1])
        return self.smooth(self.N * values[:, None, :])


@dataclass(frozen=True)
class TorqueBalance:
    """Rows of some segments, with each joint's share of the measured side separate."""

    robot: Robot
    columns: Columns  # all bodies, and friction, armature and offset of every joint
    names: tuple[str, ...]  # of the C rows
    pieces: tuple[BalancePiece, ...]
    time: Array  # (T,) s
    Y: Array  # (T, C, n)
    other: Array  # (T, C) measured side without the joint torques

    @property
    def separate(self) -> bool:
        """Whether each row holds the torque of one joint alone."""
        return self.pieces[0].N is None

    @cached_property
    def measured(self) -> Array:
        """(T, C, J) share of each joint's torque."""
        return np.concatenate([p.share(p.signal) for p in self.pieces])

    @cached_property
    def predicted(self) -> Array:
        """(T, C) prediction of the description, without friction."""
        return np.asarray(self.Y[:, :, : 10 * len(self.columns.bodies)] @ self.robot.prior)

    def term(self, joint: str, term: str) -> Array:
        """(T, C) column of a joint's friction, armature or offset."""
        return np.asarray(self.Y[:, :, 10 * len(self.columns.bodies) + self.columns.joint_terms.index((joint, term))])

    def shifted(self, delay: Array, drift: Array, middle: float, order: int = 0) -> Array:
        """Shares (T, C, J) of torques ``delay + drift · (t − middle)`` s later, or of their derivatives."""
        pieces = []
        for p in self.pieces:
            t = p.segment.time[:, None]
            at = np.clip(t + delay + drift * (t - middle), t[0], t[-1])
            pieces.append(p.share(np.column_stack([x(a, order) for x, a in zip(p.splines, at.T, strict=True)])))
        return np.concatenate(pieces)


def balance(setup: Setup, segments: Sequence[Segment]) -> TorqueBalance | None:
    """Make the torque balance of a log; None where no row contains torques and otherwise known quantities.

    Measured wrenches are not used: in ``full`` rows of a robot in contact, the wrenches' frames are projected out.
    """
    robot, equations, filter = setup.robot, setup.equations, setup.filter
    assert filter is not None and filter.cutoff is not None
    feet = [f for f in setup.unknown if isinstance(f, Foot)]
    if not robot.joints or equations == "base" or (robot.floating and any(s.current for s in segments)):
        return None
    if equations == "full" and segments[0].wrench:
        equations, feet = "contact-free", [*feet, *(foot(robot, name) for name in segments[0].wrench)]
    laws, motors = FRICTION["all"], setup.columns.motors
    terms = [(j, law) for j in robot.joints for law in laws] + motor_terms(motors, laws)
    columns = Columns(tuple(b.name for b in robot.bodies), tuple(terms), motors=motors)
    try:
        setup = replace(setup, equations=equations, columns=columns, unknown=tuple(feet))
        rows = setup.rows(segments)
    except UsageError:  # the feet leave no equation
        return None
    lead, J = 6 if robot.floating else 0, len(robot.joints)
    used = J if equations == "joint" and rows.free is None else len(rows.names)
    most = min(MOST_SAMPLES[robot.base], int(MOST_BYTES / (8 * used * (lead + J))) if lead else MOST_SAMPLES["fixed"])
    pieces, blocks = [], []
    for s in spread(segments, most):
        one = setup.rows([s], free=rows.free)
        taps = one.taps(s)
        if len(taps) >= len(s.time):
            continue
        blocks += [(b.time, b.Y[:, :used], b.target[:, :used]) for b in one]
        assert s.tau is not None
        signal = s.tau.copy()
        for joint, current in s.current.items():
            signal[:, robot.joints.index(joint)] = current
        N = None
        if one.free is not None:
            N = one.free.basis(Dynamics(robot, s).contact_jacobian(feet))[0][:, :, lead : lead + J]
        elif lead:
            N = np.broadcast_to(np.eye(used)[:, lead : lead + J], (len(s.time), used, J))
        step = max(1, round(s.rate / (4 * filter.cutoff))) if len(taps) > 1 else 1
        pieces.append(BalancePiece(s, signal, N, taps, step))
    if sum(len(time) for time, _, _ in blocks) < LEAST_ROWS:
        return None
    time, Y, target = (np.concatenate(x) for x in zip(*blocks, strict=True))
    torque = np.concatenate([p.share(p.segment.tau).sum(axis=2) for p in pieces if p.segment.tau is not None])
    return TorqueBalance(robot, columns, rows.names[:used], tuple(pieces), time, Y, target - torque)


def long_run(residuals: Array) -> float:
    """Sum of squares of residuals (T, C), inflated by their autocorrelation (long-run variance)."""
    squares = float(np.sum(residuals**2))
    lagged = sum(float(np.sum(residuals[lag:] * residuals[:-lag])) for lag in range(1, LAGS + 1))
    return max(squares, squares + 2 * lagged)


def basis(A: Array) -> Array:
    """Orthonormal basis of the columns' span, accurate enough for a projection.

    A column that is zero but for rounding (of a parameter that a vertical axis does not excite) is left out.
    """
    scale = np.linalg.norm(A, axis=0)
    A = A / np.where(scale > ROUNDING * scale.max(initial=0.0), scale, np.inf)
    w, V = np.linalg.eigh(A.T @ A)
    kept = w > 1e-10 * w[-1]
    return np.asarray(A @ (V[:, kept] / np.sqrt(w[kept])))


def residual(columns: Array, values: Array) -> Array:
    """Residual of values after regression on columns."""
    Q = basis(columns)
    return np.asarray(values - Q @ (Q.T @ values))


def partial(x: Array, y: Array, others: Array) -> tuple[float, float]:
    """Slope of y on x with other columns projected out, and the share of the remaining y that x explains."""
    if others.size:
        Q = np.linalg.qr(others / np.maximum(np.linalg.norm(others, axis=0), 1e-12))[0]
        x, y = x - Q @ (Q.T @ x), y - Q @ (Q.T @ y)
    xx, yy, xy = float(x @ x), float(y @ y), float(x @ y)
    return (xy / xx, xy * xy / (xx * yy)) if xx > 0 and yy > 0 else (1.0, 0.0)
