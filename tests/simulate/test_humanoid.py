"""Humanoids that differ from their description stand on their soles, play motions, and write true logs."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from steelyard.log import WRENCH, XYZ, Log
from steelyard.robot import Robot
from steelyard.simulate.humanoid import simulate_humanoid
from steelyard.simulate.truth import reweighed
from steelyard.soles import find_soles
from tests.simulate.humanoids import Stance, humanoid

ROBOTS = ("talos", "g1")


def residuals(robot: Robot, log: Log) -> np.ndarray:
    """(T, 6 + J) of the equation of motion, by Pinocchio, with the true parameters."""
    model, soles = robot.model.copy(), find_soles(robot)
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(
            np.array(log.metadata["truth"]["parameters"][body.name])
        )
    data, joints = model.createData(), robot.joints

    def columns(kind: str) -> np.ndarray:
        return np.column_stack([log.columns[f"{kind}.{j}"] for j in joints])

    velocity, spin = log.vector("base.velocity"), log.vector("base.angular_velocity")
    pose = log.vector("base.quaternion", "xyzw")
    Q = np.hstack([log.vector("base.position"), pose, columns("q")])
    V = np.hstack([velocity, spin, columns("v")])
    linear = log.vector("base.acceleration") - np.cross(spin, velocity)
    A = np.hstack([linear, log.vector("base.angular_acceleration"), columns("a")])
    feet = [log.vector(f"wrench.{s.name}", WRENCH) for s in soles]
    tau, out = columns("tau"), np.zeros(V.shape)
    for k, (q, v, a) in enumerate(zip(Q, V, A, strict=True)):
        out[k] = pin.rnea(model, data, q, v, a)
        out[k, 6:] -= tau[k]
        pin.computeJointJacobians(model, data, q)
        for s, w in zip(soles, feet, strict=True):
            out[k] -= pin.getJointJacobian(model, data, s.joint, pin.LOCAL).T @ w[k]
    return out


@pytest.mark.parametrize("name", ROBOTS)
def test_a_humanoid_that_is_not_as_described_plays_a_motion_and_every_equation_of_its_log_holds(name):
    robot = humanoid(name)
    motion = Stance(robot).motion(2.5, arms=0.2)
    truth = reweighed(robot, np.random.default_rng(1))
    log = simulate_humanoid(robot, motion, truth=truth)
    assert log.metadata["simulation"]["fell"] is None
    assert len(log) == 501
    assert np.sqrt(np.mean(residuals(robot, log) ** 2)) < 1e-5
    for joint in robot.joints:
        assert np.abs(log.columns[f"q.{joint}"] - motion.columns[f"q.{joint}"]).max() < 0.05
    assert np.abs(log.vector("base.position") - motion.vector("base.position", XYZ)).max() < 0.01
    weight = sum(log.columns[f"wrench.{s.name}.fz"][0] for s in find_soles(robot))
    assert weight == pytest.approx(9.81 * sum(p[0] for p in truth.values()), rel=1e-2)
