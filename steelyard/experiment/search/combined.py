"""Go and Hata's future work: the genetic algorithm covers the space, then COBYLA refines its best candidate."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.experiment.search import cobyla, genetic
from steelyard.experiment.search.search_problem import SearchProblem

State = dict[str, Any]

SHARE = 0.4  # of the evaluations, for the genetic algorithm


def begin(problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
    """Start with the genetic algorithm."""
    return {"phase": "genetic", **genetic.begin(problem, rng, budget)}


def advance(problem: SearchProblem, state: State, rng: np.random.Generator, budget: int) -> State:
    """One generation, or one seed of COBYLA."""
    if state["phase"] == "genetic" and problem.evaluations < SHARE * budget:
        return genetic.advance(problem, state, rng, budget)
    if state["phase"] == "genetic":
        kept = {k: v for k, v in state.items() if k in ("about", "first", "history", "evaluations", "rng")}
        return kept | {"phase": "cobyla"} | cobyla.state_at(problem, problem.space.adjust_masses(np.array(state["z"])))
    return cobyla.advance(problem, state, rng, budget)
