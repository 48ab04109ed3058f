"""Convex pieces that enclose a robot's shapes, and their poses in many postures at once.

A mesh is replaced by its convex hull; primitive shapes are convex already. Every piece has a bounding capsule: the
distance of two capsules is cheap and never larger than that of the pieces. Poses of all joints are computed for all
samples at once, T_joint = T_parent · placement · motion(q); a floating base stays at the origin, as self-collision does
not depend on where the robot is.
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
SHEET = 1e-4  # m to either side: thickness given to a flat shape
GUESSED = 0.6  # size of a body without shapes, over its equivalent inertia box: a hollow body is smaller than its box
SLIDE = 1.0  # m: travel of a prismatic joint without limits

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
    guessed: bool = False  # from mass and inertia, as the body has no shape


def wrap_in_convex_pieces(robot: Robot) -> list[ConvexPiece]:
    """Pieces of every link that has a shape; a body with mass but no shape gets the middle of its inertia's box."""
    pieces = list[ConvexPiece]()
    shaped = set[str]()
    for name, link in robot.description.links.items():
        frame = robot.frames[name]
        for shape in geometry.link_shapes(link, frame.placement):
            if (wrapped := _solid(shape)) is not None:
                solid, placement, points, radius = wrapped
                pieces.append(ConvexPiece(name, frame.joint, solid, placement, *_capsule(points, radius)))
                shaped.add(name)
    for body in robot.bodies:
        if body.carrier is None and body.parameters[0] > 0 and not shaped.intersection(body.links):
            points = (body.box[0] + body.box[1]) / 2 + GUESSED * _CORNERS * (body.box[1] - body.box[0]) / 2
            pieces.append(
                ConvexPiece(body.name, body.joint, _hull(points), np.eye(4), *_capsule(points, 0.0), guessed=True)
            )
    return pieces


def _solid(shape: Shape) -> tuple[Any, Array, Array, float] | None:
    """Coal's geometry, its placement, and points (k, 3) and a radius whose swept hull encloses it; None: no mesh."""
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
    if geometry.hull_vertices(points) is None:  # flat
        points = np.vstack([points + SHEET * e for e in np.vstack([np.eye(3), -np.eye(3)])])
    vertices = coal.StdVec_Vec3s()
    vertices.extend(list(points))
    return coal.Convex.convexHull(vertices, True, "Qt")


def _moved(T: Array, points: Array) -> Array:
    return np.asarray(points @ T[:3, :3].T + T[:3, 3])


def _capsule(points: Array, swept: float) -> tuple[Array, float]:
    """Ends (2, 3) and radius of a narrow capsule around points (k, 3), each swept with a radius ``swept``."""
    axes = np.vstack([np.eye(3), np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]])
    best: tuple[float, Array, float] | None = None
    for axis in axes:
        along = points @ axis
        across = points - np.outer(along, axis)
        middle = (across.min(axis=0) + across.max(axis=0)) / 2
        middle -= axis * (middle @ axis)
        far = np.linalg.norm(across - middle, axis=1)
        r = float(far.max()) + LOOSEST
        bulge = np.sqrt(np.maximum(r**2 - far**2, 0))  # depth of the end cap at this point
        low, high = float(np.min(along + bulge)), float(np.max(along - bulge))
        if low > high:
            low = high = (low + high) / 2
        whole = np.pi * (r + swept) ** 2 * (high - low + 4 / 3 * (r + swept))
        if best is None or whole < best[0]:
            best = whole, middle + np.outer([low, high], axis), r + swept
    assert best is not None
    return best[1], best[2]


class PiecePoses:
    """Poses of joints and capsules; holds the model's structure."""

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
        """Poses (T, joints, 4, 4) of all joints of the model at positions q (T, nq)."""
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
        kinematics = kinematics_at(self.robot, q[:, [self.index[j] for j in self.moving]])
        nodes = [kinematics.tree.joints[j] - 1 for j in range(1, len(self.parents))]
        T[:, 1:, :3, :3], T[:, 1:, :3, 3], T[:, 1:, 3, 3] = kinematics.R[:, nodes], kinematics.p[:, nodes], 1.0
        return T

    def capsules(self, poses: Array) -> Array:
        """Ends (T, pieces, 2, 3) of the capsules' axes, from the joints' poses."""
        at = poses[:, self.carriers]
        return np.asarray(self._ends @ at[..., :3, :3].swapaxes(2, 3) + at[:, :, None, :3, 3])

    def levers(self, first: int, second: int) -> Array:
        """Largest relative displacement of points of two pieces, m, for each rad or m of each position (nq,)."""
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

    def neighbours_above(self, joint: int) -> list[int]:
        """Joints from a joint's parent up to the nearest moving one (or the base)."""
        above = [self.parents[joint]] if joint else []
        while above and above[-1] and above[-1] not in self.moving:
            above.append(self.parents[above[-1]])
        return above

    def chain(self, joint: int) -> list[int]:
        """A joint and all joints above it, up to the base."""
        joints = []
        while joint > 0:
            joints.append(joint)
            joint = self.parents[joint]
        return joints

    def _travel(self, j: int) -> float:
        """Largest displacement of a prismatic joint from zero, m; 0 for other joints."""
        joint = self.moving.get(j)
        if joint is None or joint.kind != "prismatic":
            return 0.0
        return float(max(abs(joint.lower), abs(joint.upper))) if np.isfinite(joint.upper - joint.lower) else SLIDE


def kinematics_at(robot: Robot, q: Array) -> Kinematics:
    """Poses and Jacobians of the bodies in postures q (T, J), the base at the origin."""
    assert robot.tree is not None
    still = np.zeros_like(q)
    return Kinematics(robot.tree, robot.tree.tiles(np.zeros((len(q), BASE)), q, still, still), len(q))


def segment_distance(P: Array, Q: Array) -> Array:
    """Distances (k,) between segments with ends P and Q (k, 2, 3): closest points by clamping (Ericson 5.1.9)."""
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
