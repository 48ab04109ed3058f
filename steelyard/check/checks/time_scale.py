"""Stamps of a fixed robot at a wrong rate, found by gravity: the only torque that does not depend on time.

The rows are Y = G + M with G the columns at rest and M those of the motion, which scale with the square of the rate.
First moments of bodies are in both. So with all parameters free, friction and armature included, τ ≈ (G + α M) θ is
best at α = 1, whatever inertias are described; stamps that are s times too long give α = s².
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.check.torque_balance import ROUNDING, TorqueBalance, slowed
from steelyard.equations.setup import Setup
from steelyard.errors import Finding, Severity
from steelyard.log.log import Log
from steelyard.spatial import Array

SCALES = np.geomspace(1 / 4, 4.0, 33)  # of time, that are tried
DOUBTED, WRONG = (
    0.9,
    0.5,
)  # squared residual at the best scale, of that at one; at least 0.98 on good logs of real robots
NEAR = 1.2  # a scale within this factor of one is none


class TimeScale(Check):
    """Time that runs too fast or too slowly; judged where nothing else is wrong."""

    rank = 95
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        setup, log, balance = subject.setup, subject.log, subject.balance
        if balance is None or setup.robot.floating or not balance.separate or not subject.moves or not balance.pieces:
            return []
        scale, ratio = time_scale(setup, log, balance)
        if 1 / NEAR < scale < NEAR or ratio > DOUBTED:
            return []
        severity: Severity = "error" if ratio < WRONG else "doubt"
        what = f"is {scale:.2g} times too long for the ratio of gravity and inertia in the torques: a wrong rate"
        remedy = {"column": "time", "scale": 1 / scale}
        return [
            Finding("time-scale", f"{log.source}, time", what, f"Divide the stamps by {scale:.2g}", remedy, severity)
        ]


def time_scale(setup: Setup, log: Log, balance: TorqueBalance) -> tuple[float, float]:
    """Factor by which stamps are too long, and the squared residual with it relative to that without."""
    assert setup.filter is not None
    at_rest = replace(setup, columns=balance.columns, unknown=(), filter=slowed(setup.filter, log))
    used, bodies = len(balance.names), 10 * len(balance.columns.bodies)
    still = [replace(p.segment, v=0 * p.segment.v, a=0 * p.segment.a) for p in balance.pieces]
    G = np.concatenate([b.Y[:, :used, :bodies] for s in still for b in at_rest.rows([s])])
    measured = balance.other + balance.measured.sum(axis=2)
    size = np.sqrt(np.mean(measured**2, axis=0))
    weight = 1 / np.where(size > 0, size, 1.0)
    columns = np.concatenate([G, balance.Y[:, :, :bodies] - G, balance.Y[:, :, bodies:], measured[:, :, None]], axis=2)
    products = _products(columns * weight[:, None])
    residuals = np.array([_residual(products, bodies, scale**2) for scale in SCALES])
    best = int(np.argmin(residuals))
    return float(SCALES[best]), float(residuals[best] / max(residuals[len(SCALES) // 2], 1e-300))


def _products(columns: Array) -> Array:
    flat = columns.reshape(-1, columns.shape[2])
    return np.asarray(flat.T @ flat)


def _residual(products: Array, bodies: int, alpha: float) -> float:
    """Squared residual of the last column on G + α M and the joint terms, from the products of all columns."""
    n = len(products) - 2 * bodies
    S = np.zeros((len(products), bodies + n))
    S[:bodies, :bodies], S[bodies : 2 * bodies, :bodies], S[2 * bodies :, bodies:] = (
        np.eye(bodies),
        alpha * np.eye(bodies),
        np.eye(n),
    )
    P = S.T @ products @ S
    A, b, yy = P[:-1, :-1], P[:-1, -1], float(P[-1, -1])
    length = np.sqrt(np.maximum(np.diag(A), 0.0))
    length = np.where(length > ROUNDING * length.max(initial=0.0), length, np.inf)
    w, V = np.linalg.eigh(A / np.outer(length, length))
    kept = w > 1e-10 * w[-1]
    c = V[:, kept].T @ (b / length)
    return max(yy - float(np.sum(c * c / w[kept])), 1e-12 * yy)
