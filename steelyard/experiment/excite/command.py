"""``steelyard excite``: an exciting motion for a robot, written as a log to play, with what it tells and uses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.check.excitation import Excitation, excitation
from steelyard.equations.options import Friction
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.errors import Finding, UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.arm import ArmCandidate, Search, excite_arm
from steelyard.experiment.excite.arm_task import RATE, ArmTask, Criterion, Limits
from steelyard.experiment.excite.collision import CLEARANCE, Collisions
from steelyard.experiment.excite.fourier import Fourier
from steelyard.experiment.excite.pairs import files_of
from steelyard.files import Staging, write_text
from steelyard.fleet.sent import Sent
from steelyard.fleet.workers import Workers
from steelyard.log.log import Log
from steelyard.log.table import write_log
from steelyard.output.excite_arm import picture
from steelyard.robot.model import Robot

Array = np.ndarray

KEPT = "candidates.json"  # what is done, while more is being done


@dataclass(frozen=True)
class ArmRequest:
    """What is asked of an arm's motion."""

    seconds: float = 10.0  # that it lasts
    period: float | None = None  # s; None: as long as it lasts
    harmonics: int = 5
    speed: float = 0.8  # shares of the limits
    effort: float = 0.8
    margin: float = 0.05
    clearance: float = CLEARANCE  # m; 0: contacts are not looked for
    friction: Friction = "none"
    criterion: Criterion = "determinant"
    screened: int = 30
    restarts: int = 4
    seed: int = 0
    rate: float = 200.0  # Hz, of the log
    srdf: str | None = None

    def __post_init__(self) -> None:
        whole = {"harmonics": (self.harmonics, 2), "candidates": (self.screened, 1), "restarts": (self.restarts, 1)}
        bad = [
            Finding(f"--{k} {x}", "is too few", f"Give {least} or more") for k, (x, least) in whole.items() if x < least
        ]
        above = {"duration": self.seconds, "period": self.repeats_every, "rate": self.rate}
        bad += [
            Finding(f"--{k} {x}", "is no time", "Give seconds above 0" if k != "rate" else "Give Hz above 0")
            for k, x in above.items()
            if not 0 < x < math.inf
        ]
        if not bad and abs(math.remainder(self.seconds, self.repeats_every)) > 1e-6:
            what = f"is no whole number of periods of {self.repeats_every:g} s: the motion would end while it moves"
            bad.append(Finding(f"--duration {self.seconds:g}", what, "Give a multiple of --period"))
        if not 0 <= self.clearance < math.inf:
            bad.append(Finding(f"--clearance {self.clearance}", "is no distance", "Give m, 0 or more"))
        if bad:
            raise UsageError(bad)

    @property
    def repeats_every(self) -> float:
        """s."""
        return self.seconds if self.period is None else self.period

    def as_json(self) -> dict[str, Any]:
        """For files; two that are equal ask for the same motion."""
        return {**asdict(self), "period": self.repeats_every}


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
            "used": {k: _finite(x) for k, x in self.best.used._asdict().items()},
            "collision_pairs": self.looked_at,
            "guessed_shapes": list(self.guessed),
            "links": {name: {"condition": _finite(x)} for name, x in self.links.items()},
            "weakest": [{"parameter": name, "std": _finite(std)} for name, std in self.weakest],
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


def excite_fixed(
    robot: Robot,
    asked: ArmRequest,
    out: Path,
    progress: Callable[[float], None] = lambda _: None,
    workers: Workers | None = None,
) -> tuple[ArmMotion, list[Path]]:
    """Find a motion of an arm and write it; what was done before for the same question in that folder is not again."""
    search = search_of(robot, asked)
    task, collisions = search.task, search.collisions
    question = {
        "robot": robot.description.sha256,
        "locked": dict(robot.locked),
        "asked": asked.as_json(),
        "versions": _versions(),
    }
    done = _read(out / KEPT, question)

    def keep(k: int, found: ArmCandidate) -> None:
        done[k] = found
        kept = {"question": question, "done": {str(i): c.as_json() for i, c in done.items()}}
        write_text(out / KEPT, json.dumps(kept) + "\n")

    best, start = excite_arm(
        search,
        asked.seed,
        asked.screened,
        asked.restarts,
        lambda share, _: progress(share),
        done,
        keep,
        workers,
        Sent(search, search_of, robot, asked, files=partial(files_of, robot, asked.srdf)),
    )
    found = _told(task, asked, best, start, collisions)
    with Staging(out) as staging:
        staging.write_text("excite.json", json.dumps(found.as_json(), indent=1) + "\n")
        staging.write_text("motion.svg", picture(found.log, robot, task.limits))
    for name in ("motion.parquet", "motion.csv"):
        write_log(out / name, found.log)
    progress(1.0)
    return found, [out / name for name in ("motion.parquet", "motion.csv", "motion.svg", "excite.json")]


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
    rows = Setup(robot, "joint", task.columns).rows([segment])
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


def _read(path: Path, question: Mapping[str, Any]) -> dict[int, ArmCandidate]:
    """What was done for the same question; nothing where another was asked, or the file is not ours."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["question"] != json.loads(json.dumps(question)):
            return {}
        return {int(k): ArmCandidate.from_json(c) for k, c in found["done"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for package in ("steelyard", "numpy", "pin"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
