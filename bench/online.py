"""The whole online step: ten raw samples of an A1 to certified parameters of its base, made of eleven cuboids.

``ours`` is one call of ``OnlineIdentifier.push_window``: checks, causal filter, contact-free rows, whitened Gram
matrix, forgetting, test for a change, shapes, proof. ``naive`` does the same job without test and proof, as it is
written down: Pinocchio's regressor and Jacobians at each sample, NumPy's QR for the null space and for the information,
quadprog for the masses. ``daqp`` is its time for the quadratic programme alone, ready made. All are called from Python.

``paper``: Table I of Xu gives the time of solving one window by three methods; ``methods`` are ours, on our windows.
``ceres`` is what Xu's Nonlinear is made of, on the same windows as our ``nonlinear`` (``bench/ceres.py``), at its own
tolerances and at tight ones: its time without what Python costs it (``net``), that as a multiple of ours (``ratio``),
and in how many windows it ends at the optimum, to 10⁻⁶ (``right``) or to one per cent (``near``). ``missing`` are peers
that are not installed: without quadprog there is no ``naive``.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench import peers
from bench.ceres import ceres
from bench.solvers import RIGHT, excess
from bench.windows import A1_FEET, RIDGE, a1_information, a1_log, cuboids, grid, nonnegative
from steelyard import Shapes
from steelyard.compose import prior as priors
from steelyard.compose import pseudo_inertia
from steelyard.compose.primitives import cuboid
from steelyard.compose.pseudo_inertia import chart as chart_of
from steelyard.compose.shape_file import ShapeFile
from steelyard.equations.unknown_forces import Foot, jacobian
from steelyard.identify.options import Options
from steelyard.information import Information
from steelyard.kernels import active_set as kernel
from steelyard.kernels import one_body_newton
from steelyard.log.log import Log
from steelyard.online import OnlineIdentifier, OnlineOptions
from steelyard.robot.geometry import Box
from steelyard.robot.model import Robot
from steelyard.solve import log_cholesky_newton
from steelyard.solve.log_cholesky import Chart
from steelyard.solve.problem import Cone, Problem
from steelyard.solve.solve import solve_certified
from steelyard.spatial import Array

WINDOW = 10
SHAPES = 11
PAPER = {"nonlinear": 3.086 / 0.045, "points": 0.483 / 0.045}  # of Ours: Table I, simulation
PROMISED = {"naive": 80.0, "daqp": 0.5}
NEAR = 0.01
CERES = 1 / 3  # of its time at its own tolerances: a table with a slow rival would flatter us


def online(repeats: int = 15, steps: int = 100_000, windows: int = 200) -> dict[str, Any]:
    """Times of the step against others', and how they spread over many steps."""
    robot = Robot.load("a1")
    truth = {b.name: b.parameters for b in robot.bodies}
    like = a1_log(robot, truth, seed=5, seconds=5.0)
    log = a1_log(robot, truth, seed=6, seconds=(windows + 20) * WINDOW / 500.0)
    ours, cold = (_ours(like, robot, log, warm=warm) for warm in (True, False))
    calls: dict[str, Callable[[int], float]]
    calls = {"ours": ours.step, "ours_cold": cold.step}
    if peers.installed("quadprog"):
        calls["naive"] = _Naive(ours.identifier, robot, log).run
    if peers.installed("daqp"):
        calls["daqp"] = _repeated([peers.daqp(G, c, G, c) for G, c in _problems(ours, windows)])
    times = _interleaved(calls, repeats)
    case: dict[str, Any] = {name: {"min": float(np.min(t)), "median": float(np.median(t))} for name, t in times.items()}
    case["ratio"] = {name: case[name]["min"] / case["ours"]["min"] for name in case if name not in ("ours", "ratio")}
    case["steps"] = _spread(ours, steps)
    error = np.linalg.norm(ours.identifier.parameters[:10] - truth["base"])
    case["proof"] = {"holds": ours.identifier.certificate.holds, "gap": ours.identifier.certificate.gap}
    case["e_p"] = float(error)
    case["methods"], case["paper"] = _methods(repeats), PAPER
    case["missing"] = peers.missing("quadprog", "daqp", "pyceres")
    return {"a1": case}


