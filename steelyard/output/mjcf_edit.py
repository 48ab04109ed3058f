"""An MJCF source with new inertial values: only ``<inertial>`` of the given bodies changes.

Actuators, sensors, defaults, contacts and comments are unchanged. Asset folders become absolute, since the new file is
in another folder. The compiled models of source and result are compared: each given body must have its new values and
every other body its old ones; otherwise nothing is returned, and the caller generates a model (``mjcf_writer.py``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from steelyard.output.mjcf_writer import inertial_element
from steelyard.output.xml_text import (
    Edit,
    Inertial,
    Inertials,
    apply_edits,
    check_links,
    insert_child,
    set_attribute,
    xml_comment,
)
from steelyard.robot.description import Description
from steelyard.robot.mjcf import anchor, body_names, compile_mjcf
from steelyard.robot.xml import Node, parse_xml
from steelyard.spatial import rotation_from_wxyz

# Compiler settings that override explicit inertial values. (balanceinertia only changes values that
# break the triangle inequality, which MuJoCo refuses without it.)
_OVERRIDES = ("inertiafromgeom", "boundmass", "boundinertia", "settotalmass")
_FOLDERS = ("meshdir", "texturedir")
_MODELS = ("include", "model")  # their files are relative to the model, not to an asset folder
_COPIED = ("replicate", "attach", "composite", "flexcomp")
_RTOL, _ATOL = 1e-9, 1e-11  # MuJoCo computes principal axes to 1e-12 kg·m²


def edit_mjcf(description: Description, inertials: Inertials, comment: str) -> str | None:
    """The source with new values; None where it is not MJCF or cannot be edited in place.

    Not in place: bodies of an included file, bodies that MuJoCo repeats, attaches, fuses or realigns, and
    values that MuJoCo refuses on a body of its own.
    """
    check_links(description, inertials)
    if description.format != "mjcf":
        return None
    source = description.text.encode()
    _, root = parse_xml(source, description.path.name)
    paths = list(_path_edits(source, root, description.path.resolve().parent))
    before = _compiled(apply_edits(source, paths))
    if before is None:
        return None
    names = body_names(before)
    nodes = _nodes(root, before)
    wanted: dict[int, Inertial] = {}
    for name, (mass, com, inertia) in inertials.items():
        if mass == 0 and not description.links[name].inertial:
            continue
        if name not in names or names.index(name) not in nodes:
            return None
        b = names.index(name)
        wanted[b] = mass, com + anchor(before, b), inertia
    settings: list[Edit] = []
    comments = [comment]
    for _ in range(3):
        changes = [edit for b, values in wanted.items() for edit in _inertial_edits(source, nodes[b], values)]
        head = (root.span.opened, root.span.opened, f"\n  {xml_comment(' '.join(comments))}")
        text = apply_edits(source, [head, *paths, *settings, *changes])
        after = _compiled(text)
        if after is None or body_names(after) != names:
            return None
        moved = {
            b: _values(before, b)
            for b in range(1, before.nbody)
            if not _same(_values(after, b), wanted.get(b) or _values(before, b))
        }
        if not moved:
            return text
        if not settings:  # a compiler setting may override the new values
            settings, notes = _setting_edits(source, root)
            comments += notes
            if settings:
                continue
        if not moved.keys() <= nodes.keys() - wanted.keys():
            return None
        wanted |= moved  # these values came from a setting; without it they are made explicit
        comments.append(f"Made explicit, with MuJoCo's values: {', '.join(names[b] for b in moved)}.")
    return None


def _compiled(text: str) -> Any | None:
    """MuJoCo's model of a text, compiled in an empty folder, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        path.write_bytes(text.encode())
        try:
            return compile_mjcf(path)[0]
        except ValueError:
            return None


def _values(model: Any, b: int) -> Inertial:
    R = rotation_from_wxyz(model.body_iquat[b])
    inertia = R @ np.diag(model.body_inertia[b]) @ R.T
    return float(model.body_mass[b]), np.array(model.body_ipos[b]), inertia


def _same(one: Inertial, two: Inertial) -> bool:
    scale = float(np.abs(two[2]).max())
    return (
        abs(one[0] - two[0]) <= _RTOL * two[0]
        and (two[0] == 0 or np.allclose(one[1], two[1], rtol=_RTOL, atol=_ATOL))
        and np.allclose(one[2], two[2], rtol=0, atol=_RTOL * scale + _ATOL)
    )


def _nodes(root: Node, model: Any) -> dict[int, Node]:
    """MuJoCo's bodies → their elements, if unique; nameless ones only if all bodies are in this text."""
    elements = [node for part in root.all("worldbody") for node in _bodies(part)]
    given = [node.attributes.get("name", "") for node in elements]
    names = [model.body(b).name for b in range(model.nbody)]
    if ["world", *given] == names:
        return dict(enumerate(elements, 1))
    return {names.index(name): node for name, node in zip(given, elements, strict=True) if name and name in names}


def _bodies(node: Node) -> Iterator[Node]:
    """Bodies below, in MuJoCo's order, without those that it copies."""
    for child in node.children:
        if child.tag in _COPIED:
            continue
        if child.tag == "body":
            yield child
        yield from _bodies(child)


def _inertial_edits(source: bytes, body: Node, values: Inertial) -> Iterator[Edit]:
    text = inertial_element(values)
    if given := body.first("inertial"):
        yield given.span.start, given.span.end, text
        return
    for old in _framed_inertials(body):  # in a <frame> its pos would be the frame's
        yield old.span.start, old.span.end, ""
    yield insert_child(source, body, [text])


def _framed_inertials(node: Node) -> Iterator[Node]:
    for frame in node.all("frame"):
        yield from frame.all("inertial")
        yield from _framed_inertials(frame)


def _setting_edits(source: bytes, root: Node) -> tuple[list[Edit], list[str]]:
    """Edits that make explicit values effective, and a note of each."""
    edits, notes = [], []
    for node in root.all("compiler"):
        for name in _OVERRIDES:
            value = node.attributes.get(name, "false")
            if value in ("auto", "false"):
                continue
            new = "auto" if name == "inertiafromgeom" else None
            edits.append(set_attribute(source, node, name, new))
            change = f'was set to "{new}"' if new else "was removed"
            notes.append(f"<compiler {name}={quoteattr(value)}> {change}, so that explicit inertials take effect.")
    return edits, notes


def _path_edits(source: bytes, root: Node, folder: Path) -> Iterator[Edit]:
    """Make asset folders and included files absolute."""
    compilers = [node for node in root.walk() if node.tag == "compiler"]
    files = [node for node in root.walk() if node.tag != "compiler" and _names_file(node)]
    if not files:
        return
    for node in compilers:
        for name in ("assetdir", *_FOLDERS):
            if name in node.attributes:
                yield set_attribute(source, node, name, str(folder / node.attributes[name]))
    for node in files:
        if node.tag in _MODELS:
            yield set_attribute(source, node, "file", str(folder / node.attributes["file"]))
    given = {name for node in compilers for name in node.attributes}
    if "assetdir" not in given and (absent := [name for name in _FOLDERS if name not in given]):
        added = "".join(f" {name}={quoteattr(str(folder))}" for name in absent)
        at = root.span.opened
        yield at, at, f"\n  <compiler{added}/>"


def _names_file(node: Node) -> bool:
    return any(key.startswith("file") and value for key, value in node.attributes.items())
