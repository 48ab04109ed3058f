"""Gaussian prior on the parameters: mean and standard deviation from the robot description.

Standard deviations are set in a frame at the body's centre of mass along its principal axes, where "mass ± 50 %, centre
of mass ± an eighth of the body" is meaningful, and transformed to the body frame (Ayusawa 27, with σ as a standard
deviation and 1/σ² as the weight, where the paper's (28) has the variances themselves). The alternative is the paper's
own σ (17–22), the largest deviation of any mass in the body's box.

Or the covariance is that of the affine-invariant geometry of pseudo-inertias at the mean J₀ (Lee, Wensing and Park),
the ``pullback`` metric ½γ·tr((J₀⁻¹ΔJ)²) with γ = 1/(2·RELATIVE²). It is independent of axes, origin and units, and
equals the entropic divergence γ·(tr(J₀⁻¹J) − log det(J₀⁻¹J) − 4) to second order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from steelyard import inertia
from steelyard.equations.columns import Columns
from steelyard.equations.coupled_motors import PREFIX
from steelyard.information import Information
from steelyard.robot import geometry
from steelyard.robot.model import GRAVITY, Body, Robot
from steelyard.spatial import Array, placement, translation

Kind = Literal["cad", "box", "none"]
Regularisation = Literal["quadratic", "entropic", "pullback"]
Width = Literal["inertia", "box"]

RELATIVE = 0.5  # relative standard deviation of the description: mass, and moments in units of mass × box
FLAT = 100.0  # times the natural scale: standard deviation of joint terms, offsets and loads, in effect unknown
NEGLIGIBLE = 1e-4  # weight under prior "none": decides only directions that nothing else determines
THIN = 0.02  # of a body's size: least half-thickness that is assumed
HEAVIEST_ERROR = 2.0  # kg: largest deviation of a body's mass (Ayusawa V-A), with widths from its box


@dataclass(frozen=True)
class Prior:
    """Gaussian prior N(mean, (KᵀK)⁻¹)."""

    kind: Kind
    mean: Array  # (n,)
    K: Array  # (n, n) square root of the precision
    scale: Array  # (n,) natural size of each parameter, for conditioning and for verdicts
    weight: float = 1.0  # of the bodies' precision

    @property
    def gamma(self) -> float:
        """Weight of the entropic and of the pullback prior."""
        return self.weight / (2 * RELATIVE**2)

    @property
    def std(self) -> Array:
        """(n,) prior standard deviation of each parameter."""
        return np.asarray(np.linalg.norm(np.linalg.inv(self.K), axis=1))

    @property
    def information(self) -> Information:
        """The prior as information, for solvers; it counts no rows."""
        return replace(Information.of(self.K, self.K @ self.mean), rows=0)

    def about(self, index: Array) -> Prior:
        """Return the prior on some of the parameters, conditional on the others at their means."""
        return replace(self, mean=self.mean[index], K=self.K[np.ix_(index, index)], scale=self.scale[index])


def make(
    robot: Robot,
    columns: Columns,
    kind: Kind = "cad",
    regularisation: Regularisation = "quadratic",
    *,
    width: Width = "inertia",
    weight: float = 1.0,
) -> Prior:
    """Return the prior on all columns of the regressor.

    Args:
        robot: The robot, whose description gives the means.
        columns: The parameters: bodies, joint terms, sensor offsets.
        kind: ``cad``: the description. ``box``: its masses, uniformly distributed over each body's box. ``none``: a
            negligible weight that only determines what the data leave open.
        regularisation: Metric of the bodies' precision.
        width: Standard deviations from the body's own inertia, or from its box.
        weight: λ_φ, multiplies the bodies' precision.
    """
    n = columns.n
    mean, K, scale = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    if columns.bodies:
        bodies = [robot.body(name) for name in columns.bodies]
        about = of_bodies(bodies, kind, regularisation, width=width, weight=weight)
        m = 10 * len(columns.bodies)
        mean[:m], K[:m, :m], scale[:m] = about.mean, about.K, about.scale
    for k, (joint, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies)):
        scale[k] = _joint_scale(robot, joint, term)
        K[k, k] = 1 / (FLAT * scale[k])
    for k, (_, component) in zip(columns.offset_index, columns.offsets, strict=True):
        scale[k] = _offset_scale(robot, component)
        K[k, k] = 1 / (FLAT * scale[k])
    K = NEGLIGIBLE * K if kind == "none" else K
    return Prior(kind, mean, K, scale, weight)


def of_bodies(
    bodies: Sequence[Body],
    kind: Kind = "cad",
    regularisation: Regularisation = "quadratic",
    *,
    width: Width = "inertia",
    weight: float = 1.0,
) -> Prior:
    """Return the prior on bodies alone; that on loads is flat."""
    n = 10 * len(bodies)
    mean, K, scale = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    for k, body in enumerate(bodies):
        at = slice(10 * k, 10 * k + 10)
        mean[at] = geometry.box_inertia(body.parameters[0], body.box) if kind == "box" else body.parameters
        root = body_root(mean[at], body.size)
        scale[at] = np.linalg.norm(root, axis=1)
        if body.carrier is not None:
            mean[at], K[at, at] = 0.0, np.linalg.inv(FLAT * RELATIVE * root)
        elif regularisation == "quadratic":
            K[at, at] = np.linalg.inv(RELATIVE * root if width == "inertia" else box_root(mean[at], body))
        else:
            K[at, at] = pullback_root(mean[at]) / np.sqrt(2) / RELATIVE
        K[at, at] *= np.sqrt(weight)
    return Prior(kind, mean, K, scale, weight)


def pullback_root(mean: Array) -> Array:
    """Return the triangular K (10, 10) with ‖K Δ‖² = tr((J₀⁻¹ΔJ)²) = ‖L⁻¹ΔJ L⁻ᵀ‖² (Frobenius), J₀ = LLᵀ."""
    L = np.linalg.inv(np.linalg.cholesky(inertia.pseudo(mean)))
    return np.asarray(np.linalg.qr((L @ inertia.PSEUDO_BASIS @ L.T).reshape(10, 16).T, mode="r"))


def _joint_scale(robot: Robot, joint: str, term: str) -> float:
    """A tenth of the joint's effort limit, at its velocity limit; gains are relative to the current estimate."""
    limits = robot.description.joints[joint]
    effort = limits.effort if 0 < limits.effort < np.inf else 50.0
    speed = limits.velocity if 0 < limits.velocity < np.inf else 2.0
    natural = {"coulomb": effort, "offset": effort, "viscous": effort / speed, "armature": effort / (10 * speed)}
    return 1.0 if term == "gain" else 0.1 * natural[term.removeprefix(PREFIX)]


