"""When which foot is where: steps on the ground, and the zero-moment point that carries them.

Between steps the zero-moment point goes from foot to foot while both stand; while a foot is up it rests under the
other. All goes by the quintic that starts and ends at rest, so everything has two derivatives.

With the centre of mass c at height z the zero-moment point is p = c − (z/g) c̈: a cart on a table. ``preview`` finds
the c whose p follows a reference with little jerk, Σ (p − p*)² + r·c⃛², all of the future known: what preview control
approximates by a window of some seconds, as one banded system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.sparse import diags_array

from steelyard.experiment.simulate.reference import quintic
from steelyard.spatial import Array

REST = 0.3  # s of standing still at both ends
CALM = 0.8  # s the same of the zero-moment point where feet step: the centre of mass goes before it
GRAVITY = 9.81  # m/s²
SMOOTH = 1e-10  # r, s⁶: bends p* by less than a tenth of a millimetre where it moves as fast as feet do


@dataclass(frozen=True)
class Footstep:
    """One foot, up and down again; times in s before any stretching."""

    foot: int  # 0 left, 1 right
    lift: float  # s, when it leaves the ground
    land: float  # s, when it is back
    to: Array  # (3,) x, y m and yaw rad, where it comes down, relative to where it stood at home
    height: float  # m
    hold: float = 0.0  # share of the time between that it stays up and still (it moves by its own joints then)


@dataclass(frozen=True)
class Schedule:
    """Feet over time; ``places`` (2, 3) x, y, yaw at home."""

    duration: float  # s
    places: Array
    steps: tuple[Footstep, ...] = ()
    inward: float = 0.0  # of the way to the other foot, where a foot that stands alone is pressed

    def scaled(self, reach: float) -> Schedule:
        """With steps that go less far."""
        return replace(self, steps=tuple(replace(s, to=s.to * reach) for s in self.steps))

    def feet(self, time: Array) -> Array:
        """(2, T, 4) x, y, z, yaw of each sole."""
        out = np.zeros((2, len(time), 4))
        out[:, :, [0, 1, 3]] = self.places[:, None]
        at = self.places.copy()
        for step in self.steps:
            goal = self.places[step.foot] + step.to
            ramp = (1 - step.hold) / 2
            u = (time - step.lift) / (step.land - step.lift)
            up = smooth(u / ramp) * smooth((1 - u) / ramp)
            along = smooth((u - 0.15) / 0.7)  # clear of the ground first
            place = at[step.foot] + along[:, None] * (goal - at[step.foot])
            later = time >= step.lift
            out[step.foot, later, :2], out[step.foot, later, 3] = place[later, :2], place[later, 2]
            out[step.foot, :, 2] += step.height * up
            at[step.foot] = goal
        return out

    def standing(self, time: Array) -> Array:
        """(T, 2) whether a sole is on the ground."""
        out = np.ones((len(time), 2), bool)
        for step in self.steps:
            out[(time > step.lift + 1e-9) & (time < step.land - 1e-9), step.foot] = False
        return out

    def reference(self, time: Array) -> Array:
        """(T, 2) m, zero-moment point: amid both feet at the ends, under the standing foot while the other is up."""
        if not self.steps:
            return np.tile(self.places[:, :2].mean(axis=0), (len(time), 1))
        at, marks = self.places.copy(), [(CALM, self.places[:, :2].mean(axis=0))]
        for step in self.steps:
            under = at[1 - step.foot, :2] + self.inward * (at[step.foot, :2] - at[1 - step.foot, :2])
            marks += [(step.lift, under), (step.land, under)]
            at[step.foot] = self.places[step.foot] + step.to
        marks += [(self.duration - CALM, at[:, :2].mean(axis=0))]
        return joined([t for t, _ in marks], np.array([x for _, x in marks]), time)


def smooth(u: Array) -> Array:
    """10u³ − 15u⁴ + 6u⁵ from 0 to 1, and constant outside."""
    return np.asarray(quintic(np.clip(u, 0.0, 1.0))[0])


def joined(times: Sequence[float] | Array, values: Array, time: Array) -> Array:
    """(T, k) from value to value (n, k), at rest at each."""
    times_ = np.asarray(times, float)
    i = np.clip(np.searchsorted(times_, time, side="right") - 1, 0, len(times_) - 2)
    u = (time - times_[i]) / (times_[i + 1] - times_[i])
    return np.asarray(values[i] + smooth(u)[:, None] * (values[i + 1] - values[i]))


def preview(reference: Array, step: float, height: float) -> Array:
    """(N, k) centre of mass for a zero-moment point (N, k), at rest at both ends; ``step`` s between samples."""
    c = np.zeros_like(reference)
    c[:2], c[-2:] = reference[0], reference[-1]
    A, factor = _system(len(reference), step, height)
    right = A.T @ (reference - A @ c)  # of its ends, the rest still zero
    c[2:-2] = cho_solve_banded((factor, False), right[2:-2])
    return c


@lru_cache(maxsize=64)
def _system(count: int, step: float, height: float) -> tuple[Any, Array]:
    """The map from c to p (N, N), sparse; and the banded factor of the normal equations of all but two at each end."""
    k = height / GRAVITY / step**2
    A: Any = diags_array([-k, 1 + 2 * k, -k], offsets=[-1, 0, 1], shape=(count, count)).tolil()
    A[0, :3] = A[-1, -3:] = 0.0
    A[0, 0] = A[-1, -1] = 1.0
    A = A.tocsr()
    D: Any = diags_array([-1.0, 3.0, -3.0, 1.0], offsets=[0, 1, 2, 3], shape=(count - 3, count)).tocsr() / step**3
    H = (A.T @ A + SMOOTH * (D.T @ D)).tocsr()[2:-2, 2:-2]
    bands = np.zeros((4, count - 4))
    for i in range(4):
        bands[3 - i, i:] = H.diagonal(i)
    return A, cholesky_banded(bands)
