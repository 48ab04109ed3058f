"""The same problem handed to other libraries, each in its own form and at its own defaults.

Every function makes a call that solves one problem and gives x; whatever can be made ready beforehand is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy import sparse

from steelyard.solve.problem import Problem
from steelyard.spatial import Array

Call = Callable[[], Array]


def daqp(R: Array, z: Array, G: Array, c: Array) -> Call:
    from daqp import solve

    n, q, above, sense = len(c), -c, np.full(len(c), 1e30), np.zeros(len(c), np.int32)
    return lambda: solve(G, q, np.zeros((0, n)), above, np.zeros(n), sense)[0]


def quadprog(R: Array, z: Array, G: Array, c: Array) -> Call:
    from quadprog import solve_qp

    C, b = np.eye(len(c)), np.zeros(len(c))
    return lambda: solve_qp(G, c, C, b)[0]


def scipy(R: Array, z: Array, G: Array, c: Array) -> Call:
    from scipy.optimize import nnls

    return lambda: nnls(R, z)[0]


def piqp(R: Array, z: Array, G: Array, c: Array) -> Call:
    from piqp import DenseSolver

    q, zero = -c, np.zeros(len(c))

    def call() -> Array:
        solver = DenseSolver()
        solver.settings.verbose = False
        solver.setup(G, q, None, None, None, None, None, zero, None)
        solver.solve()
        return np.asarray(solver.result.x)

    return call


def proxsuite(R: Array, z: Array, G: Array, c: Array) -> Call:
    from proxsuite import proxqp

    n, q, zero, above = len(c), -c, np.zeros(len(c)), np.full(len(c), 1e20)

    def call() -> Array:
        solver = proxqp.dense.QP(n, 0, 0, True)
        solver.init(G, q, None, None, None, None, None, zero, above)
        solver.solve()
        return np.asarray(solver.results.x)

    return call


def clarabel(R: Array, z: Array, G: Array, c: Array) -> Call:
    import clarabel as library

    n, q, b = len(c), -c, np.zeros(len(c))
    P, A = sparse.csc_matrix(np.triu(G)), -sparse.eye(n, format="csc")

    def call() -> Array:
        settings = library.DefaultSettings()
        settings.verbose = False
        cones = [library.NonnegativeConeT(n)]
        return np.array(library.DefaultSolver(P, q, A, b, cones, settings).solve().x)

    return call


def osqp(R: Array, z: Array, G: Array, c: Array) -> Call:
    from osqp import OSQP

    n, q, zero, above = len(c), -c, np.zeros(len(c)), np.full(len(c), np.inf)
    P, A = sparse.csc_matrix(np.triu(G)), sparse.eye(n, format="csc")

    def call() -> Array:
        solver = OSQP()
        solver.setup(P, q, A, zero, above, verbose=False)
        return np.asarray(solver.solve().x)

    return call


NONNEGATIVE: dict[str, Callable[[Array, Array, Array, Array], Call]] = {
    "daqp": daqp,
    "quadprog": quadprog,
    "piqp": piqp,
    "scipy": scipy,
    "proxsuite": proxsuite,
    "clarabel": clarabel,
    "osqp": osqp,
}


def cvxpy(problem: Problem) -> Call:
    """Bodies through cvxpy to Clarabel, posed anew at every call as its users do; one matrix expression a cone."""
    import cvxpy as library

    R, z = problem.information.R, problem.information.z
    index, bound = list(problem.lower), np.array(list(problem.lower.values()))

    def call() -> Array:
        theta = library.Variable(len(z))
        constraints: list[Any] = [theta[index] >= bound]
        for cone in problem.cones:
            k, p = cone.F.shape[:2]
            M = cone.F.reshape(k, p * p).T @ theta[cone.at : cone.at + k]
            constraints.append(library.reshape(M, (p, p), order="C") >> 0)
        objective = library.Minimize(library.sum_squares(R @ theta - z))
        library.Problem(objective, constraints).solve(solver="CLARABEL")
        return np.asarray(theta.value)

    return call


def missing(*names: str) -> list[str]:
    """Which of these peers are not installed."""
    return [name for name in names if installed(name) is None]


@cache
def installed(name: str) -> str | None:
    """Version of a peer; None if it is missing, which is printed once."""
    try:
        return version(name)
    except PackageNotFoundError:
        print(f"peer {name} is not installed, and is not compared (make bench installs it)", file=sys.stderr)
        return None
