"""URDF → Description; all faults of a file are collected, and the file is refused once.

Only unusable values are refused: not a number, not finite, a negative mass, links that form no tree. Whether an inertia
is physically consistent is checked on the moving body, which may be several welded links (``build.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard.errors import DescriptionError, Finding, note, unknown_name
from steelyard.robot.description import (
    Description,
    Joint,
    Link,
    Mimic,
    Shape,
)
from steelyard.robot.meshes import Roots
from steelyard.robot.xml import Findings, Node
from steelyard.spatial import placement, rotation_from_rpy

_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_SIZES = {"box": (("size", 3),), "cylinder": (("radius", 1), ("length", 1)), "sphere": (("radius", 1),)}
_SIZES["capsule"] = _SIZES["cylinder"]
_ROUNDING = 1e-15  # kg·m²: CAD exporters leave moments like -5e-20 where they mean 0
_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def from_urdf(path: Path, text: str, root: Node, package_dirs: Sequence[Path] = ()) -> Description:
    """Convert a parsed URDF; DescriptionError with every reason."""
    _refuse_xacro(path.name, root)
    reader = _Reader(path, package_dirs)
    links = reader.links(root)
    joints = reader.joints(root, links)
    top = reader.tree(root, links, joints)
    if not (name := root.attributes.get("name", "")):
        name = path.stem
        reader.notices.append(note("robot-unnamed", path.name, f"<robot> has no name: '{name}' is used", name=name))
    reader.faults.raise_if_any()
    reader.notices += reader.roots.notices()
    return Description(name, "urdf", path, text, links, joints, top, tuple(reader.notices), frames={})


class _Reader:
    def __init__(self, path: Path, package_dirs: Sequence[Path]):
        self.faults = Findings(path.name)
        self.roots = Roots(path, package_dirs, self.faults)
        self.notices: list[Finding] = []

    def links(self, root: Node) -> dict[str, Link]:
        links: dict[str, Link] = {}
        for node in root.all("link"):
            name = self._name(node, links)
            element = f"link '{name}'"
            mass, com, inertia = self._inertial(node, element)
            shapes = [tuple(self._shapes(node, tag, element)) for tag in ("collision", "visual")]
            given = node.first("inertial") is not None
            links.setdefault(name, Link(name, mass, com, inertia, given, False, node.line, *shapes))
        if not links:
            self.faults.add("description-empty", root, "", "has no <link>", "Give a URDF with at least one link")
        shapes_of = [s for link in links.values() for s in link.collision + link.visual]
        if flat := sum(s.kind != "mesh" and min(s.size) <= 0 for s in shapes_of):
            self.notices.append(note("shape-flat", self.faults.file, f"{flat} shapes without volume", shapes=flat))
        return links

    def joints(self, root: Node, links: dict[str, Link]) -> dict[str, Joint]:
        joints: dict[str, Joint] = {}
        for node in root.all("joint"):
            name = self._name(node, joints)
            joints.setdefault(name, self._joint(node, name, links))
        for joint in joints.values():
            self._check_mimic(joint, joints)
        limited = [j for j in joints.values() if j.kind in ("revolute", "prismatic")]
        if loose := ", ".join(j.name for j in limited if np.isinf([j.lower, j.upper]).any()):
            self.notices.append(note("limits-missing", loose, f"no position limits on {loose}"))
        return joints

    def tree(self, root: Node, links: dict[str, Link], joints: dict[str, Joint]) -> str:
        """Return the root link's name; adds every fault that keeps links and joints from being one tree."""
        above = {joint.child: joint for joint in joints.values()}
        for link, n in Counter(joint.child for joint in joints.values() if joint.child in links).items():
            if n > 1:
                names = ", ".join(f"'{j.name}'" for j in joints.values() if j.child == link)
                where = f"link '{link}', joints {names}"
                self.faults.add("link-has-two-parents", root, where, "has several parents", "Keep one of the joints")
        tops = [link for link in links if link not in above]
        for link in links:
            seen = [link]
            while (joint := above.get(seen[-1])) is not None and joint.parent not in seen:
                seen.append(joint.parent)
            if joint is not None and joint.parent == link and link == min(seen):
                loop = " → ".join([*reversed(seen), seen[-1]])
                fix = "Open the loop: remove one of its joints"
                self.faults.add("links-form-cycle", root, loop, "is a cycle of links", fix)
        if len(tops) > 1:
            names = ", ".join(f"'{t}'" for t in tops)
            what = f"are {len(tops)} root links"
            self.faults.add("roots-several", root, f"links {names}", what, "Give all but one of them a parent")
        return tops[0] if tops else ""

    def _name(self, node: Node, taken: dict[str, Link] | dict[str, Joint]) -> str:
        name = node.attributes.get("name", "")
        if not name:
            self.faults.add("name-missing", node, node.tag, "has no name", f"Give the <{node.tag}> a name")
        elif name in taken:
            what = f"has the name of the {node.tag} at line {taken[name].line}"
            self.faults.add("name-repeated", node, f"{node.tag} '{name}'", what, "Rename one of them")
        return name

    def _inertial(self, link: Node, element: str) -> tuple[float, np.ndarray, np.ndarray]:
        nothing = 0.0, np.zeros(3), np.zeros((3, 3))
        given = list(link.all("inertial"))
        if not given:
            return nothing
        if len(given) > 1:
            self.faults.add("inertial-repeated", given[1], element, f"has {len(given)} <inertial>", "Keep one")
        node = given[0]
        mass = self._child_numbers(node, "mass", ("value",), element)
        tensor = self._child_numbers(node, "inertia", _INERTIA, element)
        T = self._origin(node, element)
        if mass is not None and mass[0] < 0:
            where, what = f"{element} <mass value>", f"must be ≥ 0 kg (got {mass[0]:g})"
            self.faults.add("mass-negative", node.first("mass"), where, what, "Give a mass of 0 or more")
        if tensor is not None and (negative := [i for i in (0, 3, 5) if tensor[i] < -_ROUNDING]):
            where = f"{element} <inertia {' '.join(_INERTIA[i] for i in negative)}>"
            what = f"must be ≥ 0 kg·m² (got {', '.join(f'{tensor[i]:g}' for i in negative)})"
            fix = "Give moments of inertia of 0 or more"
            self.faults.add("inertia-negative", node.first("inertia"), where, what, fix)
        if mass is None or tensor is None:
            return nothing
        R = T[:3, :3]
        inertia = R @ tensor[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3) @ R.T
        return float(mass[0]), T[:3, 3].copy(), (inertia + inertia.T) / 2

    def _child_numbers(self, node: Node, tag: str, attributes: Sequence[str], element: str) -> np.ndarray | None:
        if (child := node.first(tag)) is None:
            what, fix = f"<{node.tag}> has no <{tag}>", f"Give <{tag}>, or remove the <{node.tag}>"
            self.faults.add("element-missing", node, f"{element} <{tag}>", what, fix)
            return None
        values = [self.faults.numbers(child, a, 1, element) for a in attributes]
        good = [v[0] for v in values if v is not None]
        return np.array(good) if len(good) == len(values) else None

    def _origin(self, node: Node, element: str) -> np.ndarray:
        if (origin := node.first("origin")) is None:
            return np.eye(4)
        xyz = self.faults.numbers(origin, "xyz", 3, element, default="0 0 0")
        rpy = self.faults.numbers(origin, "rpy", 3, element, default="0 0 0")
        if xyz is None or rpy is None:
            return np.eye(4)
        return placement(rotation_from_rpy(rpy), xyz)

    def _shapes(self, link: Node, tag: str, element: str) -> list[Shape]:
        shapes = []
        for node in link.all(tag):
            T = self._origin(node, element)
            for shape in (child for g in node.all("geometry") for child in g.children):
                if shape.tag == "mesh":
                    scale = self.faults.numbers(shape, "scale", 3, element, default="1 1 1")
                    file = self.roots.resolve(shape, shape.attributes.get("filename", ""), element)
                    if scale is not None:
                        shapes.append(Shape("mesh", tuple(scale.tolist()), T, file))
                elif shape.tag in _SIZES:
                    parts = [self.faults.numbers(shape, a, n, element) for a, n in _SIZES[shape.tag]]
                    size = [x for part in parts if part is not None for x in part.tolist()]
                    if all(part is not None for part in parts):
                        shapes.append(Shape(shape.tag, tuple(size), T))
                else:
                    text = f"{element}: shape <{shape.tag}> is unknown and ignored"
                    self.notices.append(note("shape-unknown", element, text))
        return shapes

    def _joint(self, node: Node, name: str, links: dict[str, Link]) -> Joint:
        element = f"joint '{name}'"
        kind = node.attributes.get("type", "")
        if kind not in _KINDS:
            what, fix = f"type '{kind}' is unknown", f"Use one of {', '.join(_KINDS)}"
            self.faults.add("joint-type-unknown", node, element, what, fix)
        ends = []
        for tag in ("parent", "child"):
            end = node.first(tag)
            link = end.attributes.get("link", "") if end else ""
            if not link:
                self.faults.add("element-missing", node, f"{element} <{tag}>", "is missing", f'Give <{tag} link="…"/>')
            elif link not in links:
                where, fix = self.faults.where(end, f"{element} <{tag}>"), f"Name one of: {', '.join(links)}"
                self.faults.collected.append(unknown_name(where, f"'{link}' is not a link", link, links, fix))
            ends.append(link)
        axis = self._axis(node, kind, element)
        lower, upper, velocity, effort = self._limits(node, kind, element)
        T = self._origin(node, element)
        mimic = self._mimic(node, element)
        return Joint(name, kind, ends[0], ends[1], T, axis, lower, upper, velocity, effort, mimic, node.line)

    def _axis(self, node: Node, kind: str, element: str) -> np.ndarray:
        given = node.first("axis")
        axis = self.faults.numbers(given, "xyz", 3, element) if given and kind not in ("fixed", "floating") else None
        if axis is None:
            return np.array([1.0, 0.0, 0.0])
        if not (length := np.linalg.norm(axis)) > 0:
            fix = "Give the direction the joint moves along or about"
            self.faults.add("axis-zero", given, f"{element} <axis xyz>", "is 0 0 0", fix)
            return np.array([1.0, 0.0, 0.0])
        return np.asarray(axis / length)

    def _limits(self, node: Node, kind: str, element: str) -> tuple[float, float, float, float]:
        inf = np.inf
        given = node.first("limit")
        if given is None or kind in ("fixed", "floating"):
            return -inf, inf, inf, inf
        read = {}
        for key, none in (("lower", -inf), ("upper", inf), ("velocity", inf), ("effort", inf)):
            # URDF reads an absent bound as 0, but a joint with neither bound has none.
            bound = key in ("lower", "upper")
            absent = "0" if bound and {"lower", "upper"} & set(given.attributes) else str(none)
            value = self.faults.numbers(given, key, 1, element, default=absent, infinite=True)
            read[key] = none if value is None or (bound and kind == "continuous") else float(value[0])
        if read["lower"] > read["upper"]:
            what = f"lower limit {read['lower']:g} is above the upper, {read['upper']:g}"
            self.faults.add("limits-swapped", given, f"{element} <limit>", what, "Swap the limits")
        return read["lower"], read["upper"], read["velocity"], read["effort"]

    def _mimic(self, node: Node, element: str) -> Mimic | None:
        if (given := node.first("mimic")) is None:
            return None
        multiplier = self.faults.numbers(given, "multiplier", 1, element, default="1")
        offset = self.faults.numbers(given, "offset", 1, element, default="0")
        if multiplier is None or offset is None:
            return None
        return Mimic(given.attributes.get("joint", ""), float(multiplier[0]), float(offset[0]))

    def _check_mimic(self, joint: Joint, joints: dict[str, Joint]) -> None:
        seen, mimic = [joint.name], joint.mimic
        where = f"{self.faults.file}:{joint.line} joint '{joint.name}' <mimic joint>"
        while mimic is not None:
            if mimic.joint not in joints:
                if len(seen) == 1:
                    what = f"mimics '{mimic.joint}', which is not a joint"
                    fix = "Name a joint, or remove <mimic>"
                    self.faults.collected.append(unknown_name(where, what, mimic.joint, joints, fix))
                return
            if mimic.joint in seen:
                what = f"mimics itself: {' → '.join([*seen, mimic.joint])}"
                self.faults.collected.append(Finding("mimic-cycle", where, what, "Remove one <mimic>"))
                return
            seen.append(mimic.joint)
            mimic = joints[mimic.joint].mimic


def _refuse_xacro(file: str, root: Node) -> None:
    """A xacro file has to be expanded to URDF first; declaring its namespace alone is harmless."""
    for node in root.walk():
        written = [f"{a}='{v}'" for a, v in node.attributes.items() if "${" in v or "$(" in v]
        if node.tag.startswith("xacro:"):
            written.append(f"<{node.tag}>")
        if written:
            what, fix = f"is a xacro file: {written[0]}", f"Run xacro first: xacro {file} > robot.urdf"
            raise DescriptionError(Finding("xacro-not-expanded", f"{file}:{node.line}", what, fix))
