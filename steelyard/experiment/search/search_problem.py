"""Search space and objective: free parameters with their bounds, and the prediction error of candidates.

A *configuration* of Go and Hata is [m, c (3), Ixx, Iyy, Izz] of each link, inertia about the centre of mass. Ours has
all ten; the model ``seven`` holds products of inertia, and values that are zero, as described. With p the description's
values, s_i the measured state at the end of window i and s_p the predicted one,

    GC error = Σ_i ‖s_i − s_p‖² (2),    parameter error = Σ ((p − p′)/p)² (1)  over parameters that are not zero.

The search variables are z = (p′ − p)/scale, |z| ≤ ½: the paper's ±50 %. Candidates that are not physically consistent
are replaced by the nearest consistent ones (same mass and centre of mass) before they are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.experiment.search.prediction_engine import PredictionEngine, make_engine
from steelyard.experiment.search.search_options import EngineKind, Model
from steelyard.experiment.search.windows import Windows
from steelyard.fleet.remote_handle import RemoteHandle
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot
from steelyard.spatial import Array

Mapper = Callable[[partial[Any], Sequence[Any]], Iterable[Any]]
Task = TypeVar("Task")
Done = TypeVar("Done")

NAMES = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")  # kg, m, kg·m² about the centre of mass
SEVEN = (0, 1, 2, 3, 4, 6, 9)
REACH = 0.5  # bound of |z|
CENTRE = 0.25  # scale of a centre of mass in the full model, over the body's size
REPAIR = 1e-6  # least eigenvalue of a candidate's density covariance, over (body size)²
CHUNK = 16  # candidates per task of a thread
FEW = 4  # candidates per task of a worker: workers are for slow simulations


def values_about_com(parameters: Array) -> Array:
    """Mass, centre of mass and inertia about it (10,), from ten parameters about the frame's origin."""
    mass, com, I = inertia.unpack(parameters)
    return np.concatenate([[mass], com, inertia.six(I)])


def parameters_about_origin(values: Array) -> Array:
    """Ten parameters about the frame's origin (…, 10), from mass, centre of mass and inertia about it."""
    m, c, I = values[..., :1], values[..., 1:4], values[..., 4:].copy()
    x, y, z = c[..., 0], c[..., 1], c[..., 2]
    steiner = np.stack([y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y], axis=-1)
    return np.concatenate([m, m * c, I + m * steiner], axis=-1)


