"""What the diagnosis of a log costs beside ``identify`` of the same log, in one process.

``diagnosis`` is what ``identify`` runs before the fit: every check of the log. ``ours`` is the whole of ``identify``,
diagnosis included; ``check`` the whole of ``steelyard.check``, which also evaluates which motion would excite more and
judges the description.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import steelyard
from steelyard.check.diagnosis import diagnose_logs
from steelyard.check.opening import open_logs
from steelyard.experiment.simulate.legs import find_feet
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
from steelyard.experiment.simulate.simulate_quadruped import simulate_quadruped
from steelyard.experiment.simulate.truth import Specimen, perturbed
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot

MOST = 0.25  # of ``identify``: largest share of the diagnosis


def diagnosis(repeats: int = 5) -> dict[str, Any]:
    """Microseconds of each, interleaved."""
    return {name: _measure(name, log, options, repeats) for name, log, options in (_arm(), _quadruped())}


def kept(result: dict[str, Any]) -> bool:
    """Whether the diagnosis takes no more than promised."""
    return all(entry["share of identify"]["diagnosis"] <= MOST for entry in result.values())


def _measure(name: str, log: Log, options: Options, repeats: int) -> dict[str, Any]:
    setup = open_logs(read_description(name), [log], options)
    segments, _ = setup.segments(log, level=True)
    checked: dict[str, Any] = {"feet": options.feet} if options.feet else {}
    runs: dict[str, Callable[[], object]] = {
        "ours": lambda: steelyard.identify(name, log, options),
        "diagnosis": lambda: diagnose_logs(setup, [(log, segments)]),
        "check": lambda: steelyard.check(name, log, **checked),
    }
    times: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(repeats + 1):
        for key, run in runs.items():
            start = time.perf_counter()
            run()
            times[key].append(1e6 * (time.perf_counter() - start))
    entry: dict[str, Any] = {
        k: {"min": float(np.min(t[1:])), "median": float(np.median(t[1:]))} for k, t in times.items()
    }
    entry["share of identify"] = {k: entry[k]["min"] / entry["ours"]["min"] for k in ("diagnosis", "check")}
    return entry


def _arm() -> tuple[str, Log, Options]:
    robot, rng = Robot.load("demo_arm"), np.random.default_rng(1)
    truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
    return "demo_arm", simulate_arm(robot, truth, seed=1, seconds=60.0, friction=friction), Options(friction="all")


def _quadruped() -> tuple[str, Log, Options]:
    robot = Robot.load("demo_a1")
    log = simulate_quadruped(robot, "trot", Specimen(truth_seed=1), Recording(noise="mid"), seconds=10.0, seed=1)
    return "demo_a1", log, Options(feet=find_feet(robot), links=(robot.bodies[0].name,))
