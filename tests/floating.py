"""Logs of a floating robot for tests: ``simulate_floating`` on random sines, with noise drawn from the same seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.experiment.simulate.simulate_floating import random_sines, simulate_floating
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH

KINDS = ("q", "imu.gyro", "imu.acc", "tau")


def floating_log(
    robot: Robot,
    truth: Mapping[str, np.ndarray],
    feet: Sequence[str],
    *,
    seed: int = 0,
    wrenches: bool = False,
    noise: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),  # of KINDS
    imu_frame: str | None = None,
    offsets: Mapping[str, np.ndarray] | None = None,  # of the robot's force–torque sensors
    position: bool = False,
    **motion,
) -> Log:
    """Joint positions and torques, IMU, sensors, orientation; wrenches of feet and position of the base if asked."""
    rng = np.random.default_rng(seed)
    sines = random_sines(robot, rng, **motion)
    log = simulate_floating(robot, truth, feet, sines, imu_frame=imu_frame, wrenches=wrenches)
    table = {name: x for name, x in log.columns.items() if position or not name.startswith("base.position.")}
    for name in table:
        for kind, sigma in zip(KINDS, noise, strict=True):
            if sigma and name.startswith(f"{kind}."):
                table[name] = table[name] + sigma * rng.normal(size=len(log))
    for sensor, offset in (offsets or {}).items():
        for c, x in zip(WRENCH, offset, strict=True):
            table[f"sensor.{sensor}.{c}"] = table[f"sensor.{sensor}.{c}"] + x
    return replace(log, columns=table)
