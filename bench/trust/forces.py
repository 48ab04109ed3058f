"""Loads and pushes: forces that act on a robot in motion, added to an exact log.

On an arm they are in the joint torques. On legged robots they act on the base, and the feet answer with the least
forces that balance them: the motion stays as it was, and the equations of motion hold.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from bench.trust.robots import Scene, arm_torques
from steelyard import inertia
from steelyard.equations.unknown_forces import foot, jacobian
from steelyard.spatial import WRENCH, Array

__all__ = ["arm_torques", "carry", "push"]
PULSE = 0.4  # s, of a push
PAUSE = 2.0  # s, between pushes, on average


def carry(scene: Scene, share: float, when: Array) -> Scene:
    """A cube of a share of the robot's mass, on its last body or on its base, at the times that ``when`` marks."""
    mass = share * sum(float(p[0]) for p in scene.truth.values())
    if scene.subject.kind == "arm":
        last = scene.robot.bodies[-1].name
        load = inertia.pack(mass, np.array([0.0, 0.0, 0.08]), mass * 0.1**2 / 6 * np.eye(3))
        loaded = arm_torques(scene, {**scene.truth, last: scene.truth[last] + load})
        return scene.with_matrix("tau", np.where(when[:, None], loaded, scene.matrix("tau")))
    top = float(scene.robot.bodies[0].box[1][2])
    load = pin.Inertia.FromDynamicParameters(
        inertia.pack(mass, np.array([0.05, 0.02, top]), mass * 0.1**2 / 6 * np.eye(3))
    )
    gyro, turn, proper = _base_motion(scene)
    wrench = np.zeros((len(when), 6))
    for k in np.flatnonzero(when):
        speed = pin.Motion(np.zeros(3), gyro[k])
        wrench[k] = (load * pin.Motion(proper[k], turn[k]) + speed.cross(load * speed)).vector
    return on_base(scene, wrench)


def push(scene: Scene, share: float, rng: np.random.Generator) -> Scene:
    """Pulses of a share of the robot's weight, in random directions: at the end of an arm, or on the base."""
    t, mass = scene.log.time, sum(float(p[0]) for p in scene.truth.values())
    force = np.zeros((len(t), 3))
    for start in np.cumsum(rng.exponential(PAUSE, int((t[-1] - t[0]) / PAUSE))) + t[0]:
        direction = rng.normal(size=3)
        wave = np.sin(np.pi * np.clip((t - start) / PULSE, 0, 1))
        force += share * 9.81 * mass * np.outer(wave, direction / np.linalg.norm(direction))
    if scene.subject.kind != "arm":
        return on_base(scene, -np.hstack([force, np.zeros_like(force)]))
    model, tau = scene.robot.model, scene.matrix("tau")
    data, last, q = model.createData(), scene.robot.bodies[-1].joint, scene.robot.positions(scene.matrix("q"))
    for k in np.flatnonzero(force.any(axis=1)):
        pin.computeJointJacobians(model, data, q[k])
        J = pin.getJointJacobian(model, data, last, pin.LOCAL_WORLD_ALIGNED)
        tau[k] -= J[:3].T @ force[k]
    return scene.with_matrix("tau", tau)


def on_base(scene: Scene, wrench: Array) -> Scene:
    """The feet also exert ``wrench``, (T, 6) in base axes at the base's origin."""
    robot, feet = scene.robot, [foot(scene.robot, text) for text in scene.feet]
    *_, proper = _base_motion(scene)
    up = proper / np.linalg.norm(proper, axis=1, keepdims=True)  # matters to the radius of the feet alone
    q, tau = robot.positions(scene.matrix("q")), scene.matrix("tau")
    data, parts = robot.model.createData(), np.zeros((len(feet), len(q), 6))
    for k in np.flatnonzero(wrench.any(axis=1)):
        pin.computeJointJacobians(robot.model, data, q[k])
        Jc = jacobian(robot, data, feet, up[k])
        force = np.linalg.pinv(Jc[:, :6].T) @ wrench[k]
        tau[k] -= (Jc.T @ force)[6 : 6 + tau.shape[1]]
        for i, (place, part) in enumerate(zip(feet, np.split(force, len(feet)), strict=True)):
            if place.surface:
                at = data.oMi[place.frame.joint] * pin.SE3(place.frame.placement)
                parts[i, k] = at.actInv(pin.Force(part)).vector
    columns: dict[str, Array] = {}
    for place, six in zip(feet, parts, strict=True):
        names = [f"wrench.{place.frame.name}.{c}" for c in WRENCH]
        columns |= {n: scene.log.columns[n] + six[:, c] for c, n in enumerate(names) if scene.log.has(n)}
    return scene.with_matrix("tau", tau).with_columns(columns)


def _base_motion(scene: Scene) -> tuple[Array, Array, Array]:
    """(T, 3) angular velocity, angular acceleration and proper acceleration of the base's origin, in base axes."""
    log, frame = scene.log, scene.log.metadata.get("imu_frame")
    mount = np.eye(4) if frame is None else scene.robot.on_base(scene.robot.frame(frame))
    gyro, acc = log.vector("imu.gyro"), log.vector("imu.acc")
    assert mount is not None
    assert gyro is not None
    assert acc is not None
    axes, lever = mount[:3, :3], mount[:3, 3]
    gyro, acc = gyro @ axes.T, acc @ axes.T
    turn = np.gradient(gyro, log.time, axis=0)
    return gyro, turn, acc - np.cross(turn, lever) - np.cross(gyro, np.cross(gyro, lever))
