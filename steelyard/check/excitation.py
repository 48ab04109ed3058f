"""Excitation: which base parameters a motion determines, which it leaves to the prior, and which motion would add most.

Every structurally identifiable base parameter z has a standard deviation √(zᵀ(RᵀR + D⁻²)⁻¹z), D the natural scales, if
the rows have an error of 5 % of their rms. Candidate motions are evaluated without simulation: rows of the logged
postures with one joint moved further or faster, or the base tilted, rotated or shaken, are added, and the reduction of
the standard deviations is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from steelyard.check.torque_balance import MOST_SAMPLES, spread
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.inference.noise import Noise, weight_rows
from steelyard.inference.uncertainty import CERTAIN
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

NOISE = 0.05  # assumed error of the rows, as a share of each row's rms
TRIED, WORTH = 60, 200  # samples of a candidate motion, and number of rows that it is weighted as
SPEED, SLIDE = 3.0, 1.0  # rad/s and m/s: largest speed advised, whatever a joint's limit
TURN_RANGE, TRAVEL = np.pi, 0.2  # rad and m to either side: largest position advised
SHARE = 0.5  # of a joint's range and speed that is advised
MORE = 1.2  # least ratio of an advised range or speed to the logged one
RISE = 4.0  # 1/s: acceleration relative to speed, as of a sinusoid of about 0.6 Hz
TILT, TURN, SHAKE = np.radians(25), 1.0, 2.0  # rad, rad/s and m/s² advised for a base
MOST_CERTAIN = 1e5  # largest ratio of natural scale to standard deviation that is counted
HELPS = 0.05  # least reduction of log standard deviation for a motion to be advised
MOST = 3  # number of motions advised


class Motion(NamedTuple):
    """A motion that would add information."""

    mover: str  # a joint, or "base"
    help: str  # the advice, as a phrase


@dataclass(frozen=True)
class Excitation:
    """How well a log excites the base parameters."""

    possible: int  # structurally identifiable base parameters
    excited: int  # independent combinations of them with a standard deviation below their natural scale
    strong: int  # … and below a tenth of it
    condition: float  # of the rows' base parameters
    weak: tuple[tuple[str, Motion | None], ...]  # base parameters above a tenth of their scale, and what helps each
    advice: tuple[Motion, ...]  # most informative first

    def __str__(self) -> str:
        return (
            f"{self.possible} possible, {self.excited} excited, {self.strong} strongly; condition {self.condition:.3g}"
        )

    def poorly_excited(self, most: int = 8) -> str:
        """Bodies and joints of the poorly excited parameters, with the number of each."""
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


def assess_excitation(setup: Setup, segments: Sequence[Segment]) -> Excitation:
    """Excitation of the bodies by rows with an error of 5 % of their rms; of a long log, from pieces spread over it.

    Joint terms are left out, so that ``check`` and ``identify`` advise the same whichever friction is identified.
    """
    setup = replace(setup, columns=Columns(setup.columns.bodies, (), setup.columns.offsets))
    some = spread(segments, MOST_SAMPLES[setup.robot.base])
    whole, used = (sum(len(s.time) for s in parts) for parts in (segments, some))
    rows = setup.rows(some)
    blocks = list(rows)
    scale = np.sqrt(np.mean(np.concatenate([b.target for b in blocks]) ** 2, axis=0))
    error = NOISE * np.maximum(scale, max(1e-3 * float(scale.max()), 1e-9))
    weights = Noise.unit(error * np.sqrt(used / whole))
    prior = priors.make(setup.robot, setup.columns)
    space = Subspace.of(weight_rows(blocks, weights, setup.columns.names).R, prior.scale)
    return excitation(setup, rows, error, space, setup.structure(prior.scale))


def excitation(
    setup: Setup, rows: Rows, noise: Array, space: Subspace, possible: Subspace, seed: int = 0
) -> Excitation:
    """Assess the rows of a log, and evaluate candidate motions.

    Args:
        setup: Robot and equations.
        rows: Rows of the log.
        noise: (C,) standard deviation of each equation.
        space: Subspace that these rows, weighted by the noise, determine.
        possible: Subspace that the structure allows.
        seed: Of the candidate motions.
    """
    D = space.scale
    seen = np.minimum(space.values, MOST_CERTAIN)
    known = space.V * seen**2 @ space.V.T + np.eye(len(D))  # in scaled coordinates; the prior has unit variance
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
    excited, strong = (min(count, possible.rank) for count in counts)  # noisy columns (unknown gains) add spurious rank
    return Excitation(possible.rank, excited, strong, space.condition, tuple(weak), tuple(advice))


def _std(precision: Array, Z: Array) -> Array:
    """(k,) standard deviations of the combinations Z (k, n)."""
    root = np.linalg.cholesky(precision)
    return np.asarray(np.linalg.norm(solve_triangular(root, Z.T, lower=True), axis=0))


def _gain(known: Array, Y: Array, Z: Array) -> Array:
    """(k,) reduction of the log standard deviation of each of Z by rows Y."""
    return np.asarray(np.log(_std(known, Z) / _std(known + Y.T @ Y, Z)))


def _best(tried: Sequence[tuple[Motion, Array]], known: Array, Z: Array) -> Iterator[Motion]:
    """Motions that add most information about Z, chosen greedily."""
    remaining = list(tried)
    while remaining and len(tried) - len(remaining) < MOST:
        scores = [float(np.sum(_gain(known, Y, Z))) for _, Y in remaining]
        if max(scores) < HELPS:
            return
        motion, Y = remaining.pop(int(np.argmax(scores)))
        known = known + Y.T @ Y
        yield motion


def _tried(
    setup: Setup, rows: Rows, noise: Array, D: Array, rng: np.random.Generator
) -> Iterator[tuple[Motion, Array]]:
    """Candidate motions, and their rows (m, n) of unit noise in scaled coordinates."""
    longest = max(rows.segments, key=lambda s: len(s.time))
    some = longest.part(slice(None, None, max(1, len(longest.time) // TRIED)))
    for motion, segment in (*_of_joints(setup, rows, some, rng), *_of_base(setup, rows, some, rng)):
        blocks = setup.unfiltered().rows([segment], free=rows.free)
        Y = np.concatenate([b.Y for b in blocks]) / noise[:, None] * (D * np.sqrt(WORTH / len(some.time)))
        yield motion, Y.reshape(-1, len(D))


def _of_joints(setup: Setup, rows: Rows, some: Segment, rng: np.random.Generator) -> Iterator[tuple[Motion, Segment]]:
    T = len(some.time)
    for j, name in enumerate(setup.robot.joints):
        joint = setup.robot.description.joints[name]
        unit, way, speed = ("m", TRAVEL, SLIDE) if joint.kind == "prismatic" else ("rad", TURN_RANGE, SPEED)
        low, high = max(joint.lower, -way), min(joint.upper, way)
        if not low < high:
            low, high = -way, way
        logged_range = max(float(np.ptp(s.q[:, j])) for s in rows.segments)
        logged_speed = max(float(np.abs(s.v[:, j]).max()) for s in rows.segments)
        span = SHARE * (high - low)
        peak = min(SHARE * joint.velocity if joint.velocity > 0 else speed, speed)
        if span > MORE * logged_range:
            q = some.q.copy()
            q[:, j] = (low + high) / 2 + span * rng.uniform(-0.5, 0.5, T)
            help = f"move {name} further, through {span:.2g} {unit} (now {logged_range:.2g})"
            yield Motion(name, help), replace(some, q=q)
        if peak > MORE * logged_speed:
            v, a, phase = some.v.copy(), some.a.copy(), rng.uniform(0, 2 * np.pi, T)
            v[:, j], a[:, j] = peak * np.sin(phase), RISE * peak * np.cos(phase)
            help = f"move {name} faster, up to {peak:.2g} {unit}/s (now {logged_speed:.2g})"
            yield Motion(name, help), replace(some, v=v, a=a, slide=None)


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
        help = f"tilt the base by up to {np.degrees(TILT):.0f}° in all directions (now {np.degrees(leaned):.0f}°)"
        yield Motion("base", help), replace(some, up=up, acc=some.acc + GRAVITY * (up - some.up))
    for k, axis in enumerate("xyz"):
        phase = rng.uniform(0, 2 * np.pi, T)
        turned = float(np.abs(some.gyro[:, k]).max())
        if MORE * turned < TURN:
            gyro, alpha = some.gyro.copy(), some.alpha.copy()
            gyro[:, k], alpha[:, k] = TURN * np.sin(phase), RISE * TURN * np.cos(phase)
            help = f"rotate the base to and fro about {axis}, at up to {TURN:.2g} rad/s (now {turned:.2g})"
            yield Motion("base", help), replace(some, gyro=gyro, alpha=alpha)
        shaken = float(np.abs(some.acc[:, k] - GRAVITY * some.up[:, k]).max())
        if MORE * shaken < SHAKE:
            acc = some.acc.copy()
            acc[:, k] += SHAKE * np.sin(phase)
            help = f"shake the base along {axis} at {SHAKE:.2g} m/s² (now {shaken:.2g})"
            yield Motion("base", help), replace(some, acc=acc)
