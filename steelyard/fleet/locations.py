"""Where logs lie: paths, patterns, lists of them, and URLs of whatever fsspec can open.

A URL is copied to a file of the worker that reads it, and its digest taken on the way: every format is then read by the
same code, in constant memory, and the copy is gone when the log is done.
"""

from __future__ import annotations

import glob
import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from steelyard.errors import Finding, LogError, UsageError
from steelyard.log.format import unreadable

BLOCK = 1 << 20  # bytes that are read at once
MAGIC = ("*", "?", "[")


def expand(given: Sequence[str | Path], listed: str | Path | None = None) -> list[str]:
    """All logs that are meant, in order: as given (patterns sorted), then those that a text file lists by line."""
    names, findings = [str(g) for g in given], list[Finding]()
    if listed is not None:
        try:
            lines = [line.strip() for line in Path(listed).read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                Finding(f"--logs {listed}", f"cannot be read ({error})", "Give a text file with a log on every line")
            ) from None
        names += [line for line in lines if line and not line.startswith("#")]
    found = list[str]()
    for name in names:
        matches = _matches(name)
        if not matches:
            findings.append(Finding(name, "matches no file", "Quote the pattern, and look where it points"))
        found += matches
    twice = [name for name, count in Counter(found).items() if count > 1]
    findings += [Finding(name, "is given twice", "A log counts once: give it once") for name in twice]
    if findings:
        raise UsageError(findings)
    if not found:
        raise UsageError(Finding("logs", "there are none", "Give at least one log"))
    return found


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
        raise LogError(Finding(name, f"cannot be listed ({_said(error)})", _FIX)) from None


@contextmanager
def fetched(name: str) -> Iterator[tuple[Path, str]]:
    """A log as a file of this machine, and the SHA-256 of its bytes."""
    if not is_url(name):
        path = Path(name)
        if not path.is_file():  # absent, or a bag that is a folder: the reader says which
            yield path, ""
            return
        try:
            with open(path, "rb") as file:
                digest = _digest(file, None)
        except OSError as error:
            raise unreadable(path, error) from None
        yield path, digest
        return
    folder = Path(tempfile.mkdtemp(prefix="steelyard-"))
    try:
        path = folder / (name.split("?")[0].rstrip("/").rsplit("/", 1)[-1] or "log")
        try:
            with opener(name).open(name, "rb") as remote, open(path, "wb") as copy:
                digest = _digest(remote, copy)
        except LogError:
            raise
        except Exception as error:  # each store has errors of its own
            raise LogError(Finding(name, f"cannot be read ({_said(error)})", _FIX)) from None
        yield path, digest
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_FIX = "Check the address, and that whoever reads it may; workers need the credentials too"


def _digest(source: Any, copy: IO[bytes] | None) -> str:
    digest = hashlib.sha256()
    while block := source.read(BLOCK):
        digest.update(block)
        if copy is not None:
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
        raise LogError(Finding(name, what, 'Install the extra: pip install "steelyard[scale]"')) from None
    return fsspec
