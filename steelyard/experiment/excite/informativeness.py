"""What a humanoid's motion tells: the root of the information of its base rows, which need no torque (Ayusawa 33).

Rows are weighed by a noise in proportion to the robot's weight: how a motion compares with another hardly depends on
it, and what sensors are like is known once they have been read.

Which motions to play: the three with the least condition number of each link's ten columns (Jovic), or those that
together have the largest determinant (D-optimal), which looks at what the motions chosen before have told already.
Which joints to move next: those, nearest first, that turn the bodies whose parameters lead the base parameters
(``Subspace.composition``) that are known worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.filters import lowpass
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.trajectory import Trajectory
from steelyard.spatial import Array

RATE = 25.0  # rows a second whose noise counts as independent
NOISE = 0.003  # of the weight: of a force, N
LEVER = 0.1  # m: of a moment, N·m for each N of a force's
DENSE = 50.0  # Hz, of rows before they are filtered
COMPILED = 10**9  # samples: rows by compiled kernels
SHARE = 0.1  # of base parameters, the worst known, that a round works on
NEAREST = 3  # joints above a body that are asked to move
BEST = 3  # motions for each link
LITTLE = 100.0  # natural sizes, that base parameters may be off by before anything is told


@dataclass(frozen=True, eq=False)
class Telling:
    """All bodies of a robot that stands on its feet."""

    stance: HumanoidStance
    cutoff: float | None = None  # Hz: rows are filtered as those of a log are, so that haste does not seem worth more

    @cached_property
    def columns(self) -> Columns:
        """Ten parameters a body."""
        return Columns(tuple(b.name for b in self.stance.robot.bodies))

    @cached_property
    def possible(self) -> Subspace:
        """What base rows of any motion could tell."""
        robot = self.stance.robot
        return Setup(robot, "base", self.columns).structure(priors.make(robot, self.columns).scale)

    @cached_property
    def noise(self) -> Array:
        """(6,) N and N·m."""
        weight = NOISE * self.stance.mass * float(np.linalg.norm(self.stance.robot.gravity))
        return weight * np.array([1, 1, 1, LEVER, LEVER, LEVER])

    def rows(self, course: Trajectory) -> Array:
        """(T·6, n) rows of a motion, each divided by its noise."""
        segment = course.sampled(RATE if self.cutoff is None else DENSE).segment
        made = Setup(self.stance.robot, "base", self.columns).rows([segment], samples=COMPILED)
        Y = np.asarray(made.raw(segment, None)[0] / self.noise[:, None])
        if self.cutoff is not None:
            Y = np.tensordot(_smoothing(len(Y), self.cutoff), Y, axes=1)
        return Y.reshape(-1, self.columns.n)

    def triangle(self, course: Trajectory) -> Array:
        """(n, n) R of its rows."""
        return np.asarray(np.linalg.qr(self.rows(course), mode="r"))

    @cached_property
    def weight(self) -> Array:
        """(n, r) from columns of all parameters to those of base parameters in natural units."""
        return np.asarray(self.possible.scale[:, None] * self.possible.V)

    def base_rows(self, course: Trajectory) -> Array:
        """(T·6, r) rows of the base parameters."""
        return np.asarray(self.rows(course) @ self.weight)

    def root(self, course: Trajectory) -> Array:
        """(r, r) root of the base parameters' information."""
        return criteria.triangle(self.base_rows(course))


def _smoothing(count: int, cutoff: float) -> Array:
    """(count / 2, count) low-pass and every other row; before and after, a motion is at rest."""
    taps = lowpass(DENSE, cutoff)
    W = np.zeros((count, count))
    for k in range(count):
        np.add.at(W[k], np.clip(np.arange(len(taps)) + k - len(taps) // 2, 0, count - 1), taps)
    return W[:: round(DENSE / RATE)]


@dataclass(frozen=True, eq=False)
class Told:
    """What one motion tells."""

    root: Array  # (r, r) of the base parameters' information
    links: dict[str, float]  # link → condition number of its ten columns

    @classmethod
    def of(cls, telling: Telling, R: Array) -> Told:
        """From the triangle of its rows."""
        scaled = R * telling.possible.scale
        links = {name: criteria.condition(scaled[:, telling.columns.body(name)]) for name in telling.columns.bodies}
        return cls(criteria.base_root(R, telling.possible), links)


def best_for_links(told: Sequence[Told], best: int = BEST) -> list[int]:
    """Indices of the motions that are among the best ones of some link, in order (Jovic II-B)."""
    chosen = set[int]()
    for name in told[0].links if told else ():
        order = np.argsort([t.links[name] for t in told], kind="stable")
        chosen |= {int(k) for k in order[:best] if np.isfinite(told[k].links[name])}
    return sorted(chosen)


def most_telling(told: Sequence[Told], count: int, known: Array | None = None) -> list[int]:
    """Indices of ``count`` motions that together have the largest determinant, greedily, best first."""
    if not told:
        return []
    start = criteria.natural_prior(len(told[0].root), LITTLE) if known is None else known
    return criteria.greedy([t.root for t in told], count, start)


def by_link(told: Sequence[Told], chosen: Sequence[int]) -> dict[str, float]:
    """Link → least condition number that a chosen motion has for it."""
    return {name: min(told[k].links[name] for k in chosen) for name in told[0].links}


@dataclass(frozen=True)
class Weak:
    """A base parameter that is known badly."""

    name: str  # of the parameter that leads it
    deviation: float  # standard deviation, of its natural size
    joints: tuple[str, ...]  # that tell it, nearest first


def weakest(telling: Telling, root: Array, share: float = SHARE) -> list[Weak]:
    """The base parameters that are known worst, worst first."""
    robot, possible = telling.stance.robot, telling.possible
    deviation = criteria.deviations(root, possible)
    leading = possible.composition[0]
    worst = np.argsort(-deviation, kind="stable")[: max(1, round(share * len(deviation)))]
    found = []
    for k in worst:
        column = int(leading[k])
        body = robot.body(telling.columns.owner(column))
        joints = tuple(robot.joints_above(body.joint)[:NEAREST])
        found.append(Weak(telling.columns.names[column], float(deviation[k]), joints))
    return found


def focus(telling: Telling, root: Array) -> tuple[str, ...]:
    """Joints that the weakest base parameters ask for, most often first."""
    votes: dict[str, float] = {}
    for weak in weakest(telling, root):
        for near, joint in enumerate(weak.joints):
            votes[joint] = votes.get(joint, 0.0) + 0.5**near
    return tuple(sorted(votes, key=lambda j: -votes[j]))
