"""A description with new inertial values, as MJCF that MuJoCo compiles.

Every link is a body, so names are kept. MuJoCo requires a positive definite inertia that satisfies the triangle
inequality for each body with mass; the values of a welded link that violates it (a point mass is a legal part of a
body) are added to the body it is welded to. Shapes are visual only; meshes are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from steelyard.errors import DescriptionError, Finding
from steelyard.output.xml_text import Inertial, Inertials, check_links, numbers, symmetric, xml_comment
from steelyard.robot.description import Description, Joint, Link, Shape
from steelyard.spatial import quaternion_from_rotation

_TINY = 1e-9  # kg and kg·m²: least values that MuJoCo accepts for a moving body
_FAR = 1e9  # in place of a missing bound, where MuJoCo requires two
_TYPES = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "ball": "ball"}


def to_mjcf(description: Description, inertials: Inertials, *, base: str, comment: str) -> str:
    """MJCF text; ``base`` is "fixed" or "floating"; links not in ``inertials`` keep the description's values."""
    check_links(description, inertials)
    return _Writer(description, inertials).text(base, comment)


class _Writer:
    def __init__(self, description: Description, inertials: Inertials):
        self.description = description
        self.children: dict[str, list[Joint]] = {name: [] for name in description.links}
        for joint in description.joints.values():
            self.children[joint.parent].append(joint)
        self.values: dict[str, Inertial] = {
            name: inertials.get(name, (link.mass, link.com, link.inertia)) for name, link in description.links.items()
        }
        self.balance = False
        self._lend(description.root)
        self._gather(description.root)

    def text(self, base: str, comment: str) -> str:
        root = self.description.root
        if base == "fixed" and root == "world":
            inside = [line for joint in self.children[root] for line in self._body(joint)]
        else:
            top = ["<freejoint/>"] if base == "floating" else []
            inside = list(self._link(root, 'pos="0 0 0"', top))
        balance = ' balanceinertia="true"' if self.balance else ""
        lines = [
            f"<mujoco model={quoteattr(self.description.name)}>",
            f"  {xml_comment(comment)}",
            f'  <compiler angle="radian" autolimits="true" inertiafromgeom="false"{balance}/>',
            "  <worldbody>",
            *(f"    {line}" for line in inside),
            "  </worldbody>",
            *self._equality(),
            "</mujoco>",
            "",
        ]
        return "\n".join(lines)

    def _lend(self, link: str) -> None:
        """Add values that MuJoCo would refuse to the parents of welded links, leaves first."""
        for joint in self.children[link]:
            self._lend(joint.child)
            mass, _, inertia = self.values[joint.child]
            if joint.kind == "fixed" and mass > 0 and not _accepted(inertia):
                self._take(link, joint)
            elif joint.kind != "fixed":
                self._gather(joint.child)

    def _gather(self, link: str) -> None:
        """If a moving body's first link alone would be refused, add all links welded to it."""
        mass, _, inertia = self.values[link]
        if mass > 0 and not _accepted(inertia):
            self._gather_below(link)

    def _gather_below(self, link: str) -> None:
        for joint in self.children[link]:
            if joint.kind == "fixed":
                self._gather_below(joint.child)
                self._take(link, joint)

    def _take(self, link: str, joint: Joint) -> None:
        mass, com, inertia = self.values[joint.child]
        if mass > 0:
            R, p = joint.placement[:3, :3], joint.placement[:3, 3]
            self.values[link] = _sum(self.values[link], (mass, R @ com + p, R @ inertia @ R.T))
            self.values[joint.child] = 0.0, np.zeros(3), np.zeros((3, 3))

    def _body(self, joint: Joint) -> Iterator[str]:
        return self._link(joint.child, _pose(joint.placement), list(self._joint(joint)), moving=joint.kind != "fixed")

    def _link(self, name: str, pose: str, joints: list[str], moving: bool | None = None) -> Iterator[str]:
        link = self.description.links[name]
        # "world" is reserved in MuJoCo.
        own = "world_link" if name == "world" else name
        yield f"<body name={quoteattr(own)} {pose}>"
        yield from (f"  {line}" for line in joints)
        yield from (f"  {line}" for line in self._inertial(name, bool(joints) if moving is None else moving))
        yield from (f"  {line}" for line in _geoms(link))
        for frame, (at, T) in self.description.frames.items():
            if at == name:
                yield f"  <site name={quoteattr(frame)} {_pose(T)}/>"
        for joint in self.children[name]:
            yield from (f"  {line}" for line in self._body(joint))
        yield "</body>"

    def _inertial(self, name: str, moving: bool) -> Iterator[str]:
        mass, com, inertia = self.values[name]
        if mass > 0:
            yield inertial_element((mass, com, inertia if _accepted(inertia) else self._balanced(inertia)))
        elif moving and not any(j.kind == "fixed" and self._has_mass(j.child) for j in self.children[name]):
            yield f'<inertial pos="0 0 0" mass="{_TINY}" diaginertia="{_TINY} {_TINY} {_TINY}"/>'

    def _has_mass(self, link: str) -> bool:
        below = (j.child for j in self.children[link] if j.kind == "fixed")
        return self.values[link][0] > 0 or any(map(self._has_mass, below))

    def _balanced(self, inertia: np.ndarray) -> np.ndarray:
        """Inconsistent, and not welded to a parent: raise the eigenvalues; MuJoCo's balanceinertia does the rest."""
        self.balance = True
        values, axes = np.linalg.eigh(symmetric(inertia))
        return np.asarray(axes @ np.diag(np.maximum(values, _TINY)) @ axes.T)

    def _joint(self, joint: Joint) -> Iterator[str]:
        name, axis = joint.name, joint.axis
        if joint.kind == "fixed":
            return
        if joint.kind == "planar":
            x = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
            x /= np.linalg.norm(x)
            parts = (("x", "slide", x), ("y", "slide", np.cross(axis, x)), ("turn", "hinge", axis))
            for suffix, kind, along in parts:
                yield f'<joint name={quoteattr(f"{name}.{suffix}")} type="{kind}" axis="{numbers(along)}"/>'
            return
        if joint.kind not in _TYPES:
            what = f"joint '{name}' is {joint.kind} inside the tree, which MuJoCo does not support"
            raise DescriptionError(
                Finding("joint-kind-unsupported", self.description.path.name, what, "Fix the joint, or write URDF")
            )
        extra = "" if joint.kind == "ball" else f' axis="{numbers(axis)}"'
        if joint.lower < joint.upper and np.isfinite([joint.lower, joint.upper]).any():
            extra += f' range="{numbers(np.clip([joint.lower, joint.upper], -_FAR, _FAR))}"'
        if 0 < joint.effort < np.inf:
            extra += f' actuatorfrcrange="{numbers([-joint.effort, joint.effort])}"'
        yield f'<joint name={quoteattr(name)} type="{_TYPES[joint.kind]}"{extra}/>'

    def _equality(self) -> Iterator[str]:
        mimics = [(j.name, j.mimic) for j in self.description.joints.values() if j.mimic and j.kind != "fixed"]
        if mimics:
            yield "  <equality>"
            for name, mimic in mimics:
                coefficients = numbers([mimic.offset, mimic.multiplier, 0, 0, 0])
                pair = f"joint1={quoteattr(name)} joint2={quoteattr(mimic.joint)}"
                yield f'    <joint {pair} polycoef="{coefficients}"/>'
            yield "  </equality>"


