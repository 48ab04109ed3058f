"""A quadruped whose sensors are noisy, with and without a load on its back."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from steelyard import inertia
from steelyard.experiment.simulate.truth import perturbed
from steelyard.log.log import Log
from tests.floating import floating_log

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
NOISE = (3e-4, 0.005, 0.05, 0.2)  # q rad, gyro rad/s, acc m/s², tau N·m
CUBE = inertia.pack(1.0, np.array([0.05, -0.03, 0.08]), 1.0 * 0.05**2 / 6 * np.eye(3))  # 1 kg, 5 cm


def table(log, columns):
    """(T, C) samples of a log."""
    return np.column_stack([log.columns[name] for name in columns])


@pytest.fixture(scope="session")
def dog(a1_robot):
    robot = a1_robot
    truth = {b.name: b.parameters for b in robot.bodies}
    truth["base"] = perturbed(robot, np.random.default_rng(3))["base"]
    loaded = truth | {"base": truth["base"] + CUBE}
    quiet = floating_log(robot, truth, FEET, seed=1, seconds=4.0)
    empty = floating_log(robot, truth, FEET, seed=1, seconds=4.0, noise=NOISE)
    long, carrying = (floating_log(robot, t, FEET, seed=2, seconds=8.0, noise=NOISE) for t in (truth, loaded))
    with_it = (long.time >= 3.0) & (long.time < 6.0)
    columns = {name: np.where(with_it, carrying.columns[name], x) for name, x in long.columns.items()}
    picked = Log.from_columns({"time": long.time, **columns})
    return SimpleNamespace(
        robot=robot, truth=truth, loaded=loaded, quiet=quiet, empty=empty, carrying=carrying, picked=picked
    )
