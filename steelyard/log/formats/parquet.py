"""Parquet, the canonical format of logs: read at once, or in batches of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.csv_text import cell_fix, number, shown
from steelyard.log.format import (
    FEW,
    METADATA_KEY,
    Columns,
    Table,
    TablePart,
    Wanted,
    WritableFormat,
    metadata_of,
    numbers_of,
    read_file,
    refuse_repeats,
    unreadable,
)
from steelyard.log.layout import TableLayout
from steelyard.log.log import is_column


class Parquet(WritableFormat):
    """Tables of Apache Arrow."""

    suffixes = (".parquet",)

    def table(self, data: bytes, path: Path, wanted: Wanted, layout: TableLayout | None) -> Table:
        """Read the wanted columns; the metadata is an entry of the schema's."""
        table = _read(data, path)
        return Table(_columns(path, table, wanted), _metadata(path, table.schema))

    def parts(self, path: Path, part_bytes: int) -> Iterator[TablePart]:
        """Read batches of rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(path, pre_buffer=False) as file:
                wanted = [name for name in file.schema_arrow.names if is_column(name)]
                metadata, done = _metadata(path, file.schema_arrow), 0
                size = max(part_bytes // (8 * max(len(wanted), 1)), FEW)
                for batch in file.iter_batches(size, columns=wanted, use_threads=False):
                    columns = _columns(path, pa.Table.from_batches([batch]), is_column)
                    where = f"{path}, rows from {done}"
                    done += len(batch)
                    yield TablePart(columns, metadata, where, done / max(file.metadata.num_rows, 1))
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, error) from None

    def numbers(self, path: Path) -> dict[str, np.ndarray | None]:
        """Read all columns, None for those without numbers."""
        import pyarrow.types as kinds

        table = _read(read_file(path), path)
        numeric = {f.name for f in table.schema if kinds.is_integer(f.type) or kinds.is_floating(f.type)}
        return {k: x if k in numeric else None for k, x in _columns(path, table, numeric.__contains__).items()}

    def encode(self, path: Path, columns: Mapping[str, np.ndarray], metadata: str) -> bytes:
        """Return the bytes of a file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        table = pa.table(dict(columns)).replace_schema_metadata({METADATA_KEY: metadata})
        pq.write_table(table, buffer, compression="zstd")
        return buffer.getvalue()


def _read(data: bytes, path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:  # not read_table: that adds columns from folders called a=b
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None


def _metadata(path: Path, schema: Any) -> Mapping[str, Any]:
    return metadata_of(path, (schema.metadata or {}).get(METADATA_KEY.encode(), b"{}"))


def _columns(path: Path, table: Any, wanted: Wanted) -> Columns:
    import pyarrow as pa
    import pyarrow.types as kinds

    refuse_repeats(str(path), table.column_names, wanted)
    columns: Columns = {}
    findings = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not wanted(name):
            columns[name] = np.zeros(len(column))  # only listed as ignored
            continue
        if kinds.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if kinds.is_boolean(column.type):
            column = column.cast(pa.int8())
        if any(is_a(column.type) for is_a in (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_null)):
            columns[name] = numbers_of(column)
        else:
            findings.append(_not_numbers(f"{path}, {name}", column))
    if findings:
        raise LogError(findings)
    return columns


def _not_numbers(where: str, column: Any) -> Finding:
    """The finding about a column that does not hold numbers."""
    import pyarrow.types as kinds

    if not (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
        what = f"holds {column.type}, not numbers"
        return Finding("column-not-numeric", where, what, "Give one number a row, in SI units")
    for row, cell in enumerate(column.to_pylist()):
        if cell is not None and number(cell) is None:
            what = f"{shown(cell)} is not a number"
            return Finding("cell-not-number", f"{where}, row {row}", what, cell_fix(cell))
    return Finding("column-not-numeric", where, "is stored as text", "Store it as numbers")
