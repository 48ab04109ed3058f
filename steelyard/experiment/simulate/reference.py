"""Reference motions of a trunk about the crouched posture, as sums of sines.

Offsets of the base's origin (forward, left, up) and its roll, pitch and yaw, each with two derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.spatial import Array

AXES = ("x", "y", "z", "roll", "pitch", "yaw")
RAMP = 0.5  # s, fade-in and fade-out of a motion


@dataclass(frozen=True)
class Sway:
    """Offsets of a trunk at one instant: x, y, z in m, then roll, pitch, yaw in rad."""

    offset: Array  # (6,)
    rate: Array  # (6,)
    acceleration: Array  # (6,)


Motion = Callable[[float], Sway]


def still(_: float) -> Sway:
    """No motion."""
    return Sway(np.zeros(6), np.zeros(6), np.zeros(6))


def reach(length: float, frequency: float) -> Array:
    """(6,) m and rad: largest amplitude along each axis, of a trunk on legs of this length (m) at this frequency (Hz).

    Limited by the reach of the legs at low frequencies, and by sliding or lifting feet at high ones.
    """
    room = np.array([0.12 * length, 0.1 * length, 0.1 * length, 0.2, 0.2, 0.25])
    push = np.array([1.8, 1.5, 2.5, 4.0 / length, 4.0 / length, 3.0 / length])  # m/s², rad/s²
    return np.asarray(np.minimum(room, push / (2 * np.pi * frequency) ** 2))


def sine(axis: str, amplitude: float, frequency: float) -> Motion:
    """A sine along one axis of ``AXES``, m or rad, Hz; faded in, without end."""
    wave, k = _tone(amplitude, frequency), AXES.index(axis)
    return lambda t: _alone(k, _windowed(wave, t))


def each_axis(length: float, seconds: float, frequency: float = 1.5) -> Motion:
    """All six axes in sequence, each for a sixth of the time."""
    share = seconds / len(AXES)
    waves = [_tone(size, frequency) for size in reach(length, frequency)]

    def at(t: float) -> Sway:
        k = min(max(int(t / share), 0), len(AXES) - 1)
        return _alone(k, _windowed(waves[k], t - k * share, share))

    return at


def multisine(length: float, rng: np.random.Generator, scale: float = 0.8, tones: int = 5) -> Motion:
    """All axes at once, each a sum of tones between 0.3 and 2.2 Hz of random phase."""
    centres = np.geomspace(0.4, 2.5, tones)
    w = 2 * np.pi * centres[:, None] * rng.uniform(0.9, 1.1, (tones, 6))
    size = scale * np.array([reach(length, f) for f in centres]) * rng.uniform(0.7, 1.0, (tones, 6)) / np.sqrt(tones)
    phase = rng.uniform(0, 2 * np.pi, (tones, 6))

    def wave(t: float) -> Array:
        angle = w * t + phase
        return np.array(
            [
                np.sum(size * np.sin(angle), 0),
                np.sum(size * w * np.cos(angle), 0),
                -np.sum(size * w**2 * np.sin(angle), 0),
            ]
        )

    return lambda t: Sway(*_windowed(wave, t))


def quintic(u: Array | float) -> tuple[Any, Any, Any]:
    """10u³ − 15u⁴ + 6u⁵, at rest at 0 and 1, and its two derivatives; u between them."""
    return u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u) ** 2, 60 * u * (1 - u) * (1 - 2 * u)


def _tone(amplitude: float, frequency: float) -> Callable[[float], Array]:
    w = 2 * np.pi * frequency
    return lambda t: amplitude * np.array([np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)])


def _alone(axis: int, wave: Array) -> Sway:
    out = np.zeros((3, len(AXES)))
    out[:, axis] = wave
    return Sway(*out)


def _windowed(wave: Callable[[float], Array], t: float, until: float = np.inf) -> Array:
    """A wave with its derivatives (3, …), faded in from time 0 and, if it ends, out before ``until``."""
    x = wave(t)
    if t <= 0 or t >= until:
        return np.zeros_like(x)
    left, sign = min((t, 1.0), (until - t, -1.0))
    if left >= RAMP:
        return x
    b, db, ddb = quintic(left / RAMP)
    db, ddb = sign * db / RAMP, ddb / RAMP**2
    return np.stack([b * x[0], db * x[0] + b * x[1], ddb * x[0] + 2 * db * x[1] + b * x[2]])
