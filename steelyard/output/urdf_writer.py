"""A description with new inertial values, as URDF.

A URDF source is edited in place: only ``<inertial>`` of the given links changes, and relative mesh paths become
``package://`` ones, since the new file is in another folder. Numbers are written so that they are read back exactly.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from steelyard.errors import DescriptionError, Finding
from steelyard.output.xml_text import (
    Inertial,
    Inertials,
    apply_edits,
    check_links,
    insert_child,
    numbers,
    replace_node,
    set_attribute,
    symmetric,
    xml_comment,
)
from steelyard.robot.description import Description, Joint, Link, Shape
from steelyard.robot.meshes import package_root
from steelyard.robot.xml import parse_xml
from steelyard.spatial import rpy_from_rotation


def to_urdf(description: Description, inertials: Inertials, comment: str) -> str:
    """URDF text; links not in ``inertials`` keep the description's values."""
    check_links(description, inertials)
    if description.format == "urdf":
        return _edited(description, inertials, comment)
    return _generated(description, inertials, comment)


def _edited(description: Description, inertials: Inertials, comment: str) -> str:
    source = description.text.encode()
    _, root = parse_xml(source, description.path.name)
    edits = [(root.span.opened, root.span.opened, f"\n  {xml_comment(comment)}")]
    for link in root.all("link"):
        if (name := link.attributes["name"]) in inertials:
            lines, given = _inertial_lines(inertials[name]), link.first("inertial")
            edits.append(replace_node(source, given, lines) if given else insert_child(source, link, lines))
        for mesh in link.walk():
            if mesh.tag == "mesh" and _is_relative(file := mesh.attributes.get("filename", "")):
                path = (description.path.resolve().parent / file).resolve()
                edits.append(set_attribute(source, mesh, "filename", _package_path(path, description.path)))
    return apply_edits(source, edits)


def _inertial_lines(values: Inertial) -> list[str]:
    mass, com, inertia = values
    names = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    tensor = " ".join(f'{name}="{numbers(symmetric(inertia)[i, j])}"' for name, i, j in names)
    return [
        "<inertial>",
        f'  <origin xyz="{numbers(com)}" rpy="0 0 0"/>',
        f'  <mass value="{numbers(mass)}"/>',
        f"  <inertia {tensor}/>",
        "</inertial>",
    ]


def _is_relative(filename: str) -> bool:
    return bool(filename) and "://" not in filename


def _package_path(file: Path, description: Path) -> str:
    package = package_root(description)
    if not file.is_relative_to(package):
        return file.as_uri()
    return f"package://{package.name}/{file.relative_to(package).as_posix()}"


def _generated(description: Description, inertials: Inertials, comment: str) -> str:
    lines = [
        '<?xml version="1.0"?>',
        f"<robot name={quoteattr(description.name)}>",
        f"  {xml_comment(comment)}",
    ]
    for link in description.links.values():
        lines += _link_lines(link, inertials, description.path)
    for joint in description.joints.values():
        lines += _joint_lines(joint, description)
    for name, (parent, T) in description.frames.items():
        lines += (
            f"  <link name={quoteattr(name)}/>",
            f'  <joint name={quoteattr(name + ".frame")} type="fixed">',
            f"    {_origin(T)}",
            f"    <parent link={quoteattr(parent)}/>",
            f"    <child link={quoteattr(name)}/>",
            "  </joint>",
        )
    return "\n".join([*lines, "</robot>", ""])


def _link_lines(link: Link, inertials: Inertials, path: Path) -> list[str]:
    lines = [f"  <link name={quoteattr(link.name)}>"]
    if link.inertial or link.name in inertials:
        values = inertials.get(link.name, (link.mass, link.com, link.inertia))
        lines += (f"    {line}" for line in _inertial_lines(values))
    for tag, shapes in (("visual", link.visual), ("collision", link.collision)):
        parts = [part for shape in shapes for part in _geometry(shape, path)]
        lines += (f"    <{tag}>{_origin(T)}<geometry>{geometry}</geometry></{tag}>" for T, geometry in parts)
    return [*lines, "  </link>"]


def _geometry(shape: Shape, path: Path) -> list[tuple[np.ndarray, str]]:
    """URDF has no capsule and no ellipsoid: a capsule becomes a cylinder and two spheres, an ellipsoid is omitted."""
    T, size = shape.placement, shape.size
    if shape.kind == "box":
        return [(T, f'<box size="{numbers(size)}"/>')]
    if shape.kind == "sphere":
        return [(T, f'<sphere radius="{numbers(size)}"/>')]
    if shape.kind in ("cylinder", "capsule"):
        radius, length = size
        parts = [(T, f'<cylinder radius="{radius!r}" length="{length!r}"/>')]
        for end in (-length / 2, length / 2) if shape.kind == "capsule" else ():
            cap = T.copy()
            cap[:3, 3] += end * T[:3, 2]
            parts.append((cap, f'<sphere radius="{radius!r}"/>'))
        return parts
    if shape.kind == "mesh" and shape.mesh is not None:
        file = quoteattr(_package_path(shape.mesh, path))
        return [(T, f'<mesh filename={file} scale="{numbers(size)}"/>')]
    return []


def _joint_lines(joint: Joint, description: Description) -> list[str]:
    if joint.kind == "ball":
        what = f"joint '{joint.name}' is a ball joint, which URDF does not support"
        raise DescriptionError(Finding("joint-kind-unsupported", description.path.name, what, "Write MJCF instead"))
    lines = [
        f"  <joint name={quoteattr(joint.name)} type={quoteattr(joint.kind)}>",
        f"    {_origin(joint.placement)}",
        f"    <parent link={quoteattr(joint.parent)}/>",
        f"    <child link={quoteattr(joint.child)}/>",
    ]
    if joint.kind != "fixed":
        lines += (f'    <axis xyz="{numbers(joint.axis)}"/>', f"    {_limit(joint)}")
    if m := joint.mimic:
        lines.append(f'    <mimic joint={quoteattr(m.joint)} multiplier="{m.multiplier!r}" offset="{m.offset!r}"/>')
    return [*lines, "  </joint>"]


def _limit(joint: Joint) -> str:
    """Other parsers require effort and velocity, and bounds unless the joint is continuous."""
    far = 1e9
    values = [("effort", joint.effort), ("velocity", joint.velocity)]
    if joint.kind != "continuous":
        values = [("lower", joint.lower), ("upper", joint.upper), *values]
    return "<limit " + " ".join(f'{k}="{float(np.clip(v, -far, far))!r}"' for k, v in values) + "/>"


def _origin(T: np.ndarray) -> str:
    return f'<origin xyz="{numbers(T[:3, 3])}" rpy="{numbers(rpy_from_rotation(T[:3, :3]))}"/>'
