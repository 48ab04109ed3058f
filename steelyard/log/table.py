"""Log files → a checked :class:`~steelyard.log.log.Log`, and back; each format is a file in ``formats/``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.files import write_bytes
from steelyard.log.format import WritableFormat, all_formats, format_of, suffixes, table_format, unknown_format
from steelyard.log.formats.bag import Bag
from steelyard.log.log import Log
from steelyard.log.mapped import mapped_log
from steelyard.log.mapping import ColumnMap, read_mapping


def read_log(
    path: str | Path,
    mapping: str | Path | ColumnMap | None = None,
    topics: Mapping[str, str] | None = None,
) -> Log:
    """Read a log of any format.

    Args:
        path: A file, or the folder of a bag.
        mapping: How a foreign table becomes a log, or the file with it.
        topics: Chooses among the topics of a bag, see ``read_bag``.

    Returns:
        The log, with the SHA-256 of every file that it was read from.

    Raises:
        LogError: With every reason against it.
    """
    path = Path(path)
    if mapping is None:
        return format_of(path).read(path, topics or {})
    table_format(path)  # other formats are refused before the mapping is read
    return mapped_log(path, mapping if isinstance(mapping, ColumnMap) else read_mapping(mapping))


def is_bag(path: Path) -> bool:
    """Whether a path is a bag by its suffix, or a folder that contains one."""
    return Bag().recognises(path)


def write_log(path: str | Path, log: Log) -> None:
    """Write a log in the format of the path's suffix; the file appears complete or not at all."""
    path = Path(path)
    writers = [f for f in all_formats() if isinstance(f, WritableFormat)]
    kind = next((f for f in writers if f.recognises(path)), None)
    if kind is None:
        raise unknown_format(path, suffixes(writers))
    try:
        metadata = json.dumps(dict(log.metadata), default=_plain)
    except (TypeError, ValueError) as error:
        where, fix = f"{log.source}, metadata", "Keep plain values in it"
        raise LogError(Finding("metadata-invalid", where, str(error), fix)) from None
    write_bytes(path, kind.encode(path, {"time": log.time, **log.columns}, metadata))


def _plain(value: Any) -> Any:
    """NumPy values as plain Python values, for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
