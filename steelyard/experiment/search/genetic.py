"""Go and Hata's genetic algorithm (III-B): roulette, crossover, Gaussian mutation, and migration from the centroid.

An individual is a configuration; its fitness is 1/GC. A child takes each gene from one of two parents drawn by
roulette, mutates in one gene and a few others, and is moved away from the centroid of all children (*migration*).
Genes are the coordinates of ``coordinates.py``, recomputed about the best individual every ``RENEW`` generations; the
size of mutations follows the share of children that are better than their parents. The best survive. One step is one
generation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.experiment.search.coordinates import clip_to_bounds, scale_by_sensitivity
from steelyard.experiment.search.search_problem import SearchProblem
from steelyard.spatial import Array

State = dict[str, Any]

POPULATION = 40
ELITE = 2
RATE = 0.1  # probability that a gene mutates, beside the one that always does
MIGRATION = 0.02  # of the distance from the centroid
SIZE, SIZES = 0.1, (1e-7, 0.3)  # of mutations: at first, and its bounds
SUCCESS, PACE = 0.2, 0.6  # share of better children at which the size stays, and rate of its adaptation
RENEW = 20  # generations between updates of the coordinates


def begin(problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
    """The description and mutations of it."""
    T = scale_by_sensitivity(problem, np.zeros(problem.space.n), keep_mass=False)
    Z = clip_to_bounds(SIZE * rng.normal(size=(POPULATION, problem.space.n)) @ T.T)
    Z[0] = 0.0
    return _with_population(
        problem, {"T": T.tolist(), "size": SIZE, "generation": 0, "done": False}, Z, problem.evaluate(Z)
    )


def advance(problem: SearchProblem, state: State, rng: np.random.Generator, budget: int) -> State:
    """One generation."""
    state = dict(state)
    Z, E = np.array(state["population"]), np.array(state["errors"])
    order = np.argsort(E)
    Z, E = Z[order], E[order]
    state["generation"] += 1
    if state["generation"] % RENEW == 0 and budget - problem.evaluations > Z.shape[1] + 1:
        state["T"] = scale_by_sensitivity(problem, Z[0], keep_mass=False).tolist()
    T = np.array(state["T"])
    Y = np.linalg.solve(T, Z.T).T
    count, n = min(POPULATION - ELITE, budget - problem.evaluations), Z.shape[1]
    wheel = np.where(np.isfinite(E), E[0] / np.maximum(E, 1e-300), 0.0)
    wheel = wheel / wheel.sum() if E[0] > 0 else np.eye(len(E))[0]
    one, other = rng.choice(len(E), count, p=wheel), rng.choice(len(E), count, p=wheel)
    children = np.where(rng.random((count, n)) < 0.5, Y[one], Y[other])
    mutates = rng.random((count, n)) < RATE
    mutates[np.arange(count), rng.integers(n, size=count)] = True
    sizes = state["size"] * np.exp(rng.normal(size=(count, 1)))
    children = children + mutates * sizes * rng.normal(size=(count, n))
    children = children + MIGRATION * (children - children.mean(axis=0))
    new = clip_to_bounds(children @ T.T)
    errors = problem.evaluate(new)
    better = float(np.mean(errors < np.minimum(E[one], E[other])))
    state["size"] = float(np.clip(state["size"] * np.exp(PACE * (better - SUCCESS)), *SIZES))
    return _with_population(problem, state, np.vstack([Z[:ELITE], new]), np.concatenate([E[:ELITE], errors]))


def _with_population(problem: SearchProblem, state: State, Z: Array, E: Array) -> State:
    k = int(np.argmin(E))
    state["population"], state["errors"] = Z.tolist(), E.tolist()
    state["z"], state["error"] = Z[k].tolist(), float(E[k])
    state["best"] = problem.space.parameters(Z[k : k + 1])[0].tolist()
    state["done"] = state["error"] == 0.0
    return state
