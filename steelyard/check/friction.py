"""Friction: which sign of a torque it tells, and columns that keep it from being taken for something else.

Friction takes power, so ``(viscous · v + dry · sign v) · v`` is never negative. Before it slips it is a spring: where a
joint turns round, dry friction turns over within some way, not at once (Dahl).
"""

from __future__ import annotations

import numpy as np

from steelyard.check.torque_balance import TorqueBalance, left
from steelyard.spatial import Array

RUBS = 0.5  # share of the rest that friction must explain to tell a sign, and its correlation with speed
SPRINGS = (5e-4, 2e-3, 8e-3, 3e-2)  # rad or m: way after a reversal in which friction turns over


def rubbing(torque: Array, v: Array, dry: Array, beside: Array) -> int:
    """1 where friction takes power, −1 where it would drive the joint, 0 where there is too little of it."""
    rest = left(beside, np.column_stack([torque, v, dry]))
    friction = np.linalg.lstsq(rest[:, 1:], rest[:, 0], rcond=None)[0]
    rubs = np.linalg.norm(rest[:, 1:] @ friction) ** 2 > RUBS * np.linalg.norm(rest[:, 0]) ** 2
    both = np.column_stack([v, dry]) @ friction
    power = float(both @ v) / max(float(np.linalg.norm(both) * np.linalg.norm(v)), 1e-300)
    return int(np.sign(power)) if rubs and abs(power) > RUBS else 0


def more_friction(balance: TorqueBalance) -> Array:
    """(T, J, …) friction that the usual columns lack: of the root of the speed, of the gears' load, of springs."""
    found, row = [], 0
    for p in balance.pieces:
        v, rows = p.segment.v, slice(row, row + len(p.centres))
        row = rows.stop
        load = np.column_stack(
            [np.interp(p.segment.time, balance.time[rows], x) for x in np.abs(balance.predicted[rows]).T]
        )
        columns = [np.sign(v) * np.sqrt(np.abs(v)), np.sign(v) * load, *_springs(p.segment.q)]
        found.append(np.stack([p.smooth(x) for x in columns], axis=2))
    return np.concatenate(found)


def _springs(q: Array) -> Array:
    """(S, T, J) dry friction that turns over within about each of ``SPRINGS`` of way after a reversal (Dahl)."""
    step = np.diff(q, axis=0, prepend=q[:1])
    sign = np.sign(step)
    fade = np.exp(-np.abs(step) / np.array(SPRINGS)[:, None, None])  # (S, T, J)
    z = np.zeros_like(fade)
    z[:, 0] = sign[min(1, len(sign) - 1)]
    for t in range(1, len(q)):
        z[:, t] = sign[t] + (z[:, t - 1] - sign[t]) * fade[:, t]
    return np.asarray(z)