def inertial_element(values: Inertial) -> str:
    """The ``<inertial>`` of a body."""
    mass, com, inertia = values
    tensor = f'fullinertia="{numbers(symmetric(inertia)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])}"'
    if not symmetric(inertia).any():
        tensor = 'diaginertia="0 0 0"'  # zeros have no principal axes
    return f'<inertial pos="{numbers(com)}" mass="{numbers(mass)}" {tensor}/>'


def _accepted(inertia: np.ndarray) -> bool:
    """Positive definite and a + b ≥ c, with a margin for MuJoCo's rounding."""
    a, b, c = np.linalg.eigvalsh(symmetric(inertia))
    return bool(a > 1e-13 and a + b >= c * (1 + 1e-12))


def _sum(one: Inertial, two: Inertial) -> Inertial:
    """Sum of two bodies, each (mass, CoM, inertia about its CoM), in the same frame."""
    mass = one[0] + two[0]
    com = (one[0] * one[1] + two[0] * two[1]) / mass
    inertia = np.zeros((3, 3))
    for m, c, own in (one, two):
        d = c - com
        inertia += own + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, com, inertia


def _geoms(link: Link) -> Iterator[str]:
    for group, shapes in (("2", link.visual), ("3", link.collision)):
        for shape in shapes:
            if size := _size(shape):
                how = f'group="{group}" contype="0" conaffinity="0"'
                yield f'<geom type="{shape.kind}" size="{size}" {_pose(shape.placement)} {how}/>'


def _size(shape: Shape) -> str:
    """MuJoCo's half lengths; empty for shapes that are omitted."""
    if shape.kind == "mesh" or min(shape.size) <= 0:
        return ""
    halves = {"box": (0.5, 0.5, 0.5), "cylinder": (1, 0.5), "capsule": (1, 0.5)}.get(shape.kind, (1,) * len(shape.size))
    return numbers(np.array(shape.size) * halves)


def _pose(T: np.ndarray) -> str:
    wxyz = np.roll(quaternion_from_rotation(T[:3, :3]), 1)  # MuJoCo's order
    return f'pos="{numbers(T[:3, 3])}" quat="{numbers(wxyz)}"'
