"""Atomic writing: a set of files appears completely or not at all, whatever interrupts the writer.

Files are staged in a hidden folder inside the target folder and moved once the last one is synchronised to disk. If
anything fails, even in the middle of moving, the files that existed before are restored and no other file remains.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically; an existing file is unchanged if anything fails."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes atomically; an existing file is unchanged if anything fails."""
    with Staging(path.parent) as staging:
        staging.write_bytes(path.name, data)


class Staging:
    """Context manager that publishes all its files together, or none.

    >>> with Staging(folder) as out:
    ...     out.write_text("a.json", text)
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self._created: list[Path] = []  # folders that did not exist before, outermost first
        self._names: list[str] = []
        self._hidden = Path()

    def __enter__(self) -> Staging:
        try:
            for parent in reversed([self.folder, *self.folder.parents]):
                if not parent.exists():
                    parent.mkdir()
                    self._created.append(parent)
            self._hidden = Path(tempfile.mkdtemp(prefix=".steelyard-", dir=self.folder))
            (self._hidden / "new").mkdir()
            (self._hidden / "old").mkdir()
        except BaseException:
            self._clean()
            raise
        return self

    def path(self, name: str) -> Path:
        """Return the staged path of the file ``name``, for writers that need a path."""
        if Path(name).name != name:
            raise ValueError(f"'{name}' must be a plain file name: everything is staged in one folder")
        if name not in self._names:
            self._names.append(name)
        return self._hidden / "new" / name

    def write_text(self, name: str, text: str) -> None:
        """Stage UTF-8 text."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Stage bytes."""
        self.path(name).write_bytes(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._publish()
                self._created.clear()
        finally:
            self._clean()

    def _publish(self) -> None:
        new, old = self._hidden / "new", self._hidden / "old"
        staged = [name for name in self._names if (new / name).exists()]
        for name in staged:
            _sync(new / name)
        try:
            for name in staged:
                target = self.folder / name
                if target.exists():
                    _back_up(target, old / name)
            for name in staged:
                os.replace(new / name, self.folder / name)
            _sync(self.folder)
        except BaseException:
            for name in staged:
                if (old / name).exists():
                    os.replace(old / name, self.folder / name)
                elif not (new / name).exists():  # already moved, and there was no such file before
                    (self.folder / name).unlink(missing_ok=True)
            raise

    def _clean(self) -> None:
        if self._hidden != Path():
            shutil.rmtree(self._hidden, ignore_errors=True)
        for folder in reversed(self._created):
            try:
                folder.rmdir()
            except OSError:  # another process has put a file into it
                break


def _back_up(target: Path, copy: Path) -> None:
    """Hard-link a file, or copy it where the file system has no hard links."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder")
    try:
        os.link(target, copy)
    except OSError:
        shutil.copy2(target, copy)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
