"""Go and Hata's nonlinear optimisation (III-A): COBYLA from three seeds, the best of them the next first seed.

COBYLA (NLopt) keeps bounds of ±50 % and the total mass; seeds are the best so far and two mutations of it. It minimises
√GC, whose valleys are straight where those of GC are curved, in the coordinates of ``coordinates.py``, recomputed each
round, with a trust region that starts smaller each time. One step is one seed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.search.coordinates import clip_to_bounds, scale_by_sensitivity
from steelyard.experiment.search.search_problem import REACH, SearchProblem
from steelyard.spatial import Array

State = dict[str, Any]

SEEDS = 3
EACH = 400  # evaluations per seed
RADIUS = 0.1  # of the first trust region, in y
MUTATION = 0.02  # standard deviation, in y
SHRINK = 0.7  # factor on both after each round
LEAST = 0.003  # radius below which both start large again
TOLERANCE = 1e-3  # kg, of the total mass
DIGITS = 9  # of √GC given to COBYLA: it amplifies rounding, which differs between machines, a thousand times


def begin(problem: SearchProblem, rng: np.random.Generator, budget: int) -> State:
    """Start at the description, with masses that sum to the total."""
    return state_at(problem, problem.space.adjust_masses(np.zeros(problem.space.n)))


def state_at(problem: SearchProblem, z: Array) -> State:
    """The first state of a search from z."""
    error = float(problem.evaluate(z[None])[0])
    return {
        "z": z.tolist(),
        "error": error,
        "best": problem.space.parameters(z[None])[0].tolist(),
        "seed": 0,
        "radius": RADIUS,
        "mutation": MUTATION,
        "round": [],
        "done": False,
        "population": [z.tolist()],
    }


def advance(problem: SearchProblem, state: State, rng: np.random.Generator, budget: int) -> State:
    """Optimise from the next seed; the seeds of a round are independent and optimised in parallel."""
    space, state = problem.space, dict(state)
    z = np.array(state["z"])
    if state["seed"] == 0:
        state["T"], state["round"] = scale_by_sensitivity(problem, z, keep_mass=True).tolist(), []
    T = np.array(state["T"])
    ahead = list(state.get("ahead", []))
    if not ahead:
        remaining = budget - problem.evaluations
        seeds = range(state["seed"], SEEDS if remaining >= SEEDS * EACH else state["seed"] + 1)
        firsts = [
            z
            if k == 0
            else space.adjust_masses(clip_to_bounds(z + state["mutation"] * T @ rng.normal(size=T.shape[1])))
            for k in seeds
        ]
        ahead = problem.map_tasks(
            minimise_from, [(first, T, state["radius"], min(EACH, max(remaining, 1))) for first in firsts]
        )
    error, optimum, count = ahead[0]
    state["ahead"] = ahead[1:]
    problem.counted["evaluations"] += count
    state["round"] = [*state["round"], [error, optimum]]
    best = min(state["round"], key=lambda pair: pair[0])
    if best[0] < state["error"]:
        state["error"], state["best"] = best[0], space.parameters(np.array([best[1]]))[0].tolist()
        state["chosen"] = best[1]
    state["population"] = [pair[1] for pair in state["round"]]
    state["seed"] = (state["seed"] + 1) % SEEDS
    if state["seed"] == 0:
        state["z"] = state.get("chosen", state["z"])
        small = state["radius"] * SHRINK < LEAST
        state["radius"] = RADIUS if small else state["radius"] * SHRINK
        state["mutation"] = MUTATION if small else state["mutation"] * SHRINK
    state["done"] = state["error"] == 0.0
    return state


def minimise_from(problem: SearchProblem, task: tuple[Array, Array, float, int]) -> list[Any]:
    """Run COBYLA from one seed; its error, z, and number of evaluations."""
    first, T, radius, budget = task
    problem = replace(problem, mapper=map, counted={"evaluations": 0})
    nlopt, space = _nlopt(), problem.space
    n, k = space.n, T.shape[1]
    best: tuple[float, Array] = (np.inf, first)

    def objective(y: Array, _: Array) -> float:
        nonlocal best
        z = clip_to_bounds(first + T @ y)
        error = float(problem.evaluate(z[None])[0])
        if error < best[0] and abs(space.mass_excess(z)) < TOLERANCE:
            best = (error, z)
        return float(f"{np.sqrt(error):.{DIGITS}g}") if np.isfinite(error) else 1e9

    def outside(result: Array, y: Array, _: Array) -> None:
        z = first + T @ y
        result[:n], result[n:] = z - REACH, -REACH - z

    optimiser = nlopt.opt(nlopt.LN_COBYLA, k)
    optimiser.set_min_objective(objective)
    optimiser.add_inequality_mconstraint(outside, np.full(2 * n, 1e-9))
    optimiser.set_initial_step(np.full(k, radius))
    optimiser.set_maxeval(budget)
    optimiser.set_xtol_rel(1e-12)
    with suppress(nlopt.RoundoffLimited):  # converged to rounding
        optimiser.optimize(np.zeros(k))
    return [best[0], best[1].tolist(), problem.evaluations]


def _nlopt() -> Any:
    try:
        import nlopt
    except ImportError:
        what, fix = "is not installed; COBYLA is part of it", 'Install the extra: pip install "steelyard[search]"'
        raise UsageError(Finding("package-missing", "NLopt", what, fix, {"install": "steelyard[search]"})) from None
    return nlopt
