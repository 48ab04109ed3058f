"""What is wrong with a log, before anything is fitted: does it match the robot, and are its units right?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log import Log
from steelyard.read.description import Description
from steelyard.robot import GRAVITY, ONE_DOF, Robot

Array = np.ndarray

DEGREES = 180 / np.pi


@dataclass(frozen=True)
class Match:
    """How the columns of a log and the joints of a description go together."""

    joints: tuple[str, ...]  # that move and are measured
    locked: tuple[str, ...]  # without any column
    notices: tuple[str, ...]


def match(description: Description, log: Log, lock: dict[str, float], *, torques: bool) -> Match:
    """Which joints the log measures; refused where a joint has some but not all that is needed."""
    movable = [j.name for j in description.joints.values() if j.kind in ONE_DOF and j.mimic is None]
    measured = {kind: set(log.names(kind)) for kind in ("q", "v", "a", "tau", "current")}
    anything = set().union(*measured.values())
    findings, joints, locked = [], [], []
    for joint in movable:
        if joint in lock:
            continue
        if joint not in anything:
            locked.append(joint)
            continue
        joints.append(joint)
        if joint not in measured["q"]:
            there = ", ".join(f"{kind}.{joint}" for kind, names in measured.items() if joint in names)
            findings.append(
                Finding(f"{log.source}, q.{joint}", f"is missing, though {there} is there",
                        "Add the position, or drop all columns of the joint to lock it")
            )  # fmt: skip
        if torques and joint not in measured["tau"] | measured["current"]:
            findings.append(
                Finding(f"{log.source}, tau.{joint}", f"is missing, though q.{joint} is there",
                        "Add tau or current, lock the joint (--lock), or use --equations base")
            )  # fmt: skip
    strangers = sorted(anything - set(description.joints))
    notices = []
    if not joints and not findings and movable:
        hint = f"the log speaks of {', '.join(strangers[:6])}" if strangers else "the log has no joint columns"
        findings.append(
            Finding(log.source, f"measures no joint of {description.name}: {hint}",
                    f"Name the columns after the joints: {', '.join(movable[:12])}")
        )  # fmt: skip
    if findings:
        raise LogError(findings)
    for name in strangers:
        near = difflib.get_close_matches(name, movable, n=1)
        notices.append(f"{log.source}: no joint {name!r}, its columns are ignored" + (f" (did you mean {near[0]}?)" if near else ""))
    if locked:
        notices.append(f"{log.source}: no columns for {', '.join(locked)}: locked at neutral")
    if log.ignored:
        shown = ", ".join(log.ignored[:8]) + (" …" if len(log.ignored) > 8 else "")
        notices.append(f"{log.source}: {len(log.ignored)} columns ignored: {shown}")
    if unused := [c for c in log.columns if c.startswith(("sensor.", "plate."))]:
        notices.append(f"{log.source}: {len(unused)} columns of sensors and plates are not used: {unused[0]} …")
    return Match(tuple(joints), tuple(locked), tuple(notices))


def unit_findings(robot: Robot, log: Log) -> list[Finding]:
    """Columns that are a factor of 57 or 1000 off, told by comparing them with each other and with the robot."""
    return [*_time(log), *_positions(robot, log), *_torques(robot, log), *_inertial(log)]


def _time(log: Log) -> Iterator[Finding]:
    step = float(np.median(np.diff(log.time)))
    if step >= 0.5:
        unit, factor = ("nanoseconds", 1e9) if step > 1e5 else ("microseconds", 1e6) if step > 500 else ("milliseconds", 1e3)
        yield Finding(f"{log.source}, time", f"has steps of {step:.3g} s; {unit} would be {factor / step:.4g} Hz",
                      f"Give seconds: divide by {factor:.0e}")  # fmt: skip
    elif step < 1e-5:
        yield Finding(f"{log.source}, time", f"has steps of {step:.3g} s ({1 / step:.3g} Hz)", "Give seconds")


def _positions(robot: Robot, log: Log) -> Iterator[Finding]:
    degrees: list[str] = []
    for name in robot.joints:
        joint = robot.description.joints[name]
        q = log.columns[f"q.{name}"]
        where = f"{log.source}, q.{name}"
        if (v := log.columns.get(f"v.{name}")) is not None and (ratio := _velocity_ratio(log.time, q, v)) is not None:
            unit = "rad" if joint.kind != "prismatic" else "m"
            for factor, other in ((DEGREES, "degrees"), (1000.0, f"m{unit}")):
                if joint.kind == "prismatic" and other == "degrees":
                    continue
                if 0.8 < ratio / factor < 1.25:
                    yield Finding(f"{log.source}, v.{name}", f"is {ratio:.3g} times the rate of q.{name}: {other}/s",
                                  f"Give {unit}/s: divide by {factor:.4g}")  # fmt: skip
                elif 0.8 < ratio * factor < 1.25:
                    yield Finding(where, f"changes {1 / ratio:.3g} times faster than v.{name} says: {other}",
                                  f"Give {unit}: divide by {factor:.4g}")  # fmt: skip
                    degrees.append(name)
        if name in degrees:
            continue
        reach = float(np.max(np.abs(q)))
        limit = max(abs(joint.lower), abs(joint.upper))
        if not np.isfinite(limit):
            limit = 4 * np.pi if joint.kind != "prismatic" else np.inf
        if joint.kind != "prismatic" and reach > max(1.5 * limit, limit + 1) and reach / DEGREES <= 1.05 * limit:
            yield Finding(where, f"reaches {reach:.4g}, its limit is {limit:.3g} rad; {reach:.4g}° would be inside",
                          "Give radians: divide by 57.2958")  # fmt: skip
        elif joint.kind == "prismatic" and reach > 10 * limit and reach / 1000 <= 1.05 * limit:
            yield Finding(where, f"reaches {reach:.4g}, its limit is {limit:.3g} m; {reach:.4g} mm would be inside",
                          "Give metres: divide by 1000")  # fmt: skip


def _velocity_ratio(time: Array, q: Array, v: Array) -> float | None:
    """Slope of measured velocity against the rate of position; None where they do not go together."""
    dt = np.diff(time)
    rate, mean = np.diff(q) / dt, (v[1:] + v[:-1]) / 2
    if np.std(rate) == 0 or np.std(mean) == 0:
        return None
    correlation = float(np.corrcoef(rate, mean)[0, 1])
    return float(np.sqrt(np.mean(mean**2) / np.mean(rate**2))) if correlation > 0.7 else None


def _torques(robot: Robot, log: Log, samples: int = 200) -> Iterator[Finding]:
    """Torque against what the description needs for gravity, or a joint's effort limit, all joints together."""
    import pinocchio as pin

    measured = [j for j in robot.joints if log.has(f"tau.{j}")]
    if not measured:
        return
    peaks = {j: float(np.max(np.abs(log.columns[f"tau.{j}"]))) for j in measured}
    limits = {j: robot.description.joints[j].effort for j in measured}
    over = [peaks[j] / limits[j] for j in measured if np.isfinite(limits[j]) and limits[j] > 0 and peaks[j] > 0]
    factor = None
    if over and np.median(over) > 20:
        factor, why = float(np.median(over)), "times the joints' effort limits"
    elif not robot.floating and robot.coupling is None:
        rows = np.linspace(0, len(log) - 1, min(samples, len(log))).astype(int)
        q = np.column_stack([log.columns[f"q.{j}"][rows] for j in robot.joints])
        data = robot.model.createData()
        weight = np.array([pin.computeGeneralizedGravity(robot.model, data, x) for x in q])
        take = [robot.joints.index(j) for j in measured]
        needed = float(np.sqrt(np.mean(weight[:, take] ** 2)))
        tau = np.column_stack([log.columns[f"tau.{j}"][rows] for j in measured])
        if needed > 0.05:
            factor, why = float(np.sqrt(np.mean(tau**2)) / needed), "times what gravity asks for"
    if factor is not None and factor > 200:
        yield Finding(f"{log.source}, tau", f"is about {factor:.3g} {why}: N·mm or mN·m", "Give N·m: divide by 1000")
    elif factor is not None and 0 < factor < 1 / 200 and "gravity" in why:
        yield Finding(f"{log.source}, tau", f"is about {factor:.2g} {why}: kN·m, or motor side", "Give joint-side N·m")


