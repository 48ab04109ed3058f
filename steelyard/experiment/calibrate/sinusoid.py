"""Moments of inertia by shaking the trunk: Lee and Manchester (1) to (5), for robots whose feet stay in place.

The trunk turns about one axis, its feet at rest. The forces of the ground follow from the joints' torques, leg by
leg, the legs' own dynamics included; their moment about the centre of mass is the rate of the angular momentum (1):

    Σ rᵢ × fᵢ = I ω̇ + C ω + K θ + constant        about that axis.

I is the *effective* inertia of this motion: the legs do not turn with the trunk but bend below it, so it is less than
that of the robot frozen in its posture (``composite.py``). C is (2)'s damping. K and the constant absorb an error δ of
the believed centre of mass: gravity turns in trunk axes, and δ × M g with it. With a single frequency θ and ω̇ are
proportional and a millimetre of δ costs a percent of I; with two frequencies they are separable, and K measures δ.

Signals of period 1/f are x(t) = Σₖ aₖ cos 2πfkt + bₖ sin 2πfkt (3, 4); coefficients by least squares over whole periods
average the noise of all samples, and derivatives are those of the sines: nothing is differentiated numerically.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard.errors import Finding, LogError, UsageError
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.rig import Rig
from steelyard.experiment.calibrate.tipping import follow, sensed
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

AXES = "xyz"
SURE = 1e-3  # m, prior standard deviation of the centre of mass


@dataclass(frozen=True)
class Shake:
    """Rotation of the trunk: Σ amplitude · sin(2π · multiple · base · t)."""

    base: float = 0.5  # Hz; the motion repeats with it
    multiples: tuple[int, ...] = (3, 7)
    amplitudes: tuple[float, ...] = (0.1, 0.08)  # rad
    periods: int = 10  # measured
    settle: int = 1  # periods before those, with growing amplitude in the first

    def __post_init__(self) -> None:
        bad = len(self.multiples) != len(self.amplitudes) or not self.multiples or min(self.multiples) < 1
        if bad or self.base <= 0 or self.periods < 2 or self.settle < 1 or not np.isfinite(self.amplitudes).all():
            raise UsageError(
                Finding(
                    "option-value",
                    f"shake={self}",
                    "does not define a motion",
                    "Give as many amplitudes as multiples, and two periods or more",
                )
            )

    def angle(self, t: Array) -> Array:
        """(T,) rad, at times (T,) s."""
        w = 2 * np.pi * self.base * np.array(self.multiples)
        return np.asarray(np.sin(np.outer(t, w)) @ np.array(self.amplitudes))


@dataclass(frozen=True)
class AxisInertia:
    """Effective inertia about one axis."""

    axis: str
    inertia: float  # kg·m², effective
    std: float  # kg·m²
    damping: float  # N·m·s
    stiffness: float  # N·m/rad, from an error of the believed centre of mass
    frequency: float  # Hz, dominant
    residual: float  # rms of the residual moment over that of the moment about its mean
    log: Log  # of the measured periods

    def as_json(self) -> dict[str, Any]:
        """The contents of ``calibration.json``."""
        return {
            name: getattr(self, name)
            for name in ("axis", "inertia", "std", "damping", "stiffness", "frequency", "residual")
        }


def shake(rig: Rig, stance: QuadrupedStance, axis: str, how: Shake) -> Log:
    """Turn the trunk about one of its axes through its origin; the log of the periods in steady state."""
    e = np.eye(3)[AXES.index(axis)]
    count = round(rig.rate / how.base)
    if abs(count - rig.rate / how.base) > 1e-6:
        raise UsageError(
            Finding(
                "option-value",
                f"base={how.base:g}",
                f"has no whole number of samples per period at {rig.rate:g} Hz",
                "Choose another frequency",
                {"base": rig.rate / max(count, 1)},
            )
        )
    angle = how.angle(np.arange(count) / rig.rate)
    grow = np.clip(np.arange(count) / (0.8 * count), 0, 1)
    first = _postures(stance, angle * grow**2 * (3 - 2 * grow), e)
    steady = _postures(stance, angle, e)
    rig.stand()
    log = follow(rig, stance, np.vstack([first, *[steady] * (how.settle - 1 + how.periods)]))
    return log.cut(how.settle * count, len(log))


def effective(stance: QuadrupedStance, log: Log, axis: str, how: Shake, *, single: bool = False) -> AxisInertia:
    """Effective inertia from a log of ``shake``; ``single``: one frequency and no K, as in the paper."""
    j = AXES.index(axis)
    q, tau, gyro, acc = sensed(stance, log)
    t = log.time - log.time[0]
    rate = (len(t) - 1) / t[-1]
    main = dominant(gyro[:, j], rate)
    count = 3 * max(how.multiples)
    J = q.shape[1]
    shape = Harmonics.fit(t, np.hstack([q, tau, gyro, acc]), how.base, count)
    samples = len(t)
    t = t[: round(rate / how.base)]  # the harmonics repeat with it
    x, dx, ddx = (shape.at(t, d) for d in range(3))
    angular = x[:, 2 * J : 2 * J + 3]
    up = upwards(angular, x[:, 2 * J + 3 :], 1 / rate)
    moment = ground_moment(stance, x, dx, ddx, up)[:, j]
    stray = strayed(stance, x[:, :J], dx[:, :J], angular, up, j)
    moment = moment - Harmonics.fit(t, stray, how.base, count).at(t, 1)[:, j] - np.cross(angular, stray)[:, j]
    w = Harmonics.fit(t, shape.at(t)[:, [2 * J + j]], how.base, count)
    omega, domega = w.at(t)[:, 0], w.at(t, 1)[:, 0]
    theta = _integrated(w, t)
    if single:  # (3), (4): one sine
        one = Harmonics.fit(t, np.column_stack([omega, moment]), main, 1)
        omega, domega = one.at(t)[:, 0], one.at(t, 1)[:, 0]
        A = np.column_stack([domega, omega, np.ones_like(t)])
    else:
        A = np.column_stack([domega, omega, np.ones_like(t), theta])
    sigma = _noise(stance, float(np.mean(shape.noise[J : 2 * J])), j) * np.sqrt(len(t) / samples)
    believe = np.zeros((1, A.shape[1]))
    believe[0, 3:] = sigma / (stance.mass * GRAVITY * SURE)
    B = np.vstack([A, believe])
    solution, *_ = np.linalg.lstsq(B, np.append(moment, 0.0), rcond=None)  # (5)
    deviation = float(sigma * np.sqrt(np.linalg.inv(B.T @ B)[0, 0]))
    return AxisInertia(
        axis,
        float(solution[0]),
        deviation,
        float(solution[1]),
        0.0 if single else float(solution[3]),
        main,
        float(np.linalg.norm(moment - A @ solution) / np.linalg.norm(moment - moment.mean())),
        log,
    )


def ground_moment(stance: QuadrupedStance, x: Array, dx: Array, ddx: Array, up: Array) -> Array:
    """(T, 3) N·m, base axes: moment about the centre of mass of the forces of the ground, all four feet at rest.

    ``x`` (T, 2 J + 6) has joint positions and torques, gyro and accelerometer, ``dx`` and ``ddx`` their derivatives.
    The base stands at the identity, does not move, and has the measured proper acceleration, which includes gravity.
    """
    J = len(stance.nominal)
    q, tau, gyro, acc = np.split(x, [J, 2 * J, 2 * J + 3], axis=1)
    still = np.zeros_like(gyro)
    v, a = np.hstack([still, gyro, dx[:, :J]]), np.hstack([acc, dx[:, 2 * J : 2 * J + 3], ddx[:, :J]])
    model = stance.model.copy()
    model.gravity.linear = np.zeros(3)
    data = model.createData()
    moment = np.empty((len(q), 3))
    for k, configuration in enumerate(stance.robot.positions(q)):
        needed = pin.rnea(model, data, configuration, v[k], a[k])
        pin.computeJointJacobians(model, data, configuration)
        c = pin.centerOfMass(model, data, configuration)
        moment[k] = 0.0
        for i, leg in enumerate(stance.legs_of):
            at, A = stance.foot_at(data, i, up[k])
            columns = [6 + n for n in leg]
            moment[k] += np.cross(at - c, np.linalg.solve(A[:, columns].T, needed[columns] - tau[k, list(leg)]))
    return moment


def upwards(gyro: Array, acc: Array, step: float) -> Array:
    """(T, 3) direction against gravity, base axes, over whole periods: integrated gyro, mean of the accelerometer.

    A single reading of the accelerometer is not vertical: the trunk sways.
    """
    rate = gyro - gyro.mean(axis=0)  # a periodic motion has no mean rotation
    R = np.empty((len(gyro), 3, 3))
    R[0] = np.eye(3)
    for k in range(1, len(gyro)):
        R[k] = R[k - 1] @ pin.exp3(0.5 * (rate[k - 1] + rate[k]) * step)
    mean = np.mean(R @ acc[:, :, None], axis=0)[:, 0]
    return np.asarray((mean / np.linalg.norm(mean)) @ R)


def strayed(stance: QuadrupedStance, q: Array, v: Array, gyro: Array, up: Array, axis: int) -> Array:
    """(T, 3) kg·m²/s: believed angular momentum minus that of pure rotation about one axis in the nominal posture.

    Joints yield, so a trunk that is commanded to rotate also sways; the momentum of legs that bend below a swaying
    trunk does not belong to the inertia of the rotation, nor does the change of inertia with posture.
    """
    data, nominal = stance.model.createData(), effective_of(stance.model, stance, AXES[axis])
    momentum = np.empty((len(q), 3))
    for k, x in enumerate(stance.robot.positions(q)):
        pin.computeJointJacobians(stance.model, data, x)
        still = np.concatenate([np.zeros(3), gyro[k], v[k]])
        sway = -np.mean([stance.foot_at(data, i, up[k])[1] @ still for i in range(4)], axis=0)
        motion = np.concatenate([sway, gyro[k], v[k]])
        momentum[k] = pin.computeCentroidalMomentum(stance.model, data, x, motion).angular
        momentum[k, axis] -= nominal * gyro[k, axis]
    return momentum


def effective_of(model: Any, stance: QuadrupedStance, axis: str) -> float:
    """kg·m²: effective inertia of a robot with these inertias, rotated about its origin on feet that roll in place."""
    j = AXES.index(axis)
    data, x = model.createData(), stance.robot.positions(stance.nominal[None])[0]
    pin.computeJointJacobians(model, data, x)
    motion, level = np.zeros(model.nv), np.array([0.0, 0.0, 1.0])
    motion[3 + j] = 1.0
    for k, leg in enumerate(stance.legs_of):
        A, columns = stance.foot_at(data, k, level)[1], [6 + i for i in leg]
        motion[columns] = -np.linalg.solve(A[:, columns], A[:, 3 + j])
    return float(pin.computeCentroidalMomentum(model, data, x, motion).angular[j])


def _postures(stance: QuadrupedStance, angles: Array, axis: Array) -> Array:
    q, rows = stance.nominal, []
    for angle in angles:
        q = stance.moved(np.zeros(3), pin.exp3(angle * axis), q)
        rows.append(q)
    return np.array(rows)


def _integrated(w: Harmonics, t: Array) -> Array:
    """(T,) integral of these harmonics, with zero mean."""
    K = (len(w.coefficients) - 1) // 2
    k = 2 * np.pi * w.frequency * np.arange(1, K + 1)
    cosine, sine = w.coefficients[1 : K + 1, 0], w.coefficients[K + 1 :, 0]
    angle = np.outer(t, k)
    return np.asarray(np.sin(angle) @ (cosine / k) - np.cos(angle) @ (sine / k))


def _noise(stance: QuadrupedStance, torque: float, j: int) -> float:
    """N·m, standard deviation of one sample of the ground's moment: torque noise (N·m) through the legs' lever arms."""
    feet = stance.centres(stance.nominal)
    reach = float(np.ptp(feet[:, [k for k in range(3) if k != j]], axis=0).max()) / 2
    height = abs(float(feet[:, 2].mean()))
    return torque / (height / 2) * reach * float(np.sqrt(len(feet)))


def dominant(x: Array, rate: float) -> float:
    """Hz of the largest peak of a signal's spectrum, interpolated by a parabola through the logarithm."""
    n = len(x)
    S = np.abs(np.fft.rfft((x - x.mean()) * np.hanning(n)))
    k = int(np.argmax(S[1:-1])) + 1
    if S[k] <= 5 * np.median(S):
        raise LogError(
            Finding("frequency-not-dominant", "imu.gyro", "has no dominant frequency", "Shake the trunk more")
        )
    a, b, c = np.log(S[k - 1 : k + 2])
    return float((k + 0.5 * (a - c) / (a - 2 * b + c)) * rate / n)


