"""A ``pinocchio.Model`` as a description: for those who already have one in memory.

Pinocchio keeps the inertia of everything that fixed joints weld together at the joint that moves it. So each joint
gives one link with that inertia, named after the body frame at the joint's origin; the other body frames are links
without mass of their own, welded to it. A free-flyer at the root is the floating base, not a joint of the description.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import DescriptionError, Finding
from steelyard.robot.description import Description, Joint, Link

_NEAR = 1e-9  # m and rad: a body frame this close to its joint's origin is the joint's own
_UNLIMITED = 1e300  # Pinocchio's limits of joints without any are the largest floats


def is_pinocchio_model(source: object) -> bool:
    """Whether this is a ``pinocchio.Model``, without importing Pinocchio."""
    return type(source).__name__ == "Model" and type(source).__module__.startswith("pinocchio")


def from_pinocchio(model: Any) -> Description:
    """Describe a ``pinocchio.Model``: same links, joints, frames and inertias; no shapes, which it does not have.

    Raises:
        DescriptionError: For joints of more than one degree of freedom (other than a free-flyer at the root).
    """
    import pinocchio as pin

    floating = model.njoints > 1 and model.joints[1].shortname() == "JointModelFreeFlyer"
    root = int(floating)  # the joint whose inertia is the root link's
    bodies = [f for f in model.frames if f.type == pin.FrameType.BODY]
    names = {k: _link_name(model, bodies, k) for k in range(root, model.njoints)}
    names[0] = names[root]
    links, joints, findings = dict[str, Link](), dict[str, Joint](), list[Finding]()
    for index in range(root, model.njoints):
        links[names[index]] = _link(names[index], model.inertias[index])
        if index > root:
            try:
                joint = _joint(model, index, names)
                joints[joint.name] = joint
            except ValueError as error:
                fix = "Describe the robot with revolute and prismatic joints"
                findings.append(Finding("joint-kind-unsupported", f"joint {model.names[index]!r}", str(error), fix))
    if findings:
        raise DescriptionError(findings)
    frames = dict[str, tuple[str, np.ndarray]]()
    for frame in model.frames:
        holder, placement = names[frame.parentJoint], frame.placement.homogeneous
        if frame.type == pin.FrameType.BODY and frame.name not in links:
            links[frame.name] = _link(frame.name, pin.Inertia.Zero(), given=False)
            welded = f"{frame.name}_weld"
            joints[welded] = Joint(welded, "fixed", holder, frame.name, placement, np.array([1.0, 0.0, 0.0]))
        elif frame.type not in (pin.FrameType.BODY, pin.FrameType.JOINT) and frame.name not in frames:
            frames[frame.name] = holder, placement
    name = model.name or "robot"
    text = model.saveToString()
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Description(name, "pinocchio", Path(f"{name}.pinocchio"), text, links, joints, names[0], (), frames, digest)


def _link_name(model: Any, bodies: list[Any], index: int) -> str:
    own = [f.name for f in bodies if f.parentJoint == index and _is_origin(f.placement)]
    return own[0] if own else "world" if index == 0 else f"{model.names[index]}_link"


def _is_origin(placement: Any) -> bool:
    return bool(np.abs(placement.homogeneous - np.eye(4)).max() < _NEAR)


def _link(name: str, inertia: Any, given: bool = True) -> Link:
    return Link(name, float(inertia.mass), inertia.lever.copy(), inertia.inertia.copy(), given, False, 0)


def _joint(model: Any, index: int, names: dict[int, str]) -> Joint:
    """One joint; ValueError for a kind that has no place in a description."""
    joint = model.joints[index]
    name = joint.shortname().removeprefix("JointModel")
    if joint.nv != 1 or "Mimic" in name:
        raise ValueError(f"is of kind {name}, which does not move along or about one axis")
    data = joint.createData()
    joint.calc(data, np.zeros(1) if joint.nq == 1 else np.array([1.0, 0.0]))
    along, about = np.asarray(data.S, float).reshape(2, 3)  # motion subspace, in the joint's frame
    if along.any() and about.any():
        raise ValueError(f"is of kind {name}, which moves along and about its axis")
    kind = "prismatic" if along.any() else "revolute" if joint.nq == 1 else "continuous"
    at, speed = joint.idx_q, joint.idx_v
    placement = model.jointPlacements[index].homogeneous
    parent = names[model.parents[index]]
    limited = kind != "continuous"
    return Joint(
        model.names[index],
        kind,
        parent,
        names[index],
        placement,
        along + about,
        lower=_limit(model.lowerPositionLimit[at]) if limited else -np.inf,
        upper=_limit(model.upperPositionLimit[at]) if limited else np.inf,
        velocity=_limit(model.velocityLimit[speed]),
        effort=_limit(model.effortLimit[speed]),
    )


def _limit(value: float) -> float:
    return float(value) if abs(value) < _UNLIMITED else float(np.copysign(np.inf, value))
