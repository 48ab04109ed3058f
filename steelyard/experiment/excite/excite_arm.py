"""Optimal excitation of an arm: the Fourier motion most informative about its base parameters, within all limits.

Random Fourier motions are scaled until they are feasible. The best of them are optimised by an augmented Lagrangian,

    f(x) + Σ (max(0, λ + ρ c(x))² − λ²) / 2ρ,    λ ← max(0, λ + ρ c(x)),

f the criterion and c ≤ 0 the limits of positions, speeds, accelerations, torques and distances at even samples, each
minimisation by L-BFGS with exact gradients. The optimum is scaled into its limits by bounds that hold between samples,
and checked for self-collision (``Collisions.find_contact``); after a contact it is repeated with a larger clearance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from steelyard.errors import Finding, UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.arm_task import ArmTask, LimitUsage
from steelyard.experiment.excite.candidate_cache import CandidateCache
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.fourier import Fourier, designs, rest_basis
from steelyard.experiment.excite.motion_request import Criterion
from steelyard.fleet.remote_handle import RemoteHandle
from steelyard.fleet.workers import Workers
from steelyard.spatial import Array

Progress = Callable[[float, str], None]

DENSITY = 20  # samples a period and harmonic in the optimisation
POSES = 120  # of these samples, at most, at which distances are computed
SHARE = 0.999  # of a limit that is aimed at: there may be more between samples
ROUNDS, STEPS = 8, 40  # updates of multipliers, and steps of L-BFGS between them
STIFF, STIFFER = 10.0, 3.0  # ρ at first, and its growth where limits are exceeded
CLOSE = 1e-3  # share of its limit by which a sample may exceed it in the last round
BUFFERS = ((0.002, 0.5), (0.008, 1.0))  # added to the clearance, m and as a share: at first, and after a contact
WAY_BACK = (1.0, 0.98, 0.95, 0.9, 0.8, 0.6)  # of the way from a feasible start to an infeasible optimum
ROUNDING = 1e-9  # share of a limit that a scaled motion stays below it
TRIES = 200  # random motions drawn for a feasible one
SMALLER = 0.8  # factor on the amplitude after each contact of a random motion


@dataclass(frozen=True, eq=False)
class ArmCandidate:
    """A feasible motion and its criteria."""

    motion: Fourier
    log_det: float
    condition: float
    limit_usage: LimitUsage
    gradients: int = 0  # evaluations that it took

    def is_better(self, other: ArmCandidate | None, criterion: Criterion) -> bool:
        """Whether this one is better by the criterion."""
        if other is None:
            return True
        return self.log_det > other.log_det if criterion == "determinant" else self.condition < other.condition

    def as_json(self) -> dict[str, Any]:
        """For files."""
        return {
            "motion": self.motion.as_json(),
            "log_det": self.log_det,
            "condition": self.condition,
            "used": self.limit_usage._asdict(),
            "gradients": self.gradients,
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> ArmCandidate:
        """Inverse of ``as_json``."""
        return cls(
            Fourier.from_json(content["motion"]),
            content["log_det"],
            content["condition"],
            LimitUsage(**content["used"]),
            content["gradients"],
        )


@dataclass(frozen=True, eq=False)
class ArmSearch:
    """Optimisation problem: task, collisions, family of motions, criterion."""

    task: ArmTask
    collisions: Collisions | None
    period: float = 10.0  # s
    harmonics: int = 5
    seconds: float = 10.0  # duration of the motion
    criterion: Criterion = "determinant"
    rounds: int = ROUNDS  # updates of multipliers, at most

    def evaluate(self, motion: Fourier, gradients: int = 0) -> ArmCandidate:
        """Criteria and use of limits of a motion."""
        M = self.task.root(motion, self.seconds)
        return ArmCandidate(
            motion, criteria.log_det(M), criteria.condition(M), self.task.limit_usage(motion), gradients
        )

    def is_collision_free(self, motion: Fourier) -> bool:
        """Whether the arm is free of self-collision throughout the motion."""
        if self.collisions is None:
            return True
        t = np.append(motion.samples(), motion.period)
        q, v, _ = motion.at(t)
        robot = self.task.robot
        return self.collisions.is_collision_free(t, robot.positions(q), robot.motion(v))

    def draw_feasible(self, rng: np.random.Generator) -> ArmCandidate | None:
        """A random feasible motion, scaled to the first of its limits; None where none of ``TRIES`` is feasible."""
        limits, J = self.task.limits, len(self.task.robot.joints)
        for _ in range(TRIES):
            middle = (limits.lower + limits.upper) / 2
            centre = middle + rng.uniform(-0.5, 0.5, J) * (limits.upper - limits.lower) / 2
            motion = Fourier.of(self.period, centre, rng.normal(size=(2 * self.harmonics - 2, J)) * limits.speed)
            motion = self.scale_into_limits(motion)
            for _ in range(4):
                if self.task.limit_usage(motion).peak > 1:  # gravity alone exceeds the effort limits
                    break
                if self.is_collision_free(motion):
                    return self.evaluate(motion)
                motion = motion.scaled(SMALLER)
        return None

    def scale_into_limits(self, motion: Fourier) -> Fourier:
        """The motion scaled about its centre into the limits of positions, speeds, accelerations and torques."""
        limits = self.task.limits
        b = motion.bounds()
        centre = np.clip(motion.centre, limits.lower, limits.upper)
        up, down = np.maximum(b.upper - motion.centre, 1e-9), np.maximum(motion.centre - b.lower, 1e-9)
        most = np.minimum((limits.upper - centre) / up, (centre - limits.lower) / down)
        most = np.minimum(most, limits.speed / np.maximum(b.speed, 1e-9))
        most = np.minimum(most, limits.acceleration / np.maximum(b.acceleration, 1e-9))
        motion = replace(motion, centre=centre).scaled(np.minimum((1 - ROUNDING) * most, 1.0))
        for _ in range(12):
            over = float(np.max(self.task.torque_bound(motion) / limits.effort))
            if over <= 1:
                break
            motion = motion.scaled(max(0.7, 1 - 1.2 * (1 - 1 / over)))
        return motion

    def improve(self, start: ArmCandidate) -> ArmCandidate:
        """A feasible motion optimised from a feasible start; never worse than the start."""
        best, count = start, 0
        for buffer, share in BUFFERS:
            lagrangian = _AugmentedLagrangian(self, buffer, share)
            x = lagrangian.pack(start.motion)
            for turn in range(self.rounds):
                optimum = minimize(lagrangian, x, jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "maxcor": 20})
                x, over = optimum.x, lagrangian.update(optimum.x)
                if over < CLOSE and turn >= 2 and optimum.nit < STEPS:
                    break
            count += lagrangian.gradients
            candidate, is_optimum = self._retreat(lagrangian, x, lagrangian.pack(start.motion), count)
            if candidate is not None and candidate.is_better(best, self.criterion):
                best = candidate
            if is_optimum:
                break
        return best

    def _retreat(
        self, lagrangian: _AugmentedLagrangian, x: Array, start: Array, count: int
    ) -> tuple[ArmCandidate | None, bool]:
        """The first feasible motion on the way from x back to a feasible start, and whether it is that of x."""
        for share in WAY_BACK:
            motion = self.scale_into_limits(lagrangian.unpack(start + share * (x - start)))
            if self.task.limit_usage(motion).peak <= 1 and self.is_collision_free(motion):
                return self.evaluate(motion, count), share == 1.0
        return None, False


class _AugmentedLagrangian:
    """The augmented Lagrangian for one buffer of clearance; x is the centre and the free coefficients, scaled."""

    def __init__(self, search: ArmSearch, buffer: float, share: float):
        self.search = search
        collisions = search.collisions  # pairs that are always near have a small clearance, and so a small buffer
        self.room = np.zeros(0) if collisions is None else np.minimum(buffer, share * collisions.clearances)
        self.task = search.task
        self.J, self.P = len(self.task.robot.joints), 2 * search.harmonics - 2
        N = DENSITY * search.harmonics
        self.designs = designs(search.harmonics, search.period, np.arange(N) * (search.period / N))
        limits = self.task.limits
        self.middle, self.half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
        self.poses = np.unique(np.linspace(0, N - 1, min(POSES, N)).astype(int))
        self.rho = STIFF
        self.multipliers = [np.zeros((2, N, self.J)) for _ in range(4)]  # positions, speeds, accelerations, torques
        self.touch = 1.0  # weight of distances, 1/mm²
        self.gradients, self.value = 0, 0.0

    def pack(self, motion: Fourier) -> Array:
        """Optimisation variables x of a motion."""
        w = (2 * np.pi / self.search.period * np.arange(1, self.search.harmonics + 1))[:, None]
        free = rest_basis(self.search.harmonics).T @ np.vstack([motion.sines * w, motion.cosines * w])
        return np.concatenate(
            [((motion.centre - self.middle) / self.half)[None], free / self.task.limits.speed]
        ).ravel()

    def _split(self, x: Array) -> tuple[Array, Array]:
        X = x.reshape(1 + self.P, self.J)
        return self.middle + self.half * X[0], X[1:] * self.task.limits.speed

    def unpack(self, x: Array) -> Fourier:
        """Motion of the variables x."""
        return Fourier.of(self.search.period, *self._split(x))

    def states(self, x: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations, (N, J) each."""
        centre, free = self._split(x)
        Q, V, A = self.designs
        return centre + Q @ free, V @ free, A @ free

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Value and gradient of the augmented Lagrangian."""
        self.gradients += 1
        q, v, a = self.states(x)
        s = self.task.differentiate(q, v, a, self.search.criterion)
        self.value = s.value
        value, by_q, by_v, by_a = s.value, s.q.copy(), s.v.copy(), s.a.copy()
        for k, (part, size) in enumerate(self._limit_shares(q, v, a, s.torque)):
            if not np.all(np.isinf(size)):
                added, slope = self._penalty(k, part)
                value, slope = value + added, slope / size
                if k < 3:
                    (by_q, by_v, by_a)[k][:] += slope
                else:
                    for by, jacobian in ((by_q, s.torque_q), (by_v, s.torque_v), (by_a, s.torque_a)):
                        by += np.einsum("tk,tkj->tj", slope, jacobian)
        value += self._collision_penalty(q, by_q)
        Q, V, A = self.designs
        G = np.vstack([by_q.sum(axis=0) * self.half, (Q.T @ by_q + V.T @ by_v + A.T @ by_a) * self.task.limits.speed])
        return value, G.ravel()

    def _limit_shares(self, q: Array, v: Array, a: Array, torque: Array) -> list[tuple[Array, Array]]:
        """Signed shares (N, J) of each kind of limit, and the limits (J,)."""
        limits = self.task.limits
        return [
            ((q - self.middle) / self.half, self.half),
            (v / limits.speed, limits.speed),
            (a / limits.acceleration, limits.acceleration),
            (torque / limits.effort, limits.effort),
        ]

    def _penalty(self, k: int, part: Array) -> tuple[float, Array]:
        """Penalty of shares of a kind of limit, and its derivative (N, J)."""
        c = np.stack([part, -part]) - SHARE
        pushed = np.maximum(self.multipliers[k] + self.rho * c, 0)
        value = float(np.sum(pushed**2 - self.multipliers[k] ** 2)) / (2 * self.rho)
        return value, pushed[0] - pushed[1]

    def _collision_penalty(self, q: Array, by_q: Array) -> float:
        """Penalty of pairs below their clearance, in mm; its derivative is added to ``by_q``."""
        collisions = self.search.collisions
        if collisions is None:
            return 0.0
        robot, total = self.task.robot, 0.0
        for near in collisions.near_pairs(robot.positions(q[self.poses]), self.room):
            over = 1000 * (near.clearance + self.room[near.pair] - near.distance)
            total += self.touch * over**2 / 2
            gradient = near.gradient if robot.coupling is None else near.gradient @ robot.coupling[:, : self.J]
            by_q[self.poses[near.pose]] -= self.touch * over * 1000 * gradient
        return total

    def update(self, x: Array) -> float:
        """Update the multipliers; share of a limit by which the worst sample exceeds it."""
        q, v, a = self.states(x)
        torque = self.task.rows(q, v, a) @ self.task.prior_parameters
        worst = -np.inf
        for k, (part, size) in enumerate(self._limit_shares(q, v, a, torque)):
            if not np.all(np.isinf(size)):
                c = np.stack([part, -part]) - SHARE
                self.multipliers[k] = np.maximum(self.multipliers[k] + self.rho * c, 0)
                worst = max(worst, float(c.max()))
        if worst > CLOSE:
            self.rho *= STIFFER
        return worst


def excite_arm(
    search: ArmSearch,
    seed: int = 0,
    candidates: int = 30,
    restarts: int = 4,
    progress: Progress = lambda *_: None,
    cache: CandidateCache[ArmCandidate] | None = None,
    workers: Workers | None = None,
    handle: RemoteHandle[ArmSearch] | None = None,
) -> tuple[ArmCandidate, ArmCandidate]:
    """The best motion, and the best random one.

    Args:
        search: The optimisation problem.
        seed: Of the random motions.
        candidates: Number of random motions.
        restarts: How many of them, the best, are optimised.
        progress: Called with the share of the work that is done, and a description.
        cache: Optimised motions of an earlier run, by rank; each new one is added, so that interrupted work resumes.
        workers: Processes or machines that draw and optimise motions.
        handle: The search as workers receive it.

    Raises:
        UsageError: No random motion is feasible.
    """
    workers, shared = workers or Workers(), handle or search
    drawn = workers.map(
        _draw,
        range(candidates),
        seed,
        shared,
        name="random motion",
        progress=lambda k, of: progress(0.2 * k / of, f"random motion {k} of {of}"),
    )
    starts = [start for start in drawn if start is not None]
    if not starts:
        what = f"no motion within its limits and free of self-collision was among {candidates * TRIES} random ones"
        fix = "Allow a larger speed or effort, or a smaller clearance"
        remedy = {"speed": None, "effort": None, "clearance": None}
        raise UsageError(Finding("motion-infeasible", search.task.robot.name, what, fix, remedy))
    starts.sort(key=lambda c: -c.log_det if search.criterion == "determinant" else c.condition)
    cache = CandidateCache(None, {}, ArmCandidate) if cache is None else cache
    optimised = {int(k): c for k, c in cache.entries.items() if int(k) < restarts}
    missing = [k for k in range(min(restarts, len(starts))) if k not in optimised]
    results = workers.each(_improve, missing, starts[:restarts], shared, name="motion")
    for count, (i, result) in enumerate(results, 1):
        optimised[missing[i]] = result
        cache.add(str(missing[i]), result)
        progress(0.2 + 0.8 * count / len(missing), f"improved {count} of {len(missing)} motions")
    best = starts[0]
    for _, result in sorted(optimised.items()):
        best = result if result.is_better(best, search.criterion) else best
    return best, starts[0]


def _draw(k: int, seed: int, search: ArmSearch | RemoteHandle[ArmSearch]) -> ArmCandidate | None:
    return _local(search).draw_feasible(np.random.default_rng([seed, k]))


def _improve(k: int, starts: Sequence[ArmCandidate], search: ArmSearch | RemoteHandle[ArmSearch]) -> ArmCandidate:
    return _local(search).improve(starts[k])


def _local(search: ArmSearch | RemoteHandle[ArmSearch]) -> ArmSearch:
    return search.local if isinstance(search, RemoteHandle) else search
