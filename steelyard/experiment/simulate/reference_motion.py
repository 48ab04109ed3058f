"""A reference motion at the instants of control: base, joints and soles, with velocities and accelerations.

Between its samples a motion is the cubic through positions and velocities; quaternions too, ``q̇ = ½ q ⊗ ω``, normalised
afterwards. Poses, velocities and accelerations of the soles are computed by the described robot's kinematics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicHermiteSpline

from steelyard.errors import Finding, UsageError
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.robot.soles import Sole
from steelyard.spatial import XYZ, Array, rotation_from_quaternion

EASE = 0.15  # s before lift-off and after touch-down in which the share of a foot's force is ramped
LIGHT = 0.02  # its share at lift-off and touch-down
SAME = 0.01  # rad and m, largest jump between two motions in sequence
VECTORS = ("base.position", "base.velocity", "base.angular_velocity", "base.acceleration", "base.angular_acceleration")


@dataclass(frozen=True)
class ReferenceMotion:
    """Reference, a row per instant of control; velocities and accelerations in Pinocchio's conventions."""

    period: float  # s
    q: Array  # (K, 7 + J) base pose and joints
    v: Array  # (K, 6 + J)
    a: Array  # (K, 6 + J)
    turned: Array  # (K, 3, 3) rotation of the base
    place: Array  # (K, 2, 3) m, centres of the soles, world
    turn: Array  # (K, 2, 3, 3) rotations of the soles
    speed: Array  # (K, 2, 6) m/s and rad/s of the soles, world axes
    push: Array  # (K, 2, 6) m/s² and rad/s² of the soles' centres, world axes
    standing: Array  # (K, 2) bool: in stance
    share: Array  # (K, 2) weight of a sole's forces: 1 in stance, ramped at its ends

    def __len__(self) -> int:
        return len(self.q)

    def moved(self, x: float, y: float, yaw: float) -> ReferenceMotion:
        """The same motion elsewhere on level ground: rotated by ``yaw`` about the origin, then translated (m)."""
        R = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
        q, s, c = self.q.copy(), np.sin(yaw / 2), np.cos(yaw / 2)
        q[:, :3] = q[:, :3] @ R.T + [x, y, 0]
        a, b, d, w = self.q[:, 3:7].T
        q[:, 3:7] = np.column_stack([c * a - s * b, c * b + s * a, c * d + s * w, c * w - s * d])
        six = np.kron(np.eye(2), R)
        return replace(
            self,
            q=q,
            turned=R @ self.turned,
            place=self.place @ R.T + [x, y, 0],
            turn=R @ self.turn,
            speed=self.speed @ six.T,
            push=self.push @ six.T,
        )

    def then(self, other: ReferenceMotion, name: str) -> ReferenceMotion:
        """This motion followed by another from its final pose.

        Raises:
            UsageError: The other one starts in another posture.
        """
        end, start = (np.arctan2(R[1, 0], R[0, 0]) for R in (self.turned[-1], other.turned[0]))
        after = other.moved(0.0, 0.0, end - start)
        x, y = self.q[-1, :2] - after.q[0, :2]
        after = after.moved(x, y, 0.0)
        off = max(np.abs(self.q[-1, 7:] - after.q[0, 7:]).max(), np.abs(self.place[-1] - after.place[0]).max())
        if off > SAME:
            what = f"starts {off:.2g} rad or m from the end of the motion before"
            raise UsageError(
                Finding("motion-discontinuous", f"motion {name}", what, "Use motions that start and end in one posture")
            )
        parts = [np.concatenate([getattr(self, f.name), getattr(after, f.name)[1:]]) for f in fields(self)[1:]]
        return ReferenceMotion(self.period, *parts)


