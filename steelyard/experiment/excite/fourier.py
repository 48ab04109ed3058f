"""Periodic motions that begin and end at rest, and bounds of them that hold between samples too.

    q(t) = centre + Σ_k s_k sin(kωt) + c_k cos(kωt),    k = 1 … K, ω = 2π / period

with Σ k s_k = 0 and Σ k² c_k = 0, so that velocity and acceleration are zero at t = 0 and after each period: the
arm is brought to q(0), repeats the motion any number of times, and stops. A trigonometric polynomial p of degree K is
bounded by its samples: with N > 2K even ones in a period, max|p| ≤ max|p(t_n)| / cos(πK/N) (Ehlich and Zeller 1964).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from steelyard.spatial import Array

DENSITY = 64  # samples a period and harmonic that bounds are taken from: bounds are 0.12 % above the samples


class Bounds(NamedTuple):
    """Bounds of a motion at all times; (J,) each."""

    lower: Array  # rad or m
    upper: Array
    speed: Array  # per s
    acceleration: Array  # per s²


@dataclass(frozen=True, eq=False)
class Fourier:
    """A periodic motion of several joints."""

    period: float  # s
    centre: Array  # (J,) rad or m
    sines: Array  # (K, J) rad or m
    cosines: Array  # (K, J) rad or m

    @classmethod
    def of(cls, period: float, centre: Array, free: Array) -> Fourier:
        """From free coefficients (2K − 2, J), rad/s or m/s; the motion is at rest at t = 0 for any of them."""
        K = len(free) // 2 + 1
        speeds = rest_basis(K) @ free
        each = (2 * np.pi / period * np.arange(1, K + 1))[:, None]
        return cls(period, np.asarray(centre, float), speeds[:K] / each, speeds[K:] / each)

    @property
    def harmonics(self) -> int:
        """Number K of harmonics."""
        return len(self.sines)

    def at(self, t: Array | float) -> tuple[Array, Array, Array]:
        """(T, J) positions, velocities and accelerations at times t (T,) s."""
        w = 2 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))  # (T, K)
        S, C = self.sines, self.cosines
        w = w[:, None]
        return self.centre + s @ S + c @ C, c @ (w * S) - s @ (w * C), -s @ (w**2 * S) - c @ (w**2 * C)

    def samples(self, density: int = DENSITY) -> Array:
        """Even instants (N,) of one period, s: ``density`` for each harmonic."""
        N = density * self.harmonics
        return np.arange(N) * (self.period / N)

    def bounds(self) -> Bounds:
        """Certified bounds of position, speed and acceleration."""
        q, v, a = self.at(self.samples())
        low, high = q.min(axis=0), q.max(axis=0)
        beyond = 1 / np.cos(np.pi / DENSITY)
        half = (high - low) / 2 * beyond  # p less the middle of its samples is a polynomial of the same degree
        return Bounds(
            (low + high) / 2 - half, (low + high) / 2 + half, *(beyond * np.abs(x).max(axis=0) for x in (v, a))
        )

    def scaled(self, amplitude: Array | float) -> Fourier:
        """The motion with its amplitude multiplied, by one factor or one for each joint."""
        return replace(self, sines=self.sines * amplitude, cosines=self.cosines * amplitude)

    def slower(self, times: float) -> Fourier:
        """The same path with a period ``times`` as long."""
        return replace(self, period=self.period * times)

    def as_json(self) -> dict[str, Any]:
        """For files."""
        return {
            "period": self.period,
            "centre": self.centre.tolist(),
            "sines": self.sines.tolist(),
            "cosines": self.cosines.tolist(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Fourier:
        """Inverse of ``as_json``."""
        return cls(float(content["period"]), *(np.array(content[k], float) for k in ("centre", "sines", "cosines")))


def rest_basis(K: int) -> Array:
    """Orthonormal basis (2K, 2K − 2) of coefficients k·ω·(s, c) with zero velocity and acceleration at t = 0."""
    k = np.arange(1.0, K + 1)
    still = np.zeros((2, 2 * K))
    still[0, :K], still[1, K:] = 1.0, k
    return np.asarray(np.linalg.svd(still)[2][2:].T)


def designs(K: int, period: float, t: Array) -> tuple[Array, Array, Array]:
    """Matrices (T, 2K − 2) that map free coefficients to q minus its centre, v and a at times t (T,)."""
    w = 2 * np.pi / period * np.arange(1, K + 1)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    B = rest_basis(K)
    return np.hstack([s / w, c / w]) @ B, np.hstack([c, -s]) @ B, np.hstack([-s * w, -c * w]) @ B