@dataclass(frozen=True)
class SearchSpace:
    """Free parameters of the bodies, with start, scale and total mass."""

    bodies: tuple[str, ...]
    values: Array  # (bodies, 10) start of the search, about the centres of mass
    sizes: Array  # (bodies,) m
    free: tuple[tuple[int, int], ...]  # index of the body, index of its value
    scale: Array  # (n,) of the free values
    held: tuple[str, ...]  # names of values that are zero and stay so: their scale is zero
    total: float | None  # kg, mass of all bodies, where known

    @classmethod
    def of(
        cls,
        robot: Robot,
        model: Model = "seven",
        *,
        links: Sequence[str] = (),
        start: Array | None = None,
        total: float | None = None,
    ) -> SearchSpace:
        """The space of a robot.

        Args:
            robot: Its bodies.
            model: Without products of inertia, or all ten values per body.
            links: Links whose bodies are searched; all where empty.
            start: Values (bodies, 10) about the centres of mass; the description's where not given.
            total: Mass of all bodies, kg, where known.
        """
        values = (
            np.array([values_about_com(b.parameters) for b in robot.bodies])
            if start is None
            else np.array(start, float)
        )
        sizes = np.array([b.size for b in robot.bodies])
        chosen = {robot.body(link).name for link in links} or {b.name for b in robot.bodies}
        free, scale, held = [], list[float](), []
        for i, body in enumerate(robot.bodies):
            if body.name not in chosen:
                continue
            for k in SEVEN if model == "seven" else range(10):
                natural = _natural(values[i], sizes[i], k)
                if model == "seven" and abs(values[i, k]) < 1e-9 * natural:
                    held.append(f"{body.name}.{NAMES[k]}")
                    continue
                free.append((i, k))
                scale.append(abs(values[i, k]) if model == "seven" or k == 0 else natural)
        if total is not None and not 0 < total < np.inf:
            raise UsageError(Finding("option-value", f"total_mass={total}", "must be > 0 and finite", "Give kg"))
        names = tuple(b.name for b in robot.bodies)
        return cls(names, values, sizes, tuple(free), np.array(scale), tuple(held), total)

    @property
    def n(self) -> int:
        """Number of free parameters."""
        return len(self.free)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters, ``LINK.m`` …"""
        return tuple(f"{self.bodies[i]}.{NAMES[k]}" for i, k in self.free)

    @property
    def masses(self) -> Array:
        """Mask (n,) of the free parameters that are masses."""
        return np.array([k == 0 for _, k in self.free])

    def configurations(self, z: Array) -> Array:
        """Values (B, bodies, 10) of z (B, n), perhaps not physically consistent."""
        full = np.tile(self.values, (len(z), 1, 1))
        i, k = np.array(self.free).T
        full[:, i, k] += z * self.scale
        return full

    def parameters(self, z: Array) -> Array:
        """Physically consistent parameters (B, bodies, 10) of z (B, n), about the frames' origins."""
        return parameters_about_origin(nearest_consistent_values(self.configurations(z), self.sizes))

    def z_of(self, values: Array) -> Array:
        """z (n,) of values (bodies, 10)."""
        i, k = np.array(self.free).T
        return np.asarray((values[i, k] - self.values[i, k]) / self.scale)

    def mass_excess(self, z: Array) -> float:
        """kg by which the sum of masses exceeds the total mass; 0 where that is not known."""
        if self.total is None:
            return 0.0
        return float(self.scale[self.masses] @ z[self.masses] + self.values[:, 0].sum() - self.total)

    def adjust_masses(self, z: Array) -> Array:
        """z (…, n) with masses scaled to sum to the total mass, within their bounds."""
        if self.total is None or not self.masses.any():
            return z
        z, at, m = np.array(z, float), self.masses, self.scale[self.masses]
        for _ in range(8):
            over = np.atleast_1d(z[..., at] @ m + self.values[:, 0].sum() - self.total)[..., None]
            z[..., at] = np.clip(z[..., at] - over / m.sum(), -REACH, REACH)
        return z


def _natural(values: Array, size: float, k: int) -> float:
    """Natural size of the k-th value of a body."""
    if k == 0:
        return float(values[0])
    return CENTRE * float(size) if k < 4 else float(values[[4, 6, 9]].mean())


