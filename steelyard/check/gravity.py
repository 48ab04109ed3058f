"""Direction of gravity of a fixed robot, inferred from its static torques.

A base may be mounted on a ceiling or a wall, or its axes may differ from the description's. Torques are linear in
gravity, ``τ = M(q)a + … + G(q) g``: for every direction of g, each joint's torque without inertia and friction is
regressed on ``G(q) g``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.check.friction import friction_sign
from steelyard.check.torque_balance import TorqueBalance, partial, residual
from steelyard.equations.dynamics import Dynamics
from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.spatial import Array

TILTED = 30.0  # degrees: least angle between gravity and the described one that is reported …
BETTER = 0.5  # … where its residual is below this share of the described one's
AXIS = 0.8  # an axis is preferred where the best direction's residual is above this share of the axis's
LEAST_JOINTS = 3  # with fewer another centre of mass gives the torques of another direction
MOVED = 0.2  # least share of a torque that inertia must explain to infer its sign


def gravity_findings(balance: TorqueBalance, log: Log) -> list[Finding]:
    """A direction of gravity that explains the torques of a fixed robot where the described one does not."""
    robot, size = balance.robot, float(np.linalg.norm(balance.robot.gravity))
    if size == 0 or len(robot.joints) < LEAST_JOINTS or any(p.segment.current for p in balance.pieces):
        return []
    static = _gravity_torques(balance)
    inertial = balance.predicted - static @ robot.gravity
    directions = np.vstack([robot.gravity / size, *_directions()])
    costs, signs = np.zeros(len(directions)), []
    for j, joint in enumerate(robot.joints):
        y = balance.measured[:, j, j]
        v, dry, one = (balance.term(joint, t)[:, j] for t in ("viscous", "coulomb", "offset"))
        slope, explained = partial(inertial[:, j], y, np.column_stack([v, dry, one, static[:, j]]))
        friction = friction_sign(y, v, dry, np.column_stack([one, inertial[:, j], static[:, j]]))
        signs.append(friction or (int(np.sign(slope)) if explained > MOVED else 0))
        rest = residual(np.column_stack([v, dry, one, inertial[:, j]]), np.column_stack([y, static[:, j]]))
        G, total = rest[:, 1:], float(rest[:, 0] @ rest[:, 0])
        along = directions @ (G.T @ rest[:, 0])
        length = np.einsum("ki,ij,kj->k", directions, G.T @ G, directions)
        gained = np.where(along > 0, along**2 / np.maximum(length, 1e-9 * np.trace(G.T @ G) + 1e-300), 0.0)
        costs += (total - gained) / max(total - float(gained.max()), 1e-6 * total, 1e-300)
    if min(signs) < 0 and sum(signs) <= 0:
        return []  # the torques are reversed, not gravity
    best = int(np.argmin(costs))
    axis = 1 + int(np.argmin(costs[1:7]))
    best = axis if costs[axis] < costs[best] / AXIS else best
    angle = float(np.degrees(np.arccos(np.clip(directions[best] @ directions[0], -1, 1))))
    if angle < TILTED or costs[best] > BETTER * costs[0]:
        return []
    gravity = [float(f"{x:.3g}") for x in size * directions[best] + 0.0]
    shown = " ".join(f"{x:g}" for x in gravity)
    what = (
        f"agrees with gravity ({shown}) m/s², {angle:.0f}° from the described direction: "
        "the base is mounted differently, or its axes differ"
    )
    where = f"{log.source}, {'tau' if log.names('tau') else 'current'}"
    fix = f"Give gravity={gravity}, or rotate the base in the description"
    return [Finding("gravity-direction", where, what, fix, {"gravity": gravity})]


def _gravity_torques(balance: TorqueBalance) -> Array:
    """(T, J, 3) torques G(q) that hold the described robot still, for unit gravity along x, y and z."""
    robot, J = balance.robot, len(balance.robot.joints)
    pieces = []
    for p in balance.pieces:
        s = p.segment.part(slice(int(p.centres[0]), int(p.centres[-1]) + 1, p.step))
        still = replace(s, v=np.zeros_like(s.v), a=np.zeros_like(s.a))
        along = []
        for axis in np.eye(3):
            model = robot.model.copy()
            model.gravity.linear = axis
            held = Dynamics(replace(robot, model=model), still).regressor(balance.columns.bodies)
            along.append(held[:, :J] @ robot.prior)
        pieces.append(np.stack(along, axis=2))
    return np.concatenate(pieces)


def _directions(count: int = 400) -> tuple[Array, Array]:
    """The six axes, and points spread evenly over the sphere (a Fibonacci spiral)."""
    z = 1 - (2 * np.arange(count) + 1) / count
    turn = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    r = np.sqrt(1 - z * z)
    return np.vstack([np.eye(3), -np.eye(3)]), np.column_stack([r * np.cos(turn), r * np.sin(turn), z])
