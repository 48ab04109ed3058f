"""A floating robot on a prescribed motion, without a physics engine: feet push as the motion requires.

The six equations of the floating base determine the contact forces up to internal ones; joint torques follow by
inverse dynamics. Feet may slide: the equations of motion hold all the same, but slip and friction cones are not
modelled. For gaits that a real robot can carry out use ``simulate_quadruped`` and ``simulate_humanoid``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard.equations.unknown_forces import Foot, foot, jacobian
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH, XYZ, Array

FREQUENCIES = (0.3, 0.7, 1.1, 1.7)  # Hz: slow enough for a low-pass of 10 Hz, no two of them multiples of each other
AMPLITUDE = 0.12  # m or rad, standard deviation of each sine's amplitude
INTERNAL_FORCE = 5.0  # N or N·m, amplitude of contact forces that the base's equations do not show
INTERNAL_FREQUENCY = 2.3  # Hz, not one of the motion's
CROUCH = {"hip": 0.0, "thigh": 0.8, "calf": -1.6, "knee": 0.6}  # rad, by a part of the joint's name
OTHER_JOINTS = 0.1  # rad


@dataclass(frozen=True)
class FloatingMotion:
    """Coordinates of base and joints with two derivatives; columns: x y z (m), roll pitch yaw (rad), joints."""

    time: Array  # (T,) s
    position: Array  # (T, 6+J)
    velocity: Array  # (T, 6+J)
    acceleration: Array  # (T, 6+J)


def random_sines(
    robot: Robot,
    rng: np.random.Generator,
    *,
    seconds: float = 5.0,
    rate: float = 500.0,
    mix: Array | None = None,
    around: Array | None = None,
) -> FloatingMotion:
    """Draw a smooth motion: every coordinate a sum of sines of random amplitude and phase.

    Args:
        robot: On a floating base.
        rng: Source of amplitudes and phases.
        seconds: Duration.
        rate: Samples per second.
        mix: (6+J, 6+J) linear map of the drawn coordinates; rows of zeros hold a coordinate still.
        around: (J,) posture about which the joints move, rad or m; default knees bent.

    Returns:
        The motion with exact derivatives.
    """
    t = np.arange(int(seconds * rate)) / rate
    n, w = 6 + len(robot.joints), 2 * np.pi * np.array(FREQUENCIES)
    phase = rng.uniform(0, 2 * np.pi, (len(w), n))
    size = AMPLITUDE * rng.normal(size=(len(w), n))
    angle = np.outer(t, w)[:, :, None] + phase
    x = np.sum(size * np.sin(angle), axis=1)
    dx = np.sum(size * w[:, None] * np.cos(angle), axis=1)
    ddx = np.sum(-size * (w**2)[:, None] * np.sin(angle), axis=1)
    if mix is not None:
        x, dx, ddx = (y @ mix.T for y in (x, dx, ddx))
    x[:, 6:] += crouched(robot) if around is None else around
    return FloatingMotion(t, x, dx, ddx)


def crouched(robot: Robot) -> Array:
    """(J,) joint positions of a legged robot with bent knees, by the joints' names."""
    kinds = [next((k for k in CROUCH if k in joint.lower()), None) for joint in robot.joints]
    return np.array([OTHER_JOINTS if kind is None else CROUCH[kind] for kind in kinds])


def simulate_floating(
    robot: Robot,
    truth: Mapping[str, Array],
    feet: Sequence[str],
    motion: FloatingMotion,
    *,
    imu_frame: str | None = None,
    wrenches: bool = False,
) -> Log:
    """Compute the exact log of a floating robot that follows a motion; ``sensors.measure`` adds noise.

    Args:
        robot: On a floating base.
        truth: Ten parameters of every body.
        feet: In contact all the time, as the option ``feet`` takes them.
        motion: Of base and joints.
        imu_frame: Frame of the IMU; default the base's.
        wrenches: Whether to record the wrenches of the ground on the feet.

    Returns:
        Joint positions and torques, IMU, force–torque sensors, pose of the base.
    """
    dynamics = _Dynamics(robot, truth, [foot(robot, text) for text in feet], imu_frame)
    instants = zip(motion.time, motion.position, motion.velocity, motion.acceleration, strict=True)
    rows = [dynamics.columns(*instant, wrenches) for instant in instants]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    metadata = {"imu_frame": imu_frame} if imu_frame else {}
    return Log.from_columns({"time": motion.time, **columns}, metadata, f"floating {robot.name}")


