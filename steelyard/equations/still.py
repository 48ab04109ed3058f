"""Joints that stand still: noise leaves their positions, velocities and accelerations before regressors are computed.

Of a joint that stands still a log shows noise. Least squares takes regressors as exact, so noise in them shrinks
whatever they multiply: with a true acceleration a and noise of standard deviation s, an inertia to a²/(a² + s²) of
itself, and to nothing where a = 0. A joint often stands still for part of a log only (joint after joint is moved), so
this is decided by windows of ``WINDOW`` seconds on the grid of the log. Where a joint is slow,

* its position is held at a window's mean, or follows straight lines between the windows' means where it creeps; its
  velocity is that of these lines, and its acceleration zero. Each of the three is replaced only where what it shows
  beyond straight lines is noise;
* friction keeps a velocity that is above the noise, and that of a joint which creeps: it has its dry friction.

A joint that sags by a few mrad while it is held is held: what that shows of gravity is what a little viscous friction
would show, and an error in it would decide between the two.

A log that is read in pieces gives what the whole gives: windows are at fixed multiples from the first sample, a sample
depends on ``REACH`` windows to either side, and levels are passed on from piece to piece (``Standing``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from steelyard.equations.columns import COULOMB_SPEED
from steelyard.robot.model import Robot
from steelyard.spatial import Array

WINDOW = 0.5  # s: longer than the filters, shorter than the pauses of experiments that move joint after joint
SHORTEST = 8  # samples of a window, for fourth differences
RUN = 3  # slow windows in sequence: a reversal is shorter
NEAR = 2  # windows to either side in which noise is alike: a single one gives it to a quarter
REACH = RUN + NEAR + 4  # windows: of a run, of noise, of the levels that are passed on, and one that is cut
PASSED = 2  # levels that are passed on to the next piece: straight lines begin at the one before
SHARE = 0.01  # of a joint's speed limit: slower is slow
SLOWEST = 0.012  # rad/s or m/s: the most that this may be, as some descriptions have limits of 1000 rad/s
HIDDEN = 2.0  # times its noise: below this rms velocity a joint is slow, whatever its limit,
CLEAN = 50.0  # times its noise: a joint that is faster is measured well, however slow; logs without noise are exact
ROUNDING = 1e-9  # rad/s or m/s, of a joint that is at rest in a log without noise
FASTEST = 0.05  # rad/s or m/s: but not above this, as an estimate of noise may be wrong
NOISE = 3.0  # times its noise: below this rms a difference is noise; what is above loses at most a tenth, 1/(1 + 3²)
CREEP_SPEED = 0.5 * COULOMB_SPEED  # slow joints that are faster creep; others are held: a third of dry friction is left
SAG = 5e-3  # rad or m: by which a position may change while it is held: a few mrad under load
UNEQUAL = 0.75  # most samples that may differ from the one before where an encoder's steps are seen
FOURTH = 4  # order of the differences that noise is measured by: those of motion are smaller


@dataclass(frozen=True)
class Channel:
    """One joint's positions, velocities or accelerations as they were logged."""

    time: Array  # (N,) s, stamps at which it was logged
    logged: Array  # (N,) at those stamps


@dataclass(frozen=True)
class Grid:
    """The even grid of a segment, and the filter of its kinematics."""

    rate: float  # Hz
    first: int  # index of the first filtered sample, from the run's first sample
    origin: float  # s, time of the run's first sample
    taps: Array


@dataclass(frozen=True)
class Standing:
    """Joints of a segment that stand still."""

    joints: frozenset[int] = frozenset()  # throughout, by index
    levels: Mapping[int, Array] = field(default_factory=dict)  # window → (J,) positions, nan: none

    def before(self, sample: int, rate: float) -> Standing:
        """The levels of the last windows before a sample, counted from the run's first one."""
        last = sample // window_samples(rate)
        return Standing(self.joints, {k: x for k, x in self.levels.items() if last - PASSED <= k < last})


@dataclass(frozen=True)
class Settled:
    """Joint motion without the noise of joints that stand still, (T, J) each."""

    q: Array
    v: Array
    a: Array
    slide: Array  # velocity of friction
    standing: Standing


def window_samples(rate: float) -> int:
    """Samples of a window."""
    return max(SHORTEST, round(WINDOW * rate))


def reach_samples(rate: float) -> int:
    """Samples to either side that a sample's motion depends on."""
    return REACH * window_samples(rate)


