"""What is searched: which parameters of which bodies, between which bounds, and how far off a prediction is.

A *configuration* of Go and Hata is [m, c (3), Ixx, Iyy, Izz] of each link, inertia about the centre of mass; here all
ten, of which ``seven`` holds the products of inertia, and whatever is zero, as described. With p the description's
values, s_i the state that was measured at the end of window i and s_p the predicted one,

    GC error = Σ_i ‖s_i − s_p‖² (2),    parameter error = Σ ((p − p′)/p)² (1)  over parameters that are not zero.

A search walks in z = (p′ − p)/scale, |z| ≤ ½: the paper's ±50 %. Candidates that no mass distribution has are moved to
the nearest that one has (same mass and centre of mass) before they are simulated, so what is found can exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.experiment.search.prediction_engine import PredictionEngine, engine_of
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
REACH = 0.5  # of the scale, to either side
CENTRE = 0.25  # of a body's size: the scale of a centre of mass in the full model
REPAIR = 1e-6  # of (body size)²: least eigenvalue of the density covariance of a candidate
CHUNK = 16  # candidates a task
FEW = 4  # candidates a task of workers: they are for simulations that take long


def values_of(parameters: Array) -> Array:
    """(10,) mass, centre of mass and inertia about it, of ten parameters about the frame's origin."""
    mass, com, I = inertia.unpack(parameters)
    return np.concatenate([[mass], com, inertia.six(I)])


def parameters_of(values: Array) -> Array:
    """(…, 10) the other way round."""
    m, c, I = values[..., :1], values[..., 1:4], values[..., 4:].copy()
    x, y, z = c[..., 0], c[..., 1], c[..., 2]
    steiner = np.stack([y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y], axis=-1)
    return np.concatenate([m, m * c, I + m * steiner], axis=-1)


@dataclass(frozen=True)
class Space:
    """Free parameters, by name, and the configurations that they span."""

    bodies: tuple[str, ...]
    values: Array  # (bodies, 10) where the search begins
    sizes: Array  # (bodies,) m
    free: tuple[tuple[int, int], ...]  # body and which of its ten values
    scale: Array  # (n,) of each free one
    held: tuple[str, ...]  # names of those that are zero and stay so, since half of nothing is nothing
    total: float | None  # kg that all bodies weigh together, where that is known

    @classmethod
    def of(
        cls,
        robot: Robot,
        model: Model = "seven",
        *,
        links: Sequence[str] = (),
        start: Array | None = None,
        total: float | None = None,
    ) -> Space:
        """All bodies, or those of ``links``; ``start`` (bodies, 10) values, default the description's."""
        values = np.array([values_of(b.parameters) for b in robot.bodies]) if start is None else np.array(start, float)
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
            raise UsageError(Finding("todo", "--total-mass", f"is {total}", "Give the robot's mass in kg"))
        names = tuple(b.name for b in robot.bodies)
        return cls(names, values, sizes, tuple(free), np.array(scale), tuple(held), total)

    @property
    def n(self) -> int:
        """How many are searched."""
        return len(self.free)

    @property
    def names(self) -> tuple[str, ...]:
        """``LINK.m`` …"""
        return tuple(f"{self.bodies[i]}.{NAMES[k]}" for i, k in self.free)

    @property
    def masses(self) -> Array:
        """(n,) which of the free ones are masses."""
        return np.array([k == 0 for _, k in self.free])

    def configurations(self, z: Array) -> Array:
        """(B, bodies, 10) values of z (B, n), as asked for: perhaps of bodies that cannot exist."""
        full = np.tile(self.values, (len(z), 1, 1))
        i, k = np.array(self.free).T
        full[:, i, k] += z * self.scale
        return full

    def parameters(self, z: Array) -> Array:
        """(B, bodies, 10) parameters about the frames' origins, of bodies that can exist."""
        return parameters_of(physical(self.configurations(z), self.sizes))

    def z_of(self, values: Array) -> Array:
        """(n,) of a configuration (bodies, 10)."""
        i, k = np.array(self.free).T
        return np.asarray((values[i, k] - self.values[i, k]) / self.scale)

    def surplus(self, z: Array) -> float:
        """kg by which the free masses exceed what is left for them; 0 where nobody weighed the robot."""
        if self.total is None:
            return 0.0
        return float(self.scale[self.masses] @ z[self.masses] + self.values[:, 0].sum() - self.total)

    def weighed(self, z: Array) -> Array:
        """z (…, n) with masses shifted so that they add up, each by its share; bounds hold as far as they can."""
        if self.total is None or not self.masses.any():
            return z
        z, at, m = np.array(z, float), self.masses, self.scale[self.masses]
        for _ in range(8):
            over = np.atleast_1d(z[..., at] @ m + self.values[:, 0].sum() - self.total)[..., None]
            z[..., at] = np.clip(z[..., at] - over / m.sum(), -REACH, REACH)
        return z


