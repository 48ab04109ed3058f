"""One trial: stand over a support line, lift the other two feet, and measure which way and how fast the robot tips.

Bisection needs the direction only. The speed is more informative: integrating dL/dt = M g s
(``quadruped_stance.py``) from the instant the feet are up gives, with the believed lever arm s₀(t) of every sample,

    L(t) / M g − ∫ s₀ = constant + b t,

and the slope b is the true lever arm minus the believed one. Lifted legs, sagging joints and rolling feet are in both
L and s₀ and cancel. L is computed with the believed inertia about the line; the error of b is proportional to s and
vanishes at balance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import savgol_filter

from steelyard.errors import Finding, LogError
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.rig import Rig, ramp
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

MOVE = 1.0  # s, into the posture
REST = 1.2  # s, at rest in it
LIFT = 0.12  # s, to lift two feet
WATCH = 0.6  # s, on two feet
SEEN = 0.7  # s, of the rest that are averaged
WINDOW = 0.2  # s, of the fall that are fitted at most
HEIGHT = 0.03  # m, by which feet are lifted
SMOOTH = 0.042  # s, of a local cubic through joint positions
STILL = 0.05  # rad/s rms of the low-passed gyro; a robot at rest has less
FALLEN = 0.6  # rad, of tilt


@dataclass(frozen=True)
class Rest:
    """Mean sensor readings of a robot at rest on four feet."""

    q: Array  # (J,) rad
    tau: Array  # (J,) N·m
    up: Array  # (3,) unit, base axes, against gravity
    gyro: Array  # (3,) rad/s: its bias


@dataclass(frozen=True)
class Fall:
    """Samples measured while the robot stood on two feet, until a third one touched."""

    q: Array  # (T, J) rad
    v: Array  # (T, J) rad/s
    gyro: Array  # (T, 3) rad/s
    up: Array  # (T, 3)
    step: float  # s


@dataclass(frozen=True)
class Trial:
    """One stand on two feet."""

    diagonal: tuple[int, int]
    rest: Rest
    fall: Fall
    tilt: float  # rad, final, about the line; positive if the centre of mass is beyond it

    def lever(self, stance: QuadrupedStance) -> tuple[float, float]:
        """Lever arms in m: the believed one as the feet left the ground, and the one measured by the fall."""
        f = self.fall
        s, L = stance.tipping(f.q, f.v, f.gyro, f.up, self.diagonal)
        t = np.arange(len(s)) * f.step
        path = np.concatenate([[0.0], np.cumsum(0.5 * (s[1:] + s[:-1])) * f.step])
        slope = np.polyfit(t, L / (stance.mass * GRAVITY) - path, 1)[0]
        return float(s[0]), float(s[0] + slope)

    def normal(self, stance: QuadrupedStance) -> Array:
        """(3,) n, mean over the fall: the measured minus the believed lever arm is n · (c − c₀), z included."""
        f = self.fall
        normals = [stance.line(f.q[k], f.up[k], self.diagonal)[1] for k in range(0, len(f.q), 5)]
        return np.asarray(np.mean(normals, axis=0))


def attempt(
    rig: Rig, stance: QuadrupedStance, start: Array, posture: Array, diagonal: tuple[int, int]
) -> tuple[Trial, Array]:
    """Move from posture ``start`` to ``posture``, lift the two feet that are not of the diagonal, lower them again.

    Returns:
        The trial, and the final posture.
    """
    count = {
        name: max(2, round(seconds * rig.rate))
        for name, seconds in (("move", MOVE), ("rest", REST), ("lift", LIFT), ("watch", WATCH))
    }
    stood = follow(rig, stance, np.vstack([ramp(start, posture, count["move"]), np.tile(posture, (count["rest"], 1))]))
    rest = at_rest(stance, stood, round(SEEN * rig.rate))
    high = lifted(stance, posture, rest.up, diagonal)
    log = follow(rig, stance, np.vstack([ramp(posture, high, count["lift"]), np.tile(high, (count["watch"], 1))]))
    follow(rig, stance, ramp(high, posture, count["move"] // 2))
    return _seen(stance, rest, log, diagonal, count["lift"], 1 / rig.rate), posture


def lifted(
    stance: QuadrupedStance, posture: Array, up: Array, diagonal: tuple[int, int], height: float = HEIGHT
) -> Array:
    """(J,) the same posture with the two feet that are not of the diagonal off the ground."""
    feet = stance.centres(posture)
    feet[[k for k in range(4) if k not in diagonal]] += height * up
    return stance.reach(feet, posture)


def follow(rig: Rig, stance: QuadrupedStance, targets: Array) -> Log:
    """Let the rig follow joint positions (T, J); refuse a log that lacks what calibration needs."""
    joints = stance.robot.joints
    log = rig.follow({joint: targets[:, k] for k, joint in enumerate(joints)})
    needed = [*(f"{kind}.{j}" for kind in ("q", "tau") for j in joints)]
    needed += [f"imu.{kind}.{c}" for kind in ("gyro", "acc") for c in "xyz"]
    findings = [
        Finding("column-missing", f"{log.source}, {c}", "is missing", "Let the rig measure it", {"column": c})
        for c in needed
        if not log.has(c)
    ]
    if len(log) != len(targets):
        what = f"has {len(log)} rows for {len(targets)} targets"
        findings.append(Finding("rows-not-targets", log.source, what, "Let the rig measure once per target"))
    if findings:
        raise LogError(findings)
    return log


def sensed(stance: QuadrupedStance, log: Log) -> tuple[Array, Array, Array, Array]:
    """(T, …) joint positions and torques, gyro and accelerometer in base axes."""
    q, tau = (np.column_stack([log.columns[f"{kind}.{j}"] for j in stance.robot.joints]) for kind in ("q", "tau"))
    gyro, acc = log.vector("imu.gyro"), log.vector("imu.acc")
    assert gyro is not None and acc is not None
    name = log.metadata.get("imu_frame")
    if name is None:
        return q, tau, gyro, acc
    mount = stance.robot.on_base(stance.robot.frame(name))
    if mount is None:
        raise LogError(
            Finding(
                "frame-not-on-base",
                f"{log.source}, imu_frame",
                f"{name} is not on the trunk",
                "Name the frame of its IMU",
                {"imu_frame": None},
            )
        )
    return q, tau, gyro @ mount[:3, :3].T, acc @ mount[:3, :3].T


def at_rest(stance: QuadrupedStance, log: Log, count: int) -> Rest:
    """Means of the last samples of a log.

    Raises:
        LogError: The robot moves.
    """
    q, tau, gyro, acc = (x[-count:] for x in sensed(stance, log))
    slow = gyro - gyro.mean(axis=0)
    slow = np.add.reduceat(slow, np.arange(0, count, max(1, count // 20)), axis=0) / max(1, count // 20)
    if float(np.sqrt(np.mean(slow**2))) > STILL or not 0.8 < np.linalg.norm(acc.mean(axis=0)) / GRAVITY < 1.2:
        raise LogError(
            Finding("not-at-rest", log.source, "moves before its feet are lifted", "Stiffen or damp its joints")
        )
    g = acc.mean(axis=0)
    return Rest(q.mean(axis=0), tau.mean(axis=0), g / np.linalg.norm(g), gyro.mean(axis=0))


def _seen(stance: QuadrupedStance, rest: Rest, log: Log, diagonal: tuple[int, int], lift: int, step: float) -> Trial:
    q, _, gyro, _ = sensed(stance, log)
    gyro = gyro - rest.gyro
    wide = 2 * round(SMOOTH / step / 2) + 1
    smooth, v = (savgol_filter(q, wide, 3, deriv=d, delta=step, axis=0, mode="interp") for d in (0, 1))
    up = np.empty_like(gyro)
    now = rest.up
    for k, w in enumerate(gyro):
        now = now - np.cross(w, now) * step
        now = up[k] = now / np.linalg.norm(now)
    p, n = stance.line(rest.q, rest.up, diagonal)
    tilt = np.cumsum(gyro @ np.cross(rest.up, n)) * step
    if abs(tilt[-1]) > FALLEN:
        raise LogError(Finding("robot-fell", log.source, "fell over", "Lift its feet less, or search a narrower range"))
    apart = min(abs(float(n @ (c - p))) for k, c in enumerate(stance.touching(rest.q, rest.up)) if k not in diagonal)
    start = lift + wide // 2  # smoothing must not reach samples in which feet were lifted
    landing = np.flatnonzero(np.abs(tilt) > 0.5 * HEIGHT / apart)
    end = min(lift + round(WINDOW / step), int(landing[0]) if landing.size else len(q))
    part = slice(start, max(end, start + 10))
    return Trial(diagonal, rest, Fall(smooth[part], v[part], gyro[part], up[part], step), float(tilt[-1]))
