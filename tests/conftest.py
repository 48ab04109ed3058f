"""Shared by all tests: one simulated arm, the command line in this process, and the measured data where present."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("steelyard", deadline=None, derandomize=True)
settings.load_profile("steelyard")

DATA = Path(os.environ.get("STEELYARD_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


TEXTS = "test_finding_texts.py"  # the one file whose tests are about sentences


def pytest_addoption(parser):
    parser.addoption("--other-words", action="store_true", help="findings have other sentences; no test may notice")


@pytest.fixture(autouse=True)
def other_words(request, monkeypatch):
    """Replace the sentences of every finding: programs and tests rely on codes, remedies and values."""
    if request.config.getoption("--other-words") and request.node.path.name != TEXTS:
        from steelyard.errors import Finding

        original = Finding.__init__

        def scrambled(self, code, where, what, fix, remedy=MappingProxyType({}), severity="error"):
            what = (
                "is otherwise than thought" if fix else f"{where}: otherwise than thought"
            )  # a notice is one sentence
            original(self, code, where, what, fix and "Change it", remedy, severity)

        monkeypatch.setattr(Finding, "__init__", scrambled)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def steelyard(monkeypatch, capsys) -> Callable[..., Outcome]:
    """Run the command line as a user does: ``steelyard("identify", robot, log, "-o", folder)``."""

    def run(*arguments: object) -> Outcome:
        from steelyard.cli.main import main

        monkeypatch.setattr(sys, "argv", ["steelyard", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def arm(tmp_path_factory):
    """The demonstration arm, a truth that differs from its description, and two logs of it on disk."""
    from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
    from steelyard.experiment.simulate.truth import perturbed
    from steelyard.log.table import write_log
    from steelyard.robot.model import Robot

    class Arm(NamedTuple):
        robot: Robot
        truth: dict[str, np.ndarray]
        friction: Friction
        train: Path
        test: Path

    robot = Robot.load("demo_arm")
    rng = np.random.default_rng(5)
    truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
    folder = tmp_path_factory.mktemp("arm")
    for k, name in enumerate(("train", "test")):
        log = simulate_arm(robot, truth, seed=20 + k, seconds=12.0, friction=friction)
        write_log(folder / f"{name}.parquet", log)
    return Arm(robot, truth, friction, folder / "train.parquet", folder / "test.parquet")


@pytest.fixture(scope="session")
def a1_robot():
    """Unitree's A1 on a floating base, or a skip that says what is missing."""
    from steelyard.errors import DescriptionError
    from steelyard.robot.model import Robot

    try:
        return Robot.load("a1")
    except DescriptionError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def measured() -> Callable[[str], Path]:
    """Folder of a measured data set, or a skip that says what is missing."""

    def find(name: str) -> Path:
        folder = DATA / name
        if not folder.is_dir():
            pytest.skip(f"measured data not present: {name} (set STEELYARD_DATA to its parent folder)")
        return folder

    return find
