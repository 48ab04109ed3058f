"""Motors that move joints through gears and belts, coupled wrists included: q_motor = M q_joint.

The power is the same on either side, so torques go the other way: tau_joint = Mᵀ tau_motor. The matrix falls into
blocks of joints that have to do with each other; a block is converted whole or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import Finding, did_you_mean
from steelyard.spatial import Array

SINGULAR = 1e12  # condition number beyond which a matrix is taken for singular
KINDS = ("q", "v", "a", "tau", "current")


@dataclass(frozen=True)
class Transmission:
    """Motor k is the one whose columns carry the name of joint k."""

    joints: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]  # (n, n), q_motor = matrix · q_joint

    def blocks(self) -> list[list[int]]:
        """Indices of joints that are coupled with each other."""
        together = np.array(self.matrix) != 0
        together = together | together.T | np.eye(len(together), dtype=bool)
        reach = np.linalg.matrix_power(together.astype(float), len(together)) > 0
        return [list(map(int, block)) for block in dict.fromkeys(tuple(np.flatnonzero(row)) for row in reach)]

    def as_metadata(self) -> dict[str, Any]:
        """As a log keeps it."""
        return {"joints": list(self.joints), "matrix": [list(row) for row in self.matrix]}


def misfits(
    transmission: Transmission, columns: Mapping[str, Any], gains: Mapping[str, float], where: str
) -> Iterator[Finding]:
    """Joints that have no columns, and blocks of which something is missing."""
    known = sorted({c.partition(".")[2] for c in columns if c.partition(".")[0] in KINDS})
    for joint in transmission.joints:
        if joint not in known:
            hint = did_you_mean(joint, known, "Map its columns, or take it out of the transmission")
            yield Finding("todo", f"{where}, joints", f"{joint!r} has no column", hint)
    for block in transmission.blocks():
        names = [transmission.joints[k] for k in block]
        for kind, instead in (("q", "q"), ("v", "v"), ("a", "a"), ("tau", "current")):
            missing = [f"{kind}.{j}" for j in names if f"{kind}.{j}" not in columns and f"{instead}.{j}" not in columns]
            if 0 < len(missing) < len(names):
                are = "is" if len(missing) == 1 else "are"
                what = f"couples {', '.join(names)}, and {', '.join(missing)} {are} missing"
                yield Finding("todo", where, what, "Map the columns of all coupled joints")
        unknown = [j for j in names if _by_current(j, columns) and j not in gains]
        if len(names) > 1 and unknown:
            what = f"{', '.join(unknown)} lack a gain, and share their torque with {', '.join(names)}"
            yield Finding("todo", where, what, "Give their motors' gains in [gains], N·m/A")


def joint_side(
    transmission: Transmission, columns: Mapping[str, Array], gains: Mapping[str, float]
) -> tuple[dict[str, Array], dict[str, float]]:
    """Columns on the joints' side, and the gains that were not used up by turning motor currents into torques."""
    matrix = np.array(transmission.matrix)
    converted, left = dict(columns), dict(gains)
    for block in transmission.blocks():
        names = [transmission.joints[k] for k in block]
        M = matrix[np.ix_(block, block)]
        for kind in ("q", "v", "a"):
            if f"{kind}.{names[0]}" in columns:
                motors = np.column_stack([columns[f"{kind}.{j}"] for j in names])
                values = motors @ np.linalg.inv(M).T
                converted |= {f"{kind}.{j}": values[:, k] for k, j in enumerate(names)}
        if any(_by_current(j, columns) and j not in gains for j in names):
            continue  # one joint alone: its gain will be identified on the joint's side
        if f"tau.{names[0]}" in columns or f"current.{names[0]}" in columns:
            currents = {j: gains[j] * columns[f"current.{j}"] for j in names if _by_current(j, columns)}
            motors = np.column_stack([currents[j] if j in currents else columns[f"tau.{j}"] for j in names])
            values = motors @ M  # rows are samples: tauᵀ M = (Mᵀ tau)ᵀ
            converted |= {f"tau.{j}": values[:, k] for k, j in enumerate(names)}
            for joint in currents:
                del converted[f"current.{joint}"], left[joint]
    return converted, left


def _by_current(joint: str, columns: Mapping[str, Any]) -> bool:
    return f"tau.{joint}" not in columns and f"current.{joint}" in columns
