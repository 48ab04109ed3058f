"""From a log with true, jittered stamps to evenly spaced, filtered, differentiated samples.

The log is split at gaps (nothing is ever differentiated across one) and resampled to one rate. Kinematics pass a
symmetric low-pass (zero phase, finite support), velocities and accelerations are derivatives of that filtered
signal, and the samples at either end that the filter cannot fill are dropped: there are no edge transients.
Torques and forces stay raw here; rows filter both sides of the equations alike (``regressor.py``). A causal filter
(``causal.py``) takes all channels together instead, forces included, and needs no sample after the present one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import firwin

from steelyard.equations.causal_filter import Inputs, Lowpass
from steelyard.errors import Finding, LogError
from steelyard.log.force_plate import Plate, plate_pose
from steelyard.log.log import QUATERNION, Log
from steelyard.log.timing import NEAR_STAMPS, gaps, log_rate, merged, motion_band
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import WRENCH, continuous, rotations

Array = np.ndarray

POSE_CUTOFF = 3.0  # Hz: where the base's acceleration is the second derivative of a pose, noise grows with f²
GYRO_CUTOFF = 4.5  # Hz: where moments are those of a gyro's derivative, and its noise is not in the forces
OF_BAND = 0.6  # of the motion's band in most logs: where that is more, some of the motion has to be left
EDGE = 4  # samples dropped at either end, where derivatives of the spline are one-sided


@dataclass(frozen=True)
class Filter:
    """Cut-off frequencies in Hz (symmetric Hamming low-pass of three periods); None: from the log."""

    cutoff: float | None = None  # both sides of the equations; default min(10, rate/10)
    kinematics: float | None = None  # positions and inertial sensors; default max(rate/10, 4·motion), at most 0.4·rate
    rate: float | None = None  # resample to this many samples a second; default the log's own
    delay: float = 0.0  # s by which torques and forces come after the motion they belong to
    causal: bool = False  # kinematics and forces pass a filter that never looks ahead, as they do online
    predicted: float | None = None  # Hz: what is predicted and held against raw measurements; default the cut-off

    def at(self, rate: float, motion: float = 0.0) -> Filter:
        """The same with every default filled in for a log of this rate whose motion reaches up to ``motion`` Hz."""
        rate = self.rate or rate
        cutoff = self.cutoff or min(10.0, rate / 10)
        kinematics = self.kinematics or min(max(rate / 10, 4 * motion), 0.4 * rate)
        return Filter(cutoff, kinematics, rate, self.delay, self.causal, self.predicted)

    def for_logs(self, logs: Sequence[Log], equations: str = "") -> Filter:
        """The same with every default filled in for these logs, taken together, and for equations of a kind."""
        rate, bands = float(np.median([log_rate(log) for log in logs])), [motion_band(log) for log in logs]
        motion = max(bands)
        if not any(_from_pose(log) for log in logs):
            whole = self.at(rate, motion)
            if equations == "base" and self.cutoff is None and any(_by_forces(log) for log in logs):
                assert whole.cutoff is not None
                cutoff = min(whole.cutoff, max(GYRO_CUTOFF, OF_BAND * float(np.median(bands))))
                return replace(whole, cutoff=cutoff, predicted=self.predicted or whole.cutoff)
            return whole
        low = replace(self, cutoff=self.cutoff or min(POSE_CUTOFF, (self.rate or rate) / 10)).at(rate, motion)
        assert low.cutoff is not None and low.kinematics is not None
        return replace(low, kinematics=self.kinematics or min(low.kinematics, 4 * low.cutoff))


@dataclass(frozen=True)
class Segment:
    """Evenly spaced samples without a gap; vectors of a floating base in base axes."""

    time: Array  # (T,) s
    rate: float  # Hz
    q: Array  # (T, J) rad or m, filtered; joints in the robot's order
    v: Array  # (T, J)
    a: Array  # (T, J)
    tau: Array | None  # (T, J) N·m or N, raw; 0 where only a current is known
    current: Mapping[str, Array]  # joint → (T,) A, of joints whose drive gain is unknown
    gyro: Array | None  # (T, 3) rad/s
    alpha: Array | None  # (T, 3) rad/s², angular acceleration
    acc: Array | None  # (T, 3) m/s², proper acceleration of the base origin
    up: Array | None  # (T, 3) unit vector against gravity
    wrench: Mapping[str, Array]  # frame → (T, 6) of the world on the robot, in the frame's axes; 0 where not measured
    plates: Mapping[str, Plate] = field(default_factory=dict)
    sensor: Mapping[str, Array] = field(default_factory=dict)  # sensor → (T, k) its measured components, raw
    loaded: bool = False  # whether the robot carried the unknown load

    def part(self, keep: slice) -> Segment:
        """Some of the samples."""
        changed: dict[str, Any] = {k: x[keep] for k, x in vars(self).items() if isinstance(x, np.ndarray)}
        changed["current"] = {j: c[keep] for j, c in self.current.items()}
        changed["wrench"] = {f: w[keep] for f, w in self.wrench.items()}
        changed["plates"] = {name: plate.part(keep) for name, plate in self.plates.items()}
        changed["sensor"] = {s: w[keep] for s, w in self.sensor.items()}
        return replace(self, **changed)

    def then(self, other: Segment) -> Segment:
        """These samples and those that follow them."""
        mine, its = vars(self), vars(other)
        changed: dict[str, Any] = {k: np.concatenate([x, its[k]]) for k, x in mine.items() if isinstance(x, np.ndarray)}
        for name in ("current", "wrench", "sensor"):
            changed[name] = {k: np.concatenate([x, its[name][k]]) for k, x in mine[name].items()}
        changed["plates"] = {name: plate.then(other.plates[name]) for name, plate in self.plates.items()}
        return replace(self, **changed)


def lowpass(rate: float, cutoff: float) -> Array:
    """Symmetric taps of a zero-phase low-pass, sum one; a single tap where nothing is to be cut off."""
    if cutoff >= 0.5 * rate:
        return np.ones(1)
    half = int(np.ceil(1.5 * rate / cutoff))
    return np.asarray(firwin(2 * half + 1, cutoff, fs=rate, window="hamming"))


def sharpened(taps: Array) -> Array:
    """Taps of gain H(2 − H): flatter where a low-pass lets pass, twice as long."""
    return np.asarray(np.pad(2 * taps, len(taps) // 2) - np.convolve(taps, taps))


def _from_pose(log: Log) -> bool:
    """Whether the base's acceleration can only be had by differentiating its position twice."""
    told = any(log.has(f"{name}.x") for name in ("imu.acc", "base.acceleration", "base.velocity"))
    return log.has("base.position.x", *QUATERNION) and not told


