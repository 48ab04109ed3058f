"""A legged robot that stands, sways or trots in MuJoCo: its log, with the truth in the metadata."""

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
    """A motion and its parameters."""

    motion: str = "trot"
    command: TrotCommand = field(default_factory=TrotCommand)
    sway: float = 0.8  # amplitude of the trunk over the feasible one: multisine and trot

    def __post_init__(self) -> None:
        if self.motion not in MOTIONS:
            what, fix = "is not a motion of legged robots", f"Choose from {', '.join(MOTIONS)}"
            raise UsageError(Finding("option-unknown-choice", f"motion={self.motion}", what, fix))

    def controller(self, legs: Legs, seconds: float, seed: int, period: float) -> Controller:
        """The controller for a robot; it stands for ``SETTLE`` seconds first."""
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
        robot: As described, which is what the controller uses.
        gait: The motion, or its name.
        specimen: The true robot and its ground; default one whose trunk differs from its description.
        recording: Rate, sensors and source of the log; default exact, 500 Hz.
        seconds: Duration, after it has stood up.
        seed: Of noise and motion, and of the true parameters that are drawn.
        feet: Ball feet as the option ``feet`` takes them; default by ``find_feet``.

    Returns:
        A log of joints, torques and IMU; without noise also velocities, accelerations and the pose of the base.

    Raises:
        UsageError: An option does not suit the robot, or the robot falls.
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
        raise UsageError(_unsuitable(seconds, rate, world.timestep))
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


def _unsuitable(seconds: float, rate: float, timestep: float) -> list[Finding]:
    """Faults of a duration (s) and a rate (Hz) for physics of this timestep (s)."""
    findings, every = [], max(round(1 / (rate * timestep)), 1)
    if seconds <= 0:
        findings.append(Finding("option-value", f"seconds={seconds:g}", "must be > 0", "Give a duration in s"))
    if abs(every * rate * timestep - 1) > 1e-9:
        what, nearest = f"does not divide the rate of the physics, {1 / timestep:g} Hz", 1 / (every * timestep)
        findings.append(Finding("option-value", f"rate={rate:g}", what, f"Give {nearest:g}", {"rate": nearest}))
    return findings


def true_robot(robot: Robot, perturb: str, rng: np.random.Generator) -> dict[str, Array]:
    """Parameters of every body: as described, with another base, or all different."""
    if perturb not in ("none", "base", "all"):
        raise UsageError(
            Finding("option-unknown-choice", f"perturb={perturb}", "is not a choice", "Choose base, all or none")
        )
    truth, other = {b.name: b.parameters for b in robot.bodies}, perturbed(robot, rng)
    moved = {"none": [], "base": [robot.bodies[0].name], "all": list(truth)}[perturb]
    return {name: other[name] if name in moved else p for name, p in truth.items()}


def leg_friction(robot: Robot, level: str, rng: np.random.Generator) -> Friction | None:
    """Friction and rotor inertia in proportion to a joint's torque while the robot stands; None for level none."""
    if level not in FRICTION:
        fix = f"Choose from {', '.join(FRICTION)}"
        raise UsageError(Finding("option-unknown-choice", f"friction={level}", "is not a level", fix))
    J, mass = len(robot.joints), sum(float(b.parameters[0]) for b in robot.bodies)
    u = rng.uniform(0.5, 1.5, (3, J))
    if level == "none":
        return None
    carries = FRICTION[level] * mass * 9.81 * robot.bodies[0].size / 8  # N·m
    return Friction(0.01 * carries * u[0], 0.04 * carries * u[1], 0.001 * carries * u[2], np.zeros(J))
