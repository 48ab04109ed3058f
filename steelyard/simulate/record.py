"""A controlled robot, written down: a row an instant, and the truth that goes with it.

Row k holds motion, torques and forces of one instant, so the equation of motion holds in every row of an exact log.
Motors ramp from one command to the next over a control period, as real ones do: torque is continuous in time, and
what is sampled is what acted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.log import WRENCH, XYZ
from steelyard.simulate.loads import Load
from steelyard.simulate.state import State, cross
from steelyard.simulate.world import World

Array = np.ndarray

SETTLE = 2.0  # s of standing that no log has: an unknown load is lifted first


class Controller(Protocol):
    """From the state of an instant to motor torques for the next control period."""

    def torque(self, state: State) -> Array:
        """(J,) N·m or N."""


def record(
    world: World,
    controller: Controller,
    posture: Array,
    seconds: float,
    every: int,
    look: Callable[[State], dict[str, float]],
) -> tuple[dict[str, Array], int]:
    """Columns of ``seconds`` after settling, a row each ``every`` timesteps; and how often a joint was at its limit."""
    world.reset(posture)
    period = every * world.timestep
    settle, count = round(SETTLE / period), round(seconds / period)
    rows: list[dict[str, float]] = []
    tau = controller.torque(world.state)
    world.apply(tau)
    limits = 0
    for k in range(settle + count):
        state = world.state
        if world.fallen:
            raise UsageError(
                Finding(f"{world.robot.name} at {k * period - SETTLE:.2f} s", "fell",
                        "Ask for less: speed, sway, load, friction or a rough ground")
            )  # fmt: skip
        if k >= settle:
            limits += world.at_limits
            rows.append(look(state))
        wanted = controller.torque(state)
        for i in range(every):
            world.step(tau + (wanted - tau) * i / every)
        world.apply(wanted)
        tau = wanted
    table = {name: np.array([r[name] for r in rows]) for name in rows[0]}
    return {"time": np.arange(count) * period, **table}, limits


def row(world: World, state: State, mount: Array, wrenches: bool) -> dict[str, float]:
    """What is known of an instant, by column; ``mount``: (4, 4) of the IMU in the base."""
    R, lever, axes = state.rotation, mount[:3, 3], mount[:3, :3]
    w, turn = state.angular_velocity, state.angular_acceleration
    proper = state.acceleration - R.T @ world.robot.gravity
    vectors = {
        "base.position": state.position, "base.velocity": state.velocity, "base.angular_velocity": w,
        "base.acceleration": state.acceleration, "base.angular_acceleration": turn, "imu.gyro": axes.T @ w,
        "imu.acc": axes.T @ (proper + np.cross(turn, lever) + np.cross(w, np.cross(w, lever))),
    }  # fmt: skip
    out: dict[str, float] = {}
    for kind, values in (("q", state.q), ("v", state.v), ("a", state.a), ("tau", state.tau)):
        out |= {f"{kind}.{j}": float(x) for j, x in zip(world.robot.joints, values, strict=True)}
    for name, vector in vectors.items():
        out |= {f"{name}.{c}": float(x) for c, x in zip(XYZ, vector, strict=True)}
    out |= {f"base.quaternion.{c}": float(x) for c, x in zip("xyzw", state.quaternion, strict=True)}
    return out | ground_wrenches(world, state) if wrenches else out


def ground_wrenches(world: World, state: State) -> dict[str, float]:
    """What the ground does to each foot, at its frame and in its axes, and whether it touches."""
    import pinocchio as pin

    out: dict[str, float] = {}
    pin.forwardKinematics(world.robot.model, world.kinematics, state.configuration)
    for frame, touch in zip(world.stands, world.touches, strict=True):
        at = world.kinematics.oMi[frame.joint] * pin.SE3(frame.placement)
        moment = touch.moment + cross(touch.point - at.translation, touch.force)
        wrench = np.concatenate([at.rotation.T @ touch.force, at.rotation.T @ moment])
        out |= {f"wrench.{frame.name}.{c}": float(x) for c, x in zip(WRENCH, wrench, strict=True)}
        out[f"contact.{frame.name}"] = float(touch.force[2] > 0)
    return out


def truth_of(world: World, loads: Sequence[Load]) -> dict[str, Any]:
    """What the log's reader may compare with: bodies with what they carry, joints, and the loads alone."""
    carried = []
    for load in loads:
        mass, com, tensor = inertia.unpack(load.parameters)
        six = tensor[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
        carried.append({"link": load.link, "mass": mass, "com": com.tolist(), "inertia": six.tolist(),
                        "parameters": load.parameters.tolist()})  # fmt: skip
    friction = world.friction
    return {
        "parameters": {name: p.tolist() for name, p in world.truth.items()},
        "joints": {}
        if friction is None
        else {
            joint: {term: float(values[k]) for term, values in vars(friction).items()}
            for k, joint in enumerate(world.robot.joints)
        },
        "loads": carried,
    }
