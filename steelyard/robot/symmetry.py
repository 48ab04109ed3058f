"""Left and right: which bodies of a robot mirror each other, and by which reflection.

In the zero posture the left side is the right side reflected in a plane through the base, E. With T the bodies' poses
in the base, points of the right body go to those of its mirror image by F = T_left⁻¹ E T_right, and mass and centre of
mass are symmetric (Jovic 4) where m_left = m_right and h_left is the first moment of the right body carried over by F.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.robot.model import Robot
from steelyard.spatial import Array

AUTO = "auto"  # find the pairs by their names
OFF = 0.02  # of the bodies' size: how far the frames of a pair may be from mirroring each other


@dataclass(frozen=True)
class Pair:
    """Two bodies that mirror each other."""

    left: str
    right: str
    reflection: Array  # (4, 4) F, from the right body's frame to the left's

    @property
    def rows(self) -> tuple[Array, Array]:
        """(4, 10) each, of the left and the right body's parameters: the sum is zero where they are symmetric."""
        return np.eye(10)[:4], -inertia.transform_matrix(self.reflection)[:4]


def pairs(robot: Robot, asked: Sequence[str]) -> tuple[tuple[Pair, ...], tuple[str, ...]]:
    """The pairs asked for, ``LEFT=RIGHT`` or ``auto``, and remarks about those by name that are none by shape."""
    named = _by_name(robot) if AUTO in asked else []
    given, findings = list[tuple[str, str]](), list[Finding]()
    for text in asked:
        left, _, right = text.partition("=")
        if text == AUTO:
            continue
        if not left or not right:
            findings.append(Finding("todo", f"symmetric {text!r}", "is no pair", "Say LEFT=RIGHT, or auto"))
            continue
        pair = robot.body(left).name, robot.body(right).name
        if pair[0] == pair[1]:
            findings.append(Finding("todo", f"symmetric {text!r}", "names one body twice", "Name two bodies"))
        given.append(pair)
    if AUTO in asked and not named:
        what = f"finds no two bodies of {robot.name} called left and right, or l and r"
        findings.append(Finding("todo", "symmetric 'auto'", what, "Name the pairs: LEFT=RIGHT"))
    if findings:
        raise UsageError(findings)
    wanted = list(dict.fromkeys([*given, *named]))
    best = min(
        (_reflected(robot, wanted, axis) for axis in (1, 0, 2)), key=lambda found: sum(d > OFF for _, d in found)
    )
    off = [(pair, d) for pair, d in best if d > OFF]
    for p, d in off:
        if (p.left, p.right) in given:
            what = f"do not mirror each other in the zero posture: their frames are {100 * d:.0f} % of their size off"
            findings.append(Finding("todo", f"symmetric {p.left}={p.right}", what, "Drop the pair"))
    if findings:
        raise UsageError(findings)
    skipped = ", ".join(f"{p.left} and {p.right}" for p, _ in off)
    remarks = (f"named like a pair, but not mirrored in the zero posture, and left as they are: {skipped}",)
    return tuple(pair for pair, d in best if d <= OFF), remarks if off else ()


def _reflected(robot: Robot, wanted: Sequence[tuple[str, str]], axis: int) -> list[tuple[Pair, float]]:
    """Pairs under the reflection of one axis of the base, and how far off each is."""
    import pinocchio as pin

    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, robot.positions(np.zeros((1, len(robot.joints))))[0])
    E, found = np.eye(4), []
    E[axis, axis] = -1.0
    for left, right in wanted:
        one, other = robot.body(left), robot.body(right)
        F = np.linalg.inv(data.oMi[one.joint].homogeneous) @ E @ data.oMi[other.joint].homogeneous
        found.append((Pair(left, right, F), float(np.linalg.norm(F[:3, 3])) / max(one.size, other.size)))
    return found


def _by_name(robot: Robot) -> list[tuple[str, str]]:
    names = {b.name for b in robot.bodies if b.carrier is None}
    found = ((name, other) for name in sorted(names) for other in _other_side(name) if other in names)
    return list(dict(found).items())


def _other_side(name: str) -> Iterator[str]:
    """What the right one may be called where this is the left one: left, or an l that begins or ends a word."""
    for a, b in (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT")):
        if a in name:
            yield name.replace(a, b)
    for i, letter in enumerate(name):
        edge = i == 0 or not name[i - 1].isalnum() or i + 1 == len(name) or not name[i + 1].isalnum()
        if letter in "lL" and edge:
            yield name[:i] + ("r" if letter == "l" else "R") + name[i + 1 :]
