"""Which file a mesh path of a description means, and whether the description may name it.

A description from a stranger may only reach into declared roots: its own folder, the package it belongs to,
packages beside that one, and the folders the user gives. Paths are compared with links and ``..`` resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from steelyard.robot.description import is_file
from steelyard.robot.xml import Findings, Node

# Folders that hold descriptions inside a package; their parent is the package where no package.xml tells.
_INSIDE = ("urdf", "robots", "robot", "xacro", "model", "models", "description", "xml", "mjcf")
_UP = 6  # how far above the file a package is looked for


class Roots:
    """Resolves mesh paths of one description and remembers what it did not find."""

    def __init__(self, path: Path, package_dirs: Sequence[Path], faults: Findings):
        self.folder = path.resolve().parent
        self.given = [folder.resolve() for folder in package_dirs]
        self.faults = faults
        self.package = package_root(path)
        self.missing: list[str] = []

    def resolve(self, node: Node, name: str, who: str) -> Path | None:
        """The existing file that ``name`` means, or None; notes an error if it leaves the roots."""
        if not name:
            self.faults.add(node, who, "<mesh> has no filename", "Give the mesh's file")
            return None
        allowed, outside = [], Path()
        for root, path in self._candidates(name):
            try:
                target = path.resolve()
            except (OSError, RuntimeError):  # too long, or links in a ring: no file in any case
                continue
            if target.is_relative_to(root):
                allowed.append(target)
            else:
                outside = target
        for target in allowed:
            if is_file(target):
                return target
        if not allowed and outside != Path():
            what = f"mesh path '{name}' leaves the description's folder and packages"
            self.faults.add(node, who, what, "Move the mesh there, or declare its folder as a package folder")
        else:
            self.missing.append(name)
        return None

    def notices(self) -> list[str]:
        """One line for all meshes that were not found."""
        if not (n := len(set(self.missing))):
            return []
        first = f"{n} mesh{'es' if n > 1 else ''} not found (first: {self.missing[0]})"
        return [f"{first}: boxes from the CAD inertia stand in"]

    def _candidates(self, name: str) -> Iterator[tuple[Path, Path]]:
        """(root, path) pairs: where the file could be, and what it must not leave."""
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
    """The nearest folder with a package.xml, else the parent of a folder like ``urdf``, else the file's."""
    folder = path.resolve().parent
    near = [folder, *folder.parents][:_UP]
    for parent in near:
        if (parent / "package.xml").is_file():
            return parent
    return folder.parent if folder.name in _INSIDE else folder
