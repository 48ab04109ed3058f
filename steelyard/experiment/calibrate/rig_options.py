"""Which simulated robot is calibrated; light, so that the command line can show it without loading anything."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.equations.option_field import option
from steelyard.experiment.simulate.simulation_options import LOAD, Level, Perturb


@dataclass(frozen=True)
class RigOptions:
    """How it differs from its description, and how well it measures."""

    load: tuple[str, ...] = option((), "A cuboid that the description lacks; repeats.", metavar=LOAD, parse=tuple)
    noise: Level = option("mid", "Of encoders, torques and IMU.")
    seed: int = option(0, "Of noise, and of how the robot differs from its description.")
    perturb: Perturb = option("base", "Bodies that are not as described.")
    friction: Level = option("none", "Of the joints, with rotor inertia.")
    zero_error: float = option(0.0, "Standard deviation of each joint's zero.", metavar="RAD")
