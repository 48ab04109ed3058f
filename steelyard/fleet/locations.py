"""Where logs lie: paths, patterns, lists of them, and URLs of whatever fsspec can open.

A URL is copied to a file of the worker that reads it, and its digest taken on the way: every format is then read by the
same code, in constant memory, and the copy is gone when the log is done.
"""

from __future__ import annotations

import glob
import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from steelyard.errors import Finding, LogError, UsageError
from steelyard.files import digest as file_digest
from steelyard.log.format import unreadable

BLOCK = 1 << 20  # bytes that are read at once
MAGIC = ("*", "?", "[")


def expand(given: Sequence[str | Path], listed: str | Path | None = None) -> list[str]:
    """All logs that are meant, in order: as given (patterns sorted), then those that a text file lists by line."""
    names = [str(g) for g in given]
    if listed is not None:
        try:
            lines = [line.strip() for line in Path(listed).read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            fix = "Give a text file with a log on every line"
            raise UsageError(Finding("todo", f"--logs {listed}", f"cannot be read ({error})", fix)) from None
        names += [line for line in lines if line and not line.startswith("#")]
    matches = {name: _matches(name) for name in names}
    logs = [log for name in names for log in matches[name]]
    fix = "Quote the pattern, and look where it points"
    findings = [Finding("todo", name, "matches no file", fix) for name in names if not matches[name]]
    twice = [name for name, count in Counter(logs).items() if count > 1]
    findings += [Finding("todo", name, "is given twice", "A log counts once: give it once") for name in twice]
    if findings:
        raise UsageError(findings)
    if not logs:
        raise UsageError(Finding("todo", "logs", "there are none", "Give at least one log"))
    return logs


def is_url(name: str) -> bool:
    """Whether a name says how it is to be opened."""
    return "://" in name


def _matches(name: str) -> list[str]:
    if not any(c in name for c in MAGIC) or (not is_url(name) and Path(name).exists()):
        return [name]
    if not is_url(name):
        return sorted(glob.glob(name, recursive=True))
    try:
        return sorted(opened.full_name for opened in opener(name).open_files(name))
    except LogError:
        raise
    except Exception as error:  # each store has errors of its own
        raise LogError(Finding("todo", name, f"cannot be listed ({_said(error)})", _FIX)) from None


@contextmanager
def fetched(name: str, hashed: bool = True) -> Iterator[tuple[Path, str]]:
    """A log as a file of this machine, and the SHA-256 of its bytes; a local file only where that is asked for."""
    if not is_url(name):
        path = Path(name)
        try:  # absent, or a bag that is a folder: the reader says which
            digest = file_digest(path) if hashed and path.is_file() else ""
        except OSError as error:
            raise unreadable(path, error) from None
        yield path, digest
        return
    with tempfile.TemporaryDirectory(prefix="steelyard-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / (name.split("?")[0].rstrip("/").rsplit("/", 1)[-1] or "log")
        try:
            with opener(name).open(name, "rb") as remote, open(path, "wb") as copy:
                digest = _copy(remote, copy)
        except LogError:
            raise
        except Exception as error:  # each store has errors of its own
            raise LogError(Finding("todo", name, f"cannot be read ({_said(error)})", _FIX)) from None
        yield path, digest


_FIX = "Check the address, and that whoever reads it may; workers need the credentials too"


def _copy(source: Any, copy: IO[bytes]) -> str:
    """SHA-256 of what was copied."""
    digest = hashlib.sha256()
    while block := source.read(BLOCK):
        digest.update(block)
        copy.write(block)
    return digest.hexdigest()


def _said(error: BaseException) -> str:
    return ((str(error).splitlines() or [""])[0][:200] or type(error).__name__).rstrip(".")


def opener(name: str) -> Any:
    """The library that opens URLs."""
    try:
        import fsspec
    except ImportError:
        what = "is a URL, and fsspec, which opens them, is not installed"
        raise LogError(Finding("todo", name, what, 'Install the extra: pip install "steelyard[scale]"')) from None
    return fsspec
