"""Friction: the sign of a torque that it implies, and friction columns beyond viscous and Coulomb.

Friction dissipates, so ``(viscous · v + coulomb · sign v) · v`` is never negative. Before it slips it acts as a spring:
after a reversal dry friction changes sign over some distance, not at once (Dahl).
"""

from __future__ import annotations

import numpy as np

from steelyard.check.torque_balance import TorqueBalance, residual
from steelyard.spatial import Array

EXPLAINED = 0.5  # least share of the residual that friction must explain to imply a sign, and correlation with speed
SPRINGS = (5e-4, 2e-3, 8e-3, 3e-2)  # rad or m after a reversal over which friction changes sign


def friction_sign(torque: Array, v: Array, dry: Array, others: Array) -> int:
    """1 where friction dissipates, −1 where it would drive the joint, 0 where there is too little of it.

    Args:
        torque: (T,) measured.
        v: (T,) column of viscous friction.
        dry: (T,) column of Coulomb friction.
        others: (T, k) columns to project out first.
    """
    rest = residual(others, np.column_stack([torque, v, dry]))
    friction = np.linalg.lstsq(rest[:, 1:], rest[:, 0], rcond=None)[0]
    explains = np.linalg.norm(rest[:, 1:] @ friction) ** 2 > EXPLAINED * np.linalg.norm(rest[:, 0]) ** 2
    both = np.column_stack([v, dry]) @ friction
    power = float(both @ v) / max(float(np.linalg.norm(both) * np.linalg.norm(v)), 1e-300)
    return int(np.sign(power)) if explains and abs(power) > EXPLAINED else 0


def more_friction(balance: TorqueBalance) -> Array:
    """(T, J, …) further friction columns: root of the speed, load on the gears, presliding springs."""
    pieces, row = [], 0
    for p in balance.pieces:
        v, rows = p.segment.v, slice(row, row + len(p.centres))
        row = rows.stop
        load = np.column_stack(
            [np.interp(p.segment.time, balance.time[rows], x) for x in np.abs(balance.predicted[rows]).T]
        )
        columns = [np.sign(v) * np.sqrt(np.abs(v)), np.sign(v) * load, *_springs(p.segment.q)]
        pieces.append(np.stack([p.smooth(x) for x in columns], axis=2))
    return np.concatenate(pieces)


def _springs(q: Array) -> Array:
    """(S, T, J) dry friction that changes sign over about each of ``SPRINGS`` after a reversal (Dahl)."""
    step = np.diff(q, axis=0, prepend=q[:1])
    sign = np.sign(step)
    fade = np.exp(-np.abs(step) / np.array(SPRINGS)[:, None, None])  # (S, T, J)
    z = np.zeros_like(fade)
    z[:, 0] = sign[min(1, len(sign) - 1)]
    for t in range(1, len(q)):
        z[:, t] = sign[t] + (z[:, t - 1] - sign[t]) * fade[:, t]
    return np.asarray(z)
