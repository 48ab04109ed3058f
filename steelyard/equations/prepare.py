"""From a log with jittered stamps to evenly spaced, filtered, differentiated samples.

The log is split at gaps (signals are never differentiated across one) and resampled to one rate. Kinematics pass a
symmetric low-pass (zero phase, finite support), velocities and accelerations are derivatives of the filtered signal,
and the samples at either end for which the filter lacks input are dropped: there are no edge transients. Torques and
forces stay raw; rows filter both sides of the equations alike (``rows.py``). A causal filter (``causal_filter.py``)
filters all channels alike instead, forces included, and needs no later sample.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from steelyard.equations.base_motion import base_motion, base_pose, imu_mount
from steelyard.equations.causal_filter import Inputs, Lowpass
from steelyard.equations.filters import Filter, from_pose, lowpass, sharpened
from steelyard.equations.segment import Segment
from steelyard.equations.spline import Spline
from steelyard.equations.still import Channel, Grid, Standing, settle
from steelyard.errors import Finding, LogError, note
from steelyard.log.force_plate import Plate, plate_pose
from steelyard.log.log import Log
from steelyard.log.timing import NEAR_STAMPS, gaps, merge_near_stamps
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH, Array

EDGE = 4  # samples dropped at either end, where the spline's derivatives are one-sided


def prepare(
    robot: Robot, log: Log, filter: Filter, *, torques: bool, level: bool = True
) -> tuple[list[Segment], list[Finding]]:
    """Segments of a log for a robot, and notices about merged, dropped and split samples.

    ``filter`` has every value set (``Filter.at``). ``torques``: whether joint torques are needed; force plates are used
    only where they are not, since it is not known which body stands on a plate. ``level``: whether the up direction is
    needed, where it follows from an inertial sensor alone.
    """
    assert filter.rate is not None and filter.kinematics is not None
    step = float(np.median(np.diff(log.time)))
    log, same = merge_near_stamps(log)
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
        text = f"{log.source}: {same} samples {near} were averaged with it"
        notices.append(note("samples-averaged", log.source, text, samples=same, within=NEAR_STAMPS * step))
    if robot.floating and from_pose(log):
        what = f"so both sides of the equations are filtered at a cut-off of {filter.cutoff:.3g} Hz"
        text = f"{log.source}: the base's acceleration is the second derivative of its position, {what}"
        notices.append(note("acceleration-from-position", log.source, text, cutoff=filter.cutoff))
    if holes.size:
        widest = float(np.diff(log.time)[holes].max())
        text = f"{log.source}: split at {holes.size} gaps (the widest {widest:.3g} s)"
        notices.append(note("log-split", log.source, text, gaps=holes.size, widest=widest))
    if short:
        text = f"{log.source}: {short:.3g} s in parts too short for the filter were left out"
        notices.append(note("parts-too-short", log.source, text, seconds=short))
    if segments and (still := frozenset.intersection(*(s.standing.joints for s in segments))):
        names = [robot.joints[k] for k in sorted(still)]
        text = f"{log.source}: {', '.join(names)} stand still throughout: their noise is not taken for motion"
        notices.append(note("joint-still", log.source, text, joints=names))
    if not segments:
        raise LogError(
            Finding(
                "log-too-short",
                log.source,
                f"has no part without gaps that is longer than the filter ({needed(filter) / filter.rate:.2g} s)",
                "Record longer without gaps, or raise the cut-off frequency",
            )
        )
    return segments, notices


def needed(filter: Filter) -> int:
    """Least number of samples for one row."""
    assert filter.rate is not None and filter.cutoff is not None and filter.kinematics is not None
    if filter.causal:
        return Lowpass(filter.rate, filter.kinematics).settling + len(lowpass(filter.rate, filter.cutoff))
    both = len(lowpass(filter.rate, filter.cutoff)) + len(sharpened(lowpass(filter.rate, filter.kinematics)))
    return both + 2 * EDGE + 8


def window(
    robot: Robot, log: Log, filter: Filter, origin: float | None, *, torques: bool, earlier: Standing | None = None
) -> Segment | None:
    """Segment of a part without gaps; None where it is too short.

    Where it is cut from a longer one, ``origin`` is the time of the first sample of the whole, s, whose grid is used.
    Near the cuts derivatives differ from those of the whole; the difference halves with every sample inwards.
    ``earlier``: levels of joints that stood still just before.
    """
    return _segment(robot, log, filter, torques, origin, earlier=earlier)


def first_sample(log: Log, filter: Filter) -> float:
    """Time at which the grid of a part without gaps begins, s."""
    return float(max(log.time[0], log.time[0] + filter.delay))


def _segment(
    robot: Robot,
    log: Log,
    filter: Filter,
    torques: bool,
    origin: float | None = None,
    level: bool = True,
    earlier: Standing | None = None,
) -> Segment | None:
    assert filter.rate is not None and filter.kinematics is not None
    rate = filter.rate
    moved = log.time + filter.delay  # stamps at which the torques of the motion are measured
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
        """Resampled to the even grid, not filtered."""
        return values if even else Spline.through(stamps, values)(grid)

    def smooth(values: Array) -> Array:
        """Filtered, where the filter has samples on both sides."""
        return np.asarray(np.apply_along_axis(np.convolve, 0, raw(values, moved), taps, "valid"))

    def derivative(values: Array, order: int = 1) -> Array:
        if not values.size:
            return values
        at = grid[half : count - half]
        return Spline.through(at, values, degree=5)(at, order)

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
    at = Grid(rate, skipped + half + EDGE, float(grid[0]) - skipped / rate, taps)
    logged = {c: log.columns[c] for j in robot.joints for kind in "qva" if (c := f"{kind}.{j}") in log.columns}
    channels = {name: Channel(moved, x) for name, x in logged.items()}
    motion = settle(robot, at, (q[cut], v[cut], a[cut]), channels, earlier)
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
        gyro, alpha, acc, up = base_motion(robot, log, rate, smooth, derivative, level)
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
        world = base_pose(robot, log, smooth)[cut]
        for name in log.names("plate"):
            plates[name] = Plate(np.linalg.inv(world) @ plate_pose(log, name), six(f"plate.{name}"))
    return Segment(
        grid[inner],
        rate,
        motion.q,
        motion.v,
        motion.a,
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
        motion.slide,
        motion.standing,
    )


def _causal(robot: Robot, log: Log, filter: Filter, grid: Array, moved: Array | None, torques: bool) -> Segment:
    """Segment by a causal filter, on an even grid; ``moved``: stamps of the motion where they differ from the grid."""
    assert filter.rate is not None and filter.kinematics is not None
    low = Lowpass(filter.rate, filter.kinematics)
    inputs = inputs_of(robot, log, torques=torques)
    table = inputs.table(log)
    inputs.oriented(table, None)
    if moved is not None:
        forces = [name.startswith(("tau.", "current.", "wrench.", "sensor.")) for name in inputs.columns]
        parts = [Spline.through(stamps, table)(grid) for stamps in (moved, log.time)]
        table = np.where(forces, parts[1], parts[0])
        inputs.oriented(table, None)
    filtered = low.run(low.at_rest(table[0]), table)
    fields = inputs.motion(filtered, np.zeros(3), filter.rate)
    whole = Segment(time=grid - low.delay, rate=filter.rate, loaded=log.loaded, **fields)
    return whole.part(slice(low.settling, None))


def inputs_of(robot: Robot, log: Log, *, torques: bool) -> Inputs:
    """Inputs of a causal filter for logs with these columns."""
    mount, turned = np.eye(4), np.eye(3)
    if robot.floating:
        mount, turned = imu_mount(robot, log), imu_mount(robot, log, "quaternion_frame")[:3, :3]
    return Inputs.of(robot, log, mount, turned, torques=torques)
