"""Do the measured forces carry the robot? Their mean vertical part, over g, is what the robot weighs.

Judged from the raw log before anything is fitted: forces in kgf or in mN, a sign that is reversed, and feet that do not
stand level though only their normal force is measured. Only what is plainly a factor of 9.81 or more off is refused.
"""

from __future__ import annotations

import numpy as np

from steelyard.equations.base_motion import imu_mount
from steelyard.equations.missing import Missing
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import Foot
from steelyard.errors import Finding
from steelyard.log.force_plate import plate_pose
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import WRENCH, Array

NEAR = 1.25  # two sizes are the same if neither is more than this times the other
UNITS = (("kgf", 1 / 9.80665), ("mN", 1e3), ("kN", 1e-3), ("gf", 1e3 / 9.80665))  # number that stands for 1 N
FAR = 1.5  # times the description's mass, or less than its inverse: worth a note
DOWN = 0.05  # of the weight: mean forces that push down by more than this have the wrong sign
LOOKED_AT = 400  # samples, of all logs together
UNSEEN = 0.1  # share of a vertical force that unmeasured components may take before it tells nothing
LOADED = 0.1  # of the weight: a foot with more than this stands on the ground
TILTED, LYING = 10.0, 45.0  # degrees between a level foot's z and up: worth a note, and not level at all


def weight_findings(setup: Setup, log: Log, samples: int = LOOKED_AT) -> tuple[list[Finding], list[str]]:
    """What is wrong with the forces on a floating robot that nothing else holds, and what is worth a note."""
    robot, feet = setup.robot, any(isinstance(u, Foot) for u in setup.unknown)
    rows = np.linspace(0, len(log) - 1, min(samples, len(log))).astype(int)
    held = robot.floating and setup.equations in ("base", "full") and not feet
    if not held or (told := _up(robot, log, rows)) is None:
        return [], []
    source, up = told
    upwards = {f"wrench.{f}": np.einsum("ti,tij->tj", up, R) for f, R in _axes(robot, log, rows).items()}
    if setup.equations == "base":
        upwards |= {f"plate.{p}": np.tile(plate_pose(log, p)[2, :3], (len(rows), 1)) for p in log.names("plate")}
    mass = float(sum(body.parameters[0] for body in robot.bodies))
    findings, notices = [], []
    vertical, unseen = np.zeros(len(rows)), 0.0
    missing = {m.column: m for m in setup.unknown if isinstance(m, Missing)}
    for column, along in upwards.items():  # (T, 3) up in the axes of the frame or plate
        force = np.column_stack([log.columns.get(f"{column}.{c}", np.zeros(len(log)))[rows] for c in WRENCH[:3]])
        vertical += np.sum(force * along, axis=1)
        if (m := missing.get(column)) is None:
            continue
        lost = [i for i in m.components if i < 3]
        unseen = max(unseen, float(np.median(np.sum(along[:, lost] ** 2, axis=1))))
        loaded = np.abs(force[:, 2]) > LOADED * mass * GRAVITY
        if m.level and loaded.any():
            tilt = np.degrees(np.arccos(np.clip(np.abs(along[loaded, 2]), 0, 1)))
            if (most := float(np.median(tilt))) > LYING:
                what = f"measures fz alone, and its z is {most:.0f}° from vertical while it carries load"
                fix = "Name the frame whose z is normal to the sole, or log fx and fy too"
                findings.append(Finding("todo", f"{log.source}, {column}", what, fix))
            elif (most := float(np.max(tilt))) > TILTED:
                share = 100 * float(np.mean(tilt > TILTED))
                what = f"tilts by up to {most:.0f}° while it carries load (beyond {TILTED:.0f}° in {share:.0f} % of it)"
                notices.append(f"{log.source}, {column}: {what}, so its shear is not quite horizontal there")
    if upwards and not findings and unseen < UNSEEN:
        kinds = " and ".join(dict.fromkeys(column.split(".")[0] for column in upwards))
        where, carried = f"{log.source}, {kinds}", float(np.mean(vertical)) / GRAVITY
        says = f"carries {carried:.3g} kg, all taken together, of a robot of {mass:.3g} kg"
        findings += _carried(where, says, carried / mass, source, twice=" and " in kinds)
        if not findings and not 1 / FAR < carried / mass < FAR:
            notices.append(f"{where}: {says}: is everything logged that touches it?")
    return findings, notices


def _carried(where: str, told: str, ratio: float, source: str, twice: bool) -> list[Finding]:
    """``ratio``: mass by the forces, if they are N, to that of the description. ``source``: who told what is up.

    ``twice``: whether a force may have been measured by a wrench and by a plate.
    """
    if ratio < -DOWN:
        what = f"{told}: it pushes down, if {source} is right about what is up"
        return [
            Finding("todo", where, what, "Give the force of the world on the robot, in the frame's axes: negate it")
        ]
    if twice and 2 / NEAR < ratio < 2 * NEAR:
        what = f"{told}: a foot that has a wrench stands on a plate, and counts twice"
        return [Finding("todo", where, what, "Leave the columns of one of the two out")]
    for unit, size in UNITS:
        if 1 / NEAR < ratio / size < NEAR:
            return [Finding("todo", where, f"{told}: {unit}", f"Give N: multiply by {1 / size:.6g}")]
    return []


def _up(robot: Robot, log: Log, rows: Array, seconds: float = 1.0) -> tuple[str, Array] | None:
    """Who says so, and (T, 3) the unit vector against gravity in base axes: orientation or smoothed accelerometer.

    None where neither is there, or where they disagree: something else is wrong then, and is found elsewhere.
    """
    found: dict[str, Array] = {}
    if (quaternion := log.vector("base.quaternion", "xyzw")) is not None:
        x, y, z, w = quaternion[rows].T
        up = np.column_stack([2 * (x * z - y * w), 2 * (y * z + x * w), w * w + z * z - x * x - y * y])
        found["base.quaternion"] = up @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T
    if (acc := log.vector("imu.acc")) is not None:
        half = max(1, int(seconds / (2 * float(np.median(np.diff(log.time))))))
        sums = np.vstack([np.zeros(3), np.cumsum(acc, axis=0)])
        low, high = np.maximum(rows - half, 0), np.minimum(rows + half + 1, len(acc))
        up = (sums[high] - sums[low]) / (high - low)[:, None]
        found["imu.acc"] = up @ imu_mount(robot, log)[:3, :3].T
    found = {k: u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-12) for k, u in found.items()}
    apart = np.sum(np.prod(list(found.values()), axis=0), axis=-1)
    if not found or (len(found) == 2 and np.median(apart) < np.cos(np.radians(LYING))):
        return None
    return next(iter(found.items()))


def _axes(robot: Robot, log: Log, rows: Array) -> dict[str, Array]:
    """Frame → (T, 3, 3) its axes in base axes."""
    import pinocchio as pin

    data = robot.model.createData()
    q = np.column_stack([log.columns[f"q.{j}"][rows] for j in robot.joints])
    frames = {name: robot.frame(name) for name in log.names("wrench")}
    axes = {name: np.empty((len(rows), 3, 3)) for name in frames}
    for t, x in enumerate(robot.positions(q)):
        pin.forwardKinematics(robot.model, data, x)
        for name, frame in frames.items():
            axes[name][t] = data.oMi[frame.joint].rotation @ frame.placement[:3, :3]
    return axes
