"""The motion of an arm that tells most about its base parameters, within all its limits.

Random Fourier motions are scaled until they are feasible. The best of them are improved by an augmented Lagrangian,

    f(x) + Σ (max(0, λ + ρ c(x))² − λ²) / 2ρ,    λ ← max(0, λ + ρ c(x)),

f the criterion and c ≤ 0 the limits of positions, speeds, accelerations, torques and distances at even samples, each
minimisation by L-BFGS with exact gradients. What comes out is scaled into its limits by bounds that hold at all times,
and looked through for contacts (``collision.scan``); where there is one, more room is asked for and it is done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from steelyard.errors import Finding, UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.arm_task import ArmTask, Excess
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.fourier import Fourier, designs, rest_basis
from steelyard.experiment.excite.kept import Kept
from steelyard.experiment.excite.motion_request import Criterion
from steelyard.fleet.sent import Sent
from steelyard.fleet.workers import Workers
from steelyard.spatial import Array

Progress = Callable[[float, str], None]

DENSITY = 20  # samples a period, for each harmonic, while improving
POSES = 120  # of them, at most: looked at for distances
SHARE = 0.999  # of a limit that is aimed at: samples are not all there is
ROUNDS, STEPS = 8, 40  # of multipliers, and of L-BFGS between them
STIFF, STIFFER = 10.0, 3.0  # ρ at first, and how it grows where limits are not kept
CLOSE = 1e-3  # share of its limit by which a sample may still be over it in the last round
BUFFERS = ((0.002, 0.5), (0.008, 1.0))  # m on top of the clearance, and of it, at first and after a contact
WAY_BACK = (1.0, 0.98, 0.95, 0.9, 0.8, 0.6)
ROUNDING = 1e-9  # share of a limit that a scaled motion stays below it
TRIES = 200  # random motions for one that is feasible
SMALLER = 0.8  # amplitude after each contact of a random motion


@dataclass(frozen=True, eq=False)
class ArmCandidate:
    """A feasible motion and what it tells."""

    motion: Fourier
    log_det: float
    condition: float
    used: Excess
    gradients: int = 0  # that were taken to find it

    def better(self, other: ArmCandidate | None, criterion: Criterion) -> bool:
        """By the criterion that is asked for."""
        if other is None:
            return True
        return self.log_det > other.log_det if criterion == "determinant" else self.condition < other.condition

    def as_json(self) -> dict[str, Any]:
        """For files."""
        return {
            "motion": self.motion.as_json(),
            "log_det": self.log_det,
            "condition": self.condition,
            "used": self.used._asdict(),
            "gradients": self.gradients,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> ArmCandidate:
        """From what ``as_json`` gave."""
        return cls(
            Fourier.from_json(found["motion"]),
            found["log_det"],
            found["condition"],
            Excess(**found["used"]),
            found["gradients"],
        )


@dataclass(frozen=True, eq=False)
class Search:
    """How a motion is looked for."""

    task: ArmTask
    collisions: Collisions | None
    period: float = 10.0  # s
    harmonics: int = 5
    seconds: float = 10.0  # that the motion is played
    criterion: Criterion = "determinant"
    rounds: int = ROUNDS  # of multipliers, at most

    def judged(self, motion: Fourier, gradients: int = 0) -> ArmCandidate:
        """What a motion tells and uses."""
        M = self.task.root(motion, self.seconds)
        return ArmCandidate(motion, criteria.log_det(M), criteria.condition(M), self.task.used(motion), gradients)

    def clear(self, motion: Fourier) -> bool:
        """Whether the arm touches itself nowhere on it."""
        if self.collisions is None:
            return True
        t = np.append(motion.samples(), motion.period)
        q, v, _ = motion.at(t)
        robot = self.task.robot
        return self.collisions.clear(t, robot.positions(q), robot.motion(v))

    def random(self, rng: np.random.Generator) -> ArmCandidate | None:
        """A random feasible motion: as wide and fast as one of its limits allows; None if there seems to be none."""
        limits, J = self.task.limits, len(self.task.robot.joints)
        for _ in range(TRIES):
            middle = (limits.lower + limits.upper) / 2
            centre = middle + rng.uniform(-0.5, 0.5, J) * (limits.upper - limits.lower) / 2
            motion = Fourier.of(self.period, centre, rng.normal(size=(2 * self.harmonics - 2, J)) * limits.speed)
            motion = self.fitted(motion)
            for _ in range(4):
                if self.task.used(motion).most > 1:  # it cannot even hold itself there
                    break
                if self.clear(motion):
                    return self.judged(motion)
                motion = motion.scaled(SMALLER)
        return None

    def fitted(self, motion: Fourier) -> Fourier:
        """The same, scaled about its centre into the limits of positions, speeds, accelerations and torques."""
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
        """The best feasible motion near a feasible one; never worse than that."""
        best, count = start, 0
        for buffer, share in BUFFERS:
            work = _Work(self, buffer, share)
            x = work.pack(start.motion)
            for turn in range(self.rounds):
                found = minimize(work, x, jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "maxcor": 20})
                x, over = found.x, work.update(found.x)
                if over < CLOSE and turn >= 2 and found.nit < STEPS:
                    break
            count += work.gradients
            made, whole = self._feasible(work, x, work.pack(start.motion), count)
            if made is not None and made.better(best, self.criterion):
                best = made
            if whole:
                break
        return best

    def _feasible(self, work: _Work, x: Array, back: Array, count: int) -> tuple[ArmCandidate | None, bool]:
        """The motion of x, or the first feasible one on the way back to one that is; and whether it is that of x."""
        for share in WAY_BACK:
            motion = self.fitted(work.unpack(back + share * (x - back)))
            if self.task.used(motion).most <= 1 and self.clear(motion):
                return self.judged(motion, count), share == 1.0
        return None, False


class _Work:
    """The augmented Lagrangian of one buffer; x is the centre and the free coefficients, of unit size."""

    def __init__(self, search: Search, buffer: float, share: float):
        self.search = search
        collisions = search.collisions  # those that are always near have little room to keep
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
        self.touch = 1.0  # how much distances weigh
        self.gradients, self.value = 0, 0.0

    def pack(self, motion: Fourier) -> Array:
        """x of a motion."""
        w = (2 * np.pi / self.search.period * np.arange(1, self.search.harmonics + 1))[:, None]
        free = rest_basis(self.search.harmonics).T @ np.vstack([motion.sines * w, motion.cosines * w])
        return np.concatenate(
            [((motion.centre - self.middle) / self.half)[None], free / self.task.limits.speed]
        ).ravel()

    def _split(self, x: Array) -> tuple[Array, Array]:
        X = x.reshape(1 + self.P, self.J)
        return self.middle + self.half * X[0], X[1:] * self.task.limits.speed

    def unpack(self, x: Array) -> Fourier:
        """The motion of x."""
        return Fourier.of(self.search.period, *self._split(x))

    def states(self, x: Array) -> tuple[Array, Array, Array]:
        """(N, J) each."""
        centre, free = self._split(x)
        Q, V, A = self.designs
        return centre + Q @ free, V @ free, A @ free

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Value and gradient."""
        self.gradients += 1
        q, v, a = self.states(x)
        s = self.task.slope(q, v, a, self.search.criterion)
        self.value = s.value
        value, by_q, by_v, by_a = s.value, s.q.copy(), s.v.copy(), s.a.copy()
        for k, (part, size) in enumerate(self._shares(q, v, a, s.torque)):
            if not np.all(np.isinf(size)):
                added, slope = self._penalty(k, part)
                value, slope = value + added, slope / size
                if k < 3:
                    (by_q, by_v, by_a)[k][:] += slope
                else:
                    for by, jacobian in ((by_q, s.torque_q), (by_v, s.torque_v), (by_a, s.torque_a)):
                        by += np.einsum("tk,tkj->tj", slope, jacobian)
        value += self._distances(q, by_q)
        Q, V, A = self.designs
        G = np.vstack([by_q.sum(axis=0) * self.half, (Q.T @ by_q + V.T @ by_v + A.T @ by_a) * self.task.limits.speed])
        return value, G.ravel()

    def _shares(self, q: Array, v: Array, a: Array, torque: Array) -> list[tuple[Array, Array]]:
        """Shares (N, J) of each limit, signed, and what they are shares of."""
        limits = self.task.limits
        return [
            ((q - self.middle) / self.half, self.half),
            (v / limits.speed, limits.speed),
            (a / limits.acceleration, limits.acceleration),
            (torque / limits.effort, limits.effort),
        ]

    def _penalty(self, k: int, part: Array) -> tuple[float, Array]:
        """Of shares: its value, and its slope (N, J)."""
        c = np.stack([part, -part]) - SHARE
        pushed = np.maximum(self.multipliers[k] + self.rho * c, 0)
        value = float(np.sum(pushed**2 - self.multipliers[k] ** 2)) / (2 * self.rho)
        return value, pushed[0] - pushed[1]

    def _distances(self, q: Array, by_q: Array) -> float:
        """Of pairs nearer than they may be, in mm; their slope is added to ``by_q``."""
        collisions = self.search.collisions
        if collisions is None:
            return 0.0
        robot, total = self.task.robot, 0.0
        for near in collisions.near(robot.positions(q[self.poses]), self.room):
            over = 1000 * (near.clearance + self.room[near.pair] - near.distance)
            total += self.touch * over**2 / 2
            gradient = near.gradient if robot.coupling is None else near.gradient @ robot.coupling[:, : self.J]
            by_q[self.poses[near.pose]] -= self.touch * over * 1000 * gradient
        return total

    def update(self, x: Array) -> float:
        """New multipliers; by which share of a limit the worst sample is over it."""
        q, v, a = self.states(x)
        torque = self.task.rows(q, v, a) @ self.task.believed
        worst = -np.inf
        for k, (part, size) in enumerate(self._shares(q, v, a, torque)):
            if not np.all(np.isinf(size)):
                c = np.stack([part, -part]) - SHARE
                self.multipliers[k] = np.maximum(self.multipliers[k] + self.rho * c, 0)
                worst = max(worst, float(c.max()))
        if worst > CLOSE:
            self.rho *= STIFFER
        return worst


