"""Whether masses at a body's points can be what is believed about it, and how far off they stay if not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.compose.mass_points import GRID, INSIDE, Count, Within, distance, place
from steelyard.robot.model import Body
from steelyard.spatial import Array


@dataclass(frozen=True)
class Cover:
    """The masses of one body."""

    count: int
    per_axis: int
    within: Within
    carriers: int  # placed only because the prior has mass there
    prior_distance: float  # of its mean from all that these masses can make, over its length, in natural units

    @property
    def inside(self) -> bool:
        """Whether masses at these points can have the prior's parameters."""
        return self.prior_distance <= INSIDE

    def as_json(self) -> dict[str, object]:
        """The entry under ``points``."""
        return {**vars(self), "prior_inside": self.inside}


def cover(body: Body, prior: Array, count: Count = GRID, within: Within = "box") -> Cover:
    """What method ``points`` makes of a body that is believed to have the parameters ``prior`` (10,)."""
    masses = place(body, prior, count, within)
    off = distance(masses.map, body, prior)
    return Cover(len(masses.points), masses.per_axis, masses.within, masses.carriers, off)


def cover_notices(covers: Mapping[str, Cover], asked: Within) -> list[str]:
    """What a user should know about the masses of each body."""
    far = sorted((c.prior_distance, name) for name, c in covers.items() if not c.inside)[::-1]
    carried = [name for name, c in covers.items() if c.carriers]
    boxed = [name for name, c in covers.items() if c.within != asked]
    said = []
    if far:
        shown = ", ".join(f"{name} {100 * off:.2g} %" for off, name in far[:4])
        more = f" and {len(far) - 4} more" if len(far) > 4 else ""
        said.append(
            f"the prior of {len(far)} of {len(covers)} bodies cannot be made of masses at their points, and is off by "
            f"{shown}{more}: more points may come nearer, and --points auto covers all"
        )
    if carried:
        said.append(f"the prior does not fit in the {asked} of {', '.join(carried)}: masses were added to carry it")
    if boxed:
        said.append(f"no shapes give a hull of {', '.join(boxed)}: masses are in the box")
    return said
