"""Random bodies, parameters and motions that the tests share; physical, but nothing like the descriptions."""

from functools import lru_cache

import numpy as np
import pytest

from steelyard import inertia
from steelyard.equations.segment import Segment
from steelyard.robot import index
from steelyard.robot.model import Robot

installed = pytest.mark.skipif(not index._example_robot_data(), reason="example-robot-data is not installed")
ROBOTS = ("a1", "go2", "anymal", "talos", "g1", "panda", "ur10")
FLOATING = ROBOTS[:5]
A1_FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
SENSORS = {
    "a1": ("FR_foot", "RL_foot_fixed", "FR_foot_fixed"),  # two in one weld
    "talos": ("wrist_left_ft_joint", "gripper_left_base_link"),
    "panda": ("panda_hand_joint",),
    "ur10": ("world_joint",),
}


@lru_cache
def load(name, **options):
    return Robot.load(name, **options)


def physical(rng, mass, size):
    """Ten parameters of a random solid body of about this mass and size."""
    A = rng.normal(size=(3, 3)) * size / 4
    covariance = A @ A.T + (0.05 * size) ** 2 * np.eye(3)
    m = mass * rng.uniform(0.5, 1.5)
    return inertia.pack(m, rng.uniform(-size, size, 3), m * (np.trace(covariance) * np.eye(3) - covariance))


def parameters(robot, rng):
    """Body name → ten random physical parameters."""
    return {b.name: physical(rng, b.parameters[0], b.size) for b in robot.bodies}


def segment(robot, rng, samples=5, rate=100.0):
    """Unrelated random states, one a sample."""
    J = len(robot.joints)
    base = [rng.normal(size=(samples, 3)) * k for k in (1.0, 3.0, 5.0)] if robot.floating else [None] * 3
    up = None
    if robot.floating:
        up = rng.normal(size=(samples, 3))
        up /= np.linalg.norm(up, axis=1, keepdims=True)
    q, v, a = (k * rng.normal(size=(samples, J)) for k in (1.0, 1.0, 3.0))
    tau = rng.normal(size=(samples, J))
    return Segment(np.arange(samples) / rate, rate, q, v, a, tau, {}, *base, up, {})


def smooth(robot, seed, samples=400, rate=200.0, amplitude=0.3, around=0.0):
    """A motion of a few slow sines, with exact derivatives; the base turns, tilts and accelerates."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / rate
    J = len(robot.joints)

    def sines(n):
        w, p, A = rng.uniform(1, 6, (3, n)), rng.uniform(0, 2 * np.pi, (3, n)), rng.uniform(0.3, 1, (3, n))
        x = w * t[:, None, None] + p
        return (A * np.sin(x)).sum(1), (A * w * np.cos(x)).sum(1), (-A * w * w * np.sin(x)).sum(1)

    q, v, a = (amplitude * x for x in sines(J))
    gyro = alpha = acc = up = None
    if robot.floating:
        lean, gyro, alpha = (0.2 * x for x in sines(3))
        acc = np.array([0, 0, 9.81]) + sines(3)[0]
        up = np.array([0, 0, 1.0]) + lean
        up /= np.linalg.norm(up, axis=1, keepdims=True)
    return Segment(t, rate, around + q, v, a, np.zeros((samples, J)), {}, gyro, alpha, acc, up, {})


def rotation(rng):
    """A random rotation (3, 3)."""
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.sign(np.linalg.det(Q))


def standing(robot):
    """Knees bent."""
    bends = {"thigh": 0.8, "calf": -1.6, "hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    bends |= {"leg_left_3": -0.4, "leg_left_4": 0.8, "leg_left_5": -0.4}
    bends |= {"leg_right_3": -0.4, "leg_right_4": 0.8, "leg_right_5": -0.4}
    return np.array([next((b for k, b in bends.items() if k in joint), 0.0) for joint in robot.joints])


def carrying(robot, truth, link, load):
    """True parameters of the bodies once a load sits on a link."""
    body = robot.body(link)
    return truth | {body.name: truth[body.name] + inertia.transform(load, robot.frames[link].placement)}
