"""Problems of the kind and size that solvers meet: short windows of a quadruped's base, all links of a humanoid.

``a1_windows``: an A1 moves with noisy sensors; each window is 20 ms of contact-free rows about the base alone, its legs
known. The base is eleven cuboids (its box after ten divisions) or a grid of 54 points. ``talos_points``: base rows of
random motions, 27 points in the box of each of 33 bodies, quadratic prior. ``talos_bodies``: the same rows and prior,
pseudo-inertias instead of points. Masses carry the ridge λ = 10⁻³ of Ayusawa's mass points.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.linalg import block_diag

from steelyard import inertia
from steelyard.compose import prior as priors
from steelyard.compose import pseudo_inertia
from steelyard.equations.columns import Columns
from steelyard.equations.filters import Filter, lowpass
from steelyard.equations.prepare import prepare
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import foot
from steelyard.experiment.simulate.sensors import measure
from steelyard.experiment.simulate.simulate_floating import random_sines, simulate_floating
from steelyard.experiment.simulate.truth import perturbed
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.robot.geometry import Box, box_inertia
from steelyard.robot.model import Robot
from steelyard.solve.problem import Cone, Problem
from steelyard.spatial import Array

RIDGE = 1e-3  # λ_ρ, 1/kg²
WINDOW = 10  # samples
A1_FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


def a1_windows(count: int, seed: int = 0) -> tuple[list[Problem], list[Problem]]:
    """Problems of 11 cuboids and of 54 points, one of each a window."""
    box, windows = a1_information(count, seed)
    shapes, points = cuboids(box, 11), grid(box, (6, 3, 3))
    return [nonnegative(w, shapes) for w in windows], [nonnegative(w, points) for w in windows]


def a1_log(robot: Robot, truth: Mapping[str, Array], *, seed: int, seconds: float) -> Log:
    """An A1 on random sines, all feet in contact: noisy joints, torques and IMU, exact pose of the base."""
    motion = random_sines(robot, np.random.default_rng(seed), seconds=seconds)
    return measure(simulate_floating(robot, truth, A1_FEET, motion), "mid", seed, keep=("base.",))


def a1_information(count: int, seed: int = 0) -> tuple[Box, list[Information]]:
    """The box of an A1's base, and the information of each window about its ten parameters."""
    robot = Robot.load("a1")
    truth = perturbed(robot, np.random.default_rng(seed))
    log = a1_log(robot, truth, seed=seed, seconds=3.0)
    (segment,), _ = prepare(robot, log, Filter().for_logs([log]), torques=True)
    columns = Columns(tuple(b.name for b in robot.bodies))
    rows = list(Setup(robot, "contact-free", columns, tuple([foot(robot, f) for f in A1_FEET])).rows([segment]))
    Y, target = np.concatenate([b.Y for b in rows]), np.concatenate([b.target for b in rows])
    taps = lowpass(segment.rate, 10.0)
    Y, target = (np.apply_along_axis(np.convolve, 0, x, taps, "valid") for x in (Y, target))
    theta = np.concatenate([truth[b] for b in columns.bodies])
    sigma = np.std(Y @ theta - target, axis=0)
    at = columns.body(robot.bodies[0].name)
    legs = np.r_[0 : at.start, at.stop : columns.n]
    target = (target - Y[:, :, legs] @ theta[legs]) / sigma
    Y = Y[:, :, at] / sigma[:, None]
    starts = np.linspace(0, len(Y) - WINDOW, count).astype(int)
    return robot.bodies[0].box, [
        Information.of(Y[k : k + WINDOW].reshape(-1, 10), target[k : k + WINDOW].ravel()) for k in starts
    ]


def talos_points(seed: int = 0) -> Problem:
    """33 bodies of 27 points each."""
    robot, total, _ = _talos(seed)
    P = [grid(b.box, (3, 3, 3)) for b in robot.bodies]
    return nonnegative(total, np.asarray(block_diag(*P)))


