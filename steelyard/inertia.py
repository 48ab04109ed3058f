"""Ten inertial parameters of a body, and their conversion to and from every other representation.

``parameters = [m, m·c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`` about the body frame's origin, in its axes
(Pinocchio's order). Everything rests on the pseudo-inertia, the second moment of the mass distribution ρ,

    J = ∫ [x; 1] [x; 1]ᵀ ρ(x) dx = [S h; hᵀ m],    S = ½ tr(I) 1 − I,    h = m c,

which is linear in the parameters, transforms between frames as T J Tᵀ, is additive over bodies, and is positive
definite exactly when some mass distribution of positive volume has these parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import rq

from steelyard.spatial import Array

NAMES = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
UNITS = ("kg", *("kg·m",) * 3, *("kg·m²",) * 6)
MARGIN = 1e-8  # of (body size)²: the least eigenvalue of the density covariance of a consistent body
SOLVER_MARGIN = 4 * MARGIN  # so that a solution within the solver tolerance still passes the test

_ROW, _COLUMN = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])  # Ixx Ixy Iyy Ixz Iyz Izz


def matrix(six: ArrayLike) -> Array:
    """Return the symmetric matrix (3, 3) of the six entries [xx, xy, yy, xz, yz, zz]."""
    values = np.asarray(six, float)
    I = np.empty((3, 3))
    I[_ROW, _COLUMN] = values
    I[_COLUMN, _ROW] = values
    return I


def six(symmetric: Array) -> Array:
    """Return the six entries [xx, xy, yy, xz, yz, zz] of a symmetric matrix (3, 3)."""
    return np.asarray(0.5 * (symmetric[_ROW, _COLUMN] + symmetric[_COLUMN, _ROW]))


def pack(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Return the ten parameters of a mass, a centre of mass and an inertia (3, 3) about the centre of mass."""
    c, I = np.asarray(com, float), np.asarray(inertia, float)
    about_origin = I + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, six(about_origin)])


