"""Time and correctness of solvers on the same problems: ours, and others that do the same job.

Bounds only: the objective is ½xᵀGx − cᵀx over x ≥ 0, and every library gets G and c ready made (scipy's gets R and z).
Ours is the kernel from G and c, its optimality check included; ``ours_certified`` goes from R to an answer refined on R
and proved by a certificate. Consistent bodies: ours is the backend from R, against cvxpy with Clarabel, and
against Clarabel called directly. An answer's ``excess`` is how far its objective lies above the proved
optimum, relative to the objective as in ``certify``; ``infeasible`` is the largest violation in units of the unknowns'
natural size. It is ``right`` where both are below 10⁻⁶.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bench import peers
from bench.windows import a1_windows, talos_bodies, talos_points
from steelyard.kernels import active_set as kernel
from steelyard.solve import clarabel_ as conic
from steelyard.solve import interior, nnls
from steelyard.solve.certify import certify
from steelyard.solve.problem import Problem, Solution
from steelyard.spatial import Array

Call = Callable[[], Array]

RIGHT = 1e-6
PROMISED = {"a1_shapes_11": 1 / 0.6, "a1_points_54": 1 / 0.4, "talos_points_891": 1.0, "talos_bodies_33": 3.0}


def solvers(repeats: int = 7, windows: int = 40, talos: bool = True) -> dict[str, Any]:
    """All cases; ``talos=False`` leaves out the long ones."""
    kernel.warm_up()
    shapes, points = a1_windows(windows)
    cases = {
        "a1_shapes_11": _nonnegative(shapes, 5 * repeats),
        "a1_points_54": _nonnegative(points, repeats),
    }
    if talos:
        cases["talos_points_891"] = _nonnegative([talos_points()], repeats)
        cases["talos_bodies_33"] = _bodies(talos_bodies(), repeats)
    return cases


def kept(cases: dict[str, Any]) -> bool:
    """Whether every case is as fast as promised against every peer that has to be there, and ours is right."""
    good = True
    for name, least in PROMISED.items():
        case = cases[name]
        rivals = {"talos_points_891": ["piqp"], "talos_bodies_33": ["cvxpy"]}.get(name, list(peers.NONNEGATIVE))
        missing = [peer for peer in rivals if peer not in case["ratio"]]
        slowest = min((case["ratio"][peer] for peer in rivals if peer not in missing), default=0.0)
        if missing or slowest < least or not case["ours"]["right"]:
            print(f"{name}: ratio {slowest:.2f}, promised {least:.2f}; missing: {missing or 'none'}", file=sys.stderr)
            good = False
    return good


def _nonnegative(some: Sequence[Problem], repeats: int) -> dict[str, Any]:
    """Mean over the problems, minimum and median over the repeats."""
    data = []
    for problem in some:
        R, z = np.ascontiguousarray(problem.information.R), np.array(problem.information.z)
        data.append((R, z, np.ascontiguousarray(R.T @ R), R.T @ z))
    calls: dict[str, list[Call]] = {"ours": [_ours(G, c) for _, _, G, c in data]}
    for name, make in peers.NONNEGATIVE.items():
        if peers.installed(name):
            calls[name] = [make(*d) for d in data]
    answers, times = _measure(calls, repeats)
    proofs: dict[str, list[Call]] = {"ours_certified": [_proved(p, nnls.solve) for p in some]}
    _, proved = _measure(proofs, min(repeats, 7))
    return _case(some, nnls.solve, answers, times | proved)


def _bodies(problem: Problem, repeats: int) -> dict[str, Any]:
    calls: dict[str, list[Call]] = {
        "ours": [lambda: interior.solve(replace(problem)).theta],
        "clarabel": [lambda: conic.solve(replace(problem)).theta],
    }
    if peers.installed("cvxpy"):
        calls["cvxpy"] = [peers.cvxpy(problem)]
    answers, times = _measure(calls, repeats)
    _, proved = _measure({"ours_certified": [_proved(problem, interior.solve)]}, repeats)
    return _case([problem], interior.solve, answers, times | proved)


def _ours(G: Array, c: Array) -> Call:
    return lambda: kernel.solve(G, c)[0][0]


def _proved(problem: Problem, solve: Callable[[Problem], Solution]) -> Call:
    def call() -> Array:
        fresh = replace(problem)  # nothing worked out before
        solution = solve(fresh)
        assert certify(fresh, solution).holds
        return solution.theta

    return call


def _measure(calls: dict[str, list[Call]], repeats: int) -> tuple[dict[str, list[Array]], dict[str, list[float]]]:
    """Answers of one untimed round, then µs a problem of interleaved repeats."""
    answers = {name: [np.asarray(call()) for call in some] for name, some in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, some in calls.items():
            start = time.perf_counter()
            for call in some:
                call()
            times[name].append(1e6 * (time.perf_counter() - start) / len(some))
    return answers, times


def _case(
    some: Sequence[Problem],
    reference: Callable[[Problem], Solution],
    answers: dict[str, list[Array]],
    times: dict[str, list[float]],
) -> dict[str, Any]:
    best = [reference(p) for p in some]
    proofs = [certify(p, s) for p, s in zip(some, best, strict=True)]
    case: dict[str, Any] = {"n": some[0].information.n, "problems": len(some)}
    for name, t in times.items():
        case[name] = {"min": float(np.min(t)), "median": float(np.median(t))}
    for name, solutions in answers.items():
        above = max(excess(p, s.theta, x) for p, s, x in zip(some, best, solutions, strict=True))
        infeasible = max(_infeasible(p, x) for p, x in zip(some, solutions, strict=True))
        case[name] |= {"excess": above, "infeasible": infeasible, "right": max(above, infeasible) <= RIGHT}
    case["ours_certified"] |= {"kkt": max(p.kkt for p in proofs), "gap": max(p.gap for p in proofs)}
    rivals = [name for name in answers if name != "ours"]
    case["ratio"] = {name: case[name]["min"] / case["ours"]["min"] for name in rivals}
    case["versions"] = {name: peers.installed(name) for name in rivals}
    return case


def excess(problem: Problem, best: Array, x: Array) -> float:
    """How far x lies above the optimum, relative to the objective."""
    worth = problem.objective(best) + 1e-6 * problem.objective(problem.start)
    return float((problem.objective(x) - problem.objective(best)) / worth)


def _infeasible(problem: Problem, x: Array) -> float:
    bounds = [float((low - x[i]) / problem.scale[i]) for i, low in problem.lower.items()]
    cones = [-float(np.linalg.eigvalsh(cone.value(x))[0]) for cone in problem.cones]
    return max(0.0, *bounds, *cones)
