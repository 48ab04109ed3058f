"""``scene.json``: shapes and poses of the bodies of a robot, kept with an estimate to draw it.

Plain data, so that results can be drawn without the description or its meshes. Shapes are in the frame of their body,
in the format of ``estimate.json``; ``pose`` (4, 4) is the pose of that frame: x_world = pose · x.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.compose.described import described_shapes, to_primitive
from steelyard.errors import Finding, SteelyardError
from steelyard.identify.division.history import simple
from steelyard.robot import geometry
from steelyard.robot.model import Robot
from steelyard.spatial import Array

SCHEMA = 1
FILE = "scene.json"


def make_scene(robot: Robot, posture: Array | None = None) -> dict[str, Any]:
    """Scene of the robot with its joints at ``posture`` (J,), else neutral; a floating base is upright at the origin.

    Meshes become convex hulls with few corners, bodies without geometry boxes. Links that never move are ``fixed``.
    """
    import pinocchio as pin

    q = np.zeros(len(robot.joints)) if posture is None else posture
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, robot.positions(q[None])[0])
    bodies = {}
    for body in robot.bodies:
        pose = data.oMi[body.joint].homogeneous
        if body.carrier is not None:
            bodies[body.name] = _entry(pose @ body.carrier.placement, [])
        else:
            bodies[body.name] = _entry(pose, [simple(part) for part in described_shapes(body)])
    fixed = [f for f in robot.frames.values() if f.joint == 0 and f.name in robot.description.links]
    links = robot.description.links
    shapes = [shape for f in fixed for shape in geometry.link_shapes(links[f.name], f.placement)]
    return {
        "schema": SCHEMA,
        "robot": robot.name,
        "posture": dict(zip(robot.joints, q.tolist(), strict=True)),
        "bodies": bodies,
        "fixed": [simple(to_primitive(shape)) for shape in shapes],
    }


def scene_text(scene: dict[str, Any]) -> str:
    """Text of ``scene.json``."""
    return json.dumps(scene, allow_nan=False, ensure_ascii=False) + "\n"


def read_scene(folder: Path) -> dict[str, Any] | None:
    """Content of a folder's ``scene.json``; None where there is none."""
    file = folder / FILE
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        what, fix = f"cannot be read ({error})", "Delete it, or identify again"
        raise SteelyardError(Finding("file-unreadable", str(file), what, fix)) from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        what, fix = f"does not have schema {SCHEMA}", "Delete it, or identify again"
        raise SteelyardError(Finding("schema-unsupported", str(file), what, fix))
    return content


def _entry(pose: Array, shapes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"pose": np.round(pose, 6).tolist(), "shapes": shapes}