def kept(result: dict[str, Any]) -> bool:
    """Whether the step is as fast as promised and proved."""
    case = result["a1"]
    good = bool(case["proof"]["holds"])
    for name, least in PROMISED.items():
        if case["ratio"].get(name, 0.0) < least:
            print(f"online, {name}: ratio {case['ratio'].get(name)}, promised {least}", file=sys.stderr)
            good = False
    ratio = case["methods"].get("ceres", {}).get("ratio", np.inf)
    if ratio < CERES:
        print(f"online, nonlinear: ceres takes {ratio} of its time, promised {CERES}", file=sys.stderr)
        good = False
    return good


class _Ours:
    """An identifier and windows that are fed to it in turn, with time stamps that increase."""

    def __init__(self, identifier: OnlineIdentifier, log: Log):
        self.identifier = identifier
        columns = np.column_stack([log.columns[name] for name in identifier.inputs])
        self.windows = [np.ascontiguousarray(columns[k : k + WINDOW]) for k in range(0, len(log), WINDOW)]
        self.fed = 0
        self.step(len(self.windows))

    def ready(self, count: int) -> list[tuple[Array, Array]]:
        """Times and samples of the next windows."""
        stamps = (np.arange(self.fed * WINDOW, (self.fed + count) * WINDOW) / 500.0).reshape(count, WINDOW)
        self.fed += count
        return [(t, self.windows[k % len(self.windows)]) for k, t in enumerate(stamps)]

    def step(self, count: int) -> float:
        """Seconds that so many windows took."""
        windows, push = self.ready(count), self.identifier.push_window
        start = time.perf_counter()
        for times, samples in windows:
            push(times, samples)
        return time.perf_counter() - start


def _ours(like: Log, robot: Robot, log: Log, *, warm: bool) -> _Ours:
    parts = ShapeFile("eleven cuboids", {"base": _cuboids(robot.bodies[0].box)})
    options = Options(method=Shapes(start=parts), feet=A1_FEET, links=("trunk",))
    identifier = OnlineIdentifier("a1", like, options, OnlineOptions(alarm_every=np.inf))
    assert identifier.fast is not None
    identifier.fast.fields["warm"][0] = warm
    identifier.fast.fields["ridge"][0] = RIDGE  # eleven masses, ten parameters: others need a matrix of full rank
    return _Ours(identifier, log)


def _cuboids(box: Box) -> tuple[Any, ...]:
    """A box whose largest part is halved until there are enough."""
    parts = [box]
    while len(parts) < SHAPES:
        lower, upper = parts.pop(int(np.argmax([np.prod(b[1] - b[0]) for b in parts])))
        axis = int(np.argmax(upper - lower))
        cut = (
            np.where(np.arange(3) == axis, (lower + upper) / 2, upper),
            np.where(np.arange(3) == axis, (lower + upper) / 2, lower),
        )
        parts += [(lower, cut[0]), (cut[1], upper)]
    shapes = []
    for lower, upper in parts:
        place = np.eye(4)
        place[:3, 3] = (lower + upper) / 2
        shapes.append(cuboid(upper - lower, place))
    return tuple(shapes)


def _problems(ours: _Ours, count: int) -> list[tuple[Array, Array]]:
    """The quadratic programmes that the step solves, ready made."""
    problems = []
    fast = ours.identifier.fast
    assert fast is not None
    U, floor = fast.fields["map"][:, :SHAPES], fast.fields["floor"]
    for _ in range(count):
        ours.step(1)
        H = fast.fields["prior"] + fast.fields["old"] + fast.fields["recent"]
        G = np.ascontiguousarray(U.T @ H[:10, :10] @ U + RIDGE * np.eye(SHAPES))
        problems.append((G, U.T @ (H[:10, 10] - H[:10, :10] @ floor)))
    return problems


