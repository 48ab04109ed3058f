"""A causal filter: for a control loop, and for a log that is to be processed like one.

Every channel, forces included, passes the same third-order Butterworth low-pass F. Its state is the filtered signal
and its first two derivatives, so a velocity is exactly the derivative of the filtered position, and both sides of the
equations have the same delay. Between samples a signal is interpolated linearly (first-order hold). The output belongs
to the time ``delay`` = 2/ω_c before the newest sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import expm

from steelyard.errors import Finding, LogError
from steelyard.log.log import QUATERNION, Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import WRENCH, XYZ, Array, rotation_from_quaternion

SETTLED = 20.0  # time constants after which a filter's initial state is negligible
TILT_SECONDS = 2.0  # time constant with which the accelerometer corrects the tilt


@dataclass(frozen=True)
class Lowpass:
    """Third-order Butterworth low-pass, the same for all channels."""

    rate: float  # Hz
    cutoff: float  # Hz

    @property
    def delay(self) -> float:
        """Delay of slow signals, s."""
        return 2 / (2 * np.pi * self.cutoff)

    @property
    def settling(self) -> int:
        """Samples at the start that are not used: the slowest pole is at ω_c/2."""
        return int(np.ceil(SETTLED / (np.pi * self.cutoff) * self.rate))

    @cached_property
    def step(self) -> Array:
        """(3, 5) [Φ Γ₀ Γ₁] of x ← Φ x + Γ₀ u_before + Γ₁ u, x = (F u, its derivative, the second derivative)."""
        w = 2 * np.pi * self.cutoff
        M = np.zeros((5, 5))  # x' = A x + B u, and u linear in time
        M[0, 1] = M[1, 2] = M[3, 4] = 1.0
        M[2, :4] = -(w**3), -2 * w**2, -2 * w, w**3
        scale = np.array([1.0, w, w * w, 1.0, w])  # balanced, so that the exponential is accurate
        E = expm(M * scale / scale[:, None] / self.rate) * scale[:, None] / scale
        slope = E[:3, 4] * self.rate
        return np.ascontiguousarray(np.column_stack([E[:3, :3], E[:3, 3] - slope, slope]))

    @staticmethod
    def at_rest(values: Array) -> Array:
        """(4, C) steady state of the filter for constant inputs (C,)."""
        state = np.zeros((4, len(values)))
        state[0] = state[3] = values
        return state

    def run(self, state: Array, values: Array) -> Array:
        """(T, 3, C) filtered values (T, C) and their two derivatives; updates the state in place."""
        from steelyard.kernels import causal as kernel

        out = np.empty((len(values), 3, values.shape[1]))
        kernel.run(self.step, state, np.ascontiguousarray(values), out)
        return out


@dataclass(frozen=True)
class Inputs:
    """Columns that a causal filter needs, in order, and the motion that follows from the filtered columns."""

    robot: Robot
    columns: tuple[str, ...]
    factors: Array  # (C,) factors of the columns: drive gains
    mount: Array  # (4, 4) pose of the inertial sensor in the base frame
    turned: Array  # (3, 3) rotation from the quaternion's axes to those of the base
    unknown_gains: tuple[str, ...]  # joints with a current and no drive gain

    @classmethod
    def of(cls, robot: Robot, log: Log, mount: Array, turned: Array, *, torques: bool) -> Inputs:
        """Inputs of a robot with the sensors of a log; refused where a causal filter cannot use them."""
        gains: Mapping[str, Any] = log.metadata.get("gains", {})
        names, factors, unknown, findings = list[str](), dict[str, float](), list[str](), list[Finding]()
        for j in robot.joints:
            names += [f"{kind}.{j}" for kind in ("q", "v", "a") if kind == "q" or log.has(f"{kind}.{j}")]
        for j in robot.joints if torques else ():
            if log.has(f"tau.{j}"):
                names.append(f"tau.{j}")
            else:
                names.append(f"current.{j}")
                factors[names[-1]] = float(gains.get(j, 1.0))
                unknown += [j] if j not in gains else []
        if robot.floating:
            for vector in ("imu.gyro", "imu.acc"):
                if log.has(f"{vector}.x"):
                    names += [f"{vector}.{c}" for c in XYZ]
                else:
                    where, what = (
                        f"{log.source}, {vector}",
                        "is missing, and a causal filter does not differentiate poses",
                    )
                    fix = f"Log {vector}.x…z, or use the symmetric filter (causal=False)"
                    findings.append(Finding("imu-missing", where, what, fix, {"causal": False}))
            names += QUATERNION if log.has(*QUATERNION) else ()
            if log.names("plate") and not torques:
                what = (
                    "has force plates, which are fixed in the world, and a causal filter does not track the base's pose"
                )
                fix = "Use the symmetric filter (causal=False)"
                findings.append(Finding("plate-unusable", log.source, what, fix, {"causal": False}))
        if findings:
            raise LogError(findings)
        names += [c for f in log.names("wrench") for k in WRENCH if log.has(c := f"wrench.{f}.{k}")]
        names += [f"sensor.{row}" for s in robot.sensors for row in s.rows]
        scale = np.array([factors.get(name, 1.0) for name in names])
        return cls(robot, tuple(names), scale, mount, turned, tuple(unknown))

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Column → its index."""
        return {name: k for k, name in enumerate(self.columns)}

    @cached_property
    def quaternion(self) -> slice | None:
        """Columns of the base's orientation, if any."""
        at = self.places.get(QUATERNION[0])
        return None if at is None else slice(at, at + 4)

    def table(self, log: Log) -> Array:
        """(T, C) the columns of a log, times their factors."""
        return np.asarray(np.column_stack([log.columns[name] for name in self.columns]) * self.factors)

    def oriented(self, values: Array, before: Array | None) -> None:
        """Normalise the quaternions of values (T, C) and make their signs continuous with ``before`` (C,), in place."""
        from steelyard.kernels import causal as kernel

        if self.quaternion is not None:
            kernel.orient(values, self.quaternion.start, values[0] if before is None else before)

    def motion(self, filtered: Array, up: Array, rate: float) -> dict[str, Any]:
        """Fields of a ``Segment`` from filtered columns (T, 3, C); updates ``up`` (3,), the tilt, where needed."""
        T, J, robot, at = len(filtered), len(self.robot.joints), self.robot, self.places

        def take(names: list[str], order: int = 0) -> Array:
            return np.ascontiguousarray(filtered[:, order, [at[name] for name in names]])

        q, v, a = (np.empty((T, J)) for _ in range(3))
        for k, j in enumerate(robot.joints):
            has_v, has_a = f"v.{j}" in at, f"a.{j}" in at
            q[:, k] = filtered[:, 0, at[f"q.{j}"]]
            v[:, k] = filtered[:, 0, at[f"v.{j}"]] if has_v else filtered[:, 1, at[f"q.{j}"]]
            if has_a:
                a[:, k] = filtered[:, 0, at[f"a.{j}"]]
            else:
                a[:, k] = filtered[:, 1, at[f"v.{j}"]] if has_v else filtered[:, 2, at[f"q.{j}"]]
        tau, current = None, {j: filtered[:, 0, at[f"current.{j}"]] for j in self.unknown_gains}
        if any(name.startswith(("tau.", "current.")) for name in self.columns):
            tau = np.zeros((T, J))
            for k, j in enumerate(robot.joints):
                if j not in current:
                    tau[:, k] = filtered[:, 0, at.get(f"tau.{j}", at.get(f"current.{j}", 0))]
        fields: dict[str, Any] = {"q": q, "v": v, "a": a, "tau": tau, "current": current}
        fields |= dict.fromkeys(("gyro", "alpha", "acc", "up"))
        if robot.floating:
            R, lever = self.mount[:3, :3], self.mount[:3, 3]
            gyro, alpha = (take([f"imu.gyro.{c}" for c in XYZ], order) @ R.T for order in (0, 1))
            acc = take([f"imu.acc.{c}" for c in XYZ]) @ R.T
            acc = acc - np.cross(alpha, lever) - np.cross(gyro, np.cross(gyro, lever))
            fields |= {"gyro": gyro, "alpha": alpha, "acc": acc, "up": self._up(filtered, gyro, acc, up, rate)}
        wrench: dict[str, Array] = {}
        for name in (name for name in self.columns if name.startswith("wrench.")):
            frame, component = name.removeprefix("wrench.").rsplit(".", 1)
            wrench.setdefault(frame, np.zeros((T, 6)))[:, WRENCH.index(component)] = filtered[:, 0, at[name]]
        fields["wrench"] = wrench
        fields["sensor"] = {s.name: take([f"sensor.{row}" for row in s.rows]) for s in robot.sensors}
        return fields

    def _up(self, filtered: Array, gyro: Array, acc: Array, up: Array, rate: float) -> Array:
        if self.quaternion is not None:
            R = rotation_from_quaternion(filtered[:, 0, self.quaternion]) @ self.turned.T
            up[:] = R[-1, 2]
            return np.ascontiguousarray(R[:, 2])
        from steelyard.kernels import causal as kernel

        out = np.empty_like(acc)
        if not up.any():
            up[:] = acc[0] / np.linalg.norm(acc[0])
        kernel.tilt(1 / (TILT_SECONDS * rate), rate, up, gyro, acc / GRAVITY, out)
        return out
