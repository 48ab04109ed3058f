"""Transmissions between motors and joints, coupled wrists included: q_motor = M q_joint.

Power is the same on both sides, so tau_joint = Mᵀ tau_motor. The matrix is block diagonal after sorting; each block of
coupled joints is converted as a whole or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import Finding, unknown_name
from steelyard.spatial import Array

SINGULAR = 1e12  # condition number above which a matrix counts as singular
KINDS = ("q", "v", "a", "tau", "current")


@dataclass(frozen=True)
class Transmission:
    """A linear transmission; the columns of motor k have the name of joint k."""

    joints: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]  # (n, n), q_motor = matrix · q_joint

    def blocks(self) -> list[list[int]]:
        """Return the indices of the joints in each coupled block."""
        together = np.array(self.matrix) != 0
        together = together | together.T | np.eye(len(together), dtype=bool)
        reach = np.linalg.matrix_power(together.astype(float), len(together)) > 0
        return [list(map(int, block)) for block in dict.fromkeys(tuple(np.flatnonzero(row)) for row in reach)]

    def as_metadata(self) -> dict[str, Any]:
        """Return it as metadata of a log."""
        return {"joints": list(self.joints), "matrix": [list(row) for row in self.matrix]}


def transmission_findings(
    transmission: Transmission, columns: Mapping[str, Any], gains: Mapping[str, float], where: str
) -> Iterator[Finding]:
    """Yield a finding for each joint without columns and each block that lacks columns or gains."""
    known = sorted({c.partition(".")[2] for c in columns if c.partition(".")[0] in KINDS})
    for joint in transmission.joints:
        if joint not in known:
            fix = "Map its columns, or remove it from the transmission"
            yield unknown_name(f"{where}, joints", f"{joint!r} has no column", joint, known, fix)
    for block in transmission.blocks():
        names = [transmission.joints[k] for k in block]
        for kind, instead in (("q", "q"), ("v", "v"), ("a", "a"), ("tau", "current")):
            missing = [f"{kind}.{j}" for j in names if f"{kind}.{j}" not in columns and f"{instead}.{j}" not in columns]
            if 0 < len(missing) < len(names):
                are = "is" if len(missing) == 1 else "are"
                what = f"couples {', '.join(names)}, and {', '.join(missing)} {are} missing"
                fix = "Map the columns of all coupled joints"
                yield Finding("transmission-incomplete", where, what, fix, {"columns": missing})
        unknown = [j for j in names if _by_current(j, columns) and j not in gains]
        if len(names) > 1 and unknown:
            what = f"couples the torques of {', '.join(names)}, and {', '.join(unknown)} lack a drive gain"
            fix = "Give their motors' gains in [gains], N·m/A"
            yield Finding("gains-missing", where, what, fix, {"gains": dict.fromkeys(unknown)})


def to_joint_side(
    transmission: Transmission, columns: Mapping[str, Array], gains: Mapping[str, float]
) -> tuple[dict[str, Array], dict[str, float]]:
    """Convert columns from motor to joint side; also returns the gains of currents that were not converted."""
    matrix = np.array(transmission.matrix)
    converted, unused = dict(columns), dict(gains)
    for block in transmission.blocks():
        names = [transmission.joints[k] for k in block]
        M = matrix[np.ix_(block, block)]
        for kind in ("q", "v", "a"):
            if f"{kind}.{names[0]}" in columns:
                motors = np.column_stack([columns[f"{kind}.{j}"] for j in names])
                values = motors @ np.linalg.inv(M).T
                converted |= {f"{kind}.{j}": values[:, k] for k, j in enumerate(names)}
        if any(_by_current(j, columns) and j not in gains for j in names):
            continue  # a single joint: its gain is identified on the joint side
        if f"tau.{names[0]}" in columns or f"current.{names[0]}" in columns:
            currents = {j: gains[j] * columns[f"current.{j}"] for j in names if _by_current(j, columns)}
            motors = np.column_stack([currents[j] if j in currents else columns[f"tau.{j}"] for j in names])
            values = motors @ M  # rows are samples: tauᵀ M = (Mᵀ tau)ᵀ
            converted |= {f"tau.{j}": values[:, k] for k, j in enumerate(names)}
            for joint in currents:
                del converted[f"current.{joint}"], unused[joint]
    return converted, unused


def _by_current(joint: str, columns: Mapping[str, Any]) -> bool:
    return f"tau.{joint}" not in columns and f"current.{joint}" in columns