def _by_forces(log: Log) -> bool:
    """Whether a floating robot is weighed by what holds it: moments are then those of a gyro's derivative."""
    return log.has("imu.gyro.x") and bool(log.names("wrench")) and not log.has("base.angular_acceleration.x")


def prepare(
    robot: Robot, log: Log, filter: Filter, *, torques: bool, level: bool = True
) -> tuple[list[Segment], list[str]]:
    """Segments of a log for a robot, and notices about what was done to it.

    ``filter`` has every value set (``Filter.at``). ``torques``: whether joint torques are needed; force plates serve
    only where they are not, since nobody knows which body a plate pushes. ``level``: whether it is needed which way is
    up, where only an inertial sensor could tell.
    """
    assert filter.rate is not None and filter.kinematics is not None
    step = float(np.median(np.diff(log.time)))
    log, same = merged(log)
    holes = gaps(log)
    edges = np.concatenate([[0], holes + 1, [len(log)]])
    segments, short, notices = [], 0.0, []
    for start, stop in pairwise(edges):
        piece = log.cut(int(start), int(stop))
        segment = _segment(robot, piece, filter, torques, level=level)
        if segment is None:
            short += float(piece.time[-1] - piece.time[0])
        else:
            segments.append(segment)
    if same:
        near = f"within {1e3 * NEAR_STAMPS * step:.2g} ms of the one before"
        notices.append(f"{log.source}: {same} samples {near} were averaged with it")
    if robot.floating and _from_pose(log):
        what = f"so both sides of the equations are filtered at {filter.cutoff:.3g} Hz (--cutoff)"
        notices.append(f"{log.source}: the base's acceleration is the second derivative of its position, {what}")
    if holes.size:
        widest = float(np.diff(log.time)[holes].max())
        notices.append(f"{log.source}: split at {holes.size} gaps (the widest {widest:.3g} s)")
    if short:
        notices.append(f"{log.source}: {short:.3g} s in pieces too short for the filter were left out")
    if not segments:
        raise LogError(
            Finding(
                log.source,
                f"has no piece longer than the filter ({needed(filter) / filter.rate:.2g} s)",
                "Record longer without gaps, or raise --cutoff",
            )
        )
    return segments, notices


