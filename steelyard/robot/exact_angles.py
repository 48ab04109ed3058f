"""Rotations that a description gives with rounded angles, and the exact ones that they stand for.

``rpy="1.5708 0 3.1416"`` tilts axes that are parallel or perpendicular by some µrad. The torques do not show it, but
the structure of the robot does: parameters that exact angles make unidentifiable become base parameters with columns
of 10⁻⁶ of the others. So the kinematics use the exact multiples of π/12.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.errors import Finding, note
from steelyard.robot.description import Description, Joint
from steelyard.spatial import Array, placement, rotation_from_rpy, rpy_from_rotation

STEP = np.pi / 12
NEAR = 2e-5  # rad: π/2, π and 2π to four decimals are nearer than this; 20 µm at 1 m, finer than any calibration
TEXT = 1e-9  # rad: an angle that is this close to a decimal number was written as that number
DECIMALS = 5  # of rounded or truncated values that differ by more than ``NEAR``, such as 1.57 and 3.1415


def exact_angle(angle: float) -> float:
    """Return the multiple of π/12 (rad) that a rounded or truncated angle stands for; else the angle itself."""
    k = round(angle / STEP)
    exact = k * STEP
    if abs(angle - exact) < NEAR:
        return exact
    fewest = 2 if k % 6 == 0 else 3 if k % 3 == 0 else 4  # 1.57 is π/2; 0.52 need not be π/6
    for decimals in range(fewest, DECIMALS + 1) if k else ():
        scale = 10.0**decimals
        if min(abs(angle - written(exact * scale) / scale) for written in (np.round, np.trunc)) < TEXT:
            return exact
    return angle


def exact_rpy(rotation: Array) -> tuple[Array, Array]:
    """Return roll, pitch, yaw (3,) in rad of a rotation matrix (3, 3): as they are, and with rounded ones exact."""
    given = rpy_from_rotation(rotation)
    return given, np.array([_exact_component(float(a)) for a in given])


def _exact_component(angle: float) -> float:
    """An exact angle; a pitch beyond π/2 is decomposed into its supplement, and turns roll and yaw by π."""
    half_turn = float(np.copysign(np.pi, angle))
    if (exact := exact_angle(angle)) != angle:
        return exact
    other = exact_angle(half_turn - angle)
    return angle if other == half_turn - angle else half_turn - other


def rounded_joints(description: Description) -> Iterator[tuple[Joint, Array, Array]]:
    """Joints whose placement has a rounded angle, with its roll, pitch, yaw (3,): as given, and exact."""
    for joint in description.joints.values():
        given, exact = exact_rpy(joint.placement[:3, :3])
        if np.abs(given - exact).max() > TEXT:
            yield joint, given, exact


def exact_placements(description: Description) -> tuple[dict[str, Array], list[Finding]]:
    """Return the placements (4, 4) of joints with rounded angles, made exact, and a notice if there are any."""
    rounded = list(rounded_joints(description))
    exact = {j.name: placement(rotation_from_rpy(rpy), j.placement[:3, 3]) for j, _, rpy in rounded}
    if not rounded:
        return exact, []
    joint, given, angles = rounded[0]
    k = int(np.argmax(np.abs(given - angles)))
    count = f"{len(rounded)} joint{'s have' if len(rounded) > 1 else ' has'} rounded angles"
    first = f"{joint.name}: {given[k]:.9g} for {angles[k]:.9g} rad"
    text = f"{count}, replaced by exact multiples of 15° (first: {first})"
    return exact, [note("angle-rounded", joint.name, text, joints=list(exact))]
