"""Log files: Parquet, CSV (also .gz) and npz → a checked :class:`~steelyard.log.Log`, and back.

Untrusted bytes: npz is read without pickle, a table without header is refused instead of guessed at, and
what cannot be read as numbers is named by row and column.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log import Log
from steelyard.write.files import write_bytes

METADATA_KEY = "steelyard"
SUFFIXES = (".parquet", ".csv", ".csv.gz", ".npz")


def read_log(path: str | Path) -> Log:
    """Read a log; every reason against it is in the LogError."""
    path = Path(path)
    kind = _suffix(path)
    if not path.is_file():
        raise LogError(Finding(str(path), "is not a file", "Give the path of a log: " + ", ".join(SUFFIXES)))
    columns, metadata = {".parquet": _parquet, ".npz": _npz}.get(kind, _csv)(path)
    return Log.from_columns(columns, metadata, str(path))


def write_log(path: str | Path, log: Log) -> None:
    """Write a log in the format its suffix names; whole or not at all."""
    path = Path(path)
    columns = {"time": log.time, **log.columns}
    kind = _suffix(path)
    meta = json.dumps(dict(log.metadata))
    buffer = io.BytesIO()
    if kind == ".npz":
        np.savez_compressed(buffer, allow_pickle=False, **{METADATA_KEY: np.array(meta)}, **columns)
    elif kind == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(columns).replace_schema_metadata({METADATA_KEY: meta})
        pq.write_table(table, buffer, compression="zstd")
    else:
        if log.metadata:
            buffer.write(f"# {METADATA_KEY} {meta}\n".encode())
        buffer.write((",".join(map(_quoted, columns)) + "\n").encode())
        np.savetxt(buffer, np.column_stack(list(columns.values())), delimiter=",", fmt="%.17g")
        if kind == ".csv.gz":
            buffer = io.BytesIO(gzip.compress(buffer.getvalue(), mtime=0))
    write_bytes(path, buffer.getvalue())


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise LogError(
        Finding(str(path), "is no log that can be read", f"Convert it to one of {', '.join(SUFFIXES)}")
    )


def _parquet(path: Path) -> tuple[dict[str, np.ndarray], Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    raw = (table.schema.metadata or {}).get(METADATA_KEY.encode(), b"{}")
    return _arrow_columns(path, table), _metadata(path, raw.decode("utf-8", "replace"))


def _npz(path: Path) -> tuple[dict[str, np.ndarray], Mapping[str, Any]]:
    try:
        with np.load(path, allow_pickle=False) as data:
            columns = {name: data[name] for name in data.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise _unreadable(path, error) from None
    metadata = columns.pop(METADATA_KEY, np.array("{}"))
    return columns, _metadata(path, str(metadata))


def _csv(path: Path) -> tuple[dict[str, np.ndarray], Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.csv as pc

    try:
        raw = path.read_bytes()
        data = gzip.decompress(raw) if path.name.lower().endswith(".gz") else raw
    except (OSError, EOFError) as error:
        raise _unreadable(path, error) from None
    head, _, rest = data.partition(b"\n")
    metadata: Mapping[str, Any] = {}
    skipped = 0
    if head.startswith(f"# {METADATA_KEY} ".encode()):
        metadata = _metadata(path, head.decode("utf-8", "replace").split(" ", 2)[2])
        data, skipped = rest, 1
        head = data.partition(b"\n")[0]
    if not head.strip():
        raise LogError(Finding(str(path), "is empty", "Give a table with a header line and samples"))
    names = [cell.strip().strip('"') for cell in head.decode("utf-8", "replace").split(",")]
    if all(_is_number(name) for name in names):
        raise LogError(
            Finding(
                f"{path}, line {1 + skipped}",
                f"is numbers: the table has no header for its {len(names)} columns",
                "Add a header line with Steelyard's column names (time, q.JOINT, tau.JOINT, …)",
            )
        )
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise LogError(
            Finding(f"{path}, line {1 + skipped}", f"repeats {', '.join(repeated)}", "Rename the columns")
        )
    try:
        table = pc.read_csv(io.BytesIO(data))
    except pa.ArrowInvalid as error:
        raise _unreadable(
            path, error, "Correct or drop that line (a log cut off while writing ends in half a line)"
        ) from None
    table = table.rename_columns([name.strip() for name in table.column_names])
    return _arrow_columns(path, table), metadata


def _arrow_columns(path: Path, table: Any) -> dict[str, np.ndarray]:
    """Columns as float arrays; nulls become NaN; text stays text and is named when a known column holds it."""
    import pyarrow as pa

    from steelyard.log import is_column

    columns, findings = {}, []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        if (
            pa.types.is_integer(column.type)
            or pa.types.is_floating(column.type)
            or pa.types.is_null(column.type)
        ):
            columns[name] = column.cast(pa.float64()).to_numpy().astype(float)
        elif is_column(name):
            text = column.cast(pa.string()).to_pylist()
            row = next((k for k, cell in enumerate(text) if cell is not None and not _is_number(cell)), 0)
            findings.append(
                Finding(f"{path}, {name}, row {row}", f"{text[row]!r} is not a number", "Correct the cell")
            )
        else:
            columns[name] = np.zeros(len(column))  # some text column nobody asked for: listed as ignored
    if findings:
        raise LogError(findings)
    return columns


def _metadata(path: Path, text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise LogError(
            Finding(f"{path}, metadata", f"is not JSON ({error})", "Correct or remove it")
        ) from None
    if not isinstance(value, dict):
        raise LogError(Finding(f"{path}, metadata", "is not a JSON object", "Correct or remove it"))
    return value


def _unreadable(
    path: Path, error: Exception, fix: str = "Write the file again; it is damaged or of another kind"
) -> LogError:
    return LogError(Finding(str(path), f"cannot be read ({str(error).splitlines()[0][:200]})", fix))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name
