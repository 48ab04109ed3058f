"""Simulated log of a robot that follows sines, one frequency per joint: the motions of Go and Hata (II-B).

Torques are computed-torque control about the sines, held constant in each integration step; the log's metadata states
it, so that a search holds them too and its simulation has no error of its own.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from steelyard.experiment.search.prediction_engine import CompiledEngine
from steelyard.experiment.search.windows import Windows
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

REACH = 0.5  # largest amplitude, over half a joint's range
FREQUENCIES = (0.4, 1.6)  # Hz, of the slowest and the fastest joint
STIFFNESS = 15.0  # rad/s: natural frequency of the closed loop, critically damped


def record_sines(
    robot: Robot,
    truth: Array,
    *,
    seed: int,
    seconds: float = 4.0,
    step: float = 1e-3,
    noise: float = 0.0,
    rate_noise: float | None = None,
) -> Log:
    """Simulate a log of sines.

    Args:
        robot: A fixed-base robot, whose description the controller uses.
        truth: Parameters (bodies, 10) of the simulated robot.
        seed: Of amplitudes, phases and noise.
        seconds: Duration.
        step: Of the integration and of the log, s.
        noise: Standard deviation of positions, rad or m.
        rate_noise: Standard deviation of velocities, rad/s or m/s; None: no velocities in the log unless noise is 0.
    """
    rng = np.random.default_rng(seed)
    joints = [robot.description.joints[j] for j in robot.joints]
    lower = np.array([max(j.lower, -np.pi) for j in joints])
    upper = np.array([min(j.upper, np.pi) for j in joints])
    J = len(joints)
    amplitude = REACH * rng.uniform(0.5, 1.0, J) * (upper - lower) / 2
    w = 2 * np.pi * rng.permutation(np.linspace(*FREQUENCIES, J))
    amplitude = np.minimum(amplitude, 12.0 / w**2)  # rad/s²: accelerations of such an arm
    phase, centre = rng.uniform(0, 2 * np.pi, J), (lower + upper) / 2

    def reference(t: float) -> tuple[Array, Array, Array]:
        s, c = np.sin(w * t + phase), np.cos(w * t + phase)
        return centre + amplitude * s, amplitude * w * c, -amplitude * w * w * s

    q, v, _ = reference(0.0)
    data = robot.model.createData()
    rows = []
    parameters = np.asarray(truth, float)[None]
    for k in range(round(seconds / step) + 1):
        qr, vr, ar = reference(k * step)
        a = ar + 2 * STIFFNESS * (vr - v) + STIFFNESS**2 * (qr - q)
        tau = pin.rnea(robot.model, data, robot.positions(q[None])[0], v, a)
        rows.append(np.concatenate([q, v, tau]))
        window = Windows(
            q[None], v[None], np.repeat(tau[None, None], 2, axis=1), q[None], v[None], step, False, "euler", np.zeros(1)
        )
        q, v = np.split(CompiledEngine(robot, window).final_states(parameters)[0, 0], 2)
    table = np.array(rows)
    columns = {"time": step * np.arange(len(table))}
    for k, joint in enumerate(robot.joints):
        columns[f"q.{joint}"] = table[:, k] + noise * rng.normal(size=len(table))
        if rate_noise is not None or noise == 0:
            columns[f"v.{joint}"] = table[:, J + k] + (rate_noise or 0.0) * rng.normal(size=len(table))
        columns[f"tau.{joint}"] = table[:, 2 * J + k]
    metadata = {
        "truth": {"parameters": {b.name: p.tolist() for b, p in zip(robot.bodies, truth, strict=True)}, "joints": {}},
        "simulation": {"seed": seed, "torques": "held", "rate": 1 / step, "noise": noise},
    }
    return Log.from_columns(columns, metadata, "sines")
