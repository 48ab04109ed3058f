"""Whether the cone of a body's point masses contains its prior mean, and the distance if not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.compose.mass_points import GRID, INSIDE, Count, Within, distance, place
from steelyard.errors import Finding, note
from steelyard.robot.model import Body
from steelyard.spatial import Array


@dataclass(frozen=True)
class Cover:
    """The point masses of one body, and how well they represent its prior."""

    count: int
    per_axis: int
    within: Within
    carriers: int  # points added for the prior
    prior_distance: float  # of the prior mean from the cone of masses, over its norm, in natural units

    @property
    def inside(self) -> bool:
        """Whether masses at these points can have the prior's parameters."""
        return self.prior_distance <= INSIDE

    def as_json(self) -> dict[str, object]:
        """The entry under ``points``."""
        return {**vars(self), "prior_inside": self.inside}


def cover(body: Body, prior: Array, count: Count = GRID, within: Within = "box") -> Cover:
    """Place the points of a body with the prior mean ``prior`` (10,), and measure how well they represent it."""
    masses = place(body, prior, count, within)
    off = distance(masses.map, body, prior)
    return Cover(len(masses.points), masses.per_axis, masses.within, masses.carriers, off)


def cover_notices(covers: Mapping[str, Cover], asked: Within) -> list[Finding]:
    """Return notices about priors that the masses cannot represent, and points other than those asked for."""
    far = sorted((c.prior_distance, name) for name, c in covers.items() if not c.inside)[::-1]
    carried = [name for name, c in covers.items() if c.carriers]
    boxed = [name for name, c in covers.items() if c.within != asked]
    notices = []
    if far:
        shown = ", ".join(f"{name} {100 * off:.2g} %" for off, name in far[:4])
        more = f" and {len(far) - 4} more" if len(far) > 4 else ""
        text = (
            f"point masses cannot represent the prior of {len(far)} of {len(covers)} bodies; relative distance "
            f"{shown}{more}. A finer grid may be closer; points='auto' represents all priors exactly"
        )
        notices.append(note("prior-not-represented", ", ".join(name for _, name in far), text, points="auto"))
    if carried:
        bodies = ", ".join(carried)
        text = f"the prior of {bodies} does not fit into the {asked}: points were added for it"
        notices.append(note("points-added", bodies, text))
    if boxed:
        bodies = ", ".join(boxed)
        text = f"{bodies}: without shapes that have a convex hull, points are in the box"
        notices.append(note("hull-missing", bodies, text))
    return notices
