"""A robot as flat arrays for compiled kernels (``kernels/tree.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.kernels.tree import NODE_REALS, PER_NODE, PRISMATIC, REVOLUTE, WELD, FlatTree
from steelyard.spatial import Array, skew

if TYPE_CHECKING:
    from steelyard.robot.model import Robot


def flat_tree(robot: Robot) -> FlatTree | None:
    """Convert a robot's tree; None if no kernel supports one of its joints."""
    model, cuts = robot.model, {s.joint for s in robot.sensors}
    order = _depth_first([int(p) for p in model.parents])  # of the model's joints
    node = {joint: k for k, joint in enumerate(order)}
    N, lead = model.njoints - 1, 6 if robot.floating else 0
    nodes, reals = np.zeros((N, PER_NODE), np.int64), np.zeros((N, NODE_REALS))
    rows: list[tuple[str, int, Array]] = []  # name, joint, motion in the joint's frame
    for joint in range(1, N + 1):  # rows in the order of the model's velocities
        still = joint in cuts or (robot.floating and joint == 1)
        kind, axis = (WELD, np.zeros(3)) if still else _joint(model.joints[joint])
        if kind is None:
            return None
        R, p = model.jointPlacements[joint].rotation, model.jointPlacements[joint].translation
        parts = [R, R @ skew(axis), R @ skew(axis) @ skew(axis), R @ axis, p]
        reals[node[joint] - 1] = np.concatenate([x.ravel() for x in parts])
        nodes[node[joint] - 1] = node[int(model.parents[joint])], kind, len(rows), len(rows), not still
        if not still:
            motion = np.concatenate([axis, np.zeros(3)] if kind == PRISMATIC else [np.zeros(3), axis])
            rows.append((str(model.names[joint]), joint, motion))
    moving = len(rows)
    for joint in sorted(cuts):  # one weld may contain several sensors
        inside = [sensor for sensor in robot.sensors if sensor.joint == joint]
        mine = [(name, joint, g) for x in inside for name, g in zip(x.rows, x.motion.T, strict=True)]
        nodes[node[joint] - 1, 3:] = len(rows), len(mine)
        rows += mine
    readings = [len(robot.joints) + robot.readings.index(name) for name, *_ in rows[moving:]]
    S = np.eye(model.nv) if robot.coupling is None else robot.coupling
    S = S[[model.joints[joint].idx_v for _, joint, _ in rows[:moving]], lead : lead + len(robot.joints)]
    if np.any(np.count_nonzero(S, axis=1) != 1):  # a mimic with multiplier zero
        return None
    counts = np.array([len(model.subtrees[joint]) for _, joint, _ in rows], int)
    table = np.array([[node[joint] for _, joint, _ in rows], counts, np.cumsum(counts) - counts], np.int64).T
    return FlatTree(
        np.concatenate([np.array([N, moving, len(rows), robot.floating], np.int64), nodes.ravel(), table.ravel()]),
        np.concatenate([reals.ravel(), *[motion for *_, motion in rows]]),
        tuple(name for name, *_ in rows),
        {body.name: node[body.joint] for body in robot.bodies},
        node,
        np.array(model.gravity.linear),
        -robot.gravity / max(float(np.linalg.norm(robot.gravity)), 1e-12),
        np.concatenate([np.nonzero(S)[1], readings]).astype(int),
        np.concatenate([S.sum(axis=1), np.ones(len(rows) - moving)]),
        np.asarray(robot.mimic_offset, float),
    )


def _depth_first(parents: list[int]) -> list[int]:
    """Joints in depth-first order."""
    children: dict[int, list[int]] = {}
    for joint in range(1, len(parents)):
        children.setdefault(parents[joint], []).append(joint)
    order, stack = list[int](), [0]
    while stack:
        order.append(stack.pop())
        stack += reversed(children.get(order[-1], []))
    return order


def _joint(joint: Any) -> tuple[int | None, Array]:
    """Kind and axis of a joint of one degree of freedom; None for any other."""
    for kind, prefix in ((REVOLUTE, "JointModelR"), (PRISMATIC, "JointModelP")):
        if joint.shortname() in {prefix + x for x in ("X", "Y", "Z", "evoluteUnaligned", "rismaticUnaligned")}:
            data = joint.createData()
            joint.calc(data, np.zeros(joint.idx_q + joint.nq))  # calc indexes the configuration of the whole model
            return kind, np.array(data.S[3:] if kind == REVOLUTE else data.S[:3], float)
    return None, np.zeros(3)
