"""Inertia and centre of mass against the shapes of the body.

A distribution on an interval of length L has a standard deviation of at most L/2 (Popoviciu): the radius of gyration of
a body along each principal axis is bounded by the extent of its hull, whatever its density. From below no such bound
holds; there the uniform solid is the reference.
"""

from __future__ import annotations

import numpy as np

from steelyard import inertia
from steelyard.check.description_lint import BodyHull, DescribedRobot, DescriptionCheck
from steelyard.errors import Finding
from steelyard.robot.model import Body

MARGIN = 0.1  # of the hull's size: simple collision shapes may be this much smaller than the part
SMALLEST = 0.15  # tr Σ over the uniform solid's; of 858 public bodies four are below, all others above 0.24


class InertiaInGeometry(DescriptionCheck):
    """Bodies whose mass cannot be distributed inside their shapes, or hardly is."""

    rank = 10

    def find(self, subject: DescribedRobot) -> list[Finding]:
        """Findings of this check."""
        findings = []
        for body in subject.bodies:
            solids = subject.solids.get(body.name, ())
            for judge in (_outside, _too_large, _too_small):
                judged = [judge(body, solid, subject.place_of(body)) for solid in solids]
                if judged and judged[-1] is not None and all(judged):
                    findings.append(judged[-1])
        return findings


def _outside(body: Body, solid: BodyHull, where: str) -> Finding | None:
    _, com, _ = inertia.unpack(body.parameters)
    distance = -solid.depth(com)
    if distance <= MARGIN * solid.size:
        return None
    what = f"its centre of mass is {1e3 * distance:.0f} mm outside its shapes, which are {1e3 * solid.size:.0f} mm long"
    fix = "Check the origin of the inertial: its unit, sign and frame"
    return Finding("com-outside-geometry", where, what, fix, severity="doubt")


def _too_large(body: Body, solid: BodyHull, where: str) -> Finding | None:
    variance, axes = np.linalg.eigh(inertia.density_covariance(body.parameters))
    bound = (np.ptp(solid.vertices @ axes, axis=0) / 2 + MARGIN * solid.size) ** 2
    k = int(np.argmax(variance / bound))
    if variance[k] <= bound[k]:
        return None
    what = (
        f"its radius of gyration along a principal axis is {1e3 * variance[k] ** 0.5:.0f} mm,"
        f" and no mass inside its shapes has more than {1e3 * bound[k] ** 0.5:.0f} mm"
    )
    fix = "Check the unit of the inertia, and that it is about the centre of mass"
    return Finding("inertia-too-large", where, what, fix, severity="doubt")


def _too_small(body: Body, solid: BodyHull, where: str) -> Finding | None:
    ratio = float(np.trace(inertia.density_covariance(body.parameters)) / np.trace(solid.covariance))
    if ratio >= SMALLEST:
        return None
    what = f"its inertia is {ratio:.2g} times that of a uniform solid of its mass and shape"
    return Finding("inertia-too-small", where, what, "Check the unit of the inertia", severity="doubt")
