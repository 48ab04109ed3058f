"""An arm on a Fourier motion: torques by Pinocchio's recursive Newton–Euler, friction, sensor noise, known truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from steelyard.errors import Finding, LogError
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array


@dataclass(frozen=True)
class ArmNoise:
    """Standard deviations of sensor noise."""

    q: float = 1e-4  # rad or m
    tau: float = 0.01  # over each joint's rms torque


NOISE = {"none": ArmNoise(0, 0), "low": ArmNoise(1e-5, 0.003), "mid": ArmNoise(), "high": ArmNoise(5e-4, 0.03)}


@dataclass(frozen=True)
class Friction:
    """Friction, armature and offset of the joints, one value each."""

    viscous: Array  # N·m·s/rad
    coulomb: Array  # N·m
    armature: Array  # kg·m²
    offset: Array  # N·m

    @classmethod
    def random(cls, robot: Robot, rng: np.random.Generator) -> Friction:
        """Draw in proportion to the joints' effort limits (50 N·m where there is none)."""
        efforts = [robot.description.joints[j].effort for j in robot.joints]
        effort = np.array([e if np.isfinite(e) and e > 0 else 50.0 for e in efforts])
        u = rng.uniform(0.5, 1.5, (4, len(effort)))
        return cls(0.03 * effort * u[0], 0.02 * effort * u[1], 0.002 * effort * u[2], 0.004 * effort * (u[3] - 1))

    def by_joint(self, robot: Robot) -> dict[str, dict[str, float]]:
        """Joint → term → value, for files."""
        return {
            joint: {term: float(values[k]) for term, values in vars(self).items()}
            for k, joint in enumerate(robot.joints)
        }

    def torque(self, v: Array, a: Array) -> Array:
        """(T, J) torque beyond that of the rigid bodies."""
        return np.asarray(self.viscous * v + self.coulomb * np.sign(v) + self.armature * a + self.offset)


def fourier_motion(
    robot: Robot, rng: np.random.Generator, seconds: float, rate: float, harmonics: int = 5, reach: float = 0.6
) -> tuple[Array, Array, Array, Array]:
    """Draw a smooth periodic motion within ``reach`` of position and velocity limits: time (T,) and q, v, a (T, J)."""
    t = np.arange(int(seconds * rate)) / rate
    w = 2 * np.pi * np.arange(1, harmonics + 1) / min(seconds, 10.0)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    A, B = rng.normal(size=(2, harmonics, len(robot.joints)))
    q, v, a = s @ (A / w[:, None]) - c @ (B / w[:, None]), c @ A + s @ B, -s @ (A * w[:, None]) + c @ (B * w[:, None])
    for k, name in enumerate(robot.joints):
        joint = robot.description.joints[name]
        lower, upper = max(joint.lower, -np.pi), min(joint.upper, np.pi)
        speed = joint.velocity if np.isfinite(joint.velocity) and joint.velocity > 0 else 2.0
        scale = min(
            reach * (upper - lower) / max(float(np.ptp(q[:, k])), 1e-9),
            reach * speed / max(float(np.max(np.abs(v[:, k]))), 1e-9),
        )
        q[:, k], v[:, k], a[:, k] = scale * q[:, k], scale * v[:, k], scale * a[:, k]
        q[:, k] += (lower + upper) / 2 - (q[:, k].max() + q[:, k].min()) / 2
    return t, q, v, a


def read_motion(robot: Robot, log: Log) -> tuple[Array, Array, Array, Array]:
    """Time (T,) and q, v, a (T, J) of a log.

    Raises:
        LogError: A joint lacks one of the three.
    """
    findings = [
        Finding(
            "column-missing",
            f"{log.source}, {kind}.{joint}",
            "is missing",
            "Give a motion of `steelyard excite`, or lock the joint",
            {"column": f"{kind}.{joint}"},
        )
        for joint in robot.joints
        for kind in "qva"
        if f"{kind}.{joint}" not in log.columns
    ]
    if findings:
        raise LogError(findings)
    q, v, a = (np.column_stack([log.columns[f"{kind}.{j}"] for j in robot.joints]) for kind in "qva")
    return log.time, q, v, a


def simulate_arm(
    robot: Robot,
    truth: Mapping[str, Array],
    *,
    seed: int,
    seconds: float = 20.0,
    rate: float = 200.0,
    noise: str = "mid",
    friction: Friction | None = None,
    motion: tuple[Array, Array, Array, Array] | None = None,
    source: str = "simulated arm",
) -> Log:
    """Simulate an arm by inverse dynamics.

    Args:
        robot: On a fixed base.
        truth: True parameters (10,) of every body.
        seed: Of motion and noise.
        seconds: Duration of a random Fourier motion.
        rate: Its samples per second.
        noise: A level in ``NOISE``.
        friction: Of the joints.
        motion: Time (T,) and q, v, a (T, J) instead of a random motion.
        source: Name of the log.

    Returns:
        A log of joint positions, torques and force–torque sensors, with the truth in its metadata.
    """
    rng = np.random.default_rng(seed)
    t, q, v, a = fourier_motion(robot, rng, seconds, rate) if motion is None else motion
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(truth[body.name])
    data = model.createData()
    S = np.eye(model.nv) if robot.coupling is None else robot.coupling
    states = robot.positions(q), robot.motion(v), robot.motion(a)
    forces = np.array([S.T @ pin.rnea(model, data, *state) for state in zip(*states, strict=True)])
    tau, reading = forces[:, : len(robot.joints)], forces[:, len(robot.joints) :]
    if friction is not None:
        tau += friction.torque(v, a)
    level = NOISE[noise]
    q = q + level.q * rng.normal(size=q.shape)
    tau = tau + level.tau * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    reading = reading + level.tau * np.sqrt(np.mean(reading**2, axis=0)) * rng.normal(size=reading.shape)
    columns = {"time": t}
    for k, joint in enumerate(robot.joints):
        columns |= {f"q.{joint}": q[:, k], f"tau.{joint}": tau[:, k]}
    columns |= {f"sensor.{row}": reading[:, k] for k, row in enumerate(robot.readings)}
    metadata = {
        "truth": {
            "parameters": {name: p.tolist() for name, p in truth.items()},
            "joints": {} if friction is None else friction.by_joint(robot),
        },
        "simulation": {"seed": seed, "noise": noise, "rate": (len(t) - 1) / (t[-1] - t[0])},
    }
    return Log.from_columns(columns, metadata, source)
