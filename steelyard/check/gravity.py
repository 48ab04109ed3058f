"""Which way gravity points for a fixed robot, told by where in its positions the torques of gravity lie.

A base may hang from a ceiling or a wall, or its axes may be others than the description's. Torques are linear in
gravity, ``τ = M(q)a + … + G(q) g``: for every direction of g it is seen how much of what inertia and friction leave
each joint's ``G(q) g``, times a gain of its own, explains.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.check.friction import rubbing
from steelyard.check.torque_balance import TorqueBalance, left, partial
from steelyard.equations.dynamics import Dynamics
from steelyard.errors import Finding
from steelyard.log.log import Log
from steelyard.spatial import Array

TILTED = 30.0  # degrees: gravity that far from the described one …
BETTER = 0.5  # … is told where it leaves less than this share unexplained,
AXIS = 0.8  # and taken to be along an axis where the best direction leaves no less than this share of that
MOVED = 0.2  # share of a torque that inertia must explain to tell its sign


def gravity_findings(balance: TorqueBalance, log: Log) -> list[Finding]:
    """Gravity that explains the torques of a fixed robot where the described one does not."""
    robot, size = balance.robot, float(np.linalg.norm(balance.robot.gravity))
    if size == 0 or any(p.segment.current for p in balance.pieces):
        return []
    pull = _pull(balance)
    inertial = balance.predicted - pull @ robot.gravity
    ways = np.vstack([robot.gravity / size, *_directions()])
    costs, signs = np.zeros(len(ways)), []
    for j, joint in enumerate(robot.joints):
        y = balance.measured[:, j, j]
        v, dry, one = (balance.term(joint, t)[:, j] for t in ("viscous", "coulomb", "offset"))
        slope, explained = partial(inertial[:, j], y, np.column_stack([v, dry, one, pull[:, j]]))
        rubs = rubbing(y, v, dry, np.column_stack([one, inertial[:, j], pull[:, j]]))
        signs.append(rubs or (int(np.sign(slope)) if explained > MOVED else 0))
        rest = left(np.column_stack([v, dry, one, inertial[:, j]]), np.column_stack([y, pull[:, j]]))
        G, total = rest[:, 1:], float(rest[:, 0] @ rest[:, 0])
        along = ways @ (G.T @ rest[:, 0])
        length = np.einsum("ki,ij,kj->k", ways, G.T @ G, ways)
        gained = np.where(along > 0, along**2 / np.maximum(length, 1e-9 * np.trace(G.T @ G) + 1e-300), 0.0)
        costs += (total - gained) / max(total - float(gained.max()), 1e-6 * total, 1e-300)
    if min(signs) < 0 and sum(signs) <= 0:
        return []  # not gravity is reversed, but torques
    best = int(np.argmin(costs))
    axis = 1 + int(np.argmin(costs[1:7]))
    best = axis if costs[axis] < costs[best] / AXIS else best
    angle = float(np.degrees(np.arccos(np.clip(ways[best] @ ways[0], -1, 1))))
    if angle < TILTED or costs[best] > BETTER * costs[0]:
        return []
    shown = " ".join(f"{x:.3g}" for x in size * ways[best] + 0.0)
    what = (
        f"fits gravity of {shown} m/s², {angle:.0f}° away from the described: "
        "the base is mounted otherwise, or its axes are others"
    )
    where = f"{log.source}, {'tau' if log.names('tau') else 'current'}"
    return [Finding("todo", where, what, f"Say --gravity {shown}, or turn the base in the description")]


def _pull(balance: TorqueBalance) -> Array:
    """(T, J, 3) torques that hold the described robot still, for each unit of gravity along x, y and z."""
    robot, J = balance.robot, len(balance.robot.joints)
    found = []
    for p in balance.pieces:
        s = p.segment.part(slice(int(p.centres[0]), int(p.centres[-1]) + 1, p.step))
        still = replace(s, v=np.zeros_like(s.v), a=np.zeros_like(s.a))
        along = []
        for axis in np.eye(3):
            model = robot.model.copy()
            model.gravity.linear = axis
            held = Dynamics(replace(robot, model=model), still).regressor(balance.columns.bodies)
            along.append(held[:, :J] @ robot.prior)
        found.append(np.stack(along, axis=2))
    return np.concatenate(found)


def _directions(count: int = 400) -> tuple[Array, Array]:
    """The six axes, and points spread evenly over the sphere (a Fibonacci spiral)."""
    z = 1 - (2 * np.arange(count) + 1) / count
    turn = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    r = np.sqrt(1 - z * z)
    return np.vstack([np.eye(3), -np.eye(3)]), np.column_stack([r * np.cos(turn), r * np.sin(turn), z])
