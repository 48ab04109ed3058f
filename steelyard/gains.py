"""Drive gains that nobody knows: motor currents instead of torques.

With target 0 and a column −i for each gain, least squares shrinks gains and masses together, since the noise is in the
current and not in the torque. So gains and parameters are found in turn: parameters from torques K·i, then each gain
by regressing the current on the predicted torque. Twice the gains and twice the masses explain the same log, so
the overall scale stays where the described robot puts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard import noise
from steelyard.holdout import HoldOut, Training
from steelyard.information import Information
from steelyard.log import Log
from steelyard.prior import Prior
from steelyard.regressor import Block, Rows
from steelyard.samples import Filter, prepare

if TYPE_CHECKING:
    from steelyard.plan import Plan

Array = np.ndarray

NOISE = 0.05  # of each row's rms torque: a guess that weighs joints alike
TELLING = 0.3  # share of a current, beside friction, that rigid-body torque must explain for it to tell the gain
ROUNDS, SETTLED = 50, 1e-4  # at most so many rounds, or until no gain changes by more than this share


def needs_gain(log: Log, joint: str) -> bool:
    """Whether a joint has a current but neither a torque nor a known gain."""
    return not log.has(f"tau.{joint}") and joint not in log.metadata.get("gains", {})


def with_gains(log: Log, gains: dict[str, float]) -> Log:
    """The same log with these gains (N·m/A) known."""
    return replace(log, metadata={**log.metadata, "gains": {**log.metadata.get("gains", {}), **gains}})


def drive_gains(
    plan: Plan, logs: Sequence[Log], filter: Filter, prior: Prior, hold_out: float | None = None
) -> dict[str, float]:
    """Gains (N·m/A) of the joints whose columns hold one, from what is not held out."""
    segments = [prepare(plan.robot, log, filter, torques=True)[0] for log in logs]
    each = [Rows(plan.robot, part, plan.columns, "joint", (), filter) for part in segments]
    blocks = list(Training([(r, HoldOut.of(log, hold_out)) for r, log in zip(each, logs, strict=True)]))
    at = {j: k for k, (j, term) in enumerate(plan.columns.joint_terms, 10 * len(plan.columns.bodies)) if term == "gain"}
    index, others = np.array(list(at.values())), np.setdiff1d(np.arange(plan.columns.n), list(at.values()))
    channel = [each[0].names.index(joint) for joint in at]
    belief = prior.information.marginal(others)
    parameters = prior.mean[others]
    bodies = 10 * len(plan.columns.bodies)
    terms = others[others >= bodies]
    gains = first = _regressed(blocks, parameters, bodies, terms, index, channel)
    for _ in range(ROUNDS):
        known = [Block(b.time, b.Y[:, :, others], b.target - b.Y[:, :, index] @ gains, b.first) for b in blocks]
        scale = np.sqrt(np.mean(np.concatenate([b.target for b in known]) ** 2, axis=0))
        weights = noise.Noise.unit(NOISE * np.where(scale > 0, scale, 1.0))
        names = tuple(plan.columns.names[i] for i in others)
        info: Information = noise.information(known, weights, names)
        parameters = (info + belief).solve()
        before, gains = gains, _regressed(blocks, parameters, bodies, terms, index, channel)
        if len(at) == len(plan.robot.joints):  # no joint with a torque fixes the scale: keep it
            gains = gains * np.exp(np.mean(np.log(first / gains)))
        if np.max(np.abs(gains / before - 1)) < SETTLED:
            break
    return dict(zip(at, gains.tolist(), strict=True))


def _regressed(
    blocks: Sequence[Block], parameters: Array, bodies: int, terms: Array, index: Array, channel: list[int]
) -> Array:
    """Gain of each joint by regressing its current on the predicted rigid-body torque, friction beside it.

    A joint whose current is nearly all friction says nothing about its gain: it gets the others' median.
    """
    Y = np.concatenate([b.Y for b in blocks])
    other = np.concatenate([b.target for b in blocks])
    found = np.full(len(index), np.nan)
    for k, (column, row) in enumerate(zip(index, channel, strict=True)):
        torque, current = Y[:, row, :bodies] @ parameters[:bodies] - other[:, row], -Y[:, row, column]
        beside = Y[:, row][:, terms]
        slope, explained = partial(torque, current, beside[:, np.any(beside != 0, axis=0)])
        if explained > TELLING and slope > 0:
            found[k] = 1 / slope
    typical = float(np.nanmedian(found)) if np.isfinite(found).any() else 1.0
    return np.asarray(np.where(np.isfinite(found), found, typical))


def partial(x: Array, y: Array, beside: Array) -> tuple[float, float]:
    """Slope of y on x with other columns beside, and the share of the rest of y that x explains."""
    if beside.size:
        Q = np.linalg.qr(beside / np.maximum(np.linalg.norm(beside, axis=0), 1e-12))[0]
        x, y = x - Q @ (Q.T @ x), y - Q @ (Q.T @ y)
    xx, yy, xy = float(x @ x), float(y @ y), float(x @ y)
    return (xy / xx, xy * xy / (xx * yy)) if xx > 0 and yy > 0 else (1.0, 0.0)
