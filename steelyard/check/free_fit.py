"""A torque balance fitted with all parameters free, and what an additional cause would explain of its residual.

A description that is wrong about masses is no fault of a log. So every hypothesis about the log is a set of columns D
beside those of all bodies, friction, armature and offsets, ``y ≈ Yθ + Dx``: it must explain what no robot of this
kinematics explains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from steelyard.check.torque_balance import TorqueBalance, basis, long_run
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.segment import Segment
from steelyard.robot.model import Robot
from steelyard.spatial import Array

MOST_ROWS = 300  # of a balance that are used
FLOOR = 0.01  # of a row's rms: smaller residuals are those of an exact simulation, whose model error is not noise
SEEN = 1e-4  # share of a column's squares outside the span of all parameters, below which it is not seen


class Explained(NamedTuple):
    """Coefficients of a hypothesis."""

    values: Array  # (k,)
    covariance: Array  # (k, k), with the residual's autocorrelation
    ratio: float  # squared residual with the hypothesis, of that without

    @property
    def sigmas(self) -> float:
        """Distance from zero in standard deviations (Mahalanobis)."""
        if not np.all(np.isfinite(self.covariance)):
            return 0.0
        distance = float(self.values @ np.linalg.pinv(self.covariance) @ self.values)
        return float(np.sqrt(distance)) if distance > 0 else 0.0


@dataclass(frozen=True)
class FreeFit:
    """Least squares of a balance with all parameters free, each row scaled by its residual."""

    balance: TorqueBalance
    rows: Array  # (T,) indices of the balance's samples
    scale: Array  # (C,) N·m
    Q: Array  # (T·C, r) orthonormal basis of the scaled columns
    residual: Array  # (T, C) scaled

    @classmethod
    def of(cls, balance: TorqueBalance, most: int = MOST_ROWS) -> FreeFit:
        """Fit twice: the second time with rows scaled by the residuals of the first."""
        count = len(balance.time)
        rows = np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))
        Y, y = balance.Y[rows], target(balance)[rows]
        size = np.sqrt(np.mean(y**2, axis=0))
        size = np.where(size > 0, size, 1.0)
        scale = size
        for _ in range(2):
            Q = basis((Y / scale[:, None]).reshape(-1, Y.shape[2]))
            rest = (y / scale).ravel()
            rest = (rest - Q @ (Q.T @ rest)).reshape(y.shape)
            last, scale = scale, np.maximum(scale * np.sqrt(np.mean(rest**2, axis=0)), FLOOR * size)
        return cls(balance, rows, last, Q, rest)

    @property
    def time(self) -> Array:
        """(T,) s."""
        return self.balance.time[self.rows]

    @property
    def Y(self) -> Array:
        """(T, C, n) columns, not scaled."""
        return self.balance.Y[self.rows]

    @cached_property
    def theta(self) -> Array:
        """(n,) parameters: those of the data, and of the description where the data do not determine them."""
        balance, bodies = self.balance, 10 * len(self.balance.columns.bodies)
        root = np.zeros((balance.columns.n,) * 2)
        root[:bodies, :bodies] = priors.make(balance.robot, Columns(balance.columns.bodies)).K
        described = np.zeros(balance.columns.n)
        described[:bodies] = balance.robot.prior
        Y = (self.Y / self.scale[:, None]).reshape(-1, balance.columns.n)
        noise = max(long_run(self.residual) / max(self.residual.size - self.Q.shape[1], 1), 1.0)
        A = Y.T @ Y / noise + root.T @ root
        length = np.sqrt(np.diag(A))
        length = np.where(length > 0, length, 1.0)
        b = Y.T @ ((target(balance)[self.rows] / self.scale).ravel() - Y @ described) / noise
        ridge = 1e-10 * np.eye(len(A))
        return np.asarray(described + np.linalg.solve(A / np.outer(length, length) + ridge, b / length) / length)

    def explain(self, columns: Array) -> Explained:
        """Regress the residual on columns (T, C, k), all parameters free."""
        D = (columns / self.scale[:, None]).reshape(-1, columns.shape[2])
        rest = D - self.Q @ (self.Q.T @ D)
        k, r = D.shape[1], self.residual.ravel()
        length, whole = np.sum(rest**2, axis=0), np.sum(D**2, axis=0)
        seen = (whole > 0) & (length > SEEN * whole)
        values, covariance = np.zeros(k), np.diag(np.full(k, np.inf))
        if not seen.any():
            return Explained(values, covariance, 1.0)
        inverse = np.linalg.pinv(rest[:, seen].T @ rest[:, seen], rcond=1e-9, hermitian=True)
        values[seen] = inverse @ (rest[:, seen].T @ r)
        after = r - rest @ values
        count = max(r.size - self.Q.shape[1] - k, 1)
        noise = max(long_run(after.reshape(self.residual.shape)) / count, 1e-12)
        covariance[np.ix_(seen, seen)] = noise * inverse
        floor = 1e-2 * r.size  # of exact logs, whose rows are scaled by more than their residual
        return Explained(values, covariance, float((after @ after + floor) / (r @ r + floor)))

    def torque(self, robot: Robot, change: Callable[[Segment], Segment]) -> Array:
        """(T, J) torque of the fitted bodies in other states: of another robot, or with changed segments."""
        bodies = self.balance.columns.bodies
        regressor = Dynamics(robot, change(centres(self.balance, self.rows))).regressor(bodies)
        return np.asarray(regressor @ self.theta[: 10 * len(bodies)])


def target(balance: TorqueBalance) -> Array:
    """(T, C) measured side of the rows."""
    return np.asarray(balance.other + balance.measured.sum(axis=2))


def centres(balance: TorqueBalance, rows: Array) -> Segment:
    """Joint states at the times of some rows, not low-passed as rows are; of a fixed robot."""
    parts = [p.segment.part(slice(int(p.centres[0]), int(p.centres[-1]) + 1, p.step)) for p in balance.pieces]
    q, v, a = (np.concatenate([getattr(s, name) for s in parts])[rows] for name in "qva")
    one = replace(parts[0].part(slice(0, 1)), tau=None, current={}, wrench={}, sensor={}, plates={})
    return replace(one, time=balance.time[rows], q=q, v=v, a=a)
