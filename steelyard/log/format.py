"""What a log format is: which files it recognises, and how it reads them.

A file in ``formats/`` is a format; its name is the file's. ``formats/npz.py`` is the one to copy. Files are untrusted
bytes: whatever a library raises on damaged ones has to become a LogError (``unreadable``).
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

from steelyard.errors import Finding, LogError, did_you_mean
from steelyard.log.layout import TableLayout
from steelyard.log.log import Log, is_column
from steelyard.spatial import Array

Columns = dict[str, Array]
Wanted = Callable[[str], bool]  # which columns are read; the others are listed, whatever they hold

METADATA_KEY = "steelyard"
FEW = 64  # rows: less than this never makes a piece of its own


class Table(NamedTuple):
    """A table as it stands in its file."""

    columns: Columns
    metadata: Mapping[str, Any] = {}
    cut: int | None = None  # number of the last line of text, where it was cut off and dropped
    digest: str = ""  # SHA-256 of the file's bytes


class TablePart(NamedTuple):
    """Rows of a table that follow each other."""

    columns: Columns
    metadata: Mapping[str, Any]
    where: str  # what messages call them
    share: float  # of the file that has been read with them

    @property
    def rows(self) -> int:
        """How many."""
        return max((len(x) for x in self.columns.values()), default=0)


class LogFormat(ABC):
    """Files that a log can be read from."""

    suffixes: ClassVar[tuple[str, ...]]  # of their names, in lower case

    @property
    def name(self) -> str:
        """As messages have it."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def recognises(self, path: Path) -> bool:
        """Whether a path is one of these, by its name."""
        return path.name.lower().endswith(self.suffixes)

    @abstractmethod
    def read(self, path: Path, topics: Mapping[str, str]) -> Log:
        """The checked log; every reason against it is in the LogError.

        Args:
            path: Of a file, or a folder, that it recognises.
            topics: What is read from which topic, where the format has topics.
        """


class TableFormat(LogFormat):
    """A table in one file. Its columns follow the log contract, or a mapping says what they are."""

    mapped_suffixes: ClassVar[tuple[str, ...]] = ()  # of files that are read with a mapping only

    @abstractmethod
    def table(self, data: bytes, path: Path, wanted: Wanted, layout: TableLayout | None) -> Table:
        """The table in a file.

        Args:
            data: All bytes of the file.
            path: What messages call it.
            wanted: Which columns are read; the others are listed, whatever they hold.
            layout: How a text table looks; None without a mapping.
        """

    def parts(self, path: Path, part_bytes: int) -> Iterator[TablePart]:
        """The table in parts of about so many bytes; whole, where the format knows no other way."""
        table = self.open(path)
        yield TablePart(table.columns, table.metadata, str(path), 1.0)

    def numbers(self, path: Path) -> dict[str, Array | None]:
        """All columns, None where they hold no numbers: what a mapping is drafted from."""
        found = self.open(path, lambda _: True, TableLayout()).columns
        return {k: x.astype(float) if x.dtype.kind in "biuf" and x.ndim else None for k, x in found.items()}

    def open(self, path: Path, wanted: Wanted = is_column, layout: TableLayout | None = None) -> Table:
        """The table of a file that is opened once: its digest is of the bytes that were read."""
        data = read_file(path)
        return self.table(data, path, wanted, layout)._replace(digest=hashlib.sha256(data).hexdigest())

    def read(self, path: Path, topics: Mapping[str, str]) -> Log:
        """The checked log of a table whose columns follow the log contract."""
        table = self.open(path)
        return replace(Log.from_columns(table.columns, table.metadata, str(path)), files={str(path): table.digest})


class WritableFormat(TableFormat):
    """A table that Steelyard also writes."""

    @abstractmethod
    def encode(self, path: Path, columns: Mapping[str, Array], metadata: str) -> bytes:
        """The bytes of a file: columns of equal length, and metadata as JSON."""


