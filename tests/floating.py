"""A floating robot that follows any smooth motion because its feet push as they must: exact logs without a simulator.

The base's six equations fix the feet's forces up to internal ones; torques follow. Feet may slide: the equations of
motion hold all the same, and neither slip nor friction cones matter to what is tested with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin

from steelyard.equations.unknown_forces import foot, jacobian
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH


def floating_log(
    robot: Robot,
    truth: Mapping[str, np.ndarray],
    feet: Sequence[str],
    *,
    seed: int = 0,
    seconds: float = 5.0,
    rate: float = 500.0,
    wrenches: bool = False,
    noise: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),  # q, gyro, acc, tau
    imu_frame: str | None = None,
    offsets: Mapping[str, np.ndarray] | None = None,  # of the robot's force–torque sensors
    mix: np.ndarray | None = None,  # (6+J, 6+J) applied to base position, roll pitch yaw and joints
    around: np.ndarray | None = None,  # (J,) posture; knees bent if None
    position: bool = False,
) -> Log:
    """Joint positions and torques, IMU, sensors; the feet's wrenches and the base's position where asked."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    J, n = len(robot.joints), 6 + len(robot.joints)
    w = 2 * np.pi * np.array([0.3, 0.7, 1.1, 1.7])
    phase, size = rng.uniform(0, 2 * np.pi, (4, n)), rng.normal(size=(4, n)) * 0.12
    angle = np.einsum("t,k->tk", t, w)[:, :, None] + phase
    x = np.sum(size * np.sin(angle), axis=1)
    dx = np.sum(size * w[:, None] * np.cos(angle), axis=1)
    ddx = np.sum(-size * (w**2)[:, None] * np.sin(angle), axis=1)
    if mix is not None:
        x, dx, ddx = (y @ mix.T for y in (x, dx, ddx))
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(np.asarray(truth[body.name]))
    free = model.copy()
    free.gravity.linear = np.zeros(3)
    free_data = free.createData()
    places = [foot(robot, text) for text in feet]
    S = np.eye(model.nv) if robot.coupling is None else robot.coupling
    crouch = np.array([{"hip": 0.0, "thigh": 0.8, "calf": -1.6, "knee": 0.6}.get(_kind(j), 0.1) for j in robot.joints])
    crouch = crouch if around is None else around
    columns: dict[str, list] = {}
    for k in range(len(t)):
        R = pin.rpy.rpyToMatrix(x[k, 3:6])
        omega = pin.rpy.computeRpyJacobian(x[k, 3:6], pin.LOCAL) @ dx[k, 3:6]
        turn = pin.rpy.computeRpyJacobian(x[k, 3:6], pin.LOCAL) @ ddx[k, 3:6]
        turn += pin.rpy.computeRpyJacobianTimeDerivative(x[k, 3:6], dx[k, 3:6], pin.LOCAL) @ dx[k, 3:6]
        proper = R.T @ (ddx[k, :3] + np.array([0, 0, 9.81]))
        q = crouch + x[k, 6:]
        state = (
            robot.positions(q[None])[0],
            robot.motion(np.concatenate([np.zeros(3), omega, dx[k, 6:]])[None])[0],
            robot.motion(np.concatenate([proper, turn, ddx[k, 6:]])[None])[0],
        )
        needed = S.T @ pin.rnea(free, free_data, *state)
        pin.computeJointJacobians(free, free_data, state[0])
        up = R.T @ np.array([0, 0, 1.0])
        Jc = jacobian(robot, free_data, places, up)
        inner = Jc[:, :6].T
        force = np.linalg.pinv(inner) @ needed[:6]
        swing = 5 * np.sin(2 * np.pi * 2.3 * t[k] + np.arange(len(force)))
        force += swing - np.linalg.pinv(inner) @ (inner @ swing)
        tau, reading = np.split((needed - Jc.T @ force)[6:], [J])
        mount = np.eye(4) if imu_frame is None else robot.frame(imu_frame).placement
        lever = mount[:3, 3]
        acc = mount[:3, :3].T @ (proper + np.cross(turn, lever) + np.cross(omega, np.cross(omega, lever)))
        values = {f"q.{j}": q[i] for i, j in enumerate(robot.joints)}
        values |= {f"tau.{j}": tau[i] for i, j in enumerate(robot.joints)}
        values |= {f"imu.gyro.{c}": y for c, y in zip("xyz", mount[:3, :3].T @ omega, strict=True)}
        values |= {f"imu.acc.{c}": y for c, y in zip("xyz", acc, strict=True)}
        values |= {f"sensor.{row}": y for row, y in zip(robot.readings, reading, strict=True)}
        quaternion = pin.Quaternion(R).coeffs()
        values |= {f"base.quaternion.{c}": y for c, y in zip("xyzw", quaternion, strict=True)}
        if position:
            values |= {f"base.position.{c}": y for c, y in zip("xyz", x[k, :3], strict=True)}
        if wrenches:
            for place, part in zip(places, np.split(force, len(places)), strict=True):
                at = free_data.oMi[place.frame.joint] * pin.SE3(place.frame.placement)
                if place.surface:
                    world = pin.Force(part)
                else:
                    point = free_data.oMi[place.frame.joint].act(place.centre) - place.radius * up
                    world = pin.Force(part, np.cross(point, part))
                local = at.actInv(world).vector
                values |= {f"wrench.{place.frame.name}.{c}": y for c, y in zip(WRENCH, local, strict=True)}
        for name, value in values.items():
            columns.setdefault(name, []).append(value)
    table = {name: np.array(values) for name, values in columns.items()}
    sigma = dict(zip(("q", "imu.gyro", "imu.acc", "tau"), noise, strict=True))
    for name in table:
        for kind, s in sigma.items():
            if s and name.startswith(kind + "."):
                table[name] = table[name] + s * rng.normal(size=len(t))
    for sensor, offset in (offsets or {}).items():
        for c, x in zip(WRENCH, offset, strict=True):
            table[f"sensor.{sensor}.{c}"] = table[f"sensor.{sensor}.{c}"] + x
    metadata = {"imu_frame": imu_frame} if imu_frame else {}
    return Log.from_columns({"time": t, **table}, metadata, f"floating {robot.name}")


def _kind(joint: str) -> str:
    return next((k for k in ("hip", "thigh", "calf", "knee") if k in joint.lower()), "other")
