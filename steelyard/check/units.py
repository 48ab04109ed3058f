"""Are the units of a log right? Judged by comparing columns with each other and with the robot.

A velocity is compared with the rate of its position, a position with the joint's limits, torques with the robot's
weight; the base's columns are looked at in ``units_base.py``. Only what is plainly a factor of 57 or 1000 off is
refused: the thresholds are far from what a good log shows and from what a wrong unit makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from steelyard.check.units_base import DEGREES, NEAR, WINDOW, base_findings, near
from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.robot.description import Joint
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import Array

CORRELATION = 0.7  # the least between the two for their sizes to be compared

SLOWEST = 0.5  # s: steps from here on are no seconds, a motion cannot be seen at 2 Hz
TIME_UNITS = (("milliseconds", 1e3, 200.0), ("microseconds", 1e6, 2e5), ("nanoseconds", 1e9, np.inf))
# … with the widest step each is taken for: 200 ms is 5 Hz, and 200 µs are 5 kHz
FASTEST = 1e-5  # s: shorter steps are no seconds either, nothing logs joints at 100 kHz

BEYOND, BEYOND_BY = 1.5, 1.0  # times a joint's limit, and rad: a position past both is perhaps in degrees
BEYOND_TRAVEL = 10.0  # times a slide's limit: past it the position is perhaps in mm
MAJORITY = 0.5  # of the joints with limits that move: if these are past them in degrees, all joints are
INSIDE = 1.05  # times the limit: where a position in the other unit must fit

TORQUE_FACTOR = 200.0  # torques this many times what gravity asks for, or less than its inverse, are no N·m
ALONE = 30.0  # times the usual of the other joints: a joint that far off is named alone
LEAST_GRAVITY = 0.05  # N·m or N: less asked of the joints by gravity than this says nothing
WEIGHT_SHARE = 0.02  # of weight × reach: the least a fixed robot's torques are compared with
WEIGHT_TIMES = 10.0  # times weight × reach: no joint of a floating robot holds that
EFFORT_TIMES, EFFORT_SHARE = 5.0, 0.5  # … nor this share of it together with this many times its effort limits


def unit_findings(robot: Robot, log: Log) -> list[Finding]:
    """Columns that are a factor of 57 or 1000 off, told by comparing them with each other and with the robot."""
    factor, findings = _time_factor(log)
    seconds = None if factor is None else log.time / factor
    return [*findings, *_positions(robot, log, seconds), *_torques(robot, log), *base_findings(log, seconds)]


def _time_factor(log: Log) -> tuple[float | None, list[Finding]]:
    """What makes seconds of time (None: nobody knows), and what is wrong with it."""
    step = float(np.median(np.diff(log.time)))
    where = f"{log.source}, time"
    if step >= SLOWEST:
        unit, factor, _ = next(u for u in TIME_UNITS if step < u[2])
        what = f"has steps of {step:.4g} s; {unit} would be {factor / step:.4g} Hz"
        return factor, [Finding("todo", where, what, f"Give seconds: divide by {factor:.0f}")]
    if step < FASTEST:
        what = f"has steps of {step:.3g} s, {1 / step:.3g} samples a second"
        return None, [Finding("todo", where, what, "Give seconds")]
    return 1.0, []


def _positions(robot: Robot, log: Log, seconds: Array | None) -> Iterator[Finding]:
    """Position, velocity and acceleration of each joint, against each other and the joint's limits."""
    joints = [robot.description.joints[name] for name in robot.joints if log.has(f"q.{name}")]
    past = {j.name: why for j in joints if (why := _past_limit(j, log.columns[f"q.{j.name}"]))}
    # Joints that turn without end, or hardly move, are judged by the company they keep.
    ends = [j.name for j in joints if j.kind != "prismatic" and np.isfinite(_limit(j))]
    beyond = sum(name in past for name in ends)
    degrees = beyond > 0 and beyond >= MAJORITY * sum(np.ptp(log.columns[f"q.{name}"]) > 0 for name in ends)
    for joint in joints:
        why = past.get(joint.name)
        if why is None and degrees and joint.kind != "prismatic" and log.columns[f"q.{joint.name}"].any():
            why = "has the unit of the other joints: degrees"
        yield from _joint_units(joint, log, seconds, why)