class _Dynamics:
    """Inverse dynamics of one instant, and the readings of all sensors."""

    def __init__(self, robot: Robot, truth: Mapping[str, Array], feet: Sequence[Foot], imu_frame: str | None):
        self.robot, self.feet = robot, feet
        self.model: Any = robot.model.copy()
        for body in robot.bodies:
            self.model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(np.asarray(truth[body.name]))
        self.model.gravity.linear = np.zeros(3)  # gravity is in the base's proper acceleration
        self.data = self.model.createData()
        self.coupling = np.eye(self.model.nv) if robot.coupling is None else robot.coupling
        self.mount = np.eye(4) if imu_frame is None else robot.frame(imu_frame).placement

    def columns(self, time: float, x: Array, dx: Array, ddx: Array, wrenches: bool) -> dict[str, float]:
        """Column → value at one instant."""
        R = pin.rpy.rpyToMatrix(x[3:6])
        to_spin = pin.rpy.computeRpyJacobian(x[3:6], pin.LOCAL)
        spin = to_spin @ dx[3:6]
        spin_rate = to_spin @ ddx[3:6]
        spin_rate += pin.rpy.computeRpyJacobianTimeDerivative(x[3:6], dx[3:6], pin.LOCAL) @ dx[3:6]
        proper = R.T @ (ddx[:3] + np.array([0, 0, 9.81]))
        q, up = x[6:], R.T @ np.array([0, 0, 1.0])
        tau, reading, force = self._forces(
            time,
            self.robot.positions(q[None])[0],
            self.robot.motion(np.concatenate([np.zeros(3), spin, dx[6:]])[None])[0],
            self.robot.motion(np.concatenate([proper, spin_rate, ddx[6:]])[None])[0],
            up,
        )
        axes, lever = self.mount[:3, :3], self.mount[:3, 3]
        acc = axes.T @ (proper + np.cross(spin_rate, lever) + np.cross(spin, np.cross(spin, lever)))
        values = {f"q.{j}": q[i] for i, j in enumerate(self.robot.joints)}
        values |= {f"tau.{j}": tau[i] for i, j in enumerate(self.robot.joints)}
        values |= {f"imu.gyro.{c}": y for c, y in zip(XYZ, axes.T @ spin, strict=True)}
        values |= {f"imu.acc.{c}": y for c, y in zip(XYZ, acc, strict=True)}
        values |= {f"sensor.{row}": y for row, y in zip(self.robot.readings, reading, strict=True)}
        values |= {f"base.quaternion.{c}": y for c, y in zip("xyzw", pin.Quaternion(R).coeffs(), strict=True)}
        values |= {f"base.position.{c}": y for c, y in zip(XYZ, x[:3], strict=True)}
        if wrenches:
            for place, part in zip(self.feet, np.split(force, len(self.feet)), strict=True):
                local = self._wrench(place, part, up)
                values |= {f"wrench.{place.frame.name}.{c}": y for c, y in zip(WRENCH, local, strict=True)}
        return values

    def _forces(self, time: float, q: Array, v: Array, a: Array, up: Array) -> tuple[Array, Array, Array]:
        """Joint torques (J,), sensor readings, and contact forces: the least ones plus internal ones that vary."""
        needed = self.coupling.T @ pin.rnea(self.model, self.data, q, v, a)
        pin.computeJointJacobians(self.model, self.data, q)
        Jc = jacobian(self.robot, self.data, self.feet, up)
        on_base = Jc[:, :6].T
        force = np.linalg.pinv(on_base) @ needed[:6]
        internal = INTERNAL_FORCE * np.sin(2 * np.pi * INTERNAL_FREQUENCY * time + np.arange(len(force)))
        force += internal - np.linalg.pinv(on_base) @ (on_base @ internal)
        tau, reading = np.split((needed - Jc.T @ force)[6:], [len(self.robot.joints)])
        return tau, reading, force

    def _wrench(self, place: Foot, force: Array, up: Array) -> Array:
        """(6,) of the ground on a foot, at its frame's origin, in its axes."""
        joint = self.data.oMi[place.frame.joint]
        at = joint * pin.SE3(place.frame.placement)
        if place.surface:
            world = pin.Force(force)
        else:
            point = joint.act(place.centre) - place.radius * up
            world = pin.Force(force, np.cross(point, force))
        return np.asarray(at.actInv(world).vector)
