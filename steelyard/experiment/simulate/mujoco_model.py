"""The moving bodies and joints of a described robot in a MuJoCo model: one body each, in the same frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.robot.model import Robot
from steelyard.spatial import Array


def engine() -> Any:
    """The module ``mujoco``.

    Raises:
        UsageError: It is not installed.
    """
    try:
        import mujoco
    except ImportError:
        raise UsageError(
            Finding(
                "package-missing",
                "mujoco",
                "is not installed; legged robots are simulated with it",
                'pip install "steelyard[sim]"',
                {"install": "steelyard[sim]"},
            )
        ) from None
    return mujoco


def add_bodies(spec: Any, robot: Robot, parameters: Mapping[str, Array], *, limited: bool) -> dict[int, Any]:
    """Add bodies with these parameters (10,) and joints to a MuJoCo model; joint of the Pinocchio model → body."""
    kinds = engine().mjtJoint
    names = {body.joint: body.name for body in robot.bodies}
    bodies: dict[int, Any] = {0: spec.worldbody}
    for i in range(1, robot.model.njoints):
        at, name = robot.model.jointPlacements[i].homogeneous, str(robot.model.names[i])
        mass, com, tensor = inertia.unpack(parameters[names[i]])
        body = bodies[int(robot.model.parents[i])].add_body(name=names[i], pos=at[:3, 3])
        body.quat = wxyz(at[:3, :3])
        body.mass, body.ipos, body.explicitinertial = mass, com, True
        body.fullinertia = tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        bodies[i] = body
        if i == 1 and robot.floating:
            body.add_freejoint(name=name)
            continue
        described = robot.description.joints[name]
        joint = body.add_joint(name=name, axis=described.axis, pos=[0, 0, 0])
        joint.type = kinds.mjJNT_SLIDE if described.kind == "prismatic" else kinds.mjJNT_HINGE
        bounds = [described.lower, described.upper]
        joint.limited = bool(limited and np.isfinite(bounds).all() and described.kind != "continuous")
        joint.range = bounds if joint.limited else [0, 0]
    return bodies


def wxyz(R: Array) -> Array:
    """Quaternion w x y z of a rotation (3, 3), MuJoCo's order."""
    quaternion = np.zeros(4)
    engine().mju_mat2Quat(quaternion, R.flatten())
    return quaternion