@dataclass(frozen=True)
class Harmonics:
    """Fourier series of signals of one period, with derivatives."""

    frequency: float  # Hz
    coefficients: Array  # (2 K + 1, signals): constant, cosines, sines
    noise: Array  # (signals,) rms of the residual

    @classmethod
    def fit(cls, t: Array, x: Array, frequency: float, count: int) -> Harmonics:
        """Fit signals (T, signals) by ``count`` multiples of the frequency."""
        A = cls._basis(t, frequency, count, 0)
        c, *_ = np.linalg.lstsq(A, x, rcond=None)
        return cls(frequency, c, np.sqrt(np.mean((x - A @ c) ** 2, axis=0)))

    def at(self, t: Array, derivative: int = 0) -> Array:
        """(T, signals) values or derivatives at times (T,) s."""
        count = (len(self.coefficients) - 1) // 2
        return np.asarray(self._basis(t, self.frequency, count, derivative) @ self.coefficients)

    @staticmethod
    def _basis(t: Array, f: float, count: int, derivative: int) -> Array:
        w = 2 * np.pi * f * np.arange(1, count + 1)
        angle = np.outer(t, w) + derivative * np.pi / 2  # a derivative shifts a sine by a quarter period
        constant = np.full((len(t), 1), 1.0 if derivative == 0 else 0.0)
        return np.hstack([constant, np.cos(angle) * w**derivative, np.sin(angle) * w**derivative])
