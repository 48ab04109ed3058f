"""What Go and Hata propose as future work: the genetic algorithm covers the space, COBYLA refines what it found."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.experiment.search import cobyla, genetic
from steelyard.experiment.search.search_problem import SearchProblem

State = dict[str, Any]

SHARE = 0.4  # of the evaluations are the genetic algorithm's


def begin(problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
    """As the genetic algorithm does."""
    return {"phase": "genetic", **genetic.begin(problem, rng, budget)}


def advance(problem: SearchProblem, state: State, rng: np.random.Generator, budget: int) -> State:
    """A generation, or a seed of COBYLA."""
    if state["phase"] == "genetic" and problem.evaluations < SHARE * budget:
        return genetic.advance(problem, state, rng, budget)
    if state["phase"] == "genetic":
        kept = {k: v for k, v in state.items() if k in ("about", "first", "history", "evaluations", "rng")}
        return kept | {"phase": "cobyla"} | cobyla.at(problem, problem.space.weighed(np.array(state["z"])))
    return cobyla.advance(problem, state, rng, budget)