class _Naive:
    """The same job, sample by sample and matrix by matrix."""

    def __init__(self, identifier: OnlineIdentifier, robot: Robot, log: Log):
        assert identifier.fast is not None
        self.robot, self.low = robot, identifier.stream.low
        self.inputs = identifier.stream.inputs
        self.table = self.inputs.table(log)
        self.feet = [f for f in identifier.setup.unknown if isinstance(f, Foot)]
        self.model = robot.model.copy()
        self.model.gravity.linear = np.zeros(3)
        self.data = self.model.createData()
        self.known = robot.prior[10:]
        fields = identifier.fast.fields
        self.U, self.prior = fields["map"][:, :SHAPES], fields["prior"]
        self.factor = np.sqrt(identifier.rule.forgetting)
        self.x = self.low.at_rest(self.table[0])
        self.R, self.fed = np.zeros((11, 11)), 0
        at = self.inputs.places
        self.q = [at[f"q.{j}"] for j in robot.joints]
        self.tau = [at[f"tau.{j}"] for j in robot.joints]
        self.gyro, self.acc, self.turn = (
            slice(at[f"{name}.x"], at[f"{name}.x"] + n)
            for name, n in (("imu.gyro", 3), ("imu.acc", 3), ("base.quaternion", 4))
        )

    def run(self, count: int) -> float:
        """Seconds that so many windows took."""
        start = time.perf_counter()
        for _ in range(count):
            self.step()
        return time.perf_counter() - start

    def step(self) -> Array:
        import pinocchio as pin
        import quadprog

        self.fed += 1
        start = self.fed * WINDOW % (len(self.table) - WINDOW)
        rows = []
        for u in self.table[start : start + WINDOW]:
            self.x[:3] = self.low.step @ np.vstack([self.x, u])
            self.x[3] = u
            y, dy, ddy = self.x[:3]
            q = np.concatenate([[0, 0, 0, 0, 0, 0, 1], y[self.q]])
            v = np.concatenate([[0, 0, 0], y[self.gyro], dy[self.q]])
            a = np.concatenate([y[self.acc], dy[self.gyro], ddy[self.q]])
            up = pin.Quaternion(y[self.turn] / np.linalg.norm(y[self.turn])).matrix()[2]
            Y = pin.computeJointTorqueRegressor(self.model, self.data, q, v, a)
            pin.computeJointJacobians(self.model, self.data, q)
            J = jacobian(self.robot, self.data, self.feet, up)
            N = np.linalg.qr(J.T, mode="complete")[0][:, J.shape[0] :]
            target = np.concatenate([np.zeros(6), y[self.tau]]) - Y[:, 10:] @ self.known
            rows.append(N.T @ np.column_stack([Y[:, :10], target]))
        self.R = np.linalg.qr(np.vstack([self.factor * self.R, *rows]), mode="r")
        H = self.R.T @ self.R + self.prior
        G = self.U.T @ H[:10, :10] @ self.U + RIDGE * np.eye(SHAPES)
        m = quadprog.solve_qp(G, self.U.T @ H[:10, 10], np.eye(SHAPES), np.zeros(SHAPES))[0]
        return np.asarray(self.U @ m)


def _repeated(calls: list[Callable[[], Any]]) -> Callable[[int], float]:
    at = 0

    def run(count: int) -> float:
        nonlocal at
        some = [calls[(at + k) % len(calls)] for k in range(count)]
        at += count
        start = time.perf_counter()
        for call in some:
            call()
        return time.perf_counter() - start

    return run


def _interleaved(calls: dict[str, Callable[[int], float]], repeats: int) -> dict[str, list[float]]:
    """µs a step; the slow one gets fewer, and every one comes after every other in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for run in calls.values():
        run(1)
    for k in range(20 * repeats):
        names = list(calls)
        for name in names[k % len(names) :] + names[: k % len(names)]:
            run = calls[name]
            count = 1 if name == "naive" else 20
            times[name].append(1e6 * run(count) / count)
    return times


def _spread(ours: _Ours, steps: int) -> dict[str, float]:
    """Percentiles of single steps in µs; the collector of Python's garbage rests, as it should in a control loop."""
    spent, push = np.empty(steps), ours.identifier.push_window
    windows = ours.ready(steps)
    gc.disable()
    for k, (times, samples) in enumerate(windows):
        start = time.perf_counter_ns()
        push(times, samples)
        spent[k] = time.perf_counter_ns() - start
    gc.enable()
    shares = np.percentile(spent, [50, 99, 99.9, 100]) / 1e3
    return dict(zip(("p50", "p99", "p99.9", "max"), map(float, shares), strict=True)) | {"steps": steps}


