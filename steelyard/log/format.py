"""The interface of a log format: which files it recognises, and how it reads them.

Each module in ``formats/`` is a format of that name. ``formats/npz.py`` is the one to copy. Files are untrusted
bytes: all that a library raises on damaged ones has to become a LogError (``unreadable``).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from steelyard.errors import Finding, LogError, unknown_name
from steelyard.log.layout import TableLayout
from steelyard.log.log import Log, is_column
from steelyard.spatial import Array

Columns = dict[str, Array]
Wanted = Callable[[str], bool]  # whether a column is read; the others are only listed

METADATA_KEY = "steelyard"
FEW = 64  # rows; a shorter part is joined to the one before


class Table(NamedTuple):
    """The raw content of a table file."""

    columns: Columns
    metadata: Mapping[str, Any] = {}
    cut: int | None = None  # number of the last line if it was incomplete and dropped
    digest: str = ""  # SHA-256 of the file's bytes


class TablePart(NamedTuple):
    """Consecutive rows of a table."""

    columns: Columns
    metadata: Mapping[str, Any]
    where: str  # their name in messages
    share: float  # fraction of the file read up to and including them

    @property
    def rows(self) -> int:
        """Number of rows."""
        return max((len(x) for x in self.columns.values()), default=0)


class LogFormat(ABC):
    """A kind of file from which a log can be read."""

    suffixes: ClassVar[tuple[str, ...]]  # of file names, in lower case

    @property
    def name(self) -> str:
        """Name of the format in messages."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def recognises(self, path: Path) -> bool:
        """Whether a path is of this format, by its suffix."""
        return path.name.lower().endswith(self.suffixes)

    @abstractmethod
    def read(self, path: Path, topics: Mapping[str, str]) -> Log:
        """Read a checked log; LogError with every reason against it.

        Args:
            path: A file or folder that the format recognises.
            topics: Topic of each kind of measurement, if the format has topics.
        """


class TableFormat(LogFormat):
    """A table in one file. Its columns follow the log contract, or a mapping converts them."""

    mapped_suffixes: ClassVar[tuple[str, ...]] = ()  # of files that need a mapping

    @abstractmethod
    def table(self, data: bytes, path: Path, wanted: Wanted, layout: TableLayout | None) -> Table:
        """Parse the table in a file.

        Args:
            data: All bytes of the file.
            path: Its name in messages.
            wanted: Whether a column is read; the others are only listed.
            layout: Layout of a text table; None without a mapping.
        """

    def parts(self, path: Path, part_bytes: int) -> Iterator[TablePart]:
        """Read the table in parts of about ``part_bytes``; in one part, if the format cannot be split."""
        table = self.open(path)
        yield TablePart(table.columns, table.metadata, str(path), 1.0)

    def numbers(self, path: Path) -> dict[str, Array | None]:
        """Read all columns, None for those without numbers; used to draft a mapping."""
        columns = self.open(path, lambda _: True, TableLayout()).columns
        return {k: x.astype(float) if x.dtype.kind in "biuf" and x.ndim else None for k, x in columns.items()}

    def open(self, path: Path, wanted: Wanted = is_column, layout: TableLayout | None = None) -> Table:
        """Read the table of a file, which is opened once: the digest is of the very bytes that were parsed."""
        data = read_file(path)
        return self.table(data, path, wanted, layout)._replace(digest=hashlib.sha256(data).hexdigest())

    def read(self, path: Path, topics: Mapping[str, str]) -> Log:
        """Read a checked log from a table whose columns follow the log contract."""
        table = self.open(path)
        return replace(Log.from_columns(table.columns, table.metadata, str(path)), files={str(path): table.digest})


class WritableFormat(TableFormat):
    """A table format that Steelyard also writes."""

    @abstractmethod
    def encode(self, path: Path, columns: Mapping[str, Array], metadata: str) -> bytes:
        """Return the bytes of a file with columns of equal length and metadata as JSON."""


def all_formats() -> list[LogFormat]:
    """Return the format of each module in ``formats/``, by name."""
    from steelyard.log import formats

    modules = [import_module(f"{formats.__name__}.{m.name}") for m in pkgutil.iter_modules(formats.__path__)]
    return [
        x()
        for module in modules
        for x in vars(module).values()
        if inspect.isclass(x) and x.__module__ == module.__name__ and issubclass(x, LogFormat)
    ]


