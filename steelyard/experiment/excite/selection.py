"""Which motions to play: the best three for each link (Jovic), or those that together tell most (D-optimal).

The condition number of the ten columns of one link tells how evenly a motion excites what that link adds; three
motions with the least of it for every link make Jovic's set. D-optimal choice looks at all base parameters together and
at what the motions chosen before have told already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.informativeness import Telling

Array = np.ndarray

BEST = 3  # motions for each link
LITTLE = 100.0  # natural sizes, that base parameters may be off by before anything is told


@dataclass(frozen=True, eq=False)
class Told:
    """What one motion tells."""

    root: Array  # (r, r) of the base parameters' information
    links: dict[str, float]  # link → condition number of its ten columns

    @classmethod
    def of(cls, telling: Telling, R: Array) -> Told:
        """From the triangle of its rows."""
        scaled = R * telling.possible.scale
        links = {name: criteria.condition(scaled[:, telling.columns.body(name)]) for name in telling.columns.bodies}
        return cls(criteria.base_root(R, telling.possible), links)


def best_for_links(told: Sequence[Told], best: int = BEST) -> list[int]:
    """Indices of the motions that are among the best ones of some link, in order (Jovic II-B)."""
    chosen = set[int]()
    for name in told[0].links if told else ():
        order = np.argsort([t.links[name] for t in told], kind="stable")
        chosen |= {int(k) for k in order[:best] if np.isfinite(told[k].links[name])}
    return sorted(chosen)


def most_telling(told: Sequence[Told], count: int, known: Array | None = None) -> list[int]:
    """Indices of ``count`` motions that together have the largest determinant, greedily, best first."""
    if not told:
        return []
    start = criteria.natural_prior(len(told[0].root), LITTLE) if known is None else known
    return criteria.greedy([t.root for t in told], count, start)


def by_link(told: Sequence[Told], chosen: Sequence[int]) -> dict[str, float]:
    """Link → least condition number that a chosen motion has for it."""
    return {name: min(told[k].links[name] for k in chosen) for name in told[0].links}
