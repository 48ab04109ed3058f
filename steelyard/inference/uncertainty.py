"""Covariance of the estimate, base parameters, and the verdict on every quantity that is reported.

Directions of θ that no row excites are the null space of R; all others are combinations of *base parameters*. In
coordinates x = θ/scale (scale: the natural size of each parameter) the singular values of R·scale are the reciprocals
of the relative standard deviations along their directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard import inertia
from steelyard.equations.rows import Block
from steelyard.equations.subspace import ROW_SPACE, Subspace
from steelyard.inference.loss import ROBUST
from steelyard.inference.noise import Noise
from steelyard.information import Information
from steelyard.spatial import Array

Verdict = Literal["identified", "partly", "prior"]

CERTAIN = 0.1  # relative to its scale: an identified parameter has a smaller standard deviation


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

    def verdict(self, gradient: Array, scale: float) -> Verdict:
        """Return the verdict on gradientᵀθ, by the rule of ``docs/design.md``."""
        std = self.std_data(gradient)
        if std is None or std**2 > float(gradient @ self.prior @ gradient):
            return "prior"
        return "identified" if std < CERTAIN * scale else "partly"


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
    identified: bool  # std below 10 % of the combination's natural size


def base_parameters(
    space: Subspace, unc: Uncertainty, theta: Array, names: Sequence[str], sums: Sequence[Array] = ()
) -> tuple[BaseParameter, ...]:
    """Return all base parameters of the data, in the order of their leading parameters.

    ``sums`` are combinations of interest (the robot's mass). The first that lies in the row space replaces the base
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
        std = float(np.linalg.norm(Z[k] @ unc.data_root))
        terms = {names[int(i)]: float(Z[k, i]) for i in np.flatnonzero(Z[k])}
        leader = int(pivots[k])
        certain = std < CERTAIN * space.size(Z[k])
        basis.append(BaseParameter(names[leader], terms, float(Z[k] @ theta), std, certain))
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
class BodyVerdict:
    """Verdicts on mass, centre of mass and inertia of one body."""

    mass: Verdict
    com: Verdict
    inertia: Verdict

    @property
    def worst(self) -> Verdict:
        """Verdict on the body as a whole."""
        order: list[Verdict] = ["identified", "partly", "prior"]
        return max((self.mass, self.com, self.inertia), key=order.index)


def judge_body(unc: Uncertainty, at: slice, parameters: Array, size: float) -> BodyVerdict:
    """Return the verdicts on mass, centre of mass (worst coordinate) and trace of the inertia about it."""
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
    verdicts = [
        unc.verdict(g[0], mass),
        *(unc.verdict(g[1 + k], size / 2) for k in range(3)),
        unc.verdict(g[4], max(float(np.trace(I)), 1e-12)),
    ]
    order: list[Verdict] = ["identified", "partly", "prior"]
    return BodyVerdict(verdicts[0], max(verdicts[1:4], key=order.index), verdicts[4])
