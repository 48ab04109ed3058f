"""Partly measured wrenches: a component that is not measured is an unknown force, never zero.

A component of ``wrench.F`` or ``plate.P`` that a log lacks is projected out of the equations like the forces of a foot
(``unknown_forces.py``); the remaining rows contain no unknown force. Two feet that measure fz alone would leave none of
the base equations: their normals differ by a degree, so one foot's shear could explain the other's fz. But a foot that
carries load stands on the ground, so the shear of such *level* feet is assumed horizontal, and the vertical balance
up·(rate of momentum) = Σ fz (z_F·up) remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import Finding, note
from steelyard.log.log import Log
from steelyard.robot.model import Frame, Robot
from steelyard.spatial import WRENCH, Array


@dataclass(frozen=True)
class Missing:
    """Components of one wrench that are not measured."""

    column: str  # wrench.F or plate.P
    frame: Frame | None  # None: a plate, whose pose each sample has
    components: tuple[int, ...]  # of fx … mz
    level: bool  # the foot stands flat: its unknown shear is horizontal, whatever its own axes

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components, of fx … mz."""
        return tuple(WRENCH[i] for i in self.components)

    @property
    def forces(self) -> int:
        """Number of unknown components."""
        return len(self.components)

    def directions(self, at: Array, up: Array | None) -> Array:
        """(6, k) unit wrenches of the unknown components about the base origin; ``at`` (4, 4): pose of the frame."""
        R, p = at[:3, :3], at[:3, 3]
        force = R[:, [i for i in self.components if i < 3]]
        if self.level:
            assert up is not None
            force = np.linalg.svd(up[None])[2][1:].T  # the plane normal to up
        moment = R[:, [i - 3 for i in self.components if i >= 3]]
        return np.block([[force, np.zeros_like(moment)], [np.cross(p, force, axisb=0, axisc=0), moment]])


def unmeasured(robot: Robot, logs: Sequence[Log], *, base: bool) -> tuple[Missing, ...]:
    """Components of measured wrenches that some log lacks; they are unknown in all logs.

    ``base``: for base equations. Only these use plates, and only these need several feet that measure fz, but neither
    fx nor fy, to be level for an equation to remain.
    """
    held: dict[str, Frame | None] = {f"wrench.{f}": robot.frame(f) for log in logs for f in log.names("wrench")}
    if base:
        held |= {f"plate.{name}": None for log in logs for name in log.names("plate")}
    absent = {x: tuple(i for i, c in enumerate(WRENCH) if not all(log.has(f"{x}.{c}") for log in logs)) for x in held}
    upright = [x for x, gone in absent.items() if {0, 1} <= set(gone) and 2 not in gone]
    return tuple(
        Missing(x, held[x], gone, base and x in upright and len(upright) > 1) for x, gone in absent.items() if gone
    )


def grouped(unknown: Iterable[Missing]) -> list[tuple[str, tuple[str, ...], bool]]:
    """Columns that lack the same components: "wrench.a and wrench.b", the components, whether level."""
    groups: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for m in unknown:
        groups.setdefault((m.names, m.level), []).append(m.column)
    return [(" and ".join(columns), names, level) for (names, level), columns in groups.items()]


def notices(unknown: Iterable[Missing]) -> list[Finding]:
    """Notices about partly measured wrenches."""
    notes = []
    for which, names, level in grouped(unknown):
        text = f"{which} without {', '.join(names)}: unknown forces, projected out of the equations"
        if level:
            text += "; shear is assumed horizontal, so that fz enters the vertical balance"
        notes.append(note("components-missing", which, text, components=names, level=level))
    return notes
