"""Covariance of the estimate, base parameters, and the source of every quantity that is reported.

Directions of θ that no row excites are the null space of R; all others are combinations of *base parameters*. In
coordinates x = θ/scale (scale: the natural size of each parameter) the singular values of R·scale are the reciprocals
of the relative standard deviations along their directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from steelyard import inertia
from steelyard.equations.columns import Kind
from steelyard.equations.rows import Block
from steelyard.equations.subspace import ROW_SPACE, Subspace
from steelyard.inference.loss import ROBUST
from steelyard.inference.noise import Noise
from steelyard.information import Information
from steelyard.spatial import Array

Source = Literal["data", "narrowed", "prior"]
ORDER: tuple[Source, ...] = ("data", "narrowed", "prior")  # from the data to the description

CERTAIN = 0.1  # relative to its scale: a value of source data has a smaller standard deviation
STAYED = 0.5  # prior standard deviations: a value of source prior is no further from the description


@dataclass(frozen=True)
class Uncertainty:
    """Covariances of θ: from the data alone (in the row space), with the prior, and of the prior."""

    space: Subspace
    data_root: Array  # (n, r); the covariance in the row space is data_root · data_rootᵀ
    posterior: Array  # (n, n) covariance from data and prior
    prior: Array  # (n, n) covariance of the prior

    def std_data(self, gradient: Array) -> float | None:
        """Return the standard deviation of gradientᵀθ from the data alone; None if they do not determine it."""
        if self.space.outside(gradient) >= ROW_SPACE:
            return None
        return float(np.linalg.norm(gradient @ self.data_root))

    def std(self, gradient: Array) -> float:
        """Return the posterior standard deviation of gradientᵀθ."""
        return float(np.sqrt(max(float(gradient @ self.posterior @ gradient), 0.0)))

    def source(self, gradient: Array, scale: float, change: float) -> Source:
        """Return the source of gradientᵀθ, by the rule of ``docs/design.md``.

        Args:
            gradient: (n,) of the quantity.
            scale: Its natural size.
            change: Its difference from the description.
        """
        std, width = self.std_data(gradient), self.std_prior(gradient)
        if std is not None and std < CERTAIN * scale:
            return "data"
        return "prior" if (std is None or std > width) and abs(change) <= STAYED * width else "narrowed"

    def std_prior(self, gradient: Array) -> float:
        """Return the standard deviation of gradientᵀθ by the description alone."""
        return float(np.sqrt(max(float(gradient @ self.prior @ gradient), 0.0)))


def compute_uncertainty(
    space: Subspace,
    info: Information,
    score_covariance: Array,
    prior_K: Array,
    *,
    regularised: bool = True,
    prior_root: Array | None = None,
) -> Uncertainty:
    """Compute the sandwich covariance A⁻¹BA⁻¹, A = RᵀR, of an estimate.

    Args:
        space: Row space of the data.
        info: Information of the weighted rows.
        score_covariance: (n, n) B, the long-run covariance of the score Yᵀe.
        prior_K: (n, n) square root of the precision of the prior.
        regularised: Whether the prior regularised the estimate; if not (least squares) it acts in the null space alone.
        prior_root: (n, n) square root of the precision with which it did; ``prior_K`` by default.
    """
    half = space.V / space.values  # (n, r), scaled: A⁺ = half·halfᵀ
    middle = half.T @ (space.scale[:, None] * score_covariance * space.scale) @ half
    w, Q = np.linalg.eigh(0.5 * (middle + middle.T))
    # The long-run covariance of a short log can be indefinite: there it is that of white noise, not certainty.
    lifted = np.where(w < 0, 1 - w, 0.0)
    rows = ((space.V * space.values) @ Q) / space.scale[:, None]
    score_covariance = score_covariance + (rows * lifted) @ rows.T
    data_root = space.scale[:, None] * (half @ (Q * np.sqrt(w + lifted)))
    root = np.linalg.inv(prior_K)
    if not regularised:
        N = prior_K @ space.null
        null_covariance = space.null @ np.linalg.inv(N.T @ N) @ space.null.T
        return Uncertainty(space, data_root, data_root @ data_root.T + null_covariance, root @ root.T)
    D = space.scale
    K = prior_K if prior_root is None else prior_root
    precision = K.T @ K
    H = (info.R.T @ info.R + precision) * np.outer(D, D)
    inverse = np.linalg.pinv(H, rcond=1e-14, hermitian=True)
    posterior = inverse @ ((score_covariance + precision) * np.outer(D, D)) @ inverse * np.outer(D, D)
    return Uncertainty(space, data_root, 0.5 * (posterior + posterior.T), root @ root.T)


@dataclass(frozen=True)
class BaseParameter:
    """One combination of parameters that the data determine."""

    name: str  # of its leading parameter
    terms: dict[str, float]  # parameter → factor; 1 for the leading one
    value: float  # in the SI unit of the leading parameter
    std: float  # from the data alone
    source: Source  # data: std below 10 % of the combination's natural size
    kind: Kind  # joint: a joint's friction, armature or offset is among its terms
    described: float  # its value by the description
    size: float  # its natural size


def base_parameters(
    space: Subspace,
    unc: Uncertainty,
    theta: Array,
    mean: Array,
    names: Sequence[str],
    kinds: Sequence[Kind],
    sums: Sequence[Array] = (),
) -> tuple[BaseParameter, ...]:
    """Return all base parameters of the data, in the order of their leading parameters.

    Args:
        space: Row space of the data.
        unc: Covariances.
        theta: (n,) estimate.
        mean: (n,) of the prior.
        names: Of the n parameters.
        kinds: Whether each belongs to a body, a joint or a sensor.
        sums: Combinations of interest (the robot's mass). The first that lies in the row space replaces the base
            parameter of its first term, which gives a basis as well.
    """
    pivots, Z = space.composition
    whole = next((g for g in sums if space.outside(g) < ROW_SPACE), None)
    if whole is not None:
        first = min((k for k, p in enumerate(pivots) if whole[p] != 0), key=lambda k: pivots[k])
        pivots, Z = pivots.copy(), Z.copy()
        pivots[first], Z[first] = np.flatnonzero(whole)[0], whole
    basis = []
    for k in np.argsort(pivots):
        z, leader = Z[k], int(pivots[k])
        at = np.flatnonzero(z)
        size = space.size(z)
        kind = "joint" if any(kinds[int(i)] == "joint" for i in at) else kinds[leader]
        terms = {names[int(i)]: float(z[i]) for i in at}
        basis.append(
            BaseParameter(
                names[leader],
                terms,
                value=float(z @ theta),
                std=float(np.linalg.norm(z @ unc.data_root)),
                source=unc.source(z, size, float(z @ (theta - mean))),
                kind="joint" if kind == "gain" else kind,
                described=float(z @ mean),
                size=size,
            )
        )
    return tuple(basis)


def long_run_covariance(
    blocks: Iterable[Block], noise: Noise, theta: Array, space: Subspace, robust: bool = False
) -> Array:
    """Return the score covariance B = Σ ρ(l) Y_tᵀY_{t+l} (n, n) over all lags, rows whitened, scaled by the residuals.

    The autocorrelation is that of stationary noise in each channel: far smoother than products of single residuals,
    which matters for short logs. ``robust``: rows are weighted as in a robust fit.
    """
    W, rho, kappa = noise.whitener, noise.correlation, noise.factor
    n, lags = len(theta), len(rho) - 1
    B = np.zeros((n, n))
    squares, count = 0.0, 0.0
    tail = np.zeros((0, len(W), n))
    for block in blocks:
        Y = np.einsum("ij,tjn->tin", W, block.Y)
        residual = block.target @ W.T - Y @ theta
        weight = curvature = np.ones_like(residual)
        if robust:
            e = noise.standard(residual)
            weight, curvature = ROBUST.root_weight(e), ROBUST.curvature(e)
        Y = Y * weight[:, :, None]
        squares += float(np.sum((residual * weight**2) ** 2))  # E[ψ²] over E[ψ′]
        count += float(np.sum(curvature / kappa))
        both = Y if block.first else np.concatenate([tail, Y])
        start = len(both) - len(Y)
        summed = 0.5 * Y * (rho[0] / kappa)[None, :, None]  # each sample with all earlier ones, and half with itself
        for lag in range(1, lags + 1):
            low = max(start - lag, 0)
            high = len(both) - lag
            if high > low:
                part = both[low:high] * (rho[lag] / kappa)[None, :, None]
                summed[len(Y) - (high - low) :] += part
        half = Y.reshape(-1, n).T @ summed.reshape(-1, n)
        B += half + half.T
        tail = both[max(len(both) - lags, 0) :]
    half_inverse = space.scale[:, None] * (space.V / space.values)
    spent = float(np.trace(half_inverse.T @ B @ half_inverse))  # degrees of freedom of the fit
    return B * (squares / max(count - spent, 0.1 * count))


@dataclass(frozen=True)
class BodySource:
    """Sources of mass, centre of mass and inertia of one body."""

    mass: Source
    com: Source
    inertia: Source
    moved: float = field(default=0.0, compare=False)  # prior standard deviations from the description, the largest

    @property
    def worst(self) -> Source:
        """Source of the body as a whole."""
        return max((self.mass, self.com, self.inertia), key=ORDER.index)


def judge_body(unc: Uncertainty, at: slice, parameters: Array, described: Array, size: float) -> BodySource:
    """Return the sources of mass, centre of mass (worst coordinate) and trace of the inertia about it."""
    n = len(unc.space.scale)
    mass, com, I = inertia.unpack(parameters)
    mass = max(mass, 1e-12)
    g = np.zeros((5, n))
    g[0, at.start] = 1.0
    for k in range(3):  # c = h/m
        g[1 + k, at.start], g[1 + k, at.start + 1 + k] = -com[k] / mass, 1 / mass
    g[4, [at.start + i for i in (4, 6, 9)]] = 1.0  # tr I_C = tr I − 2 h·h/m
    g[4, at.start] = 2 * com @ com
    g[4, at.start + 1 : at.start + 4] = -4 * com
    changes = g[:, at] @ (parameters - described)
    scales = [mass, *[size / 2] * 3, max(float(np.trace(I)), 1e-12)]
    sources = [unc.source(gradient, scale, change) for gradient, scale, change in zip(g, scales, changes, strict=True)]
    moved = max(abs(change) / max(unc.std_prior(gradient), 1e-300) for gradient, change in zip(g, changes, strict=True))
    return BodySource(sources[0], max(sources[1:4], key=ORDER.index), sources[4], float(moved))
