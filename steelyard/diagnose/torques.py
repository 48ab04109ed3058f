"""Torques held against what the described robot would need: sign, gear ratio, motor side; and their delay.

For each joint the measured torque is regressed on the description's prediction, with friction, rotor inertia and offset
beside it. Descriptions are wrong by tens of percent, not by factors: a factor far from one is a unit, a gear or a sign.
The delay needs no description: rows fit best when torque and motion belong together in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding
from steelyard.gains import partial
from steelyard.log import Log
from steelyard.regressor import Columns, Rows
from steelyard.robot import Robot
from steelyard.samples import Filter, Segment, lowpass

Array = np.ndarray

EXPLAINED = 0.6  # the prediction must explain this share of what friction and offset leave, or it says nothing
SMALLEST, LARGEST = 1 / 8, 8.0  # factors between these, and any above, are the description's fault or a load's
REACH, STEP = 0.06, 0.002  # s: delays are looked for this far, on this grid


@dataclass(frozen=True)
class Delay:
    """By how much torque comes after motion."""

    seconds: float
    std: float

    def __str__(self) -> str:
        return f"{1e3 * self.seconds:.1f} ± {1e3 * 1.96 * self.std:.1f} ms"


def gain_findings(robot: Robot, log: Log, segments: Sequence[Segment], filter: Filter) -> list[Finding]:
    """Joints whose torque has the wrong sign or is a factor off."""
    names = tuple(b.name for b in robot.bodies)
    theta = robot.prior
    found = []
    blocks = list(Rows(robot, segments, Columns(names), "joint", (), filter))
    predicted = np.concatenate([b.Y @ theta for b in blocks])
    measured = np.concatenate([b.target for b in blocks])
    time = np.concatenate([b.time for b in blocks])
    for k, joint in enumerate(robot.joints):
        v = np.interp(time, np.concatenate([s.time for s in segments]), np.concatenate([s.v[:, k] for s in segments]))
        a = np.interp(time, np.concatenate([s.time for s in segments]), np.concatenate([s.a[:, k] for s in segments]))
        beside = np.column_stack([v, np.tanh(v / 0.02), a, np.ones_like(v)])
        gain, explained = partial(predicted[:, k], measured[:, k], beside)
        if explained < EXPLAINED or gain >= SMALLEST or gain <= -LARGEST:
            continue
        if gain < -SMALLEST:
            what, fix = f"is {gain:.2g} times what the robot needs: its sign is reversed", f"Negate tau.{joint}"
        else:
            what = f"is {gain:.3g} times what the robot needs: motor side, a gear ratio or a unit is missing"
            fix = f"Multiply tau.{joint} by the gear ratio (about {1 / gain:.3g})"
        found.append(Finding(f"{log.source}, tau.{joint}", what, fix))
    return found


def delay(robot: Robot, segments: Sequence[Segment], columns: Columns, filter: Filter) -> Delay | None:
    """Delay of torque against motion by the least residual of the joint rows; None where the log cannot tell."""
    segment = max(segments, key=lambda s: len(s.time))
    rows = Rows(robot, [segment], columns, "joint", (), filter)
    blocks = list(rows)
    J = len(robot.joints)  # sensors' rows follow after them
    Y = np.concatenate([b.Y[:, :J] for b in blocks])
    target = np.concatenate([b.target[:, :J] for b in blocks])
    time = np.concatenate([b.time for b in blocks])
    scale = np.sqrt(np.mean(target**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    n = columns.n
    rank_basis = _basis((Y / scale[:, None]).reshape(-1, n))
    taps = lowpass(segment.rate, filter.cutoff or 10.0)
    assert segment.tau is not None
    smooth = np.apply_along_axis(np.convolve, 0, segment.tau / scale, taps, "valid")
    grid = segment.time[len(taps) // 2 : len(segment.time) - len(taps) // 2]
    inner = (time > grid[0] + REACH) & (time < grid[-1] - REACH)
    shifts = np.arange(-REACH, REACH + STEP / 2, STEP)
    weights = None
    for _ in range(2):  # the second time with each joint's own noise
        costs, residuals = [], []
        for shift in shifts:
            shifted = np.column_stack([np.interp(time + shift, grid, s) for s in smooth.T])
            r = shifted.ravel() - rank_basis @ (rank_basis.T @ shifted.ravel())
            r = r.reshape(shifted.shape)[inner]
            residuals.append(r)
            costs.append(np.sum((r if weights is None else r * weights) ** 2))
        best = int(np.argmin(costs))
        sigma = np.sqrt(np.mean(residuals[best] ** 2, axis=0))
        weights = 1 / np.maximum(sigma, 1e-9)
    if best in (0, len(shifts) - 1):
        return None
    c = np.asarray(costs)
    curvature = (c[best - 1] - 2 * c[best] + c[best + 1]) / STEP**2
    if curvature <= 0:
        return None
    seconds = shifts[best] - STEP * 0.5 * (c[best + 1] - c[best - 1]) / (c[best - 1] - 2 * c[best] + c[best + 1])
    correlated = 0.5 * segment.rate / max(filter.cutoff or 10.0, 1e-9) / max(1, round(segment.rate / 40))
    noise = c[best] / residuals[best].size
    std = float(np.sqrt(2 * noise * max(correlated, 1.0) / curvature))
    return Delay(float(seconds), std)


def _basis(A: Array) -> Array:
    """Orthonormal basis of the columns' span, well enough for a projection."""
    scale = np.linalg.norm(A, axis=0)
    A = A / np.where(scale > 0, scale, 1.0)
    w, V = np.linalg.eigh(A.T @ A)
    seen = w > 1e-10 * w[-1]
    return np.asarray(A @ (V[:, seen] / np.sqrt(w[seen])))