def _joint_units(joint: Joint, log: Log, seconds: Array | None, past: str | None) -> Iterator[Finding]:
    """``past``: why the position is in degrees (or mm), if something other than its velocity says so."""
    unit, units = ("m", {1e3: "mm"}) if joint.kind == "prismatic" else ("rad", {DEGREES: "degrees", 1e3: "mrad"})
    kinds, steps = ["q"], [1.0]  # steps: how many times too large each is, against the one before
    for low, high in pairwise(("q", "v", "a")):
        if seconds is None or not log.has(f"{low}.{joint.name}", f"{high}.{joint.name}"):
            break
        ratio = _rate_ratio(seconds, log.columns[f"{low}.{joint.name}"], log.columns[f"{high}.{joint.name}"])
        step = next((f for u in (1.0, *units) for f in (u, 1 / u) if ratio and near(ratio, f)), None)
        if step is None:
            break
        kinds.append(high)
        steps.append(step)
    sizes = np.cumprod(steps)
    sizes = sizes / sizes.min()  # the smallest of them is taken for SI …
    if past and sizes[0] < NEAR:
        sizes = sizes * next(iter(units))  # … unless the position is known not to be
    for k, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        if size < NEAR:
            continue
        factor = next((u for u in units if near(size, u)), float(size))
        rate = ("", "/s", "/s²")[k]
        name = f"{units.get(factor, f'{factor:.3g} {unit}')}{rate}"
        if kind == "q":
            why = past or f"changes {1 / steps[1]:.3g} times as fast as v.{joint.name} says: {name}"
        elif near(steps[k], 1.0):
            why = f"goes with {kinds[k - 1]}.{joint.name}: {name}"
        else:
            why = f"is {steps[k]:.3g} times the rate of {kinds[k - 1]}.{joint.name}: {name}"
        yield Finding("todo", f"{log.source}, {kind}.{joint.name}", why, f"Give {unit}{rate}: divide by {factor:.6g}")


def _limit(joint: Joint) -> float:
    return float(max(abs(joint.lower), abs(joint.upper)))


def _past_limit(joint: Joint, q: Array) -> str | None:
    """Why a position is in degrees or mm, where it is past a limit and would not be in that unit."""
    limit, reach = _limit(joint), float(np.max(np.abs(q)))
    if not np.isfinite(limit):
        return None
    if joint.kind == "prismatic":
        if reach > BEYOND_TRAVEL * limit and reach / 1000 <= INSIDE * limit:
            return f"reaches {reach:.4g}, its limit is {limit:.3g} m; {reach:.4g} mm would be inside"
    elif reach > max(BEYOND * limit, limit + BEYOND_BY) and reach / DEGREES <= INSIDE * limit:
        return f"reaches {reach:.4g}, its limit is {limit:.3g} rad; {reach:.4g}° would be inside"
    return None


