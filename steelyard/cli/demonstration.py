"""The demonstrations: a trotting quadruped with an unknown payload, and an arm; both compared with the truth.

Both robots differ from their descriptions, so that the description itself is a poor estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.compose.prior import make
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.experiment.simulate.legs import find_feet
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
from steelyard.experiment.simulate.simulate_quadruped import simulate_quadruped
from steelyard.experiment.simulate.truth import Specimen, perturbed
from steelyard.identify.identification import Identification, identify
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.scoring import base_error
from steelyard.identify.unknown_load import UnknownLoad
from steelyard.identify.weighing import weigh_load
from steelyard.log.table import write_log
from steelyard.output.results import write_results
from steelyard.robot.model import Robot

ROBOTS = {"a1": "demo_a1", "ur10": "demo_arm"}  # name on the command line → model of the index
LOAD = Load.cuboid("trunk", 1.2, (0.07, -0.04, 0.082), (0.08, 0.06, 0.05))  # payload of the quadruped
HEIGHT = 0.1  # m above the trunk, the region that the payload is known to lie in


def run_quadruped(
    name: str, folder: Path, seed: int = 7, progress: Callable[[str], None] = lambda _: None
) -> Identification:
    """Identify the trunk from a trot without the load, then the load from a trot with it; predict a third trot."""
    model = ROBOTS[name]
    robot = Robot.load(model)
    paths = {}
    for k, (kind, loads, seconds) in enumerate((("empty", (), 5.0), ("loaded", (LOAD,), 5.0), ("test", (LOAD,), 3.0))):
        progress(f"simulating a trot of {seconds:g} s, {kind}")
        paths[kind] = folder / f"{kind}.parquet"
        specimen, recording = Specimen(truth_seed=seed, loads=loads), Recording(noise="mid", source=str(paths[kind]))
        log = simulate_quadruped(robot, "trot", specimen, recording, seconds=seconds, seed=100 * seed + k)
        folder.mkdir(parents=True, exist_ok=True)
        write_log(paths[kind], log)
    command = f"steelyard demo --robot {name} -o {folder}"
    trunk, feet = robot.bodies[0].name, find_feet(robot)
    options = Options(feet=feet, links=(trunk,))
    job = Job(command=command, progress=progress)
    write_results(identify(model, [paths["empty"]], options, job=job), folder / "empty")
    on_top = UnknownLoad(LOAD.link, top=HEIGHT)
    return weigh_load(
        model,
        [paths["loaded"]],
        on_top,
        Options(feet=feet),
        earlier=folder / "empty",
        validate=[paths["test"]],
        job=job,
    )


@dataclass(frozen=True)
class ArmDemo:
    """Result of the arm, and the errors of description and estimate."""

    result: Identification
    description_error: float  # base-parameter error of the description
    estimate_error: float  # the same of the estimate


def run_arm(name: str, folder: Path, seed: int = 7, progress: Callable[[str], None] = lambda _: None) -> ArmDemo:
    """Simulate two runs of the arm, identify from the first, validate on the second."""
    model = ROBOTS[name]
    robot = Robot.load(model)
    rng = np.random.default_rng(seed)
    truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
    progress("simulating an arm that differs from its description")
    paths = [folder / "train.parquet", folder / "test.parquet"]
    for k, path in enumerate(paths):
        write_log(path, simulate_arm(robot, truth, seed=100 * seed + k, friction=friction, source=str(path)))
    job = Job(command=f"steelyard demo --robot {name} -o {folder}", progress=progress)
    result = identify(model, [paths[0]], Options(friction="all"), validate=[paths[1]], job=job)
    reference = reference_motion(robot, result.columns)
    exact = np.concatenate([truth[b] for b in result.columns.bodies])
    bodies = len(exact)
    return ArmDemo(
        result,
        base_error(reference, robot.prior, exact),
        base_error(reference, result.theta[:bodies], exact),
    )


def reference_motion(robot: Robot, columns: Columns) -> Subspace:
    """Information of one fixed, exciting motion about the bodies: the metric of the base-parameter error."""
    bodies = Columns(columns.bodies)
    return Setup(robot, "joint", bodies).structure(make(robot, bodies).scale, seed=1)
