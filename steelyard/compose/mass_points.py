"""A link is masses at fixed points of its box or convex hull (Ayusawa 9–15): θ = Pρ, ρ ≥ 0.

A mass at r has J = [r; 1][r; 1]ᵀ, so any masses that are not negative add up to J ⪰ 0; but that cone is closed, and
masses on a plane are no body. So each of the unit masses is a point and a little of the whole: with J₀ the region
itself, evenly filled with a mass of one, Σ₀ its density covariance and s the body's size,

    Jₖ = (1 − δ) [rₖ; 1][rₖ; 1]ᵀ + δ J₀,    δ = ε s² / λ_min(Σ₀).

Whatever the masses x ≥ 0 of the whole and of the points, with M their sum, J/M = δ J₀ + (1 − δ) J′ where J′ ⪰ 0 has
mass one. The density covariance of a mixture is that of its parts and of their centres,

    Σ = δ Σ₀ + (1 − δ) Σ′ + δ (1 − δ) (c₀ − c′)(c₀ − c′)ᵀ ⪰ δ Σ₀ ⪰ ε s² 1,

however heavy one point becomes: a fixed least mass a point could not promise that. The mass floor is the least mass of
the whole (the first unknown), so a finer grid that has all points of a coarser one has its cone too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from steelyard import inertia
from steelyard.compose.composition import Composition
from steelyard.compose.prior import RELATIVE, THIN, body_root
from steelyard.compose.pseudo_inertia import mass_floor
from steelyard.inertia import SOLVER_MARGIN
from steelyard.robot import geometry
from steelyard.robot.model import Body
from steelyard.solve.nnls import cone_distance
from steelyard.spatial import Array

Within = Literal["box", "hull"]
Count = int | Literal["auto"]

GRID = 3  # points along each edge (Ayusawa's 27)
COARSEST, FINEST = 2, 9
RIDGE = 1e-3  # λ_ρ (Ayusawa 24)
INSIDE = 1e-6  # relative distance up to which parameters count as made of the masses
TIE = 1e-6  # relative difference below which rounding, not the body, would decide which of two is larger
REACH = 1.25  # carriers lie this much further out, squared, than they must: what they carry is not at the edge


@dataclass(frozen=True)
class Masses:
    """Where the masses of a body may be."""

    points: Array  # (k, 3) m, body frame
    whole: Array  # (10,) the region evenly filled, of mass one
    blur: float  # δ
    per_axis: int
    within: Within
    carriers: int = 0  # points placed for the description's sake, the last of all; they may lie outside the region

    @property
    def map(self) -> Array:
        """(10, 1 + k) the whole, then the points, each with its share of the whole (Ayusawa 10, 11)."""
        P = np.column_stack([inertia.pack(1.0, r, np.zeros((3, 3))) for r in self.points])
        return np.column_stack([self.whole, (1 - self.blur) * P + self.blur * self.whole[:, None]])


def composition(
    body: Body,
    scale: Array,
    *,
    count: Count = GRID,
    within: Within = "box",
    ridge: float = RIDGE,
    prior: Array | None = None,
) -> Composition:
    """Masses on a grid; ``prior`` (10,) is what is believed, the description where not given.

    ``ridge`` (λ_ρ) pulls every mass towards ρ_ref = P⁺φ_ref (Ayusawa 23, 24): off by all that the body's mass may be
    off, a mass costs λ_ρ of what the prior says about one standard deviation.
    """
    believed = body.parameters if prior is None else prior
    P = place(body, believed, count, within).map
    mass, k = float(body.parameters[0]), P.shape[1]
    lower = np.append(mass_floor(body), np.zeros(k - 1))
    unit = np.full(k, mass / k)
    weight = np.full(k, np.sqrt(ridge) / (RELATIVE * mass)) if ridge > 0 else np.zeros(0)
    N = _natural(believed, body.size)
    reference = np.linalg.lstsq(N @ P, N @ believed)[0]
    return Composition(P, unit, unit, (), lower, weight, reference)


def distance(P: Array, body: Body, parameters: Array) -> float:
    """How far parameters are from the cone of masses, relative to their own length in natural units."""
    N, floor = _natural(parameters, body.size), np.eye(P.shape[1])[0] * mass_floor(body)
    return cone_distance(N @ P, N @ (parameters - P @ floor)) / float(np.linalg.norm(N @ parameters))


def place(body: Body, parameters: Array, count: Count = GRID, within: Within = "box") -> Masses:
    """Points for a body that is believed to have these parameters (10,).

    ``auto``: the coarse grid; a finer one where the coarse one cannot have these parameters; where neither can, the
    coarse grid and seven points that carry exactly them.
    """
    if count != "auto":
        return _grid(body, count, within)
    for n in (GRID, 2 * GRID - 1):
        masses = _grid(body, n, within)
        if distance(masses.map, body, parameters) <= INSIDE:
            return masses
    coarse = _grid(body, GRID, within)
    points = _carriers(parameters - mass_floor(body) * coarse.whole, coarse)
    return replace(coarse, points=np.vstack([coarse.points, points]), carriers=len(points))


def _grid(body: Body, n: int, within: Within) -> Masses:
    """An even grid of n³ points, corners included; in a hull those inside, and its corners that stick out furthest."""
    vertices, within = _region(body, within)
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    centre, half = (lower + upper) / 2, (upper - lower) / 2
    outward = geometry.convex_hull(vertices).equations  # (f, 4) n·r + d ≤ 0 inside

    def candidates(n: int) -> Array:
        cube = np.array(list(itertools.product(np.linspace(-1.0, 1.0, n), repeat=3)))
        grid = centre + cube * half
        inside = np.max(grid @ outward[:, :3].T + outward[:, 3], axis=1) <= 1e-9 * body.size
        furthest = vertices[_furthest((vertices - centre) / half, cube[np.any(cube != 0, axis=1)])]
        apart = np.linalg.norm(furthest[:, None] - grid[inside], axis=2).min(axis=1, initial=np.inf)
        return np.vstack([grid[inside], furthest[apart > 1e-9 * body.size]])

    points, finer = candidates(n), n
    while rank((points - centre) / half) < 10:
        finer = 2 * finer - 1
        points = _completed(points, candidates(finer), centre, half)
    whole = geometry.solid(vertices)
    blur = SOLVER_MARGIN * body.size**2 / inertia.min_eigenvalue(whole)
    return Masses(points, whole, blur, n, within)


def rank(points: Array) -> int:
    """Of P for points (k, 3) in units of their region: ten if masses there can add up to any ten parameters."""
    return int(np.linalg.matrix_rank(_moments(points), tol=1e-6 * np.sqrt(len(points))))


def _furthest(vertices: Array, directions: Array) -> Array:
    """Which of the vertices (v, 3), in units of their region, lie furthest in some of these directions (d, 3).

    Where an edge or a face lies furthest, each of its ends in the other directions does, as if the direction leaned a
    little towards these. Rounding thus decides nothing, and what is symmetric stays so.
    """
    ahead = directions @ vertices.T
    tied = ahead >= ahead.max(axis=1, keepdims=True) - TIE
    chosen = tied[tied.sum(axis=1) == 1].any(axis=0)
    for face in np.unique(tied[tied.sum(axis=1) > 1], axis=0):
        along = ahead[:, face]
        along = along[np.ptp(along, axis=1) > TIE]
        chosen[face] |= (along >= along.max(axis=1, keepdims=True) - TIE).any(axis=0)
    return np.flatnonzero(chosen)


def _completed(points: Array, others: Array, centre: Array, half: Array) -> Array:
    """Some of the others added, those that add most first, until the rank is as high as they can raise it.

    Those that add equally much are added together. In a box they mirror each other (with two points an edge they are
    the centres of all six faces), and rounding would choose between them: otherwise wherever the frame's origin is.
    """
    have, more = _moments((points - centre) / half), _moments((others - centre) / half)
    added = np.zeros(len(others), bool)
    latest = have
    while True:
        U, s, _ = np.linalg.svd(latest, full_matrices=False)
        U = U[:, s > 1e-6 * s[0]]
        more = more - U @ (U.T @ more)
        gain = np.linalg.norm(more, axis=0)
        if gain.max() <= 1e-6:
            return np.vstack([points, others[added]])
        tied = gain >= (1 - TIE) * gain.max()
        added |= tied
        latest = more[:, tied]


def _moments(points: Array) -> Array:
    """(10, k) one, r and rrᵀ of each point."""
    x, y, z = points.T
    return np.array([np.ones_like(x), x, y, z, x * x, x * y, y * y, x * z, y * z, z * z])


def _region(body: Body, within: Within) -> tuple[Array, Within]:
    """Corners (v, 3) of where mass may be: the hull of the body's shapes if it has one and asked, else its box."""
    if within == "hull":
        vertices = geometry.outline(body.parts)
        if vertices is not None and inertia.min_eigenvalue(geometry.solid(vertices)) >= (THIN * body.size) ** 2 / 3:
            return vertices, "hull"
    lower, upper = body.box
    half = np.maximum((upper - lower) / 2, THIN * body.size)
    return (lower + upper) / 2 + np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half, "box"


def _carriers(parameters: Array, masses: Masses) -> Array:
    """(7, 3) points whose masses, with their share of the whole, can have exactly these parameters.

    Centre c and c ± √(3κ) a, κ the ``REACH``: six masses of m/6κ have the covariance Σ aaᵀ. The three a are √λ e along
    the principal axes; where two of these are equally long no axes are principal, and they are the columns of √Σ.
    """
    J = inertia.pseudo(parameters / parameters[0]) - masses.blur * inertia.pseudo(masses.whole)
    rest = inertia.from_pseudo(J / J[3, 3])
    w, V = np.linalg.eigh(inertia.density_covariance(rest))
    arms = (V * np.sqrt(3 * REACH * np.maximum(w, 0.0))).T
    if np.diff(w).min() <= TIE * w[-1]:
        arms = V @ arms
    return np.asarray(rest[1:4] + np.vstack([np.zeros(3), arms, -arms]))


def _natural(parameters: Array, size: float) -> Array:
    """(10, 10) brings parameters to units in which a body's own are about one."""
    return np.asarray(np.linalg.inv(body_root(parameters, size)))
