"""What is believed before any data: a mean and a width for every parameter.

The width is set in a frame at the body's centre of mass along its principal axes, where "the mass may be half off,
its centre an eighth of the body away" has a meaning, and is carried to the body frame (Ayusawa 27, with σ as a
standard deviation and 1/σ² as the weight, where the paper's (28) has the variances themselves). The paper's own widths
(17–22), as far as any mass in the body's box can be off, are the alternative.

Or the width is that of the affine-invariant geometry of pseudo-inertias at the mean J₀ (Lee, Wensing and Park), the
``pullback`` metric ½γ·tr((J₀⁻¹ΔJ)²) with γ = 1/(2·RELATIVE²). It knows of no axes, origin or units, and it is the
entropic divergence γ·(tr(J₀⁻¹J) − log det(J₀⁻¹J) − 4) to second order.
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

RELATIVE = 0.5  # how far off the description may be: mass, and moments in units of mass × box
FLAT = 100.0  # times its natural scale: joint terms, offsets and loads are as good as unknown
NEGLIGIBLE = 1e-4  # weight of the mean under prior "none": decides only what nothing else does
THIN = 0.02  # of a body's size: nothing is thinner to either side of its middle
HEAVIEST_ERROR = 2.0  # kg: the mass of a body is not further off (Ayusawa V-A), if widths are those of its box


@dataclass(frozen=True)
class Prior:
    """Gaussian belief N(mean, (KᵀK)⁻¹)."""

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
        """(n,) width of the belief about each parameter."""
        return np.asarray(np.linalg.norm(np.linalg.inv(self.K), axis=1))

    @property
    def information(self) -> Information:
        """The belief in the form that solvers see; it counts no rows."""
        return replace(Information.of(self.K, self.K @ self.mean), rows=0)

    def about(self, index: Array) -> Prior:
        """The belief about some of the parameters, the others being exactly where it has them."""
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
    """Belief about all columns.

    ``cad``: the description. ``box``: its masses, spread evenly over each body's box. ``none``: no pull, but for
    a negligible one that says where to stay when nothing else does. ``width``: how far off that may be, by the body's
    own spread of mass, or by its box; ``weight`` (λ_φ) multiplies the bodies' precision.
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
    """Belief about bodies alone; loads are as good as unknown."""
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
    """(10, 10) triangular K with ‖K Δ‖² = tr((J₀⁻¹ΔJ)²): with J₀ = LLᵀ it is ‖L⁻¹ΔJ L⁻ᵀ‖² in the Frobenius norm."""
    L = np.linalg.inv(np.linalg.cholesky(inertia.pseudo(mean)))
    return np.asarray(np.linalg.qr((L @ inertia.PSEUDO_BASIS @ L.T).reshape(10, 16).T, mode="r"))


def _joint_scale(robot: Robot, joint: str, term: str) -> float:
    """A tenth of what the joint can give, at the speed it can reach; gains are relative to what was found."""
    limits = robot.description.joints[joint]
    effort = limits.effort if 0 < limits.effort < np.inf else 50.0
    speed = limits.velocity if 0 < limits.velocity < np.inf else 2.0
    natural = {"coulomb": effort, "offset": effort, "viscous": effort / speed, "armature": effort / (10 * speed)}
    return 1.0 if term == "gain" else 0.1 * natural[term.removeprefix(PREFIX)]


def _offset_scale(robot: Robot, component: str) -> float:
    """A tenth of the robot's weight; for a moment at the length of its largest body."""
    weight = GRAVITY * sum(float(b.parameters[0]) for b in robot.bodies)
    return 0.1 * weight * (1.0 if component.startswith("f") else max(b.size for b in robot.bodies))


def unseen(K: Array, null: Array) -> Array:
    """(n, n) square root of the precision NᵀKᵀKN that pulls in the null space alone (Ayusawa 24, 25).

    ``null`` (n, d) is a basis of it. N = 1 − Z⁺Z with the pseudo-inverse weighted by the prior: N(θ − θ₀) is what is
    left of θ − θ₀ once the likeliest change with the same base parameters is taken off. In the plain one kilograms
    and kg·m² count alike. Elsewhere the pull is negligible, not zero: it decides what could be seen, but was not.
    """
    Q = np.linalg.qr(K @ null)[0]  # ‖QᵀKδ‖ = ‖KNδ‖
    return np.asarray(np.linalg.qr(np.vstack([Q.T @ K, NEGLIGIBLE * K]), mode="r"))


def body_root(mean: Array, size: float) -> Array:
    """(10, 10) A with AAᵀ the covariance of a body's parameters in its own frame, were they off by all they are."""
    mass, com, _ = inertia.unpack(mean)
    w, V = np.linalg.eigh(inertia.density_covariance(mean))
    half = np.sqrt(3 * np.maximum(w, (THIN * size) ** 2))  # edges of the cuboid; no body is a sheet
    spread = _box_moments(half) / np.array([1, *[2] * 3, *[3] * 6])
    own = placement(V * np.sign(np.linalg.det(V)), com)
    return np.asarray(inertia.transform_matrix(own) @ np.diag(mass * spread))


def _box_moments(half: Array) -> Array:
    """(10,) the greatest |parameters| of one kilogram within ± half (3,)."""
    x, y, z = half
    return np.array([1, x, y, z, y * y + z * z, x * y, z * z + x * x, x * z, y * z, x * x + y * y])


def box_root(mean: Array, body: Body) -> Array:
    """(10, 10) the same from the body's box and how far off its mass may be (Ayusawa 17–28).

    σ is the greater distance of the mean from the bounds (22), a standard deviation rather than its square; the mass
    lies within m ± Δm, where (19) has a negative lower bound; Δm = min(m/2, 2 kg) as the formula of V-A says.
    """
    lower, upper = body.box
    m = float(mean[0])
    error = min(RELATIVE * m, HEAVIEST_ERROR)
    most = (m + error) * _box_moments(np.maximum((upper - lower) / 2, THIN * body.size))  # (20)
    least = -most  # (19)
    least[[4, 6, 9]] = 0.0
    least[0] = m - error
    middle = translation((lower + upper) / 2)
    here = inertia.transform(mean, np.linalg.inv(middle))  # (18)
    return np.asarray(inertia.transform_matrix(middle) @ np.diag(np.maximum(most - here, here - least)))
