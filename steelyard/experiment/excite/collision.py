"""Whether a robot touches itself, in a posture and anywhere on the way between postures.

Between two times no point of one piece moves past another piece by more than S = Σ lever·∫|v| over the joints between
them. With distances d₁ and d₂ at both times the least distance between is at least (d₁ + d₂ − S)/2, so a stretch whose
bound exceeds the clearance needs no further look; others are halved until they are clear or a contact is found. First
capsules bound the distance, then Coal measures that of convex hulls. Nothing is missed between samples.
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

from steelyard.experiment.excite.collision_solids import ConvexPiece, PiecePoses, pieces_of, segments_apart
from steelyard.experiment.excite.motion_request import CLEARANCE
from steelyard.experiment.excite.pairs import Excluded, choose_pairs, find_srdf
from steelyard.robot.model import Robot
from steelyard.spatial import Array

STRIDE = 16  # samples that are looked at together at first
NEARBY = 0.5  # m: balls nearer than that are looked at as capsules
HALVINGS = 8  # of the time between two samples: nearer than that to the clearance counts as a contact


class Contact(NamedTuple):
    """Two links nearer than the clearance between them."""

    time: float  # s, or number of the posture
    first: str
    second: str
    distance: float  # m, negative where they overlap
    clearance: float  # m, that is kept between these two


class Near(NamedTuple):
    """Two pieces that are close in a posture, and how the distance between them changes."""

    pose: int
    pair: int
    distance: float  # m
    clearance: float  # m
    gradient: Array  # (nv,) of the distance, in m for each rad or m


@dataclass(frozen=True, eq=False)
class Collisions:
    """Pairs of pieces of a robot that must not meet."""

    robot: Robot
    pieces: tuple[ConvexPiece, ...]
    pairs: Array  # (P, 2) indices of pieces
    clearances: Array  # (P,) m
    excluded: tuple[Excluded, ...]  # pairs of links that are not looked at, and why
    places: PiecePoses

    @classmethod
    def of(cls, robot: Robot, srdf: str | Path | None = None, clearance: float = CLEARANCE) -> Collisions:
        """All pairs but those that an SRDF excludes (given, or found beside the description), neighbours in the
        tree, and those that overlap most of the time. Two pieces that are nearer at rest keep half of that distance.
        """
        pieces = pieces_of(robot)
        places = PiecePoses(robot, pieces)
        file = find_srdf(robot.description) if srdf is None else Path(srdf)
        everything = cls(robot, tuple(pieces), np.zeros((0, 2), int), np.zeros(0), (), places)
        pairs, clearances, excluded = choose_pairs(places, file, clearance, everything.measure)
        return cls(robot, tuple(pieces), pairs, clearances, excluded, places)

    @property
    def guessed(self) -> tuple[str, ...]:
        """Bodies whose shapes nothing tells: boxes stand in for them."""
        return tuple(p.link for p in self.pieces if p.guessed)

    def first(self, q: Array) -> int | None:
        """Index of the first of the postures q (B, nq) that is not clear; ``robot.positions`` makes q of joints."""
        poses = self.places.joints(np.atleast_2d(q))
        solids = _Solids(self.pieces, poses[:, self.places.carriers])
        for t, p in zip(*self._close(poses, self.clearances), strict=True):
            if solids.apart(t, *self._ends[p]) < self.clearances[p]:
                return int(t)
        return None

    def at(self, q: Array) -> list[Contact]:
        """All pairs that are not clear in one posture q (nq,)."""
        return [
            Contact(0.0, *self.links(n.pair), n.distance, n.clearance)
            for n in self.near(np.atleast_2d(q), 0.0)
            if n.distance < n.clearance
        ]

    def near(self, q: Array, within: float | Array) -> list[Near]:
        """Pairs nearer than their clearance and ``within`` (one, or (P,)) in postures q (B, nq), with gradients."""
        poses = self.places.joints(q)
        solids, found = _Solids(self.pieces, poses[:, self.places.carriers]), list[Near]()
        reach = self.clearances + within
        for t, p in zip(*self._close(poses, reach), strict=True):
            d, normal, one, two = self._witness(solids, t, p)
            if d < reach[p]:
                gradient = self._gradient(poses[t], int(p), normal, one, two)
                found.append(Near(int(t), int(p), d, float(self.clearances[p]), gradient))
        return found

    def links(self, pair: int) -> tuple[str, str]:
        """Names of the two links of a pair."""
        a, b = self.pairs[pair]
        return self.pieces[a].link, self.pieces[b].link

    @cached_property
    def levers(self) -> Array:
        """(P, nq) m for each rad or m: how far at most two pieces move past each other."""
        found = [self.places.levers(int(a), int(b)) for a, b in self.pairs]
        return np.array(found).reshape(len(self.pairs), self.robot.model.nq)

    def clear(self, times: Array, q: Array, v: Array | None = None) -> bool:
        """Whether ``scan`` finds nothing; where it does, this is the quicker way to know."""
        return self.scan(times, q, v, earliest=False) is None

    def scan(self, times: Array, q: Array, v: Array | None = None, *, earliest: bool = True) -> Contact | None:
        """A contact of a motion q (T, nq) at ``times`` (T,); None if it is clear at and between all samples.

        Of several it is the ``earliest``, to within a sample, or the first that was met with. Between samples joints
        move evenly or, where velocities v (T, nq) are given, on the cubics that have those; a floating base's
        coordinates are not looked at.
        """
        path = _Interpolant(np.asarray(times, float), np.asarray(q, float), None if v is None else np.asarray(v, float))
        poses = self.places.joints(path.q)
        balls = _Balls.of(self.places.capsules(poses))
        gone = np.vstack([np.zeros(path.q.shape[1]), np.cumsum(path.arcs, axis=0)])  # (T, nq)
        knots = np.unique(np.append(np.arange(0, len(times), STRIDE), len(times) - 1))
        low, pair = (x.ravel() for x in np.meshgrid(knots[:-1], np.arange(len(self.pairs)), indexing="ij"))
        high = np.repeat(knots[1:], len(self.pairs))
        solids, exact = _Solids(self.pieces, poses[:, self.places.carriers]), dict[tuple[int, int], float]()
        met = [c._replace(time=float(times[0])) for c in self.at(path.q[0])] if len(knots) == 1 else list[Contact]()
        while len(low):
            way = np.einsum("kj,kj->k", gone[high] - gone[low], self.levers[pair])
            need = 2 * self.clearances[pair] + way
            unsure = self._bound(balls, low, pair) + self._bound(balls, high, pair) < need
            low, high, pair, need = low[unsure], high[unsure], pair[unsure], need[unsure]
            keep = np.zeros(len(low), bool)
            for k in np.argsort(low, kind="stable").tolist():
                i, j, p = int(low[k]), int(high[k]), int(pair[k])
                if met and not earliest:
                    return _earliest(met)
                if met and times[i] >= _earliest(met).time:
                    continue
                for t in (i, j):
                    if (t, p) not in exact:
                        exact[t, p] = distance = solids.apart(t, *self._ends[p])
                        if distance < self.clearances[p]:
                            clearance = float(self.clearances[p])
                            met.append(Contact(float(times[t]), *self.links(p), distance, clearance))
                if exact[i, p] + exact[j, p] < need[k] and exact[i, p] >= self.clearances[p]:
                    keep[k] = j - i > 1
                    contact = None if keep[k] else self._between(path, i, p, exact[i, p], exact[j, p])
                    met += [] if contact is None else [contact]
            low, high, pair = low[keep], high[keep], pair[keep]
            middle = (low + high) // 2
            low, high, pair = np.append(low, middle), np.append(middle, high), np.append(pair, pair)
        return _earliest(met) if met else None

    def measure(self, q: Array, pairs: Array, within: float) -> Array:
        """(B, P) distance of pairs of pieces in postures q (B, nq), m; those beyond ``within`` by their capsules."""
        poses = self.places.joints(q)
        ends, radius = self.places.capsules(poses), self.places.radius
        solids, D = _Solids(self.pieces, poses[:, self.places.carriers]), np.empty((len(q), len(pairs)))
        for k, (a, b) in enumerate(pairs):
            D[:, k] = segments_apart(ends[:, a], ends[:, b]) - radius[a] - radius[b]
            for t in np.flatnonzero(D[:, k] < within):
                D[t, k] = solids.apart(int(t), int(a), int(b))
        return D

    def _close(self, poses: Array, within: Array) -> tuple[Array, Array]:
        """Postures and pairs, in that order, whose capsules are nearer than ``within`` (P,)."""
        balls = _Balls.of(self.places.capsules(poses))
        t, p = (x.ravel() for x in np.meshgrid(np.arange(len(poses)), np.arange(len(self.pairs)), indexing="ij"))
        near = self._bound(balls, t, p) < within[p]
        return t[near], p[near]

    def _bound(self, balls: _Balls, t: Array, p: Array) -> Array:
        """(k,) what the distance of pair p at sample t is at least: by balls, and where those are near by capsules."""
        a, b = self.pairs[p].T
        r, ends = self.places.radius, balls.ends
        gap = balls.centres[t, a] - balls.centres[t, b]
        bound = np.sqrt(np.einsum("ki,ki->k", gap, gap)) - self._across[p]
        near = np.flatnonzero(bound < NEARBY)
        tn, an, bn = t[near], a[near], b[near]
        bound[near] = np.maximum(bound[near], segments_apart(ends[tn, an], ends[tn, bn]) - r[an] - r[bn])
        return np.asarray(bound)

    @cached_property
    def _across(self) -> Array:
        """(P,) m, radii of the balls around both capsules."""
        r = np.array([np.linalg.norm(p.ends[1] - p.ends[0]) / 2 + p.radius for p in self.pieces])
        return np.asarray(r[self.pairs].sum(axis=1))

    @cached_property
    def _ends(self) -> list[tuple[int, int]]:
        """The pairs as plain numbers, which are quicker to look up by."""
        return [(int(a), int(b)) for a, b in self.pairs]

    def _witness(self, solids: _Solids, t: int, pair: int) -> tuple[float, Array, Array, Array]:
        """Distance, normal from the first to the second piece, and the nearest points of both."""
        d, result = solids.apart(t, *self._ends[pair]), solids.result
        points = np.array(result.getNearestPoint1()).ravel(), np.array(result.getNearestPoint2()).ravel()
        return d, np.array(result.normal).ravel(), *points

    def _gradient(self, pose: Array, pair: int, normal: Array, one: Array, two: Array) -> Array:
        """(nv,) n·(velocity of the second point − that of the first) for unit velocities of the joints."""
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
        """Joint of a piece → joints that move it: index, axis, whether it slides, place among the velocities."""
        model, moving = self.robot.model, self.places.moving
        return {
            joint: [
                (j, tuple(map(float, moving[j].axis)), moving[j].kind == "prismatic", int(model.joints[j].idx_v))
                for j in self.places.chain(joint)
                if j in moving
            ]
            for joint in {p.joint for p in self.pieces}
        }

    def _between(self, path: _Interpolant, i: int, pair: int, before: float, after: float) -> Contact | None:
        """A contact between samples i and i + 1, the first of which is clear."""
        two = [self.pieces[k] for k in self.pairs[pair]]
        speed = float(path.speeds(i) @ self.levers[pair])
        least = float(self.clearances[pair])
        stack = [(0.0, 1.0, before, after)]  # earliest on top
        while stack:
            low, high, d1, d2 = stack.pop()
            if d1 + d2 - speed * (high - low) * path.step(i) >= 2 * least:
                continue
            middle = (low + high) / 2
            d = _Solids(two, self._pose(path.at(i, middle), two)).apart(0, 0, 1)
            if d < least or high - low < 2.0**-HALVINGS:
                return Contact(float(path.times[i] + middle * path.step(i)), *self.links(pair), d, least)
            stack += [(middle, high, d, d2), (low, middle, d1, d)]
        return None

    def _pose(self, q: Array, pieces: Sequence[ConvexPiece]) -> Array:
        """(1, pieces, 4, 4) of their joints in one posture; Pinocchio is quicker for a single one."""
        pin.forwardKinematics(self.robot.model, self._data, q)
        return np.array([[self._data.oMi[piece.joint].homogeneous for piece in pieces]])

    @cached_property
    def _data(self) -> Any:
        return self.robot.model.createData()


class _Balls(NamedTuple):
    """Capsules of all pieces, and the middles of their axes."""

    ends: Array  # (T, pieces, 2, 3) m
    centres: Array  # (T, pieces, 3) m

    @classmethod
    def of(cls, ends: Array) -> _Balls:
        return cls(ends, (ends[:, :, 0] + ends[:, :, 1]) / 2)


def _earliest(contacts: Sequence[Contact]) -> Contact:
    return min(contacts, key=lambda contact: contact.time)


class _Solids:
    """Pieces where they are in some postures, as Coal takes them: made once each, when first asked for."""

    def __init__(self, pieces: Sequence[ConvexPiece], poses: Array):
        """``poses`` (B, pieces, 4, 4) of the joints that carry them."""
        self.geometry = [piece.solid for piece in pieces]
        at = poses @ np.array([piece.placement for piece in pieces]).reshape(-1, 4, 4)
        self.R, self.p = np.ascontiguousarray(at[:, :, :3, :3]), np.ascontiguousarray(at[:, :, :3, 3])
        self.made: list[list[Any]] = [[None] * len(pieces) for _ in range(len(poses))]
        self.request, self.result = coal.DistanceRequest(), coal.DistanceResult()
        self.place, self.measure = coal.Transform3s, coal.distance

    def apart(self, t: int, a: int, b: int) -> float:
        """m between two pieces in posture t; ``result`` has more of it."""
        made = self.made[t]
        one, two = made[a] or self._at(t, a), made[b] or self._at(t, b)
        self.result.clear()
        return float(self.measure(self.geometry[a], one, self.geometry[b], two, self.request, self.result))

    def _at(self, t: int, k: int) -> Any:
        found = self.made[t][k] = self.place(self.R[t, k], self.p[t, k])
        return found


class _Interpolant:
    """Positions between samples: straight, or the cubics that have the given velocities."""

    def __init__(self, times: Array, q: Array, v: Array | None):
        self.times, self.q, self.v = times, q, v
        h, d = np.diff(times)[:, None], np.diff(q, axis=0)
        if v is None:
            self._controls = np.abs(d / h)[None]
        else:  # of the quadratic that the velocity is between two samples
            self._controls = np.abs(np.stack([v[:-1], 3 * d / h - v[:-1] - v[1:], v[1:]]))

    @property
    def arcs(self) -> Array:
        """(T−1, nq) what ∫|v| from one sample to the next is at most: a Bézier curve is a mean of its controls."""
        return np.asarray(self._controls.mean(axis=0) * np.diff(self.times)[:, None])

    def speeds(self, i: int) -> Array:
        """(nq,) what |v| is at most between samples i and i + 1."""
        return np.asarray(self._controls[:, i].max(axis=0))

    def step(self, i: int) -> float:
        """Seconds from sample i to the next."""
        return float(self.times[i + 1] - self.times[i])

    def at(self, i: int, s: float) -> Array:
        """(nq,) at the share s of the way from sample i to the next."""
        if self.v is None:
            return np.asarray((1 - s) * self.q[i] + s * self.q[i + 1])
        h = self.step(i)
        b0, b3 = self.q[i], self.q[i + 1]
        b1, b2 = b0 + h / 3 * self.v[i], b3 - h / 3 * self.v[i + 1]
        return np.asarray((1 - s) ** 3 * b0 + 3 * s * (1 - s) ** 2 * b1 + 3 * s**2 * (1 - s) * b2 + s**3 * b3)
