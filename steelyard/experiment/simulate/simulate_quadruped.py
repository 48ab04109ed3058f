"""A legged robot that stands, sways or trots in MuJoCo, and the log it writes, with the truth in its metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.legs import Legs, find_feet
from steelyard.experiment.simulate.record import SETTLE, Controller, Recording, record, truth_of
from steelyard.experiment.simulate.reference import Motion, each_axis, multisine, still
from steelyard.experiment.simulate.simulate_arm import Friction
from steelyard.experiment.simulate.stand import Stand
from steelyard.experiment.simulate.trot import Trot, TrotCommand
from steelyard.experiment.simulate.truth import Specimen, perturbed
from steelyard.experiment.simulate.world import World
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

MOTIONS = ("stand", "sines", "multisine", "trot")
FRICTION = {"none": 0.0, "low": 0.3, "mid": 1.0, "high": 2.0}


@dataclass(frozen=True)
class Gait:
    """How a motion is carried out."""

    motion: str = "trot"
    command: TrotCommand = field(default_factory=TrotCommand)
    sway: float = 0.8  # of the trunk, of what legs and friction allow: multisine and trot

    def __post_init__(self) -> None:
        if self.motion not in MOTIONS:
            what = f"motion {self.motion!r}"
            raise UsageError(Finding("todo", what, "is not known for a legged robot", f"Motions: {', '.join(MOTIONS)}"))

    def controller(self, legs: Legs, seconds: float, seed: int, period: float) -> Controller:
        """Made for a robot; it stands for ``SETTLE`` seconds first."""
        rng = np.random.default_rng([seed, 2])
        if self.motion == "trot":
            sway: Motion = multisine(legs.length, rng, self.sway) if self.sway else still
            return Trot(legs, self.command, sway, period=period, start=SETTLE)
        motions: dict[str, Callable[[], Motion]] = {
            "stand": lambda: still,
            "sines": lambda: each_axis(legs.length, seconds),
            "multisine": lambda: multisine(legs.length, rng, self.sway),
        }
        return Stand(legs, motions[self.motion](), period=period, start=SETTLE)


def simulate_quadruped(
    robot: Robot,
    gait: Gait | str = "trot",
    specimen: Specimen | None = None,
    recording: Recording | None = None,
    *,
    seconds: float = 10.0,
    seed: int = 0,
    feet: Sequence[str] = (),
) -> Log:
    """Simulate a legged robot that stands, sways or trots.

    Args:
        robot: As described; the controller knows no other.
        gait: What it does, or its name.
        specimen: How it differs from its description, and what it stands on; default another trunk.
        recording: Rate, sensors and source of the log; default exact, 500 Hz.
        seconds: How long, after it has stood up.
        seed: Of noise and motion, and of what is drawn of the specimen.
        feet: Ball feet as ``--feet`` takes them; found where none is named.

    Returns:
        A log of joints, torques and IMU; without noise also of velocities, accelerations and the base's pose.
    """
    gait = Gait(gait) if isinstance(gait, str) else gait
    own, recording = specimen or Specimen(), recording or Recording()
    draw = np.random.default_rng([seed if own.truth_seed is None else own.truth_seed, 0])
    truth = true_robot(robot, own.perturb, draw) if own.truth is None else own.truth
    feet = tuple(feet) or find_feet(robot)
    friction = leg_friction(robot, own.friction, draw) if isinstance(own.friction, str) else own.friction
    world = World(robot, truth, feet=feet, loads=own.loads, ground=own.ground, friction=friction)
    rate = recording.rate or 500.0
    every = round(1 / (rate * world.timestep))
    if seconds <= 0 or every < 1 or abs(every * rate * world.timestep - 1) > 1e-9:
        what, whole = f"is {seconds:g} s at {rate:g} samples a second", f"{1 / world.timestep:g}"
        raise UsageError(Finding("todo", "simulation", what, f"Give some seconds, and a rate that divides {whole} Hz"))
    legs = Legs(robot, world.feet)
    frame, mount = recording.mount(robot, "trunk")
    controller = gait.controller(legs, seconds, seed, every * world.timestep)
    columns, limits = record(world, controller, legs.home, seconds, every, mount, recording.wrenches)
    simulation = {
        "motion": gait.motion,
        "seed": seed,
        "truth_seed": own.truth_seed,
        "rate": rate,
        "perturb": own.perturb if own.truth is None else "given",
        "timestep": world.timestep,
        "feet": list(feet),
        "ground": asdict(world.ground),
        "command": asdict(gait.command),
        "sway": gait.sway,
        "at_joint_limits": limits,
    }
    return recording.log(columns, truth_of(world, own.loads), simulation, frame, "simulated robot")


def true_robot(robot: Robot, perturb: str, rng: np.random.Generator) -> dict[str, Array]:
    """Parameters of every body: as described, with another base, or all of them other."""
    if perturb not in ("none", "base", "all"):
        raise UsageError(Finding("todo", f"perturb {perturb!r}", "is not known", "Choose base, all or none"))
    truth, other = {b.name: b.parameters for b in robot.bodies}, perturbed(robot, rng)
    moved = {"none": [], "base": [robot.bodies[0].name], "all": list(truth)}[perturb]
    return {name: other[name] if name in moved else p for name, p in truth.items()}


def leg_friction(robot: Robot, level: str, rng: np.random.Generator) -> Friction | None:
    """Friction and rotor inertia in proportion to what a joint carries while the robot stands; None for none."""
    if level not in FRICTION:
        raise UsageError(Finding("todo", f"friction {level!r}", "is not known", f"Levels: {', '.join(FRICTION)}"))
    J, mass = len(robot.joints), sum(float(b.parameters[0]) for b in robot.bodies)
    u = rng.uniform(0.5, 1.5, (3, J))
    if level == "none":
        return None
    carries = FRICTION[level] * mass * 9.81 * robot.bodies[0].size / 8  # N·m
    return Friction(0.01 * carries * u[0], 0.04 * carries * u[1], 0.001 * carries * u[2], np.zeros(J))
