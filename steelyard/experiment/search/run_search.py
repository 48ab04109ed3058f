"""Resumable search: an algorithm advances a state that is saved as JSON.

An algorithm is two functions, ``begin`` and ``advance``, on a plain state of numbers, lists and text, the random
generator's state included. JSON preserves floats bit by bit, so a search that was interrupted and resumed ends exactly
where an uninterrupted one ends.
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
SAVE_EVERY = 2.0  # s, least time between checkpoints
EVALUATIONS = 10_000


class SearchAlgorithm(Protocol):
    """A module that implements a search algorithm."""

    def begin(self, problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
        """The first state, with the keys ``best`` (bodies × 10 parameters) and ``error``."""

    def advance(self, problem: SearchProblem, state: State, rng: np.random.Generator, budget: int) -> State:
        """The state after one more step, ``done`` where it has converged; ``budget`` is of evaluations in all."""


@dataclass(frozen=True)
class Optimum:
    """Best parameters of a search."""

    algorithm: Algorithm
    parameters: Array  # (bodies, 10)
    error: float  # GC error
    start: float  # GC error of the first configuration
    evaluations: int
    history: list[tuple[int, float]]  # number of evaluations, best GC error until then

    @property
    def reduction(self) -> float:
        """GC error at the start over that at the end."""
        return self.start / max(self.error, 1e-300)


def run_search(
    problem: SearchProblem,
    algorithm: Algorithm,
    *,
    seed: int = 0,
    evaluations: int = EVALUATIONS,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    watch: Callable[[State], None] = lambda _: None,
) -> Optimum:
    """Search until the budget is used up or the algorithm has converged.

    Args:
        problem: Parameters and windows.
        algorithm: One of ``ALGORITHMS``.
        seed: Of the random generator.
        evaluations: Budget of candidates to simulate.
        checkpoint: File in which the state is saved, atomically.
        resume: Whether to resume from the checkpoint, where it exists.
        progress: Called with a line of text after each step.
        watch: Called with each state.

    Raises:
        UsageError: The start cannot be simulated, or the checkpoint is of another search.
    """
    steps = _algorithm(algorithm)
    rng = np.random.default_rng(seed)
    about = {"algorithm": algorithm, "seed": seed, "parameters": list(problem.space.names), "start": _digest(problem)}
    state = _read_checkpoint(checkpoint, about) if resume and checkpoint is not None else None
    if state is None:
        error = problem.gc_error(problem.space.parameters(np.zeros((1, problem.space.n)))[0])
        if not np.isfinite(error):
            what = "cannot be simulated over these windows: the simulation diverges"
            fix = "Give a shorter horizon, or a description that is nearer to the robot"
            raise UsageError(Finding("simulation-diverged", "start of the search", what, fix, {"horizon": None}))
        problem.counted["evaluations"] = 1
        state = {"about": about, "first": error, "history": [[1, error]], "done": error == 0.0}
        state |= steps.begin(problem, rng, evaluations)
        _record(state, problem, rng)
        watch(state)
    else:
        rng.bit_generator.state = state["rng"]
        problem.counted["evaluations"] = state["evaluations"]
    saved = time.monotonic()
    while not state["done"] and problem.evaluations < evaluations:
        state = steps.advance(problem, state, rng, evaluations)
        _record(state, problem, rng)
        watch(state)
        progress(
            f"{algorithm}: {problem.evaluations} evaluations, best GC error {state['error']:.3g} "
            f"(at the start {state['first']:.3g})"
        )
        if checkpoint is not None and time.monotonic() - saved > SAVE_EVERY:
            write_text(checkpoint, json.dumps(state))
            saved = time.monotonic()
    if checkpoint is not None:
        write_text(checkpoint, json.dumps(state))
    return Optimum(
        algorithm,
        np.array(state["best"]),
        state["error"],
        state["first"],
        state["evaluations"],
        [(int(k), float(e)) for k, e in state["history"]],
    )


def _record(state: State, problem: SearchProblem, rng: np.random.Generator) -> None:
    state["evaluations"], state["rng"] = problem.evaluations, rng.bit_generator.state
    state["history"].append([problem.evaluations, state["error"]])


def _algorithm(algorithm: Algorithm) -> SearchAlgorithm:
    from steelyard.experiment.search import cobyla, combined, gauss_newton, genetic

    modules: dict[str, SearchAlgorithm] = {
        "cobyla": cobyla,
        "genetic": genetic,
        "combined": combined,
        "gauss-newton": gauss_newton,
    }
    if algorithm not in modules:
        fix = f"Choose from: {', '.join(modules)}"
        raise UsageError(Finding("option-unknown-choice", f"algorithm={algorithm}", "does not exist", fix))
    return modules[algorithm]


def _digest(problem: SearchProblem) -> str:
    """Digest of the start, the bounds and the measured states, so that no other search is resumed."""
    digest = hashlib.sha256(np.ascontiguousarray(problem.space.values).tobytes())
    digest.update(problem.space.scale.tobytes() + repr(problem.space.total).encode())
    for engine in problem.engines:
        w = engine.windows
        digest.update(repr((w.steps, w.step, w.ramp, w.integrator)).encode())
        for part in (w.q, w.v, w.torques, w.q_end, w.v_end):
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _read_checkpoint(path: Path, about: dict[str, Any]) -> State | None:
    if not path.exists():
        return None
    needed = {"about", "first", "history", "done", "best", "error", "evaluations", "rng"}
    try:
        state: State = json.loads(path.read_text(encoding="utf-8"))
        whole = needed <= set(state) and isinstance(state["about"], dict)
    except (ValueError, TypeError):
        whole = False
    if not whole:
        what, fix = "is not a checkpoint of a search", "Remove it, or give another folder"
        raise UsageError(Finding("checkpoint-unreadable", str(path), what, fix))
    if state["about"] != about:
        different = ", ".join(k for k in about if state["about"].get(k) != about[k])
        fix = "Give the options of that search, or start a new one in another folder"
        raise UsageError(Finding("checkpoint-mismatch", f"{path}, {different}", "is of another search", fix))
    return state
