"""Log files: Parquet, CSV (also .gz) and npz → a checked :class:`~steelyard.log.log.Log`, and back.

Untrusted bytes: npz is read without pickle, a table without header is refused instead of guessed at, and
what cannot be read as numbers is named by row and column. Text is read in ``csv_text.py``.
"""

from __future__ import annotations

import codecs
import difflib
import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.files import write_bytes
from steelyard.log.csv_text import Columns, cell_fix, number, quoted, read_csv, refuse_repeats, shown
from steelyard.log.layout import Layout
from steelyard.log.log import Log, is_column
from steelyard.log.mapped import Raw, mapped_log
from steelyard.log.mapping import ColumnMap, read_mapping

METADATA_KEY = "steelyard"
SUFFIXES = (".parquet", ".csv", ".csv.gz", ".npz")
BAGS = (".db3", ".mcap", ".bag")  # the last, of ROS 1, only to be refused with a way out
FOREIGN = (".txt", ".txt.gz", ".tsv", ".tsv.gz", ".dat", ".dat.gz")  # read with a mapping only


def read_log(
    path: str | Path,
    mapping: str | Path | ColumnMap | None = None,
    topics: Mapping[str, str] | None = None,
) -> Log:
    """Read a log; every reason against it is in the LogError.

    A foreign table comes in through a mapping; ``topics`` chooses among those of a bag (``bag.py``).
    """
    path = Path(path)
    if is_bag(path):
        if mapping is not None:
            fix = "Read it without the mapping, by the joint names in its messages"
            raise LogError(Finding(str(path), "is a bag; a mapping tells how to read tables", fix))
        from steelyard.log.bag.reader import read_bag

        return read_bag(path, topics)
    if mapping is not None:
        return mapped_log(path, mapping if isinstance(mapping, ColumnMap) else read_mapping(mapping), read_table)
    raw = read_table(path)
    return Log.from_columns(raw.columns, raw.metadata, str(path))


def is_bag(path: Path) -> bool:
    """Whether a path is a bag by its name, or a folder with one in it."""
    if path.is_dir():
        return any(file.name == "metadata.yaml" or file.suffix in BAGS for file in path.iterdir())
    return path.suffix.lower() in BAGS


def read_table(path: Path, layout: Layout | None = None, wanted: Callable[[str], bool] = is_column) -> Raw:
    """The wanted columns of a file as they stand; ``layout`` (of text) comes with a mapping."""
    kind = _kind(path, SUFFIXES if layout is None else (*SUFFIXES, *FOREIGN))
    if kind == ".parquet":
        return _parquet(path, wanted)
    return _npz(path) if kind == ".npz" else _csv(path, layout, wanted)


def is_text(path: Path) -> bool:
    """Whether a table, perhaps a foreign one, is text; LogError where it is of no kind that can be read."""
    return _kind(path, (*SUFFIXES, *FOREIGN)) not in (".parquet", ".npz")


def table_kind(path: Path) -> str:
    """Suffix of a table that needs no mapping; LogError where it has another, or is not there."""
    return _kind(path, SUFFIXES)


def _kind(path: Path, known: tuple[str, ...]) -> str:
    kind = _suffix(path, known)
    if not path.is_file():
        raise _absent(path)
    return kind


def write_log(path: str | Path, log: Log) -> None:
    """Write a log in the format its suffix names; whole or not at all."""
    path = Path(path)
    columns = {"time": log.time, **log.columns}
    kind = _suffix(path)
    try:
        meta = json.dumps(dict(log.metadata), default=_plain)
    except (TypeError, ValueError) as error:
        raise LogError(Finding(f"{log.source}, metadata", str(error), "Keep plain values in it")) from None
    buffer = io.BytesIO()
    if kind == ".npz":
        arrays: dict[str, Any] = {METADATA_KEY: np.array(meta), **columns}
        np.savez_compressed(buffer, **arrays)
    elif kind == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(columns).replace_schema_metadata({METADATA_KEY: meta})
        pq.write_table(table, buffer, compression="zstd")
    else:
        if log.metadata:
            buffer.write(f"# {METADATA_KEY} {meta}\n".encode())
        buffer.write((",".join(map(quoted, columns)) + "\n").encode())
        np.savetxt(buffer, np.column_stack(list(columns.values())), delimiter=",", fmt="%.17g")
        if kind == ".csv.gz":
            buffer = io.BytesIO(gzip.compress(buffer.getvalue(), mtime=0))
    write_bytes(path, buffer.getvalue())


def _suffix(path: Path, known: tuple[str, ...] = SUFFIXES) -> str:
    name = path.name.lower()
    for suffix in known:
        if name.endswith(suffix):
            return suffix
    what = f"ends in {path.suffix!r}" if path.suffix else "has no suffix that names its format"
    raise LogError(Finding(str(path), what, f"Convert it to one of {', '.join(known)}"))


