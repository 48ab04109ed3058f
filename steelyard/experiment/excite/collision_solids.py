"""Convex pieces that a robot's shapes are wrapped in, and where they are in many postures at once.

A mesh is wrapped in its convex hull, which is never smaller than it; other shapes are what they are. Around every
piece goes a capsule, whose distance from another's is a few products and never more than that of the pieces. Poses of
all joints are worked out sample-wise, T_joint = T_parent · placement · motion(q); a floating base stays at the origin,
as bodies do not meet more or less often for where the robot is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import coal
import numpy as np

from steelyard.kernels.forces import Kinematics
from steelyard.kernels.tree import BASE
from steelyard.robot import geometry
from steelyard.robot.description import Shape
from steelyard.robot.model import Robot
from steelyard.spatial import Array, rotation_about

LOOSEST = 1e-9  # m, added to a capsule's radius for rounding
SHEET = 1e-4  # m to either side: how thick a flat shape is taken to be
GUESSED = 0.6  # of the box that a body's inertia has, where nothing tells its shape: hollow ones are smaller
SLIDE = 1.0  # m: how far a slide without limits is taken to go

_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


@dataclass(frozen=True, eq=False)
class ConvexPiece:
    """A convex solid that moves with a joint."""

    link: str
    joint: int  # of the Pinocchio model; 0 is the world
    solid: Any  # coal.CollisionGeometry
    placement: Array  # (4, 4) in the joint's frame
    ends: Array  # (2, 3) m, of its capsule's axis, in the joint's frame
    radius: float  # m, of the capsule
    guessed: bool = False  # from mass and inertia: nothing tells its shape


def pieces_of(robot: Robot) -> list[ConvexPiece]:
    """Of every link that has a shape, and of bodies with mass and without a shape the middle of their inertia's box."""
    found = list[ConvexPiece]()
    shaped = set[str]()
    for name, link in robot.description.links.items():
        frame = robot.frames[name]
        for shape in geometry.link_shapes(link, frame.placement):
            if (made := _solid(shape)) is not None:
                solid, placement, points, radius = made
                found.append(ConvexPiece(name, frame.joint, solid, placement, *_capsule(points, radius)))
                shaped.add(name)
    for body in robot.bodies:
        if body.carrier is None and body.parameters[0] > 0 and not shaped.intersection(body.links):
            points = (body.box[0] + body.box[1]) / 2 + GUESSED * _CORNERS * (body.box[1] - body.box[0]) / 2
            found.append(
                ConvexPiece(body.name, body.joint, _hull(points), np.eye(4), *_capsule(points, 0.0), guessed=True)
            )
    return found


def _solid(shape: Shape) -> tuple[Any, Array, Array, float] | None:
    """Coal's solid, its placement, and points (k, 3) whose hull, swept with a radius, is around it; None: no mesh."""
    T, size = shape.placement, shape.size
    match shape.kind:
        case "box":
            return coal.Box(*size), T, _moved(T, _CORNERS * np.asarray(size) / 2), 0.0
        case "sphere":
            return coal.Sphere(size[0]), T, T[None, :3, 3], size[0]
        case "ellipsoid":
            return coal.Ellipsoid(*size), T, _moved(T, _CORNERS * np.asarray(size)), 0.0
        case "cylinder" | "capsule":
            kind = coal.Cylinder if shape.kind == "cylinder" else coal.Capsule
            return kind(*size), T, _moved(T, np.array([[0, 0, -size[1] / 2], [0, 0, size[1] / 2]])), size[0]
    corners = None if shape.mesh is None else geometry.mesh_corners(shape.mesh)
    if corners is None:
        return None
    points = _moved(T, corners * np.asarray(size))
    return _hull(points), np.eye(4), points, 0.0


def _hull(points: Array) -> Any:
    if geometry.hull_vertices(points) is None:  # flat: a sheet has a thickness
        points = np.vstack([points + SHEET * e for e in np.vstack([np.eye(3), -np.eye(3)])])
    vertices = coal.StdVec_Vec3s()
    vertices.extend(list(points))
    return coal.Convex.convexHull(vertices, True, "Qt")


def _moved(T: Array, points: Array) -> Array:
    return np.asarray(points @ T[:3, :3].T + T[:3, 3])


def _capsule(points: Array, swept: float) -> tuple[Array, float]:
    """Ends (2, 3) and radius of a narrow capsule around points (k, 3), each swept with a radius."""
    axes = np.vstack([np.eye(3), np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]])
    best: tuple[float, Array, float] | None = None
    for axis in axes:
        along = points @ axis
        across = points - np.outer(along, axis)
        middle = (across.min(axis=0) + across.max(axis=0)) / 2
        middle -= axis * (middle @ axis)
        far = np.linalg.norm(across - middle, axis=1)
        r = float(far.max()) + LOOSEST
        bulge = np.sqrt(np.maximum(r**2 - far**2, 0))  # how far a point may lie beyond an end
        low, high = float(np.min(along + bulge)), float(np.max(along - bulge))
        if low > high:
            low = high = (low + high) / 2
        whole = np.pi * (r + swept) ** 2 * (high - low + 4 / 3 * (r + swept))
        if best is None or whole < best[0]:
            best = whole, middle + np.outer([low, high], axis), r + swept
    assert best is not None
    return best[1], best[2]