def needed(filter: Filter) -> int:
    """Samples that a piece must have to make a row."""
    assert filter.rate is not None and filter.cutoff is not None and filter.kinematics is not None
    if filter.causal:
        return Lowpass(filter.rate, filter.kinematics).settling + len(lowpass(filter.rate, filter.cutoff))
    both = len(lowpass(filter.rate, filter.cutoff)) + len(sharpened(lowpass(filter.rate, filter.kinematics)))
    return both + 2 * EDGE + 8


def window(robot: Robot, log: Log, filter: Filter, origin: float | None, *, torques: bool) -> Segment | None:
    """Samples of a piece without gaps; None where it is too short.

    Where it is part of a longer one, ``origin`` is the first sample of the whole, s, and samples stand on its grid. At
    cut ends derivatives differ from those of the whole, by half as much every sample further in.
    """
    return _segment(robot, log, filter, torques, origin)


def first_sample(log: Log, filter: Filter) -> float:
    """Where the grid of a piece without gaps begins, s."""
    return float(max(log.time[0], log.time[0] + filter.delay))


def _segment(
    robot: Robot, log: Log, filter: Filter, torques: bool, origin: float | None = None, level: bool = True
) -> Segment | None:
    assert filter.rate is not None and filter.kinematics is not None
    rate = filter.rate
    moved = log.time + filter.delay  # when the torque of a motion is measured
    start, stop, skipped = first_sample(log, filter), min(log.time[-1], moved[-1]), 0
    least = needed(filter)
    if origin is not None:
        skipped = max(int(np.ceil((start - origin) * rate * (1 - 1e-9))), 0)
        least = len(sharpened(lowpass(rate, filter.kinematics))) + 2 * EDGE + 8
    count = int(np.floor((stop - (start if origin is None else origin)) * rate * (1 + 1e-9))) + 1 - skipped
    if count < least or len(log) < 8:
        return None
    grid = (start if origin is None else origin) + (skipped + np.arange(count)) / rate
    even = filter.delay == 0 and len(log) == count and np.max(np.abs(log.time - grid)) < 1e-3 / rate
    if filter.causal:
        return _causal(robot, log, filter, grid, None if even else moved, torques)
    taps = sharpened(lowpass(rate, filter.kinematics))
    half = len(taps) // 2
    inner = slice(half + EDGE, count - half - EDGE)

    def raw(values: Array, stamps: Array = log.time) -> Array:
        """On the even grid, not filtered."""
        return values if even else np.asarray(make_interp_spline(stamps, values, k=3)(grid))

    def smooth(values: Array) -> Array:
        """Motion, filtered, on the part of the grid that the filter fills."""
        return np.asarray(np.apply_along_axis(np.convolve, 0, raw(values, moved), taps, "valid"))

    def derivative(values: Array, order: int = 1) -> Array:
        if not values.size:
            return values
        spline = make_interp_spline(grid[half : count - half], values, k=5)
        return np.asarray(spline(grid[half : count - half], order))

    cut = slice(EDGE, -EDGE)
    J = len(robot.joints)
    q, v, a = (np.zeros((count - 2 * half, J)) for _ in range(3))
    has_v, has_a = ([k for k, j in enumerate(robot.joints) if f"{kind}.{j}" in log.columns] for kind in "va")
    for kind, into, which in (("q", q, range(J)), ("v", v, has_v), ("a", a, has_a)):
        for k in which:
            into[:, k] = smooth(log.columns[f"{kind}.{robot.joints[k]}"])
    no_v, no_a = (np.setdiff1d(np.arange(J), which) for which in (has_v, has_a))
    v[:, no_v] = derivative(q[:, no_v])
    by_v, by_q = np.intersect1d(no_a, has_v).astype(int), np.intersect1d(no_a, no_v)
    a[:, by_v], a[:, by_q] = derivative(v[:, by_v]), derivative(q[:, by_q], 2)
    gains = log.metadata.get("gains", {})
    tau, current = None, {}
    if torques:
        tau = np.zeros((count, J))
        for k, joint in enumerate(robot.joints):
            if log.has(f"tau.{joint}"):
                tau[:, k] = raw(log.columns[f"tau.{joint}"])
            elif joint in gains:
                tau[:, k] = gains[joint] * raw(log.columns[f"current.{joint}"])
            else:
                current[joint] = raw(log.columns[f"current.{joint}"])[inner]
        tau = tau[inner]
    gyro = alpha = acc = up = None
    if robot.floating:
        gyro, alpha, acc, up = _base_motion(robot, log, rate, smooth, derivative, level)
        gyro, alpha, acc, up = gyro[cut], alpha[cut], acc[cut], None if up is None else up[cut]

    def six(name: str) -> Array:
        parts = [log.columns.get(f"{name}.{c}") for c in WRENCH]
        return np.column_stack([np.zeros(count) if x is None else raw(x) for x in parts])[inner]

    wrench = {frame: six(f"wrench.{frame}") for frame in log.names("wrench")}
    sensor = {}
    for s in robot.sensors:
        sensor[s.name] = raw(np.column_stack([log.columns[f"sensor.{row}"] for row in s.rows]))[inner]
    plates = {}
    if robot.floating and not torques and log.names("plate"):
        world = _base_pose(robot, log, smooth)[cut]
        for name in log.names("plate"):
            plates[name] = Plate(np.linalg.inv(world) @ plate_pose(log, name), six(f"plate.{name}"))
    return Segment(
        grid[inner],
        rate,
        q[cut],
        v[cut],
        a[cut],
        tau,
        current,
        gyro,
        alpha,
        acc,
        up,
        wrench,
        plates,
        sensor,
        log.loaded,
    )