def _offset_scale(robot: Robot, component: str) -> float:
    """A tenth of the robot's weight; for moments times the size of its largest body."""
    weight = GRAVITY * sum(float(b.parameters[0]) for b in robot.bodies)
    return 0.1 * weight * (1.0 if component.startswith("f") else max(b.size for b in robot.bodies))


def null_space_root(K: Array, null: Array) -> Array:
    """Return a square root (n, n) of the precision NᵀKᵀKN, which acts in the null space alone (Ayusawa 24, 25).

    ``null`` (n, d) is a basis of it. N = 1 − Z⁺Z with the pseudo-inverse weighted by the prior: N(θ − θ₀) is θ − θ₀
    less the most probable change with the same base parameters. The unweighted one would compare kilograms with kg·m².
    Outside the null space the precision is negligible, not zero: it determines what the data could excite but did not.
    """
    Q = np.linalg.qr(K @ null)[0]  # ‖QᵀKδ‖ = ‖KNδ‖
    return np.asarray(np.linalg.qr(np.vstack([Q.T @ K, NEGLIGIBLE * K]), mode="r"))


def body_root(mean: Array, size: float) -> Array:
    """Return A (10, 10) with AAᵀ the covariance of a body's parameters at a relative standard deviation of 100 %."""
    mass, com, _ = inertia.unpack(mean)
    w, V = np.linalg.eigh(inertia.density_covariance(mean))
    half = np.sqrt(3 * np.maximum(w, (THIN * size) ** 2))  # half edges of the equivalent cuboid
    spread = _box_moments(half) / np.array([1, *[2] * 3, *[3] * 6])
    principal = placement(V * np.sign(np.linalg.det(V)), com)
    return np.asarray(inertia.transform_matrix(principal) @ np.diag(mass * spread))


def _box_moments(half: Array) -> Array:
    """(10,) the largest absolute parameters of 1 kg within ± half (3,)."""
    x, y, z = half
    return np.array([1, x, y, z, y * y + z * z, x * y, z * z + x * x, x * z, y * z, x * x + y * y])


def box_root(mean: Array, body: Body) -> Array:
    """Return the same (10, 10) from the body's box and the deviation Δm of its mass (Ayusawa 17–28).

    σ is the greater distance of the mean from the bounds (22), a standard deviation rather than its square; the mass
    lies within m ± Δm, where (19) has a negative lower bound; Δm = min(m/2, 2 kg) by the formula of V-A.
    """
    lower, upper = body.box
    m = float(mean[0])
    error = min(RELATIVE * m, HEAVIEST_ERROR)
    most = (m + error) * _box_moments(np.maximum((upper - lower) / 2, THIN * body.size))  # (20)
    least = -most  # (19)
    least[[4, 6, 9]] = 0.0
    least[0] = m - error
    middle = translation((lower + upper) / 2)
    centred = inertia.transform(mean, np.linalg.inv(middle))  # (18)
    return np.asarray(inertia.transform_matrix(middle) @ np.diag(np.maximum(most - centred, centred - least)))