def _natural(values: Array, size: float, k: int) -> float:
    """How large such a parameter of such a body can be."""
    if k == 0:
        return float(values[0])
    return CENTRE * float(size) if k < 4 else float(values[[4, 6, 9]].mean())


def physical(values: Array, sizes: Array, margin: float = REPAIR) -> Array:
    """(B, bodies, 10) the same, bodies that no mass distribution has replaced by the nearest that one has."""
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
    """A space, and engines that tell how well each of its configurations predicts."""

    space: Space
    engines: tuple[PredictionEngine, ...]  # one a horizon
    terms: Array | None = None  # (4, J) friction of the joints, as known
    mapper: Mapper = map  # how tasks are spread over workers: as ``map``, in order
    chunk: int = CHUNK  # candidates a task; no result depends on it
    counted: dict[str, int] = field(default_factory=lambda: {"evaluations": 0}, compare=False)

    @property
    def evaluations(self) -> int:
        """Candidates simulated so far, each over all windows."""
        return self.counted["evaluations"]

    def residuals(self, parameters: Array) -> Array:
        """(B, rows) predicted minus measured, of bodies' parameters (B, bodies, 10)."""
        self.counted["evaluations"] += len(parameters)
        return self._spread(SearchProblem.left_of, parameters)

    def left_of(self, parameters: Array) -> Array:
        """The same, uncounted, by whoever calls."""
        parts = [e.residuals(parameters, self.terms).reshape(len(parameters), -1) for e in self.engines]
        return np.concatenate(parts, axis=1)

    def squares(self, parameters: Array) -> Array:
        """(B,) their sums of squares; infinite where a simulation fails."""
        with np.errstate(all="ignore"):
            r = self.left_of(parameters)
            total = np.einsum("bk,bk->b", r, r)
        return np.where(np.isfinite(total), total, np.inf)

    def evaluate(self, z: Array) -> Array:
        """(B,) GC error (2) of each candidate (B, n); infinite where a simulation fails."""
        parameters = self.space.parameters(z)
        self.counted["evaluations"] += len(z)
        return self._spread(SearchProblem.squares, parameters) if len(z) else np.zeros(0)

    def _spread(self, function: Callable[[SearchProblem, Array], Array], parameters: Array) -> Array:
        """In tasks; one candidate alone is not worth a way."""
        if len(parameters) == 1:
            return function(self, parameters)
        return np.concatenate(
            self.over(function, [parameters[k : k + self.chunk] for k in range(0, len(parameters), self.chunk)])
        )

    def over(self, function: Callable[[SearchProblem, Task], Done], tasks: Sequence[Task]) -> list[Done]:
        """``function(problem, task)`` of every task, by whoever works; evaluations are not counted here."""
        return list(self.mapper(partial(function, self), tasks))

    def gc_error(self, parameters: Array) -> float:
        """(2) of one robot (bodies, 10)."""
        return float(self.squares(parameters[None])[0])


def parameter_error(space: Space, values: Array, truth: Array) -> dict[str, Any]:
    """(1) over the free parameters that are not zero, and over all of them by their scales; values (bodies, 10)."""
    i, k = np.array(space.free).T
    p, found = truth[i, k], values[i, k]
    natural = np.array([_natural(truth[a], space.sizes[a], b) for a, b in space.free])
    seen = np.abs(p) > 1e-9 * natural
    return {
        "relative": float(np.sum(((p - found)[seen] / p[seen]) ** 2)),
        "of": int(seen.sum()),
        "scaled": float(np.sum(((p - found) / natural) ** 2)),
    }


def problem_of(
    robot: Robot, space: Space, windows: Sequence[Windows], kind: EngineKind = "auto", feet: Sequence[str] = ()
) -> SearchProblem:
    """A search in these windows, one engine each, by one process."""
    return SearchProblem(space, tuple(engine_of(robot, w, kind, feet) for w in windows))


def spread(workers: Workers, problem: SearchProblem, *given: object) -> SearchProblem:
    """The same, its candidates simulated by workers; ``given`` is what ``problem_of`` made it of."""
    return replace(problem, mapper=_Mapper(workers, RemoteHandle(problem, problem_of, *given)), chunk=FEW)


@dataclass(frozen=True, eq=False)
class _Mapper:
    """As ``map`` with a function of the problem, which workers have too."""

    workers: Workers
    problem: RemoteHandle[SearchProblem]

    def __call__(self, bound: partial[Any], tasks: Sequence[Any]) -> list[Any]:
        return self.workers.map(_worked, tasks, self.problem, bound.func, name="candidates")


def _worked(task: Any, problem: RemoteHandle[SearchProblem], function: Callable[[SearchProblem, Any], Any]) -> Any:
    return function(problem.local, task)
