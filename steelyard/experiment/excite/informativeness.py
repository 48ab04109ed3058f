"""Informativeness of a humanoid's motion: root of the information of its base equations, torque-free (Ayusawa 33).

Rows are weighted by a noise in proportion to the robot's weight: the ranking of motions hardly depends on it, and the
noise of the sensors is only known once a log has been recorded.

Motions are selected as the three of least condition number of each link's ten columns (Jovic), or as those that
together have the largest determinant (D-optimal), which accounts for the information of motions selected before. The
joints to move next are those, nearest first, that turn the bodies whose parameters lead (``Subspace.composition``) the
most poorly excited base parameters.
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

RATE = 25.0  # Hz, rows whose noise counts as independent
NOISE = 0.003  # standard deviation of a force, as a share of the robot's weight
LEVER = 0.1  # m, standard deviation of a moment over that of a force
DENSE = 50.0  # Hz, rows before they are filtered
COMPILED = 10**9  # samples: selects the compiled kernels
SHARE = 0.1  # of the base parameters, the most poorly excited, that a round aims at
NEAREST = 3  # joints above a body that are to move
BEST = 3  # motions for each link
LITTLE = 100.0  # natural sizes: standard deviation of base parameters before any motion


@dataclass(frozen=True, eq=False)
class Informativeness:
    """Regressor and information of whole-body motions: all bodies of a humanoid, base equations."""

    stance: HumanoidStance
    cutoff: float | None = None  # Hz: low-pass of the rows, as of a log's, so that fast motions are not overrated

    @cached_property
    def columns(self) -> Columns:
        """Ten parameters for each body."""
        return Columns(tuple(b.name for b in self.stance.robot.bodies))

    @cached_property
    def identifiable(self) -> Subspace:
        """Structurally identifiable subspace of the base equations."""
        robot = self.stance.robot
        return Setup(robot, "base", self.columns).structure(priors.make(robot, self.columns).scale)

    @cached_property
    def noise(self) -> Array:
        """Standard deviations (6,) of the base wrench, N and N·m."""
        weight = NOISE * self.stance.mass * float(np.linalg.norm(self.stance.robot.gravity))
        return weight * np.array([1, 1, 1, LEVER, LEVER, LEVER])

    def rows(self, trajectory: Trajectory) -> Array:
        """Regressor rows (T·6, n) of a motion, each divided by its noise."""
        segment = trajectory.sampled(RATE if self.cutoff is None else DENSE).segment
        rows = Setup(self.stance.robot, "base", self.columns).rows([segment], samples=COMPILED)
        Y = np.asarray(rows.raw(segment, None)[0] / self.noise[:, None])
        if self.cutoff is not None:
            Y = np.tensordot(_smoothing(len(Y), self.cutoff), Y, axes=1)
        return Y.reshape(-1, self.columns.n)

    def triangle(self, trajectory: Trajectory) -> Array:
        """Triangle R (n, n) of the rows."""
        return np.asarray(np.linalg.qr(self.rows(trajectory), mode="r"))

    @cached_property
    def basis(self) -> Array:
        """Map (n, r) from columns of all parameters to those of the base parameters in natural units."""
        return np.asarray(self.identifiable.scale[:, None] * self.identifiable.V)

    def base_rows(self, trajectory: Trajectory) -> Array:
        """Regressor rows (T·6, r) of the base parameters."""
        return np.asarray(self.rows(trajectory) @ self.basis)

    def root(self, trajectory: Trajectory) -> Array:
        """Root (r, r) of the base parameters' information."""
        return criteria.triangle(self.base_rows(trajectory))


def _smoothing(count: int, cutoff: float) -> Array:
    """Low-pass and decimation to ``RATE`` as a matrix (count / 2, count); a motion is at rest before and after."""
    taps = lowpass(DENSE, cutoff)
    W = np.zeros((count, count))
    for k in range(count):
        np.add.at(W[k], np.clip(np.arange(len(taps)) + k - len(taps) // 2, 0, count - 1), taps)
    return W[:: round(DENSE / RATE)]


@dataclass(frozen=True, eq=False)
class MotionInformation:
    """Information of one motion."""

    root: Array  # (r, r) of the base parameters' information
    links: dict[str, float]  # link → condition number of its ten columns

    @classmethod
    def of(cls, informativeness: Informativeness, R: Array) -> MotionInformation:
        """From the triangle R (n, n) of its rows."""
        scaled = R * informativeness.identifiable.scale
        links = {
            name: criteria.condition(scaled[:, informativeness.columns.body(name)])
            for name in informativeness.columns.bodies
        }
        return cls(criteria.base_root(R, informativeness.identifiable), links)


def select_by_link(motions: Sequence[MotionInformation], best: int = BEST) -> list[int]:
    """Indices of the motions that are among the ``best`` of some link, ascending (Jovic II-B)."""
    chosen = set[int]()
    for name in motions[0].links if motions else ():
        order = np.argsort([m.links[name] for m in motions], kind="stable")
        chosen |= {int(k) for k in order[:best] if np.isfinite(motions[k].links[name])}
    return sorted(chosen)


def select_d_optimal(motions: Sequence[MotionInformation], count: int, known: Array | None = None) -> list[int]:
    """Indices of ``count`` motions, best first, selected greedily for the largest determinant together."""
    if not motions:
        return []
    start = criteria.natural_prior(len(motions[0].root), LITTLE) if known is None else known
    return criteria.select_greedily([m.root for m in motions], count, start)


def best_link_conditions(motions: Sequence[MotionInformation], chosen: Sequence[int]) -> dict[str, float]:
    """Link → least condition number of its columns over the chosen motions."""
    return {name: min(motions[k].links[name] for k in chosen) for name in motions[0].links}


@dataclass(frozen=True)
class WeakParameter:
    """A poorly excited base parameter."""

    name: str  # of the parameter that leads it
    deviation: float  # standard deviation, as a share of its natural size
    joints: tuple[str, ...]  # that excite it, nearest first


def find_weakest(informativeness: Informativeness, root: Array, share: float = SHARE) -> list[WeakParameter]:
    """The most poorly excited ``share`` of the base parameters, worst first."""
    robot, identifiable = informativeness.stance.robot, informativeness.identifiable
    deviation = criteria.deviations(root, identifiable)
    leading = identifiable.composition[0]
    worst = np.argsort(-deviation, kind="stable")[: max(1, round(share * len(deviation)))]
    weak = []
    for k in worst:
        column = int(leading[k])
        body = robot.body(informativeness.columns.owner(column))
        joints = tuple(robot.joints_above(body.joint)[:NEAREST])
        weak.append(WeakParameter(informativeness.columns.names[column], float(deviation[k]), joints))
    return weak


def find_focus(informativeness: Informativeness, root: Array) -> tuple[str, ...]:
    """Joints that excite the weakest base parameters, those that excite most of them first."""
    votes: dict[str, float] = {}
    for weak in find_weakest(informativeness, root):
        for near, joint in enumerate(weak.joints):
            votes[joint] = votes.get(joint, 0.0) + 0.5**near
    return tuple(sorted(votes, key=lambda j: -votes[j]))
