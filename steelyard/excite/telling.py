"""What a humanoid's motion tells: the root of the information of its base rows, which need no torque (Ayusawa 33).

Rows are weighed by a noise in proportion to the robot's weight: how a motion compares with another hardly depends on
it, and what sensors are like is known once they have been read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard import prior as priors
from steelyard.excite import criteria
from steelyard.excite.course import Course
from steelyard.excite.stance import Stance
from steelyard.identifiable import Subspace, structural
from steelyard.regressor import Columns, Rows

Array = np.ndarray

RATE = 25.0  # rows a second whose noise counts as independent
NOISE = 0.003  # of the weight: of a force, N
LEVER = 0.1  # m: of a moment, N·m for each N of a force's
COMPILED = 10**9  # samples: rows by compiled kernels


@dataclass(frozen=True, eq=False)
class Telling:
    """All bodies of a robot that stands on its feet."""

    stance: Stance

    @cached_property
    def columns(self) -> Columns:
        """Ten parameters a body."""
        return Columns(tuple(b.name for b in self.stance.robot.bodies))

    @cached_property
    def possible(self) -> Subspace:
        """What base rows of any motion could tell."""
        robot = self.stance.robot
        return structural(robot, self.columns, "base", priors.make(robot, self.columns).scale)

    @cached_property
    def noise(self) -> Array:
        """(6,) N and N·m."""
        weight = NOISE * self.stance.mass * float(np.linalg.norm(self.stance.robot.gravity))
        return weight * np.array([1, 1, 1, LEVER, LEVER, LEVER])

    def rows(self, course: Course) -> Array:
        """(T·6, n) rows of a motion, each divided by its noise."""
        segment = course.sampled(RATE).segment
        made = Rows(self.stance.robot, [segment], self.columns, "base", samples=COMPILED)
        return np.asarray(made.raw(segment, None)[0] / self.noise[:, None]).reshape(-1, self.columns.n)

    def triangle(self, course: Course) -> Array:
        """(n, n) R of its rows."""
        return np.asarray(np.linalg.qr(self.rows(course), mode="r"))

    def root(self, course: Course) -> Array:
        """(r, r) root of the base parameters' information."""
        return criteria.triangle((self.rows(course) * self.possible.scale) @ self.possible.V)
