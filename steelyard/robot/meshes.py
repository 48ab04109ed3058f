"""Resolves the mesh paths of a description, within declared root folders only.

An untrusted description may only refer to its own folder, the package it belongs to, packages beside that one, and
folders that the user gives. Paths are compared with symbolic links and ``..`` resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from steelyard.errors import Finding, note
from steelyard.robot.description import is_file
from steelyard.robot.xml import Findings, Node, attribute_of

# Folders that hold descriptions inside a package; their parent is the package where there is no package.xml.
_INSIDE = ("urdf", "robots", "robot", "xacro", "model", "models", "description", "xml", "mjcf")
_UP = 6  # folders above the file in which a package is searched


class Roots:
    """Resolves the mesh paths of one description and collects the missing ones."""

    def __init__(self, path: Path, package_dirs: Sequence[Path], faults: Findings):
        self.folder = path.resolve().parent
        self.given = [folder.resolve() for folder in package_dirs]
        self.faults = faults
        self.package = package_root(path)
        self.missing: list[str] = []

    def resolve(self, node: Node, name: str, element: str) -> Path | None:
        """Return the existing file that ``name`` refers to, or None; adds a fault if it is outside the roots."""
        where = attribute_of(node, "filename", element)
        if not name:
            self.faults.add("attribute-missing", node, where, "is missing", "Give the mesh's file")
            return None
        allowed, outside = [], Path()
        for root, path in self._candidates(name):
            try:
                target = path.resolve()
            except (OSError, RuntimeError):  # too long, or cyclic symbolic links: no file in any case
                continue
            if target.is_relative_to(root):
                allowed.append(target)
            else:
                outside = target
        for target in allowed:
            if is_file(target):
                return target
        if not allowed and outside != Path():
            what = f"'{name}' leaves the description's folder and packages"
            fix = "Move the mesh there, or declare its folder in package_dirs"
            self.faults.add("path-escapes-folder", node, where, what, fix, {"package_dirs": None})
        else:
            self.missing.append(name)
        return None

    def notices(self) -> list[Finding]:
        """One notice for all missing meshes."""
        if not (n := len(set(self.missing))):
            return []
        first = f"{n} mesh{'es' if n > 1 else ''} not found (first: {self.missing[0]})"
        text = f"{first}: boxes from the CAD inertia stand in"
        return [note("mesh-missing", self.missing[0], text, meshes=n)]

    def _candidates(self, name: str) -> Iterator[tuple[Path, Path]]:
        """(root, path) pairs: paths where the file could be, each with the folder that it must not leave."""
        scheme, _, rest = name.rpartition("://")
        if scheme in ("package", "model"):
            package, _, inside = rest.lstrip("/").partition("/")
            for root in self._packages(package):
                yield root, root / inside
        elif scheme in ("", "file"):
            path = self.folder / Path(unquote(rest) if scheme else rest)
            for root in (self.folder, self.package, *self.given):
                yield root, path

    def _packages(self, package: str) -> Iterator[Path]:
        if package in ("", ".", ".."):
            return
        for folder in self.given:
            yield folder if folder.name == package else folder / package
        for folder in [self.package, *list(self.folder.parents)[:_UP]]:
            if folder.name == package and (folder == self.package or (folder / "package.xml").is_file()):
                yield folder
        yield self.package.parent / package


def package_root(path: Path) -> Path:
    """Return the nearest folder with a package.xml, else the parent of a folder like ``urdf``, else the file's."""
    folder = path.resolve().parent
    near = [folder, *folder.parents][:_UP]
    for parent in near:
        if (parent / "package.xml").is_file():
            return parent
    return folder.parent if folder.name in _INSIDE else folder
