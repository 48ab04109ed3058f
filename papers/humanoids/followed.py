"""A motion tracked exactly: ground reaction wrenches and joint torques of a true robot, by inverse dynamics.

The base's six equations determine the sum of the feet's wrenches; each foot gets its share of that, all of it in single
support. It takes a tenth of a second a motion where MuJoCo takes many, and has neither slip nor tracking error.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import WRENCH, XYZ, Array, rotation_from_quaternion

SHIFT = 20  # samples to either side over which a foot takes over


def follow(robot: Robot, motion: Log, truth: Mapping[str, Array]) -> Log:
    """The exact log of a motion (``steelyard excite``): joints, torques, IMU on the base's origin, feet."""
    q, v, a = (np.column_stack([motion.columns[f"{k}.{j}"] for j in robot.joints]) for k in "qva")
    R = rotation_from_quaternion(_vector(motion, "base.quaternion", "xyzw"))
    gyro, alpha = (_vector(motion, f"base.angular_{name}") for name in ("velocity", "acceleration"))
    acc = _vector(motion, "base.acceleration") + GRAVITY * R[:, 2, :]
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(np.asarray(truth[body.name]))
    model.gravity.linear = np.zeros(3)
    data, soles = model.createData(), find_soles(robot)
    shares = _shares(np.column_stack([motion.columns[f"contact.{s.name}"] for s in soles]))
    states = robot.positions(q), robot.motion(np.hstack([0 * acc, gyro, v])), robot.motion(np.hstack([acc, alpha, a]))
    wrench, tau = np.zeros((len(soles), len(q), 6)), np.zeros_like(q)
    for t, state in enumerate(zip(*states, strict=True)):
        needed = pin.rnea(model, data, *state)
        pin.computeJointJacobians(model, data, state[0])
        tau[t] = needed[6:]
        for k, sole in enumerate(soles):
            force = pin.Force(shares[t, k] * needed[:6])
            foot = data.oMi[sole.joint] * pin.SE3(robot.frame(sole.name).placement)
            wrench[k, t] = foot.actInv(force).vector
            tau[t] -= (pin.getJointJacobian(model, data, sole.joint, pin.WORLD).T @ force.vector)[6:]
    columns = {"time": motion.time} | {f"q.{j}": q[:, k] for k, j in enumerate(robot.joints)}
    columns |= {f"tau.{j}": tau[:, k] for k, j in enumerate(robot.joints)}
    columns |= {f"imu.gyro.{c}": gyro[:, k] for k, c in enumerate(XYZ)}
    columns |= {f"imu.acc.{c}": acc[:, k] for k, c in enumerate(XYZ)}
    for k, sole in enumerate(soles):
        columns |= {f"wrench.{sole.name}.{c}": wrench[k, :, i] for i, c in enumerate(WRENCH)}
    return Log.from_columns(columns, {"simulation": {"fell": None}}, motion.source)


def _vector(motion: Log, name: str, components: str = "xyz") -> Array:
    vector = motion.vector(name, components)
    assert vector is not None
    return vector


def _shares(standing: Array) -> Array:
    """(T, 2) of the weight, from whether feet stand."""
    even = np.ones(2 * SHIFT + 1) / (2 * SHIFT + 1)
    padded = np.pad(standing, ((SHIFT, SHIFT), (0, 0)), mode="edge")
    smooth = np.apply_along_axis(np.convolve, 0, padded, even, "valid")
    return np.asarray(smooth / smooth.sum(axis=1, keepdims=True))
