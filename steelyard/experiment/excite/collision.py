"""Self-collision of a robot, in a posture and continuously along a motion.

Between two times two pieces move relative to each other by at most S = Σ lever·∫|v| over the joints between them. With
distances d₁ and d₂ at both times the distance in between is at least (d₁ + d₂ − S)/2, so an interval whose bound
exceeds the clearance is free of collision; others are halved until they are free or a contact is found. Capsules bound
the distance first, then Coal computes that of convex hulls. No contact between samples is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import coal
import numpy as np
import pinocchio as pin

from steelyard.experiment.excite.collision_pairs import ExcludedPair, find_srdf, select_pairs
from steelyard.experiment.excite.convex_pieces import ConvexPiece, PiecePoses, segment_distance, wrap_in_convex_pieces
from steelyard.experiment.excite.motion_request import CLEARANCE
from steelyard.robot.model import Robot
from steelyard.spatial import Array

STRIDE = 16  # samples in an interval at first
NEARBY = 0.5  # m: bounding spheres nearer than that are compared as capsules
HALVINGS = 8  # of the time between two samples: an interval still undecided then counts as a contact


class Contact(NamedTuple):
    """Two links nearer than the clearance between them."""

    time: float  # s, or number of the posture
    first: str
    second: str
    distance: float  # m, negative where they overlap
    clearance: float  # m, required between these two


class NearPair(NamedTuple):
    """Two pieces that are close in a posture, with the gradient of their distance."""

    pose: int
    pair: int
    distance: float  # m
    clearance: float  # m
    gradient: Array  # (nv,) m for each rad or m


@dataclass(frozen=True, eq=False)
class Collisions:
    """Pairs of convex pieces of a robot that are checked for collision."""

    robot: Robot
    pieces: tuple[ConvexPiece, ...]
    pairs: Array  # (P, 2) indices of pieces
    clearances: Array  # (P,) m
    excluded: tuple[ExcludedPair, ...]  # pairs of links that are not checked, and why
    piece_poses: PiecePoses

    @classmethod
    def of(cls, robot: Robot, srdf: str | Path | None = None, clearance: float = CLEARANCE) -> Collisions:
        """All pairs but those that an SRDF disables, neighbours in the tree, and those that overlap most of the time.

        Args:
            robot: Its links' collision shapes, or visual ones where it has none.
            srdf: Pairs of links that may touch; found beside the description where not given.
            clearance: Between pieces, m; half the distance at rest for pieces that are nearer.
        """
        pieces = wrap_in_convex_pieces(robot)
        piece_poses = PiecePoses(robot, pieces)
        file = find_srdf(robot.description) if srdf is None else Path(srdf)
        everything = cls(robot, tuple(pieces), np.zeros((0, 2), int), np.zeros(0), (), piece_poses)
        pairs, clearances, excluded = select_pairs(piece_poses, file, clearance, everything.distances)
        return cls(robot, tuple(pieces), pairs, clearances, excluded, piece_poses)

    @property
    def guessed(self) -> tuple[str, ...]:
        """Bodies without shapes, replaced by boxes of their inertia."""
        return tuple(p.link for p in self.pieces if p.guessed)

    def first_collision(self, q: Array) -> int | None:
        """Index of the first posture in collision among positions q (B, nq) (``robot.positions``); None if free."""
        poses = self.piece_poses.joints(np.atleast_2d(q))
        solids = _Solids(self.pieces, poses[:, self.piece_poses.carriers])
        for t, p in zip(*self._close(poses, self.clearances), strict=True):
            if solids.distance(t, *self._ends[p]) < self.clearances[p]:
                return int(t)
        return None

    def contacts(self, q: Array) -> list[Contact]:
        """All pairs below their clearance in one posture q (nq,)."""
        return [
            Contact(0.0, *self.links(n.pair), n.distance, n.clearance)
            for n in self.near_pairs(np.atleast_2d(q), 0.0)
            if n.distance < n.clearance
        ]

    def near_pairs(self, q: Array, within: float | Array) -> list[NearPair]:
        """Pairs nearer than their clearance plus ``within`` (one, or (P,)) in postures q (B, nq), with gradients."""
        poses = self.piece_poses.joints(q)
        solids, pairs = _Solids(self.pieces, poses[:, self.piece_poses.carriers]), list[NearPair]()
        reach = self.clearances + within
        for t, p in zip(*self._close(poses, reach), strict=True):
            d, normal, one, two = self._witness(solids, t, p)
            if d < reach[p]:
                gradient = self._gradient(poses[t], int(p), normal, one, two)
                pairs.append(NearPair(int(t), int(p), d, float(self.clearances[p]), gradient))
        return pairs

    def links(self, pair: int) -> tuple[str, str]:
        """Names of the two links of a pair."""
        a, b = self.pairs[pair]
        return self.pieces[a].link, self.pieces[b].link

    @cached_property
    def levers(self) -> Array:
        """Largest relative displacement (P, nq) of two pieces, m for each rad or m of each position."""
        levers = [self.piece_poses.levers(int(a), int(b)) for a, b in self.pairs]
        return np.array(levers).reshape(len(self.pairs), self.robot.model.nq)

    def is_collision_free(self, times: Array, q: Array, v: Array | None = None) -> bool:
        """Whether a motion has no contact; faster than ``find_contact`` where it has one."""
        return self.find_contact(times, q, v, earliest=False) is None

    def find_contact(self, times: Array, q: Array, v: Array | None = None, *, earliest: bool = True) -> Contact | None:
        """A contact of a motion; None if it is free of collision at and between all samples.

        Args:
            times: (T,) s.
            q: Positions (T, nq); those of a floating base are ignored.
            v: Velocities (T, nq): positions are cubic between samples; linear where not given.
            earliest: The earliest contact, to within a sample; else any.
        """
        path = _Interpolant(np.asarray(times, float), np.asarray(q, float), None if v is None else np.asarray(v, float))
        poses = self.piece_poses.joints(path.q)
        spheres = _BoundingSpheres.of(self.piece_poses.capsules(poses))
        gone = np.vstack([np.zeros(path.q.shape[1]), np.cumsum(path.arcs, axis=0)])  # (T, nq)
        knots = np.unique(np.append(np.arange(0, len(times), STRIDE), len(times) - 1))
        low, pair = (x.ravel() for x in np.meshgrid(knots[:-1], np.arange(len(self.pairs)), indexing="ij"))
        high = np.repeat(knots[1:], len(self.pairs))
        solids, exact = _Solids(self.pieces, poses[:, self.piece_poses.carriers]), dict[tuple[int, int], float]()
        contacts = (
            [c._replace(time=float(times[0])) for c in self.contacts(path.q[0])] if len(knots) == 1 else list[Contact]()
        )
        while len(low):
            way = np.einsum("kj,kj->k", gone[high] - gone[low], self.levers[pair])
            need = 2 * self.clearances[pair] + way
            unsure = self._bound(spheres, low, pair) + self._bound(spheres, high, pair) < need
            low, high, pair, need = low[unsure], high[unsure], pair[unsure], need[unsure]
            keep = np.zeros(len(low), bool)
            for k in np.argsort(low, kind="stable").tolist():
                i, j, p = int(low[k]), int(high[k]), int(pair[k])
                if contacts and not earliest:
                    return _earliest(contacts)
                if contacts and times[i] >= _earliest(contacts).time:
                    continue
                for t in (i, j):
                    if (t, p) not in exact:
                        exact[t, p] = distance = solids.distance(t, *self._ends[p])
                        if distance < self.clearances[p]:
                            clearance = float(self.clearances[p])
                            contacts.append(Contact(float(times[t]), *self.links(p), distance, clearance))
                if exact[i, p] + exact[j, p] < need[k] and exact[i, p] >= self.clearances[p]:
                    keep[k] = j - i > 1
                    contact = None if keep[k] else self._between(path, i, p, exact[i, p], exact[j, p])
                    contacts += [] if contact is None else [contact]
            low, high, pair = low[keep], high[keep], pair[keep]
            middle = (low + high) // 2
            low, high, pair = np.append(low, middle), np.append(middle, high), np.append(pair, pair)
        return _earliest(contacts) if contacts else None

    def distances(self, q: Array, pairs: Array, within: float) -> Array:
        """Distances (B, P) of pairs of pieces in postures q (B, nq), m; above ``within`` those of their capsules."""
        poses = self.piece_poses.joints(q)
        ends, radius = self.piece_poses.capsules(poses), self.piece_poses.radius
        solids, D = _Solids(self.pieces, poses[:, self.piece_poses.carriers]), np.empty((len(q), len(pairs)))
        for k, (a, b) in enumerate(pairs):
            D[:, k] = segment_distance(ends[:, a], ends[:, b]) - radius[a] - radius[b]
            for t in np.flatnonzero(D[:, k] < within):
                D[t, k] = solids.distance(int(t), int(a), int(b))
        return D

    def _close(self, poses: Array, within: Array) -> tuple[Array, Array]:
        """Indices of postures and pairs whose capsules are nearer than ``within`` (P,)."""
        spheres = _BoundingSpheres.of(self.piece_poses.capsules(poses))
        t, p = (x.ravel() for x in np.meshgrid(np.arange(len(poses)), np.arange(len(self.pairs)), indexing="ij"))
        near = self._bound(spheres, t, p) < within[p]
        return t[near], p[near]

    def _bound(self, spheres: _BoundingSpheres, t: Array, p: Array) -> Array:
        """Lower bounds (k,) of the distances of pairs p at samples t, by spheres or, where these are near, capsules."""
        a, b = self.pairs[p].T
        r, ends = self.piece_poses.radius, spheres.ends
        gap = spheres.centres[t, a] - spheres.centres[t, b]
        bound = np.sqrt(np.einsum("ki,ki->k", gap, gap)) - self._across[p]
        near = np.flatnonzero(bound < NEARBY)
        tn, an, bn = t[near], a[near], b[near]
        bound[near] = np.maximum(bound[near], segment_distance(ends[tn, an], ends[tn, bn]) - r[an] - r[bn])
        return np.asarray(bound)

    @cached_property
    def _across(self) -> Array:
        """Sums (P,) of the radii of both bounding spheres, m."""
        r = np.array([np.linalg.norm(p.ends[1] - p.ends[0]) / 2 + p.radius for p in self.pieces])
        return np.asarray(r[self.pairs].sum(axis=1))

    @cached_property
    def _ends(self) -> list[tuple[int, int]]:
        """The pairs as plain integers, for speed."""
        return [(int(a), int(b)) for a, b in self.pairs]

    def _witness(self, solids: _Solids, t: int, pair: int) -> tuple[float, Array, Array, Array]:
        """Distance, normal from the first to the second piece, and the nearest points of both."""
        d, result = solids.distance(t, *self._ends[pair]), solids.result
        points = np.array(result.getNearestPoint1()).ravel(), np.array(result.getNearestPoint2()).ravel()
        return d, np.array(result.normal).ravel(), *points

    def _gradient(self, pose: Array, pair: int, normal: Array, one: Array, two: Array) -> Array:
        """Gradient (nv,) of the distance: n·(velocity of the second point − first) for unit joint velocities."""
        g = np.zeros(self.robot.model.nv)
        nx, ny, nz = normal
        for k, (px, py, pz), sign in zip(self.pairs[pair], (one, two), (-1.0, 1.0), strict=True):
            for j, (ax, ay, az), slides, at in self._axes[self.pieces[k].joint]:
                T = pose[j]
                x, y, z = (T[i, 0] * ax + T[i, 1] * ay + T[i, 2] * az for i in range(3))
                if not slides:  # axis × (point − origin)
                    u, v, w = px - T[0, 3], py - T[1, 3], pz - T[2, 3]
                    x, y, z = y * w - z * v, z * u - x * w, x * v - y * u
                g[at] += sign * (nx * x + ny * y + nz * z)
        return g

    @cached_property
    def _axes(self) -> dict[int, list[tuple[int, tuple[float, ...], bool, int]]]:
        """Joint of a piece → joints that move it: index, axis, whether prismatic, index of its velocity."""
        model, moving = self.robot.model, self.piece_poses.moving
        return {
            joint: [
                (j, tuple(map(float, moving[j].axis)), moving[j].kind == "prismatic", int(model.joints[j].idx_v))
                for j in self.piece_poses.chain(joint)
                if j in moving
            ]
            for joint in {p.joint for p in self.pieces}
        }

    def _between(self, path: _Interpolant, i: int, pair: int, before: float, after: float) -> Contact | None:
        """A contact between samples i and i + 1, the first of which is free of collision."""
        two = [self.pieces[k] for k in self.pairs[pair]]
        speed = float(path.speeds(i) @ self.levers[pair])
        least = float(self.clearances[pair])
        stack = [(0.0, 1.0, before, after)]  # earliest on top
        while stack:
            low, high, d1, d2 = stack.pop()
            if d1 + d2 - speed * (high - low) * path.step(i) >= 2 * least:
                continue
            middle = (low + high) / 2
            d = _Solids(two, self._pose(path.at(i, middle), two)).distance(0, 0, 1)
            if d < least or high - low < 2.0**-HALVINGS:
                return Contact(float(path.times[i] + middle * path.step(i)), *self.links(pair), d, least)
            stack += [(middle, high, d, d2), (low, middle, d1, d)]
        return None

    def _pose(self, q: Array, pieces: Sequence[ConvexPiece]) -> Array:
        """Poses (1, pieces, 4, 4) of their joints in one posture, for which Pinocchio is faster."""
        pin.forwardKinematics(self.robot.model, self._data, q)
        return np.array([[self._data.oMi[piece.joint].homogeneous for piece in pieces]])

    @cached_property
    def _data(self) -> Any:
        return self.robot.model.createData()


class _BoundingSpheres(NamedTuple):
    """Capsules of all pieces, and the centres of their bounding spheres."""

    ends: Array  # (T, pieces, 2, 3) m
    centres: Array  # (T, pieces, 3) m

    @classmethod
    def of(cls, ends: Array) -> _BoundingSpheres:
        return cls(ends, (ends[:, :, 0] + ends[:, :, 1]) / 2)


def _earliest(contacts: Sequence[Contact]) -> Contact:
    return min(contacts, key=lambda contact: contact.time)


class _Solids:
    """Pieces at their poses in some postures, as Coal takes them; transforms are created at first use."""

    def __init__(self, pieces: Sequence[ConvexPiece], poses: Array):
        """``poses`` (B, pieces, 4, 4) of the joints of the pieces."""
        self.geometry = [piece.solid for piece in pieces]
        at = poses @ np.array([piece.placement for piece in pieces]).reshape(-1, 4, 4)
        self.R, self.p = np.ascontiguousarray(at[:, :, :3, :3]), np.ascontiguousarray(at[:, :, :3, 3])
        self.transforms: list[list[Any]] = [[None] * len(pieces) for _ in range(len(poses))]
        self.request, self.result = coal.DistanceRequest(), coal.DistanceResult()
        self.create, self.measure = coal.Transform3s, coal.distance  # looked up once: these calls are the inner loop

    def distance(self, t: int, a: int, b: int) -> float:
        """Distance between two pieces in posture t, m; ``result`` has the witness points."""
        row = self.transforms[t]
        one, two = row[a] or self._transform(t, a), row[b] or self._transform(t, b)
        self.result.clear()
        return float(self.measure(self.geometry[a], one, self.geometry[b], two, self.request, self.result))

    def _transform(self, t: int, k: int) -> Any:
        transform = self.transforms[t][k] = self.create(self.R[t, k], self.p[t, k])
        return transform


class _Interpolant:
    """Positions between samples: linear, or the cubics with the given velocities."""

    def __init__(self, times: Array, q: Array, v: Array | None):
        self.times, self.q, self.v = times, q, v
        h, d = np.diff(times)[:, None], np.diff(q, axis=0)
        if v is None:
            self._controls = np.abs(d / h)[None]
        else:  # of the quadratic that the velocity is between two samples
            self._controls = np.abs(np.stack([v[:-1], 3 * d / h - v[:-1] - v[1:], v[1:]]))

    @property
    def arcs(self) -> Array:
        """Upper bounds (T−1, nq) of ∫|v| from one sample to the next: a Bézier curve is a mean of its controls."""
        return np.asarray(self._controls.mean(axis=0) * np.diff(self.times)[:, None])

    def speeds(self, i: int) -> Array:
        """Upper bounds (nq,) of |v| between samples i and i + 1."""
        return np.asarray(self._controls[:, i].max(axis=0))

    def step(self, i: int) -> float:
        """Seconds from sample i to the next."""
        return float(self.times[i + 1] - self.times[i])

    def at(self, i: int, s: float) -> Array:
        """Positions (nq,) at the share s of the interval from sample i to the next."""
        if self.v is None:
            return np.asarray((1 - s) * self.q[i] + s * self.q[i + 1])
        h = self.step(i)
        b0, b3 = self.q[i], self.q[i + 1]
        b1, b2 = b0 + h / 3 * self.v[i], b3 - h / 3 * self.v[i + 1]
        return np.asarray((1 - s) ** 3 * b0 + 3 * s * (1 - s) ** 2 * b1 + 3 * s**2 * (1 - s) * b2 + s**3 * b3)
