"""Two hundred short logs of one arm, and a cluster whose processes are the tests' own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from steelyard import Filter, Options
from steelyard.fleet import identify_many
from steelyard.fleet.workers import Workers
from steelyard.identify.estimate_json import estimate_json

ROOT = Path(__file__).resolve().parents[2]
LOGS = 200
ASKED = ("--friction", "all", "--cutoff", "10", "--kinematics-cutoff", "10", "--method", "least-squares")
OPTIONS = Options(friction="all", method="least-squares", filter=Filter(cutoff=10.0, kinematics=10.0))


class Fleet(NamedTuple):
    folder: Path
    names: list[str]
    theta: np.ndarray  # result of one process
    estimate: dict


@pytest.fixture(scope="session")
def fleet(tmp_path_factory) -> Fleet:
    """Logs of two seconds at 100 Hz, and the estimate of one process."""
    from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
    from steelyard.experiment.simulate.truth import perturbed
    from steelyard.log.table import write_log
    from steelyard.robot.model import Robot

    robot, rng = Robot.load("demo_arm"), np.random.default_rng(5)
    truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
    folder = tmp_path_factory.mktemp("fleet")
    names = [str(folder / f"{k:03d}.parquet") for k in range(LOGS)]
    for k, name in enumerate(names):
        write_log(name, simulate_arm(robot, truth, seed=k, seconds=2.0, rate=100.0, friction=friction))
    result = identify_many("demo_arm", names, OPTIONS)
    return Fleet(folder, names, result.theta, estimate_json(result.estimate))


@pytest.fixture(scope="session")
def pair() -> Iterator[Workers]:
    """Two processes of this machine."""
    pytest.importorskip("distributed")
    with Workers.local(2) as workers:
        yield workers


class Cluster(NamedTuple):
    address: str
    scheduler: subprocess.Popen
    worker: Callable[..., subprocess.Popen]  # starts one more; keyword arguments are environment variables


def environment(**more: str) -> dict[str, str]:
    paths = [more.pop("first", ""), str(ROOT), *sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p), "OPENBLAS_NUM_THREADS": "1", **more}


def parameters(estimate: dict) -> np.ndarray:
    """All that was identified, as one vector."""
    joints = [v["value"] for terms in estimate["joints"].values() for k, v in terms.items() if v and k != "family"]
    return np.concatenate([*(np.array(b["parameters"]) for b in estimate["links"].values()), joints])


def difference(one: dict, other: dict) -> float:
    a, b = parameters(one), parameters(other)
    return float(np.linalg.norm(a - b) / np.linalg.norm(a))


@pytest.fixture
def cluster(tmp_path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    yield from launched(tmp_path)


@pytest.fixture(scope="module")
def crew(tmp_path_factory) -> Iterator[Cluster]:
    """A scheduler with two workers."""
    for cluster in launched(tmp_path_factory.mktemp("crew")):
        cluster.worker()
        cluster.worker()
        yield cluster


def launched(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler on loopback; it and all workers that are started end when it is no longer needed."""
    pytest.importorskip("distributed")
    started: list[subprocess.Popen] = []
    about = tmp_path / "scheduler.json"

    def start(module: str, *arguments: str, **more: str) -> subprocess.Popen:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
        started.append(subprocess.Popen(command, env=environment(**more), cwd=tmp_path, **quiet))
        return started[-1]

    start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(about))
    while not about.exists() or not about.read_text():
        assert started[0].poll() is None, "the scheduler did not start"
        time.sleep(0.05)
    address = json.loads(about.read_text())["address"]

    def worker(**more: str) -> subprocess.Popen:
        return start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", **more)

    try:
        yield Cluster(address, started[0], worker)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