def _absent(path: Path) -> LogError:
    what = "is a folder" if path.is_dir() else "does not exist"
    near: list[str] = []
    with suppress(OSError):
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir() if p.is_file()], n=3)
    hint = f"Did you mean {' or '.join(near)}" if near else f"Give the path of a log: {', '.join(SUFFIXES)}"
    return LogError(Finding(str(path), what, hint))


def _parquet(path: Path, wanted: Callable[[str], bool]) -> Raw:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:  # not read_table: that adds columns from folders called a=b
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    raw = (table.schema.metadata or {}).get(METADATA_KEY.encode(), b"{}")
    return Raw(parquet_columns(path, table, wanted), metadata_of(path, raw))


def parquet_columns(path: Path, table: Any, wanted: Callable[[str], bool] = is_column) -> Columns:
    """Columns of a table of PyArrow's as numbers."""
    import pyarrow as pa

    refuse_repeats(str(path), table.column_names, wanted)
    columns: Columns = {}
    findings = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not wanted(name):
            columns[name] = np.zeros(len(column))  # whatever it holds: it is listed as ignored
            continue
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        if pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        elif not (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_null(kind)
        ):
            findings.append(_not_numbers(path, name, column))
            continue
        # Not safe: nanoseconds since 1970 need more digits than a float has; their unit is judged later.
        columns[name] = column.cast(pa.float64(), safe=False).to_numpy().astype(float)
    if findings:
        raise LogError(findings)
    return columns


def _not_numbers(path: Path, name: str, column: Any) -> Finding:
    """What a column of a Parquet file holds instead of numbers."""
    import pyarrow as pa

    where = f"{path}, {name}"
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return Finding(where, f"holds {column.type}, not numbers", "Give one number a row, in SI units")
    for row, cell in enumerate(column.to_pylist()):
        if cell is not None and number(cell) is None:
            return Finding(f"{where}, row {row}", f"{shown(cell)} is not a number", cell_fix(cell))
    return Finding(where, "is stored as text", "Store it as numbers")


_NPZ_ERRORS = (
    *(ValueError, TypeError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(OverflowError, zipfile.BadZipFile, zlib.error),
)  # what np.load is known to raise on damaged archives


def _npz(path: Path) -> Raw:
    if not zipfile.is_zipfile(path):
        what = "is not a zip archive"
        raise LogError(Finding(str(path), f"cannot be read ({what})", "Write it again with numpy.savez"))
    columns: Columns = {}
    findings = []
    try:
        with np.load(path, allow_pickle=False) as data:
            refuse_repeats(str(path), data.files)
            for name in data.files:
                try:
                    columns[name] = data[name]
                except ValueError as error:
                    if "allow_pickle" not in str(error):
                        raise
                    what = "holds Python objects (pickle), which are never loaded"
                    findings.append(Finding(f"{path}, {name}", what, "Save arrays of plain numbers"))
    except _NPZ_ERRORS as error:
        raise unreadable(path, error) from None
    if findings:
        raise LogError(findings)
    metadata = columns.pop(METADATA_KEY, np.array("{}"))
    return Raw(columns, metadata_of(path, str(metadata).encode()))


def text_bytes(path: Path) -> bytes:
    """The bytes of a text file, unpacked, without a byte-order mark."""
    try:
        data = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None
    return data.removeprefix(codecs.BOM_UTF8)


def _csv(path: Path, layout: Layout | None, wanted: Callable[[str], bool]) -> Raw:
    data = text_bytes(path)
    metadata: Mapping[str, Any] = {}
    first_line = 1
    mark = f"# {METADATA_KEY} ".encode()
    if data.startswith(mark):
        head, _, data = data.partition(b"\n")
        metadata = metadata_of(path, head[len(mark) :])
        first_line = 2
    text = read_csv(data, str(path), first_line, layout, wanted)
    return Raw(text.columns, metadata, text.cut)


def metadata_of(path: str | Path, raw: bytes) -> Mapping[str, Any]:
    """The metadata that a file carries as JSON."""
    text = raw.decode("utf-8", "replace")
    fix = f"Correct or remove the entry '{METADATA_KEY}'"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LogError(Finding(f"{path}, metadata", f"is not JSON ({error})", fix)) from None
    if not isinstance(value, dict):
        raise LogError(Finding(f"{path}, metadata", f"is {text[:40]}, not a JSON object", fix))
    return value


def _plain(value: Any) -> Any:
    """NumPy values as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def unreadable(path: Path, error: BaseException) -> LogError:
    """A file that its own library refuses."""
    said = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
    fix = "Write the file again; it is damaged or of another kind"
    return LogError(Finding(str(path), f"cannot be read ({said.rstrip('.')})", fix))
