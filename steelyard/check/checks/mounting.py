"""A base that is tilted by a few degrees, and wrong zeros of encoders, of a robot on a fixed base.

Gravity tilted by δ adds ``G(q) (δ × g)`` to the torques; an encoder that is off by δ adds ``∂τ/∂q_j δ``. Both are
linear in δ to first order, with the torques of the robot that fits best (``free_fit.py``): an offset that another mass
distribution explains as well is not seen, and does no harm to the prediction. Tilts beyond 30° are those of
``gravity.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.check.free_fit import Explained, FreeFit
from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding, Severity
from steelyard.log.log import Log
from steelyard.spatial import Array

TILT, TILT_WRONG = 2.0, 10.0  # degrees: doubtful, and refused
TILT_RATIO = 0.7  # largest squared residual with the tilt, of that without; at least 0.985 on good logs of real arms
ZERO = 2.0  # degrees: an encoder further off is doubtful
ZERO_RATIO = 0.9  # largest squared residual with the offset, of that without; at least 0.98 on good logs
CLEAR = 6.0  # standard deviations between either and zero
STEP = 1e-3  # rad or m, of the numerical derivative
MOST = 35.0  # degrees: beyond, the first order does not hold


class Mounting(Check):
    """Tilt of a fixed base, and offsets of encoders; judged where nothing else is wrong."""

    rank = 62
    after_others = True

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        fit = subject.free_fit
        if fit is None or not subject.moves or not np.any(fit.balance.robot.gravity):
            return []
        tilt, zeros = tilt_of(fit), zeros_of(fit)
        joint = min(zeros, key=lambda j: zeros[j].ratio)
        if tilt.ratio <= zeros[joint].ratio:
            return _tilted(subject.log, fit, tilt)
        return _off(subject.log, joint, zeros[joint])


def tilt_of(fit: FreeFit) -> Explained:
    """Tilt of gravity, rad, about two axes across it."""
    robot = fit.balance.robot
    columns = []
    for across in _across(robot.gravity):
        model = robot.model.copy()
        model.gravity.linear = across * np.linalg.norm(robot.gravity)
        still = replace(robot, model=model)
        columns.append(fit.torque(still, lambda s: replace(s, v=0 * s.v, a=0 * s.a)))
    return fit.explain(np.stack(columns, axis=2))


def zeros_of(fit: FreeFit) -> dict[str, Explained]:
    """Joint → its offset, rad; of each joint alone."""
    robot, zeros = fit.balance.robot, {}
    for j, joint in enumerate(robot.joints):
        shift = STEP * np.eye(len(robot.joints))[j]
        ahead, behind = (fit.torque(robot, lambda s, x=sign * shift: replace(s, q=s.q + x)) for sign in (1, -1))  # type: ignore[misc]
        zeros[joint] = fit.explain(((ahead - behind) / (2 * STEP))[:, :, None])
    return zeros


def _across(gravity: Array) -> Array:
    """(2, 3) unit vectors across gravity."""
    return np.asarray(np.linalg.svd(gravity[None] / np.linalg.norm(gravity))[2][1:])


def _tilted(log: Log, fit: FreeFit, tilt: Explained) -> list[Finding]:
    robot = fit.balance.robot
    angle = float(np.degrees(np.linalg.norm(tilt.values)))
    if not TILT <= angle <= MOST or tilt.ratio > TILT_RATIO or tilt.sigmas < CLEAR:
        return []
    size = float(np.linalg.norm(robot.gravity))
    direction = robot.gravity / size + tilt.values @ _across(robot.gravity)
    gravity = [float(f"{x:.3g}") for x in size * direction / np.linalg.norm(direction) + 0.0]
    what = f"agrees with gravity {angle:.1f}° from the described direction: the base is tilted"
    fix = f"Give gravity={gravity}, or tilt the base in the description"
    severity: Severity = "error" if angle >= TILT_WRONG else "doubt"
    return [Finding("gravity-direction", f"{log.source}, tau", what, fix, {"gravity": gravity}, severity)]


def _off(log: Log, joint: str, zero: Explained) -> list[Finding]:
    offset, angle = float(zero.values[0]), float(np.degrees(abs(zero.values[0])))
    if not ZERO <= angle <= MOST or zero.ratio > ZERO_RATIO or zero.sigmas < CLEAR:
        return []
    what = f"agrees with the torques only with {offset:.3g} rad ({np.degrees(offset):.1f}°) added: a wrong zero"
    remedy = {"column": f"q.{joint}", "add": offset}
    return [
        Finding("encoder-zero", f"{log.source}, q.{joint}", what, "Correct the zero of the encoder", remedy, "doubt")
    ]
