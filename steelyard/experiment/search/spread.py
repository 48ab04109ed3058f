"""Candidates over workers: what is searched is sent once, and tasks are a few candidates each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from steelyard.experiment.search.engine import Compiled, Mujoco, PredictionEngine
from steelyard.experiment.search.options import EngineKind
from steelyard.experiment.search.problem import SearchProblem, Space
from steelyard.experiment.search.windows import Windows
from steelyard.fleet.sent import Sent
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot

FEW = 4  # candidates a task of workers: they are for simulations that take long


def engine_of(robot: Robot, windows: Windows, kind: EngineKind, feet: Sequence[str]) -> PredictionEngine:
    """What simulates these windows."""
    if kind == "compiled" or (kind == "auto" and not robot.floating):
        return Compiled(robot, windows)
    return Mujoco(robot, windows, feet)


def problem_of(
    robot: Robot, space: Space, windows: Sequence[Windows], kind: EngineKind = "auto", feet: Sequence[str] = ()
) -> SearchProblem:
    """A search in these windows, one engine each, by one process."""
    return SearchProblem(space, tuple(engine_of(robot, w, kind, feet) for w in windows))


def spread(workers: Workers, problem: SearchProblem, *given: object) -> SearchProblem:
    """The same, its candidates simulated by workers; ``given`` is what ``problem_of`` made it of."""
    return replace(problem, mapper=_Mapper(workers, Sent(problem, problem_of, *given)), chunk=FEW)


@dataclass(frozen=True, eq=False)
class _Mapper:
    """As ``map`` with a function of the problem, which workers have too."""

    workers: Workers
    problem: Sent[SearchProblem]

    def __call__(self, bound: partial[Any], tasks: Sequence[Any]) -> list[Any]:
        return self.workers.map(_worked, tasks, self.problem, bound.func, name="candidates")


def _worked(task: Any, problem: Sent[SearchProblem], function: Callable[[SearchProblem, Any], Any]) -> Any:
    return function(problem.here, task)
