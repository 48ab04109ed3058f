"""Which joints to move next: those whose bodies lead the base parameters that are known worst.

A base parameter is named after the parameter that leads it (``Subspace.composition``). The joints that turn its body
against the rest, nearest first, are what has to move for it to be told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.informativeness import Telling

Array = np.ndarray

SHARE = 0.1  # of base parameters, the worst known, that a round works on
NEAREST = 3  # joints above a body that are asked to move


@dataclass(frozen=True)
class Weak:
    """A base parameter that is known badly."""

    name: str  # of the parameter that leads it
    deviation: float  # standard deviation, of its natural size
    joints: tuple[str, ...]  # that tell it, nearest first


def weakest(telling: Telling, root: Array, share: float = SHARE) -> list[Weak]:
    """The base parameters that are known worst, worst first."""
    robot, possible = telling.stance.robot, telling.possible
    deviation = criteria.deviations(root, possible)
    leading = possible.composition[0]
    worst = np.argsort(-deviation, kind="stable")[: max(1, round(share * len(deviation)))]
    found = []
    for k in worst:
        column = int(leading[k])
        body = robot.body(telling.columns.owner(column))
        joints = tuple(robot.joints_above(body.joint)[:NEAREST])
        found.append(Weak(telling.columns.names[column], float(deviation[k]), joints))
    return found


def focus(telling: Telling, root: Array) -> tuple[str, ...]:
    """Joints that the weakest base parameters ask for, most often first."""
    votes: dict[str, float] = {}
    for weak in weakest(telling, root):
        for near, joint in enumerate(weak.joints):
            votes[joint] = votes.get(joint, 0.0) + 0.5**near
    return tuple(sorted(votes, key=lambda j: -votes[j]))
