"""npz: one array per column, by name; pickled objects are never loaded."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.format import (
    METADATA_KEY,
    Columns,
    Table,
    Wanted,
    WritableFormat,
    metadata_of,
    refuse_repeats,
    unreadable,
)
from steelyard.log.layout import TableLayout

ERRORS = (
    *(ValueError, TypeError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(OverflowError, zipfile.BadZipFile, zlib.error),
)  # what np.load is known to raise on damaged archives


class Npz(WritableFormat):
    """Archives of NumPy arrays."""

    suffixes = (".npz",)

    def table(self, data: bytes, path: Path, wanted: Wanted, layout: TableLayout | None) -> Table:
        """Load all arrays; the metadata is an array that holds text."""
        if not zipfile.is_zipfile(io.BytesIO(data)):
            what = "cannot be read (is not a zip archive)"
            raise LogError(Finding("file-unreadable", str(path), what, "Write it again with numpy.savez"))
        columns: Columns = {}
        findings = []
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                refuse_repeats(str(path), archive.files)
                for name in archive.files:
                    try:
                        columns[name] = archive[name]
                    except ValueError as error:
                        if "allow_pickle" not in str(error):
                            raise
                        what = "holds Python objects (pickle), which are never loaded"
                        fix = "Save arrays of plain numbers"
                        findings.append(Finding("column-pickled", f"{path}, {name}", what, fix))
        except ERRORS as error:
            raise unreadable(path, error) from None
        if findings:
            raise LogError(findings)
        metadata = columns.pop(METADATA_KEY, np.array("{}"))
        return Table(columns, metadata_of(path, str(metadata).encode()))

    def encode(self, path: Path, columns: Mapping[str, np.ndarray], metadata: str) -> bytes:
        """Return the bytes of a file."""
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {METADATA_KEY: np.array(metadata), **columns}
        np.savez_compressed(buffer, **arrays)
        return buffer.getvalue()