def nearest_consistent_values(values: Array, sizes: Array, margin: float = REPAIR) -> Array:
    """Values (B, bodies, 10) with inconsistent bodies replaced by the nearest physically consistent ones."""
    m, I = values[..., 0], values[..., 4:]
    half = 0.5 * (I[..., 0] + I[..., 2] + I[..., 5])
    S = np.empty((*m.shape, 3, 3))
    for n, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
        S[..., i, j] = S[..., j, i] = (half if i == j else 0.0) - I[..., n]
    least = margin * m * sizes**2
    w = np.linalg.eigvalsh(S)[..., 0]
    bad = w < least
    if not bad.any():
        return values
    w, V = np.linalg.eigh(S[bad])
    w = np.maximum(w, least[bad][:, None])
    fixed = np.einsum("nik,nk,njk->nij", V, w, V)
    trace = w.sum(axis=1)
    out = np.array(values)
    tensor = trace[:, None, None] * np.eye(3) - fixed
    out[bad, 4:] = tensor[:, [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    return out


@dataclass(frozen=True)
class SearchProblem:
    """A search space, and engines that compute the prediction error of its candidates."""

    space: SearchSpace
    engines: tuple[PredictionEngine, ...]  # one per horizon
    terms: Array | None = None  # (4, J) known viscous, coulomb, armature, offset of the joints
    mapper: Mapper = map  # distributes tasks over threads or workers; ordered, like ``map``
    chunk: int = CHUNK  # candidates per task; no result depends on it
    counted: dict[str, int] = field(default_factory=lambda: {"evaluations": 0}, compare=False)

    @property
    def evaluations(self) -> int:
        """Number of candidates simulated so far, each over all windows."""
        return self.counted["evaluations"]

    def residuals(self, parameters: Array) -> Array:
        """Residuals (B, rows), predicted minus measured, of parameters (B, bodies, 10)."""
        self.counted["evaluations"] += len(parameters)
        return self._spread(SearchProblem.local_residuals, parameters)

    def local_residuals(self, parameters: Array) -> Array:
        """``residuals`` computed by the caller's thread, not counted."""
        parts = [e.residuals(parameters, self.terms).reshape(len(parameters), -1) for e in self.engines]
        return np.concatenate(parts, axis=1)

    def squares(self, parameters: Array) -> Array:
        """Sums of squared residuals (B,); inf where a simulation diverges."""
        with np.errstate(all="ignore"):
            r = self.local_residuals(parameters)
            total = np.einsum("bk,bk->b", r, r)
        return np.where(np.isfinite(total), total, np.inf)

    def evaluate(self, z: Array) -> Array:
        """GC error (2) of each candidate z (B, n); inf where a simulation diverges."""
        parameters = self.space.parameters(z)
        self.counted["evaluations"] += len(z)
        return self._spread(SearchProblem.squares, parameters) if len(z) else np.zeros(0)

    def _spread(self, function: Callable[[SearchProblem, Array], Array], parameters: Array) -> Array:
        """Distribute candidates in tasks; a single one is computed by the caller."""
        if len(parameters) == 1:
            return function(self, parameters)
        return np.concatenate(
            self.map_tasks(function, [parameters[k : k + self.chunk] for k in range(0, len(parameters), self.chunk)])
        )

    def map_tasks(self, function: Callable[[SearchProblem, Task], Done], tasks: Sequence[Task]) -> list[Done]:
        """``function(problem, task)`` of every task, by threads or workers; evaluations are not counted."""
        return list(self.mapper(partial(function, self), tasks))

    def gc_error(self, parameters: Array) -> float:
        """GC error (2) of parameters (bodies, 10)."""
        return float(self.squares(parameters[None])[0])


def parameter_error(space: SearchSpace, values: Array, truth: Array) -> dict[str, Any]:
    """Parameter error (1) of values (bodies, 10) over non-zero free parameters, and over all by their scales."""
    i, k = np.array(space.free).T
    p, estimate = truth[i, k], values[i, k]
    natural = np.array([_natural(truth[a], space.sizes[a], b) for a, b in space.free])
    nonzero = np.abs(p) > 1e-9 * natural
    return {
        "relative": float(np.sum(((p - estimate)[nonzero] / p[nonzero]) ** 2)),
        "of": int(nonzero.sum()),
        "scaled": float(np.sum(((p - estimate) / natural) ** 2)),
    }


def make_problem(
    robot: Robot, space: SearchSpace, windows: Sequence[Windows], kind: EngineKind = "auto", feet: Sequence[str] = ()
) -> SearchProblem:
    """The problem of predicting windows, with one engine for each set of them."""
    return SearchProblem(space, tuple(make_engine(robot, w, kind, feet) for w in windows))


def distribute(workers: Workers, problem: SearchProblem, *given: object) -> SearchProblem:
    """The problem with candidates simulated by workers; ``given`` are the arguments of ``make_problem``."""
    return replace(problem, mapper=_Mapper(workers, RemoteHandle(problem, make_problem, *given)), chunk=FEW)


@dataclass(frozen=True, eq=False)
class _Mapper:
    """Like ``map`` with a function of the problem, which each worker builds for itself."""

    workers: Workers
    problem: RemoteHandle[SearchProblem]

    def __call__(self, bound: partial[Any], tasks: Sequence[Any]) -> list[Any]:
        return self.workers.map(_run_task, tasks, self.problem, bound.func, name="candidates")


def _run_task(task: Any, problem: RemoteHandle[SearchProblem], function: Callable[[SearchProblem, Any], Any]) -> Any:
    return function(problem.local, task)