def format_of(path: Path, mapped: bool = False) -> LogFormat:
    """Return the format that recognises a log; LogError with the known suffixes if none does.

    Args:
        path: Path of the log.
        mapped: Whether it is read with a mapping.
    """
    formats = all_formats()
    for one in formats:
        foreign = one.mapped_suffixes if mapped and isinstance(one, TableFormat) else ()
        if one.recognises(path) or path.name.lower().endswith(foreign):
            return one
    raise unknown_format(path, suffixes(formats, mapped))


def table_format(path: Path) -> TableFormat:
    """Return the format of a table that is read with a mapping."""
    kind = format_of(path, mapped=True)
    if not isinstance(kind, TableFormat):
        fix = "Read it without the mapping, by the joint names in its messages"
        what = f"is a {kind.name}; a mapping converts tables only"
        raise LogError(Finding("mapping-not-applicable", str(path), what, fix))
    return kind


def suffixes(formats: Sequence[LogFormat], mapped: bool = False) -> list[str]:
    """Return the suffixes of the files that these formats recognise."""
    foreign = [s for f in formats if mapped and isinstance(f, TableFormat) for s in f.mapped_suffixes]
    return [*(s for f in formats for s in f.suffixes), *foreign]


def unknown_format(path: Path, known: Sequence[str]) -> LogError:
    """Return the refusal of a file whose suffix no format has."""
    what = f"has the suffix {path.suffix!r}, which no format has" if path.suffix else "has no suffix"
    return LogError(Finding("format-unknown", str(path), what, f"Convert it to one of {', '.join(known)}"))


def read_file(path: Path) -> bytes:
    """Return all bytes of a log."""
    refuse_absent(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def refuse_absent(path: Path, fix: str = "") -> None:
    """Refuse a file that does not exist, with near names in its folder; else with ``fix``, or the known formats."""
    if path.is_file():
        return
    fix = fix or f"Give the path of a log: {', '.join(suffixes(all_formats()))}"
    beside: list[str] = []
    with suppress(OSError):
        beside = [p.name for p in path.parent.iterdir() if p.is_file()]
    what, code = ("is a folder", "file-is-folder") if path.is_dir() else ("does not exist", "file-missing")
    raise LogError(unknown_name(str(path), what, path.name, beside, fix, most=3, code=code))


def decode(data: bytes, source: str) -> str:
    """Decode UTF-8 text; LogError if it is not."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise LogError(Finding("file-not-utf8", source, "is not UTF-8 text", "Save it as UTF-8")) from None


def metadata_of(path: Path, raw: bytes) -> Mapping[str, Any]:
    """Parse the metadata of a file, a JSON object."""
    text = raw.decode("utf-8", "replace")
    fix = f"Correct or remove the entry '{METADATA_KEY}'"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LogError(Finding("metadata-invalid", f"{path}, metadata", f"is not JSON ({error})", fix)) from None
    if not isinstance(value, dict):
        raise LogError(Finding("metadata-invalid", f"{path}, metadata", f"is {text[:40]}, not a JSON object", fix))
    return value


def refuse_repeats(where: str, names: Sequence[str], wanted: Wanted = is_column) -> None:
    """Refuse a table that has a wanted column several times."""
    if repeated := sorted({name for name in names if names.count(name) > 1 and wanted(name)}):
        what, fix = "appears several times", "Keep one column of each name"
        raise LogError([Finding("column-repeated", f"{where}, {name}", what, fix) for name in repeated])


def numbers_of(column: Any) -> Array:
    """Copy a column of an Arrow table (NaN where a cell is empty).

    By DLPack where no cell is empty: ``to_numpy`` imports pandas wherever it is installed, which takes longer than
    an identification.
    """
    import pyarrow as pa

    # Not safe: nanoseconds since 1970 need more digits than a float has; their unit is checked later.
    column = column.cast(pa.float64(), safe=False)
    if column.null_count:
        return np.array(column.to_numpy(), dtype=float)
    return np.from_dlpack(column.combine_chunks()).copy()


def first_line(error: BaseException, most: int = 200) -> str:
    """Return the first line of an exception's message, shortened."""
    return (str(error).splitlines() or [""])[0][:most].rstrip(".") or type(error).__name__


def unreadable(
    path: Path, error: BaseException, fix: str = "Write the file again; it is damaged or of another kind"
) -> LogError:
    """Return the refusal of a file that its library cannot read."""
    return LogError(Finding("file-unreadable", str(path), f"cannot be read ({first_line(error)})", fix))