def read_reference(robot: Robot, soles: Sequence[Sole], motion: Log, period: float) -> ReferenceMotion:
    """Interpolate the log of a motion to every ``period`` s.

    Raises:
        UsageError: Columns are missing, or the log has no duration.
    """
    if findings := list(_findings(robot, soles, motion)):
        raise UsageError(findings)
    t = motion.time - motion.time[0]
    at = np.arange(int(np.floor(t[-1] / period + 1e-6)) + 1) * period
    joint = {k: np.column_stack([motion.columns[f"{k}.{j}"] for j in robot.joints]) for k in "qva"}
    place, velocity, spin, linear, angular = (np.asarray(motion.vector(name)) for name in VECTORS)
    quaternion = np.asarray(motion.vector("base.quaternion", "xyzw"))
    quaternion = quaternion * np.cumprod(np.r_[1.0, np.sign(np.sum(quaternion[1:] * quaternion[:-1], axis=1))])[:, None]
    x, y, z, w = quaternion.T
    E = np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])  # (4, 3, T): q̇ = ½ E ω

    def between(f: Array, slope: Array) -> Array:
        return np.asarray(CubicHermiteSpline(t, f, slope, axis=0)(at))

    pose = between(quaternion, 0.5 * np.einsum("ijt,tj->ti", E, spin))
    R = rotation_from_quaternion(quaternion)
    turning = np.cross(spin, velocity)
    base = [
        between(place, np.einsum("tij,tj->ti", R, velocity)),
        pose / np.linalg.norm(pose, axis=1, keepdims=True),
        between(joint["q"], joint["v"]),
    ]
    v = between(
        np.hstack([velocity, spin, joint["v"]]), np.hstack([linear - turning, angular, joint["a"]])
    )  # ṗ in base axes changes by p̈ − ω × ṗ
    spatial = np.hstack([linear - turning, angular, joint["a"]])
    a = np.column_stack([np.interp(at, t, column) for column in spatial.T])
    flags = np.column_stack([motion.columns[f"contact.{s.name}"] > 0.5 for s in soles])
    standing = flags[np.minimum(np.searchsorted(t, at + 1e-9, side="right") - 1, len(t) - 1)]
    q = np.hstack(base)
    place, turn, speed, push = _soles(robot, soles, q, v, a)
    share = _shares(standing, period)
    return ReferenceMotion(
        period, q, v, a, rotation_from_quaternion(q[:, 3:7]), place, turn, speed, push, standing, share
    )


def _soles(robot: Robot, soles: Sequence[Sole], q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    model, ids = with_soles(robot, soles)
    data, K = model.createData(), len(q)
    place, turn = np.zeros((K, 2, 3)), np.zeros((K, 2, 3, 3))
    speed, push = np.zeros((K, 2, 6)), np.zeros((K, 2, 6))
    for k in range(K):
        pin.forwardKinematics(model, data, q[k], v[k], a[k])
        for i, frame in enumerate(ids):
            pose = pin.updateFramePlacement(model, data, frame)
            place[k, i], turn[k, i] = pose.translation, pose.rotation
            speed[k, i] = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector
            push[k, i] = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector
    return place, turn, speed, push


def with_soles(robot: Robot, soles: Sequence[Sole]) -> tuple[Any, list[int]]:
    """A copy of the model with a frame for each sole, and their indices."""
    model = robot.model.copy()
    ids = [model.addFrame(pin.Frame(f"sole {s.name}", s.joint, 0, pin.SE3(s.placement), pin.OP_FRAME)) for s in soles]
    return model, ids


def _shares(standing: Array, period: float) -> Array:
    """(K, 2) weights of the soles' forces: 1 in stance, ramped towards its ends, 0 in swing."""
    n = len(standing)
    out = np.zeros(standing.shape)
    for i, flags in enumerate(standing.T):
        air = np.flatnonzero(~flags)
        if not len(air):
            out[:, i] = 1.0
            continue
        k = np.searchsorted(air, np.arange(n))
        after = air[np.minimum(k, len(air) - 1)] - np.arange(n)
        before = np.arange(n) - air[np.maximum(k - 1, 0)]
        far = np.minimum(np.where(after > 0, after, n), np.where(before > 0, before, n)) * period
        out[:, i] = np.where(flags, np.clip(far / EASE, LIGHT, 1.0), 0.0)
    return out


def _findings(robot: Robot, soles: Sequence[Sole], motion: Log) -> Iterator[Finding]:
    wanted = [f"{name}.{c}" for name in VECTORS for c in XYZ] + [f"base.quaternion.{c}" for c in "xyzw"]
    wanted += [f"{k}.{j}" for j in robot.joints for k in "qva"] + [f"contact.{s.name}" for s in soles]
    missing = [name for name in wanted if not motion.has(name)]
    if missing:
        shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
        yield Finding(
            "columns-missing",
            f"motion {motion.source}",
            f"lacks {shown}",
            f"Generate it for {robot.name} with `steelyard excite`",
            {"columns": missing},
        )
    if len(motion) < 2:
        yield Finding("rows-too-few", f"motion {motion.source}", "has no duration", "Give two samples or more")
