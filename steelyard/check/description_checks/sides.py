"""Left against right: bodies named and placed as mirror images should have mirrored parameters.

Or equal ones, where the same part is mounted on both sides. The shapes decide which of the two it is; where they fit
both or are missing, either will do.
"""

from __future__ import annotations

import itertools

import numpy as np

from steelyard import inertia
from steelyard.check.description_lint import DescribedRobot, DescriptionCheck
from steelyard.errors import Finding, UsageError
from steelyard.robot.model import Body
from steelyard.robot.symmetry import AUTO, Pair, find_mirrored_pairs
from steelyard.spatial import Array

MASS = 0.03  # relative difference: CAD models of mirrored parts agree to this, screws and cables included
CENTRE = 0.03  # distance of the centres of mass, of the bodies' size
SHAPE = 0.05  # distance of the faces of two boxes, of the bodies' size, up to which they are the same
INERTIA = 0.1  # relative difference of the density covariances (Frobenius norm)


class Sides(DescriptionCheck):
    """Mirrored pairs whose mass, centre of mass or inertia differ."""

    rank = 30

    def find(self, subject: DescribedRobot) -> list[Finding]:
        """Findings of this check."""
        bodies = {b.name: b for b in subject.bodies}
        try:
            pairs, _ = find_mirrored_pairs(subject.robot, [AUTO])
        except UsageError:  # no names of sides
            return []
        findings = []
        for pair in pairs:
            if not {pair.left, pair.right} <= bodies.keys():
                continue
            left, right = bodies[pair.left], bodies[pair.right]
            differences = min((_differences(F, left, right) for F in _maps(pair, left, right)), key=len)
            if differences:
                what = f"is not the mirror image of '{pair.right}': {'; '.join(differences)}"
                fix = "Correct the side that is wrong, or ignore this if the two parts do differ"
                findings.append(Finding("sides-differ", subject.place_of(left), what, fix, severity="doubt"))
        return findings


def _maps(pair: Pair, left: Body, right: Body) -> list[Array]:
    """Maps (4, 4) from the right body's frame to the left's that take the box of one to that of the other."""
    maps = [pair.reflection, np.eye(4)]
    return [F for F in maps if _fits(F, left, right)] or maps


def _fits(F: Array, left: Body, right: Body) -> bool:
    corners = np.array(list(itertools.product(*zip(*right.box, strict=True)))) @ F[:3, :3].T + F[:3, 3]
    off = np.abs([corners.min(axis=0) - left.box[0], corners.max(axis=0) - left.box[1]])
    return bool(off.max() < SHAPE * max(left.size, right.size))


def _differences(F: Array, left: Body, right: Body) -> list[str]:
    """What differs between the left body and the right one mapped by F (4, 4)."""
    mine, mapped = left.parameters, inertia.transform(right.parameters, F)
    differences = []
    (m, c, _), (n, d, _) = inertia.unpack(mine), inertia.unpack(mapped)
    if abs(m - n) > MASS * max(m, n):
        differences.append(f"{m:.4g} kg and {n:.4g} kg")
    if (distance := float(np.linalg.norm(c - d))) > CENTRE * max(left.size, right.size):
        differences.append(f"centres of mass {1e3 * distance:.1f} mm apart")
    one, other = inertia.density_covariance(mine), inertia.density_covariance(mapped)
    if (share := _distance(one, other)) > INERTIA:
        differences.append(f"inertias that differ by {100 * share:.0f} %")
    return differences


def _distance(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other) / max(np.linalg.norm(one), np.linalg.norm(other)))
