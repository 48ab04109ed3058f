"""What a motion tells, what it leaves to the prior, and which motion would tell more.

Every base parameter z that the structure allows has a standard deviation √(zᵀ(RᵀR + D⁻²)⁻¹z), D the natural sizes, if
the rows are wrong by 5 % of their rms. Motions that might help are tried on paper: rows of the logged postures with one
joint moved further or faster, or the base tilted, turned or shaken, are added, and what becomes certain is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.inference.uncertainty import CERTAIN
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

NOISE = 0.05  # of each row's rms: what rows are taken to be wrong by
TRIED, WORTH = 60, 200  # samples of a motion that is tried, and how many rows' time it would last
SPEED, SLIDE = 3.0, 1.0  # rad/s and m/s: no more is asked for, whatever a joint's limit
WAY, TRAVEL = np.pi, 0.2  # rad and m to either side: the same for positions
SHARE = 0.5  # of a joint's range and speed that is asked for
MORE = 1.2  # times what the log has: less than this is nothing new
RISE = 4.0  # 1/s: acceleration for each speed, as of a motion of about 0.6 Hz
TILT, TURN, SHAKE = np.radians(25), 1.0, 2.0  # rad, rad/s and m/s² of a base
MOST_CERTAIN = 1e5  # times its natural size: better than that a combination need not be known
HELPS = 0.05  # least share of the doubt that a motion must take away to be named
MOST = 3  # motions that are advised


class Motion(NamedTuple):
    """A motion that would help."""

    mover: str  # a joint, or "base"
    help: str  # what to do with it, as one says it


@dataclass(frozen=True)
class Excitation:
    """What the log excites."""

    possible: int  # base parameters that the structure allows
    excited: int  # independent combinations of them that the rows tell better than to their natural size
    strong: int  # … and to a tenth of it
    condition: float  # of the rows' base parameters
    weak: tuple[tuple[str, Motion | None], ...]  # base parameters known less well one by one, and what would help each
    advice: tuple[Motion, ...]  # what would help most, first things first

    def __str__(self) -> str:
        return (
            f"{self.possible} possible, {self.excited} excited, {self.strong} strongly; condition {self.condition:.3g}"
        )

    def left_to_prior(self, most: int = 8) -> str:
        """Owners of the weak parameters, with how many of them each has."""
        owners = Counter(name.rsplit(".", 1)[0] for name, _ in self.weak).most_common()
        shown = ", ".join(f"{owner} {count}" for owner, count in owners[:most])
        return shown + (" …" if len(owners) > most else "")

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        weak = [
            {"parameter": name, "joint": motion.mover if motion else None, "help": motion.help if motion else None}
            for name, motion in self.weak
        ]
        return {
            "possible": self.possible,
            "excited": self.excited,
            "strong": self.strong,
            "condition": self.condition if np.isfinite(self.condition) else None,
            "weak": weak,
            "advice": [motion._asdict() for motion in self.advice],
        }


def excitation(
    setup: Setup, rows: Rows, noise: Array, space: Subspace, possible: Subspace, seed: int = 0
) -> Excitation:
    """``noise`` (C,) of the rows; ``space``: what these rows, so weighed, see; ``possible``: what any could."""
    D = space.scale
    seen = np.minimum(space.values, MOST_CERTAIN)
    known = space.V * seen**2 @ space.V.T + np.eye(len(D))  # in scaled coordinates; the prior has natural size
    pivots, Z = possible.composition
    order = np.argsort(pivots)
    Z = (Z * D / np.linalg.norm(Z * D, axis=1, keepdims=True))[order]
    names = [setup.columns.names[p] for p in pivots[order]]
    unsure = np.flatnonzero(_std(known, Z) >= CERTAIN)
    weak: list[tuple[str, Motion | None]] = []
    advice: list[Motion] = []
    if unsure.size:
        Z = Z[unsure]
        tried = list(_tried(setup, rows, noise, D, np.random.default_rng(seed)))
        gains = np.array([_gain(known, Y, Z) for _, Y in tried]).reshape(len(tried), len(Z))
        for k, name in enumerate(names[i] for i in unsure):
            best = int(np.argmax(gains[:, k])) if tried else -1
            weak.append((name, tried[best][0] if tried and gains[best, k] > HELPS else None))
        advice = list(_best(tried, known, Z))
    counts = [int(np.sum(space.values > known_to)) for known_to in (1, 1 / CERTAIN)]
    excited, strong = (min(count, possible.rank) for count in counts)  # noisy columns (unknown gains) seem to tell more
    return Excitation(possible.rank, excited, strong, space.condition, tuple(weak), tuple(advice))


def _std(precision: Array, Z: Array) -> Array:
    """(k,) of the combinations Z (k, n)."""
    root = np.linalg.cholesky(precision)
    return np.asarray(np.linalg.norm(solve_triangular(root, Z.T, lower=True), axis=0))


def _gain(known: Array, Y: Array, Z: Array) -> Array:
    """(k,) logarithm of how much better rows Y tell each of Z."""
    return np.asarray(np.log(_std(known, Z) / _std(known + Y.T @ Y, Z)))


def _best(tried: Sequence[tuple[Motion, Array]], known: Array, Z: Array) -> Iterator[Motion]:
    """Motions that tell most about Z, each one beside those before it."""
    left = list(tried)
    while left and len(tried) - len(left) < MOST:
        scores = [float(np.sum(_gain(known, Y, Z))) for _, Y in left]
        if max(scores) < HELPS:
            return
        motion, Y = left.pop(int(np.argmax(scores)))
        known = known + Y.T @ Y
        yield motion


def _tried(
    setup: Setup, rows: Rows, noise: Array, D: Array, rng: np.random.Generator
) -> Iterator[tuple[Motion, Array]]:
    """Motions that go beyond the logged one, and their rows (m, n): of unit noise, in scaled coordinates."""
    longest = max(rows.segments, key=lambda s: len(s.time))
    some = longest.part(slice(None, None, max(1, len(longest.time) // TRIED)))
    for motion, segment in (*_of_joints(setup, rows, some, rng), *_of_base(setup, rows, some, rng)):
        made = setup.unfiltered().rows([segment], free=rows.free)
        Y = np.concatenate([b.Y for b in made]) / noise[:, None] * (D * np.sqrt(WORTH / len(some.time)))
        yield motion, Y.reshape(-1, len(D))


def _of_joints(setup: Setup, rows: Rows, some: Segment, rng: np.random.Generator) -> Iterator[tuple[Motion, Segment]]:
    T = len(some.time)
    for j, name in enumerate(setup.robot.joints):
        joint = setup.robot.description.joints[name]
        unit, way, speed = ("m", TRAVEL, SLIDE) if joint.kind == "prismatic" else ("rad", WAY, SPEED)
        low, high = max(joint.lower, -way), min(joint.upper, way)
        if not low < high:
            low, high = -way, way
        went = max(float(np.ptp(s.q[:, j])) for s in rows.segments)
        ran = max(float(np.abs(s.v[:, j]).max()) for s in rows.segments)
        go = SHARE * (high - low)
        run = min(SHARE * joint.velocity if joint.velocity > 0 else speed, speed)
        if go > MORE * went:
            q = some.q.copy()
            q[:, j] = (low + high) / 2 + go * rng.uniform(-0.5, 0.5, T)
            yield Motion(name, f"move {name} further, through {go:.2g} {unit} (now {went:.2g})"), replace(some, q=q)
        if run > MORE * ran:
            v, a, phase = some.v.copy(), some.a.copy(), rng.uniform(0, 2 * np.pi, T)
            v[:, j], a[:, j] = run * np.sin(phase), RISE * run * np.cos(phase)
            help = f"move {name} faster, up to {run:.2g} {unit}/s (now {ran:.2g})"
            yield Motion(name, help), replace(some, v=v, a=a)


def _of_base(setup: Setup, rows: Rows, some: Segment, rng: np.random.Generator) -> Iterator[tuple[Motion, Segment]]:
    if not setup.robot.floating:
        return
    assert some.gyro is not None and some.alpha is not None and some.acc is not None and some.up is not None
    T = len(some.time)
    middle = some.up.mean(axis=0) / np.linalg.norm(some.up.mean(axis=0))
    leaned = float(np.arccos(np.clip(some.up @ middle, -1, 1)).max())
    if MORE * leaned < TILT:
        lean = rng.normal(size=(T, 3))
        lean -= np.outer(lean @ middle, middle)
        up = middle + np.tan(TILT) * lean / np.linalg.norm(lean, axis=1, keepdims=True) * rng.uniform(0, 1, (T, 1))
        up /= np.linalg.norm(up, axis=1, keepdims=True)
        help = f"tilt the base by up to {np.degrees(TILT):.0f}° to all sides (now {np.degrees(leaned):.0f}°)"
        yield Motion("base", help), replace(some, up=up, acc=some.acc + GRAVITY * (up - some.up))
    for k, axis in enumerate("xyz"):
        phase = rng.uniform(0, 2 * np.pi, T)
        turned = float(np.abs(some.gyro[:, k]).max())
        if MORE * turned < TURN:
            gyro, alpha = some.gyro.copy(), some.alpha.copy()
            gyro[:, k], alpha[:, k] = TURN * np.sin(phase), RISE * TURN * np.cos(phase)
            help = f"turn the base about {axis} to and fro, at up to {TURN:.2g} rad/s (now {turned:.2g})"
            yield Motion("base", help), replace(some, gyro=gyro, alpha=alpha)
        shaken = float(np.abs(some.acc[:, k] - GRAVITY * some.up[:, k]).max())
        if MORE * shaken < SHAKE:
            acc = some.acc.copy()
            acc[:, k] += SHAKE * np.sin(phase)
            help = f"shake the base along {axis} with {SHAKE:.2g} m/s² (now {shaken:.2g})"
            yield Motion("base", help), replace(some, acc=acc)