def _rate_ratio(seconds: Array, low: Array, high: Array) -> float | None:
    """Size of a measured rate against the change of what it is the rate of; None where they do not go together.

    Over WINDOW seconds ∫ high dt = Δ low; shorter steps would drown both in noise.
    """
    steps = np.diff(seconds)
    integral = np.append(0.0, np.cumsum(steps * (high[1:] + high[:-1]) / 2))
    w = min(max(1, round(WINDOW / float(np.median(steps)))), len(low) // 2)
    said, seen = integral[w:] - integral[:-w], low[w:] - low[:-w]
    if np.std(said) == 0 or np.std(seen) == 0:
        return None
    correlation = float(np.corrcoef(said, seen)[0, 1])
    return float(np.sqrt(np.mean(said**2) / np.mean(seen**2))) if correlation > CORRELATION else None


def _torques(robot: Robot, log: Log, samples: int = 200) -> Iterator[Finding]:
    """Torques, or currents times their gains, against gravity on a fixed base, else against weight times reach."""
    tau = {j: t for j in robot.joints if log.has(f"q.{j}") and (t := _torque(log, j)) is not None}
    if not any(t.any() for t in tau.values()):
        return
    mass = sum(body.parameters[0] for body in robot.bodies)
    bound = float(mass * GRAVITY * _reach(robot))  # N·m: the whole robot at the end of its own reach
    size = {j: float(np.sqrt(np.mean(t**2))) for j, t in tau.items()}
    if robot.floating or len(tau) < len(robot.joints):
        share = max(size.values()) / bound
        limits = {j: robot.description.joints[j].effort for j in tau}
        over = [np.max(np.abs(tau[j])) / e for j, e in limits.items() if np.isfinite(e) and e > 0]
        alone = [j for j in tau if size[j] > max(WEIGHT_TIMES * bound, ALONE * float(np.median(list(size.values()))))]
        if share > WEIGHT_TIMES or (share > EFFORT_SHARE and over and np.median(over) > EFFORT_TIMES):
            for joint in alone:
                yield _thousandfold(log, joint, f"{size[joint] / bound:.3g} times the robot's weight at its full reach")
            if not alone:
                yield _thousandfold(log, None, f"up to {share:.3g} times the robot's weight at its full reach")
        return
    rows = np.linspace(0, len(log) - 1, min(samples, len(log))).astype(int)
    needed = _gravity(robot, np.column_stack([log.columns[f"q.{j}"][rows] for j in robot.joints]))
    least = np.maximum(needed, WEIGHT_SHARE * bound)
    times = dict(zip(robot.joints, np.array([size[j] for j in robot.joints]) / least, strict=True))
    whole, asked = float(np.sqrt(np.mean(np.square(list(size.values()))))), float(np.sqrt(np.mean(needed**2)))
    factor = whole / max(asked, WEIGHT_SHARE * bound)
    alone = [j for j, x in times.items() if x > max(TORQUE_FACTOR, ALONE * float(np.median(list(times.values()))))]
    for joint in alone:
        yield _thousandfold(log, joint, f"about {times[joint]:.3g} times what gravity asks for")
    if not alone and factor > TORQUE_FACTOR:
        yield _thousandfold(log, None, f"about {factor:.3g} times what gravity asks for")
    elif asked > LEAST_GRAVITY and whole < asked / TORQUE_FACTOR:
        what = f"is about {whole / asked:.2g} times what gravity asks for: kN·m, motor side, or gravity taken out"
        yield Finding("todo", f"{log.source}, tau", what, "Give the whole torque at the joint in N·m")


def _torque(log: Log, joint: str) -> Array | None:
    """Torque of a joint, N·m; None where only a current of unknown gain is there."""
    if log.has(f"tau.{joint}"):
        return log.columns[f"tau.{joint}"]
    gain = log.metadata.get("gains", {}).get(joint)
    return gain * log.columns[f"current.{joint}"] if gain and log.has(f"current.{joint}") else None


def _thousandfold(log: Log, joint: str | None, how: str) -> Finding:
    """A torque, or a current, in thousandths of its unit; of all joints where none is named."""
    current = not any(log.has(f"tau.{j}") for j in ([joint] if joint else log.names("tau")))
    column = f"{'current' if current else 'tau'}{f'.{joint}' if joint else ''}"
    if current:
        return Finding(
            "todo", f"{log.source}, {column}", f"times its drive gain is {how}: mA", "Give A: divide by 1000"
        )
    return Finding("todo", f"{log.source}, {column}", f"is {how}: N·mm or mN·m", "Give N·m: divide by 1000")


def _gravity(robot: Robot, q: Array) -> Array:
    """(J,) root mean squares of the torques that hold a fixed robot still at positions q (T, J)."""
    import pinocchio as pin

    data = robot.model.createData()
    S = np.eye(robot.model.nv) if robot.coupling is None else robot.coupling[:, : len(robot.joints)]
    held = np.array([S.T @ pin.computeGeneralizedGravity(robot.model, data, x) for x in robot.positions(q)])
    return np.asarray(np.sqrt(np.mean(held**2, axis=0)))


def _reach(robot: Robot) -> float:
    """The longest chain of joint offsets, m, or the largest body."""
    model = robot.model
    along = np.zeros(model.njoints)
    first = 2 if robot.floating else 1
    for i in range(first, model.njoints):
        along[i] = along[model.parents[i]] + np.linalg.norm(model.jointPlacements[i].translation)
    return float(max(along.max(), *(body.size for body in robot.bodies)))