def _methods(repeats: int) -> dict[str, Any]:
    """Solving one window by shapes, points and log-Cholesky: multiples of the first."""
    body = Robot.load("a1").bodies[0]
    box, windows = a1_information(20)
    K = priors.NEGLIGIBLE * priors.of_bodies([body]).K
    hint = Information.of(K, K @ body.parameters)
    cone, floor = Cone(0, pseudo_inertia.lmi(body)), {0: pseudo_inertia.mass_floor(body)}
    scale = np.maximum(np.abs(body.parameters), 1e-3)
    backend = log_cholesky_newton.backend([pseudo_inertia.chart(body)])
    calls: dict[str, list[Callable[[], Any]]] = {"shapes": [], "points": [], "nonlinear": []}
    problems = [Problem(window + hint, scale, body.parameters, (cone,), floor) for window in windows]
    rivals = {name: [ceres(p, chart_of(body), name != "ceres") for p in problems] for name in _ceres()}
    for window in windows:
        for name, U in (("shapes", cuboids(box, SHAPES)), ("points", grid(box, (6, 3, 3)))):
            R, z = nonnegative(window, U).information.R, nonnegative(window, U).information.z
            calls[name].append(partial(kernel.solve, np.ascontiguousarray(R.T @ R), R.T @ z))
    calls["nonlinear"] = [partial(backend, p) for p in problems]
    calls |= rivals
    times: dict[str, list[float]] = {name: [] for name in calls}
    for some in calls.values():
        some[0]()  # loads what is compiled
    for k in range(20 * repeats):
        for name, some in calls.items():
            if name == "ceres_tight" and k >= max(repeats // 5, 2):
                continue  # it takes long
            start = time.perf_counter()
            for call in some:
                call()
            times[name].append(1e6 * (time.perf_counter() - start) / len(some))
    result: dict[str, Any] = {name: {"min": min(t), "median": float(np.median(t))} for name, t in times.items()}
    result["ratio"] = {name: result[name]["min"] / result["shapes"]["min"] for name in ("nonlinear", "points")}
    best = [solve_certified(p)[0].theta for p in problems]
    result["nonlinear"] |= _right(problems, best, [backend(p).theta for p in problems])
    result["nonlinear"] |= {"steps": float(np.mean([_steps(p, chart_of(body)) for p in problems]))}
    for name, solves in rivals.items():
        result[name] |= _right(problems, best, [s.theta() for s in solves])
        result[name] |= {"steps": float(np.mean([s.steps() for s in solves]))}
        result[name] |= {"net": float(np.mean([s.net(10 if name == "ceres" else 2) for s in solves]))}
        result[name] |= {"ratio": result[name]["net"] / result["nonlinear"]["min"]}
    return result


def _steps(problem: Problem, chart: Chart) -> int:
    """Of our nonlinear method."""
    body = np.array([chart.mass, chart.floor, chart.size, chart.margin])
    start = partial(chart.factor, problem.start)
    triangle, most = problem.information.triangle, log_cholesky_newton.MOST
    return one_body_newton.solve(triangle, problem.start, body, 3e-8, most, start)[1]


def _ceres() -> tuple[str, ...]:
    return ("ceres", "ceres_tight") if peers.installed("pyceres") else ()


def _right(problems: list[Problem], best: list[Array], solutions: list[Array]) -> dict[str, Any]:
    """In how many windows the objective is the proved optimum's, or within one per cent; by how much it is not."""
    over = np.array([excess(p, b, x) for p, b, x in zip(problems, best, solutions, strict=True)])
    right, near = int(np.sum(over <= RIGHT)), int(np.sum(over <= NEAR))
    return {"right": right, "near": near, "of": len(over), "excess": float(np.max(over))}
