"""Rows: the equations of motion at every sample, linear in the parameters, ``Y θ = target``.

Four kinds. ``joint``: joint torques. ``base``: the six equations of a floating base alone, which need no torque
(Ayusawa 33). ``full``: both. ``contact-free``: full rows with the feet's unknown forces projected out. Components of
wrenches that are not measured are projected out of rows of any kind. A floating base is written with g = 0, v = 0,
pose = identity and the *proper* acceleration of the base: the equations of motion are the same in any freely falling
frame, so neither position nor velocity of the base is needed.

Force–torque sensors inside the robot add their own rows to each kind, one a measured component
(``robot/ft_sensor.py``).

Both sides pass the same symmetric low-pass and are then decimated to four times its cut-off.

Long logs (``COMPILED_FROM``) get their rows from compiled kernels (``kernels/``), short ones and robots that the
kernels do not cover from Pinocchio: the same numbers to rounding. Loading the kernels takes about a second, as long as
Pinocchio takes for a log of that length; the choice depends on the robot and the number of samples alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steelyard import inertia
from steelyard.equations.columns import law
from steelyard.equations.coupled_motors import PREFIX
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.filters import lowpass
from steelyard.equations.missing import Missing
from steelyard.equations.segment import Segment
from steelyard.equations.unknown_forces import Foot, FreeRows
from steelyard.errors import Finding, UsageError
from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.equations.setup import Setup

BASE_ROWS = ("base.fx", "base.fy", "base.fz", "base.mx", "base.my", "base.mz")
COMPILED_FROM = 150_000  # samples times degrees of freedom
CHUNK_BYTES = 48e6  # of rows in memory at a time


@dataclass(frozen=True)
class Block:
    """Rows of consecutive samples."""

    time: Array  # (T,) s
    Y: Array  # (T, C, n)
    target: Array  # (T, C) N, N·m
    first: bool  # whether it begins a run: no rows before it belong to the same segment
    log: int = 0  # which of the training logs


class Rows:
    """All rows of some segments, computed block by block in bounded memory; may be iterated again."""

    def __init__(
        self, setup: Setup, segments: Sequence[Segment], free: FreeRows | None = None, samples: int | None = None
    ):
        """``free``: coordinates of contact-free rows; ``samples``: number of all samples to come (``Setup.rows``)."""
        self.setup, self.segments = setup, list(segments)
        self.robot, self.columns, self.equations = setup.robot, setup.columns, setup.equations
        self.feet, self.filter = setup.unknown, setup.filter
        robot, columns = setup.robot, setup.columns
        self._ratios = {motor.joint: motor.vector(robot.joints) for motor in columns.motors}
        self.samples = sum(len(s.time) for s in self.segments) if samples is None else samples
        self.tree = robot.tree if self.samples * robot.model.nv >= COMPILED_FROM else None
        lead = 6 if robot.floating else 0
        everything = BASE_ROWS[:lead] + robot.joints + robot.readings
        self.free = free
        self._computed = len(everything)  # equations that are computed, taken or not
        self._take: slice | list[int]
        match self.equations:
            case "joint":
                self._take = slice(lead, len(everything))
            case "base":
                self._take = [*range(lead), *range(lead + len(robot.joints), len(everything))]
                if not robot.readings:
                    self._take, self.tree = slice(lead), self.tree and self.tree.base_alone()
                    self._computed = lead if self.tree and not columns.joint_terms else self._computed
            case "full" | "contact-free":
                self._take = slice(len(everything))
        self.names = tuple(np.array(everything)[self._take].tolist())
        if self.feet:
            self.free = self.free or FreeRows.choose(self._some_jacobians(), 0 if self.equations == "joint" else lead)
            taken, self.names = self.names, tuple(self.names[i] for i in self.free.coordinates)
            if not self.names:
                raise UsageError(_nothing_left(self.feet, self.free.rank, len(taken)))

    def __iter__(self) -> Iterator[Block]:
        for segment in self.segments:
            yield from self.at(segment, self.centres(segment))

    @property
    def correlated(self) -> bool:
        """Whether noise is shared between equations: of a base's wrench, and where forces are projected out."""
        return self.free is not None or self.equations == "base"

    def unfiltered(self, segment: Segment) -> Rows:
        """The same rows of one segment at every sample, not filtered."""
        return self.setup.unfiltered().rows([segment], like=self)

    def taps(self, segment: Segment) -> Array:
        """Taps of the low-pass of both sides of the equations."""
        if self.filter is None:
            return np.ones(1)
        assert self.filter.cutoff is not None
        return lowpass(segment.rate, self.filter.cutoff)

    def wide_taps(self, segment: Segment) -> Array:
        """Taps of the low-pass of predictions that are compared with unfiltered measurements."""
        if self.filter is None or self.filter.predicted is None:
            return self.taps(segment)
        return lowpass(segment.rate, self.filter.predicted)

    @property
    def reach(self) -> float:
        """Half the length of the low-pass, s: a row depends on samples this far to either side."""
        return max(len(self.taps(segment)) // 2 / segment.rate for segment in self.segments)

    def stride(self, rate: float) -> int:
        """Samples from one row to the next."""
        if self.filter is None or self.filter.cutoff is None or self.filter.cutoff >= 0.5 * rate:
            return 1
        return max(1, round(rate / (4 * self.filter.cutoff)))

    def centres(self, segment: Segment) -> Array:
        """Indices of the samples of a segment at which there are rows."""
        half = len(self.taps(segment)) // 2
        return np.arange(half, len(segment.time) - half, self.stride(segment.rate))

    def at(self, segment: Segment, centres: Array) -> Iterator[Block]:
        """Rows at samples of a segment that are a stride apart."""
        taps, step = self.taps(segment), self.stride(segment.rate)
        half = len(taps) // 2
        equations = self._computed if self._computed == 6 else self.robot.model.nv
        width = (6 + equations) * (self.columns.n + 10 * self.robot.model.njoints)
        chunk = max(
            1, 2 * half // step, int((CHUNK_BYTES / (8 * width) - 2 * half) / step)
        )  # overlaps stay the smaller part
        before = None  # basis of contact-free rows, where the next chunk has to continue it
        for k in range(0, len(centres), chunk):
            mine = centres[k : k + chunk]
            start = int(mine[0]) - half
            Y, target, turned = self.raw(segment.part(slice(start, int(mine[-1]) + half + 1)), before)
            before = turned.get(int(mine[-1]) + step - half - start - 1)
            if len(taps) > 1:
                Y = _decimate(taps, step, Y.reshape(len(Y), -1)).reshape(len(mine), *Y.shape[1:])
                target = _decimate(taps, step, target)
            yield Block(segment.time[mine], Y, target, first=k == 0)

    def forces(self, segment: Segment, theta: Array) -> tuple[Array, Array, Array]:
        """Times, Yθ and the measured side of the rows of a segment; base rows alone need no Y for that."""
        bare = not (self.columns.joint_terms or self.columns.offsets or any(b.carrier for b in self.robot.bodies))
        if self.filter is None and self.free is None and self.tree is not None and self._computed == 6 and bare:
            dynamics = Dynamics.of(self.robot, segment, self.tree)
            return segment.time, dynamics.needed(self.columns.bodies, theta), dynamics.applied()[:, self._take]
        parts = [(b.time, b.Y @ theta, b.target) for b in self.at(segment, self.centres(segment))]
        time, needed, measured = (np.concatenate(x) for x in zip(*parts, strict=True))
        return time, needed, measured

    def raw(self, segment: Segment, before: Array | None) -> tuple[Array, Array, dict[int, Array]]:
        """Unfiltered rows at every sample of a segment, and the bases that are rotated (``FreeRows.basis``)."""
        dynamics = Dynamics.of(self.robot, segment, self.tree)
        Y = np.zeros((len(segment.time), self._computed, self.columns.n))
        dynamics.fill(Y, self.columns.bodies)
        for body in self.robot.bodies:
            if body.carrier is not None:  # a load, in its carrier's axes
                at = self.columns.body(body.name)
                Y[:, :, at] = Y[:, :, at] @ inertia.transform_matrix(body.carrier.placement) if segment.loaded else 0.0
        lead = 6 if self.robot.floating else 0
        for k, (joint, term) in enumerate(self.columns.joint_terms, 10 * len(self.columns.bodies)):
            if term.startswith(PREFIX):
                r = self._ratios[joint]
                force = law(term.removeprefix(PREFIX), segment.sliding @ r, segment.a @ r)
                Y[:, lead : lead + len(r), k] = np.outer(force, r)
            else:
                j = self.robot.joints.index(joint)
                Y[:, lead + j, k] = _joint_column(segment, joint, j, term)
        for k, (sensor, component) in zip(self.columns.offset_index, self.columns.offsets, strict=True):
            Y[:, lead + len(self.robot.joints) + self.robot.readings.index(f"{sensor}.{component}"), k] = 1.0
        target = dynamics.applied()
        if self.free is None:
            return Y[:, self._take], target[:, self._take], {}
        N, turned = dynamics.free_basis(self.free, self.feet, self._take, before)
        Y, target = N @ Y[:, self._take], np.einsum("tkn,tn->tk", N, target[:, self._take])
        return Y, target, dict(enumerate(N[turned:], turned))

    def _some_jacobians(self, most: int = 200) -> Array:
        """Jacobians of the unknown forces at samples spread over all segments, to choose coordinates by."""
        jacobians = []
        for segment in self.segments:
            step = max(1, len(segment.time) * len(self.segments) // most)
            part = segment.part(slice(None, None, step))
            jacobians.append(Dynamics(self.robot, part).contact_jacobian(self.feet))
        return np.concatenate(jacobians)[:, :, self._take]


def _decimate(taps: Array, step: int, values: Array) -> Array:
    """(m, …) low-passed values (T, …), every ``step`` samples, where the filter has samples on both sides.

    By products with a few rows of the banded matrix at a time, since nearly all of it is zero.
    """
    count, several = (len(values) - len(taps)) // step + 1, max(1, len(taps) // step)
    band = np.zeros((several, (several - 1) * step + len(taps)))
    for row in range(several):
        band[row, row * step : row * step + len(taps)] = taps
    filtered = np.empty((count, values.shape[1]))
    for k in range(0, count, several):
        rows = min(several, count - k)
        width = (rows - 1) * step + len(taps)
        filtered[k : k + rows] = band[:rows, :width] @ values[k * step : k * step + width]
    return filtered


def _nothing_left(unknown: Sequence[Foot | Missing], rank: int, equations: int) -> Finding:
    """The finding that unknown forces explain any motion."""
    what = f"leaves no equation free of unknown contact forces ({rank} of {equations} are projected out)"
    if parts := [m for m in unknown if isinstance(m, Missing)]:
        where = ", ".join(f"{m.column} without {' '.join(m.names)}" for m in parts)
        fix = "Log more components, or a column of zeros for one that is known to be zero"
        return Finding("no-contact-free-equations", where, what, fix)
    feet = ",".join(f.frame.name for f in unknown if isinstance(f, Foot))
    fix = "Name fewer feet, or write FRAME:point where one is a ball"
    return Finding("no-contact-free-equations", f"feet={feet}", what, fix)


def _joint_column(segment: Segment, joint: str, j: int, term: str) -> Array:
    match term:
        case "offset":
            return np.ones(len(segment.time))
        case "gain":
            return -segment.current[joint]
    return law(term, segment.sliding[:, j], segment.a[:, j])
