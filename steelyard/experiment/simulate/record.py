"""Recording of a controlled robot: a row per instant, and its true parameters.

Row k holds motion, torques and forces of one instant, so the equation of motion holds in every row of an exact log.
Motors ramp from one command to the next over a control period, as real ones do: torque is continuous in time, and the
sampled torque is the one that acted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.mujoco_model import engine
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.experiment.simulate.sensors import Sensors, measure
from steelyard.experiment.simulate.world import World
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH, XYZ, Array

SETTLE = 2.0  # s of standing before the log, in which controllers adapt to an unknown load


@dataclass(frozen=True)
class Recording:
    """Rate, sensors and columns of the log of a simulated robot."""

    rate: float | None = None  # Hz; None: 500, of humanoids 200
    noise: Sensors | str = "none"
    imu_frame: str | None = None  # None: a link of the base called imu, else the base's frame
    wrenches: bool = False  # record those of the ground on ball feet, in an exact log
    source: str | None = None  # name of the log

    def mount(self, robot: Robot, part: str) -> tuple[str | None, Array]:
        """The IMU's frame, None for the base's, and its placement (4, 4) on the base, which is called ``part``."""
        frame = self.imu_frame or next((link for link in robot.bodies[0].links if "imu" in link.lower()), None)
        mount = np.eye(4) if frame is None else robot.on_base(robot.frame(frame))
        if mount is None:
            raise UsageError(
                Finding(
                    "frame-not-on-base",
                    f"IMU frame {frame}",
                    "is not on the base body",
                    f"Name a frame of the {part}",
                    {"imu_frame": None},
                )
            )
        return frame, mount

    def log(
        self,
        columns: Mapping[str, Array],
        truth: dict[str, Any],
        simulation: dict[str, Any],
        frame: str | None,
        source: str,
    ) -> Log:
        """The log as measured, with noise drawn from the seed of the simulation, and the truth in its metadata."""
        simulation = {**simulation, "noise": "none", "engine": f"mujoco {engine().__version__}"}
        metadata: dict[str, Any] = {"truth": truth, "simulation": simulation}
        if frame is not None:
            metadata["imu_frame"] = frame
        exact = Log.from_columns(columns, metadata, self.source or source)
        return exact if self.noise in ("none", Sensors()) else measure(exact, self.noise, simulation["seed"])


class Controller(Protocol):
    """Maps the state of an instant to motor torques for the next control period."""

    def torque(self, state: RobotState) -> Array:
        """(J,) motor torques, N·m or N."""


def record(
    world: World, controller: Controller, posture: Array, seconds: float, every: int, mount: Array, wrenches: bool
) -> tuple[dict[str, Array], int]:
    """Columns of ``seconds`` after settling, a row each ``every`` timesteps; and how often a joint was at its limit.

    ``mount``: (4, 4) of the IMU in the base. ``wrenches``: include those of the ground on the feet.
    """
    world.reset(posture)
    period = every * world.timestep
    settle, count = round(SETTLE / period), round(seconds / period)
    states, ground = list[RobotState](), list[Array]()
    tau = controller.torque(world.state)
    world.apply(tau)
    limits = 0
    for k in range(settle + count):
        state = world.state
        if world.fallen:
            raise UsageError(
                Finding(
                    "robot-fell",
                    f"{world.robot.name} at {k * period - SETTLE:.2f} s",
                    "fell",
                    "Reduce speed, sway, load, friction or roughness of the ground",
                )
            )
        if k >= settle:
            limits += world.at_limits
            states.append(state)
            ground += [world.wrenches] if wrenches else []
        wanted = controller.torque(state)
        for i in range(every):
            world.step(tau + (wanted - tau) * i / every)
        world.apply(wanted)
        tau = wanted
    return {"time": np.arange(count) * period, **columns_of(world, states, ground, mount)}, limits


def columns_of(world: World, states: Sequence[RobotState], wrenches: Sequence[Array], mount: Array) -> dict[str, Array]:
    """Columns of a log from states, and from foot wrenches (F, 6) of ``World.wrenches`` if there are any."""
    kinds = ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
    position, velocity, w, acceleration, turn = (np.array([getattr(s, k) for s in states]) for k in kinds)
    lever, axes = mount[:3, 3], mount[:3, :3]
    proper = acceleration - world.robot.gravity @ np.array([s.rotation for s in states])
    vectors = {
        "base.position": position,
        "base.velocity": velocity,
        "base.angular_velocity": w,
        "base.acceleration": acceleration,
        "base.angular_acceleration": turn,
        "imu.gyro": w @ axes,
        "imu.acc": (proper + np.cross(turn, lever) + np.cross(w, np.cross(w, lever))) @ axes,
    }
    out: dict[str, Array] = {}
    for kind in ("q", "v", "a", "tau"):
        values = np.array([getattr(s, kind) for s in states])
        out |= {f"{kind}.{j}": x for j, x in zip(world.robot.joints, values.T, strict=True)}
    for name, vector in vectors.items():
        out |= {f"{name}.{c}": x for c, x in zip(XYZ, vector.T, strict=True)}
    out |= {f"base.quaternion.{c}": x for c, x in zip("xyzw", np.array([s.quaternion for s in states]).T, strict=True)}
    for frame, six in zip(world.stands, np.array(wrenches).transpose(1, 2, 0), strict=True) if len(wrenches) else ():
        out |= {f"wrench.{frame.name}.{c}": x for c, x in zip(WRENCH, six, strict=True)}
        out[f"contact.{frame.name}"] = np.any(six != 0, axis=0).astype(float)
    return out


def truth_of(world: World, loads: Sequence[Load]) -> dict[str, Any]:
    """The truth for the metadata of a log: bodies with their payloads, joints, and the loads alone."""
    payloads = []
    for load in loads:
        mass, com, tensor = inertia.unpack(load.parameters)
        payloads.append(
            {
                "link": load.link,
                "mass": mass,
                "com": com.tolist(),
                "inertia": inertia.six(tensor).tolist(),
                "parameters": load.parameters.tolist(),
            }
        )
    return {
        "parameters": {name: p.tolist() for name, p in world.truth.items()},
        "joints": {} if world.friction is None else world.friction.by_joint(world.robot),
        "loads": payloads,
    }
