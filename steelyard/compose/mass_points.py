"""Point masses at fixed points of a body's box or convex hull (Ayusawa 9–15): θ = Pρ, ρ ≥ 0.

A mass at r has J = [r; 1][r; 1]ᵀ, so non-negative masses sum to J ⪰ 0; but that cone is closed, and masses in one plane
are not physically consistent. So each unit mass is a point and a small share of the whole region: with J₀ the
pseudo-inertia of the region uniformly filled with unit mass, Σ₀ its density covariance and s the body's size,

    Jₖ = (1 − δ) [rₖ; 1][rₖ; 1]ᵀ + δ J₀,    δ = ε s² / λ_min(Σ₀).

For any masses x ≥ 0 of the whole and of the points, with M their sum, J/M = δ J₀ + (1 − δ) J′ where J′ ⪰ 0 has unit
mass. The density covariance of a mixture is that of its parts and of their centres,

    Σ = δ Σ₀ + (1 − δ) Σ′ + δ (1 − δ) (c₀ − c′)(c₀ − c′)ᵀ ⪰ δ Σ₀ ⪰ ε s² 1,

however heavy one point becomes, which a fixed lower bound on each mass would not guarantee. The least mass is a bound
on the whole (the first unknown), so the cone of a grid contains that of every coarser grid with a subset of its points.
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
INSIDE = 1e-6  # relative distance up to which parameters count as inside the cone of masses
TIE = 1e-6  # relative difference below which two values count as equal: rounding must not choose between them
REACH = 1.25  # factor on the squared distance of carriers, so that the prior is not on the boundary of the cone


@dataclass(frozen=True)
class Masses:
    """The points at which a body may have mass."""

    points: Array  # (k, 3) m, body frame
    whole: Array  # (10,) parameters of the region, uniformly filled, of unit mass
    blur: float  # δ
    per_axis: int
    within: Within
    carriers: int = 0  # number of points added for the prior, the last ones; they may lie outside the region

    @property
    def map(self) -> Array:
        """(10, 1 + k) columns of the whole and of the points, each blended with the whole (Ayusawa 10, 11)."""
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
    """Return point masses on a grid.

    Args:
        body: The body.
        scale: Unused: masses have the scale of the body's mass.
        count: Points along each edge, or ``auto`` (see ``place``).
        within: Region of the points.
        ridge: λ_ρ, pulls every mass towards ρ_ref = P⁺φ_ref (Ayusawa 23, 24). A mass that deviates by the prior
            standard deviation of the body's mass costs λ_ρ times what one standard deviation costs in the prior.
        prior: (10,) prior mean; the description if not given.
    """
    mean = body.parameters if prior is None else prior
    P = place(body, mean, count, within).map
    mass, k = float(body.parameters[0]), P.shape[1]
    lower = np.append(mass_floor(body), np.zeros(k - 1))
    unit = np.full(k, mass / k)
    weight = np.full(k, np.sqrt(ridge) / (RELATIVE * mass)) if ridge > 0 else np.zeros(0)
    N = _natural(mean, body.size)
    reference = np.linalg.lstsq(N @ P, N @ mean)[0]
    return Composition(P, unit, unit, (), lower, weight, reference)


def distance(P: Array, body: Body, parameters: Array) -> float:
    """Return the distance of parameters from the cone of masses, relative to their own norm in natural units."""
    N, floor = _natural(parameters, body.size), np.eye(P.shape[1])[0] * mass_floor(body)
    return cone_distance(N @ P, N @ (parameters - P @ floor)) / float(np.linalg.norm(N @ parameters))


def place(body: Body, parameters: Array, count: Count = GRID, within: Within = "box") -> Masses:
    """Return points for a body whose prior mean is ``parameters`` (10,).

    With ``auto``, the coarse grid if its cone contains the mean, else a finer one, else the coarse grid and seven
    points whose masses can have exactly these parameters.
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
    """A regular grid of n³ points, corners included; for a hull those inside it, and its extreme vertices."""
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
    whole = geometry.hull_inertia(vertices)
    blur = SOLVER_MARGIN * body.size**2 / inertia.min_eigenvalue(whole)
    return Masses(points, whole, blur, n, within)


def rank(points: Array) -> int:
    """Return the rank of P for points (k, 3) in units of their region: ten if it spans all parameters."""
    return int(np.linalg.matrix_rank(_moments(points), tol=1e-6 * np.sqrt(len(points))))


def _furthest(vertices: Array, directions: Array) -> Array:
    """Indices of the vertices (v, 3), in units of their region, that are extreme in one of the directions (d, 3).

    If an edge or a face is extreme, its vertices that are extreme in the other directions are taken, as if the
    direction were slightly inclined towards those. So rounding decides nothing, and symmetry is preserved.
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
    """Add candidates from ``others``, those with the largest gain first, until they raise the rank no further.

    Candidates of equal gain are added together. In a box they mirror each other (with two points an edge they are the
    centres of all six faces), and rounding would choose between them, differently for every origin of the frame.
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
    """(10, k) moments 1, r and rrᵀ of each point."""
    x, y, z = points.T
    return np.array([np.ones_like(x), x, y, z, x * x, x * y, y * y, x * z, y * z, z * z])


def _region(body: Body, within: Within) -> tuple[Array, Within]:
    """Vertices (v, 3) of the region: the convex hull of the body's shapes if asked for and not flat, else its box."""
    if within == "hull":
        vertices = geometry.hull_of_links(body.parts)
        if (
            vertices is not None
            and inertia.min_eigenvalue(geometry.hull_inertia(vertices)) >= (THIN * body.size) ** 2 / 3
        ):
            return vertices, "hull"
    lower, upper = body.box
    half = np.maximum((upper - lower) / 2, THIN * body.size)
    return (lower + upper) / 2 + np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half, "box"


def _carriers(parameters: Array, masses: Masses) -> Array:
    """(7, 3) points whose masses, blended with the whole, can have exactly these parameters.

    Centre c and c ± √(3κ) a, κ = ``REACH``: six masses of m/6κ have the covariance Σ aaᵀ. The three a are √λ e along
    the principal axes; if two eigenvalues are equal the axes are not unique, and the columns of √Σ are taken.
    """
    J = inertia.pseudo(parameters / parameters[0]) - masses.blur * inertia.pseudo(masses.whole)
    rest = inertia.from_pseudo(J / J[3, 3])
    w, V = np.linalg.eigh(inertia.density_covariance(rest))
    arms = (V * np.sqrt(3 * REACH * np.maximum(w, 0.0))).T
    if np.diff(w).min() <= TIE * w[-1]:
        arms = V @ arms
    return np.asarray(rest[1:4] + np.vstack([np.zeros(3), arms, -arms]))


def _natural(parameters: Array, size: float) -> Array:
    """(10, 10) matrix that scales parameters so that the body's own are about one."""
    return np.asarray(np.linalg.inv(body_root(parameters, size)))
