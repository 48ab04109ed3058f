"""The exciting motion of an arm that is asked for, as a log to play, with what it tells and uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.check.excitation import Excitation, excitation
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.arm_task import RATE, ArmTask, Limits
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.excite_arm import ArmCandidate, Search, excite_arm
from steelyard.experiment.excite.fourier import Fourier
from steelyard.experiment.excite.kept import NAME, Kept
from steelyard.experiment.excite.motion_request import ArmRequest
from steelyard.experiment.excite.pairs import files_of
from steelyard.fleet.sent import Sent
from steelyard.fleet.workers import Workers
from steelyard.log.log import Log
from steelyard.robot.model import Robot


@dataclass(frozen=True)
class ArmMotion:
    """The motion that was found, and what it tells."""

    task: ArmTask
    asked: ArmRequest
    best: ArmCandidate
    start: ArmCandidate  # the best random motion
    links: Mapping[str, float]  # body → condition number of its sub-regressor
    weakest: tuple[tuple[str, float], ...]  # base parameters and their standard deviations, shares of natural sizes
    told: Excitation
    log: Log
    looked_at: int | None  # pairs of links that were kept apart; None: none were
    guessed: tuple[str, ...] = ()  # bodies whose shapes nothing tells

    def as_json(self) -> dict[str, Any]:
        """``excite.json``."""
        q, *_ = self.best.motion.at(0.0)
        return {
            "schema": 1,
            "robot": self.task.robot.name,
            "asked": self.asked.as_json(),
            "locked": dict(self.task.robot.locked),
            "start": dict(zip(self.task.robot.joints, q[0].tolist(), strict=True)),
            "base_parameters": {
                "count": self.task.possible.rank,
                "condition": self.best.condition,
                "log_det": self.best.log_det,
            },
            "random": {"condition": self.start.condition, "log_det": self.start.log_det},
            "used": {k: criteria.finite(x) for k, x in self.best.used._asdict().items()},
            "collision_pairs": self.looked_at,
            "guessed_shapes": list(self.guessed),
            "links": {name: {"condition": criteria.finite(x)} for name, x in self.links.items()},
            "weakest": [{"parameter": name, "std": criteria.finite(std)} for name, std in self.weakest],
            "excitation": self.told.as_json(),
            "motion": self.best.motion.as_json() | {"joints": list(self.task.robot.joints)},
            "provenance": {
                "versions": _versions(),
                "description": self.task.robot.description.sha256,
                "seed": self.asked.seed,
            },
        }

    def sentence(self) -> str:
        """What one wants to know."""
        volume = (self.best.log_det - self.start.log_det) / (2 * self.task.possible.rank)
        return (
            f"Ready to play: {self.told.strong} of {self.told.possible} base parameters will be told strongly; "
            f"standard deviations are {math.exp(volume):.2g} times smaller than on the best of "
            f"{self.asked.screened} random motions."
        )


def search_of(robot: Robot, asked: ArmRequest) -> Search:
    """How the motion that is asked for is looked for."""
    task = ArmTask.of(robot, Limits.of(robot, asked.speed, asked.margin, asked.effort), asked.friction)
    collisions = Collisions.of(robot, asked.srdf, asked.clearance) if asked.clearance > 0 else None
    return Search(task, collisions, asked.repeats_every, asked.harmonics, asked.seconds, asked.criterion)


def find_arm_motion(
    robot: Robot,
    asked: ArmRequest,
    out: Path | None = None,
    progress: Callable[[float], None] = lambda _: None,
    workers: Workers | None = None,
) -> ArmMotion:
    """Find a motion of an arm; with a folder, what was done there for the same question before is not done again."""
    search = search_of(robot, asked)
    question = {
        "robot": robot.description.sha256,
        "locked": dict(robot.locked),
        "asked": asked.as_json(),
        "versions": _versions(),
    }
    kept = Kept(None if out is None else out / NAME, question, ArmCandidate)
    sent = Sent(search, search_of, robot, asked, files=partial(files_of, robot, asked.srdf))
    best, start = excite_arm(
        search, asked.seed, asked.screened, asked.restarts, lambda share, _: progress(share), kept, workers, sent
    )
    return _told(search.task, asked, best, start, search.collisions)


def _told(
    task: ArmTask, asked: ArmRequest, best: ArmCandidate, start: ArmCandidate, collisions: Collisions | None
) -> ArmMotion:
    robot, possible = task.robot, task.possible
    log = as_log(robot, best.motion, asked)
    t = np.arange(round(asked.seconds * RATE)) / RATE
    q, v, a = best.motion.at(t)
    R = task.information(q, v, a, asked.seconds)
    std = criteria.deviations(criteria.base_root(R, possible), possible)
    pivots = possible.composition[0]
    weakest = [(task.columns.names[pivots[k]], float(std[k])) for k in np.argsort(-std)[:5]]
    segment = Segment(t, RATE, q, v, a, task.rows(q, v, a) @ task.believed, {}, None, None, None, None, {})
    setup = Setup(robot, "joint", task.columns)
    rows = setup.rows([segment])
    wrong = np.concatenate([task.noise, np.ones(len(robot.readings))])
    told = excitation(setup, rows, wrong, Subspace.of(R, possible.scale), possible)
    links = criteria.link_conditions(R, possible, task.columns)
    pairs, guessed = (None, ()) if collisions is None else (len(collisions.pairs), collisions.guessed)
    return ArmMotion(task, asked, best, start, links, tuple(weakest), told, log, pairs, guessed)


def as_log(robot: Robot, motion: Fourier, asked: ArmRequest) -> Log:
    """The motion as a log without torques, from rest to rest."""
    t = np.arange(round(asked.seconds * asked.rate) + 1) / asked.rate
    columns = {"time": t}
    for kind, x in zip("qva", motion.at(t), strict=True):
        columns |= {f"{kind}.{joint}": x[:, k] for k, joint in enumerate(robot.joints)}
    metadata = {"excite": {"robot": robot.name, "lock": dict(robot.locked), "seed": asked.seed}}
    return Log.from_columns(columns, metadata, "excite")


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for package in ("steelyard", "numpy", "pin"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
