"""Sources of logs: a path, a ``Log`` or a DataFrame; one or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from steelyard.errors import Finding, LogError
from steelyard.log.log import DataFrameLike, Log
from steelyard.log.mapping import ColumnMap, read_mapping
from steelyard.log.table import read_log

LogSource: TypeAlias = str | Path | Log | DataFrameLike
LogSources: TypeAlias = LogSource | Sequence[LogSource]
MappingSource: TypeAlias = str | Path | ColumnMap


def as_log(source: LogSource, mapping: MappingSource | None = None, topics: Mapping[str, str] | None = None) -> Log:
    """Return a log: itself, read from a file (with ``mapping`` or ``topics``), or checked from a DataFrame."""
    if isinstance(source, Log):
        return source
    if isinstance(source, str | Path):
        return read_log(source, mapping, topics)
    if hasattr(source, "columns"):
        return Log.from_frame(source)
    what = f"is a {type(source).__name__}"
    fix = "Give a path, a Log or a DataFrame; arrays become one by Log.from_arrays"
    raise LogError(Finding("log-kind-unknown", "log", what, fix))


def as_mapping(source: MappingSource | None) -> ColumnMap | None:
    """Return a mapping, read from its file if it is a path."""
    return read_mapping(source) if isinstance(source, str | Path) else source


def as_logs(sources: LogSources, mapping: MappingSource | None = None) -> list[Log]:
    """Return every log, in order; the mapping is read once."""
    columns = as_mapping(mapping)
    if isinstance(sources, str | Path | Log) or not isinstance(sources, Sequence):
        return [as_log(sources, columns)]
    return [as_log(source, columns) for source in sources]
