"""Units of a log, judged by comparing columns with each other and with the robot.

A velocity is compared with the rate of its position, a position with the joint's limits, torques with the robot's
weight; the base's columns are judged in ``units_base.py``. Only factors of 57 or 1000 are refused: the thresholds are
far from the values of good logs and from those of wrong units.
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

CORRELATION = 0.7  # least correlation of a rate and its integral for their magnitudes to be compared

SLOWEST = 0.5  # s: longer steps are not in seconds, since 2 Hz does not resolve a motion
TIME_UNITS = (
    ("milliseconds", "ms", 1e3, 200.0),
    ("microseconds", "us", 1e6, 2e5),
    ("nanoseconds", "ns", 1e9, np.inf),
)
# … with the longest step of each: 200 ms is 5 Hz, and 200 µs are 5 kHz
FASTEST = 1e-5  # s: shorter steps are not in seconds either, since no joint is logged at 100 kHz

BEYOND, BEYOND_BY = 1.5, 1.0  # times a joint's limit, and rad beyond it: a position past both may be in degrees
BEYOND_TRAVEL = 10.0  # times a prismatic joint's limit: a position past it may be in mm
MAJORITY = 0.5  # of the moving joints with limits: if so many are in degrees, all joints are
INSIDE = 1.05  # times the limit, within which the position in the other unit must lie

TORQUE_FACTOR = 200.0  # ratio of torque to gravity torque, either way, beyond which the unit is not N·m
ALONE = 30.0  # times the median ratio of all joints: such a joint is reported by itself
LEAST_GRAVITY = 0.05  # N·m or N, rms: least gravity torque for small torques to be judged
WEIGHT_SHARE = 0.02  # of weight × reach: least reference for a fixed robot's torques
WEIGHT_TIMES = 10.0  # times weight × reach: more than any joint of a floating robot exerts
EFFORT_TIMES, EFFORT_SHARE = 5.0, 0.5  # … or so many times the effort limits, and this share of weight × reach


def unit_findings(robot: Robot, log: Log) -> list[Finding]:
    """Columns wrong by a factor of 57 or 1000, compared with each other and with the robot."""
    factor, findings = _time_factor(log)
    seconds = None if factor is None else log.time / factor
    return [*findings, *_positions(robot, log, seconds), *_torques(robot, log), *base_findings(log, seconds)]


def _time_factor(log: Log) -> tuple[float | None, list[Finding]]:
    """Units of time a second (None: unknown), and the finding about it."""
    step = float(np.median(np.diff(log.time)))
    where = f"{log.source}, time"
    if step >= SLOWEST:
        name, unit, factor, _ = next(u for u in TIME_UNITS if step < u[3])
        what = f"has steps of {step:.4g} s; as {name} that is {factor / step:.4g} Hz"
        remedy = {"column": "time", "unit": unit, "scale": 1 / factor}
        return factor, [Finding("column-unit", where, what, f"Divide by {factor:.0f} for seconds", remedy)]
    if step < FASTEST:
        what = f"has steps of {step:.3g} s, {1 / step:.3g} samples a second"
        return None, [Finding("column-unit", where, what, "Convert to seconds", {"column": "time", "scale": None})]
    return 1.0, []


def _positions(robot: Robot, log: Log, seconds: Array | None) -> Iterator[Finding]:
    """Compare position, velocity and acceleration of each joint with each other and the joint's limits."""
    joints = [robot.description.joints[name] for name in robot.joints if log.has(f"q.{name}")]
    past = {j.name: why for j in joints if (why := _past_limit(j, log.columns[f"q.{j.name}"]))}
    # Joints without limits, or that hardly move, have the unit of the majority.
    limited = [j.name for j in joints if j.kind != "prismatic" and np.isfinite(_limit(j))]
    beyond = sum(name in past for name in limited)
    degrees = beyond > 0 and beyond >= MAJORITY * sum(np.ptp(log.columns[f"q.{name}"]) > 0 for name in limited)
    for joint in joints:
        why = past.get(joint.name)
        if why is None and degrees and joint.kind != "prismatic" and log.columns[f"q.{joint.name}"].any():
            why = "is in the unit of the other joints, degrees"
        yield from _joint_units(joint, log, seconds, why)


def _joint_units(joint: Joint, log: Log, seconds: Array | None, past: str | None) -> Iterator[Finding]:
    """``past``: the reason why the position is in degrees (or mm), if known other than from its velocity."""
    unit, units = ("m", {1e3: "mm"}) if joint.kind == "prismatic" else ("rad", {DEGREES: "deg", 1e3: "mrad"})
    kinds, steps = ["q"], [1.0]  # steps: factor by which each is too large, relative to the previous one
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
    sizes = sizes / sizes.min()  # the smallest is taken to be SI …
    if past and sizes[0] < NEAR:
        sizes = sizes * next(iter(units))  # … unless the position is known not to be
    for k, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        if size < NEAR:
            continue
        factor = next((u for u in units if near(size, u)), float(size))
        rate, column = ("", "/s", "/s^2")[k], f"{kind}.{joint.name}"
        name = f"{units.get(factor, f'{factor:.3g} {unit}')}{rate}"
        if kind == "q":
            what = past or f"changes {1 / steps[1]:.3g} times as fast as v.{joint.name}: {name}"
        elif near(steps[k], 1.0):
            what = f"agrees with {kinds[k - 1]}.{joint.name}, which is in another unit: {name}"
        else:
            what = f"is {steps[k]:.3g} times the rate of {kinds[k - 1]}.{joint.name}: {name}"
        remedy = {"column": column, "scale": 1 / factor} | ({"unit": name} if factor in units else {})
        fix = f"Divide by {factor:.6g} for {unit}{rate}"
        yield Finding("column-unit", f"{log.source}, {column}", what, fix, remedy)


