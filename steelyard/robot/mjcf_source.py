"""Checks of an MJCF file before MuJoCo compiles it: bad inertial values, paths outside the model's folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.robot.description import is_file
from steelyard.robot.xml import Findings, Node, attribute_of, read_xml

_FOLDERS = ("meshdir", "texturedir", "assetdir")
_INCLUDES = ("include", "model")
_MAX_FILES = 1000


def check_source(path: Path, root: Node, package_dirs: Sequence[Path]) -> dict[str, int]:
    """Check the model and every file that it includes.

    Returns:
        Name of each body → its line.

    Raises:
        DescriptionError: With every reason against the files.
    """
    folder = path.resolve().parent
    allowed = (folder, *(d.resolve() for d in package_dirs))
    faults = Findings(path.name)
    files = _with_includes(path.resolve(), root, faults, allowed)
    lines: dict[str, int] = {}
    # A <compiler> in any file sets the asset folder of all: every path that could result must be inside.
    assets = [folder / value for _, tree, _ in files for value in _asset_folders(tree)]
    for file, tree, own in files:
        for node in tree.walk():
            if node.tag == "body" and (name := node.attributes.get("name")):
                lines.setdefault(name, node.line)
            _check_values(node, _element(node), own)
            for attribute, name in _paths(node):
                bases = [folder, file.parent, *([] if node.tag in _INCLUDES else assets)]
                if not all(_inside(base / name, allowed) for base in bases):
                    where, what = attribute_of(node, attribute, _element(node)), f"'{name}' leaves the model's folder"
                    fix = "Move the file there, or declare its folder in package_dirs"
                    own.add("path-escapes-folder", node, where, what, fix, {"package_dirs": None})
    faults.collected[:] = [finding for _, _, own in files for finding in own.collected]
    faults.raise_if_any()
    return lines


def _with_includes(
    path: Path, root: Node, faults: Findings, allowed: Sequence[Path]
) -> list[tuple[Path, Node, Findings]]:
    """The model and the files it includes; MuJoCo searches beside the model and beside the including file."""
    files, seen = [(path, root, faults)], {path}
    for file, tree, own in files:  # grows during the loop
        for node in (n for n in tree.walk() if n.tag in _INCLUDES):
            name = node.attributes.get("file", "")
            for target in {(base / name).resolve() for base in (path.parent, file.parent)} - seen:
                if not is_file(target) or not _inside(target, allowed):
                    continue
                seen.add(target)
                if len(seen) > _MAX_FILES:
                    what = f"includes more than {_MAX_FILES} files"
                    own.add("includes-too-many", node, _element(node), what, "Merge them")
                    return files
                files.append((target, read_xml(target)[1], Findings(target.name)))
    return files


def _inside(path: Path, allowed: Sequence[Path]) -> bool:
    return any(path.resolve().is_relative_to(folder) for folder in allowed)


def _asset_folders(tree: Node) -> Iterator[str]:
    for node in tree.walk():
        if node.tag == "compiler":
            yield from (value for key, value in node.attributes.items() if key in _FOLDERS)


def _element(node: Node) -> str:
    name = node.attributes.get("name") or node.attributes.get("class")
    return f"{node.tag} '{name}'" if name else f"<{node.tag}>"


def _paths(node: Node) -> Iterator[tuple[str, str]]:
    for attribute, value in node.attributes.items():
        folder = node.tag == "compiler" and attribute in _FOLDERS
        if value and (folder or attribute == "file" or (node.tag == "texture" and attribute.startswith("file"))):
            yield attribute, value


def _check_values(node: Node, element: str, faults: Findings) -> None:
    if node.tag == "inertial":
        shapes = {"mass": 1, "pos": 3, "quat": 4, "diaginertia": 3, "fullinertia": 6}
        moments = {"mass": 1, "diaginertia": 3, "fullinertia": 3}
    elif node.tag == "geom":
        shapes = {"mass": 1, "density": 1}
        moments = shapes
    else:
        return
    for attribute, count in shapes.items():
        if attribute not in node.attributes:
            continue
        values = faults.numbers(node, attribute, count, element)
        if values is not None and (values[: moments.get(attribute, 0)] < 0).any():
            code = f"{attribute}-negative" if attribute in ("mass", "density") else "inertia-negative"
            what = f"must be ≥ 0 (got '{node.attributes[attribute]}')"
            faults.add(code, node, attribute_of(node, attribute, element), what, "Give values of 0 or more")
