"""A log file in pieces, for files that do not fit in memory: consecutive parts of the table, each a checked ``Log``.

Parquet is read by batches of rows, text by blocks of lines; npz holds whole columns and has to be unpacked whole. What
is wrong is said as ``table.py`` says it, by line of the file or by row of the piece, which names its rows.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.csv_text import Columns, read_csv
from steelyard.log.log import Log, is_column
from steelyard.log.table import METADATA_KEY, metadata_of, parquet_columns, read_log, table_kind, unreadable

PIECE_BYTES = 8_000_000  # of a table in memory at a time, before it is made to numbers
FEW = 64  # rows: less than this never makes a piece of its own


@dataclass(frozen=True)
class Piece:
    """Rows that follow each other."""

    log: Log
    share: float  # of the file that has been read with it


def read_pieces(path: str | Path, piece_bytes: int = PIECE_BYTES) -> Iterator[Piece]:
    """The pieces of a table whose columns follow the log contract, in order; LogError names what is wrong."""
    path = Path(path)
    kind = table_kind(path)
    if kind == ".npz":
        yield Piece(read_log(path), 1.0)
        return
    last: float | None = None
    for part in _long_enough(_parquet(path, piece_bytes) if kind == ".parquet" else _text(path, piece_bytes)):
        log = Log.from_columns(part.columns, part.metadata, part.where)
        if last is not None and log.time[0] <= last:
            what = f"does not increase ({last:.9g} then {log.time[0]:.9g})"
            raise LogError(Finding(f"{part.where}, time", what, "Sort by time and drop repeated stamps"))
        last = float(log.time[-1])
        yield Piece(log, part.share)


@dataclass(frozen=True)
class _Part:
    columns: Columns
    metadata: Mapping[str, Any]
    where: str
    share: float

    def __len__(self) -> int:
        return max((len(x) for x in self.columns.values()), default=0)


def _long_enough(parts: Iterable[_Part]) -> Iterator[_Part]:
    """The same, with a part of few rows joined to the one before: two rows make the shortest log."""
    held: _Part | None = None
    for part in parts:
        if held is not None and len(part) < FEW:
            columns = {name: np.concatenate([x, part.columns[name]]) for name, x in held.columns.items()}
            held = replace(held, columns=columns, share=part.share)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def _parquet(path: Path, piece_bytes: int) -> Iterator[_Part]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            wanted = [name for name in file.schema_arrow.names if is_column(name)]
            metadata = metadata_of(path, (file.schema_arrow.metadata or {}).get(METADATA_KEY.encode(), b"{}"))
            size, done = max(piece_bytes // (8 * max(len(wanted), 1)), FEW), 0
            for batch in file.iter_batches(size, columns=wanted, use_threads=False):
                columns = parquet_columns(path, pa.Table.from_batches([batch]))
                where = f"{path}, rows from {done}"
                done += len(batch)
                yield _Part(columns, metadata, where, done / max(file.metadata.num_rows, 1))
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None


def _text(path: Path, piece_bytes: int) -> Iterator[_Part]:
    total, line, header = max(path.stat().st_size, 1), 1, b""
    metadata: Mapping[str, Any] = {}
    mark = f"# {METADATA_KEY} ".encode()
    try:
        with open(path, "rb") as raw, gzip.GzipFile(fileobj=raw) if _packed(path) else raw as opened:
            file = cast(IO[bytes], opened)
            rest, block = file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8), b"more"
            while block:
                block = file.read(piece_bytes)
                whole = rest + block
                end = whole.rfind(b"\n") + 1 if block else len(whole)
                lines, rest = whole[:end], whole[end:]
                if lines and not header:
                    if lines.startswith(mark):
                        head, _, lines = lines.partition(b"\n")
                        metadata, line = metadata_of(path, head[len(mark) :]), 2
                    header, _, lines = lines.partition(b"\n")
                    line += 1
                if lines.strip() or (not block and line <= 3):  # a table without samples is refused as one
                    columns = read_csv(header + b"\n" + lines, str(path), line - 1).columns
                    yield _Part(columns, metadata, f"{path}, lines from {line}", min(raw.tell() / total, 1.0))
                    line += lines.count(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None


def _packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
