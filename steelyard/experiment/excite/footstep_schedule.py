"""Footstep schedule: poses of the feet over time, and the reference of the zero-moment point.

In double support the zero-moment point moves from foot to foot; in single support it rests under the standing foot. All
paths are quintics from rest to rest, twice differentiable.

With the centre of mass c at a constant height z the zero-moment point is p = c − (z/g) c̈ (cart-table model).
``track_zmp`` finds the c whose p follows a reference with little jerk, minimising Σ (p − p*)² + r·c⃛² over the whole
motion as one banded system, which preview control approximates by a window of some seconds.
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

REST = 0.3  # s at rest at both ends
CALM = 0.8  # s that the zero-moment point rests at both ends where feet step: the centre of mass moves ahead of it
GRAVITY = 9.81  # m/s²
SMOOTH = 1e-10  # r, s⁶: p differs from p* by less than a tenth of a millimetre at the speed of feet


@dataclass(frozen=True)
class Footstep:
    """One step of a foot; times in s before stretching."""

    foot: int  # 0 left, 1 right
    lift: float  # s, when it leaves the ground
    land: float  # s, when it is back
    to: Array  # (3,) x, y (m) and yaw (rad) where it lands, relative to its pose at home
    height: float  # m
    hold: float = 0.0  # share of the step that it is held up (the leg's joints may move then)


@dataclass(frozen=True)
class FootstepSchedule:
    """Steps of both feet over time."""

    duration: float  # s
    places: Array  # (2, 3) x, y (m) and yaw (rad) of the soles at home
    steps: tuple[Footstep, ...] = ()
    inward: float = 0.0  # offset of the zero-moment point in single support, over the way to the other foot

    def scaled(self, reach: float) -> FootstepSchedule:
        """The schedule with the length of its steps multiplied by ``reach``."""
        return replace(self, steps=tuple(replace(s, to=s.to * reach) for s in self.steps))

    def foot_poses(self, time: Array) -> Array:
        """x, y, z (m) and yaw (rad) of each sole, (2, T, 4)."""
        out = np.zeros((2, len(time), 4))
        out[:, :, [0, 1, 3]] = self.places[:, None]
        at = self.places.copy()
        for step in self.steps:
            goal = self.places[step.foot] + step.to
            ramp = (1 - step.hold) / 2
            u = (time - step.lift) / (step.land - step.lift)
            up = smootherstep(u / ramp) * smootherstep((1 - u) / ramp)
            along = smootherstep((u - 0.15) / 0.7)  # clear of the ground first
            place = at[step.foot] + along[:, None] * (goal - at[step.foot])
            later = time >= step.lift
            out[step.foot, later, :2], out[step.foot, later, 3] = place[later, :2], place[later, 2]
            out[step.foot, :, 2] += step.height * up
            at[step.foot] = goal
        return out

    def in_contact(self, time: Array) -> Array:
        """Whether each sole is on the ground, (T, 2)."""
        out = np.ones((len(time), 2), bool)
        for step in self.steps:
            out[(time > step.lift + 1e-9) & (time < step.land - 1e-9), step.foot] = False
        return out

    def zmp_reference(self, time: Array) -> Array:
        """Reference (T, 2) of the zero-moment point, m: midway between the feet at both ends."""
        if not self.steps:
            return np.tile(self.places[:, :2].mean(axis=0), (len(time), 1))
        at, marks = self.places.copy(), [(CALM, self.places[:, :2].mean(axis=0))]
        for step in self.steps:
            under = at[1 - step.foot, :2] + self.inward * (at[step.foot, :2] - at[1 - step.foot, :2])
            marks += [(step.lift, under), (step.land, under)]
            at[step.foot] = self.places[step.foot] + step.to
        marks += [(self.duration - CALM, at[:, :2].mean(axis=0))]
        return interpolate_at_rest([t for t, _ in marks], np.array([x for _, x in marks]), time)


def smootherstep(u: Array) -> Array:
    """10u³ − 15u⁴ + 6u⁵ from 0 to 1, and constant outside."""
    return np.asarray(quintic(np.clip(u, 0.0, 1.0))[0])


def interpolate_at_rest(times: Sequence[float] | Array, values: Array, time: Array) -> Array:
    """Interpolate values (n, k) at ``times`` (n,) by quintics from rest to rest, evaluated at ``time``: (T, k)."""
    times_ = np.asarray(times, float)
    i = np.clip(np.searchsorted(times_, time, side="right") - 1, 0, len(times_) - 2)
    u = (time - times_[i]) / (times_[i + 1] - times_[i])
    return np.asarray(values[i] + smootherstep(u)[:, None] * (values[i + 1] - values[i]))


def track_zmp(reference: Array, step: float, height: float) -> Array:
    """Centre of mass (N, k) whose zero-moment point follows a reference (N, k), at rest at both ends.

    ``step`` is the time between samples, s; ``height`` that of the centre of mass, m.
    """
    c = np.zeros_like(reference)
    c[:2], c[-2:] = reference[0], reference[-1]
    A, factor = _system(len(reference), step, height)
    right = A.T @ (reference - A @ c)  # only the ends of c are set
    c[2:-2] = cho_solve_banded((factor, False), right[2:-2])
    return c


@lru_cache(maxsize=64)
def _system(count: int, step: float, height: float) -> tuple[Any, Array]:
    """Sparse map (N, N) from c to p, and the banded Cholesky factor for all but two samples at each end."""
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
