"""Periodic motion from noisy samples: frequency by the Fourier transform, then exact derivatives (Lee 3, 4).

A signal of period 1/f is x(t) = Σₖ aₖ cos 2πfkt + bₖ sin 2πfkt; its coefficients by least squares over whole periods
average the noise of all samples, and its derivatives are those of the sines: nothing is differentiated numerically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding, LogError

Array = np.ndarray


def dominant(x: Array, rate: float) -> float:
    """Hz of the largest peak of a signal's spectrum, between its lines by a parabola through the logarithm."""
    n = len(x)
    S = np.abs(np.fft.rfft((x - x.mean()) * np.hanning(n)))
    k = int(np.argmax(S[1:-1])) + 1
    if S[k] <= 5 * np.median(S):
        raise LogError(Finding("the motion", "has no frequency that stands out", "Shake the trunk more"))
    a, b, c = np.log(S[k - 1 : k + 2])
    return float((k + 0.5 * (a - c) / (a - 2 * b + c)) * rate / n)


@dataclass(frozen=True)
class Harmonics:
    """Signals of one period: value and derivatives at any time."""

    frequency: float  # Hz
    coefficients: Array  # (2 K + 1, signals): constant, cosines, sines
    noise: Array  # (signals,) rms of what is left

    @classmethod
    def fit(cls, t: Array, x: Array, frequency: float, count: int) -> Harmonics:
        """Of signals (T, signals), with ``count`` multiples of the frequency."""
        A = cls._basis(t, frequency, count, 0)
        c, *_ = np.linalg.lstsq(A, x, rcond=None)
        return cls(frequency, c, np.sqrt(np.mean((x - A @ c) ** 2, axis=0)))

    def at(self, t: Array, derivative: int = 0) -> Array:
        """(T, signals)."""
        count = (len(self.coefficients) - 1) // 2
        return np.asarray(self._basis(t, self.frequency, count, derivative) @ self.coefficients)

    @staticmethod
    def _basis(t: Array, f: float, count: int, derivative: int) -> Array:
        w = 2 * np.pi * f * np.arange(1, count + 1)
        angle = np.outer(t, w) + derivative * np.pi / 2  # a derivative turns a sine by a quarter
        constant = np.full((len(t), 1), 1.0 if derivative == 0 else 0.0)
        return np.hstack([constant, np.cos(angle) * w**derivative, np.sin(angle) * w**derivative])