def _inertial(log: Log) -> Iterator[Finding]:
    acc = log.vector("imu.acc")
    if acc is not None:
        size = float(np.median(np.linalg.norm(acc, axis=1)))
        where = f"{log.source}, imu.acc"
        if 0.7 < size < 1.4:
            yield Finding(where, f"has a median size of {size:.3g}: units of g", f"Give m/s²: multiply by {GRAVITY}")
        elif 700 < size / GRAVITY < 1400:
            yield Finding(where, f"has a median size of {size:.4g}: mm/s²", "Give m/s²: divide by 1000")
        elif size < 0.5 * GRAVITY:
            yield Finding(where, f"has a median size of {size:.3g} m/s²: gravity was taken out",
                          "Give the proper acceleration, about 9.81 upwards at rest")  # fmt: skip
    gyro, quaternion = log.vector("imu.gyro"), log.vector("base.quaternion", "xyzw")
    if gyro is not None and quaternion is not None:
        turn = np.sum(quaternion[1:] * quaternion[:-1], axis=1).clip(-1, 1)
        rate = 2 * np.arccos(np.abs(turn)) / np.diff(log.time)
        known, told = float(np.sqrt(np.mean(rate**2))), float(np.sqrt(np.mean(np.sum(gyro**2, axis=1))))
        if known > 0.02 and 0.8 < told / known / DEGREES < 1.25:
            yield Finding(f"{log.source}, imu.gyro", f"turns {told / known:.3g} times faster than base.quaternion: °/s",
                          "Give rad/s: divide by 57.2958")  # fmt: skip