def settle(
    robot: Robot,
    grid: Grid,
    motion: tuple[Array, Array, Array],
    channels: Mapping[str, Channel],
    earlier: Standing | None = None,
) -> Settled:
    """Remove the noise of joints that stand still.

    Args:
        robot: The robot.
        grid: Of these samples.
        motion: q, v, a (T, J), filtered; returned as they are where every joint moves.
        channels: ``q.JOINT``, ``v.JOINT`` and ``a.JOINT`` as far as they are logged.
        earlier: Of the same run's samples before these, which overlap with them.
    """
    windows = Windows.of(grid, len(motion[0]))
    before = (*motion, motion[1])
    out = list(before)
    held = np.full((len(windows.index), len(robot.joints)), np.nan)
    known = _known(windows, earlier, len(robot.joints))
    still = []
    for j, name in enumerate(robot.joints):
        q, v, a = (x[:, j] for x in motion)
        own = {kind: channels[c] for kind in "qva" if (c := f"{kind}.{name}") in channels}
        noise = Noise.of(windows, grid, {"q": q, "v": v, "a": a}, own)
        limit = robot.description.joints[name].velocity
        bound = min(SHARE * limit, SLOWEST) if limit > 0 else SLOWEST
        speed = windows.rms(v)
        hidden = np.minimum(HIDDEN * noise.v, FASTEST)
        slow = windows.runs(speed <= np.maximum(hidden, np.minimum(bound, CLEAN * noise.v)) + ROUNDING)
        if not slow.any():
            continue
        if slow.all():
            still.append(j)
        means = np.where(slow, windows.mean(q), np.nan)
        held[:, j] = windows.follow(means, grid.rate, known[:, j])
        drift, rise = windows.lines(q, means, grid.rate)
        line, slope = windows.lines(q, held[:, j], grid.rate)
        drifts, sluggish = windows.rms(v - rise) < NOISE * noise.v, speed < COULOMB_SPEED
        changes = (
            (line, windows.rms(q - drift) < NOISE * noise.q + noise.step),
            (slope, drifts | sluggish),
            (np.zeros(len(a)), (windows.rms(a) < NOISE * noise.a) | sluggish),
            (slope, drifts),
        )
        for k, (value, noisy) in enumerate(changes):
            share = windows.weights(slow & noisy)
            if share.any():
                out[k] = out[k].copy() if out[k] is before[k] else out[k]
                out[k][:, j] = share * value + (1 - share) * before[k][:, j]
    levels = {int(k): own for k, own in zip(windows.index, held, strict=True)}
    return Settled(out[0], out[1], out[2], out[3], Standing(frozenset(still), levels))


