"""The arm demonstration: a simulated arm that differs from its description, identified and compared with the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.identifiable import Subspace, structural
from steelyard.identification import Identification, identify
from steelyard.plan import Options
from steelyard.prior import make
from steelyard.read.table import write_log
from steelyard.regressor import Columns
from steelyard.robot import Robot
from steelyard.simulate.arm import Friction, simulate_arm
from steelyard.simulate.truth import perturbed
from steelyard.validate import base_error

Array = np.ndarray

ROBOTS = {"ur10": "demo_arm"}  # name on the command line → model of the index


@dataclass(frozen=True)
class Demo:
    """What the demonstration found, and how far the description and the estimate are from the truth."""

    result: Identification
    truth: dict[str, Array]
    description_error: float  # base-parameter error of the description
    estimate_error: float  # of the estimate


def run_arm(name: str, folder: Path, seed: int = 7, progress: Callable[[str], None] = lambda _: None) -> Demo:
    """Simulate two runs of the arm, identify from the first, validate on the second."""
    model = ROBOTS[name]
    robot = Robot.load(model)
    rng = np.random.default_rng(seed)
    truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
    progress("simulating an arm that is not quite as its description says")
    paths = [folder / "train.parquet", folder / "test.parquet"]
    for k, path in enumerate(paths):
        write_log(path, simulate_arm(robot, truth, seed=100 * seed + k, friction=friction, source=str(path)))
    command = f"steelyard demo --robot {name} -o {folder}"
    result = identify(
        model, [paths[0]], Options(friction="all"), validate=[paths[1]], command=command, progress=progress
    )
    reference = reference_motion(robot, result.columns)
    exact = np.concatenate([truth[b] for b in result.columns.bodies])
    bodies = len(exact)
    return Demo(
        result,
        truth,
        base_error(reference, robot.prior, exact),
        base_error(reference, result.theta[:bodies], exact),
    )


def reference_motion(robot: Robot, columns: Columns) -> Subspace:
    """Information of one fixed, rich motion about the bodies alone: the yardstick of base-parameter error."""
    bodies = Columns(columns.bodies)
    return structural(robot, bodies, "joint", make(robot, bodies).scale, seed=1)
