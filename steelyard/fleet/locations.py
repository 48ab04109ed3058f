"""Locations of logs: paths, patterns, lists of them, and URLs that fsspec can open.

A URL is copied to a temporary file of the worker that reads it, and hashed meanwhile: every format is then read by the
same code, in constant memory.
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

BLOCK = 1 << 20  # bytes read at once
MAGIC = ("*", "?", "[")


def expand_logs(given: Sequence[str | Path], listed: str | Path | None = None) -> list[str]:
    """Names of all logs: as given, patterns expanded and sorted, then those that a text file lists line by line.

    Raises:
        UsageError: A pattern matches no file, a log is given twice, or there is none.
    """
    names = [str(g) for g in given]
    if listed is not None:
        try:
            lines = [line.strip() for line in Path(listed).read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            fix = "Give a text file with a log on every line"
            raise UsageError(Finding("file-unreadable", f"logs={listed}", f"cannot be read ({error})", fix)) from None
        names += [line for line in lines if line and not line.startswith("#")]
    matches = {name: _matches(name) for name in names}
    logs = [log for name in names for log in matches[name]]
    fix = "Quote the pattern, and check its folder"
    findings = [Finding("file-missing", name, "matches no file", fix) for name in names if not matches[name]]
    twice = [name for name, count in Counter(logs).items() if count > 1]
    findings += [Finding("log-repeated", name, "is given twice", "Give each log once") for name in twice]
    if findings:
        raise UsageError(findings)
    if not logs:
        raise UsageError(Finding("logs-missing", "logs", "there are none", "Give at least one log"))
    return logs


def is_url(name: str) -> bool:
    """Whether a name has a protocol, ``s3://…``."""
    return "://" in name


def _matches(name: str) -> list[str]:
    if not any(c in name for c in MAGIC) or (not is_url(name) and Path(name).exists()):
        return [name]
    if not is_url(name):
        return sorted(glob.glob(name, recursive=True))
    try:
        return sorted(opened.full_name for opened in import_fsspec(name).open_files(name))
    except LogError:
        raise
    except Exception as error:  # each store has its own errors
        raise LogError(Finding("file-unreadable", name, f"cannot be listed ({_first_line(error)})", _FIX)) from None


@contextmanager
def fetch_log(name: str, hashed: bool = True) -> Iterator[tuple[Path, str]]:
    """A log as a local file, and the SHA-256 of its bytes; a local log is hashed only where ``hashed``."""
    if not is_url(name):
        path = Path(name)
        try:  # an absent log, or a bag in a folder, is left to the reader
            digest = file_digest(path) if hashed and path.is_file() else ""
        except OSError as error:
            raise unreadable(path, error) from None
        yield path, digest
        return
    with tempfile.TemporaryDirectory(prefix="steelyard-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / (name.split("?")[0].rstrip("/").rsplit("/", 1)[-1] or "log")
        try:
            with import_fsspec(name).open(name, "rb") as remote, open(path, "wb") as copy:
                digest = _copy(remote, copy)
        except LogError:
            raise
        except Exception as error:  # each store has its own errors
            raise LogError(Finding("file-unreadable", name, f"cannot be read ({_first_line(error)})", _FIX)) from None
        yield path, digest


_FIX = "Check the address and its permissions; workers need the credentials too"


def _copy(source: Any, copy: IO[bytes]) -> str:
    """Copy, and return the SHA-256 of the bytes."""
    digest = hashlib.sha256()
    while block := source.read(BLOCK):
        digest.update(block)
        copy.write(block)
    return digest.hexdigest()


def _first_line(error: BaseException) -> str:
    return ((str(error).splitlines() or [""])[0][:200] or type(error).__name__).rstrip(".")


def import_fsspec(name: str) -> Any:
    """The module ``fsspec``, which opens URLs."""
    try:
        import fsspec
    except ImportError:
        what, fix = "is a URL, and fsspec is not installed", 'Install the extra: pip install "steelyard[scale]"'
        raise LogError(Finding("package-missing", name, what, fix, {"install": "steelyard[scale]"})) from None
    return fsspec
