"""Exciting motion of an arm: the log to play, its excitation, and its use of the limits."""

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
from steelyard.experiment.excite.candidate_cache import NAME, CandidateCache
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.collision_pairs import geometry_files
from steelyard.experiment.excite.excite_arm import ArmCandidate, ArmSearch, excite_arm
from steelyard.experiment.excite.fourier import Fourier
from steelyard.experiment.excite.motion_request import ArmRequest
from steelyard.fleet.remote_handle import RemoteHandle
from steelyard.fleet.workers import Workers
from steelyard.log.log import Log
from steelyard.robot.model import Robot


@dataclass(frozen=True)
class ArmMotion:
    """An exciting motion of an arm, with its excitation."""

    task: ArmTask
    request: ArmRequest
    best: ArmCandidate
    best_random: ArmCandidate  # of those that the optimisation started from
    links: Mapping[str, float]  # body → condition number of its sub-regressor
    weakest: tuple[tuple[str, float], ...]  # base parameter, its standard deviation as a share of its natural size
    excitation: Excitation
    log: Log
    collision_pairs: int | None  # pairs of links that were kept apart; None: collisions were not checked
    guessed: tuple[str, ...] = ()  # bodies without shapes, replaced by boxes of their inertia

    def as_json(self) -> dict[str, Any]:
        """``excite.json``."""
        q, *_ = self.best.motion.at(0.0)
        return {
            "schema": 1,
            "robot": self.task.robot.name,
            "asked": self.request.as_json(),
            "locked": dict(self.task.robot.locked),
            "start": dict(zip(self.task.robot.joints, q[0].tolist(), strict=True)),
            "base_parameters": {
                "count": self.task.identifiable.rank,
                "condition": self.best.condition,
                "log_det": self.best.log_det,
            },
            "random": {"condition": self.best_random.condition, "log_det": self.best_random.log_det},
            "used": {k: criteria.finite(x) for k, x in self.best.limit_usage._asdict().items()},
            "collision_pairs": self.collision_pairs,
            "guessed_shapes": list(self.guessed),
            "links": {name: {"condition": criteria.finite(x)} for name, x in self.links.items()},
            "weakest": [{"parameter": name, "std": criteria.finite(std)} for name, std in self.weakest],
            "excitation": self.excitation.as_json(),
            "motion": self.best.motion.as_json() | {"joints": list(self.task.robot.joints)},
            "provenance": {
                "versions": _versions(),
                "description": self.task.robot.description.sha256,
                "seed": self.request.seed,
            },
        }

    def sentence(self) -> str:
        """Summary in one sentence."""
        volume = (self.best.log_det - self.best_random.log_det) / (2 * self.task.identifiable.rank)
        return (
            f"Ready to play: {self.excitation.strong} of {self.excitation.possible} base parameters are strongly "
            f"excited; standard deviations are {math.exp(volume):.2g} times smaller than on the best of "
            f"{self.request.candidates} random motions."
        )


def make_search(robot: Robot, request: ArmRequest) -> ArmSearch:
    """Optimisation problem of a request."""
    task = ArmTask.of(robot, Limits.of(robot, request.speed, request.margin, request.effort), request.friction)
    collisions = Collisions.of(robot, request.srdf, request.clearance) if request.clearance > 0 else None
    return ArmSearch(task, collisions, request.effective_period, request.harmonics, request.duration, request.criterion)


def find_arm_motion(
    robot: Robot,
    request: ArmRequest,
    out: Path | None = None,
    progress: Callable[[float], None] = lambda _: None,
    workers: Workers | None = None,
) -> ArmMotion:
    """Find an exciting motion of an arm.

    Args:
        robot: An arm on a fixed base.
        request: Duration, limits, criterion.
        out: Folder with the cache of an earlier run for the same request, which is resumed.
        progress: Called with the share of the work that is done.
        workers: Processes or machines that optimise; the result does not depend on them.

    Raises:
        UsageError: The base floats, limits are out of range, or no random motion is feasible.
    """
    search = make_search(robot, request)
    question = {
        "robot": robot.description.sha256,
        "locked": dict(robot.locked),
        "asked": request.as_json(),
        "versions": _versions(),
    }
    cache = CandidateCache(None if out is None else out / NAME, question, ArmCandidate)
    handle = RemoteHandle(search, make_search, robot, request, files=partial(geometry_files, robot, request.srdf))
    best, best_random = excite_arm(
        search,
        request.seed,
        request.candidates,
        request.restarts,
        lambda share, _: progress(share),
        cache,
        workers,
        handle,
    )
    return _summarise(search.task, request, best, best_random, search.collisions)


def _summarise(
    task: ArmTask, request: ArmRequest, best: ArmCandidate, best_random: ArmCandidate, collisions: Collisions | None
) -> ArmMotion:
    robot, identifiable = task.robot, task.identifiable
    log = as_log(robot, best.motion, request)
    t = np.arange(round(request.duration * RATE)) / RATE
    q, v, a = best.motion.at(t)
    R = task.information(q, v, a, request.duration)
    std = criteria.deviations(criteria.base_root(R, identifiable), identifiable)
    pivots = identifiable.composition[0]
    weakest = [(task.columns.names[pivots[k]], float(std[k])) for k in np.argsort(-std)[:5]]
    segment = Segment(t, RATE, q, v, a, task.rows(q, v, a) @ task.prior_parameters, {}, None, None, None, None, {})
    setup = Setup(robot, "joint", task.columns)
    rows = setup.rows([segment])
    noise = np.concatenate([task.noise, np.ones(len(robot.readings))])
    excited = excitation(setup, rows, noise, Subspace.of(R, identifiable.scale), identifiable)
    links = criteria.link_conditions(R, identifiable, task.columns)
    pairs, guessed = (None, ()) if collisions is None else (len(collisions.pairs), collisions.guessed)
    return ArmMotion(task, request, best, best_random, links, tuple(weakest), excited, log, pairs, guessed)


def as_log(robot: Robot, motion: Fourier, request: ArmRequest) -> Log:
    """The motion as a log of positions, velocities and accelerations, from rest to rest."""
    t = np.arange(round(request.duration * request.rate) + 1) / request.rate
    columns = {"time": t}
    for kind, x in zip("qva", motion.at(t), strict=True):
        columns |= {f"{kind}.{joint}": x[:, k] for k, joint in enumerate(robot.joints)}
    metadata = {"excite": {"robot": robot.name, "lock": dict(robot.locked), "seed": request.seed}}
    return Log.from_columns(columns, metadata, "excite")


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for package in ("steelyard", "numpy", "pin"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return versions
