"""Time of a whole identification, in memory, against a plain pipeline that gives less.

``naive``: Pinocchio's regressor in a Python loop on the same filtered samples, every row kept, one dense
least-squares solve. No noise model, no physical consistency, no certificate, no verdicts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.identification import identify as run
from steelyard.identify.options import Options
from steelyard.robot.model import Robot


def identify(repeats: int = 7) -> dict[str, Any]:
    """Twenty seconds of the demonstration arm at 200 Hz, friction included."""
    robot = Robot.load("demo_arm")
    rng = np.random.default_rng(0)
    log = simulate_arm(robot, perturbed(robot, rng), seed=1, friction=Friction.random(robot, rng))
    options = Options(friction="all")
    contenders: dict[str, Callable[[], object]] = {
        "ours": lambda: run(robot.description, [log], options),
        "naive": lambda: _naive(robot, log, options),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats + 1):
        for name, call in contenders.items():
            start = time.perf_counter()
            call()
            times[name].append(1e6 * (time.perf_counter() - start))
    case: dict[str, Any] = {
        name: {"min": float(np.min(t[1:])), "median": float(np.median(t[1:]))} for name, t in times.items()
    }
    case["ratio"] = {"naive": case["naive"]["min"] / case["ours"]["min"]}
    return {"demo_arm": case}


def _naive(robot: Robot, log: Any, options: Options) -> np.ndarray:
    setup = Setup.of(robot.description, [log], options)
    segments, _ = prepare(setup.robot, log, options.filter.for_logs([log]), torques=True)
    blocks = list(Setup(setup.robot, setup.equations, setup.columns).rows(segments))
    Y = np.concatenate([b.Y.reshape(-1, setup.columns.n) for b in blocks])
    return np.asarray(np.linalg.lstsq(Y, np.concatenate([b.target.ravel() for b in blocks]), rcond=None)[0])
