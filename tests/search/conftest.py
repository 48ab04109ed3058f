"""A PUMA 560 that follows sines, recorded exactly, and another motion of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from steelyard.experiment.search.prediction_engine import CompiledEngine
from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.search.search_problem import SearchProblem, SearchSpace, values_about_com
from steelyard.experiment.search.windows import Windows
from steelyard.log.log import Log
from steelyard.robot.model import Robot


class Puma(NamedTuple):
    robot: Robot
    truth: np.ndarray  # (bodies, 10)
    values: np.ndarray  # (bodies, 10)
    log: Log
    other: Log

    def start(self, seed=0, spread=0.25):
        values = self.values.copy()
        i, k = np.array(SearchSpace.of(self.robot).free).T
        values[i, k] *= 1 + np.random.default_rng([seed, 4]).uniform(-spread, spread, len(i))
        return values

    def problem(self, seed=0, total=True, count=32, horizon=0.02):
        space = SearchSpace.of(
            self.robot, start=self.start(seed), total=float(self.values[:, 0].sum()) if total else None
        )  # fmt: skip
        windows = Windows.of(self.robot, [self.log], horizon=horizon, count=count)
        return SearchProblem(space, (CompiledEngine(self.robot, windows),))


@pytest.fixture(scope="session")
def puma():
    robot = Robot.load("puma560")
    truth = np.array([b.parameters for b in robot.bodies])
    log, other = (record_sines(robot, truth, seed=k, seconds=2.0) for k in (0, 1))
    return Puma(robot, truth, np.array([values_about_com(p) for p in truth]), log, other)