def talos_bodies(seed: int = 0) -> Problem:
    """33 bodies, each any physically consistent one."""
    robot, total, prior = _talos(seed)
    cones = tuple(Cone(10 * k, pseudo_inertia.lmi(b)) for k, b in enumerate(robot.bodies))
    lower = {10 * k: pseudo_inertia.mass_floor(b) for k, b in enumerate(robot.bodies)}
    return Problem(total, prior.scale, robot.prior, cones, lower)


def nonnegative(information: Information, P: Array) -> Problem:
    """Masses x ≥ 0 with θ = P x and a ridge."""
    n = P.shape[1]
    ridge = Information.of(np.sqrt(RIDGE) * np.eye(n), np.zeros(n))
    scale = np.full(n, 1.0 / n)
    return Problem(information.through(P) + ridge, scale, scale, (), dict.fromkeys(range(n), 0.0))


def grid(box: Box, counts: tuple[int, int, int]) -> Array:
    """(10, points) parameters of unit masses on a grid over a box, the first count along its longest axis."""
    lower, upper = box
    axes = np.argsort(lower - upper, kind="stable")
    lines = [np.zeros(0)] * 3
    for axis, count in zip(axes, counts, strict=True):
        lines[axis] = np.linspace(lower[axis], upper[axis], count)
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.column_stack([inertia.pack(1.0, p, np.zeros((3, 3))) for p in points])


def cuboids(box: Box, count: int) -> Array:
    """(10, count) parameters of unit masses in cuboids: a box whose largest part is halved until there are enough."""
    parts = [box]
    while len(parts) < count:
        lower, upper = parts.pop(int(np.argmax([np.prod(b[1] - b[0]) for b in parts])))
        axis = int(np.argmax(upper - lower))
        middle = (lower[axis] + upper[axis]) / 2
        parts += [(lower, _with(upper, axis, middle)), (_with(lower, axis, middle), upper)]
    return np.column_stack([box_inertia(1.0, b) for b in parts])


def _talos(seed: int) -> tuple[Robot, Information, priors.Prior]:
    """The robot, data and prior together, and the prior."""
    robot = Robot.load("talos")
    rng = np.random.default_rng(seed)
    truth = perturbed(robot, rng)
    columns = Columns(tuple(b.name for b in robot.bodies))
    segment = _motion(robot, rng, samples=600)
    rows = list(Setup(robot, "base", columns).rows([segment]))
    Y = np.concatenate([b.Y for b in rows])
    exact = Y @ np.concatenate([truth[b] for b in columns.bodies])
    sigma = 0.02 * np.sqrt(np.mean(exact**2, axis=0))
    target = exact / sigma + rng.normal(size=exact.shape)
    data = Information.of((Y / sigma[:, None]).reshape(-1, columns.n), target.ravel())
    prior = priors.make(robot, columns)
    return robot, data + prior.information, prior


def _motion(robot: Robot, rng: np.random.Generator, samples: int) -> Segment:
    """Joints and base on a few sines each; what is proper acceleration includes gravity."""
    t = np.arange(samples) / 50.0
    J = len(robot.joints)
    w, phase, size = (
        rng.uniform(1, 6, (3, J + 6)),
        rng.uniform(0, 2 * np.pi, (3, J + 6)),
        rng.uniform(0.1, 0.3, (3, J + 6)),
    )
    angle = w * t[:, None, None] + phase
    x, dx = np.sum(size * np.sin(angle), axis=1), np.sum(size * w * np.cos(angle), axis=1)
    ddx = -np.sum(size * w**2 * np.sin(angle), axis=1)
    up = np.broadcast_to([0.0, 0.0, 1.0], (samples, 3))
    gravity = np.array([0.0, 0.0, 9.81])
    return Segment(
        t, 50.0, x[:, 6:], dx[:, 6:], ddx[:, 6:], None, {}, dx[:, :3], ddx[:, :3], gravity + ddx[:, 3:6], up, {}
    )


def _with(corner: Array, axis: int, value: float) -> Array:
    out = np.array(corner)
    out[axis] = value
    return out
