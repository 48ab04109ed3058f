"""Consistency of measured contact forces with the robot's weight: their mean vertical part, over g, is its mass.

Judged from the raw log before anything is fitted: forces in kgf or in mN, a reversed sign, and feet that do not stand
level though only their normal force is measured. Only forces wrong by a factor of 9.81 or more are refused here; other
factors are judged by ``checks/carried_weight.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.equations.base_motion import imu_mount
from steelyard.equations.missing import Missing
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import Foot
from steelyard.errors import Finding, note
from steelyard.log.force_plate import plate_pose
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import WRENCH, Array

NEAR = 1.25  # ratio up to which two magnitudes count as equal
UNITS = (("kgf", 1 / 9.80665), ("mN", 1e3), ("kN", 1e-3), ("gf", 1e3 / 9.80665))  # value of 1 N in each unit
DOWN = 0.05  # of the weight: mean forces that push down by more have the wrong sign
SAMPLES = 400  # evaluated, of all logs together
UNMEASURED = 0.1  # largest share of up along unmeasured components for the vertical force to be judged
LOADED = 0.1  # of the weight: a foot with more is in contact
TILTED, NOT_LEVEL = 10.0, 45.0  # degrees between a level foot's z and up: for a notice, and for a refusal


@dataclass(frozen=True)
class SupportingForce:
    """Measured forces of the world on a floating robot, along the vertical."""

    vertical: Mapping[str, Array]  # ``wrench.F`` or ``plate.P`` → (T,) N, upwards
    mass: float  # kg, of the described robot
    source: str  # columns that gave the direction of up
    findings: tuple[Finding, ...]  # about feet that do not stand level
    notices: tuple[Finding, ...]
    unmeasured: float  # largest share of up along components that are not measured

    @property
    def judged(self) -> bool:
        """Whether the vertical force is known."""
        return bool(self.vertical) and not self.findings and self.unmeasured < UNMEASURED

    @property
    def carried(self) -> float:
        """Mean vertical force over g, kg."""
        return float(np.mean(np.sum(list(self.vertical.values()), axis=0))) / GRAVITY

    @property
    def kinds(self) -> str:
        """Kinds of the columns: ``wrench``, ``plate``, or both."""
        return " and ".join(dict.fromkeys(column.split(".")[0] for column in self.vertical))


def weight_findings(setup: Setup, log: Log, samples: int = SAMPLES) -> tuple[list[Finding], list[Finding]]:
    """Findings and notices about the contact forces on a floating robot whose contacts are all measured."""
    force = supporting_force(setup, log, np.linspace(0, len(log) - 1, min(samples, len(log))).astype(int))
    if force is None:
        return [], []
    findings = list(force.findings)
    if force.judged:
        shown = f"carries {force.carried:.3g} kg in total, of a robot of {force.mass:.3g} kg"
        ratio = force.carried / force.mass
        findings += _weight_finding(f"{log.source}, {force.kinds}", force.kinds, shown, ratio, force.source)
    return findings, list(force.notices)


def supporting_force(setup: Setup, log: Log, rows: Array) -> SupportingForce | None:
    """Vertical contact forces at some rows of the log; None where not all contacts are measured, or up is unknown."""
    robot, feet = setup.robot, any(isinstance(u, Foot) for u in setup.unknown)
    measured = robot.floating and setup.equations in ("base", "full") and not feet
    if not measured or (estimated := _up(robot, log, rows)) is None:
        return None
    source, up = estimated
    upwards = {f"wrench.{f}": np.einsum("ti,tij->tj", up, R) for f, R in _axes(robot, log, rows).items()}
    if setup.equations == "base":
        upwards |= {f"plate.{p}": np.tile(plate_pose(log, p)[2, :3], (len(rows), 1)) for p in log.names("plate")}
    mass = float(sum(body.parameters[0] for body in robot.bodies))
    findings, notices = [], []
    vertical, unmeasured = dict[str, Array](), 0.0
    missing = {m.column: m for m in setup.unknown if isinstance(m, Missing)}
    for column, along in upwards.items():  # (T, 3) up in the axes of the frame or plate
        force = np.column_stack([log.columns.get(f"{column}.{c}", np.zeros(len(log)))[rows] for c in WRENCH[:3]])
        vertical[column] = np.sum(force * along, axis=1)
        if (m := missing.get(column)) is None:
            continue
        absent = [i for i in m.components if i < 3]
        unmeasured = max(unmeasured, float(np.median(np.sum(along[:, absent] ** 2, axis=1))))
        loaded = np.abs(force[:, 2]) > LOADED * mass * GRAVITY
        if m.level and loaded.any():
            tilt = np.degrees(np.arccos(np.clip(np.abs(along[loaded, 2]), 0, 1)))
            if (most := float(np.median(tilt))) > NOT_LEVEL:
                what = f"has fz alone, and the frame's z is {most:.0f}° from vertical while loaded"
                fix = "Use the frame whose z is normal to the sole, or log fx and fy too"
                findings.append(Finding("foot-not-level", f"{log.source}, {column}", what, fix))
            elif (most := float(np.max(tilt))) > TILTED:
                share = 100 * float(np.mean(tilt > TILTED))
                what = f"tilts by up to {most:.0f}° while loaded (beyond {TILTED:.0f}° in {share:.0f} % of that time)"
                where, why = f"{log.source}, {column}", "its unmeasured shear is not quite horizontal"
                notices.append(note("foot-tilted", where, f"{where}: {what}: {why}", degrees=most, share=share))
    return SupportingForce(vertical, mass, source, tuple(findings), tuple(notices), unmeasured)


def _weight_finding(where: str, kinds: str, shown: str, ratio: float, source: str) -> Iterator[Finding]:
    """Wrong sign, unit or double counting of contact forces.

    Args:
        where: Log and columns.
        kinds: ``wrench``, ``plate``, or both.
        shown: The masses, as text.
        ratio: Mass from the forces, taken as N, to the description's.
        source: Columns that gave the direction of up.
    """
    if ratio < -DOWN:
        what = f"{shown}: it pushes down, with up taken from {source}"
        fix = "Negate it: the force of the world on the robot is needed, in the frame's axes"
        yield Finding("sign-reversed", where, what, fix, {"negate": kinds})
    elif " and " in kinds and 2 / NEAR < ratio < 2 * NEAR:
        what = f"{shown}: a foot with a wrench stands on a plate, so its force is measured twice"
        yield Finding("force-measured-twice", where, what, "Drop the columns of one of the two")
    else:
        for unit, size in UNITS:
            if 1 / NEAR < ratio / size < NEAR:
                remedy = {"column": kinds, "unit": unit, "scale": 1 / size}
                yield Finding("column-unit", where, f"{shown}: {unit}", f"Multiply by {1 / size:.6g} for N", remedy)


def _up(robot: Robot, log: Log, rows: Array, seconds: float = 1.0) -> tuple[str, Array] | None:
    """Source, and (T, 3) the unit vector against gravity in base axes: orientation or smoothed accelerometer.

    None where neither is logged, or where they disagree, which is another check's finding.
    """
    estimates: dict[str, Array] = {}
    if (quaternion := log.vector("base.quaternion", "xyzw")) is not None:
        x, y, z, w = quaternion[rows].T
        up = np.column_stack([2 * (x * z - y * w), 2 * (y * z + x * w), w * w + z * z - x * x - y * y])
        estimates["base.quaternion"] = up @ imu_mount(robot, log, "quaternion_frame")[:3, :3].T
    if (acc := log.vector("imu.acc")) is not None:
        half = max(1, int(seconds / (2 * float(np.median(np.diff(log.time))))))
        sums = np.vstack([np.zeros(3), np.cumsum(acc, axis=0)])
        low, high = np.maximum(rows - half, 0), np.minimum(rows + half + 1, len(acc))
        up = (sums[high] - sums[low]) / (high - low)[:, None]
        estimates["imu.acc"] = up @ imu_mount(robot, log)[:3, :3].T
    estimates = {k: u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-12) for k, u in estimates.items()}
    apart = np.sum(np.prod(list(estimates.values()), axis=0), axis=-1)
    if not estimates or (len(estimates) == 2 and np.median(apart) < np.cos(np.radians(NOT_LEVEL))):
        return None
    return next(iter(estimates.items()))


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
