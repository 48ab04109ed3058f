"""Inertial values that nobody measured or computed: placeholders, copies, and dummy masses of moving bodies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.check.description_lint import DescribedRobot, DescriptionCheck
from steelyard.errors import Finding
from steelyard.robot import geometry
from steelyard.robot.description import Link
from steelyard.spatial import Array

ROUND = 1e-9  # relative distance of a moment from a power of ten
SAME = 1e-9  # relative difference of copied values
SHAPE = 0.1  # relative difference of the edges of two parts that are not the same part
NEGLIGIBLE = 1e-5  # of the robot's mass: 0.5 g of 50 kg move with no effect on any torque


class InertialValues(DescriptionCheck):
    """Inertial values that stand for nothing."""

    rank = 40

    def find(self, subject: DescribedRobot) -> list[Finding]:
        """Findings of this check."""
        links = subject.main_links()
        return [*_placeholders(subject, links), *_copies(subject, links), *_negligible(subject)]


def _placeholders(subject: DescribedRobot, links: list[Link]) -> Iterator[Finding]:
    for link in links:
        moment = float(link.inertia[0, 0])
        if moment <= 0 or np.abs(link.inertia - moment * np.eye(3)).max() > ROUND * moment:
            continue
        if abs(np.log10(moment) - round(np.log10(moment))) < ROUND:
            what = f"has the inertia {moment:g} kg·m² about every axis, a placeholder, with {link.mass:g} kg"
            fix = "Compute the inertia from the part, or leave the body to the data with prior='box'"
            remedy = {"prior": "box"}
            place = subject.place("link", link.name, link.line)
            yield Finding("inertial-placeholder", place, what, fix, remedy, "doubt")


def _copies(subject: DescribedRobot, links: list[Link]) -> Iterator[Finding]:
    """Links with the same mass, centre of mass and inertia whose shapes show that they are different parts."""
    edges = {link.name: _edges(link) for link in links}
    groups = dict[tuple[float, ...], list[Link]]()
    for link in links:
        values = np.array([link.mass, *link.com, *link.inertia[np.triu_indices(3)]])
        scale = np.abs(values).max()
        groups.setdefault((float(f"{scale:.9g}"), *np.round(values / scale / SAME)), []).append(link)
    for group in groups.values():
        shaped = [link for link in group if edges[link.name] is not None]
        different = [link for link in shaped[1:] if _differ(edges[shaped[0].name], edges[link.name])]
        if different:
            names = ", ".join(link.name for link in group)
            what = f"{names} have the same mass, centre of mass and inertia, but not the same shape"
            place = subject.place("link", shaped[0].name, shaped[0].line)
            fix = "Give each link its own inertial"
            yield Finding("inertials-copied", place, what, fix, {"links": [k.name for k in group]}, "doubt")


def _edges(link: Link) -> Array | None:
    """(3,) m, edges of the box of a link, sorted: the same for a part that is mirrored or turned by 90°."""
    box = geometry.link_box(link, np.eye(4))
    return None if box is None else np.sort(box[1] - box[0])


def _differ(one: Array | None, other: Array | None) -> bool:
    assert one is not None and other is not None
    return bool(np.abs(one - other).max() > SHAPE * max(one.max(), other.max()))


def _negligible(subject: DescribedRobot) -> Iterator[Finding]:
    total = sum(float(b.parameters[0]) for b in subject.bodies)
    for body in subject.bodies:
        mass = float(body.parameters[0])
        if mass < NEGLIGIBLE * total:
            what = f"moves on its own, with {mass:.2g} kg of the robot's {total:.3g}"
            fix = "Make the joint fixed if nothing is there, or give the part its mass"
            yield Finding("mass-negligible", subject.place_of(body), what, fix, severity="doubt")
