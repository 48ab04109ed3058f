"""The feasible set: all parameters that are physically consistent and that the data do not refute.

    D(θ) = ‖Rθ − z‖² ≤ least D of any admissible θ + a quantile of χ²

``Evidence`` holds the data, each direction scaled to unit variance; ``Allowed`` holds the constraints: consistent
bodies, non-negative friction, and optionally each body's mass inside its box. Ranges are taken over this set.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard import inertia
from steelyard.compose import prior as priors
from steelyard.compose.pseudo_inertia import lmi
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.inertia import SOLVER_MARGIN
from steelyard.information import Information
from steelyard.robot import geometry
from steelyard.robot.model import Body
from steelyard.solve import clarabel_ as conic
from steelyard.solve.problem import Cone, Problem
from steelyard.solve.region import Reach, Region
from steelyard.spatial import Array

FAR = 100.0  # times mass and size of the described robot: limits of the search
LEAST_NOISE = 0.2  # relative to white noise: lower bound of the long-run variance (``noise.Noise.factor``)
TIE = 1e-3  # weight of the description, which only selects among θ of equal misfit


@dataclass(frozen=True)
class Evidence:
    """The data, each direction scaled to unit variance: D(θ) = ‖Rθ − z‖²."""

    R: Array  # (r, n)
    z: Array  # (r,)

    @classmethod
    def of(cls, space: Subspace, info: Information, score_covariance: Array) -> Evidence:
        """Return the evidence in information A = RᵀR whose score Yᵀe has the covariance B."""
        half = space.scale[:, None] * (space.V / space.values)
        w, Q = np.linalg.eigh(half.T @ (0.5 * (score_covariance + score_covariance.T)) @ half)
        root = (Q / np.sqrt(np.maximum(w, LEAST_NOISE))).T
        return cls(root @ (space.values[:, None] * space.V.T / space.scale), root @ (info.R @ half).T @ info.z)

    def misfit(self, theta: Array) -> float:
        """Return D(θ)."""
        return float(np.sum((self.R @ theta - self.z) ** 2))


@dataclass(frozen=True)
class Allowed:
    """Constraints on θ: ten entries per body, first, then numbers that may have a lower bound."""

    bodies: tuple[Body, ...]
    lowest: Mapping[int, float]  # index → lower bound
    scale: Array  # (n,) natural sizes
    others: Array  # (n − 10·bodies,) initial values of the other entries, above their bounds
    mass: float  # kg, of the described robot
    length: float  # m, of its largest body
    inside: frozenset[str] = frozenset()  # bodies whose mass is confined to their box

    @classmethod
    def of(cls, setup: Setup, prior: priors.Prior, inside: bool = False) -> Allowed:
        """Return the constraints on the free parameters; ``inside`` confines bodies with shapes to their boxes."""
        columns, own = setup.columns, [b for b in setup.robot.bodies if b.carrier is None]
        bodies = tuple(setup.robot.body(b) for b in setup.free_bodies)
        rest = np.arange(10 * len(columns.bodies), columns.n)
        signed = columns.signed
        low = 1e-3 * prior.scale[rest]
        return cls(
            bodies,
            {10 * len(bodies) + k: 0.0 for k, free_sign in enumerate(signed) if not free_sign},
            prior.scale[setup.free],
            np.where(signed, prior.mean[rest], np.maximum(prior.mean[rest], low)),
            sum(float(b.parameters[0]) for b in own),
            max(b.size for b in own),
            frozenset(b.name for b in bodies if inside and setup.robot.has_shape(b)),
        )

    @property
    def guess(self) -> Array:
        """(n,) strictly feasible: the description, or a uniform box for bodies that are confined to theirs."""
        parts = [
            geometry.box_inertia(b.parameters[0], b.box) if b.name in self.inside else b.parameters for b in self.bodies
        ]
        return np.concatenate([*parts, self.others])

    @property
    def boxes(self) -> tuple[Cone, ...]:
        """The linear inequalities of confined bodies, as cones of order one."""
        cones = []
        for k, body in enumerate(self.bodies):
            unit = self.scale[10 * k : 10 * k + 10]
            rows = box_rows(body.box) if body.name in self.inside else ()
            cones += [Cone(10 * k, (row / np.linalg.norm(row * unit))[:, None, None]) for row in rows]
        return tuple(cones)

    def cones(self, margin: float) -> tuple[Cone, ...]:
        """Return the matrix inequality of each body."""
        return tuple(Cone(10 * k, lmi(b, margin)) for k, b in enumerate(self.bodies))


def box_rows(box: geometry.Box) -> Iterator[Array]:
    """Yield rows (10,) with rowᵀθ ≥ 0 for any mass in a box: ∫ pq ρ dx, p, q ≥ 0 the distances from two faces.

    They imply that the centre of mass is in the box and the density realisable in the ellipsoid around it.
    """
    faces = [(np.append(axis, -low), np.append(-axis, high)) for axis, low, high in zip(np.eye(3), *box, strict=True)]
    pairs = [*faces, *(pair for f, g in itertools.combinations(faces, 2) for pair in itertools.product(f, g))]
    for p, q in pairs:
        yield np.einsum("kij,i,j->k", inertia.PSEUDO_BASIS, p, q)


def make_region(data: Evidence, allowed: Allowed, quantile: float) -> tuple[Region, float]:
    """Return the region of all admissible θ with D within ``quantile`` of the least; and that least D."""
    scale, guess, boxes = allowed.scale, allowed.guess, allowed.boxes
    K = TIE * np.diag(1 / scale)
    posed = Information.of(np.vstack([data.R, K]), np.concatenate([data.z, K @ guess]))
    cones = (*allowed.cones(SOLVER_MARGIN), *boxes)
    optimum = conic.solve(Problem(posed, scale, guess, cones, dict(allowed.lowest))).theta
    best = _move_inside(optimum if np.isfinite(optimum).all() else guess, guess, cones, allowed)
    least = data.misfit(best)  # of an admissible θ: an even lower one would make ranges narrower, so they are safe
    share = 1.0  # of the way to the guess, which is well inside: as far as the data admit
    while data.misfit(best + share * (guess - best)) > least + 0.5 * quantile:
        share *= 0.7
    rows = np.zeros((len(allowed.lowest) + len(boxes), len(guess)))
    rows[np.arange(len(allowed.lowest)), list(allowed.lowest)] = 1.0
    for row, cone in zip(rows[len(allowed.lowest) :], boxes, strict=True):
        row[cone.at : cone.at + 10] = cone.F[:, 0, 0]
    levels = np.append(list(allowed.lowest.values()), np.zeros(len(boxes)))
    bodies = range(0, 10 * len(allowed.bodies), 10)
    others = {i: FAR * float(scale[i]) for i in range(10 * len(allowed.bodies), len(guess))}
    reach = Reach(tuple(bodies), FAR * allowed.mass, allowed.length, others)
    start, radius = best + share * (guess - best), float(np.sqrt(least + quantile))
    return Region(data.R, data.z, radius, scale, start, allowed.cones(inertia.MARGIN), rows, levels, reach), least


def _move_inside(theta: Array, guess: Array, cones: Sequence[Cone], allowed: Allowed) -> Array:
    """θ, moved towards the guess until it satisfies every constraint to the last digit."""
    for share in (0.0, *np.logspace(-10, -1, 10)):
        moved = theta + share * (guess - theta)
        above = all(moved[i] >= low for i, low in allowed.lowest.items())
        if above and all(np.linalg.eigvalsh(c.value(moved))[0] >= 0 for c in cones):
            return np.asarray(moved)
    return guess
