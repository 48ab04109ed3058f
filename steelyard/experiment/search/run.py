"""A search that can be stopped and gone on with: units of work, one after another, on a state that JSON holds.

An algorithm is two functions, ``begin`` and ``advance``, on a plain state of numbers, lists and text. After each unit
the state, the generator's included, is whole; floats come back from JSON bit by bit. So a search that was stopped and
resumed ends where one that never stopped ends.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.search.search_options import Algorithm
from steelyard.experiment.search.search_problem import SearchProblem
from steelyard.files import write_text
from steelyard.spatial import Array

State = dict[str, Any]

ALGORITHMS: tuple[Algorithm, ...] = ("cobyla", "genetic", "combined", "gauss-newton")
SAVE_EVERY = 2.0  # s at least between checkpoints
EVALUATIONS = 10_000


class Steps(Protocol):
    """A module that searches."""

    def begin(self, problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
        """The first state; ``best`` (bodies × 10 parameters) and ``error`` are in it."""

    def advance(self, problem: SearchProblem, state: State, rng: np.random.Generator, budget: int) -> State:
        """The state after one more unit of work, ``done`` where nothing is left to do; ``budget`` of evaluations."""


@dataclass(frozen=True)
class Found:
    """What a search ended with."""

    algorithm: Algorithm
    parameters: Array  # (bodies, 10)
    error: float  # GC error
    start: float  # GC error of the first configuration
    evaluations: int
    history: list[tuple[int, float]]  # evaluations, best GC error so far

    @property
    def reduction(self) -> float:
        """GC error at the start over that at the end."""
        return self.start / max(self.error, 1e-300)


def run(
    problem: SearchProblem,
    algorithm: Algorithm,
    *,
    seed: int = 0,
    evaluations: int = EVALUATIONS,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    watch: Callable[[State], None] = lambda _: None,
) -> Found:
    """Search until the budget is used up or nothing is left to do.

    ``checkpoint``: a file that always holds a whole state; ``resume`` goes on from it. ``watch`` sees every state.
    """
    steps = _steps(algorithm)
    rng = np.random.default_rng(seed)
    about = {"algorithm": algorithm, "seed": seed, "parameters": list(problem.space.names), "start": _digest(problem)}
    state = _resumed(checkpoint, about) if resume and checkpoint is not None else None
    if state is None:
        error = problem.gc_error(problem.space.parameters(np.zeros((1, problem.space.n)))[0])
        if not np.isfinite(error):
            raise UsageError(
                Finding(
                    "todo",
                    "the first configuration",
                    "cannot be simulated over these windows",
                    "Give a shorter --horizon, or a description that is nearer",
                )
            )
        problem.counted["evaluations"] = 1
        state = {"about": about, "first": error, "history": [[1, error]], "done": error == 0.0}
        state |= steps.begin(problem, rng, evaluations)
        _noted(state, problem, rng)
        watch(state)
    else:
        rng.bit_generator.state = state["rng"]
        problem.counted["evaluations"] = state["evaluations"]
    saved = time.monotonic()
    while not state["done"] and problem.evaluations < evaluations:
        state = steps.advance(problem, state, rng, evaluations)
        _noted(state, problem, rng)
        watch(state)
        progress(
            f"{algorithm}: {problem.evaluations} evaluations, best GC error {state['error']:.3g} "
            f"(began at {state['first']:.3g})"
        )
        if checkpoint is not None and time.monotonic() - saved > SAVE_EVERY:
            write_text(checkpoint, json.dumps(state))
            saved = time.monotonic()
    if checkpoint is not None:
        write_text(checkpoint, json.dumps(state))
    return Found(
        algorithm,
        np.array(state["best"]),
        state["error"],
        state["first"],
        state["evaluations"],
        [(int(k), float(e)) for k, e in state["history"]],
    )


def _noted(state: State, problem: SearchProblem, rng: np.random.Generator) -> None:
    state["evaluations"], state["rng"] = problem.evaluations, rng.bit_generator.state
    state["history"].append([problem.evaluations, state["error"]])


def _steps(algorithm: Algorithm) -> Steps:
    from steelyard.experiment.search import cobyla, combined, genetic, newton

    modules: dict[str, Steps] = {"cobyla": cobyla, "genetic": genetic, "combined": combined, "gauss-newton": newton}
    if algorithm not in modules:
        raise UsageError(
            Finding("todo", f"--algorithm {algorithm}", "does not exist", f"Choose from: {', '.join(modules)}")
        )
    return modules[algorithm]


def _digest(problem: SearchProblem) -> str:
    """What the search is about, so that no other is gone on with: first configuration, bounds and measured states."""
    told = hashlib.sha256(np.ascontiguousarray(problem.space.values).tobytes())
    told.update(problem.space.scale.tobytes() + repr(problem.space.total).encode())
    for engine in problem.engines:
        w = engine.windows
        told.update(repr((w.steps, w.step, w.ramp, w.integrator)).encode())
        for part in (w.q, w.v, w.torques, w.q_end, w.v_end):
            told.update(np.ascontiguousarray(part).tobytes())
    return told.hexdigest()


def _resumed(path: Path, about: dict[str, Any]) -> State | None:
    if not path.exists():
        return None
    needed = {"about", "first", "history", "done", "best", "error", "evaluations", "rng"}
    try:
        state: State = json.loads(path.read_text(encoding="utf-8"))
        whole = needed <= set(state) and isinstance(state["about"], dict)
    except (ValueError, TypeError):
        whole = False
    if not whole:
        raise UsageError(Finding("todo", str(path), "is not a checkpoint of a search", "Remove it, or give another -o"))
    if state["about"] != about:
        different = ", ".join(k for k in about if state["about"].get(k) != about[k])
        what = f"is of another search (it differs in: {different})"
        raise UsageError(Finding("todo", str(path), what, "Give the same options, or leave out --resume"))
    return state
