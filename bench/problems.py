"""Noisy problems without logs: the information of one random motion, and as many truths and draws of noise as wanted.

A row's noise is a share of its rms force or torque. Only the right-hand side of the triangle changes from one problem
to the next, so thousands of them cost no more than their solutions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.options import Options
from steelyard.information import Information
from steelyard.robot.model import Robot
from steelyard.spatial import Array

CASES: dict[str, tuple[str, tuple[str, ...]]] = {  # robot, free bodies (none named: all)
    "a1 base": ("a1", ("base",)),
    "ur10": ("ur10", ()),
    "panda": ("panda", ()),
    "talos": ("talos", ()),
    "g1": ("g1", ()),
    "simple_humanoid": ("simple_humanoid", ()),
}
LEVELS = (0.003, 0.01, 0.03, 0.1, 0.3)  # noise of a row, of its rms


@dataclass(frozen=True)
class Setting:
    setup: Setup
    prior: priors.Prior
    links: tuple[str, ...]  # free bodies; none: all
    unit: Information  # of the motion, with noise as large as each row's rms

    def draw(self, rng: np.random.Generator, level: float) -> tuple[Array, Information]:
        """A true robot whose free bodies differ from their description, and the information of its motion."""
        true, free = perturbed(self.setup.robot, rng), self.links or self.setup.columns.bodies
        names = self.setup.columns.bodies
        theta = np.concatenate([true[b] if b in free else self.setup.robot.body(b).parameters for b in names])
        z = self.unit.R @ theta / level + rng.normal(size=self.unit.n)
        triangle = np.vstack([np.column_stack([self.unit.R / level, z]), np.zeros(self.unit.n + 1)])
        return theta, replace(self.unit, triangle=triangle)


@lru_cache
def setting(robot_name: str, links: tuple[str, ...] = (), seed: int = 0) -> Setting:
    """Random states, twice as many equations as parameters: of the base where it floats, of the joints elsewhere."""
    robot, rng = Robot.load(robot_name), np.random.default_rng(seed)
    columns = Columns(tuple(b.name for b in robot.bodies))
    equations = "base" if robot.floating else "joint"
    J, each = len(robot.joints), 6 if robot.floating else len(robot.joints)
    samples = int(np.ceil(2 * columns.n / each))

    def of_base(size: float) -> Array | None:
        return size * rng.normal(size=(samples, 3)) if robot.floating else None

    up = of_base(1.0)
    acc = of_base(2.0)
    segment = Segment(
        time=np.arange(samples, dtype=float), rate=1.0, q=rng.uniform(-1.5, 1.5, (samples, J)),
        v=rng.normal(size=(samples, J)), a=3 * rng.normal(size=(samples, J)), tau=np.zeros((samples, J)), current={},
        gyro=of_base(1.0), alpha=of_base(3.0), acc=None if acc is None else acc + np.array([0, 0, 9.81]),
        up=None if up is None else up / np.linalg.norm(up, axis=1, keepdims=True), wrench={},
    )  # fmt: skip
    Y = np.concatenate([block.Y for block in Setup(robot, equations, columns).rows([segment])])
    rms = np.sqrt(np.mean((Y @ robot.prior) ** 2, axis=0))
    unit = Information.of((Y / rms[:, None]).reshape(-1, columns.n), np.zeros(Y.shape[0] * Y.shape[1]), columns.names)
    return Setting(Setup(robot, equations, columns), priors.make(robot, columns), links, unit)


def options(method: str, links: tuple[str, ...]) -> Options:
    return Options(method=method, links=links)  # type: ignore[arg-type]