def _causal(robot: Robot, log: Log, filter: Filter, grid: Array, moved: Array | None, torques: bool) -> Segment:
    """The same by a causal filter, on an even grid; ``moved``: stamps of the motion where they are not that grid."""
    assert filter.rate is not None and filter.kinematics is not None
    low = Lowpass(filter.rate, filter.kinematics)
    inputs = inputs_of(robot, log, torques=torques)
    table = inputs.table(log)
    inputs.oriented(table, None)
    if moved is not None:
        forces = [name.startswith(("tau.", "current.", "wrench.", "sensor.")) for name in inputs.columns]
        parts = [make_interp_spline(stamps, table, k=3)(grid) for stamps in (moved, log.time)]
        table = np.where(forces, parts[1], parts[0])
        inputs.oriented(table, None)
    filtered = low.run(low.at_rest(table[0]), table)
    fields = inputs.motion(filtered, np.zeros(3), filter.rate)
    whole = Segment(time=grid - low.delay, rate=filter.rate, loaded=log.loaded, **fields)
    return whole.part(slice(low.settling, None))


def inputs_of(robot: Robot, log: Log, *, torques: bool) -> Inputs:
    """What a causal filter needs of such a log."""
    mount, turned = np.eye(4), np.eye(3)
    if robot.floating:
        mount, turned = imu_mount(robot, log), imu_mount(robot, log, "quaternion_frame")[:3, :3]
    return Inputs.of(robot, log, mount, turned, torques=torques)


def _base_pose(robot: Robot, log: Log, smooth) -> Array:  # type: ignore[no-untyped-def]
    """(T, 4, 4) filtered pose of the base in the world."""
    R, position = _orientation(log, smooth), log.vector("base.position")
    assert R is not None and position is not None
    pose = np.tile(np.eye(4), (len(R), 1, 1))
    pose[:, :3, :3] = R @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T
    pose[:, :3, 3] = smooth(position)
    return pose


