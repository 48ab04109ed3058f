"""Rounded angles of joints; the kinematics use the exact ones (``robot/exact_angles.py``)."""

from __future__ import annotations

import numpy as np

from steelyard.check.description_lint import DescribedRobot, DescriptionCheck
from steelyard.errors import Finding
from steelyard.robot.exact_angles import STEP, rounded_joints


class RoundedAngles(DescriptionCheck):
    """Joints whose roll, pitch or yaw is a rounded multiple of 15°."""

    rank = 60

    def find(self, subject: DescribedRobot) -> list[Finding]:
        """Findings of this check."""
        findings = []
        for joint, given, exact in rounded_joints(subject.robot.description):
            k = int(np.argmax(np.abs(given - exact)))
            degrees = 15 * round(float(exact[k]) / STEP)
            what = f"{('roll', 'pitch', 'yaw')[k]} is {given[k]:.9g} rad, a rounded {degrees}°, and is taken as exact"
            place = subject.place("joint", joint.name, joint.line)
            fix = f'Write rpy="{" ".join(repr(float(a)) for a in exact)}"'
            remedy = {"joint": joint.name, "rpy": [float(a) for a in exact]}
            findings.append(Finding("angle-rounded", place, what, fix, remedy, "note"))
        return findings