def all_formats() -> list[LogFormat]:
    """A format for each file in ``formats/``, by name."""
    from steelyard.log import formats

    modules = [import_module(f"{formats.__name__}.{m.name}") for m in pkgutil.iter_modules(formats.__path__)]
    return [
        x()
        for module in modules
        for x in vars(module).values()
        if inspect.isclass(x) and x.__module__ == module.__name__ and issubclass(x, LogFormat)
    ]


def format_of(path: Path, mapped: bool = False) -> LogFormat:
    """The format that recognises a log; LogError with those there are where none does.

    Args:
        path: Of the log.
        mapped: Whether it comes with a mapping.
    """
    formats = all_formats()
    for one in formats:
        foreign = one.mapped_suffixes if mapped and isinstance(one, TableFormat) else ()
        if one.recognises(path) or path.name.lower().endswith(foreign):
            return one
    raise unknown_format(path, suffixes(formats, mapped))


def table_format(path: Path) -> TableFormat:
    """The format of a table that comes with a mapping."""
    kind = format_of(path, mapped=True)
    if not isinstance(kind, TableFormat):
        fix = "Read it without the mapping, by the joint names in its messages"
        raise LogError(Finding("todo", str(path), f"is a {kind.name}; a mapping tells how to read tables", fix))
    return kind


def suffixes(formats: Sequence[LogFormat], mapped: bool = False) -> list[str]:
    """Of the files that these formats recognise."""
    foreign = [s for f in formats if mapped and isinstance(f, TableFormat) for s in f.mapped_suffixes]
    return [*(s for f in formats for s in f.suffixes), *foreign]


def unknown_format(path: Path, known: Sequence[str]) -> LogError:
    """A file of which no format knows the suffix."""
    what = f"ends in {path.suffix!r}" if path.suffix else "has no suffix that names its format"
    return LogError(Finding("todo", str(path), what, f"Convert it to one of {', '.join(known)}"))


def read_file(path: Path) -> bytes:
    """All bytes of a log."""
    refuse_absent(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def refuse_absent(path: Path, fix: str = "") -> None:
    """Refuse a file that is not there, with names that are near; else with another fix, or the formats there are."""
    if path.is_file():
        return
    fix = fix or f"Give the path of a log: {', '.join(suffixes(all_formats()))}"
    beside: list[str] = []
    with suppress(OSError):
        beside = [p.name for p in path.parent.iterdir() if p.is_file()]
    what = "is a folder" if path.is_dir() else "does not exist"
    raise LogError(Finding("todo", str(path), what, did_you_mean(path.name, beside, fix, most=3)))


def decode(data: bytes, source: str) -> str:
    """UTF-8 text; LogError where it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise LogError(Finding("todo", source, "is not UTF-8 text", "Save it as UTF-8")) from None


def metadata_of(path: Path, raw: bytes) -> Mapping[str, Any]:
    """The metadata that a file carries as JSON."""
    text = raw.decode("utf-8", "replace")
    fix = f"Correct or remove the entry '{METADATA_KEY}'"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LogError(Finding("todo", f"{path}, metadata", f"is not JSON ({error})", fix)) from None
    if not isinstance(value, dict):
        raise LogError(Finding("todo", f"{path}, metadata", f"is {text[:40]}, not a JSON object", fix))
    return value


def refuse_repeats(where: str, names: Sequence[str], wanted: Wanted = is_column) -> None:
    """Refuse a table that has some column twice that is wanted."""
    if repeated := sorted({name for name in names if names.count(name) > 1 and wanted(name)}):
        raise LogError(Finding("todo", where, f"repeats {', '.join(repeated)}", "Keep one column of each name"))


def first_line(error: BaseException, most: int = 200) -> str:
    """What a library says of an error, in short."""
    return (str(error).splitlines() or [""])[0][:most].rstrip(".") or type(error).__name__


def unreadable(
    path: Path, error: BaseException, fix: str = "Write the file again; it is damaged or of another kind"
) -> LogError:
    """A file that its own library refuses."""
    return LogError(Finding("todo", str(path), f"cannot be read ({first_line(error)})", fix))