def _base_motion(robot: Robot, log: Log, rate: float, smooth, derivative, level: bool):  # type: ignore[no-untyped-def]
    """Angular velocity and acceleration, proper acceleration at the base origin, and up, all in base axes."""
    R = _orientation(log, smooth)
    if R is not None:  # an IMU's own orientation: from its axes to those of the base
        R = R @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T
    imu_gyro, imu_acc = log.vector("imu.gyro"), log.vector("imu.acc")
    mount = imu_mount(robot, log)
    if imu_gyro is not None:
        gyro = smooth(imu_gyro) @ mount[:3, :3].T
    elif (angular := log.vector("base.angular_velocity")) is not None:
        gyro = smooth(angular)
    elif R is not None:
        spin = np.stack([derivative(R[:, i, j]) for i in range(3) for j in range(3)], axis=1).reshape(R.shape)
        W = np.einsum("tki,tkj->tij", R, spin)  # RᵀṘ = [ω]×
        gyro = np.stack([W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]], axis=1) / 2
    else:
        raise _lacks(log, "how the base turns", "Add imu.gyro.x…z, base.angular_velocity.x…z or base.quaternion.x…w")
    measured = log.vector("base.angular_acceleration")
    alpha = smooth(measured) if measured is not None else np.column_stack([derivative(w) for w in gyro.T])
    against_gravity = None if R is None else R[:, 2, :]  # Rᵀ e_z
    if imu_acc is not None:
        acc = smooth(imu_acc) @ mount[:3, :3].T
        lever = np.broadcast_to(mount[:3, 3], acc.shape)
        acc = acc - np.cross(alpha, lever) - np.cross(gyro, np.cross(gyro, lever))
    elif against_gravity is not None and (linear := log.vector("base.acceleration")) is not None:
        acc = smooth(linear) + GRAVITY * against_gravity
    elif against_gravity is not None and (velocity := log.vector("base.velocity")) is not None:
        v = smooth(velocity)
        acc = np.column_stack([derivative(x) for x in v.T]) + np.cross(gyro, v) + GRAVITY * against_gravity
    elif R is not None and (position := log.vector("base.position")) is not None:
        world = np.column_stack([derivative(p, 2) for p in smooth(position).T])
        acc = np.einsum("tki,tk->ti", R, world + GRAVITY * np.array([0.0, 0.0, 1.0]))
    else:
        raise _lacks(
            log, "how the base accelerates",
            "Add imu.acc.x…z, or base.quaternion.x…w with base.acceleration, base.velocity or base.position",
        )  # fmt: skip
    up = _tilt(gyro, acc, rate) if against_gravity is None and level else against_gravity
    return gyro, alpha, acc, up


def imu_mount(robot: Robot, log: Log, key: str = "imu_frame") -> Array:
    """(4, 4) pose of the inertial sensor in the base frame."""
    name = log.metadata.get(key)
    if name is None:
        return np.eye(4)
    placement = robot.on_base(robot.frame(str(name)))
    if placement is None:
        raise LogError(Finding(f"{log.source}, {key}", f"{name!r} is not on the base body", "Use the IMU on the base"))
    return placement


def _orientation(log: Log, smooth) -> Array | None:  # type: ignore[no-untyped-def]
    """(T, 3, 3) filtered rotation of the base in the world."""
    if not any(log.has(name) for name in QUATERNION):
        return None
    quaternion = log.vector("base.quaternion", "xyzw")
    assert quaternion is not None
    length = np.linalg.norm(quaternion, axis=1)
    if np.any(np.abs(length - 1) > 0.05):
        k = int(np.argmax(np.abs(length - 1)))
        raise LogError(
            Finding(f"{log.source}, base.quaternion, row {k}", f"has length {length[k]:.3g}", "Give unit quaternions")
        )
    return rotations(smooth(continuous(quaternion / length[:, None])))


def _tilt(gyro: Array, acc: Array, rate: float, seconds: float = 2.0) -> Array:
    """Up in base axes from gyro and accelerometer alone: a complementary filter run both ways.

    Each way starts where the other ended: a mean over the first second would mix axes of a base that turns.
    """
    gain = 1 / (seconds * rate)
    step = np.cross(gyro[:, None, :], np.eye(3)).transpose(0, 2, 1) / rate  # step[k] u = ω × u / rate
    pull = gain * acc / GRAVITY

    def run(order: Sequence[int], sign: float, u: Array) -> Array:
        up = np.empty_like(acc)
        for k in order:
            u = (1 - gain) * (u - sign * step[k] @ u) + pull[k]
            u = u / np.sqrt(u @ u)
            up[k] = u
        return up

    onward, back = range(len(acc)), range(len(acc) - 1, -1, -1)
    backward = run(back, -1.0, np.mean(acc[-int(rate) :], axis=0) / GRAVITY)
    forward = run(onward, 1.0, backward[0])
    both = forward + run(back, -1.0, forward[-1])
    return np.asarray(both / np.linalg.norm(both, axis=1, keepdims=True))


def _lacks(log: Log, what: str, fix: str) -> LogError:
    return LogError(Finding(log.source, f"does not say {what}", fix))
