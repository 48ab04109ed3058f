"""Simulated trots of robots whose base is not as described; each is simulated once, and measured with many seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard import inertia
from steelyard.compose.load_area import Area, area_above
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.sensors import Sensors, measure
from steelyard.experiment.simulate.simulate_quadruped import Gait, simulate_quadruped
from steelyard.experiment.simulate.simulation_options import Perturb
from steelyard.experiment.simulate.truth import Specimen
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

AREA = (0.4, 0.2, 0.04)  # m, on the trunk: where the paper's load may be


@dataclass(frozen=True)
class Block:
    """A cuboid that stands on the trunk."""

    mass: float  # kg
    edges: tuple[float, float, float]  # m
    place: tuple[float, float]  # m, x and y of its middle


@dataclass(frozen=True)
class Trot:
    """An exact log, its robot and its truth."""

    name: str
    robot: Robot
    log: Log

    @property
    def base(self) -> str:
        """The body that is not as described."""
        return self.robot.bodies[0].name

    @property
    def link(self) -> str:
        """The link of the base that has shapes, and holds the load."""
        return carrier(self.robot)

    @property
    def area(self) -> Area:
        """Where the load may be."""
        return area_on(self.robot)

    @property
    def truth(self) -> Array:
        """(10,) of the base with its payload."""
        return np.array(self.log.metadata["truth"]["parameters"][self.base])

    @property
    def feet(self) -> tuple[str, ...]:
        """As options name them."""
        return tuple(self.log.metadata["simulation"]["feet"])

    def measure(self, noise: Sensors | str, seed: int) -> Log:
        """The log as measured by noisy sensors."""
        return measure(self.log, noise, seed)


@cache
def trot(
    name: str, *, seconds: float = 5.0, seed: int = 1, friction: str = "none", sway: float = 0.8,
    carrying: Block | None = None, perturb: Perturb = "base",
) -> Trot:  # fmt: skip
    """One simulation; the truth is always the same."""
    robot = Robot.load(name, base="floating")
    loads = () if carrying is None else (_load(robot, carrying),)
    specimen = Specimen(perturb=perturb, truth_seed=1, loads=loads, friction=friction)
    recording = Recording(source=f"trot of {name}")
    log = simulate_quadruped(robot, Gait("trot", sway=sway), specimen, recording, seconds=seconds, seed=seed)
    return Trot(name, robot, log)


def carrier(robot: Robot) -> str:
    """The link of the base that has shapes."""
    return next(link.name for link, _ in robot.bodies[0].parts if link.collision or link.visual)


def area_on(robot: Robot) -> Area:
    """x0 x1 y0 y1 z0 z1 of ``AREA`` on top of the trunk, in the link's axes."""
    wide, deep, high = AREA
    *_, low, top = area_above(robot, carrier(robot), high)
    return -wide / 2, wide / 2, -deep / 2, deep / 2, low, top


def _load(robot: Robot, block: Block) -> Load:
    height = area_on(robot)[4] + block.edges[2] / 2
    return Load.cuboid(carrier(robot), block.mass, (*block.place, height), block.edges)


@dataclass(frozen=True)
class ParameterError:
    """Distance of ten parameters from the truth."""

    e_p: float  # ‖Φ̂ − Φ‖, SI
    mass: float  # %
    com: float  # mm
    inertia: float  # %, of the norm of the inertia about the centre of mass

    @classmethod
    def of(cls, estimate: Array, truth: Array) -> ParameterError:
        """In the units that people use."""
        (m, c, I), (M, C, J) = inertia.unpack(estimate), inertia.unpack(truth)
        return cls(
            float(np.linalg.norm(estimate - truth)),
            100 * abs(m / M - 1),
            1e3 * float(np.linalg.norm(c - C)),
            100 * float(np.linalg.norm(I - J) / np.linalg.norm(J)),
        )


def summary(rows: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Median and worst of every figure; of the share of consistent estimates the least is the worst."""
    result = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        worst = min(values) if key == "consistent" else max(values)
        result[key] = {"median": float(np.median(values)), "worst": float(worst)}
    return result
