"""Rows: the equations of motion at every sample, linear in the parameters, ``Y θ = target``.

Four kinds. ``joint``: joint torques. ``base``: the six equations of a floating base alone, which need no torque
(Ayusawa 33). ``full``: both. ``contact-free``: full rows with the feet's unknown forces projected out. What a wrench
does not measure is projected out of rows of any kind. A floating base
is written with g = 0, v = 0, pose = identity and the *proper* acceleration of the base: the laws of motion look the
same in any freely falling frame, so neither position nor velocity of the base is needed.

Force–torque sensors inside the robot add their own rows to each kind, one a measured component (``sensor.py``).

Both sides pass the same symmetric low-pass and are then decimated to four times its cut-off.

Long logs (``COMPILED_FROM``) get their rows from compiled kernels (``kernels/``), short ones and robots that the
kernels do not cover from Pinocchio: the same numbers to rounding. Loading the kernels takes about a second, as long as
Pinocchio takes for such a log; which way is gone depends on the robot and the number of samples alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from steelyard import inertia
from steelyard.equations.coupled_motors import PREFIX, Motor
from steelyard.equations.missing import Missing
from steelyard.equations.prepare import Filter, Segment, lowpass
from steelyard.equations.unknown_forces import Foot, FreeRows, jacobian
from steelyard.errors import Finding, UsageError
from steelyard.kernels.tree import Tree
from steelyard.robot.model import Robot

Array = np.ndarray
Equations = Literal["joint", "base", "full", "contact-free"]

BASE_ROWS = ("base.fx", "base.fy", "base.fz", "base.mx", "base.my", "base.mz")
FRICTION = {
    "none": (),
    "viscous": ("viscous",),
    "coulomb": ("viscous", "coulomb"),
    "armature": ("viscous", "coulomb", "armature"),
    "all": ("viscous", "coulomb", "armature", "offset"),
}
COULOMB_SPEED = 0.004  # rad/s or m/s: dry friction is v / (|v| + this), half of it there
COMPILED_FROM = 150_000  # samples times degrees of freedom
CHUNK_BYTES = 48e6  # of rows in memory at a time


@dataclass(frozen=True)
class Columns:
    """What each entry of θ is: ten parameters a body, then what belongs to joints, then sensors' offsets."""

    bodies: tuple[str, ...]
    joint_terms: tuple[tuple[str, str], ...] = ()  # (joint, viscous | coulomb | armature | offset | gain | motor.…)
    offsets: tuple[tuple[str, str], ...] = ()  # (sensor, fx … mz)
    motors: tuple[Motor, ...] = ()  # that the terms motor.viscous, motor.coulomb, motor.armature belong to

    @property
    def n(self) -> int:
        """Length of θ."""
        return 10 * len(self.bodies) + len(self.joint_terms) + len(self.offsets)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name an entry: ``BODY.m`` … ``BODY.Izz``, ``JOINT.viscous`` …, ``SENSOR.offset.fx`` …"""
        return (
            tuple(f"{b}.{p}" for b in self.bodies for p in inertia.NAMES)
            + tuple(f"{joint}.{term}" for joint, term in self.joint_terms)
            + tuple(f"{sensor}.offset.{component}" for sensor, component in self.offsets)
        )

    @property
    def signed(self) -> Array:
        """(n − 10·bodies,) which entries after the bodies' may be negative: offsets and relative gains."""
        return np.array([t in ("offset", "gain") for _, t in self.joint_terms] + [True] * len(self.offsets), bool)

    @property
    def offset_index(self) -> range:
        """Where the sensors' offsets are."""
        return range(self.n - len(self.offsets), self.n)

    def owner(self, k: int) -> str:
        """The body, joint or sensor that entry k belongs to."""
        bodies = 10 * len(self.bodies)
        if k < bodies:
            return self.bodies[k // 10]
        return (*self.joint_terms, *self.offsets)[k - bodies][0]

    def body(self, name: str) -> slice:
        """Where a body's ten parameters are."""
        k = self.bodies.index(name)
        return slice(10 * k, 10 * k + 10)


@dataclass(frozen=True)
class Block:
    """Rows of consecutive samples."""

    time: Array  # (T,) s
    Y: Array  # (T, C, n)
    target: Array  # (T, C) N, N·m
    first: bool  # nothing before it belongs to the same segment


class Rows:
    """All rows of some segments, made block by block in bounded memory; may be iterated again."""

    def __init__(
        self,
        robot: Robot,
        segments: Sequence[Segment],
        columns: Columns,
        equations: Equations,
        feet: Sequence[Foot | Missing] = (),
        filter: Filter | None = None,
        free: FreeRows | None = None,
        samples: int | None = None,
    ):
        """``feet``: unknown forces, projected out. ``filter=None`` gives unfiltered rows at every sample.

        ``samples``: of how many rows will be made, where that is not of the segments: of several logs together.
        """
        self.robot, self.segments, self.columns = robot, list(segments), columns
        self.equations, self.feet, self.filter = equations, tuple(feet), filter
        self._ratios = {motor.joint: motor.vector(robot.joints) for motor in columns.motors}
        self.samples = sum(len(s.time) for s in self.segments) if samples is None else samples
        self.tree = robot.tree if self.samples * robot.model.nv >= COMPILED_FROM else None
        lead = 6 if robot.floating else 0
        everything = BASE_ROWS[:lead] + robot.joints + robot.readings
        self.free = free
        self._made = len(everything)  # equations that are written down, kept or not
        self._take: slice | list[int]
        match equations:
            case "joint":
                self._take = slice(lead, len(everything))
            case "base":
                self._take = [*range(lead), *range(lead + len(robot.joints), len(everything))]
                if not robot.readings:
                    self._take, self.tree = slice(lead), self.tree and self.tree.base_alone()
                    self._made = lead if self.tree and not columns.joint_terms else self._made
            case "full" | "contact-free":
                self._take = slice(len(everything))
        self.names = tuple(np.array(everything)[self._take].tolist())
        if self.feet:
            self.free = free or FreeRows.choose(self._some_jacobians(), 0 if equations == "joint" else lead)
            taken, self.names = self.names, tuple(self.names[i] for i in self.free.coordinates)
            if not self.names:
                raise UsageError(_nothing_left(self.feet, self.free.rank, len(taken)))

    def __iter__(self) -> Iterator[Block]:
        for segment in self.segments:
            yield from self.at(segment, self.centres(segment))

    def unfiltered(self, segment: Segment) -> Rows:
        """The same rows of one segment at every sample, not filtered."""
        return Rows(
            self.robot, [segment], self.columns, self.equations, self.feet, None, self.free, samples=self.samples
        )

    def taps(self, segment: Segment) -> Array:
        """The low-pass that both sides of the equations pass."""
        if self.filter is None:
            return np.ones(1)
        assert self.filter.cutoff is not None
        return lowpass(segment.rate, self.filter.cutoff)

    def wide_taps(self, segment: Segment) -> Array:
        """The low-pass of predictions that are held against what was measured, not filtered."""
        if self.filter is None or self.filter.predicted is None:
            return self.taps(segment)
        return lowpass(segment.rate, self.filter.predicted)

    @property
    def reach(self) -> float:
        """Seconds to either side of a row whose samples it sees."""
        return max(len(self.taps(segment)) // 2 / segment.rate for segment in self.segments)

    def stride(self, rate: float) -> int:
        """Samples from one row to the next."""
        if self.filter is None or self.filter.cutoff is None or self.filter.cutoff >= 0.5 * rate:
            return 1
        return max(1, round(rate / (4 * self.filter.cutoff)))

    def centres(self, segment: Segment) -> Array:
        """The samples of a segment that rows stand at."""
        half = len(self.taps(segment)) // 2
        return np.arange(half, len(segment.time) - half, self.stride(segment.rate))

    def at(self, segment: Segment, centres: Array) -> Iterator[Block]:
        """Rows at samples of a segment that are a stride apart."""
        taps, step = self.taps(segment), self.stride(segment.rate)
        half = len(taps) // 2
        made = self._made if self._made == 6 else self.robot.model.nv
        width = (6 + made) * (self.columns.n + 10 * self.robot.model.njoints)
        chunk = max(
            1, 2 * half // step, int((CHUNK_BYTES / (8 * width) - 2 * half) / step)
        )  # overlaps stay the smaller part
        before = None  # basis of contact-free rows, where the next chunk has to go on from it
        for k in range(0, len(centres), chunk):
            mine = centres[k : k + chunk]
            start = int(mine[0]) - half
            Y, target, turned = self.raw(segment.part(slice(start, int(mine[-1]) + half + 1)), before)
            before = turned.get(int(mine[-1]) + step - half - start - 1)
            if len(taps) > 1:
                window = np.zeros((len(mine), len(Y)))
                for row, centre in enumerate(mine):
                    window[row, centre - half - start : centre + half + 1 - start] = taps
                Y = (window @ Y.reshape(len(Y), -1)).reshape(len(mine), *Y.shape[1:])
                target = window @ target
            yield Block(segment.time[mine], Y, target, first=k == 0)

    def forces(self, segment: Segment, theta: Array) -> tuple[Array, Array, Array]:
        """Times, Yθ and the measured side of the rows of a segment; of base rows alone Y need not be made for it."""
        bare = not (self.columns.joint_terms or self.columns.offsets or any(b.carrier for b in self.robot.bodies))
        if self.filter is None and self.free is None and self.tree is not None and self._made == 6 and bare:
            dynamics = Dynamics.of(self.robot, segment, self.tree)
            return segment.time, dynamics.needed(self.columns.bodies, theta), dynamics.applied()[:, self._take]
        parts = [(b.time, b.Y @ theta, b.target) for b in self.at(segment, self.centres(segment))]
        time, needed, measured = (np.concatenate(x) for x in zip(*parts, strict=True))
        return time, needed, measured

    def raw(self, segment: Segment, before: Array | None) -> tuple[Array, Array, dict[int, Array]]:
        """Unfiltered rows at every sample of a segment, and the bases of those that are turned (``FreeRows.basis``)."""
        dynamics = Dynamics.of(self.robot, segment, self.tree)
        Y = np.zeros((len(segment.time), self._made, self.columns.n))
        dynamics.fill(Y, self.columns.bodies)
        for body in self.robot.bodies:
            if body.carrier is not None:  # a load, in its carrier's axes
                at = self.columns.body(body.name)
                Y[:, :, at] = Y[:, :, at] @ inertia.transform_matrix(body.carrier.placement) if segment.loaded else 0.0
        lead = 6 if self.robot.floating else 0
        for k, (joint, term) in enumerate(self.columns.joint_terms, 10 * len(self.columns.bodies)):
            if term.startswith(PREFIX):
                r = self._ratios[joint]
                force = law(term.removeprefix(PREFIX), segment.v @ r, segment.a @ r)
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
        """Jacobians of the unknown forces at samples spread over all segments, enough to choose coordinates by."""
        found = []
        for segment in self.segments:
            step = max(1, len(segment.time) * len(self.segments) // most)
            part = segment.part(slice(None, None, step))
            found.append(Dynamics(self.robot, part).contact_jacobian(self.feet))
        return np.concatenate(found)[:, :, self._take]


def _nothing_left(unknown: Sequence[Foot | Missing], rank: int, equations: int) -> Finding:
    """Unknown forces that explain any motion."""
    what = f"leave no equation free of contact forces ({rank} of {equations} taken)"
    if parts := [m for m in unknown if isinstance(m, Missing)]:
        where = ", ".join(f"{m.column} without {' '.join(m.names)}" for m in parts)
        return Finding(where, what, "Log more components, or a column of zeros for one that is known to be zero")
    held = ", ".join(f.frame.name for f in unknown if isinstance(f, Foot))
    return Finding(f"feet {held}", what, "Name fewer feet, or say FRAME:point where one is a ball")


def _joint_column(segment: Segment, joint: str, j: int, term: str) -> Array:
    match term:
        case "offset":
            return np.ones(len(segment.time))
        case "gain":
            return -segment.current[joint]
    return law(term, segment.v[:, j], segment.a[:, j])


def law(term: str, v: Array, a: Array) -> Array:
    """Force of a unit of friction or inertia at speed v and acceleration a."""
    match term:
        case "viscous":
            return v
        case "coulomb":
            return np.asarray(v / (np.abs(v) + COULOMB_SPEED))
        case "armature":
            return a
    raise ValueError(term)


class Dynamics:
    """Pinocchio's view of a segment: one model state a sample."""

    def __init__(self, robot: Robot, segment: Segment):
        self.robot, self.segment = robot, segment
        T, v, a = len(segment.time), segment.v, segment.a
        if robot.floating:
            assert segment.gyro is not None and segment.alpha is not None and segment.acc is not None
            v = np.hstack([np.zeros((T, 3)), segment.gyro, v])
            a = np.hstack([segment.acc, segment.alpha, a])
        self.nv = v.shape[1] + len(robot.readings)
        self.states = robot.positions(segment.q), robot.motion(v), robot.motion(a)
        self.model = robot.model
        if robot.floating:
            self.model = robot.model.copy()
            self.model.gravity.linear = np.zeros(3)
        self.data = self.model.createData()

    @staticmethod
    def of(robot: Robot, segment: Segment, tree: Tree | None) -> Dynamics:
        """By compiled kernels where there is a tree for them."""
        if tree is None:
            return Dynamics(robot, segment)
        from steelyard.equations.compiled_dynamics import CompiledDynamics

        return CompiledDynamics(robot, segment, tree)

    def fill(self, Y: Array, bodies: Sequence[str]) -> None:
        """Write the regressor of these bodies to the first columns of Y (T, nv, n), which are zero."""
        Y[:, :, : 10 * len(bodies)] = self.regressor(bodies)

    def free_basis(
        self, free: FreeRows, feet: Sequence[Foot | Missing], take: slice | list[int], before: Array | None
    ) -> tuple[Array, int]:
        """``FreeRows.basis`` of the equations that are taken."""
        return free.basis(self.contact_jacobian(feet)[:, :, take], before)

    def needed(self, bodies: Sequence[str], theta: Array) -> Array:
        """(T, 6) wrench on a floating base that these bodies, of parameters θ, need to move as they do."""
        return np.asarray(self.regressor(bodies)[:, :6] @ theta)

    def regressor(self, bodies: Sequence[str]) -> Array:
        """(T, nv, 10·bodies) regressor of the inertial parameters."""
        import pinocchio as pin

        index = np.concatenate([10 * (self.robot.body(b).joint - 1) + np.arange(10) for b in bodies])
        out = np.empty((len(self.segment.time), self.model.nv, len(index)))
        for t, (q, v, a) in enumerate(zip(*self.states, strict=True)):
            out[t] = np.atleast_2d(pin.computeJointTorqueRegressor(self.model, self.data, q, v, a))[:, index]
        return out if self.robot.coupling is None else self.robot.coupling.T @ out

    def applied(self) -> Array:
        """(T, nv) generalised forces that were measured: torques, readings, and the world's wrenches where known."""
        import pinocchio as pin

        T, J, readings = len(self.segment.time), len(self.robot.joints), len(self.robot.readings)
        target = np.zeros((T, self.nv))
        if self.segment.tau is not None:
            target[:, self.nv - readings - J : self.nv - readings] = self.segment.tau
        if self.segment.sensor:
            target[:, self.nv - readings :] = np.hstack([self.segment.sensor[s.name] for s in self.robot.sensors])
        for plate in self.segment.plates.values():  # on the base's equations alone
            for t in range(T):
                target[t, :6] += pin.SE3(plate.pose[t]).act(pin.Force(plate.wrench[t])).vector
        return target + self.pushed() if self.segment.wrench else target

    def pushed(self) -> Array:
        """(T, nv) generalised forces of the measured wrenches."""
        import pinocchio as pin

        out = np.zeros((len(self.segment.time), self.model.nv))
        frames = {name: self.robot.frame(name) for name in self.segment.wrench}
        for t in range(len(out)):
            pin.computeJointJacobians(self.model, self.data, self.states[0][t])
            for name, frame in frames.items():
                at = self.data.oMi[frame.joint] * pin.SE3(frame.placement)
                wrench = at.act(pin.Force(self.segment.wrench[name][t])).vector  # about the origin, base axes
                J = pin.getJointJacobian(self.model, self.data, frame.joint, pin.ReferenceFrame.WORLD)
                out[t] += J.T @ wrench
        return out if self.robot.coupling is None else np.asarray(out @ self.robot.coupling)

    def contact_jacobian(self, feet: Sequence[Foot | Missing]) -> Array:
        """(T, Σ forces, nv) Jacobian of the unknown forces."""
        import pinocchio as pin

        up = self.segment.up
        if up is None:  # fixed base: the world's axes are the base's
            g = self.robot.gravity
            up = np.broadcast_to(-g / max(float(np.linalg.norm(g)), 1e-12), (len(self.segment.time), 3))
        found = []
        for t, q in enumerate(self.states[0]):
            pin.computeJointJacobians(self.model, self.data, q)
            plates = {f"plate.{name}": plate.pose[t] for name, plate in self.segment.plates.items()}
            found.append(jacobian(self.robot, self.data, feet, up[t], plates))
        return np.stack(found)