def _limit(joint: Joint) -> float:
    return float(max(abs(joint.lower), abs(joint.upper)))


def _past_limit(joint: Joint, q: Array) -> str | None:
    """The reason why a position is in degrees or mm: past its limit as given, within it in that unit."""
    limit, reach = _limit(joint), float(np.max(np.abs(q)))
    if not np.isfinite(limit):
        return None
    if joint.kind == "prismatic":
        if reach > BEYOND_TRAVEL * limit and reach / 1000 <= INSIDE * limit:
            return f"reaches {reach:.4g}, its limit is {limit:.3g} m; {reach:.4g} mm is within it"
    elif reach > max(BEYOND * limit, limit + BEYOND_BY) and reach / DEGREES <= INSIDE * limit:
        return f"reaches {reach:.4g}, its limit is {limit:.3g} rad; {reach:.4g}° is within it"
    return None


def _rate_ratio(seconds: Array, low: Array, high: Array) -> float | None:
    """Ratio of a measured rate to the derivative of the quantity; None where they are not correlated.

    Over WINDOW seconds ∫ high dt = Δ low; over shorter steps noise would dominate both.
    """
    steps = np.diff(seconds)
    integral = np.append(0.0, np.cumsum(steps * (high[1:] + high[:-1]) / 2))
    w = min(max(1, round(WINDOW / float(np.median(steps)))), len(low) // 2)
    integrated, change = integral[w:] - integral[:-w], low[w:] - low[:-w]
    if np.std(integrated) == 0 or np.std(change) == 0:
        return None
    correlation = float(np.corrcoef(integrated, change)[0, 1])
    return float(np.sqrt(np.mean(integrated**2) / np.mean(change**2))) if correlation > CORRELATION else None


def _torques(robot: Robot, log: Log, samples: int = 200) -> Iterator[Finding]:
    """Compare torques, or currents times gains, with gravity torques on a fixed base, else with weight times reach."""
    tau = {j: t for j in robot.joints if log.has(f"q.{j}") and (t := _torque(log, j)) is not None}
    if not any(t.any() for t in tau.values()):
        return
    mass = sum(body.parameters[0] for body in robot.bodies)
    bound = float(mass * GRAVITY * _reach(robot))  # N·m: the robot's weight at its full reach
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
    whole, gravity = float(np.sqrt(np.mean(np.square(list(size.values()))))), float(np.sqrt(np.mean(needed**2)))
    factor = whole / max(gravity, WEIGHT_SHARE * bound)
    alone = [j for j, x in times.items() if x > max(TORQUE_FACTOR, ALONE * float(np.median(list(times.values()))))]
    for joint in alone:
        yield _thousandfold(log, joint, f"about {times[joint]:.3g} times the gravity torque")
    if not alone and factor > TORQUE_FACTOR:
        yield _thousandfold(log, None, f"about {factor:.3g} times the gravity torque")
    elif gravity > LEAST_GRAVITY and whole < gravity / TORQUE_FACTOR:
        what = f"is about {whole / gravity:.2g} times the gravity torque: kN·m, motor side, or gravity removed"
        yield Finding("torque-too-small", f"{log.source}, tau", what, "Give the whole joint-side torque in N·m")


def _torque(log: Log, joint: str) -> Array | None:
    """Torque of a joint, N·m; None where only a current of unknown gain is logged."""
    if log.has(f"tau.{joint}"):
        return log.columns[f"tau.{joint}"]
    gain = log.metadata.get("gains", {}).get(joint)
    return gain * log.columns[f"current.{joint}"] if gain and log.has(f"current.{joint}") else None


def _thousandfold(log: Log, joint: str | None, how: str) -> Finding:
    """Finding of a torque, or a current, in thousandths of its unit; of all joints where ``joint`` is None."""
    current = not any(log.has(f"tau.{j}") for j in ([joint] if joint else log.names("tau")))
    column = f"{'current' if current else 'tau'}{f'.{joint}' if joint else ''}"
    where, remedy = f"{log.source}, {column}", {"column": column, "scale": 1e-3}
    if current:
        what = f"times its drive gain is {how}: mA"
        return Finding("column-unit", where, what, "Divide by 1000 for A", {**remedy, "unit": "mA"})
    what = f"is {how}: N·mm or mN·m"
    return Finding("column-unit", where, what, "Divide by 1000 for N·m", {**remedy, "unit": "N·mm"})


def _gravity(robot: Robot, q: Array) -> Array:
    """(J,) rms of the gravity torques of a fixed robot at positions q (T, J)."""
    import pinocchio as pin

    data = robot.model.createData()
    S = np.eye(robot.model.nv) if robot.coupling is None else robot.coupling[:, : len(robot.joints)]
    held = np.array([S.T @ pin.computeGeneralizedGravity(robot.model, data, x) for x in robot.positions(q)])
    return np.asarray(np.sqrt(np.mean(held**2, axis=0)))


def _reach(robot: Robot) -> float:
    """Length of the longest chain of joint offsets, m, or of the largest body."""
    model = robot.model
    along = np.zeros(model.njoints)
    first = 2 if robot.floating else 1
    for i in range(first, model.njoints):
        along[i] = along[model.parents[i]] + np.linalg.norm(model.jointPlacements[i].translation)
    return float(max(along.max(), *(body.size for body in robot.bodies)))
