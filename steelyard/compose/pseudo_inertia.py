"""Any mass distribution: the pseudo-inertia is positive definite, with a margin.

With Σ the density covariance and s the body's size, Σ ⪰ ε s² 1 and m > 0 are one linear matrix inequality,

    M(θ) = D (J(θ) − ε m s² diag(1, 1, 1, 0)) D ⪰ 0,    D = diag(1/s, 1/s, 1/s, 1) / √m₀,

by Schur's complement; D only scales metres and kilograms to comparable numbers.
"""

from __future__ import annotations

import numpy as np

from steelyard import inertia
from steelyard.compose.composition import Composition
from steelyard.inertia import SOLVER_MARGIN
from steelyard.robot.model import Body
from steelyard.solve.log_cholesky import Chart
from steelyard.spatial import Array

MASS_FLOOR = 1e-4  # of the description's mass


def lmi(body: Body, margin: float = SOLVER_MARGIN) -> Array:
    """Return F (10, 4, 4) with M(θ) = Σ θₖ F[k]."""
    F = inertia.PSEUDO_BASIS.copy()
    F[0, :3, :3] -= margin * body.size**2 * np.eye(3)
    D = np.array([1 / body.size] * 3 + [1.0]) / np.sqrt(body.parameters[0])
    return np.asarray(F * np.outer(D, D))


def composition(body: Body, scale: Array) -> Composition:
    """Return the ten parameters of any mass distribution."""
    return Composition(np.eye(10), body.parameters, scale, (lmi(body),), mass_bound(body))


def mass_floor(body: Body) -> float:
    """Return the least mass of a body, kg."""
    return float(MASS_FLOOR * body.parameters[0])


def mass_bound(body: Body) -> Array:
    """Return lower bounds (10,) on the parameters: ``mass_floor`` on the mass, none on the others."""
    return np.append(mass_floor(body), np.full(9, -np.inf))


def chart(body: Body) -> Chart:
    """Return log-Cholesky coordinates of the interior of the same cone."""
    return Chart(float(body.parameters[0]), mass_floor(body), body.size)
