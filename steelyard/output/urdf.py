"""A description with new inertial values, as URDF.

A URDF source is edited, not written anew: only ``<inertial>`` of the given links changes, and mesh paths
relative to the source's folder become ``package://`` ones, since the new file will stand elsewhere. Numbers
are written so that reading gives back the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from steelyard.errors import DescriptionError, Finding
from steelyard.robot.description import Description, Joint, Link, Shape
from steelyard.robot.meshes import package_root
from steelyard.robot.xml import Node, parse_xml
from steelyard.spatial import rpy_from_rotation

Inertials = Mapping[str, tuple[float, np.ndarray, np.ndarray]]  # link → mass, CoM (3,), inertia (3, 3) about the CoM


def to_urdf(description: Description, inertials: Inertials, comment: str) -> str:
    """URDF text; links that ``inertials`` does not list keep what the description has."""
    check_links(description, inertials)
    if description.format == "urdf":
        return _edited(description, inertials, comment)
    return _generated(description, inertials, comment)


def check_links(description: Description, inertials: Inertials) -> None:
    """Refuse values for links that the description does not have."""
    if unknown := [name for name in inertials if name not in description.links]:
        what, fix = f"has no link {', '.join(unknown)}", f"Name some of: {', '.join(description.links)}"
        raise DescriptionError(Finding(description.path.name, what, fix))


def xml_comment(text: str) -> str:
    """An XML comment of any text; two hyphens in a row would end it, control characters are not XML."""
    clean = re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", " ", text)
    clean = re.sub(r"-(?=-)", "- ", clean)
    return f"<!-- {clean} -->"


def numbers(values: np.ndarray) -> str:
    """Shortest decimals that read back as the same doubles."""
    return " ".join(repr(float(v) + 0.0) for v in np.ravel(values))


def _edited(description: Description, inertials: Inertials, comment: str) -> str:
    source = description.text.encode()
    _, root = parse_xml(source, description.path.name)
    edits: list[tuple[int, int, str]] = [(root.span.opened, root.span.opened, f"\n  {xml_comment(comment)}")]
    for link in root.all("link"):
        if (name := link.attributes["name"]) in inertials:
            edits.append(_inertial_edit(source, link, inertials[name]))
        edits += (
            _mesh_edit(source, mesh, description.path)
            for mesh in link.walk()
            if mesh.tag == "mesh" and _is_relative(mesh.attributes.get("filename", ""))
        )
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text.encode() + source[end:]
    return source.decode()


def _inertial_edit(source: bytes, link: Node, values: tuple[float, np.ndarray, np.ndarray]) -> tuple[int, int, str]:
    given = link.first("inertial")
    at = (given or link).span.start
    margin = source[source.rfind(b"\n", 0, at) + 1 : at].decode()
    margin = margin if not margin.strip() else ""
    if given:
        return given.span.start, given.span.end, _inertial(values, margin)
    inside = _inertial(values, margin + "  ")
    opened = link.span.opened
    if link.span.end == opened:  # <link name="x"/>
        slash = source.rindex(b"/", 0, opened)
        return slash, opened, f">\n{margin}  {inside}\n{margin}</link>"
    return opened, opened, f"\n{margin}  {inside}"


def _inertial(values: tuple[float, np.ndarray, np.ndarray], margin: str) -> str:
    mass, com, inertia = values
    symmetric = (inertia + np.transpose(inertia)) / 2
    names = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    tensor = " ".join(f'{name}="{numbers(symmetric[i, j])}"' for name, i, j in names)
    lines = (
        "<inertial>",
        f'  <origin xyz="{numbers(com)}" rpy="0 0 0"/>',
        f'  <mass value="{numbers(np.array(mass))}"/>',
        f"  <inertia {tensor}/>",
        "</inertial>",
    )
    return f"\n{margin}".join(lines)


def _is_relative(filename: str) -> bool:
    return bool(filename) and "://" not in filename


def _mesh_edit(source: bytes, mesh: Node, path: Path) -> tuple[int, int, str]:
    start, opened = mesh.span.start, mesh.span.opened
    match = re.search(rb"""(?<=\sfilename)\s*=\s*("[^"]*"|'[^']*')""", source[start:opened])
    assert match is not None  # the parser has found this attribute
    file = (path.resolve().parent / mesh.attributes["filename"]).resolve()
    return start + match.start(), start + match.end(), f"={quoteattr(_package_path(file, path))}"


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
        lines.append("    " + _inertial(values, "    "))
    for tag, shapes in (("visual", link.visual), ("collision", link.collision)):
        for origin, geometry in (pair for shape in shapes for pair in _geometry(shape, path)):
            lines.append(f"    <{tag}>{_origin(origin)}<geometry>{geometry}</geometry></{tag}>")
    return [*lines, "  </link>"]


def _geometry(shape: Shape, path: Path) -> list[tuple[np.ndarray, str]]:
    """URDF has no capsule and no ellipsoid: one becomes a cylinder and two spheres, one is left out."""
    T, size = shape.placement, shape.size
    if shape.kind == "box":
        return [(T, f'<box size="{numbers(np.array(size))}"/>')]
    if shape.kind == "sphere":
        return [(T, f'<sphere radius="{numbers(np.array(size))}"/>')]
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
        return [(T, f'<mesh filename={file} scale="{numbers(np.array(size))}"/>')]
    return []


def _joint_lines(joint: Joint, description: Description) -> list[str]:
    if joint.kind == "ball":
        what = f"joint '{joint.name}' is a ball joint, which URDF does not have"
        raise DescriptionError(Finding(description.path.name, what, "Write MJCF instead"))
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
    """Parsers other than ours demand effort and velocity, and bounds on a joint that has ends."""
    far = 1e9
    values = [("effort", joint.effort), ("velocity", joint.velocity)]
    if joint.kind != "continuous":
        values = [("lower", joint.lower), ("upper", joint.upper), *values]
    return "<limit " + " ".join(f'{k}="{float(np.clip(v, -far, far))!r}"' for k, v in values) + "/>"


def _origin(T: np.ndarray) -> str:
    return f'<origin xyz="{numbers(T[:3, 3])}" rpy="{numbers(rpy_from_rotation(T[:3, :3]))}"/>'