def excite_arm(
    search: Search,
    seed: int = 0,
    screened: int = 30,
    restarts: int = 4,
    progress: Progress = lambda *_: None,
    kept: Kept[ArmCandidate] | None = None,
    workers: Workers | None = None,
    sent: Sent[Search] | None = None,
) -> tuple[ArmCandidate, ArmCandidate]:
    """The best motion, and the best random one that it began from.

    ``screened`` random motions are made, the best ``restarts`` improved. ``kept``: those improved before, by rank,
    and each new one, so that interrupted work resumes where it stopped. ``workers`` make and improve motions, with the
    search as it is ``sent`` to them.
    """
    workers, shared = workers or Workers(), sent or search
    made = workers.map(
        _random,
        range(screened),
        seed,
        shared,
        name="random motion",
        progress=lambda k, of: progress(0.2 * k / of, f"random motion {k} of {of}"),
    )
    starts = [start for start in made if start is not None]
    if not starts:
        what = f"no motion within its limits and clear of itself was among {screened * TRIES} random ones"
        raise UsageError(
            Finding("todo", search.task.robot.name, what, "Allow more --speed or --effort, or less --clearance")
        )
    starts.sort(key=lambda c: -c.log_det if search.criterion == "determinant" else c.condition)
    kept = Kept(None, {}, ArmCandidate) if kept is None else kept
    found = {int(k): c for k, c in kept.done.items() if int(k) < restarts}
    left = [k for k in range(min(restarts, len(starts))) if k not in found]
    improved = workers.each(_improved, left, starts[:restarts], shared, name="motion")
    for count, (i, better) in enumerate(improved, 1):
        found[left[i]] = better
        kept.add(str(left[i]), better)
        progress(0.2 + 0.8 * count / len(left), f"improved {count} of {len(left)} motions")
    best = starts[0]
    for _, better in sorted(found.items()):
        best = better if better.better(best, search.criterion) else best
    return best, starts[0]


def _random(k: int, seed: int, search: Search | Sent[Search]) -> ArmCandidate | None:
    return _here(search).random(np.random.default_rng([seed, k]))


def _improved(k: int, starts: Sequence[ArmCandidate], search: Search | Sent[Search]) -> ArmCandidate:
    return _here(search).improve(starts[k])


def _here(search: Search | Sent[Search]) -> Search:
    return search.here if isinstance(search, Sent) else search