def unpack(parameters: ArrayLike) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and inertia (3, 3) about it; the CoM of a massless body is 0."""
    p = np.asarray(parameters, float)
    mass = float(p[0])
    c = p[1:4] / mass if mass != 0 else np.zeros(3)
    return mass, c, matrix(p[4:]) - mass * (c @ c * np.eye(3) - np.outer(c, c))


def pseudo(parameters: ArrayLike) -> Array:
    """Return the pseudo-inertia (4, 4) [S h; hᵀ m] of ten parameters."""
    p = np.asarray(parameters, float)
    I = matrix(p[4:])
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
    J[:3, 3] = J[3, :3] = p[1:4]
    J[3, 3] = p[0]
    return J


def from_pseudo(J: Array) -> Array:
    """Return the ten parameters (…, 10) of pseudo-inertias (…, 4, 4)."""
    return np.asarray(np.reshape(J, (*np.shape(J)[:-2], 16)) @ _FROM_PSEUDO)


PSEUDO_BASIS = np.stack([pseudo(e) for e in np.eye(10)])  # (10, 4, 4): J = Σ pₖ basis[k]


def _parameters(J: Array) -> Array:
    S, h = 0.5 * (J[:3, :3] + J[:3, :3].T), 0.5 * (J[:3, 3] + J[3, :3])
    return np.concatenate([[J[3, 3]], h, six(np.trace(S) * np.eye(3) - S)])


_FROM_PSEUDO = np.stack([_parameters(J) for J in np.eye(16).reshape(16, 4, 4)])  # (16, 10), of each entry of J


def pseudo_gradient(slope: ArrayLike) -> Array:
    """Return the symmetric G (4, 4) with ⟨G, pseudo(p)⟩ = slope · p for every p: a gradient in p as one in J."""
    a = np.asarray(slope, float)
    g = matrix(a[4:] * np.where(_ROW == _COLUMN, 1.0, 0.5))
    G = np.empty((4, 4))
    G[:3, :3] = np.trace(g) * np.eye(3) - g
    G[:3, 3] = G[3, :3] = 0.5 * a[1:4]
    G[3, 3] = a[0]
    return G


def transform(parameters: ArrayLike, placement: Array) -> Array:
    """Return the parameters in another frame, in which the body frame has the pose ``placement`` (4, 4)."""
    return from_pseudo(placement @ pseudo(parameters) @ placement.T)


def transform_matrix(placement: Array) -> Array:
    """Return the matrix B (10, 10) with ``transform(p, placement) = B @ p``."""
    return from_pseudo(placement @ PSEUDO_BASIS @ placement.T).T


def density_covariance(parameters: ArrayLike) -> Array:
    """Return the covariance Σ = S/m − ccᵀ (3, 3) of the mass distribution about its centre, m²; NaN if massless."""
    mass, _, I = unpack(parameters)
    if mass == 0:
        return np.full((3, 3), np.nan)
    return np.asarray((0.5 * np.trace(I) * np.eye(3) - I) / mass)


def min_eigenvalue(parameters: ArrayLike) -> float:
    """Return the smallest eigenvalue of the density covariance, m²; −inf if the mass is not positive."""
    p = np.asarray(parameters, float)
    if not (np.isfinite(p).all() and p[0] > 0):
        return -np.inf
    return float(np.linalg.eigvalsh(density_covariance(p))[0])


def is_consistent(parameters: ArrayLike, size: float) -> bool:
    """Whether the mass is positive and the density covariance at least ``MARGIN``·size², size in m."""
    return min_eigenvalue(parameters) >= MARGIN * size**2


def nearest_consistent(parameters: ArrayLike, size: float, margin: float = 1e-6) -> Array:
    """Return the nearest physically consistent body with the same mass and centre of mass.

    Eigenvalues of the density covariance below ``margin``·size² are raised to it, which gives the closest such matrix
    in the Frobenius norm. A mass that is not positive becomes ``margin`` kg. A consistent body is returned unchanged.
    """
    if is_consistent(parameters, size):
        return np.array(parameters, float)
    mass, com, _ = unpack(parameters)
    if mass <= 0:
        mass, com, covariance = margin, np.zeros(3), np.zeros((3, 3))
    else:
        covariance = density_covariance(parameters)
    w, V = np.linalg.eigh(covariance)
    covariance = (V * np.maximum(w, margin * size**2)) @ V.T
    return pack(mass, com, mass * (np.trace(covariance) * np.eye(3) - covariance))


def log_cholesky(parameters: ArrayLike) -> Array:
    """Return the coordinates [α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃] (Rucker and Wensing) of a consistent body.

    J = U Uᵀ with U = eᵅ [V t; 0 1], V upper triangular with diagonal eᵈ. Since t is the centre of mass and
    V Vᵀ the density covariance, V is factored from that: no cancellation against a distant centre of mass.
    A rod, plate or point has d = −inf in its thin directions, and is recovered exactly all the same.
    """
    mass, com, _ = unpack(parameters)
    if not mass > 0:
        raise ValueError(f"the mass must be > 0 for log-Cholesky coordinates (got {mass})")
    V = _upper_factor(density_covariance(parameters))
    with np.errstate(divide="ignore"):
        d = np.log(np.diag(V))
    return np.concatenate([[0.5 * np.log(mass)], d, [V[0, 1], V[1, 2], V[0, 2]], com])


def from_log_cholesky(coordinates: ArrayLike) -> Array:
    """Return the ten parameters of log-Cholesky coordinates; consistent for any coordinates."""
    alpha, d1, d2, d3, s12, s23, s13, *t = np.asarray(coordinates, float)
    V = np.array([[np.exp(d1), s12, s13], [0, np.exp(d2), s23], [0, 0, np.exp(d3)]])
    covariance, mass = V @ V.T, float(np.exp(2 * alpha))
    return pack(mass, np.array(t), mass * (np.trace(covariance) * np.eye(3) - covariance))


def _upper_factor(A: Array) -> Array:
    """Return the upper triangular V with V Vᵀ = A for a positive semidefinite A, which may be singular.

    By eigenvalues: Cholesky would divide by the small pivots of a tilted plate.
    """
    w, Q = np.linalg.eigh(A)
    tolerance = 1e-15 * max(np.trace(A), 0.0)
    if w[0] < -16 * tolerance:
        raise ValueError("the density covariance is not positive semidefinite: the body is not physically consistent")
    V = rq(Q * np.sqrt(np.where(w > tolerance, w, 0.0)), mode="r")
    return np.asarray(V * np.where(np.diag(V) < 0, -1.0, 1.0))


def inverse_mean(A: Array, B: Array) -> Array:
    """Return the geometric mean A⁻¹ # B, the positive definite X with X A X = B.

    With A = LLᵀ, B = KKᵀ and KᵀL = U s Vᵀ it is L⁻ᵀ V s Vᵀ L⁻¹: neither A⁻¹ nor a product of both is formed. A Newton
    step, taken if it is small, restores the digits that unequal units cost (small singular values beside large ones).
    """
    L, K = np.linalg.cholesky(A), np.linalg.cholesky(B)
    _, s, Vt = np.linalg.svd(K.T @ L)
    right = Vt @ np.linalg.inv(L)
    X = (right.T * s) @ right
    D = np.kron(np.eye(len(A)), X @ A) + np.kron(X @ A, np.eye(len(A)))  # derivative of X A X by the entries of X
    step = np.linalg.solve(D, (B - X @ A @ X).ravel()).reshape(A.shape)
    return np.asarray(X + 0.5 * (step + step.T) if np.abs(step).max() < 1e-6 * np.abs(X).max() else X)


def split(total: Array, parts: list[Array]) -> list[Array]:
    """Distribute a new total (10,) over welded parts (10,), all in one frame.

    With pseudo-inertias Σᵢ and T = Σ⁻¹ # Σ′ (Σ the sum of the parts, Σ′ the new total) the parts become TΣᵢTᵀ: they
    sum to Σ′, and positive semidefinite parts remain so; others are projected first. A total that is not physically
    consistent cannot be distributed that way: the whole change is then added to the heaviest part.
    """
    projected = [_semidefinite(p) for p in parts]
    before, after = np.sum([pseudo(p) for p in projected], axis=0), pseudo(total)
    recipient = int(np.argmax([p[0] for p in parts]))
    shares = [np.array(p, float) for p in parts]
    unit = 1 / np.sqrt(np.maximum(np.diag(before), 1e-300))  # makes metres and kilograms comparable
    if min(np.linalg.eigvalsh(J * np.outer(unit, unit))[0] for J in (before, after)) > 1e-13:
        T = inverse_mean(before, after)
        moved = [_congruent(T, pseudo(p)) for p in projected]
        D = 1 / np.sqrt(np.diag(after))  # a second T, close to one and in good units, removes the rounding error
        T = inverse_mean(np.sum(moved, axis=0) * np.outer(D, D), after * np.outer(D, D)) * np.outer(1 / D, D)
        moved = [_congruent(T, J) for J in moved]
        shares = [from_pseudo(J) for J in moved]
        recipient = int(np.argmax([np.linalg.eigvalsh(J * np.outer(D, D))[0] for J in moved]))  # the largest margin
    shares[recipient] = shares[recipient] + (np.asarray(total) - np.sum(shares, axis=0))  # rounding, or all of it
    return shares


def _congruent(T: Array, J: Array) -> Array:
    """T J Tᵀ as a square root times its transpose: positive semidefinite even where a large J becomes a small one."""
    w, V = np.linalg.eigh(J)
    root = T @ (V * np.sqrt(np.maximum(w, 0)))
    return np.asarray(root @ root.T)


def _semidefinite(parameters: Array) -> Array:
    """The nearest body of the same mass and centre of mass whose pseudo-inertia has no negative eigenvalue."""
    mass, com, I = unpack(parameters)
    w, V = np.linalg.eigh(0.5 * np.trace(I) * np.eye(3) - I)
    if w[0] >= 0:
        return np.asarray(parameters, float)
    S = (V * np.maximum(w, 0)) @ V.T
    return pack(mass, com, np.trace(S) * np.eye(3) - S)