@dataclass(frozen=True)
class Windows:
    """Windows of a segment; those that its ends cut belong to their neighbours."""

    edges: Array  # (W + 1,) indices of samples
    index: Array  # (W,) of each window, from the run's first sample

    @classmethod
    def of(cls, grid: Grid, samples: int) -> Windows:
        """The windows of a number of filtered samples."""
        n = window_samples(grid.rate)
        first, last = -(-grid.first // n), (grid.first + samples) // n  # whole windows
        if last - first < 2:
            return cls(np.array([0, samples]), np.array([first]))
        inner = np.arange(first + 1, last) * n - grid.first
        return cls(np.concatenate([[0], inner, [samples]]), np.arange(first, last))

    @property
    def centres(self) -> Array:
        """(W,) indices of samples, with fractions."""
        return np.asarray((self.edges[:-1] + self.edges[1:] - 1) / 2)

    def mean(self, x: Array) -> Array:
        """(W,) mean of each window."""
        return np.asarray(np.add.reduceat(x, self.edges[:-1]) / np.diff(self.edges))

    def rms(self, x: Array) -> Array:
        """(W,) root mean square of each window."""
        return np.sqrt(self.mean(x**2))

    def near(self, x: Array) -> Array:
        """(W,) root mean square of values (W,) over ``NEAR`` windows to either side."""
        sums = [np.convolve(y, np.ones(2 * NEAR + 1))[NEAR : NEAR + len(x)] for y in (x**2, np.ones(len(x)))]
        return np.sqrt(sums[0] / sums[1])

    def runs(self, flags: Array) -> Array:
        """The flags (W,) that are part of ``RUN`` in sequence, or of all."""
        out, least = np.zeros(len(flags), bool), min(RUN, len(flags))
        for low, high in _stretches(flags):
            out[low:high] = high - low >= least
        return out

    def weights(self, flags: Array) -> Array:
        """(T,) 1 within flagged windows and 0 in others; half a window from one to the other."""
        f = flags.astype(float)
        at = np.concatenate([self.edges[:1], np.ravel([self.centres, self.edges[1:] - 0.5], "F")])
        inner = np.minimum(f, np.append(f[1:], f[-1:]))
        values = np.concatenate([f[:1], np.ravel([f, inner], "F")])
        return np.asarray(np.interp(np.arange(self.edges[-1]), at, values))

    def follow(self, means: Array, rate: float, known: Array) -> Array:
        """(W,) positions that windows hold, nan where there is no mean.

        A level is the mean where a joint creeps; elsewhere it stays, until a mean differs from it by ``SAG``.

        Args:
            means: (W,) positions, nan where the joint is not slow.
            rate: Hz.
            known: (W,) levels of earlier samples, nan elsewhere.
        """
        out = np.full(len(means), np.nan)
        for low, high in _stretches(np.isfinite(means)):
            speed = rate * np.gradient(means[low:high], self.centres[low:high]) if high - low > 1 else np.zeros(1)
            level = means[low]
            for k in range(low, high):
                if np.isfinite(known[k]):
                    level = known[k]
                elif abs(speed[k - low]) > CREEP_SPEED or abs(means[k] - level) > SAG:
                    level = means[k]
                out[k] = level
        return out

    def lines(self, q: Array, levels: Array, rate: float) -> tuple[Array, Array]:
        """Straight lines (T,) between levels at the windows' centres, and their slopes, 1/s; q and 0 elsewhere."""
        line, slope = q.copy(), np.zeros(len(q))
        for low, high in _stretches(np.isfinite(levels)):
            own, t = slice(self.edges[low], self.edges[high]), np.arange(self.edges[low], self.edges[high])
            c, level = self.centres[low:high], levels[low:high]
            if len(level) == 1:
                line[own] = level[0]
                continue
            rise = np.diff(level) / np.diff(c)
            k = np.clip(np.searchsorted(c, t) - 1, 0, len(rise) - 1)
            line[own], slope[own] = level[k] + rise[k] * (t - c[k]), rate * rise[k]
        return line, slope


@dataclass(frozen=True)
class Noise:
    """Noise of one joint's filtered motion in each window, (W,) standard deviations."""

    q: Array
    v: Array
    a: Array
    step: Array  # of the encoder, 0 where none is seen

    @classmethod
    def of(cls, windows: Windows, grid: Grid, motion: Mapping[str, Array], logged: Mapping[str, Channel]) -> Noise:
        """From fourth differences, in which motion is small, and from an encoder's steps.

        Differences are of filtered samples, over what the filter leaves of those of white noise: noise that the filter
        removes does not count. ``motion`` and ``logged`` are by kind, q, v and a.
        """
        stamps = grid.origin + (grid.first + windows.edges - 0.5) / grid.rate
        white, step = dict[str, Array](), dict[str, Array]()
        for kind, channel in logged.items():
            differences = np.pad(np.diff(motion[kind], FOURTH), FOURTH // 2, mode="edge")
            white[kind] = windows.near(windows.rms(differences)) / _gain(grid, FOURTH, _difference)
            step[kind] = _steps(channel, stamps)
        sigma = []
        for order in range(3):
            source = next(k for k in "qva"[order::-1] if k in white)
            gain = _gain(grid, order - "qva".index(source))
            sigma.append(gain * np.maximum(white[source], step[source] / np.sqrt(12)))
        return cls(sigma[0], sigma[1], sigma[2], step["q"])


def _known(windows: Windows, earlier: Standing | None, joints: int) -> Array:
    """(W, J) levels of earlier samples, nan elsewhere."""
    out = np.full((len(windows.index), joints), np.nan)
    for at, k in enumerate(windows.index.tolist()):
        if earlier is not None and k in earlier.levels:
            out[at] = earlier.levels[k]
    return out


def _stretches(flags: Array) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _derivative(f: Array, rate: float) -> Array:
    return np.asarray(2 * np.pi * f)


def _difference(f: Array, rate: float) -> Array:
    return np.asarray(2 * np.sin(np.pi * f / rate))


def _gain(grid: Grid, order: int, once: Callable[[Array, float], Array] = _derivative) -> float:
    """Standard deviation of a derivative, or difference, of white noise, filtered, over that of the noise."""
    points = 4 * len(grid.taps) + 64
    f = np.fft.rfftfreq(points, 1 / grid.rate)
    return float(np.sqrt(np.mean((np.abs(np.fft.rfft(grid.taps, points)) * once(f, grid.rate) ** order) ** 2)))


def _steps(channel: Channel, stamps: Array) -> Array:
    """(W,) least step of an encoder between two samples of a window or of its neighbours; 0 where none is seen."""
    apart = np.append(np.abs(np.diff(channel.logged, prepend=channel.logged[:1])), np.nan)
    edges = np.minimum(np.searchsorted(channel.time, stamps), len(apart) - 1)
    moves = np.add.reduceat((apart > 0).astype(float), edges)[:-1]
    least = np.minimum.reduceat(np.where(apart > 0, apart, np.inf), edges)[:-1]
    seen = (moves > 0) & (moves <= UNEQUAL * np.diff(edges))
    near = np.pad(np.where(seen, least, 0.0), 1)
    return np.asarray(np.maximum.reduce([near[:-2], near[1:-1], near[2:]]))