class PiecePoses:
    """Where joints and capsules are; the model's structure, worked out once."""

    def __init__(self, robot: Robot, pieces: Sequence[ConvexPiece]):
        model = robot.model
        self.robot, self.pieces = robot, tuple(pieces)
        self.parents = [int(p) for p in model.parents]
        self.placements = [np.asarray(M.homogeneous) for M in model.jointPlacements]
        self.moving = {
            j: robot.description.joints[str(model.names[j])] for j in range(1, model.njoints) if model.joints[j].nv == 1
        }
        self.index = {j: int(model.joints[j].idx_q) for j in self.moving}
        self.radius = np.array([p.radius for p in pieces])
        self._ends = np.array([p.ends for p in pieces]).reshape(-1, 2, 3)
        self.carriers = np.array([p.joint for p in pieces], int)  # joint of each piece

    def joints(self, q: Array) -> Array:
        """(T, joints, 4, 4) poses of all joints of the model at positions q (T, nq)."""
        T = np.zeros((len(q), len(self.parents), 4, 4))
        T[:, 0] = np.eye(4)
        if self.robot.tree is not None:
            return self._compiled(q, T)
        for j in range(1, len(self.parents)):
            at = T[:, self.parents[j]] @ self.placements[j]
            joint = self.moving.get(j)
            if joint is not None:
                x = q[:, self.index[j]]
                if joint.kind == "prismatic":
                    at[:, :3, 3] += x[:, None] * (at[:, :3, :3] @ joint.axis)
                else:
                    at[:, :3, :3] = at[:, :3, :3] @ rotation_about(np.asarray(joint.axis, float), x)
            T[:, j] = at
        return T

    def _compiled(self, q: Array, T: Array) -> Array:
        found = places_at(self.robot, q[:, [self.index[j] for j in self.moving]])
        nodes = [found.tree.joints[j] - 1 for j in range(1, len(self.parents))]
        T[:, 1:, :3, :3], T[:, 1:, :3, 3], T[:, 1:, 3, 3] = found.R[:, nodes], found.p[:, nodes], 1.0
        return T

    def capsules(self, poses: Array) -> Array:
        """(T, pieces, 2, 3) ends of their axes, from the joints' poses."""
        at = poses[:, self.carriers]
        return np.asarray(self._ends @ at[..., :3, :3].swapaxes(2, 3) + at[:, :, None, :3, 3])

    def levers(self, first: int, second: int) -> Array:
        """(nq,) how far a point of one piece may at most move past the other for each rad or m of each position."""
        L = np.zeros(self.robot.model.nq)
        mine, others = (self.chain(self.pieces[k].joint) for k in (first, second))
        for k, chain, apart in ((first, mine, set(others)), (second, others, set(mine))):
            points, radius, below = self.pieces[k].ends, self.pieces[k].radius, 0.0
            for j in chain:
                if j not in apart and j in self.moving:
                    joint = self.moving[j]
                    axis = np.asarray(joint.axis, float)
                    off = points - np.outer(points @ axis, axis)
                    reach = float(np.linalg.norm(off, axis=1).max()) + radius + below
                    L[self.index[j]] = 1.0 if joint.kind == "prismatic" else reach
                below += float(np.linalg.norm(points, axis=1).max()) + radius
                points, radius, below = self.placements[j][None, :3, 3], 0.0, below + self._travel(j)
        return L

    def holders(self, joint: int) -> list[int]:
        """The nearest moving joint (or the base) that carries a joint, with all welds that are cut on the way."""
        found = [self.parents[joint]] if joint else []
        while found and found[-1] and found[-1] not in self.moving:
            found.append(self.parents[found[-1]])
        return found

    def chain(self, joint: int) -> list[int]:
        """A joint, the one that carries it, and so on to the base."""
        found = []
        while joint > 0:
            found.append(joint)
            joint = self.parents[joint]
        return found

    def _travel(self, j: int) -> float:
        """How far a sliding joint carries what is on it from where it is at zero."""
        joint = self.moving.get(j)
        if joint is None or joint.kind != "prismatic":
            return 0.0
        return float(max(abs(joint.lower), abs(joint.upper))) if np.isfinite(joint.upper - joint.lower) else SLIDE


def places_at(robot: Robot, q: Array) -> Kinematics:
    """Where bodies are, and how joints move them, in postures (T, J) of a base that stays at the origin."""
    assert robot.tree is not None
    still = np.zeros_like(q)
    return Kinematics(robot.tree, robot.tree.tiles(np.zeros((len(q), BASE)), q, still, still), len(q))


def segments_apart(P: Array, Q: Array) -> Array:
    """(k,) distance between segments with ends P and Q (k, 2, 3): the closest points by clamping (Ericson 5.1.9)."""
    d1, d2, r = P[:, 1] - P[:, 0], Q[:, 1] - Q[:, 0], P[:, 0] - Q[:, 0]
    a, e, f = (np.einsum("ki,ki->k", x, y) for x, y in ((d1, d1), (d2, d2), (d2, r)))
    b, c = np.einsum("ki,ki->k", d1, d2), np.einsum("ki,ki->k", d1, r)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.clip(np.nan_to_num((b * f - c * e) / (a * e - b * b), nan=0.0, posinf=0.0, neginf=0.0), 0, 1)
        t = np.nan_to_num((b * s + f) / e, nan=0.0, posinf=0.0, neginf=0.0)
        clamped = np.clip(t, 0, 1)
        s = np.where(t == clamped, s, np.clip(np.nan_to_num((b * clamped - c) / a, posinf=0.0, neginf=0.0), 0, 1))
        s = np.where(e > 0, s, np.clip(np.nan_to_num(-c / a, posinf=0.0, neginf=0.0), 0, 1))
    gap = r + s[:, None] * d1 - clamped[:, None] * d2
    return np.asarray(np.sqrt(np.einsum("ki,ki->k", gap, gap)))
