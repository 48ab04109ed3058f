"""Time of the whole identification of a humanoid: two minutes at 200 Hz, base rows, all of its bodies.

``ours``: ``identify`` in memory, from logs to an estimate with intervals, verdicts and validation; ``parts``: where its
time goes, s. ``naive``: what a plain pipeline costs that gives less: Pinocchio's regressor in a Python loop on the same
filtered samples, the same low-pass on the rows, dense QR, least squares. ``cvxpy``, where it is installed: the same,
then pseudo-inertias as a semidefinite programme. Everything is measured in turns in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard import Job, inertia
from steelyard.compose import prior as priors
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.experiment.simulate.sensors import measure
from steelyard.experiment.simulate.truth import perturb_masses
from steelyard.identify.identification import identify
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import WRENCH, XYZ, Array

SECONDS = 2.0  # promised
RATE = 200.0
OPTIONS = Options(equations="base")


def humanoid(repeats: int = 7, name: str = "talos", logs: int = 20, seconds: float = 6.0) -> dict[str, Any]:
    """One robot, ``logs`` of ``seconds`` each."""
    robot = Robot.load(name)
    truth = perturb_masses(robot, np.random.default_rng(0))
    taken = [measure(_log(robot, truth, k, seconds), "humanoid", k) for k in range(logs)]
    parts: list[dict[str, float]] = []
    calls: dict[str, Callable[[], object]] = {"ours": lambda: parts.append(_parts(robot, taken))}
    calls["naive"] = lambda: _naive(robot, taken)
    if find_spec("cvxpy"):
        calls["cvxpy"] = lambda: _programme(robot, *_naive(robot, taken))
    times: dict[str, list[float]] = {key: [] for key in calls}
    for _ in range(repeats + 1):
        for key, call in calls.items():
            start = time.perf_counter()
            call()
            times[key].append(1e6 * (time.perf_counter() - start))
    case: dict[str, Any] = {k: {"min": min(t[1:]), "median": float(np.median(t[1:]))} for k, t in times.items()}
    best = int(np.argmin(times["ours"][1:])) + 1
    case["parts"] = parts[best]
    case["ratio"] = {key: case[key]["min"] / case["ours"]["min"] for key in calls if key != "ours"}
    case |= {"bodies": len(robot.bodies), "seconds": logs * seconds}
    return {name: case}


def kept(result: dict[str, Any]) -> bool:
    """Whether TALOS takes no longer than promised."""
    return all(case["ours"]["min"] < 1e6 * SECONDS for case in result.values())


def _parts(robot: Robot, logs: Sequence[Log]) -> dict[str, float]:
    """s of each stage, by the name that progress gives it."""
    marks: list[tuple[str, float]] = []
    identify(
        robot.description, logs, OPTIONS, job=Job(progress=lambda stage: marks.append((stage, time.perf_counter())))
    )
    marks.append(("", time.perf_counter()))
    return {marks[k][0]: marks[k + 1][1] - marks[k][1] for k in range(len(marks) - 1)}


def _naive(robot: Robot, logs: Sequence[Log]) -> tuple[Array, Array]:
    """Triangle and right-hand side of all rows, and their least squares."""
    setup = Setup.of(robot.description, logs, OPTIONS)
    filter = OPTIONS.filter.for_logs(logs, setup.equations)
    parts = []
    for log in logs:
        for segment in prepare(setup.robot, log, filter, torques=False)[0]:
            rows = Setup(setup.robot, "base", setup.columns, filter=filter).rows([segment])
            dynamics = Dynamics(setup.robot, segment)
            Y, target = dynamics.regressor(setup.columns.bodies)[:, :6], dynamics.applied()[:, :6]
            taps, step = rows.taps(segment), rows.stride(segment.rate)
            both = np.concatenate([Y, target[:, :, None]], axis=2).reshape(len(Y), -1)
            smooth = np.apply_along_axis(np.convolve, 0, both, taps, "valid")[::step]
            parts.append(smooth.reshape(-1, Y.shape[2] + 1))
    R = np.linalg.qr(np.concatenate(parts), mode="r")
    np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)
    return R[:, :-1], R[:, -1]


def _programme(robot: Robot, R: Array, z: Array) -> Array:
    """Pseudo-inertias by cvxpy, pulled to the description."""
    import cvxpy as cp

    prior = priors.of_bodies(robot.bodies)
    x = cp.Variable(len(prior.mean))
    cones = [sum(x[10 * k + i] * inertia.PSEUDO_BASIS[i] for i in range(10)) >> 1e-9 for k in range(len(robot.bodies))]
    goal = cp.sum_squares(R @ x - z) + cp.sum_squares(prior.K @ (x - prior.mean))
    cp.Problem(cp.Minimize(goal), cones).solve(solver="CLARABEL")
    return np.asarray(x.value)


def _log(robot: Robot, truth: dict[str, Array], seed: int, seconds: float) -> Log:
    """Base and joints on a few sines; the ground does what it must, by turns on the one and the other foot."""
    rng, t = np.random.default_rng(seed), np.arange(int(seconds * RATE)) / RATE
    J, soles = len(robot.joints), find_soles(robot)
    w, phase = rng.uniform(2, 9, J + 3), rng.uniform(0, 2 * np.pi, J + 3)
    angle, size = w * t[:, None] + phase, np.concatenate([np.full(3, 0.1), np.full(J, 0.3)])
    x, v, a = size * np.sin(angle), size * w * np.cos(angle), -size * w**2 * np.sin(angle)
    E, turns = [pin.rpy.computeRpyJacobian(r, pin.LOCAL) for r in x[:, :3]], [pin.rpy.rpyToMatrix(r) for r in x[:, :3]]
    gyro = np.array([e @ r for e, r in zip(E, v[:, :3], strict=True)])
    alpha = np.gradient(gyro, t, axis=0)
    acc = 9.81 * np.array([R[2] for R in turns])
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(np.asarray(truth[body.name]))
    model.gravity.linear = np.zeros(3)
    data, wrench = model.createData(), np.zeros((2, len(t), 6))
    states = (
        robot.positions(x[:, 3:]),
        robot.motion(np.hstack([0 * acc, gyro, v[:, 3:]])),
        robot.motion(np.hstack([acc, alpha, a[:, 3:]])),
    )
    for k, state in enumerate(zip(*states, strict=True)):
        needed = pin.rnea(model, data, *state)[:6]
        pin.forwardKinematics(model, data, state[0])
        for foot, share in enumerate((0.5 + 0.4 * np.sin(2 * t[k]), 0.5 - 0.4 * np.sin(2 * t[k]))):
            place = data.oMi[soles[foot].joint] * pin.SE3(robot.frame(soles[foot].name).placement)
            wrench[foot, k] = place.actInv(pin.Force(share * needed)).vector
    columns = {"time": t} | {f"q.{j}": x[:, 3 + k] for k, j in enumerate(robot.joints)}
    columns |= {f"imu.gyro.{c}": gyro[:, k] for k, c in enumerate(XYZ)}
    columns |= {f"imu.acc.{c}": acc[:, k] for k, c in enumerate(XYZ)}
    for foot, sole in enumerate(soles):
        columns |= {f"wrench.{sole.name}.{c}": wrench[foot, :, k] for k, c in enumerate(WRENCH)}
    return Log.from_columns(columns, {}, f"sines {seed}")
