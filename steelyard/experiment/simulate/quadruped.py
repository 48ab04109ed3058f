"""A legged robot that stands, sways or trots in MuJoCo, and the log it writes, with the truth in its metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.arm import Friction
from steelyard.experiment.simulate.feet import find_feet
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.legs import Legs
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.record import SETTLE, Controller, record, truth_of
from steelyard.experiment.simulate.reference import Motion, each_axis, multisine, still
from steelyard.experiment.simulate.sensors import Sensors, measured
from steelyard.experiment.simulate.stand import Stand
from steelyard.experiment.simulate.trot import Trot, TrotCommand
from steelyard.experiment.simulate.truth import perturbed
from steelyard.experiment.simulate.world import World, engine
from steelyard.log.log import Log
from steelyard.robot.model import Robot

Array = np.ndarray

MOTIONS = ("stand", "sines", "multisine", "trot")
FRICTION = {"none": 0.0, "low": 0.3, "mid": 1.0, "high": 2.0}
Perturb = Literal["none", "base", "all"]


@dataclass(frozen=True)
class Gait:
    """How a motion is carried out."""

    motion: str = "trot"
    command: TrotCommand = field(default_factory=TrotCommand)
    sway: float = 0.8  # of the trunk, of what legs and friction allow: multisine and trot

    def __post_init__(self) -> None:
        if self.motion not in MOTIONS:
            what = f"motion {self.motion!r}"
            raise UsageError(Finding(what, "is not known for a legged robot", f"Motions: {', '.join(MOTIONS)}"))

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
    *,
    seconds: float = 10.0,
    seed: int = 0,
    noise: Sensors | str = "none",
    perturb: Perturb = "base",
    truth: Mapping[str, Array] | None = None,
    truth_seed: int | None = None,
    loads: Sequence[Load] = (),
    friction: Friction | str = "none",
    ground: Ground | None = None,
    feet: Sequence[str] = (),
    imu_frame: str | None = None,
    rate: float = 500.0,
    wrenches: bool = False,
    source: str = "simulated robot",
) -> Log:
    """A log of joints, torques and IMU; without noise also of velocities, accelerations and the base's pose.

    ``truth``: parameters of bodies; else drawn as ``perturb`` says, from ``truth_seed`` (default: ``seed``).
    ``wrenches``: what the ground does to the feet is in an exact log, too; equations then use it, feet named or not.
    """
    gait = Gait(gait) if isinstance(gait, str) else gait
    draw = np.random.default_rng([seed if truth_seed is None else truth_seed, 0])
    given = true_robot(robot, perturb, draw) if truth is None else truth
    feet = tuple(feet) or find_feet(robot)
    known = leg_friction(robot, friction, draw) if isinstance(friction, str) else friction
    world = World(robot, given, feet=feet, loads=loads, ground=ground, friction=known)
    every = round(1 / (rate * world.timestep))
    if seconds <= 0 or every < 1 or abs(every * rate * world.timestep - 1) > 1e-9:
        what = f"is {seconds:g} s at {rate:g} samples a second"
        whole = f"{1 / world.timestep:g}"
        raise UsageError(Finding("simulation", what, f"Give some seconds, and a rate that divides {whole} Hz"))
    legs = Legs(robot, world.feet)
    frame = imu_frame or next((link for link in robot.bodies[0].links if "imu" in link.lower()), None)
    mount = np.eye(4) if frame is None else robot.on_base(robot.frame(frame))
    if mount is None:
        raise UsageError(Finding(f"imu frame {frame!r}", "is not on the base body", "Name a frame of the trunk"))
    controller = gait.controller(legs, seconds, seed, every * world.timestep)
    rows, limits = record(world, controller, legs.home, seconds, every, mount, wrenches)
    metadata: dict[str, Any] = {
        "truth": truth_of(world, loads),
        "simulation": {
            "motion": gait.motion,
            "seed": seed,
            "truth_seed": truth_seed,
            "rate": rate,
            "perturb": perturb if truth is None else "given",
            "timestep": world.timestep,
            "feet": list(feet),
            "ground": asdict(world.ground),
            "noise": "none",
            "command": asdict(gait.command),
            "sway": gait.sway,
            "engine": f"mujoco {engine().__version__}",
            "at_joint_limits": limits,
        },
    }
    if frame is not None:
        metadata["imu_frame"] = frame
    log = Log.from_columns(rows, metadata, source)
    return log if noise in ("none", Sensors()) else measured(log, noise, seed)


def true_robot(robot: Robot, perturb: str, rng: np.random.Generator) -> dict[str, Array]:
    """Parameters of every body: as described, with another base, or all of them other."""
    if perturb not in ("none", "base", "all"):
        raise UsageError(Finding(f"perturb {perturb!r}", "is not known", "Choose base, all or none"))
    truth, other = {b.name: b.parameters for b in robot.bodies}, perturbed(robot, rng)
    moved = {"none": [], "base": [robot.bodies[0].name], "all": list(truth)}[perturb]
    return {name: other[name] if name in moved else p for name, p in truth.items()}


def leg_friction(robot: Robot, level: str, rng: np.random.Generator) -> Friction | None:
    """Friction and rotor inertia in proportion to what a joint carries while the robot stands; None for none."""
    if level not in FRICTION:
        raise UsageError(Finding(f"friction {level!r}", "is not known", f"Levels: {', '.join(FRICTION)}"))
    J, mass = len(robot.joints), sum(float(b.parameters[0]) for b in robot.bodies)
    u = rng.uniform(0.5, 1.5, (3, J))
    if level == "none":
        return None
    carries = FRICTION[level] * mass * 9.81 * robot.bodies[0].size / 8  # N·m
    return Friction(0.01 * carries * u[0], 0.04 * carries * u[1], 0.001 * carries * u[2], np.zeros(J))
