"""Left–right symmetry: which bodies of a robot are mirror images, and by which reflection.

In the zero configuration the left side is the right side reflected in a plane through the base, E. With T the bodies'
poses in the base, F = T_left⁻¹ E T_right maps points of the right body to those of its mirror image, and mass and
centre of mass are symmetric (Jovic 4) if m_left = m_right and h_left is the first moment of the right body mapped by F.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError, note
from steelyard.robot.model import Robot
from steelyard.spatial import Array

AUTO = "auto"  # find the pairs by their names
OFF = 0.02  # largest distance of a body's frame from the mirror image of the other's, as a fraction of their size


@dataclass(frozen=True)
class Pair:
    """Two bodies that are mirror images of each other."""

    left: str
    right: str
    reflection: Array  # (4, 4) F, from the right body's frame to the left's

    @property
    def rows(self) -> tuple[Array, Array]:
        """(4, 10) each: A_left θ_left + A_right θ_right = 0 for symmetric mass and first moment."""
        return np.eye(10)[:4], -inertia.transform_matrix(self.reflection)[:4]


def find_mirrored_pairs(robot: Robot, asked: Sequence[str]) -> tuple[tuple[Pair, ...], tuple[Finding, ...]]:
    """Return the pairs ``asked`` for, ``LEFT=RIGHT`` or ``auto``, and remarks on pairs that are not mirrored."""
    named = _by_name(robot) if AUTO in asked else []
    given, findings = list[tuple[str, str]](), list[Finding]()
    for text in asked:
        left, _, right = text.partition("=")
        if text == AUTO:
            continue
        if not left or not right:
            what, fix = "is not a pair of bodies", "Give LEFT=RIGHT, or auto"
            findings.append(Finding("option-value", f"symmetric={text}", what, fix))
            continue
        pair = robot.body(left).name, robot.body(right).name
        if pair[0] == pair[1]:
            findings.append(Finding("pair-of-one-body", f"symmetric={text}", "is one body twice", "Name two bodies"))
        given.append(pair)
    if AUTO in asked and not named:
        what = f"finds no two bodies of {robot.name} called left and right, or l and r"
        findings.append(Finding("pairs-missing", "symmetric=auto", what, "Name the pairs: LEFT=RIGHT"))
    if findings:
        raise UsageError(findings)
    wanted = list(dict.fromkeys([*given, *named]))
    best = min((_reflected(robot, wanted, axis) for axis in (1, 0, 2)), key=lambda some: sum(d > OFF for _, d in some))
    off = [(pair, d) for pair, d in best if d > OFF]
    for p, d in off:
        if (p.left, p.right) in given:
            what = f"are not mirrored in the zero configuration: their frames are {100 * d:.0f} % of their size off"
            findings.append(Finding("pair-not-mirrored", f"symmetric={p.left}={p.right}", what, "Drop the pair"))
    if findings:
        raise UsageError(findings)
    skipped = ", ".join(f"{p.left} and {p.right}" for p, _ in off)
    text = f"named like a pair, but not mirrored in the zero configuration, and not constrained: {skipped}"
    return tuple(pair for pair, d in best if d <= OFF), (note("pair-not-mirrored", skipped, text),) if off else ()


def _reflected(robot: Robot, wanted: Sequence[tuple[str, str]], axis: int) -> list[tuple[Pair, float]]:
    """Pairs under the reflection of one axis of the base, each with the distance of its frames over its size."""
    import pinocchio as pin

    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, robot.positions(np.zeros((1, len(robot.joints))))[0])
    E, reflected = np.eye(4), []
    E[axis, axis] = -1.0
    for left, right in wanted:
        one, other = robot.body(left), robot.body(right)
        F = np.linalg.inv(data.oMi[one.joint].homogeneous) @ E @ data.oMi[other.joint].homogeneous
        reflected.append((Pair(left, right, F), float(np.linalg.norm(F[:3, 3])) / max(one.size, other.size)))
    return reflected


def _by_name(robot: Robot) -> list[tuple[str, str]]:
    names = {b.name for b in robot.bodies if b.carrier is None}
    some = ((name, other) for name in sorted(names) for other in _other_side(name) if other in names)
    return list(dict(some).items())


def _other_side(name: str) -> Iterator[str]:
    """Possible names of the right body for a left one's: with ``left``, or an l that begins or ends a word."""
    for a, b in (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT")):
        if a in name:
            yield name.replace(a, b)
    for i, letter in enumerate(name):
        edge = i == 0 or not name[i - 1].isalnum() or i + 1 == len(name) or not name[i + 1].isalnum()
        if letter in "lL" and edge:
            yield name[:i] + ("r" if letter == "l" else "R") + name[i + 1 :]
