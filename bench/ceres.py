"""One body by Ceres, as Rucker and Wensing, and Xu after them, solve for it: least squares in ξ, and nothing else.

The residual is Rθ(ξ) − z with ξ the chart of ``steelyard/solve/log_cholesky.py``, its Jacobian R ∂θ/∂ξ by formula,
the linear solver a dense QR. Ceres calls back into Python for both; what is behind that is compiled, and ``net`` is
the time it would take without Python: what Ceres spends outside of evaluations, and what the compiled function takes
by itself.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit

from steelyard.solve.log_cholesky import Chart
from steelyard.solve.problem import Problem
from steelyard.spatial import Array

TIGHT = {"function_tolerance": 1e-12, "gradient_tolerance": 1e-16, "parameter_tolerance": 1e-16}
MANY = 1000  # iterations, for those; the default is 50


def ceres(problem: Problem, chart: Chart, tight: bool = False) -> Solve:
    """A call that solves the problem from its start, at Ceres' own tolerances or at tight ones."""
    import pyceres

    class Residual(pyceres.CostFunction):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.set_num_residuals(10)
            self.set_parameter_block_sizes([10])

        def Evaluate(self, parameters: list[Array], residuals: Array, jacobians: list[Array] | None) -> bool:
            if jacobians is None:
                return bool(evaluate(parameters[0], R, z, body, room, residuals, nowhere))
            return bool(evaluate(parameters[0], R, z, body, room, residuals, jacobians[0]))

    R, z = np.ascontiguousarray(problem.information.R), np.array(problem.information.z)
    body, room, nowhere = np.array([chart.mass, chart.floor, chart.size, chart.margin]), np.empty((11, 10)), np.empty(0)
    options = pyceres.SolverOptions()
    options.linear_solver_type = pyceres.LinearSolverType.DENSE_QR
    options.logging_type = pyceres.LoggingType.SILENT
    if tight:
        options.max_num_iterations = MANY
        for name, value in TIGHT.items():
            setattr(options, name, value)
    pyceres.logging.minloglevel = pyceres.logging.FATAL.value  # it logs every step that overflows otherwise
    return Solve(pyceres, options, Residual(), chart, chart.coordinates(problem.start), (R, z, body, room))


class Solve:
    """One problem, made ready."""

    def __init__(self, pyceres: Any, options: Any, residual: Any, chart: Chart, start: Array, data: tuple[Array, ...]):
        self.pyceres, self.options, self.residual, self.chart = pyceres, options, residual, chart
        self.start, self.xi, self.data = start, start.copy(), data
        self.problem, self.summary = pyceres.Problem(), pyceres.SolverSummary()
        self.problem.add_residual_block(residual, None, [self.xi])

    def __call__(self) -> Array:
        self.xi[:] = self.start
        self.pyceres.solve(self.options, self.problem, self.summary)
        return self.xi

    def theta(self) -> Array:
        """(10,) what the last call found."""
        return self.chart.parameters(self.xi)

    def steps(self) -> int:
        """Of the last call, those not taken included."""
        return int(self.summary.num_successful_steps + self.summary.num_unsuccessful_steps)

    def net(self, repeats: int = 10) -> float:
        """µs that one call takes Ceres itself and the compiled function: the least of some calls, without Python."""
        left = []
        for _ in range(repeats):
            self()
            s = self.summary
            inside = s.residual_evaluation_time_in_seconds + s.jacobian_evaluation_time_in_seconds
            left.append(s.total_time_in_seconds - inside)
        counts = (s.num_residual_evaluations, 0), (s.num_jacobian_evaluations, 100)
        return 1e6 * (min(left) + sum(n * self._alone(size) for n, size in counts))

    def _alone(self, size: int) -> float:
        """Seconds of the compiled function by itself, with a Jacobian or without."""
        residual, jacobian, best = np.empty(10), np.empty(size), np.inf
        for _ in range(5):
            start = time.perf_counter()
            _often(50, self.xi, *self.data, residual, jacobian)
            best = min(best, time.perf_counter() - start)
        return best / 50


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def evaluate(xi: Array, R: Array, z: Array, body: Array, room: Array, residual: Array, jacobian: Array) -> bool:
    """Rθ(ξ) − z (10,) and, where there is room for it, its Jacobian (100,); False where it is not finite.

    ``body``: mass, least mass, size and margin of the chart, whose axes are the body's.
    """
    mass, floor, s, margin = body
    above = mass * np.exp(2 * xi[0])
    m = floor + above
    V00, V11, V22, V01, V12, V02 = np.exp(xi[1]), np.exp(xi[2]), np.exp(xi[3]), xi[4], xi[5], xi[6]
    x, y, t = xi[7], xi[8], xi[9]
    T, unit = room[:10], room[10]
    _body(
        V00 * V00 + V01 * V01 + V02 * V02 + x * x + margin, V01 * V11 + V02 * V12 + x * y,
        V11 * V11 + V12 * V12 + y * y + margin, V02 * V22 + x * t, V12 * V22 + y * t, V22 * V22 + t * t + margin,
        1.0, x, y, t, s, unit,
    )  # fmt: skip
    square = 0.0
    for i in range(10):
        v = -z[i]
        for k in range(i, 10):
            v += R[i, k] * m * unit[k]
        residual[i] = v
        square += v * v
    if not square < np.inf:
        return False
    if len(jacobian) == 0:
        return True
    for k in range(10):
        T[0, k] = 2 * above * unit[k]
    _body(2 * m * V00 * V00, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, s, T[1])
    _body(0.0, m * V11 * V01, 2 * m * V11 * V11, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, s, T[2])
    _body(0.0, 0.0, 0.0, m * V22 * V02, m * V22 * V12, 2 * m * V22 * V22, 0.0, 0.0, 0.0, 0.0, s, T[3])
    _body(2 * m * V01, m * V11, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, s, T[4])
    _body(0.0, m * V02, 2 * m * V12, 0.0, m * V22, 0.0, 0.0, 0.0, 0.0, 0.0, s, T[5])
    _body(2 * m * V02, m * V12, 0.0, m * V22, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, s, T[6])
    _body(2 * m * x, m * y, 0.0, m * t, 0.0, 0.0, 0.0, m, 0.0, 0.0, s, T[7])
    _body(0.0, m * x, 2 * m * y, 0.0, m * t, 0.0, 0.0, 0.0, m, 0.0, s, T[8])
    _body(0.0, 0.0, 0.0, m * x, m * y, 2 * m * t, 0.0, 0.0, 0.0, m, s, T[9])
    for i in range(10):
        for j in range(10):
            v = 0.0
            for k in range(i, 10):
                v += R[i, k] * T[j, k]
            jacobian[10 * i + j] = v
    return True


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _body(
    xx: float, xy: float, yy: float, xz: float, yz: float, zz: float,
    m: float, hx: float, hy: float, hz: float, s: float, out: Array,
) -> None:  # fmt: skip
    """Ten parameters of second moments in units of s², first moments in units of s, and the mass."""
    out[0], out[1], out[2], out[3] = m, s * hx, s * hy, s * hz
    out[4], out[6], out[9] = s * s * (yy + zz), s * s * (xx + zz), s * s * (xx + yy)
    out[5], out[7], out[8] = -s * s * xy, -s * s * xz, -s * s * yz


@njit(cache=True)  # type: ignore[untyped-decorator]
def _often(
    count: int, xi: Array, R: Array, z: Array, body: Array, room: Array, residual: Array, jacobian: Array
) -> None:
    for _ in range(count):
        evaluate(xi, R, z, body, room, residual, jacobian)
