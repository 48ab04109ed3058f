"""What a humanoid's motion tells: the root of the information of its base rows, which need no torque (Ayusawa 33).

Rows are weighed by a noise in proportion to the robot's weight: how a motion compares with another hardly depends on
it, and what sensors are like is known once they have been read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.filters import lowpass
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.stance import HumanoidStance
from steelyard.experiment.excite.trajectory import Trajectory

Array = np.ndarray

RATE = 25.0  # rows a second whose noise counts as independent
NOISE = 0.003  # of the weight: of a force, N
LEVER = 0.1  # m: of a moment, N·m for each N of a force's
DENSE = 50.0  # Hz, of rows before they are filtered
COMPILED = 10**9  # samples: rows by compiled kernels


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
